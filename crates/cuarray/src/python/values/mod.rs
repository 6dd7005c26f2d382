//! Values from Python: element types, host arrays, options of functions.

pub(in crate::python) mod descr;
pub(in crate::python) mod dtype;
pub(in crate::python) mod host;
pub(in crate::python) mod numbers;
pub(in crate::python) mod options;
