//! The scope of guards of Python arguments.

use crate::{
    Error, Stream,
    array::guard::{Scope, sealed},
};
use pyo3::prelude::*;
use std::fmt;

/// The scope of a Python argument's guard: a thread attached to the interpreter, which detaches during driver calls.
///
/// ```
/// use cuarray::{Acquired, Ix1, python::Attached};
///
/// /// Takes guards of Python arguments.
/// fn bytes(array: &Acquired<'_, f32, Ix1, Attached<'_>>) -> usize {
///     4 * array.len()
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Attached<'py>(pub(super) Python<'py>);

impl fmt::Debug for Attached<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attached")
    }
}

impl sealed::Sealed for Attached<'_> {}

impl Scope for Attached<'_> {
    fn detached<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        self.0.detach(work)
    }

    /// Through `sys.unraisablehook`, as Python does for its own destructors.
    fn report(self, stream: &Stream, error: Error) {
        // `dropped` ignores errors that do not matter at the end of a process.
        stream.driver().dropped(Err(error));
        if let Some(error) = stream.driver().take_drop_error() {
            PyErr::from(error).write_unraisable(self.0, None);
        }
    }
}
