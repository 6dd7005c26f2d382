//! One Python object for each type of number: nearly all arrays hold numbers in the machine's byte order, of a few kinds and sizes, and
//! looking an object up takes a tenth of what it takes to make one.

use crate::{Kind, TypeStr};
use pyo3::sync::PyOnceLock;

const KINDS: [Kind; 5] = [Kind::Bool, Kind::Int, Kind::UInt, Kind::Float, Kind::Complex];
const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

/// A place for each type.
pub(in crate::python) struct PerNumber<T>([[PyOnceLock<T>; SIZES.len()]; KINDS.len()]);

impl<T> PerNumber<T> {
    pub(in crate::python) const fn new() -> PerNumber<T> {
        PerNumber([const { [const { PyOnceLock::new() }; SIZES.len()] }; KINDS.len()])
    }

    /// The place of a type, which is always spelled the same way; `None` if it is no number in the machine's byte order, or has an
    /// unusual size.
    pub(in crate::python) fn of(&self, typestr: TypeStr) -> Option<&PyOnceLock<T>> {
        let kind = KINDS.iter().position(|kind| *kind == typestr.kind())?;
        let size = SIZES.iter().position(|size| *size == typestr.itemsize())?;
        let native = TypeStr::native(typestr.kind(), SIZES[size] as u32);
        (typestr.byte_order() == native.byte_order()).then(|| &self.0[kind][size])
    }
}
