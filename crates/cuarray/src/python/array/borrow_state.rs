//! The state of a borrow. The borrowed array and its views may be used until the borrow ends.

use super::PyDeviceArray;
use crate::{Error, Owner, Result, owner::chain::Link, python::memory::runtime, sync::SyncGuard};
use pyo3::{PyTraverseError, PyVisit, prelude::*};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering::SeqCst},
};

/// The state of a borrow, shared by the `Borrow` and the borrowed arrays. It is a Python object, because the garbage collector has to
/// see how they keep the lent array.
#[pyclass(frozen, name = "BorrowState", module = "cuarray")]
pub(in crate::python) struct BorrowState {
    /// `None` after the end, or if the caller switched synchronization off.
    lent: Mutex<Option<Lent>>,
    over: AtomicBool,
}

/// The edges of a borrow.
struct Lent {
    guard: SyncGuard,
    /// The array that is lent. It keeps the memory and the streams until the edges are made.
    array: Link<Py<PyDeviceArray>>,
}

impl Lent {
    /// Makes the edges. If the stream captures a graph now, that is deferred, and the array is kept until then.
    fn end(self, py: Python<'_>) -> Result<()> {
        let Lent { guard, array } = self;
        let keep = || Python::attach(|py| Owner::from_python(array.clone_ref(py).into_any()));
        py.detach(|| guard.end_and_keep(keep))
    }
}

impl BorrowState {
    pub(in crate::python) fn new(guard: Option<SyncGuard>, array: Bound<'_, PyDeviceArray>) -> BorrowState {
        let lent = guard.map(|guard| Lent { guard, array: Link::new(array.unbind()) });
        BorrowState { lent: Mutex::new(lent), over: AtomicBool::new(false) }
    }

    /// Refuses use after the end of the borrow.
    pub(in crate::python) fn check(&self) -> Result<()> {
        if self.is_over() {
            return Err(Error::unsupported(
                "the borrow has ended, so the memory belongs to the producer alone; use the array inside the `with` \
                 block, copy the elements that are needed later, or borrow again",
            ));
        }
        Ok(())
    }

    pub(in crate::python) fn is_over(&self) -> bool {
        self.over.load(SeqCst)
    }

    /// Ends the borrow; later calls do nothing.
    pub(in crate::python) fn end(&self, py: Python<'_>) -> Result<()> {
        self.over.store(true, SeqCst);
        let lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner).take();
        lent.map_or(Ok(()), |lent| lent.end(py))
    }
}

#[pymethods]
impl BorrowState {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        // The collector must not wait for the lock; it skips an array that it cannot see.
        match self.lent.try_lock().as_deref() {
            Ok(Some(lent)) => visit.call(&*lent.array),
            _ => Ok(()),
        }
    }
}

impl Drop for BorrowState {
    /// Ends a borrow that was not ended.
    fn drop(&mut self) {
        let mut lent = self.lent.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if lent.is_some() {
            Python::try_attach(|py| {
                let ended = lent.take().map_or(Ok(()), |lent| lent.end(py));
                if let Some(driver) = runtime::loaded() {
                    driver.dropped(ended);
                }
                runtime::report_drops(py);
            });
        }
    }
}
