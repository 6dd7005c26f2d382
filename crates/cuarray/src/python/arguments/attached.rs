//! Where the guards of Python arguments live.

use crate::{
    Error, Stream,
    array::guard::{Scope, sealed},
};
use pyo3::prelude::*;
use std::fmt;

/// A guard of a Python argument: it stays in a thread that is attached to the interpreter, and lets go of it around driver calls.
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
    fn outside<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        self.0.detach(work)
    }

    /// Through `sys.unraisablehook`, as Python does for its own destructors.
    fn report(self, stream: &Stream, met: Error) {
        // What is to be ignored at the end of a process is ignored there.
        stream.driver().dropped(Err(met));
        if let Some(error) = stream.driver().take_drop_error() {
            PyErr::from(error).write_unraisable(self.0, None);
        }
    }
}
