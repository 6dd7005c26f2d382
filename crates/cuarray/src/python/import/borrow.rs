//! `borrow`: another library's array for work in a stream of one's own, ordered before it and after it (clauses S2, S3, X2).
//!
//! What is lent is an array of its own, whose default stream is the borrower's. It and every view of it can be used until the
//! borrow ends, and then no more: a `BorrowState` is what they ask. The edges are a [`SyncGuard`]'s; the borrow_state holds it, so
//! that a borrow which nobody ends, ends when the last of those arrays goes.

use super::{
    as_cuda_array::{self, again},
    c_interface::{self, Imported},
};
use crate::python::{
    array::{
        PyDeviceArray,
        mask::{ArrayMask, Policy},
    },
    config,
    import::{self, Adopted},
    memory::{
        bounds, event,
        runtime::{self, context_of},
        stream::{self, PyStream},
    },
    values::options::{Options, Protocol},
};
use crate::{
    Error, Result, StreamEntry, Version,
    driver::Event,
    sync::{Access, SyncGuard, SyncState},
};
use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyDict, PyTuple},
};
use smallvec::SmallVec;
use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicBool, Ordering::SeqCst},
};

/// Whether a borrow goes on, and what orders it while it does.
pub(in crate::python) struct BorrowState {
    /// `None` where nothing is ordered, because the user has said so, and when it is over.
    guard: Mutex<Option<SyncGuard>>,
    /// Whether its end waits for the work: where no stream can be made to, and a release says that nothing is pending.
    waits: bool,
    over: AtomicBool,
}

impl BorrowState {
    fn new(guard: Option<SyncGuard>, waits: bool) -> Arc<BorrowState> {
        Arc::new(BorrowState { guard: Mutex::new(guard), waits, over: AtomicBool::new(false) })
    }

    /// Refuses what comes after the end.
    pub(in crate::python) fn check(&self) -> Result<()> {
        if self.is_over() {
            return Err(Error::unsupported(
                "the array was borrowed and has been given back, so its memory is the lender's again; use it inside the `with` \
                 block, copy what is needed later, or borrow anew",
            ));
        }
        Ok(())
    }

    pub(in crate::python) fn is_over(&self) -> bool {
        self.over.load(SeqCst)
    }

    /// Ends the borrow; a second time, nothing happens.
    fn end(&self) -> Result<()> {
        self.over.store(true, SeqCst);
        let guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner).take();
        guard.map_or(Ok(()), if self.waits { waited } else { SyncGuard::end })
    }
}

/// Ends a guard by waiting for its work, unless that is captured: then it does not run, and there is nothing to wait for.
fn waited(guard: SyncGuard) -> Result<()> {
    match guard.wait() {
        Err(error) if error.is_unsupported() => Ok(()),
        waited => waited,
    }
}

impl Drop for BorrowState {
    /// Without the GIL, as all that talks to the driver.
    fn drop(&mut self) {
        let mut guard = self.guard.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if guard.is_some() {
            Python::try_attach(|py| {
                let guard = guard.take();
                py.detach(|| match guard {
                    Some(guard) if self.waits => {
                        let driver = guard.stream().driver().clone();
                        driver.dropped(waited(guard));
                    }
                    guard => drop(guard),
                });
                runtime::report_drops(py);
            });
        }
    }
}

/// A borrow; what `borrow` answers, for `with`.
///
/// >>> a, s = cuarray.to_device([1, 2, 3]), cuarray.stream()
/// >>> with cuarray.borrow(a, s) as array:  # from here on, work in `s` is in order with all other on the array
/// ...     array.shape
/// (3,)
#[pyclass(frozen, weakref, name = "Borrow", module = "cuarray")]
pub struct PyBorrow {
    // Dropped first: what ends the borrow uses what is behind it.
    borrow_state: OnceLock<Arc<BorrowState>>,
    object: Py<PyAny>,
    stream: Py<PyStream>,
    event: Option<Py<PyAny>>,
    readonly: bool,
    sync: bool,
    options: Mutex<Option<Options>>,
}

/// Borrows a CUDA array for work in `stream`: `with borrow(obj, stream) as a:`.
///
/// On entry, `stream` is made to wait for what the producer has enqueued (its `stream`, its mask's, whatever is pending on a
/// DeviceArray); on exit, also after an exception, the producer's stream is made to wait for what `stream` was given
/// meanwhile. Nobody waits on the host. `a` is a DeviceArray over the same memory whose default stream is `stream`. After the
/// exit it, and every view of it, raises BufferError when it is used. A borrow that is not entered does nothing; one that is
/// not exited ends when the last of its arrays is gone.
///
/// `readonly=True` is for work that only reads: `a` is read-only then, and two such borrows of one DeviceArray do not wait for
/// each other. An array that is read-only can be borrowed in no other way.
///
/// `event`, an Event, a handle, or an object with a `handle`, stands behind the producer's work, and is waited for in place of
/// its stream.
///
/// `sync=False`, or `cuarray.config.sync = False`, leaves all order to the caller. The other options are those of
/// `as_cuda_array`.
///
/// Where the object names no stream, nothing has to be waited for, and there is no stream that could be made to wait: what it
/// does next comes after the borrower's work only if the user sees to it. A DeviceArray remembers, whatever its stream. Of a structure
/// of C without a stream, whose release says that nothing is pending, the exit waits for `stream`.
///
/// Raises what `as_cuda_array` raises, and BufferError where only one of two streams takes part in a capture (which
/// goes on unharmed).
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
        stream: stream::kept(stream)?.unbind(),
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
        let (lent, event) = self.import(py, options)?;
        let array = lent.get();
        if array.interface().is_read_only() && !self.readonly {
            return Err(Error::unsupported("the array is read-only; borrow it with readonly=True"));
        }
        let mask = array.mask().map(|mask| Ok::<_, Error>(mask.array(py)?.clone_ref(py))).transpose()?;
        let heeded = self.sync && config::sync();
        let guard = heeded.then(|| self.guard(py, array, mask.as_ref().map(Py::get), event)).transpose()?;
        let borrow_state = self.borrow_state.get_or_init(|| BorrowState::new(guard, array.is_taken_without_stream(py)));
        let borrowed = self.borrowed(py, array, self.readonly, borrow_state)?;
        let Some(mask) = mask else { return Ok(Bound::new(py, borrowed)?) };
        let mask = Py::new(py, self.borrowed(py, mask.get(), true, borrow_state)?)?;
        Ok(Bound::new(py, borrowed.with_mask(Some(ArrayMask::of_elements(mask))))?)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> Result<()> {
        let Some(borrow_state) = self.borrow_state.get() else { return Ok(()) };
        py.detach(|| borrow_state.end())
    }

    fn __repr__(&self) -> String {
        let state = match self.borrow_state.get() {
            None => "not entered",
            Some(borrow_state) if borrow_state.is_over() => "given back",
            Some(_) => "lent",
        };
        format!("<cuarray.Borrow in stream {:#x}, {state}>", self.stream.get().stream.handle())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)?;
        visit.call(&self.event)?;
        visit.call(&self.stream)
    }
}

impl PyBorrow {
    /// The object as an array that nothing has waited for, and the event that its interface names.
    fn import<'py>(
        &self,
        py: Python<'py>,
        mut options: Options,
    ) -> Result<(Bound<'py, PyDeviceArray>, Option<event::Handle>)> {
        let object = self.object.bind(py);
        let given = self.event.as_ref().map(|given| event::argument(given.bind(py))).transpose()?;
        if let Ok(array) = object.cast_exact::<PyDeviceArray>() {
            return Ok((own(array, options)?, given));
        }
        let protocol = options.protocol();
        if protocol == Protocol::DLPack {
            return Err(no_way_back("protocol is 'dlpack'"));
        }
        let is_c = protocol == Protocol::C || protocol == Protocol::Any && c_interface::is_offered(object);
        if is_c && let Some(Imported { array, event }) = c_interface::import(object, false, &mut options)? {
            return Ok((array, given.or(event)));
        }
        let dict = match import::attribute(object) {
            Ok(dict) => dict,
            Err(_) if protocol == Protocol::Any && as_cuda_array::is_only_a_tensor(object)? => {
                return Err(no_way_back(&format!("a {} offers DLPack alone", import::type_name(object))));
            }
            Err(error) => return Err(error),
        };
        let Adopted { interface, mask, event } = import::adopt(&dict, Some(object), false, options)?;
        let array = PyDeviceArray::foreign(interface, Some(object.clone().unbind())).with_mask(mask);
        Ok((Bound::new(py, array)?, given.or(event)))
    }

    fn guard(
        &self,
        py: Python<'_>,
        array: &PyDeviceArray,
        mask: Option<&PyDeviceArray>,
        event: Option<event::Handle>,
    ) -> Result<SyncGuard> {
        let access = if self.readonly { Access::Read } else { Access::Write };
        // Another library's array is ours for the borrow alone; of a DeviceArray the caller has more than this.
        let own = self.object.bind(py).is_exact_instance_of::<PyDeviceArray>();
        let kept = |ordering: SyncState| if own { ordering } else { ordering.forgotten() };
        let mut ordering = kept(array.ordering()?);
        if let Some(event) = event {
            let context = context_of(array.interface().data())?;
            // SAFETY: the handle is the caller's word for a live event, as everywhere in the driver's interface.
            ordering = ordering.with_event(Arc::new(unsafe { Event::from_raw(&context, event.0) }));
        }
        let mut data: SmallVec<[(SyncState, Access); 2]> = SmallVec::new();
        data.push((ordering, access));
        if let Some(mask) = mask {
            data.push((kept(mask.ordering()?), Access::Read));
        }
        let stream = &self.stream.get().stream;
        py.detach(|| SyncGuard::begin(data, stream))
    }

    /// The same memory as an array in the borrower's stream, for as long as the borrow_state.
    fn borrowed(
        &self,
        py: Python<'_>,
        array: &PyDeviceArray,
        readonly: bool,
        borrow_state: &Arc<BorrowState>,
    ) -> Result<PyDeviceArray> {
        let entry = StreamEntry::try_from(self.stream.get().stream.handle() as i128)?;
        let interface = array.interface().clone().with_version(Version::V3).with_stream(entry);
        let readonly = readonly || interface.is_read_only();
        let interface = interface.with_read_only(readonly);
        Ok(PyDeviceArray::lent(interface, array.owner(py)?, self.stream.clone_ref(py), borrow_state.clone()))
    }
}

fn no_way_back(why: &str) -> Error {
    Error::unsupported(format!(
        "{why}, which has no way back: nothing could be ordered after the borrower's work; take the tensor with from_dlpack, \
         and order what its library does next"
    ))
}

/// An array of ours as the options want it; it shares what is pending.
fn own<'py>(array: &Bound<'py, PyDeviceArray>, mut options: Options) -> Result<Bound<'py, PyDeviceArray>> {
    if let Some(array) = again(array, &mut options)? {
        return Ok(array);
    }
    if options.masks == Policy::Refuse {
        return Err(Error::unsupported("the array has a mask, and masked arrays are not taken here"));
    }
    let (py, array) = (array.py(), array.get());
    if options.bounds {
        bounds::verify(py, array.interface(), None)?;
    }
    let known = import::known(array.interface().clone(), options.element.take())?;
    Ok(Bound::new(py, array.view_of(py, known)?)?)
}
