//! An array of ours that a structure of C keeps, for whoever calls its deleter.
//!
//! A consumer may do that in any thread, holding the GIL or not, long after the interpreter has gone. The array is a Python object,
//! so letting go of it attaches first; where there is no interpreter any more, there is nothing to let go of.

use super::device_array::PyDeviceArray;
use pyo3::{ffi, prelude::*};
use std::mem::ManuallyDrop;

/// A reference to an array that may be dropped anywhere.
pub(super) struct KeptArray(ManuallyDrop<Py<PyDeviceArray>>);

impl KeptArray {
    pub(super) fn new(array: &Bound<'_, PyDeviceArray>) -> KeptArray {
        KeptArray(ManuallyDrop::new(array.clone().unbind()))
    }

    /// Drops it where the thread is attached, though PyO3 has not counted that: to attach once more takes longer than the rest.
    pub(super) fn let_go(self, _: Python<'_>) {
        let array = ManuallyDrop::new(self);
        // SAFETY: the reference is ours, and given up here, once.
        unsafe { ffi::Py_DECREF(array.0.as_ptr()) };
    }

    pub(super) fn array(&self) -> &PyDeviceArray {
        self.0.get()
    }
}

impl Drop for KeptArray {
    fn drop(&mut self) {
        // SAFETY: taken once, here, where `self` ends.
        let array = unsafe { ManuallyDrop::take(&mut self.0) };
        let mut array = Some(array);
        Python::try_attach(|_| drop(array.take()));
        // Without an interpreter its memory is gone, or will never be used again.
        std::mem::forget(array);
    }
}
