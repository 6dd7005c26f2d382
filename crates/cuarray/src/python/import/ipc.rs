//! Arrays for another process of the machine: a handle that can be pickled, and the memory that it opens there.
//!
//! The driver's handle names an allocation, and an array is a part of one. So the pickled handle also has the offset of the first element and
//! the interface of the elements. The device is named by its UUID, because its ordinal may differ in the other process. There, the memory is
//! opened in a context of that device, whichever context is current.
//!
//! Nothing orders work between processes. The function that makes a handle waits for the array's pending work. The caller waits for
//! other work on the memory, and tells the other process before the memory is freed.

use crate::python::{
    array::{PyDeviceArray, dictionary},
    memory::{
        bounds,
        contexts::context_on,
        reach::{self, context_of},
        runtime::{self, driver},
        stream::{self, PyStream},
    },
    values::{
        descr,
        dtype::{self, Element},
        numbers::{number, numbers},
    },
};
use crate::{
    DevicePtr, Dims, Error, Interface, Layout, Result, StreamEntry, Strides, TypeStr,
    driver::{CUresult, IpcMemHandle, IpcMemory},
    protocol::layout::Tuple,
    sync::Access,
};
use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyBytes, PyString, PyTuple, PyType},
};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A handle by which another process opens an array: pickle it, send it, and `open()` it there.
///
/// Made by `DeviceArray.get_ipc_handle()`. In the process that made it, the handle keeps the memory alive. The memory must stay
/// allocated until every other process has closed it; the driver does not check this. The handle cannot be opened in the process that made it.
///
/// >>> import pickle
/// >>> handle = cuarray.to_device([1, 2, 3, 4])[1:].get_ipc_handle()
/// >>> sent = pickle.dumps(handle)
/// >>> pickle.loads(sent).shape
/// (3,)
///
/// And in the other process:
///
/// >>> with pickle.loads(sent) as array:  # doctest: +SKIP
/// ...     array.copy_to_host()
/// array([2, 3, 4])
// Python prints this text, where brackets are no links.
#[allow(rustdoc::broken_intra_doc_links)]
#[pyclass(frozen, weakref, name = "IpcHandle", module = "cuarray")]
pub struct PyIpcHandle {
    /// `None` for an array without bytes, which needs no sharing.
    place: Option<Place>,
    layout: Layout,
    element: Element,
    read_only: bool,
    /// The owner of the memory, in the process that made the handle.
    owner: Option<Py<PyAny>>,
    /// The arrays that `with` blocks have open.
    entered: Mutex<Vec<Py<PyIpcMemory>>>,
}

/// The place of an array in shared memory.
#[derive(Clone, Copy)]
struct Place {
    handle: IpcMemHandle,
    /// Bytes from the start of the allocation to the first element.
    offset: u64,
    device: [u8; 16],
    /// The process that owns the memory.
    process: u32,
}

/// Implements `DeviceArray.get_ipc_handle`.
pub(in crate::python) fn handle_of(array: &PyDeviceArray, py: Python<'_>) -> Result<PyIpcHandle> {
    if array.mask().is_some() {
        return Err(Error::unsupported(
            "a masked array has no handle of its own; send one of its `data` and one of its `mask`",
        ));
    }
    let interface = array.interface();
    let owner = array.owner(py)?;
    let state = array.sync_state()?;
    let imported = owner.as_ref().and_then(|owner| owner.bind(py).cast::<PyIpcMemory>().ok().map(Bound::get));
    let place = py.detach(|| {
        state.synchronize(Access::Write)?;
        if interface.byte_range().is_empty() {
            return Ok(None);
        }
        match imported {
            // An allocation has one handle, so the handle that opened it is passed on.
            Some(memory) => memory.place_of(interface.data()).map(Some),
            None => place_of(interface.data()).map(Some),
        }
    })?;
    let element = Element::of_interface(interface);
    let (layout, read_only) = (interface.layout().clone(), interface.is_read_only());
    Ok(PyIpcHandle { place, layout, element, read_only, owner, entered: Mutex::default() })
}

fn place_of(data: DevicePtr) -> Result<Place> {
    let attributes = reach::attributes(data)?.ok_or_else(|| reach::unreached(data, None))?;
    let context = context_of(data)?;
    let device_ptr = reach::of_device(&attributes, data).unwrap_or(data);
    let handle = IpcMemHandle::of(&context, device_ptr).map_err(|error| match error.driver_code() {
        Some(CUresult::CUDA_ERROR_INVALID_VALUE) => Error::unsupported(format!(
            "the driver gives no handle for the memory at {data:#x}, which is {}; expected memory of cuMemAlloc, such as \
             that of device_array and to_device",
            reach::kind(&attributes)
        )),
        _ => error,
    })?;
    let start =
        attributes.range.as_ref().map(|range| range.start).filter(|start| *start <= device_ptr).ok_or_else(|| {
            Error::unsupported(format!("the driver does not report where the allocation that holds {data:#x} starts"))
        })?;
    let device = context.device()?.uuid()?;
    Ok(Place { handle, offset: device_ptr - start, device, process: std::process::id() })
}

impl PyIpcHandle {
    fn entered(&self) -> MutexGuard<'_, Vec<Py<PyIpcMemory>>> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interface(&self, data: DevicePtr) -> Result<Interface> {
        let interface = Interface::new(data, self.element.typestr, self.layout.clone())?.with_read_only(self.read_only);
        match &self.element.descr {
            Some(descr) => interface.with_descr(descr.clone()),
            None => Ok(interface),
        }
    }

    /// Maps the memory into this process; `None` for an array without bytes.
    fn map<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyIpcMemory>>> {
        let Some(place) = self.place else { return Ok(None) };
        Ok(Some(Bound::new(py, py.detach(|| place.open())?)?))
    }

    /// The array over the mapped memory.
    fn array<'py>(
        &self,
        memory: Bound<'py, PyIpcMemory>,
        stream: Option<Py<PyStream>>,
    ) -> Result<Bound<'py, PyDeviceArray>> {
        let py = memory.py();
        let data = memory.get().ptr.checked_add(self.offset()).ok_or_else(out_of_space)?;
        let interface = self.interface(data)?.with_stream(entry(stream.as_ref())?);
        // Pickled data is untrusted.
        if let Some(allocation) = reach::attributes(memory.get().ptr)?.and_then(|attributes| attributes.range) {
            bounds::within(interface.byte_range(), &allocation, "data")?;
        }
        Ok(Bound::new(py, PyDeviceArray::with_stream(interface, memory.into_any().unbind(), stream))?)
    }

    /// A dummy address, for an interface that needs no memory.
    fn anywhere(&self) -> Result<Interface> {
        self.interface(1 << 47)
    }
}

/// The stream entry of an interface.
fn entry(stream: Option<&Py<PyStream>>) -> Result<StreamEntry> {
    stream.map_or(Ok(StreamEntry::None), |stream| StreamEntry::try_from(stream.get().stream.handle() as i128))
}

impl Place {
    /// Maps the allocation into this process.
    fn open(self) -> Result<PyIpcMemory> {
        let found = driver()?.devices()?.into_iter().find_map(|device| match device.uuid() {
            Ok(uuid) if uuid == self.device => Some(Ok(device)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        });
        let device = found.transpose()?.ok_or_else(|| {
            let uuid: String = self.device.iter().map(|byte| format!("{byte:02x}")).collect();
            Error::unsupported(format!(
                "the array is on the device with the UUID {uuid}, which this process does not see (CUDA_VISIBLE_DEVICES?)"
            ))
        })?;
        let memory = self.handle.open(&context_on(device.ordinal())?).map_err(|error| match error.driver_code() {
            Some(CUresult::CUDA_ERROR_INVALID_CONTEXT) if self.process == std::process::id() => Error::argument(
                "the handle was made in this process, which cannot open it; use the array itself, or open the handle in another process",
            ),
            _ => error,
        })?;
        Ok(PyIpcMemory { ptr: memory.device_ptr(), place: self, memory: Mutex::new(Some(memory)) })
    }
}

#[pymethods]
impl PyIpcHandle {
    /// Makes a handle of its parts, as pickling does.
    ///
    /// The parts are the driver's 64 bytes (none for an array without elements), the interface of the elements, the device's UUID, and
    /// the process that owns the memory. `offset` counts the bytes from the start of the allocation to the first element.
    #[new]
    #[pyo3(signature = (handle, offset, shape, strides, typestr, descr, readonly, device, process))]
    #[allow(clippy::too_many_arguments)] // they are what pickling stores
    fn new(
        handle: &[u8],
        #[pyo3(from_py_with = offset)] offset: u64,
        #[pyo3(from_py_with = shape)] shape: Vec<usize>,
        #[pyo3(from_py_with = strides)] strides: Vec<isize>,
        typestr: &Bound<'_, PyString>,
        descr: Option<&Bound<'_, PyAny>>,
        readonly: bool,
        device: &[u8],
        #[pyo3(from_py_with = process)] process: u32,
    ) -> Result<PyIpcHandle> {
        let place = match handle {
            [] => None,
            bytes => Some(Place {
                handle: IpcMemHandle::from_bytes(exactly(bytes, "handle")?),
                offset,
                device: exactly(device, "device")?,
                process,
            }),
        };
        let text = typestr.to_string_lossy();
        let named = |error| text.parse().map(TypeStr::named).map_err(|_: Error| error);
        let element = Element { typestr: text.parse().or_else(named)?, descr: descr.map(descr::read).transpose()? };
        let strides: Strides = strides.into_iter().collect();
        let layout =
            Layout::from_parts(shape.into_iter().collect::<Dims>(), Some(strides), element.typestr.itemsize())?;
        let handle =
            PyIpcHandle { place, layout, element, read_only: readonly, owner: None, entered: Mutex::default() };
        handle.anywhere()?;
        Ok(handle)
    }

    /// The array over memory of the other process. The memory stays open until the last view is released.
    ///
    /// This may be called again, because the driver counts how often memory is open. stream: the array's home stream.
    ///
    /// Raises ValueError in the process that made the handle, CudaError if the memory or its process is gone, BufferError if
    /// this process does not see the device.
    #[pyo3(signature = (stream=None))]
    fn open<'py>(&self, py: Python<'py>, stream: Option<&Bound<'py, PyAny>>) -> Result<Bound<'py, PyDeviceArray>> {
        let stream = stream.map(|given| stream::object(given).map(Bound::unbind)).transpose()?;
        let Some(memory) = self.map(py)? else {
            let interface = self.interface(0)?.with_stream(entry(stream.as_ref())?);
            return Ok(Bound::new(
                py,
                PyDeviceArray::foreign(interface.clone(), None).bound_to(py, interface, stream)?,
            )?);
        };
        self.array(memory, stream)
    }

    /// The array, for a `with` block. Leaving the block waits for the device and closes the memory. The array is invalid
    /// afterwards, even if the program still holds it. Raises CudaError at the end of the block if the device cannot be waited for;
    /// the memory is then closed by `reclaim`.
    fn __enter__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDeviceArray>> {
        let Some(memory) = self.map(py)? else { return self.open(py, None) };
        let array = self.array(memory.clone(), None)?;
        self.entered().push(memory.unbind());
        Ok(array)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> Result<()> {
        let memory = self.entered().pop();
        memory.map_or(Ok(()), |memory| memory.get().close(py))
    }

    /// The driver's handle of the allocation: 64 bytes, or none for an array without elements.
    #[getter]
    fn handle<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.place.as_ref().map_or(&[], |place| place.handle.as_bytes()))
    }

    /// Bytes from the start of the allocation to the first element.
    #[getter]
    fn offset(&self) -> u64 {
        self.place.map_or(0, |place| place.offset)
    }

    /// The size of each dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>> {
        Ok(dictionary::shape(py, &self.anywhere()?)?)
    }

    /// Bytes to step in each dimension.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>> {
        Ok(dictionary::strides(py, &self.anywhere()?)?)
    }

    /// The element type as the interface writes it, or its name where there is one ('bfloat16').
    #[getter]
    fn typestr(&self) -> String {
        self.element.typestr.label()
    }

    /// The element type, as a numpy.dtype.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        dtype::of_interface(py, &self.anywhere()?)
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.layout.nbytes()
    }

    /// Whether the elements must not be written.
    #[getter]
    fn readonly(&self) -> bool {
        self.read_only
    }

    /// The process that owns the memory; None for an array without elements.
    #[getter]
    fn process(&self) -> Option<u32> {
        self.place.map(|place| place.process)
    }

    /// The owner of the memory, in the process that made the handle; None in any other.
    #[getter]
    fn owner(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.owner.as_ref().map(|owner| owner.clone_ref(py))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let (py, handle) = (slf.py(), slf.get());
        let descr = handle.element.descr.as_ref().map(|descr| descr::write(py, descr)).transpose()?;
        let device: &[u8] = handle.place.as_ref().map_or(&[], |place| &place.device);
        let parts = (
            handle.handle(py),
            handle.offset(),
            handle.shape(py)?,
            handle.strides(py)?,
            handle.typestr(),
            descr,
            handle.read_only,
            PyBytes::new(py, device),
            handle.process().unwrap_or(0),
        );
        Ok((slf.get_type(), parts.into_pyobject(py)?))
    }

    fn __repr__(&self) -> String {
        let whose = self.place.map_or(String::new(), |place| format!(", process={}", place.process));
        format!("IpcHandle(shape={}, typestr='{}'{whose})", Tuple(self.layout.shape()), self.element.typestr.label())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }
}

/// Memory of another process; closed when the last array over it is released.
///
/// >>> type(array.owner)  # doctest: +SKIP
/// <class 'cuarray.IpcMemory'>
#[pyclass(frozen, weakref, name = "IpcMemory", module = "cuarray")]
pub struct PyIpcMemory {
    ptr: DevicePtr,
    place: Place,
    /// `None` after closing.
    memory: Mutex<Option<IpcMemory>>,
}

impl PyIpcMemory {
    /// Closes without the GIL: closing waits for work on the memory, which may include a host function that needs the GIL.
    fn close(&self, py: Python<'_>) -> Result<()> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| memory.map_or(Ok(()), IpcMemory::close))
    }

    /// The place of an array in the memory, for its first element at `data`.
    fn place_of(&self, data: DevicePtr) -> Result<Place> {
        let offset = data.checked_sub(self.ptr).ok_or_else(out_of_space)?;
        Ok(Place { offset, ..self.place })
    }
}

impl Drop for PyIpcMemory {
    fn drop(&mut self) {
        Python::try_attach(|py| {
            if let (Err(error), Some(driver)) = (self.close(py), runtime::loaded()) {
                driver.dropped(Err(error));
            }
            runtime::report_drops(py);
        });
    }
}

#[pymethods]
impl PyIpcMemory {
    /// The address of the allocation on the device.
    #[getter]
    fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    /// The process that owns the memory.
    #[getter]
    fn process(&self) -> u32 {
        self.place.process
    }

    fn __repr__(&self) -> String {
        format!("<cuarray.IpcMemory: memory of process {} at {:#x}>", self.place.process, self.ptr)
    }
}

fn offset(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(number(value, "offset", "a number of bytes, from 0 to 2**64 - 1,")?)
}

fn shape(value: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    Ok(numbers(value, "shape")?)
}

fn strides(value: &Bound<'_, PyAny>) -> PyResult<Vec<isize>> {
    Ok(numbers(value, "strides")?)
}

fn process(value: &Bound<'_, PyAny>) -> PyResult<u32> {
    Ok(number(value, "process", "the id of a process")?)
}

fn exactly<const N: usize>(bytes: &[u8], what: &str) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| Error::argument(format!("{what} has {} bytes; {N} are expected", bytes.len())))
}

#[cold]
fn out_of_space() -> Error {
    Error::argument("the array reaches beyond the address space")
}
