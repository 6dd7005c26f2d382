//! A cache with one Python object for each number type. Nearly all arrays hold numbers in native byte order, of a few
//! kinds and sizes. A look-up takes a tenth of the time that creating the object takes.

use crate::{Kind, TypeStr};
use pyo3::sync::PyOnceLock;

const KINDS: [Kind; 5] = [Kind::Bool, Kind::Int, Kind::UInt, Kind::Float, Kind::Complex];
const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

/// One slot for each type.
pub(in crate::python) struct PerNumber<T>([[PyOnceLock<T>; SIZES.len()]; KINDS.len()]);

impl<T> PerNumber<T> {
    pub(in crate::python) const fn new() -> PerNumber<T> {
        PerNumber([const { [const { PyOnceLock::new() }; SIZES.len()] }; KINDS.len()])
    }

    /// The slot of a type; `None` if the type is not a number in native byte order, or has an unusual size.
    pub(in crate::python) fn of(&self, typestr: TypeStr) -> Option<&PyOnceLock<T>> {
        let kind = KINDS.iter().position(|kind| *kind == typestr.kind())?;
        let size = SIZES.iter().position(|size| *size == typestr.itemsize())?;
        let native = TypeStr::native(typestr.kind(), SIZES[size] as u32);
        (typestr.byte_order() == native.byte_order()).then(|| &self.0[kind][size])
    }
}
