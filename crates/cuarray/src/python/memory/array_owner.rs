//! What keeps an array's memory: nearly always an object, the one that the array was made from (clause L2).
//!
//! A tensor of DLPack and a structure of C are no objects. They become one when somebody wants to see it: the user, a view that
//! has the same owner. Most imports are over before, and the object would be the dearest part of them.

use super::{c_array::PyCArray, capsule::Managed, owner::PyMemory, tensor::PyDLPackTensor};
use crate::CArray;
use pyo3::{PyTraverseError, PyVisit, prelude::*};
use std::{
    mem::{self, ManuallyDrop},
    ops::Deref,
    sync::{Mutex, OnceLock, PoisonError},
};

pub(in crate::python) enum ArrayOwner {
    Object(Py<PyAny>),
    Taken(Mutex<Taken>),
}

/// What another library gave away.
pub(in crate::python) enum Taken {
    Tensor(LetGo<Managed>),
    Structure(LetGo<CArray>),
    /// Either of them, in the object that it became.
    Object(Py<PyAny>),
}

impl From<Py<PyAny>> for ArrayOwner {
    #[inline]
    fn from(object: Py<PyAny>) -> ArrayOwner {
        ArrayOwner::Object(object)
    }
}

impl From<LetGo<Managed>> for ArrayOwner {
    #[inline]
    fn from(tensor: LetGo<Managed>) -> ArrayOwner {
        ArrayOwner::Taken(Mutex::new(Taken::Tensor(tensor)))
    }
}

impl From<LetGo<CArray>> for ArrayOwner {
    #[inline]
    fn from(array: LetGo<CArray>) -> ArrayOwner {
        ArrayOwner::Taken(Mutex::new(Taken::Structure(array)))
    }
}

impl ArrayOwner {
    /// As an object, which is the same every time.
    ///
    /// # Errors
    /// There is no memory for one; the array keeps what it had.
    pub(in crate::python) fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let taken = match self {
            ArrayOwner::Object(object) => return Ok(object.clone_ref(py)),
            ArrayOwner::Taken(taken) => taken,
        };
        // Nobody has to wait here: while it is locked, no Python code runs, and the GIL stays with us.
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        let object = match &*taken {
            Taken::Tensor(_) => Bound::new(py, PyDLPackTensor::empty())?.into_any(),
            Taken::Structure(_) => Bound::new(py, PyCArray::empty())?.into_any(),
            Taken::Object(object) => return Ok(object.clone_ref(py)),
        };
        match mem::replace(&mut *taken, Taken::Object(object.clone().unbind())) {
            Taken::Tensor(tensor) => object.cast::<PyDLPackTensor>()?.get().fill(tensor),
            Taken::Structure(array) => object.cast::<PyCArray>()?.get().fill(array),
            Taken::Object(_) => {}
        }
        Ok(object.unbind())
    }

    /// The memory, where it is the package's own.
    pub(in crate::python) fn memory<'a, 'py>(&'a self, py: Python<'py>) -> Option<&'a Bound<'py, PyMemory>> {
        match self {
            ArrayOwner::Object(object) => object.bind(py).cast_exact::<PyMemory>().ok(),
            ArrayOwner::Taken(_) => None,
        }
    }

    /// Whether it is another library's tensor or structure, which ends with a release; also as the object that it became.
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
            ArrayOwner::Object(object) => visit.call(object),
            // The collector does not wait; what it does not see, it does not collect.
            ArrayOwner::Taken(taken) => match taken.try_lock().as_deref() {
                Ok(Taken::Object(object)) => visit.call(object),
                _ => Ok(()),
            },
        }
    }
}

/// What another library is asked to let go of in the end. It may then wait for a thread that wants the GIL, so it is dropped without.
pub(in crate::python) struct LetGo<T: Send>(ManuallyDrop<T>);

impl<T: Send> LetGo<T> {
    #[inline]
    pub(in crate::python) fn new(taken: T) -> LetGo<T> {
        LetGo(ManuallyDrop::new(taken))
    }
}

impl<T: Send> Deref for LetGo<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send> Drop for LetGo<T> {
    fn drop(&mut self) {
        // SAFETY: taken once, here, where `self` ends.
        let mut taken = Some(unsafe { ManuallyDrop::take(&mut self.0) });
        Python::try_attach(|py| {
            let taken = taken.take();
            py.detach(|| drop(taken));
        });
    }
}

/// The place in an object for what it is to keep.
pub(in crate::python) type Place<T> = OnceLock<LetGo<T>>;
