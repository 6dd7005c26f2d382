//! Functions that make arrays (clauses N1, N4, L2, L3).

use super::{
    PyDeviceArray,
    mask::{self, ArrayMask},
};
use crate::python::ffi::inspect::{shown, type_name};
use crate::python::ffi::raised::passes_through;
use crate::python::{
    import::{self, Adopted, c_interface},
    memory::{
        owner::PyMemory,
        runtime::{context_on, driver},
        stream::{self, PyStream},
    },
    values::{
        dtype::Element,
        host::{self, HostArray},
        numbers::{numbers, ordinal},
        options::Options,
    },
};
use crate::{
    Dims, Error, Interface, Layout, Result, StreamEntry, Strides,
    driver::{Allocation, Context, MemoryKind, Stream},
    sync::Memory,
};
use pyo3::{intern, prelude::*, types::PyDict};

/// Makes a DeviceArray from an interface dictionary, without copying. It keeps `owner` alive, and nothing else (clause L3).
///
/// `sync`, `strict`, `mask`, `mask_format`, `dtype`, `bounds` and the errors are as in `as_cuda_array`.
///
/// >>> desc = {"shape": (2,), "typestr": "<f4", "data": (0x7f0000000000, False), "version": 3}
/// >>> cuarray.from_cuda_array_interface(desc)
/// DeviceArray(shape=(2,), typestr='<f4', ptr=0x7f0000000000)
#[pyfunction]
#[pyo3(
    signature = (desc, owner=None, sync=true, **options),
    text_signature = "(desc, owner=None, sync=True, *, strict=True, mask=None, mask_format=None, dtype=None, bounds=False)"
)]
pub(in crate::python) fn from_cuda_array_interface<'py>(
    desc: &Bound<'py, PyAny>,
    owner: Option<Py<PyAny>>,
    sync: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let options = Options::of("from_cuda_array_interface", options)?;
    let dict = desc.cast::<PyDict>().map_err(|_| {
        Error::not_an_array(format!(
            "{} is a {}; a dict is expected (of an object, use as_cuda_array)",
            shown(desc),
            type_name(desc)
        ))
    })?;
    let Adopted { interface, mask, .. } = import::adopt(dict, None, sync, options)?;
    Ok(Bound::new(desc.py(), PyDeviceArray::foreign(interface, owner).with_mask(mask))?)
}

/// Returns whether `as_cuda_array(obj)` would find an interface: a DeviceArray, an object whose `__cuda_array_interface__` is
/// a dictionary, or an object whose type has `__cuda_array_c_interface__`. An attribute that raises counts as no interface, and
/// so does a DLPack tensor.
///
/// >>> cuarray.is_cuda_array([1, 2])
/// False
#[pyfunction]
pub(in crate::python) fn is_cuda_array(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    match import::attribute(obj) {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_an_array() => Ok(c_interface::is_offered(obj)),
        Err(error) => {
            let error = PyErr::from(error);
            if passes_through(obj.py(), &error) { Err(error) } else { Ok(false) }
        }
    }
}

/// Makes an uninitialized array in device memory.
///
/// shape: an int or a tuple of ints. dtype: any argument of numpy.dtype; 'bfloat16' and the 8-bit floats by name.
/// strides: bytes for each dimension, or None for contiguous elements in `order` 'C' or 'F'. stream: the array's home
/// stream. device: the ordinal of the device; by default that of `stream`, else the current one, else 0.
///
/// Raises ValueError if shape, strides, dtype, order or device are wrong, or if `stream` belongs to another device.
/// Raises CudaError without a driver or without memory.
///
/// >>> cuarray.device_array((2, 3), "float32").nbytes
/// 24
/// >>> cuarray.device_array(3, device=0).device
/// 0
#[pyfunction]
#[pyo3(signature = (shape, dtype=None, strides=None, order="C", stream=None, *, device=None))]
pub(in crate::python) fn device_array<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    strides: Option<&Bound<'py, PyAny>>,
    order: &str,
    stream: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = ordinal)] device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let element = Element::of(py, dtype)?;
    let layout = layout(shape, strides, order, &element)?;
    allocate(py, MemoryKind::Device, element, layout, stream, device)
}

/// Makes a device array with the elements of `host`: a NumPy array, any argument of numpy.asarray, or a CUDA array.
///
/// The new array is contiguous, in Fortran order if `host` is, and masked if `host` is a `numpy.ma.MaskedArray`. With `stream`,
/// that is the home stream and the copy is enqueued there. A pinned host array must then live until the stream is
/// synchronized, and so must another library's array whose dictionary names no stream.
/// device: the ordinal of the new array's device, as for `device_array`; a CUDA array may be on another one.
///
/// >>> cuarray.to_device([1, 2, 3]).shape
/// (3,)
#[pyfunction]
#[pyo3(signature = (host, stream=None, *, device=None))]
pub(in crate::python) fn to_device<'py>(
    host: &Bound<'py, PyAny>,
    stream: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = ordinal)] device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let py = host.py();
    if host::is_plain(host) {
        return copy_of(HostArray::of(host, None)?, stream, device);
    }
    if let Some(array) = import::array(host)? {
        let array = array.get();
        let data = copied(py, array, stream, device)?;
        let Some(mask) = array.mask() else { return Ok(data) };
        let mask = copied(py, mask.array(py)?.get(), stream, device)?;
        return masked(data, mask);
    }
    if host::is_masked(host)? {
        let valid = mask::valid(host)?;
        let data = copy_of(HostArray::of(&host.getattr(intern!(py, "data"))?, None)?, stream, device)?;
        return masked(data, copy_of(HostArray::of(&valid, None)?, stream, device)?);
    }
    copy_of(HostArray::of(host, None)?, stream, device)
}

/// Copies a host array to a new device array.
pub(in crate::python) fn copy_of<'py>(
    host: HostArray<'py>,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    filled(host.array.py(), &host.interface, &host.array, stream, device)
}

/// Copies the elements of a device array to a new one, regardless of the mask.
fn copied<'py>(
    py: Python<'py>,
    array: &PyDeviceArray,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let source = Bound::new(py, array.share(py)?)?;
    filled(py, array.interface(), source.as_any(), stream, device)
}

/// `data` with `mask`.
fn masked<'py>(data: Bound<'py, PyDeviceArray>, mask: Bound<'py, PyDeviceArray>) -> Result<Bound<'py, PyDeviceArray>> {
    let mask = ArrayMask::of_elements(mask.unbind());
    Ok(Bound::new(data.py(), data.get().share(data.py())?.with_mask(Some(mask)))?)
}

/// Makes a contiguous array with the shape and type of `described` and the elements of `source`.
fn filled<'py>(
    py: Python<'py>,
    described: &Interface,
    source: &Bound<'py, PyAny>,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let array = packed_like(py, described, stream, device)?;
    // The array's own stream, if one was given: it belongs to the array's device.
    let own = stream.map(|_| array.get().stream(py)).transpose()?.flatten();
    array.get().fill_from(source, own.as_ref().map(|own| own.bind(py).as_any()))?;
    Ok(array)
}

/// Like [`filled`], but waits for the copy, so that the caller need not keep `source`.
pub(in crate::python) fn filled_at_once<'py>(
    py: Python<'py>,
    described: &Interface,
    source: &Bound<'py, PyAny>,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let array = packed_like(py, described, stream, device)?;
    array.get().fill_from(source, None)?;
    Ok(array)
}

/// Allocates an array with the shape and type of `described`, in Fortran order if `described` is.
fn packed_like<'py>(
    py: Python<'py>,
    described: &Interface,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let layout = described.layout();
    let itemsize = layout.itemsize();
    let packed = if layout.is_f_contiguous() && !layout.is_c_contiguous() {
        Layout::f_contiguous(layout.shape(), itemsize)?
    } else {
        Layout::c_contiguous(layout.shape(), itemsize)?
    };
    allocate(py, MemoryKind::Device, Element::of_interface(described), packed, stream, device)
}

/// The layout with this shape, these strides or this order.
pub(in crate::python) fn layout(
    shape: &Bound<'_, PyAny>,
    strides: Option<&Bound<'_, PyAny>>,
    order: &str,
    element: &Element,
) -> Result<Layout> {
    let itemsize = element.typestr.itemsize();
    let shape: Dims = numbers(shape, "shape")?;
    let layout = match (strides, order) {
        (Some(strides), _) => Layout::from_parts(shape, Some(numbers::<Strides, _>(strides, "strides")?), itemsize),
        (None, "C") => Layout::from_parts(shape, None, itemsize),
        (None, "F") => Layout::f_contiguous(&shape, itemsize),
        (None, other) => Err(Error::argument(format!("order is {other:?}; 'C' or 'F' is expected"))),
    };
    layout.map_err(Error::into_argument)
}

/// Allocates memory for `layout` and makes the array over it. `stream` becomes its home stream, and selects the device
/// if `device` is `None`.
pub(in crate::python) fn allocate<'py>(
    py: Python<'py>,
    kind: MemoryKind,
    element: Element,
    layout: Layout,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let mut stream = stream.map(|given| stream::kept(given).map(Bound::unbind)).transpose()?;
    let extent = layout.byte_extent();
    let (memory, own) = py.detach(|| {
        let given = stream.as_ref().map(|stream| &stream.get().stream);
        let (context, own) = place(given, device)?;
        let bytes = extent.end.abs_diff(extent.start);
        let memory = Memory::new(&context, || match kind {
            MemoryKind::Pinned => Allocation::pinned(&context, bytes),
            MemoryKind::Mapped => Allocation::mapped(&context, bytes),
            MemoryKind::Managed => Allocation::managed(&context, bytes),
            MemoryKind::Device | MemoryKind::StreamOrdered | MemoryKind::Other(_) => {
                Allocation::device(&context, bytes)
            }
        })?;
        Ok::<_, Error>((memory, own))
    })?;
    if let Some(own) = own {
        stream = Some(Py::new(py, PyStream::new(own, None))?);
    }
    // With negative strides the first element is not at the start of the memory.
    let data = memory.allocation().device_ptr().wrapping_add(extent.start.unsigned_abs() as u64);
    let mut interface = Interface::new(data, element.typestr, layout).map_err(Error::into_argument)?;
    if let Some(descr) = element.descr {
        interface = interface.with_descr(descr)?;
    }
    if let Some(stream) = &stream {
        interface = interface.with_stream(StreamEntry::try_from(stream.get().stream.handle() as i128)?);
    }
    Ok(Bound::new(py, PyDeviceArray::over(interface, Py::new(py, PyMemory::new(memory))?, stream))?)
}

/// The context for an array with this home stream on this device. Every device has its own default streams, so for one of these also
/// the default stream of that device.
fn place(stream: Option<&Stream>, device: Option<i32>) -> Result<(Context, Option<Stream>)> {
    let of_stream = || Ok::<_, Error>(stream.map(Stream::context).transpose()?.flatten());
    let Some(ordinal) = device else {
        return Ok((of_stream()?.map_or_else(|| driver()?.default_context(), Ok)?, None));
    };
    let context = context_on(ordinal)?;
    match stream.map(Stream::handle) {
        None => Ok((context, None)),
        Some(1) => Ok((context.clone(), Some(Stream::legacy_default(&context)))),
        Some(2) => Ok((context.clone(), Some(Stream::per_thread_default(&context)))),
        Some(_) => match of_stream()? {
            Some(of_stream) if of_stream.device()? != context.device()? => Err(Error::argument(format!(
                "device is {ordinal}, but the stream is of device {}; a stream of the array's device is expected",
                of_stream.device()?.ordinal()
            ))),
            Some(of_stream) => Ok((of_stream, None)),
            None => Ok((context, None)),
        },
    }
}
