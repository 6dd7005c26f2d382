//! The state of a borrow. The borrowed array and its views may be used until the borrow ends.

use crate::{Error, Owner, Result, python::memory::runtime, sync::SyncGuard};
use pyo3::prelude::*;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering::SeqCst},
};

/// The state of a borrow, shared by the borrowed arrays.
pub(in crate::python) struct BorrowState {
    /// The edges; `None` after the end, or if the caller switched synchronization off.
    guard: Mutex<Option<SyncGuard>>,
    over: AtomicBool,
}

impl BorrowState {
    pub(in crate::python) fn new(guard: Option<SyncGuard>) -> Arc<BorrowState> {
        Arc::new(BorrowState { guard: Mutex::new(guard), over: AtomicBool::new(false) })
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

    /// Ends the borrow; later calls do nothing. If the stream captures a graph now, the end is deferred, and `lender` is kept until then.
    pub(in crate::python) fn end(&self, lender: &Py<PyAny>) -> Result<()> {
        self.over.store(true, SeqCst);
        let guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner).take();
        let keep = || Python::attach(|py| Owner::from_python(lender.clone_ref(py)));
        guard.map_or(Ok(()), |guard| guard.end_and_keep(keep))
    }
}

impl Drop for BorrowState {
    /// Drops the guard without the GIL, since it calls the driver.
    fn drop(&mut self) {
        let mut guard = self.guard.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if guard.is_some() {
            Python::try_attach(|py| {
                let guard = guard.take();
                py.detach(|| drop(guard));
                runtime::report_drops(py);
            });
        }
    }
}
