//! `DeviceArray`: an interface, the owner of its memory, and its home stream.

pub(in crate::python) mod assign;
pub(in crate::python) mod borrow_state;
pub(in crate::python) mod copies;
pub(in crate::python) mod create;
pub(in crate::python) mod dictionary;
pub(in crate::python) mod host_memory;
pub(in crate::python) mod indexing;
pub(in crate::python) mod mask;
pub(in crate::python) mod rearrange;
pub(in crate::python) mod tensor;
pub(in crate::python) mod transfer;
pub(in crate::python) mod view;

use crate::python::{
    config,
    memory::{
        array_owner::ArrayOwner,
        owner::PyMemory,
        reach::{Pointer, context_of},
        runtime::{self, driver},
        stream::{self, PyStream},
    },
    values::dtype,
};
use crate::{
    Error, Interface, Owner, RawDeviceArray, Result, StreamEntry,
    array::held::Held,
    driver::{MemoryKind, PointerAttributes, Stream},
    exchange::{
        c_interface::Body,
        dlpack::{
            abi::{DLDevice, DLTensor},
            tensor::{CUDA, CUDA_MANAGED, Prepared},
        },
    },
    sync::{Access, Home, Pending, SyncState},
};
use borrow_state::BorrowState;
use dictionary::Template;
use mask::ArrayMask;
use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::{
    num::NonZeroUsize,
    sync::{Arc, OnceLock},
    thread::{self, ThreadId},
};

/// An array in device memory: its CUDA Array Interface, and the owner that keeps the memory alive.
///
/// Made by `as_cuda_array`, `from_cuda_array_interface`, `device_array` and `to_device`. Libraries that read the interface
/// use the array without copying it.
///
/// >>> a = cuarray.to_device([[1.0, 2.0], [3.0, 4.0]])
/// >>> a.shape, a.dtype
/// ((2, 2), dtype('float64'))
/// >>> a.copy_to_host().tolist()
/// [[1.0, 2.0], [3.0, 4.0]]
#[pyclass(frozen, weakref, name = "DeviceArray", module = "cuarray")]
pub struct PyDeviceArray {
    /// The state of the borrow, for a borrowed array and its views. Dropped first, because ending a borrow needs the other fields.
    borrow_state: Option<Py<BorrowState>>,
    /// Boxed, because an import moves the array several times.
    interface: Box<Interface>,
    owner: Option<ArrayOwner>,
    /// The home stream, if it was given as an object. Otherwise the interface may name another library's stream, which the
    /// owner keeps alive (clause L4).
    stream: Option<Py<PyStream>>,
    mask: Option<ArrayMask>,
    /// The thread that made the array, if its interface names another library's per-thread default stream.
    home_thread: Option<ThreadId>,
    /// Pending work on the memory, shared by all arrays that were made from the same array.
    pending: OnceLock<Arc<Pending>>,
    template: Template,
    exchanged: OnceLock<Box<Exchanged>>,
}

/// Values that are computed at an array's first export by a C structure.
#[derive(Default)]
struct Exchanged {
    place: OnceLock<Place>,
    tensor: OnceLock<Prepared>,
    structure: OnceLock<Body>,
}

/// The location of memory.
#[derive(Clone, Copy)]
pub(in crate::python) struct Place {
    /// The device of the memory or of its context; `None` if the driver does not report it.
    pub(in crate::python) device: Option<i32>,
    pub(in crate::python) kind: MemoryKind,
}

impl Place {
    /// The location that a DLPack tensor names.
    pub(in crate::python) fn of_tensor(device: DLDevice) -> Place {
        match device.device_type {
            CUDA => Place { device: Some(device.device_id), kind: MemoryKind::Device },
            CUDA_MANAGED => Place { device: None, kind: MemoryKind::Managed },
            _ => Place { device: None, kind: MemoryKind::Pinned },
        }
    }
}

/// The stream and the event that an export names.
pub(super) struct ExportedStream {
    /// `None` if exports name no streams, or if no stream orders the array's work.
    pub(super) stream: Option<StreamEntry>,
    pub(super) event: Option<NonZeroUsize>,
}

impl PyDeviceArray {
    /// An array with an owner that keeps its memory and its stream alive.
    pub(super) fn foreign(interface: impl Into<Box<Interface>>, owner: Option<Py<PyAny>>) -> PyDeviceArray {
        PyDeviceArray::owned(interface, owner.map(ArrayOwner::from))
    }

    #[inline]
    fn owned(interface: impl Into<Box<Interface>>, owner: Option<ArrayOwner>) -> PyDeviceArray {
        let interface = interface.into();
        let home_thread = match interface.stream() {
            StreamEntry::PerThreadDefault => Some(thread::current().id()),
            _ => None,
        };
        PyDeviceArray {
            borrow_state: None,
            interface,
            home_thread,
            owner,
            stream: None,
            mask: None,
            pending: OnceLock::new(),
            template: Template::new(),
            exchanged: OnceLock::new(),
        }
    }

    /// An array with the home stream `stream`.
    pub(super) fn with_stream(
        interface: impl Into<Box<Interface>>,
        owner: impl Into<ArrayOwner>,
        stream: Option<Py<PyStream>>,
    ) -> PyDeviceArray {
        PyDeviceArray { stream, ..PyDeviceArray::owned(interface, Some(owner.into())) }
    }

    /// An array over the package's own memory, with the home stream `stream`.
    pub(super) fn over(interface: Interface, memory: Py<PyMemory>, stream: Option<Py<PyStream>>) -> PyDeviceArray {
        if let Some(stream) = &stream {
            memory.get().used_in(&stream.get().stream);
        }
        let pending = OnceLock::from(memory.get().pending().clone());
        let place = if interface.layout().is_empty() { memory.get().place() } else { None };
        let array = PyDeviceArray { pending, ..PyDeviceArray::with_stream(interface, memory.into_any(), stream) };
        array.at(place.map(|(device, kind)| Place { device, kind }))
    }

    /// An array that an extension module returns.
    pub(super) fn returned(py: Python<'_>, array: &RawDeviceArray) -> PyResult<PyDeviceArray> {
        let stream = array.home_stream().map(|home| Py::new(py, PyStream::new(home.clone(), None))).transpose()?;
        let memory = Py::new(py, PyMemory::holding(array.held().clone()))?;
        Ok(PyDeviceArray::over(array.interface().clone(), memory, stream))
    }

    /// An array that is borrowed for work in `stream`. Work on it in other streams is ordered in this stream, so the end of the
    /// borrow has to wait for this stream alone.
    pub(super) fn borrowed_in(
        interface: Interface,
        owner: Option<Py<PyAny>>,
        stream: Py<PyStream>,
        borrow_state: Py<BorrowState>,
    ) -> PyDeviceArray {
        PyDeviceArray {
            borrow_state: Some(borrow_state),
            stream: Some(stream),
            ..PyDeviceArray::foreign(interface, owner)
        }
    }

    /// The home stream, if it was given as an object.
    pub(super) fn stream_object(&self, py: Python<'_>) -> Option<Py<PyStream>> {
        self.stream.as_ref().map(|stream| stream.clone_ref(py))
    }

    /// Returns an error if the array was borrowed and the borrow has ended.
    pub(super) fn check_borrow(&self) -> Result<()> {
        self.borrow_state.as_ref().map_or(Ok(()), |borrow_state| borrow_state.get().check())
    }

    /// This array with `mask`.
    pub(super) fn with_mask(self, mask: Option<ArrayMask>) -> PyDeviceArray {
        PyDeviceArray { mask, ..self }
    }

    pub(super) fn mask(&self) -> Option<&ArrayMask> {
        self.mask.as_ref()
    }

    /// Another array over this memory, with the same owner and home stream and no mask. The owner is never this array, so
    /// chains of views do not grow.
    ///
    /// # Errors
    /// As [`PyDeviceArray::owner`].
    pub(super) fn view_of(&self, py: Python<'_>, interface: Interface) -> PyResult<PyDeviceArray> {
        let interface = Box::new(interface);
        let stream = self.stream.as_ref().map(|stream| stream.clone_ref(py));
        let pending = OnceLock::from(self.pending().clone());
        let borrow_state = self.borrow_state.as_ref().map(|borrow_state| borrow_state.clone_ref(py));
        let home_thread = self.home_thread;
        let place = if interface.layout().is_empty() { self.place_of_views() } else { None };
        let foreign = PyDeviceArray::foreign(interface, self.owner(py)?).at(place);
        Ok(PyDeviceArray { borrow_state, stream, home_thread, pending, ..foreign })
    }

    /// This array at `place`, if it has no elements: the driver may not know its pointer.
    pub(in crate::python) fn at(self, place: Option<Place>) -> PyDeviceArray {
        if let Some(place) = place.filter(|_| self.interface.layout().is_empty()) {
            let _ = self.exchanged().place.set(place);
        }
        self
    }

    /// The location for a view without elements, whose pointer may be that of other memory: one past the end. A view needs no driver, so
    /// none is loaded for it.
    fn place_of_views(&self) -> Option<Place> {
        self.given_place().or_else(|| runtime::loaded().and_then(|_| self.place().ok().flatten()))
    }

    /// The location, if it is known without a query.
    fn given_place(&self) -> Option<Place> {
        self.exchanged.get().and_then(|exchanged| exchanged.place.get()).copied()
    }

    /// This array and its mask, with the home stream `stream`, which `interface` names.
    ///
    /// # Errors
    /// As [`PyDeviceArray::owner`].
    pub(super) fn bound_to(
        &self,
        py: Python<'_>,
        interface: Interface,
        stream: Option<Py<PyStream>>,
    ) -> PyResult<PyDeviceArray> {
        if let Some(stream) = &stream {
            self.pending().add_home(&stream.get().stream);
        }
        let mask = self.mask.as_ref().map(|mask| mask.clone_ref(py));
        Ok(PyDeviceArray { stream, mask, ..self.view_of(py, interface)? })
    }

    /// This array and its mask, with the element type of `interface`.
    ///
    /// # Errors
    /// As [`PyDeviceArray::owner`].
    pub(super) fn retyped(&self, py: Python<'_>, interface: Interface) -> PyResult<PyDeviceArray> {
        self.bound_to(py, interface, self.stream.as_ref().map(|stream| stream.clone_ref(py)))
    }

    pub(super) fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The interface as a dictionary, without stream and mask.
    pub(super) fn dictionary<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        self.template.dictionary(py, &self.interface)
    }

    pub(super) fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        dictionary::shape(py, &self.interface)
    }

    pub(super) fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        dictionary::strides(py, &self.interface)
    }

    pub(super) fn dtype<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        dtype::of_interface(py, &self.interface)
    }

    /// The home stream as an object, which is made if there is none yet.
    pub(super) fn stream(&self, py: Python<'_>) -> Result<Option<Py<PyStream>>> {
        if let Some(stream) = &self.stream {
            return Ok(Some(stream.clone_ref(py)));
        }
        let stream = self.home_stream()?;
        Ok(stream.map(|stream| Py::new(py, PyStream::new(stream, self.owner(py)?))).transpose()?)
    }

    /// The object that keeps the memory alive.
    pub(super) fn owner(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.owner.as_ref().map(|owner| owner.object(py)).transpose()
    }

    /// The ordinal of the device, if it is known.
    pub(super) fn device(&self) -> Result<Option<i32>> {
        match self.given_place() {
            Some(place) => Ok(place.device),
            None => Ok(self.attributes()?.and_then(|attributes| attributes.device_ordinal)),
        }
    }

    /// The kind of the memory, if it is known.
    pub(super) fn kind(&self) -> Result<Option<MemoryKind>> {
        match self.given_place() {
            Some(place) => Ok(Some(place.kind)),
            None => Ok(self.attributes()?.map(|attributes| attributes.kind)),
        }
    }

    /// Visits the objects that the array holds, for the garbage collector.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        if let Some(owner) = &self.owner {
            owner.traverse(visit)?;
        }
        if let Some(mask) = &self.mask {
            mask.traverse(visit)?;
        }
        visit.call(&self.borrow_state)?;
        visit.call(&self.stream)
    }

    /// The home stream (clauses N1, N2, N5), if there is one; valid while the array is alive.
    pub(super) fn home_stream(&self) -> Result<Option<Stream>> {
        if let Some(stream) = &self.stream {
            return Ok(Some(stream.get().stream.clone()));
        }
        match self.interface.stream().handle() {
            None => Ok(None),
            // Every device has default streams; these belong to the device of the memory.
            Some(1) => Ok(Some(Stream::legacy_default(&context_of(self.interface.data())?))),
            Some(2) => Ok(Some(Stream::per_thread_default(&context_of(self.interface.data())?))),
            Some(handle) => stream::external(handle).map(Some),
        }
    }

    /// Pending work on the memory that no home stream orders.
    pub(super) fn pending(&self) -> &Arc<Pending> {
        self.pending.get_or_init(Arc::default)
    }

    /// The data pointer, with the facts about the memory that need no driver call.
    pub(super) fn pointer<'a>(&'a self, py: Python<'a>) -> Pointer<'a> {
        let address = self.interface.data();
        let memory = self.owner.as_ref().and_then(|owner| owner.memory(py));
        Pointer { address, allocated_in: memory.and_then(|memory| memory.get().context_of(address)) }
    }

    /// Whether the array was imported from a C structure or a DLPack tensor without a stream.
    pub(super) fn is_taken_without_stream(&self, py: Python<'_>) -> bool {
        self.interface.stream() == StreamEntry::None && self.owner.as_ref().is_some_and(|owner| owner.is_taken(py))
    }

    /// An owner that defers the release of a C structure or a DLPack tensor without a stream until pending work is done. Its release
    /// promises that no work is pending, and no stream could wait for the work.
    pub(super) fn deferred_owner(&self, py: Python<'_>) -> PyResult<Option<Py<PyMemory>>> {
        if !self.is_taken_without_stream(py) {
            return Ok(None);
        }
        // Without a driver no work can be enqueued.
        let (Some(owner), Ok(context)) = (self.owner(py)?, context_of(self.interface.data())) else { return Ok(None) };
        let (bytes, pending) = (self.interface.byte_range(), self.pending().clone());
        let held = Held::until_done(&context, bytes, Owner::from_python(owner), pending);
        Py::new(py, PyMemory::holding(held)).map(Some)
    }

    /// The synchronization state of the memory.
    ///
    /// # Errors
    /// Unsupported: the array was borrowed and the borrow has ended.
    pub(super) fn sync_state(&self) -> Result<SyncState> {
        self.check_borrow()?;
        let is_object = self.borrow_state.is_none() && self.stream.is_some();
        let home = self.home_stream()?.map(|home| match is_object && !home.is_owned() && home.handle() != 1 {
            // A foreign stream that was given as an object may be destroyed before the memory is freed.
            true => Home::outlived(home),
            false => Home::named(home, self.named_thread()),
        });
        Ok(SyncState::new(home, self.pending().clone()))
    }

    /// Makes later work in `stream` wait for all work on the memory.
    pub(super) fn ready_on(&self, py: Python<'_>, stream: &Stream) -> Result<()> {
        let state = self.sync_state()?;
        let access = self.consumers_access();
        py.detach(|| state.before(stream, access))
    }

    /// The access that the interface allows to a consumer.
    pub(super) fn consumers_access(&self) -> Access {
        if self.interface.is_read_only() { Access::Read } else { Access::Write }
    }

    /// The synchronization state of the memory as the source of a copy; `None` if the user has switched `sync` off.
    pub(super) fn source_sync_state(&self) -> Result<Option<SyncState>> {
        self.check_borrow()?;
        if config::sync() { self.sync_state().map(Some) } else { Ok(None) }
    }

    pub(super) fn attributes(&self) -> Result<Option<PointerAttributes>> {
        self.check_borrow()?;
        // Exports of arrays without elements have a null pointer (clause I5).
        if self.interface.data() == 0 {
            return Ok(None);
        }
        PointerAttributes::query(driver()?, self.interface.data())
    }

    /// The location of the memory, queried once; `None` without a driver, or if the driver does not know the memory.
    pub(super) fn place(&self) -> Result<Option<Place>> {
        self.check_borrow()?;
        if let Some(place) = self.given_place() {
            return Ok(Some(place));
        }
        let attributes = match self.attributes() {
            // The interface can be written without a driver, so a driver that is missing or does not start is no error.
            Err(error) if error.is_no_driver() || error.driver_call() == Some("cuInit") => None,
            attributes => attributes?,
        };
        let place = attributes.map(|found| Place { device: found.device_ordinal, kind: found.kind });
        Ok(place.map(|place| *self.exchanged().place.get_or_init(|| place)))
    }

    fn exchanged(&self) -> &Exchanged {
        self.exchanged.get_or_init(Box::default)
    }

    /// The array as a DLPack tensor; the tensor's pointers are valid while the array is alive.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: DLPack cannot describe the array, or the array was borrowed and the borrow has ended.
    pub(super) fn tensor(&self) -> Result<DLTensor> {
        if let Some(tensor) = self.prepared_tensor() {
            return Ok(tensor);
        }
        self.check_borrow()?;
        tensor::refuse_mask(self)?;
        let tensor = Prepared::new(&self.interface, tensor::device(self)?)?;
        Ok(self.exchanged().tensor.get_or_init(|| tensor).tensor())
    }

    /// The tensor, if it has been computed before and the array may be used.
    #[inline]
    pub(super) fn prepared_tensor(&self) -> Option<DLTensor> {
        let prepared = self.exchanged.get()?.tensor.get()?;
        self.check_borrow().is_ok().then(|| prepared.tensor())
    }

    /// The array as a C structure without stream and owner; the structure's pointers are valid while the array is alive.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: C cannot express the name of a field.
    pub(super) fn structure(&self) -> Result<Body> {
        if let Some(ready) = self.exchanged.get().and_then(|exchanged| exchanged.structure.get()) {
            return Ok(ready.shallow_copy());
        }
        let body = Body::of(&self.interface)?;
        // An unknown location is not stored, so that the next call queries it again.
        let Some(place) = self.place()? else { return Ok(body) };
        let body = body.at(place.device, Some(place.kind));
        Ok(self.exchanged().structure.get_or_init(|| body).shallow_copy())
    }

    /// Whether later work in the legacy default stream is ordered after all work on the array without another edge.
    #[inline]
    pub(super) fn is_ready_on_legacy(&self) -> bool {
        matches!(self.interface.stream(), StreamEntry::None | StreamEntry::LegacyDefault) && self.is_idle_elsewhere()
    }

    /// Whether no work can be pending outside of the home stream. Makes no driver call.
    #[inline]
    fn is_idle_elsewhere(&self) -> bool {
        let home = self.stream.as_ref().map(|stream| &stream.get().stream);
        self.pending.get().is_none_or(|pending| pending.is_idle(home))
    }

    /// Whether the interface names the per-thread default stream of another thread than the calling one.
    fn is_home_of_another_thread(&self) -> bool {
        self.named_thread().is_some_and(|thread| thread != thread::current().id())
    }

    /// The thread whose per-thread default stream is the home stream. A stream that was given as an object belongs to the thread that
    /// uses it.
    fn named_thread(&self) -> Option<ThreadId> {
        self.home_thread.filter(|_| self.stream.is_none())
    }

    /// Makes the legacy default stream wait for all work on the memory.
    pub(super) fn ready_on_legacy(&self, py: Python<'_>) -> Result<()> {
        if self.is_ready_on_legacy() {
            return Ok(());
        }
        self.ready_on(py, &Stream::legacy_default(&context_of(self.interface.data())?))
    }

    /// The stream and the event for a consumer to wait for. The home stream, or a new one, first waits for all
    /// pending work that it does not order (clauses P1 to P4). The event follows that work, if the user asked for events (clause X2).
    pub(super) fn export_stream(&self, py: Python<'_>) -> Result<ExportedStream> {
        if !config::names_streams() {
            return Ok(ExportedStream { stream: None, event: None });
        }
        let joins = !self.is_idle_elsewhere() || self.is_home_of_another_thread();
        if !(joins || config::export_event()) {
            return Ok(ExportedStream { stream: Some(self.interface.stream()), event: None });
        }
        let (state, access) = (self.sync_state()?, self.consumers_access());
        let (stream, event) = py.detach(|| {
            let Some(stream) = state.export(access)? else { return Ok((None, None)) };
            let event = if config::export_event() { self.pending().export_event(&stream)? } else { None };
            Ok::<_, Error>((Some(stream), event))
        })?;
        let entry = stream.map(|stream| StreamEntry::try_from(stream.handle() as i128)).transpose()?;
        Ok(ExportedStream { stream: entry, event: event.and_then(NonZeroUsize::new) })
    }

    /// Another array over this memory, without the mask.
    ///
    /// # Errors
    /// As [`PyDeviceArray::owner`].
    pub(super) fn share(&self, py: Python<'_>) -> PyResult<PyDeviceArray> {
        self.view_of(py, (*self.interface).clone())
    }
}
