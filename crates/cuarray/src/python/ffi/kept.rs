//! An object, such as an array, that a C structure keeps alive until its deleter is called.
//!
//! A consumer may call the deleter in any thread, with or without the GIL, and after the interpreter has ended. So
//! the release attaches first. Without an interpreter there is nothing to release.

use crate::interpreter;
use pyo3::{PyClass, ffi, prelude::*, pyclass::boolean_struct::True};
use std::mem::ManuallyDrop;

/// A reference to an object that may be dropped anywhere.
pub(in crate::python) struct Kept<T>(ManuallyDrop<Py<T>>);

impl<T> Kept<T> {
    pub(in crate::python) fn new(object: &Bound<'_, T>) -> Kept<T> {
        Kept(ManuallyDrop::new(object.clone().unbind()))
    }

    /// Drops the reference in an attached thread that PyO3 has not counted. Attaching again would take longer than the drop.
    pub(in crate::python) fn release(self, _: Python<'_>) {
        let object = ManuallyDrop::new(self);
        // SAFETY: this struct owns the reference, and releases it only here.
        unsafe { ffi::Py_DECREF(object.0.as_ptr()) };
    }
}

impl<T: PyClass<Frozen = True> + Sync> Kept<T> {
    pub(in crate::python) fn get(&self) -> &T {
        self.0.get()
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: the only take, in the destructor of `self`.
        let object = unsafe { ManuallyDrop::take(&mut self.0) };
        let mut object = Some(object);
        Python::try_attach(|_| drop(object.take()));
        let Some(object) = object else { return };
        if interpreter::is_attached() {
            // The interpreter is ending, and drops the last objects of the program in this thread.
            // SAFETY: this thread holds the GIL, and `object` is a reference that nothing else releases.
            unsafe { ffi::Py_DECREF(object.into_ptr()) };
        } else {
            // Without an interpreter, the object's memory is freed already or never used again.
            std::mem::forget(object);
        }
    }
}
