//! Rust types that may be the elements of a device array.
//!
//! What other programs write into device memory is bytes, and no check on the host sees them: so only a type for which
//! every bit pattern is a value may be read from there. That rules out Rust's `bool`, for which anything but 0 and 1 is
//! undefined behaviour, while the bytes of a `|b1` array are whatever its producer stored; [`Bool8`] is the element type of
//! such arrays. For complex numbers there is [`Complex`], with the layout of C's and NumPy's.

use crate::{Kind, TypeStr};

/// A type that can be read from device memory.
///
/// It is implemented for the integers of 8 to 64 bits, `f32`, `f64`, [`Complex`] of these two, and [`Bool8`]; and a plain structure
/// of yours may implement it:
///
/// ```
/// use cuarray::{Element, TypeStr};
///
/// #[repr(C)]
/// #[derive(Clone, Copy)]
/// struct Particle {
///     position: [f32; 3],
///     charge: i32,
/// }
///
/// // SAFETY: every bit pattern of the sixteen bytes is a `Particle`: `repr(C)`, no padding, numbers only.
/// unsafe impl Element for Particle {
///     const TYPESTR: TypeStr = TypeStr::void(16);
/// }
///
/// assert_eq!(TypeStr::of::<Particle>().to_string(), "|V16");
/// ```
///
/// # Safety
/// Every bit pattern of `size_of::<Self>()` bytes is a valid `Self`, and `TYPESTR` describes these bytes. ([`TypeStr::of`]
/// refuses to compile where the two sizes differ.)
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The type string of arrays of `Self`.
    const TYPESTR: TypeStr;
}

macro_rules! elements {
    ($($rust:ty: $kind:ident),* $(,)?) => {$(
        // SAFETY: a number without invalid bit patterns; size and kind are its own.
        unsafe impl Element for $rust {
            const TYPESTR: TypeStr = TypeStr::native(Kind::$kind, size_of::<$rust>() as u32);
        }
    )*};
}

elements! {
    i8: Int, i16: Int, i32: Int, i64: Int,
    u8: UInt, u16: UInt, u32: UInt, u64: UInt,
    f32: Float, f64: Float,
    Complex<f32>: Complex, Complex<f64>: Complex,
    Bool8: Bool,
}

/// A complex number: the real part, then the imaginary, as in C and NumPy (`c8`, `c16`).
///
/// ```
/// use cuarray::{Complex, TypeStr};
///
/// let z = Complex { re: 1.0f32, im: -2.0 };
/// assert_eq!(TypeStr::of::<Complex<f32>>().itemsize(), size_of_val(&z));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

/// An element of a `|b1` array: a byte that is false if it is zero.
///
/// ```
/// use cuarray::{Bool8, TypeStr};
///
/// assert_eq!(TypeStr::of::<Bool8>().to_string(), "|b1");
/// assert!(Bool8(255).get() && !Bool8::from(false).get());
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct Bool8(
    /// The byte as it lies in memory.
    pub u8,
);

impl Bool8 {
    /// The truth value.
    ///
    /// ```
    /// assert!(cuarray::Bool8(1).get());
    /// ```
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool8 {
    fn from(value: bool) -> Bool8 {
        Bool8(u8::from(value))
    }
}

impl PartialEq for Bool8 {
    fn eq(&self, other: &Bool8) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool8 {}

const _: () = {
    assert!(size_of::<Complex<f32>>() == 8 && size_of::<Complex<f64>>() == 16);
};
