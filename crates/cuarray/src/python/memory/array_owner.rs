//! The owner of an array's memory. Nearly always it is the object that the array was made from (clause L2).
//!
//! DLPack tensors and C structures are not Python objects. They become objects on demand: for the user, or for a view with the same owner.
//! Most imports never need that object, and creating it would be their most expensive part.

use super::{c_array::PyCArray, capsule::Managed, owner::PyMemory, tensor::PyDLPackTensor};
use crate::{
    CArray, interpreter,
    owner::chain::{self, Link},
};
use pyo3::{PyTraverseError, PyVisit, prelude::*};
use std::{
    mem::{self, ManuallyDrop},
    ops::Deref,
    sync::{Mutex, OnceLock, PoisonError},
};

pub(in crate::python) enum ArrayOwner {
    Object(Link<Py<PyAny>>),
    Taken(Mutex<Taken>),
}

/// A tensor or structure of another library.
pub(in crate::python) enum Taken {
    Tensor(DropDetached<Managed>),
    Structure(DropDetached<CArray>),
    /// A tensor or structure that became an object.
    Object(Link<Py<PyAny>>),
}

impl From<Py<PyAny>> for ArrayOwner {
    #[inline]
    fn from(object: Py<PyAny>) -> ArrayOwner {
        ArrayOwner::Object(Link::new(object))
    }
}

impl From<DropDetached<Managed>> for ArrayOwner {
    #[inline]
    fn from(tensor: DropDetached<Managed>) -> ArrayOwner {
        ArrayOwner::Taken(Mutex::new(Taken::Tensor(tensor)))
    }
}

impl From<DropDetached<CArray>> for ArrayOwner {
    #[inline]
    fn from(array: DropDetached<CArray>) -> ArrayOwner {
        ArrayOwner::Taken(Mutex::new(Taken::Structure(array)))
    }
}

impl ArrayOwner {
    /// The owner as an object, which is the same every time.
    ///
    /// # Errors
    /// Python has no memory for the object; the array keeps its owner.
    pub(in crate::python) fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let taken = match self {
            ArrayOwner::Object(object) => return Ok(object.clone_ref(py)),
            ArrayOwner::Taken(taken) => taken,
        };
        // The lock is uncontended: no Python code runs while it is held, and the GIL is kept.
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        let object = match &*taken {
            Taken::Tensor(_) => Bound::new(py, PyDLPackTensor::empty())?.into_any(),
            Taken::Structure(_) => Bound::new(py, PyCArray::empty())?.into_any(),
            Taken::Object(object) => return Ok(object.clone_ref(py)),
        };
        match mem::replace(&mut *taken, Taken::Object(Link::new(object.clone().unbind()))) {
            Taken::Tensor(tensor) => object.cast::<PyDLPackTensor>()?.get().fill(tensor),
            Taken::Structure(array) => object.cast::<PyCArray>()?.get().fill(array),
            Taken::Object(_) => {}
        }
        Ok(object.unbind())
    }

    /// The memory, if the package allocated it.
    pub(in crate::python) fn memory<'a, 'py>(&'a self, py: Python<'py>) -> Option<&'a Bound<'py, PyMemory>> {
        match self {
            ArrayOwner::Object(object) => object.bind(py).cast_exact::<PyMemory>().ok(),
            ArrayOwner::Taken(_) => None,
        }
    }

    /// Whether the owner is another library's tensor or structure, which has a release function, or the object made from it.
    pub(in crate::python) fn is_taken(&self, py: Python<'_>) -> bool {
        match self {
            ArrayOwner::Object(object) => {
                let object = object.bind(py);
                object.is_exact_instance_of::<PyCArray>() || object.is_exact_instance_of::<PyDLPackTensor>()
            }
            ArrayOwner::Taken(_) => true,
        }
    }

    pub(in crate::python) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            ArrayOwner::Object(object) => visit.call(&**object),
            // The collector must not wait for the lock; it skips an owner whose lock is held.
            ArrayOwner::Taken(taken) => match taken.try_lock().as_deref() {
                Ok(Taken::Object(object)) => visit.call(&**object),
                _ => Ok(()),
            },
        }
    }
}

/// A resource of another library. Its release may wait for a thread that needs the GIL, so it is dropped without the GIL.
pub(in crate::python) struct DropDetached<T: Send + 'static>(ManuallyDrop<T>);

impl<T: Send + 'static> DropDetached<T> {
    #[inline]
    pub(in crate::python) fn new(taken: T) -> DropDetached<T> {
        DropDetached(ManuallyDrop::new(taken))
    }
}

impl<T: Send + 'static> Deref for DropDetached<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + 'static> Drop for DropDetached<T> {
    fn drop(&mut self) {
        // SAFETY: the only take, in the destructor of `self`.
        let taken = unsafe { ManuallyDrop::take(&mut self.0) };
        chain::release(move || interpreter::detached(move || drop(taken)));
    }
}

/// The resource of an object, which is stored after the object is created.
pub(in crate::python) type Place<T> = OnceLock<DropDetached<T>>;
