//! Creation of arrays: memory with a layout, and copies of other arrays.

use super::{PyDeviceArray, copies::Elements};
use crate::python::{
    memory::{
        contexts::context_on,
        owner::PyMemory,
        runtime::{self, driver},
        stream::{self, PyStream},
    },
    values::{dtype::Element, host::HostArray, numbers::numbers},
};
use crate::{
    Dims, Error, Interface, Layout, Result, StreamEntry, Strides,
    driver::{Allocation, Context, MemoryKind, Stream},
    sync::Memory,
};
use pyo3::prelude::*;

/// Copies a host array to a new device array.
pub(in crate::python) fn copy_of<'py>(
    host: HostArray<'py>,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    filled(host.array.py(), &host.interface, Elements::Host(&host.array), stream, device)
}

/// Creates a contiguous array with the shape and type of `described` and the elements of `source`.
pub(in crate::python) fn filled<'py>(
    py: Python<'py>,
    described: &Interface,
    source: Elements<'_, 'py>,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let array = packed_like(py, described, stream, device)?;
    // The copy runs in the home stream and not in `stream`, because a default stream was replaced by that of the array's device.
    let home = stream.map(|_| array.get().stream(py)).transpose()?.flatten();
    array.get().fill(py, source, home.as_ref().map(|home| home.bind(py).as_any()))?;
    Ok(array)
}

/// Allocates an array with the shape and type of `described`, in Fortran order if `described` is.
pub(in crate::python) fn packed_like<'py>(
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

/// The layout with this shape, and with these strides or this order.
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

/// Allocates memory for `layout` and creates the array over it. `stream` becomes the home stream, and selects the
/// device if `device` is `None`.
pub(in crate::python) fn allocate<'py>(
    py: Python<'py>,
    kind: MemoryKind,
    element: Element,
    layout: Layout,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let mut stream = stream.map(|given| stream::object(given).map(Bound::unbind)).transpose()?;
    let extent = layout.byte_extent();
    let (memory, replaced) = py.detach(|| {
        let given = stream.as_ref().map(|stream| &stream.get().stream);
        let (context, replaced) = place(given, device)?;
        let bytes = extent.end.abs_diff(extent.start);
        let memory = Memory::new(&context, || match kind {
            MemoryKind::Pinned => Allocation::pinned(&context, bytes),
            MemoryKind::Mapped => Allocation::mapped(&context, bytes),
            MemoryKind::Managed => Allocation::managed(&context, bytes),
            MemoryKind::Device | MemoryKind::StreamOrdered | MemoryKind::Other(_) => {
                Allocation::device(&context, bytes)
            }
        })?;
        Ok::<_, Error>((memory, replaced))
    })?;
    runtime::report_drops(py);
    if let Some(default_stream) = replaced {
        stream = Some(Py::new(py, PyStream::new(default_stream, None))?);
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

/// The context for an array with this home stream on this device. Each device has its own default streams, so a default
/// stream is replaced by that of the device, which is then returned too.
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
