//! The codes of floating-point instructions, and what happens to their operands and results.

use crate::float::lanewise::Half;
use crate::float::{F64, Format, Rounding};

/// The bits of a code: the rounding mode, and what happens to the result.
pub(super) mod code {
    /// The bits of the rounding mode; see [`super::direction`].
    pub(in crate::resolve) const ROUNDING: i64 = 7;
    pub(in crate::resolve) const FLUSH: i64 = 8;
    pub(in crate::resolve) const SATURATE: i64 = 16;
    /// Negative results become zero.
    pub(in crate::resolve) const RELU: i64 = 32;
    /// `min` and `max` return NaN if an operand is NaN.
    pub(in crate::resolve) const NAN: i64 = 64;
    /// `min` and `max` compare magnitudes, and the result has the product of the signs.
    pub(in crate::resolve) const XORSIGN: i64 = 128;
    /// A conversion rounds to an integer of the same format.
    pub(in crate::resolve) const INTEGRAL: i64 = 1 << 16;
    /// A conversion saturates to the greatest finite number.
    pub(in crate::resolve) const FINITE: i64 = 1 << 17;
}

/// The rounding mode of a code.
pub(super) fn direction(code: i64) -> Rounding {
    match code & code::ROUNDING {
        0 => Rounding::Near,
        1 => Rounding::Zero,
        2 => Rounding::Down,
        3 => Rounding::Up,
        _ => Rounding::Away,
    }
}

/// Clamps a number to the range from 0 to 1; NaN becomes 0.
pub(super) fn saturated(format: Format, bits: u64, one: u64) -> u64 {
    if format.is_nan(bits) || bits & format.sign() != 0 { 0 } else { bits.min(one) }
}

/// `min` and `max`: a number is preferred to NaN, and +0 is greater than -0.
#[inline(always)]
pub(super) fn extreme(format: Format, a: u64, b: u64, greatest: bool, code: i64) -> u64 {
    let sign = (a ^ b) & format.sign();
    let (a, b) = if code & code::XORSIGN != 0 { (a & !format.sign(), b & !format.sign()) } else { (a, b) };
    let (x, y) = (format.is_nan(a), format.is_nan(b));
    if (x && y) || ((x || y) && code & code::NAN != 0) {
        return format.nan;
    }
    // Maps bits of numbers to integers in the same order.
    let key = |bits: u64| if bits & format.sign() != 0 { -((bits ^ format.sign()) as i64) - 1 } else { bits as i64 };
    let chosen = match (x, y) {
        (true, _) => b,
        (_, true) => a,
        _ if (key(a) > key(b)) == greatest => a,
        _ => b,
    };
    if code & code::XORSIGN != 0 { chosen | sign } else { chosen }
}

/// Replaces any NaN by the NaN that `f32` instructions return.
///
/// The choice works on bits: to the compiler all NaN values are equal, so it would remove a choice between two of
/// them.
#[inline(always)]
pub(super) fn quiet32(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fff_ffff } else { bits })
}

#[inline(always)]
pub(super) fn quiet64(value: f64) -> f64 {
    let bits = value.to_bits();
    f64::from_bits(if bits & (u64::MAX >> 1) > 0x7ff0_0000_0000_0000 { F64.nan } else { bits })
}

/// Replaces a subnormal number by zero.
#[inline(always)]
pub(super) fn flush32(value: f32) -> f32 {
    if value.to_bits() & 0x7f80_0000 == 0 { f32::from_bits(value.to_bits() & 0x8000_0000) } else { value }
}

/// An operation on numbers in `f32`, by a function of `lanes`, with and without flushing.
macro_rules! flushing {
    ($flush:expr, $map:ident, |$($a:ident),*| $body:expr) => {
        if $flush {
            $map(|$($a: f32),*| {
                $(let $a = flush32($a);)*
                flush32(quiet32($body))
            })
        } else {
            $map(|$($a: f32),*| quiet32($body))
        }
    };
}
pub(super) use flushing;

/// An operation on both halves of 32 bits.
#[inline(always)]
pub(super) fn both(a: u32, b: u32, c: u32, f: impl Fn(u16, u16, u16) -> u16) -> u32 {
    let low = f(a as u16, b as u16, c as u16);
    let high = f((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
    u32::from(low) | u32::from(high) << 16
}

/// `min` or `max` of numbers of 16 bits.
#[inline(always)]
pub(super) fn extreme16<H: Half>(a: u16, b: u16, greatest: bool) -> u16 {
    extreme(H::FORMAT, a.into(), b.into(), greatest, 0) as u16
}
