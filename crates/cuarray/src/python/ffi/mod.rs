//! Python's C API where PyO3 is too slow or too narrow: calls, values, errors, capsules, objects kept by C structures, tables shared by modules.

pub(in crate::python) mod capsule;
pub(crate) mod error;
pub(in crate::python) mod fastcall;
pub(in crate::python) mod inspect;
pub(in crate::python) mod kept;
pub(in crate::python) mod per_number;
pub(in crate::python) mod raised;
pub(in crate::python) mod shared;
pub(in crate::python) mod type_bits;
pub(in crate::python) mod vectorcall;
