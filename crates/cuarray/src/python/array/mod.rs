//! `DeviceArray`: an interface, what keeps its memory alive, and its default stream.

pub(in crate::python) mod allocate;
pub(in crate::python) mod assign;
pub(in crate::python) mod copies;
pub(in crate::python) mod create;
pub(in crate::python) mod indexing;
pub(in crate::python) mod mask;
pub(in crate::python) mod rearrange;
pub(in crate::python) mod transfer;
pub(in crate::python) mod view;

use crate::python::{
    config,
    export::{self, Template, dlpack},
    import::borrow::BorrowState,
    memory::{
        array_owner::ArrayOwner,
        owner::PyMemory,
        reach::Pointer,
        runtime::{context_of, driver},
        stream::{self, PyStream},
    },
    values::dtype,
};
use crate::{
    Error, Interface, Owner, RawDeviceArray, Result, StreamEntry,
    array::raw::Held,
    driver::{MemoryType, PointerAttributes, Stream},
    exchange::{
        c_interface::{Body, MemorySpace},
        dlpack::{abi::DLTensor, tensor::Prepared},
    },
    sync::{Access, Pending, SyncState},
};
use mask::ArrayMask;
use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::{
    num::NonZeroUsize,
    sync::{Arc, OnceLock},
};

/// An array in device memory: what the CUDA Array Interface says of it, and what keeps it alive.
///
/// Made by `as_cuda_array`, `from_cuda_array_interface`, `device_array` and `to_device`. Any library that reads the
/// interface takes one, without copying.
///
/// >>> a = cuarray.to_device([[1.0, 2.0], [3.0, 4.0]])
/// >>> a.shape, a.dtype
/// ((2, 2), dtype('float64'))
/// >>> a.copy_to_host().tolist()
/// [[1.0, 2.0], [3.0, 4.0]]
#[pyclass(frozen, weakref, name = "DeviceArray", module = "cuarray")]
pub struct PyDeviceArray {
    /// Of a borrowed array and its views: whether it still is. Dropped first, for what ends a borrow needs what is behind it.
    borrow_state: Option<Arc<BorrowState>>,
    /// Boxed: an import moves the array several times on its way here.
    interface: Box<Interface>,
    owner: Option<ArrayOwner>,
    /// The default stream, where it is one that was given to us as an object; else the interface may name a foreign one,
    /// which the owner keeps alive (clause L4).
    stream: Option<Py<PyStream>>,
    mask: Option<ArrayMask>,
    /// Where the memory has work; the same for all arrays that were made from one.
    pending: OnceLock<Arc<Pending>>,
    template: Template,
    exchanged: OnceLock<Box<Exchanged>>,
}

/// What is found out when an array first goes out by a structure of C.
#[derive(Default)]
struct Exchanged {
    place: OnceLock<Place>,
    tensor: OnceLock<Prepared>,
    structure: OnceLock<Body>,
}

/// Where memory is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The device that the memory is on, or that its context is of; `None` where the driver does not say.
    pub(super) device: Option<i32>,
    pub(super) space: MemorySpace,
}

/// What a consumer is told to wait for.
pub(super) struct Announced {
    /// `None` where that is the array's own, or streams are not named.
    pub(super) stream: Option<StreamEntry>,
    pub(super) event: Option<NonZeroUsize>,
}

impl PyDeviceArray {
    /// An array whose memory, and whose stream, `owner` keeps alive.
    pub(super) fn foreign(interface: impl Into<Box<Interface>>, owner: Option<Py<PyAny>>) -> PyDeviceArray {
        PyDeviceArray::owned(interface, owner.map(ArrayOwner::from))
    }

    #[inline]
    fn owned(interface: impl Into<Box<Interface>>, owner: Option<ArrayOwner>) -> PyDeviceArray {
        PyDeviceArray {
            borrow_state: None,
            interface: interface.into(),
            owner,
            stream: None,
            mask: None,
            pending: OnceLock::new(),
            template: Template::new(),
            exchanged: OnceLock::new(),
        }
    }

    /// An array whose default stream is `stream`.
    pub(super) fn with_stream(
        interface: impl Into<Box<Interface>>,
        owner: impl Into<ArrayOwner>,
        stream: Option<Py<PyStream>>,
    ) -> PyDeviceArray {
        PyDeviceArray { stream, ..PyDeviceArray::owned(interface, Some(owner.into())) }
    }

    /// An array over memory of the package's own, whose default stream is `stream`.
    pub(super) fn over(interface: Interface, memory: Py<PyMemory>, stream: Option<Py<PyStream>>) -> PyDeviceArray {
        if let Some(stream) = &stream {
            memory.get().used_in(&stream.get().stream);
        }
        let pending = OnceLock::from(memory.get().pending().clone());
        PyDeviceArray { pending, ..PyDeviceArray::with_stream(interface, memory.into_any(), stream) }
    }

    /// An array that an extension returns.
    pub(super) fn returned(py: Python<'_>, array: &RawDeviceArray) -> PyResult<PyDeviceArray> {
        let stream = array.home_stream().map(|home| Py::new(py, PyStream::new(home.clone(), None))).transpose()?;
        let memory = Py::new(py, PyMemory::holding(array.held().clone()))?;
        Ok(PyDeviceArray::over(array.interface().clone(), memory, stream))
    }

    /// An array that is borrowed for work in `stream`. What is enqueued on it elsewhere is ordered there, so that nothing but its
    /// stream has to be known when the borrow_state ends.
    pub(super) fn lent(
        interface: Interface,
        owner: Option<Py<PyAny>>,
        stream: Py<PyStream>,
        borrow_state: Arc<BorrowState>,
    ) -> PyDeviceArray {
        PyDeviceArray {
            borrow_state: Some(borrow_state),
            stream: Some(stream),
            ..PyDeviceArray::foreign(interface, owner)
        }
    }

    /// The default stream where it is an object.
    pub(super) fn own_stream(&self, py: Python<'_>) -> Option<Py<PyStream>> {
        self.stream.as_ref().map(|stream| stream.clone_ref(py))
    }

    /// Refuses the use of an array that was borrowed and given back.
    pub(super) fn check_borrow(&self) -> Result<()> {
        self.borrow_state.as_ref().map_or(Ok(()), |borrow_state| borrow_state.check())
    }

    /// The same array with `mask`.
    pub(super) fn with_mask(self, mask: Option<ArrayMask>) -> PyDeviceArray {
        PyDeviceArray { mask, ..self }
    }

    pub(super) fn mask(&self) -> Option<&ArrayMask> {
        self.mask.as_ref()
    }

    /// Another array over the same memory, which the same owner keeps (never this array: chains of views do not grow), with
    /// the same default stream and no mask.
    ///
    /// # Errors
    /// As [`PyDeviceArray::owner`].
    pub(super) fn view_of(&self, py: Python<'_>, interface: Interface) -> PyResult<PyDeviceArray> {
        let interface = Box::new(interface);
        let stream = self.stream.as_ref().map(|stream| stream.clone_ref(py));
        let pending = OnceLock::from(self.pending().clone());
        let borrow_state = self.borrow_state.clone();
        Ok(PyDeviceArray { borrow_state, stream, pending, ..PyDeviceArray::foreign(interface, self.owner(py)?) })
    }

    /// The same array, mask included, with another default stream, which is what `interface` names.
    ///
    /// # Errors
    /// As [`PyDeviceArray::owner`].
    pub(super) fn bound_to(
        &self,
        py: Python<'_>,
        interface: Interface,
        stream: Option<Py<PyStream>>,
    ) -> PyResult<PyDeviceArray> {
        if let Some(stream) = &stream
            && let Some(memory) = self.owner.as_ref().and_then(|owner| owner.memory(py))
        {
            memory.get().used_in(&stream.get().stream);
        }
        let mask = self.mask.as_ref().map(|mask| mask.clone_ref(py));
        Ok(PyDeviceArray { stream, mask, ..self.view_of(py, interface)? })
    }

    /// The same array, mask included, with its elements taken as what `interface` says.
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
        export::shape(py, &self.interface)
    }

    pub(super) fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        export::strides(py, &self.interface)
    }

    pub(super) fn dtype<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        dtype::of_interface(py, &self.interface)
    }

    /// The default stream as an object, which is made where there is none yet.
    pub(super) fn stream(&self, py: Python<'_>) -> Result<Option<Py<PyStream>>> {
        if let Some(stream) = &self.stream {
            return Ok(Some(stream.clone_ref(py)));
        }
        let stream = self.home_stream()?;
        Ok(stream.map(|stream| Py::new(py, PyStream::new(stream, self.owner(py)?))).transpose()?)
    }

    /// What keeps the memory alive, as an object.
    pub(super) fn owner(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.owner.as_ref().map(|owner| owner.object(py)).transpose()
    }

    /// The ordinal of the device, where the driver knows the memory.
    pub(super) fn device(&self) -> Result<Option<i32>> {
        Ok(self.attributes()?.and_then(|attributes| attributes.device_ordinal))
    }

    /// Shows the collector what the array holds.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        if let Some(owner) = &self.owner {
            owner.traverse(visit)?;
        }
        if let Some(mask) = &self.mask {
            mask.traverse(visit)?;
        }
        visit.call(&self.stream)
    }

    /// The default stream (clauses N1, N2, N5), if there is one; to be used while the array is held.
    pub(super) fn home_stream(&self) -> Result<Option<Stream>> {
        if let Some(stream) = &self.stream {
            return Ok(Some(stream.get().stream.clone()));
        }
        match self.interface.stream().handle() {
            None => Ok(None),
            // Every device has default streams; these are those of the device that the memory is on.
            Some(1) => Ok(Some(Stream::legacy_default(&context_of(self.interface.data())?))),
            Some(2) => Ok(Some(Stream::per_thread_default(&context_of(self.interface.data())?))),
            Some(handle) => stream::external(handle).map(Some),
        }
    }

    /// Where the memory has work that no default stream remembers.
    pub(super) fn pending(&self) -> &Arc<Pending> {
        self.pending.get_or_init(Arc::default)
    }

    /// The data pointer, and what is known of the memory without asking the driver.
    pub(super) fn pointer<'a>(&'a self, py: Python<'a>) -> Pointer<'a> {
        let address = self.interface.data();
        let memory = self.owner.as_ref().and_then(|owner| owner.memory(py));
        Pointer { address, allocated_in: memory.and_then(|memory| memory.get().context_of(address)) }
    }

    /// Whether it is another library's structure or tensor, which ends with a release, and no stream goes with it.
    pub(super) fn is_taken_without_stream(&self, py: Python<'_>) -> bool {
        self.interface.stream() == StreamEntry::None && self.owner.as_ref().is_some_and(|owner| owner.is_taken(py))
    }

    /// What keeps the memory until the work is done that is pending when it goes, for whoever enqueues such work and returns: of another
    /// library's structure or tensor no stream can be told to wait, and its release says that nothing is pending.
    pub(super) fn kept_until_done(&self, py: Python<'_>) -> PyResult<Option<Py<PyMemory>>> {
        if !self.is_taken_without_stream(py) {
            return Ok(None);
        }
        // Without a driver nothing can be enqueued.
        let (Some(owner), Ok(context)) = (self.owner(py)?, context_of(self.interface.data())) else { return Ok(None) };
        let (bytes, pending) = (self.interface.byte_range(), self.pending().clone());
        let held = Held::until_done(&context, bytes, Owner::from_python(owner), pending);
        Py::new(py, PyMemory::holding(held)).map(Some)
    }

    /// What orders work on the memory.
    ///
    /// # Errors
    /// Unsupported: it was borrowed, and has been given back.
    pub(super) fn ordering(&self) -> Result<SyncState> {
        self.check_borrow()?;
        let home = self.home_stream()?;
        // A stream that came as an object is one whose memory may be ours to free, and so outlive a stream that is not.
        let outlives = self.borrow_state.is_none()
            && self.stream.is_some()
            && home.as_ref().is_some_and(|home| !home.is_owned() && home.handle() != 1);
        let ordering = SyncState::new(home, self.pending().clone());
        Ok(if outlives { ordering.outliving_home() } else { ordering })
    }

    /// Lets what is enqueued in `stream` from now on wait for all work on the memory.
    pub(super) fn ready_on(&self, py: Python<'_>, stream: &Stream) -> Result<()> {
        let ordering = self.ordering()?;
        let access = self.consumers_access();
        py.detach(|| ordering.before(stream, access))
    }

    /// What somebody may do to the memory who has only its interface.
    pub(super) fn consumers_access(&self) -> Access {
        if self.interface.is_read_only() { Access::Read } else { Access::Write }
    }

    /// What orders work on the memory as a source of another array's: nothing where the user has switched that off.
    pub(super) fn source_ordering(&self) -> Result<Option<SyncState>> {
        self.check_borrow()?;
        if config::sync() { self.ordering().map(Some) } else { Ok(None) }
    }

    pub(super) fn attributes(&self) -> Result<Option<PointerAttributes>> {
        self.check_borrow()?;
        if self.interface.layout().is_empty() {
            return Ok(None);
        }
        PointerAttributes::query(driver()?, self.interface.data())
    }

    /// Where the memory is, which is asked once; `None` where the driver does not know, or there is none to ask.
    pub(super) fn place(&self) -> Result<Option<Place>> {
        self.check_borrow()?;
        let exchanged = self.exchanged();
        if let Some(place) = exchanged.place.get() {
            return Ok(Some(*place));
        }
        let attributes = match self.attributes() {
            // The interface can be written without a driver, so it is no error that there is none to ask.
            Err(error) if error.is_no_driver() || error.is_driver() => None,
            attributes => attributes?,
        };
        let place = attributes.map(|known| Place {
            device: known.device_ordinal,
            space: match known.memory_type {
                _ if known.is_managed => MemorySpace::Managed,
                MemoryType::Host => MemorySpace::Host,
                _ => MemorySpace::Device,
            },
        });
        Ok(place.map(|place| *exchanged.place.get_or_init(|| place)))
    }

    fn exchanged(&self) -> &Exchanged {
        self.exchanged.get_or_init(Box::default)
    }

    /// The array as DLPack says it; what the tensor points to lives as long as the array.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: DLPack cannot say it, or the array was borrowed and given back.
    pub(super) fn tensor(&self) -> Result<DLTensor> {
        if let Some(tensor) = self.prepared_tensor() {
            return Ok(tensor);
        }
        self.check_borrow()?;
        dlpack::refuse_mask(self)?;
        let tensor = Prepared::new(&self.interface, dlpack::device(self)?)?;
        Ok(self.exchanged().tensor.get_or_init(|| tensor).tensor())
    }

    /// The same where nothing has to be found out and nothing is wrong.
    #[inline]
    pub(super) fn prepared_tensor(&self) -> Option<DLTensor> {
        let prepared = self.exchanged.get()?.tensor.get()?;
        self.check_borrow().is_ok().then(|| prepared.tensor())
    }

    /// The array as a structure of C that names no stream and keeps nothing; what it points to lives as long as the array.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: a field's name cannot be said in C.
    pub(super) fn structure(&self) -> Result<Body> {
        if let Some(ready) = self.exchanged.get().and_then(|exchanged| exchanged.structure.get()) {
            return Ok(ready.again());
        }
        let body = Body::of(&self.interface)?;
        // Where the driver does not say where the memory is, it is asked again the next time.
        let Some(place) = self.place()? else { return Ok(body) };
        let body = body.at(place.device, Some(place.space));
        Ok(self.exchanged().structure.get_or_init(|| body).again())
    }

    /// Whether work that comes next in the legacy default stream comes after all work on the array by itself.
    #[inline]
    pub(super) fn is_ready_on_legacy(&self) -> bool {
        matches!(self.interface.stream(), StreamEntry::None | StreamEntry::LegacyDefault)
            && self.pending.get().is_none_or(|pending| pending.is_idle())
    }

    /// Lets the legacy default stream wait for all work on the memory.
    pub(super) fn ready_on_legacy(&self, py: Python<'_>) -> Result<()> {
        if self.is_ready_on_legacy() {
            return Ok(());
        }
        self.ready_on(py, &Stream::legacy_default(&context_of(self.interface.data())?))
    }

    /// What a consumer is told to wait for: work that the default stream does not remember is joined into it, or into a stream
    /// made for that (clauses P1 to P4), and an event stands behind all of it where the user wants one (clause X2).
    pub(super) fn announced(&self, py: Python<'_>) -> Result<Announced> {
        if !config::names_streams() {
            return Ok(Announced { stream: None, event: None });
        }
        let joins = self.pending.get().is_some_and(|pending| !pending.is_idle());
        if !(joins || config::export_event()) {
            return Ok(Announced { stream: Some(self.interface.stream()), event: None });
        }
        let (ordering, access) = (self.ordering()?, self.consumers_access());
        let (stream, event) = py.detach(|| {
            let Some(stream) = ordering.export(access)? else { return Ok((None, None)) };
            let event = if config::export_event() { self.pending().announce(&stream)? } else { None };
            Ok::<_, Error>((Some(stream), event))
        })?;
        let entry = stream.map(|stream| StreamEntry::try_from(stream.handle() as i128)).transpose()?;
        Ok(Announced { stream: entry, event: event.and_then(NonZeroUsize::new) })
    }

    /// The same memory once more, without the mask.
    ///
    /// # Errors
    /// As [`PyDeviceArray::owner`].
    pub(super) fn share(&self, py: Python<'_>) -> PyResult<PyDeviceArray> {
        self.view_of(py, (*self.interface).clone())
    }
}
