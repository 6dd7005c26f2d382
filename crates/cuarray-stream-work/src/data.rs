//! The arguments of a work in staging memory, as the closure sees them.

use half::{bf16, f16};
use num_complex::Complex;

/// Types without padding for which any bytes are a value.
///
/// # Safety
/// Any bytes are a value of the type, its alignment is at most 64, and it has no padding.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($type:ty)*) => { $(
        // SAFETY: a number, whose alignment is at most 8.
        unsafe impl Plain for $type {}
    )* };
}

plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 f16 bf16);

// SAFETY: two values of the same type one after the other, so there is no padding. Both have the alignment of one.
unsafe impl<T: Plain> Plain for Complex<T> {}

/// An argument of a work; its elements are in the [`Data`] that the closure gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument(pub(crate) usize);

/// The arguments of a work, in staging memory.
#[derive(Debug)]
pub struct Data<'a> {
    arguments: Vec<&'a mut [u8]>,
}

impl<'a> Data<'a> {
    pub(crate) fn new(arguments: Vec<&'a mut [u8]>) -> Data<'a> {
        Data { arguments }
    }

    /// Takes the elements of an argument out of the data. Taken a second time, an argument has none.
    pub fn take<T: Plain>(&mut self, argument: Argument) -> &'a mut [T] {
        let bytes = self.arguments.get_mut(argument.0).map(std::mem::take).unwrap_or_default();
        // SAFETY: any bytes are values of a `Plain` type.
        let (before, elements, after) = unsafe { bytes.align_to_mut::<T>() };
        debug_assert!(before.is_empty() && after.is_empty(), "staging memory is aligned to 64 bytes");
        elements
    }
}
