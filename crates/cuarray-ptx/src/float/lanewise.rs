//! Arithmetic and conversions that [`super`] computes by digits, as steps of the processor's arithmetic without branches. So the compiler
//! makes vector instructions of a loop over lanes.
//!
//! A sum in `f64` also has its error. So it is rounded again, as if it were exact: in a direction, or to odd, where an inexact result has an
//! odd last digit. A number that is rounded to odd with at least two further digits is rounded to nearest correctly afterwards.

use super::{BF16, F16, F32, Format, Rounding};

/// Moves `$value` by a unit in its last place, if it is rounded from a number from which it differs by an error with the sign of `$error`.
macro_rules! moved {
    ($value:ident, $error:expr, $rounding:expr) => {{
        let (bits, error) = ($value.to_bits(), $error);
        let (above, below, negative) = (error > 0.0, error < 0.0, $value.is_sign_negative());
        let moves = match $rounding {
            Some(Rounding::Down) => below,
            Some(Rounding::Up) => above,
            Some(Rounding::Zero) => {
                if negative {
                    above
                } else {
                    below
                }
            }
            Some(Rounding::Near | Rounding::Away) => false,
            // To odd.
            None => bits & 1 == 0 && (above || below),
        };
        let by = if negative == above { bits.wrapping_sub(1) } else { bits.wrapping_add(1) };
        if moves { by } else { bits }
    }};
}

/// Rounds a number with its error to `f32`: in a direction, or to odd.
#[inline(always)]
fn narrowed(value: f64, error: f64, rounding: Option<Rounding>) -> f32 {
    let value = f64::from_bits(moved!(value, error, rounding));
    let near = value as f32;
    f32::from_bits(moved!(near, value - f64::from(near), rounding))
}

/// The error of the sum of two numbers.
macro_rules! error {
    ($x:ident, $y:ident, $sum:ident) => {{
        let second = $sum - $x;
        ($x - ($sum - second)) + ($y - second)
    }};
}

/// `x + y`, rounded in a direction. Both are in `f32`, or are products of two such numbers.
#[inline(always)]
pub(crate) fn sum32(x: f64, y: f64, rounding: Rounding) -> f32 {
    let sum = x + y;
    let result = narrowed(sum, error!(x, y, sum), Some(rounding));
    // A sum of zero is negative, unless both are positive zeros.
    let negative = rounding == Rounding::Down && (x.is_sign_negative() || y.is_sign_negative());
    if sum == 0.0 && negative { -0.0 } else { result }
}

/// `x * y` in `f32`, rounded in a direction.
#[inline(always)]
pub(crate) fn product32(x: f32, y: f32, rounding: Rounding) -> f32 {
    directed32(f64::from(x) * f64::from(y), rounding)
}

/// Rounds in a direction.
#[inline(always)]
pub(crate) fn directed32(value: f64, rounding: Rounding) -> f32 {
    narrowed(value, 0.0, Some(rounding))
}

/// Rounds to odd.
#[inline(always)]
pub(crate) fn odd(value: f64) -> f32 {
    narrowed(value, 0.0, None)
}

/// Clamps a number to the range from 0 to 1; NaN becomes 0.
#[inline(always)]
pub(crate) fn saturated32(value: f32) -> f32 {
    let low = if value > 0.0 { value } else { 0.0 };
    if low > 1.0 { 1.0 } else { low }
}

/// A number of 16 bits in a format whose numbers are all in `f32`.
pub(crate) trait Half {
    const FORMAT: Format;
    /// The number in `f32`.
    fn widened(bits: u16) -> f32;
    /// The nearest number.
    fn nearest(value: f32) -> u16;
    /// `x * y`, to odd.
    fn product(x: f32, y: f32) -> f32;
    /// `x * y + z`, to odd.
    fn fused(x: f32, y: f32, z: f32) -> f32;
}

pub(crate) struct Binary16;
pub(crate) struct Brain16;

impl Half for Binary16 {
    const FORMAT: Format = F16;

    #[inline(always)]
    fn widened(bits: u16) -> f32 {
        let (sign, magnitude) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
        let subnormal = (magnitude as i32 as f32 * 2.0_f32.powi(-24)).to_bits();
        let normal = (magnitude << 13) + (112 << 23);
        let finite = if magnitude < 0x400 { subnormal } else { normal };
        let infinite = magnitude >= 0x7c00;
        let all = sign | if infinite { magnitude << 13 | F32.infinity() as u32 } else { finite };
        f32::from_bits(if magnitude > 0x7c00 { F32.nan as u32 } else { all })
    }

    #[inline(always)]
    fn nearest(value: f32) -> u16 {
        let (bits, magnitude) = (value.to_bits(), value.to_bits() & !(1 << 31));
        let even = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + (magnitude >> 13 & 1)) >> 13;
        let normal = even.min(F16.infinity() as u32);
        // The last digit of this sum is that of the subnormal numbers.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
        let rounded = if magnitude < 113 << 23 { subnormal } else { normal };
        let all = rounded | bits >> 16 & 0x8000;
        (if magnitude > F32.infinity() as u32 { F16.nan as u32 } else { all }) as u16
    }

    // Products of two numbers of 11 digits are exact in `f32`.

    #[inline(always)]
    fn product(x: f32, y: f32) -> f32 {
        x * y
    }

    #[inline(always)]
    fn fused(x: f32, y: f32, z: f32) -> f32 {
        let product = x * y;
        let sum = product + z;
        f32::from_bits(moved!(sum, error!(product, z, sum), None))
    }
}

impl Half for Brain16 {
    const FORMAT: Format = BF16;

    #[inline(always)]
    fn widened(bits: u16) -> f32 {
        let number = u32::from(bits) << 16;
        f32::from_bits(if bits & 0x7fff > 0x7f80 { F32.nan as u32 } else { number })
    }

    #[inline(always)]
    fn nearest(value: f32) -> u16 {
        let bits = value.to_bits();
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        (if value.is_nan() { 0x7fff } else { rounded }) as u16
    }

    // Products of two numbers may be out of the range of `f32`, and are exact in `f64`.

    #[inline(always)]
    fn product(x: f32, y: f32) -> f32 {
        odd(f64::from(x) * f64::from(y))
    }

    #[inline(always)]
    fn fused(x: f32, y: f32, z: f32) -> f32 {
        let (product, z) = (f64::from(x) * f64::from(y), f64::from(z));
        let sum = product + z;
        narrowed(sum, error!(product, z, sum), None)
    }
}

/// `x * y + z`, rounded to nearest once.
#[inline(always)]
pub(crate) fn fused16<H: Half>(x: u16, y: u16, z: u16) -> u16 {
    H::nearest(H::fused(H::widened(x), H::widened(y), H::widened(z)))
}

/// `x + y`. The digits of `f32` are more than twice those of the format, so the second rounding does not matter.
#[inline(always)]
pub(crate) fn sum16<H: Half>(x: u16, y: u16) -> u16 {
    H::nearest(H::widened(x) + H::widened(y))
}

/// `x * y`.
#[inline(always)]
pub(crate) fn product16<H: Half>(x: u16, y: u16) -> u16 {
    H::nearest(H::product(H::widened(x), H::widened(y)))
}
