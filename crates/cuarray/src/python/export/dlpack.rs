//! `__dlpack__` and `__dlpack_device__`: an array as a tensor for another library.
//!
//! The consumer names its stream, and the producer orders the array's work before that stream: an edge leads from
//! every stream with pending work to it, and the host does not wait. Memory that the host can read in place is an
//! exception. A consumer without a stream may then be the host itself (NumPy), so the host waits. The producer does
//! not learn of the consumer's later work: DLPack has no counterpart to the exported stream of the CUDA Array
//! Interface.

use super::managed;
use crate::python::ffi::inspect::shown;
use crate::{
    Error, Result,
    driver::MemoryKind,
    exchange::dlpack::{
        abi::{DLDevice, VERSION},
        dtype,
        tensor::{CPU, CUDA, CUDA_HOST, CUDA_MANAGED},
    },
    python::{
        array::{
            PyDeviceArray,
            copies::Elements,
            create,
            tensor::{device, refuse_mask},
        },
        memory::stream,
        values::{dtype::Element, host::HostArray},
    },
};
use pyo3::prelude::*;

/// The arguments of `__dlpack__`.
pub(in crate::python) struct Request<'a, 'py> {
    pub(in crate::python) stream: Option<&'a Bound<'py, PyAny>>,
    pub(in crate::python) max_version: Option<(u32, u32)>,
    pub(in crate::python) device: Option<(i32, i32)>,
    pub(in crate::python) copy: Option<bool>,
}

/// A capsule with the array's tensor.
///
/// # Errors
/// [`Error::is_unsupported`]: DLPack cannot describe the array, not in the consumer's version, or not on that device
/// without a copy. An argument error: an argument has an invalid value.
pub(in crate::python) fn capsule<'py>(
    array: &Bound<'py, PyDeviceArray>,
    request: &Request<'_, 'py>,
) -> Result<Bound<'py, PyAny>> {
    let py = array.py();
    refuse_mask(array.get())?;
    let versioned = request.max_version.is_some_and(|(major, _)| major >= VERSION.major);
    let own = device(array.get())?;
    if let Some((device_type, device_id)) = request.device
        && (DLDevice { device_type, device_id }) != own
    {
        return on_other_device(array, request, DLDevice { device_type, device_id }, own, versioned);
    }
    if array.get().interface().is_read_only() && !versioned && request.copy != Some(true) {
        return Err(Error::unsupported(
            "the array is read-only, which DLPack before version 1.0 cannot express; max_version=(1, 0) or more, or copy=True, is expected",
        ));
    }
    let copied = if request.copy == Some(true) { Some(copy_of(array, request.stream, own)?) } else { None };
    let given = copied.as_ref().unwrap_or(array);
    let managed = if versioned { managed::versioned(given, copied.is_some()) } else { managed::legacy(given) }?;
    match request.stream {
        None if own.device_type == CUDA => given.get().ready_on_legacy(py)?,
        None => {
            let (state, access) = (given.get().sync_state()?, given.get().consumers_access());
            py.detach(|| state.synchronize(access))?;
        }
        Some(argument) => {
            if let Number::Stream = number(argument)? {
                given.get().ready_on(py, &stream::argument(argument)?)?;
            }
        }
    }
    Ok(managed.into_capsule(py)?)
}

/// A copy in memory of the same kind and device, made in the consumer's stream if it names one.
fn copy_of<'py>(
    array: &Bound<'py, PyDeviceArray>,
    stream: Option<&Bound<'py, PyAny>>,
    own: DLDevice,
) -> Result<Bound<'py, PyDeviceArray>> {
    let (kind, device) = match own.device_type {
        CUDA_MANAGED => (MemoryKind::Managed, None),
        CUDA_HOST => (MemoryKind::Mapped, None),
        _ => (MemoryKind::Device, Some(own.device_id)),
    };
    let interface = array.get().interface();
    let (element, layout) = (Element::of_interface(interface), interface.layout().packed()?);
    let copy = create::allocate(array.py(), kind, element, layout, None, device)?;
    let stream = stream.filter(|stream| !stream.extract::<i64>().is_ok_and(|number| number <= 0));
    copy.get().fill(array.py(), Elements::Device(array.get()), stream)?;
    Ok(copy)
}

/// The host, as a DLPack device.
const HOST: DLDevice = DLDevice { device_type: CPU, device_id: 0 };

/// A tensor on another device than the array's. Only the host is possible, by a copy that is done on return.
fn on_other_device<'py>(
    array: &Bound<'py, PyDeviceArray>,
    request: &Request<'_, 'py>,
    requested: DLDevice,
    own: DLDevice,
    versioned: bool,
) -> Result<Bound<'py, PyAny>> {
    let py = array.py();
    if requested == HOST && request.copy == Some(false) {
        return Err(Error::unsupported(format!(
            "dl_device is (1, 0) and copy is False, but an array on ({}, {}) can only be copied to the host",
            own.device_type, own.device_id
        )));
    }
    if requested != HOST {
        return Err(Error::unsupported(format!(
            "dl_device is ({}, {}), but the array is on ({}, {}); that device, or (1, 0) for a copy in host memory, is expected",
            requested.device_type, requested.device_id, own.device_type, own.device_id
        )));
    }
    if let Some(argument) = request.stream
        && let Number::Stream = number(argument)?
    {
        stream::argument(argument)?;
    }
    let typestr = array.get().interface().typestr();
    // Fails before the copy if DLPack has no code for the type.
    dtype::write(typestr)?;
    let host = HostArray::new(array.get().fetch(py, None)?)?;
    Ok(managed::host_copy(&host, typestr, HOST, versioned)?.into_capsule(py)?)
}

/// The meaning of DLPack's argument `stream`, unless it is `None`.
pub(in crate::python) enum Number {
    /// The number -1.
    NoOrdering,
    /// Any other stream, as in the rest of the package.
    Stream,
}

/// Reads DLPack's argument `stream`.
///
/// # Errors
/// A number that DLPack disallows: 0, or a number below -1.
pub(in crate::python) fn number(argument: &Bound<'_, PyAny>) -> Result<Number> {
    match argument.extract::<i64>() {
        Ok(-1) => Ok(Number::NoOrdering),
        Ok(number @ i64::MIN..=0) => Err(Error::argument(format!(
            "stream is {number}, which DLPack disallows; -1 (no ordering), None or 1 (legacy default stream), 2 (per-thread default \
             stream) or a handle is expected"
        ))),
        _ => Ok(Number::Stream),
    }
}

/// Reads [`Request::device`] or [`Request::max_version`].
pub(in crate::python) fn pair<T>(name: &str, value: Option<&Bound<'_, PyAny>>) -> Result<Option<(T, T)>>
where
    (T, T): for<'a, 'py> FromPyObject<'a, 'py>,
{
    let Some(value) = value else { return Ok(None) };
    let pair = value.extract().ok();
    pair.map(Some)
        .ok_or_else(|| Error::argument(format!("{name} is {}; a tuple of two ints is expected", shown(value))))
}
