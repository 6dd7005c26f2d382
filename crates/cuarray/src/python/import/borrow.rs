//! `borrow` makes another library's array usable in a stream of the caller, ordered on both sides (clauses S2, S3, X2).
//!
//! The borrowed array is a new `DeviceArray` whose home stream is the borrower's. The array and its views are valid
//! until the borrow ends, which they check in a shared `BorrowState`. `BorrowState` holds the `SyncGuard` with the
//! edges, and the lent array. So a borrow that is never ended explicitly ends when the last of these arrays is dropped.

use super::{
    as_cuda_array::{self, with_options},
    c_interface::{self, Imported},
};
use crate::python::{
    array::{PyDeviceArray, borrow_state::BorrowState, mask::ArrayMask},
    config::{self, Protocol},
    ffi::inspect::type_name,
    import::{self, Adopted},
    memory::{
        bounds, event,
        reach::context_of,
        stream::{self, PyStream},
    },
    values::options::{Options, Policy},
};
use crate::{
    Error, Result, StreamEntry, Version,
    driver::Event,
    sync::{Access, EventOf, SyncGuard, SyncState},
};
use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyDict, PyTuple},
};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A borrow, returned by `borrow` for a `with` block.
///
/// >>> a, s = cuarray.to_device([1, 2, 3]), cuarray.stream()
/// >>> with cuarray.borrow(a, s) as array:  # work in `s` is ordered with all other work on the array
/// ...     array.shape
/// (3,)
#[pyclass(frozen, weakref, name = "Borrow", module = "cuarray")]
pub struct PyBorrow {
    // Dropped first, because the end of the borrow uses the fields below.
    borrow_state: OnceLock<Py<BorrowState>>,
    object: Py<PyAny>,
    stream: Py<PyStream>,
    event: Option<Py<PyAny>>,
    readonly: bool,
    sync: bool,
    options: Mutex<Option<Options>>,
}

/// Borrows a CUDA array for work in `stream`: `with borrow(obj, stream) as a:`.
///
/// On entry, `stream` waits for the producer's pending work (its `stream`, its mask's stream, all that is pending on a DeviceArray). On
/// exit, also after an exception, the producer's stream waits for the work in `stream`. The host does not wait. `a` is a DeviceArray over
/// the same memory with `stream` as its home stream. After the exit, `a` and its views raise BufferError. A borrow that is
/// not entered does nothing. A borrow that is not exited ends with the last of its arrays.
///
/// `readonly=True` is for work that only reads. Then `a` is read-only, and two such borrows of one DeviceArray do not wait for
/// each other. A read-only array can only be borrowed with `readonly=True`.
///
/// `event` marks the producer's work and that of earlier borrows, and is waited for in place of the producer's stream. It is an Event, a handle, or an object with a
/// `handle`.
///
/// `sync=False`, or `cuarray.config.sync = False`, leaves the ordering to the caller. The other options are those of
/// `as_cuda_array`.
///
/// If the object names no stream, there is nothing to wait for and no stream for the backward edge: the caller orders the producer's next work.
/// A DeviceArray remembers the work in any case. For a C structure without a stream the exit waits for `stream`, because its release
/// promises that nothing is pending.
///
/// Raises what `as_cuda_array` raises, and BufferError if only one of two streams takes part in a capture. The capture
/// stays valid.
///
/// >>> x = cuarray.to_device([1, 2, 3], stream=cuarray.stream())
/// >>> s = cuarray.stream()
/// >>> with cuarray.borrow(x, stream=s) as a:
/// ...     a[:] = 7  # or a kernel in s that takes `a`
/// >>> x.copy_to_host().tolist()
/// [7, 7, 7]
#[pyfunction]
#[pyo3(
    signature = (obj, stream, readonly=false, *, sync=true, event=None, **options),
    text_signature = "(obj, stream, readonly=False, *, sync=True, event=None, strict=True, mask=None, mask_format=None, dtype=None, bounds=False, protocol=None)"
)]
pub(in crate::python) fn borrow(
    obj: &Bound<'_, PyAny>,
    stream: &Bound<'_, PyAny>,
    readonly: bool,
    sync: bool,
    event: Option<Py<PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> Result<PyBorrow> {
    Ok(PyBorrow {
        borrow_state: OnceLock::new(),
        object: obj.clone().unbind(),
        stream: stream::object(stream)?.unbind(),
        event,
        readonly,
        sync,
        options: Mutex::new(Some(Options::of("borrow", options)?)),
    })
}

#[pymethods]
impl PyBorrow {
    fn __enter__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDeviceArray>> {
        let options = self.options.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(options) = options else {
            return Err(Error::argument("a borrow can be entered once; call cuarray.borrow() again"));
        };
        let (imported, event) = self.import(py, options)?;
        let array = imported.get();
        if array.interface().is_read_only() && !self.readonly {
            return Err(Error::unsupported("the array is read-only; borrow it with readonly=True"));
        }
        let mask = array.mask().map(|mask| Ok::<_, Error>(mask.array(py)?.clone_ref(py))).transpose()?;
        let synchronized = self.sync && config::sync();
        let guard = synchronized.then(|| self.guard(py, array, mask.as_ref().map(Py::get), event)).transpose()?;
        // A release promises that nothing is pending, and there is no stream for an edge back.
        let guard = guard.map(|guard| guard.waiting(array.is_taken_without_stream(py)));
        let borrow_state = Py::new(py, BorrowState::new(guard, imported.clone()))?;
        let borrow_state = self.borrow_state.get_or_init(|| borrow_state);
        let borrowed = self.borrowed(py, array, self.readonly, borrow_state)?;
        let Some(mask) = mask else { return Ok(Bound::new(py, borrowed)?) };
        let mask = Py::new(py, self.borrowed(py, mask.get(), true, borrow_state)?)?;
        Ok(Bound::new(py, borrowed.with_mask(Some(ArrayMask::of_elements(mask))))?)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> Result<()> {
        let Some(borrow_state) = self.borrow_state.get() else { return Ok(()) };
        borrow_state.get().end(py)
    }

    fn __repr__(&self) -> String {
        let state = match self.borrow_state.get() {
            None => "not entered",
            Some(borrow_state) if borrow_state.get().is_over() => "ended",
            Some(_) => "active",
        };
        format!("<cuarray.Borrow in stream {:#x}, {state}>", self.stream.get().stream.handle())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)?;
        if let Some(borrow_state) = self.borrow_state.get() {
            visit.call(borrow_state)?;
        }
        visit.call(&self.event)?;
        visit.call(&self.stream)
    }
}

impl PyBorrow {
    /// Imports the object without waiting, with the event that its interface names.
    fn import<'py>(
        &self,
        py: Python<'py>,
        mut options: Options,
    ) -> Result<(Bound<'py, PyDeviceArray>, Option<event::Handle>)> {
        let object = self.object.bind(py);
        let explicit = self.event.as_ref().map(|explicit| event::argument(explicit.bind(py))).transpose()?;
        if let Ok(array) = object.cast_exact::<PyDeviceArray>() {
            return Ok((device_array(array, options)?, explicit));
        }
        let protocol = options.protocol();
        if protocol == Protocol::DLPack {
            return Err(cannot_order_release("protocol is 'dlpack'"));
        }
        let is_c = protocol == Protocol::C || protocol == Protocol::Any && c_interface::is_offered(object);
        if is_c && let Some(Imported { array, event }) = c_interface::import(object, false, &mut options)? {
            return Ok((array, explicit.or(event)));
        }
        let dict = match import::attribute(object) {
            Ok(dict) => dict,
            Err(error) if protocol != Protocol::Any => return Err(error),
            Err(error) => {
                let is_c = !is_c && !as_cuda_array::has_dictionary(object) && c_interface::is_offered_now(object);
                if is_c && let Some(Imported { array, event }) = c_interface::import(object, false, &mut options)? {
                    return Ok((array, explicit.or(event)));
                }
                return Err(match as_cuda_array::is_only_a_tensor(object)? {
                    true => cannot_order_release(&format!("a {} offers DLPack alone", type_name(object))),
                    false => error,
                });
            }
        };
        let Adopted { interface, mask, event } = import::adopt(&dict, Some(object), false, options)?;
        let array = PyDeviceArray::foreign(interface, Some(object.clone().unbind())).with_mask(mask);
        Ok((Bound::new(py, array)?, explicit.or(event)))
    }

    fn guard(
        &self,
        py: Python<'_>,
        array: &PyDeviceArray,
        mask: Option<&PyDeviceArray>,
        event: Option<event::Handle>,
    ) -> Result<SyncGuard> {
        let access = if self.readonly { Access::Read } else { Access::Write };
        // An import's state belongs to this borrow alone. A DeviceArray's state has other users.
        let is_device_array = self.object.bind(py).is_exact_instance_of::<PyDeviceArray>();
        let state_for_borrow = |state: SyncState| if is_device_array { state } else { state.unrecorded() };
        let mut state = state_for_borrow(array.sync_state()?);
        if let Some(event) = event {
            let context = context_of(array.interface().data())?;
            // SAFETY: the caller promises that the handle is a live event, as in the driver's interface.
            let event = Arc::new(unsafe { Event::from_raw(&context, event.0) });
            state = state.with_event(match self.event {
                Some(_) => EventOf::Latest(event),
                None => EventOf::Interface(event),
            });
        }
        let mut data: SmallVec<[(SyncState, Access); 2]> = SmallVec::new();
        data.push((state, access));
        if let Some(mask) = mask {
            data.push((state_for_borrow(mask.sync_state()?), Access::Read));
        }
        let mut stream = &self.stream.get().stream;
        let in_context;
        if stream.lacks_context() {
            // The edges at both ends have to mean the default stream of one context.
            in_context = stream.resolve_in(&context_of(array.interface().data())?);
            stream = &in_context;
        }
        py.detach(|| SyncGuard::begin(data, stream))
    }

    /// Makes an array over the memory in the borrower's stream, valid until the borrow ends.
    fn borrowed(
        &self,
        py: Python<'_>,
        array: &PyDeviceArray,
        readonly: bool,
        borrow_state: &Py<BorrowState>,
    ) -> Result<PyDeviceArray> {
        let entry = StreamEntry::try_from(self.stream.get().stream.handle() as i128)?;
        let interface = array.interface().clone().with_version(Version::V3).with_stream(entry);
        let readonly = readonly || interface.is_read_only();
        let interface = interface.with_read_only(readonly);
        let (stream, borrow_state) = (self.stream.clone_ref(py), borrow_state.clone_ref(py));
        Ok(PyDeviceArray::borrowed_in(interface, array.owner(py)?, stream, borrow_state))
    }
}

fn cannot_order_release(why: &str) -> Error {
    Error::unsupported(format!(
        "{why}, so the producer's later work cannot be ordered after the borrower's; import the tensor with from_dlpack, \
         and order the producer's later work"
    ))
}

/// Applies the options to an array of this library; the result shares its pending work.
fn device_array<'py>(array: &Bound<'py, PyDeviceArray>, mut options: Options) -> Result<Bound<'py, PyDeviceArray>> {
    if let Some(array) = with_options(array, &mut options)? {
        return Ok(array);
    }
    if options.masks == Policy::Refuse {
        return Err(Error::unsupported("the array has a mask, and masked arrays are not accepted here"));
    }
    let (py, array) = (array.py(), array.get());
    if options.bounds {
        bounds::verify(py, array.interface(), None)?;
    }
    let typed = import::with_element(array.interface().clone(), options.element.take())?;
    Ok(Bound::new(py, array.view_of(py, typed)?)?)
}
