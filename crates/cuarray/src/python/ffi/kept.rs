//! An object, an array of ours above all, that a structure of C keeps, for whoever calls its deleter.
//!
//! A consumer may do that in any thread, holding the GIL or not, long after the interpreter has gone. So letting go of the object
//! attaches first; where there is no interpreter any more, there is nothing to let go of.

use crate::python::array::PyDeviceArray;
use pyo3::{ffi, prelude::*};
use std::mem::ManuallyDrop;

/// A reference to an object that may be dropped anywhere.
pub(in crate::python) struct Kept<T>(ManuallyDrop<Py<T>>);

pub(in crate::python) type KeptArray = Kept<PyDeviceArray>;

impl<T> Kept<T> {
    pub(in crate::python) fn new(object: &Bound<'_, T>) -> Kept<T> {
        Kept(ManuallyDrop::new(object.clone().unbind()))
    }

    /// Drops it where the thread is attached, though PyO3 has not counted that: to attach once more takes longer than the rest.
    pub(in crate::python) fn let_go(self, _: Python<'_>) {
        let object = ManuallyDrop::new(self);
        // SAFETY: the reference is ours, and given up here, once.
        unsafe { ffi::Py_DECREF(object.0.as_ptr()) };
    }
}

impl KeptArray {
    pub(in crate::python) fn array(&self) -> &PyDeviceArray {
        self.0.get()
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: taken once, here, where `self` ends.
        let object = unsafe { ManuallyDrop::take(&mut self.0) };
        let mut object = Some(object);
        Python::try_attach(|_| drop(object.take()));
        // Without an interpreter its memory is gone, or will never be used again.
        std::mem::forget(object);
    }
}
