//! The Python exception for each [`Error`].
//!
//! | `Error` | Python exception |
//! |---|---|
//! | [`Error::is_not_an_array`] | `TypeError`; the exception of the attribute is its `__cause__` |
//! | [`Error::is_invalid_interface`], a wrong argument | `ValueError` |
//! | [`Error::is_unsupported`], [`Error::is_already_acquired`] | `BufferError` |
//! | [`Error::is_out_of_bounds`] | `IndexError` |
//! | [`Error::is_driver`] | `CudaError`, with the driver's `name` and `code`, and the `call` that failed |
//! | an exception of Python | that exception |

use super::shared::Shared;
use crate::error::{Error, ErrorKind};
use pyo3::{
    create_exception,
    exceptions::{PyBufferError, PyIndexError, PyRuntimeError, PyTypeError, PyValueError},
    ffi,
    prelude::*,
};

create_exception!(
    cuarray,
    CudaError,
    PyRuntimeError,
    "The CUDA driver could not be loaded, lacks a call, or refused one.\n\n\
     Attributes: `name` (the driver's name of the error, such as 'CUDA_ERROR_INVALID_VALUE', or None),\n\
     `code` (its number, or None), `call` (the driver call, or None).\n\n\
     >>> issubclass(cuarray.CudaError, RuntimeError)\n\
     True"
);

impl From<PyErr> for Error {
    fn from(error: PyErr) -> Error {
        Error(Box::new(ErrorKind::Python(error)))
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        if error.is_driver() {
            return cuda_error(&error);
        }
        let message = error.to_string();
        match *error.0 {
            ErrorKind::Python(error) => error,
            ErrorKind::Unreadable { cause, .. } => because(PyTypeError::new_err(message), cause),
            ErrorKind::UnreadableEntry { cause, .. } => because(PyValueError::new_err(message), cause),
            ErrorKind::NotAnArray(_) => PyTypeError::new_err(message),
            ErrorKind::OutOfBounds(_) => PyIndexError::new_err(message),
            ErrorKind::Unsupported(_) | ErrorKind::AlreadyAcquired(_) => PyBufferError::new_err(message),
            _ => PyValueError::new_err(message),
        }
    }
}

/// The table through which extension modules share one class of driver errors. Its function returns a new reference to the class, or
/// null with an exception set. The calling thread must be attached to the interpreter.
#[repr(C)]
pub(in crate::python) struct ErrorClass {
    cuda_error: unsafe extern "C" fn() -> *mut ffi::PyObject,
}

/// The class that all modules raise.
pub(in crate::python) static ERROR_CLASS: Shared<ErrorClass> =
    Shared::new(c"cuarray.cuda_error.v1", &ErrorClass { cuda_error: own_class });

/// This module's own error class.
///
/// # Safety
/// The thread is attached.
unsafe extern "C" fn own_class() -> *mut ffi::PyObject {
    // SAFETY: this function's contract.
    let py = unsafe { Python::assume_attached() };
    py.get_type::<CudaError>().into_any().into_ptr()
}

/// The class of driver errors that users catch.
fn cuda_error_class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let table = ERROR_CLASS.get(py)?;
    // SAFETY: this thread is attached.
    unsafe { Bound::from_owned_ptr_or_err(py, (table.cuda_error)()) }
}

fn because(error: PyErr, cause: PyErr) -> PyErr {
    Python::attach(|py| error.set_cause(py, Some(cause)));
    error
}

fn cuda_error(error: &Error) -> PyErr {
    let message = error.to_string();
    Python::attach(|py| {
        // All extension modules of the process raise one class; without it, this module raises its own.
        let shared = cuda_error_class(py).and_then(|class| class.call1((&message,)));
        let raised = match shared {
            Ok(value) => PyErr::from_value(value),
            Err(_) => CudaError::new_err(message.clone()),
        };
        let value = raised.value(py);
        let code = error.driver_code();
        // Setting an attribute of an exception cannot fail; the message has the same information.
        let _ = value.setattr("name", code.and_then(|code| code.name()));
        let _ = value.setattr("code", code.map(|code| code.0));
        let _ = value.setattr("call", error.driver_call());
        raised
    })
}
