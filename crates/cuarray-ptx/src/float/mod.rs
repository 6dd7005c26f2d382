//! Exact floating-point arithmetic with one rounding, in every rounding mode, for every format of PTX.
//!
//! The processor supports two formats, and only rounding to nearest. This folder computes other modes (`.rz`, `.rm`,
//! `.rp`), `f16` and `bf16`. A number becomes a sign, an integer of up to 128 bits, a power of two, and a flag
//! that states whether nonzero lower digits were cut off. All operations end in [`round`].

/// A floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    /// Bits of the fraction.
    pub fraction: u32,
    /// Bits of the exponent.
    pub exponent: u32,
    /// The NaN that operations return.
    pub nan: u64,
}

pub(crate) const F16: Format = Format { fraction: 10, exponent: 5, nan: 0x7fff };
pub(crate) const BF16: Format = Format { fraction: 7, exponent: 8, nan: 0x7fff };
pub(crate) const F32: Format = Format { fraction: 23, exponent: 8, nan: 0x7fff_ffff };
pub(crate) const F64: Format = Format { fraction: 52, exponent: 11, nan: 0xfff8_0000_0000_0000 };

impl Format {
    pub(crate) const fn sign(self) -> u64 {
        1 << (self.fraction + self.exponent)
    }

    pub(crate) const fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The exponent of the last digit of a subnormal number.
    const fn least(self) -> i32 {
        1 - self.bias() - self.fraction as i32
    }

    pub(crate) const fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    /// Replaces a subnormal number by zero, as `.ftz` requires.
    pub(crate) const fn flush(self, bits: u64) -> u64 {
        if bits & self.infinity() == 0 { bits & self.sign() } else { bits }
    }
}

/// A rounding mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    Near,
    /// To nearest, ties away from zero.
    Away,
    Zero,
    Down,
    Up,
}

/// The value of a bit pattern.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Value {
    Nan,
    Infinite(bool),
    Zero(bool),
    Number(Number),
}

/// `digits` times two to the power of `exponent`. If `exact` is false, further digits below these are not zero.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Number {
    negative: bool,
    exponent: i32,
    digits: u128,
    exact: bool,
}

fn unpack(format: Format, bits: u64) -> Value {
    let negative = bits & format.sign() != 0;
    let fraction = bits & ((1 << format.fraction) - 1);
    let exponent = (bits >> format.fraction) & ((1 << format.exponent) - 1);
    if exponent == (1 << format.exponent) - 1 {
        return if fraction == 0 { Value::Infinite(negative) } else { Value::Nan };
    }
    let (digits, exponent) = match exponent {
        0 => (fraction, format.least()),
        _ => (fraction | 1 << format.fraction, format.least() + exponent as i32 - 1),
    };
    if digits == 0 {
        return Value::Zero(negative);
    }
    Value::Number(Number { negative, exponent, digits: u128::from(digits), exact: true })
}

/// Whether digits are rounded away from zero. `half` compares the digits that were cut off with half of the last digit.
fn rounds_up(rounding: Rounding, negative: bool, odd: bool, half: std::cmp::Ordering, exact: bool) -> bool {
    use std::cmp::Ordering::{Equal, Greater};
    match rounding {
        Rounding::Near => half == Greater || (half == Equal && odd),
        Rounding::Away => half != std::cmp::Ordering::Less,
        Rounding::Zero => false,
        Rounding::Down => negative && !exact,
        Rounding::Up => !negative && !exact,
    }
}

/// Cuts off the lowest `shift` bits and rounds. Also returns whether the result is exact.
fn cut(number: Number, shift: u32, rounding: Rounding) -> (u128, bool) {
    if shift == 0 {
        let up = rounds_up(rounding, number.negative, number.digits & 1 == 1, std::cmp::Ordering::Less, number.exact);
        return (number.digits + u128::from(up), number.exact);
    }
    let kept = number.digits.checked_shr(shift).unwrap_or(0);
    let rest = number.digits ^ kept.checked_shl(shift).unwrap_or(0);
    // Compares the cut-off digits with half of the last remaining digit.
    let half = match shift {
        1..=128 => rest.cmp(&(1 << (shift - 1))),
        _ => std::cmp::Ordering::Less,
    };
    let half = if half == std::cmp::Ordering::Equal && !number.exact { std::cmp::Ordering::Greater } else { half };
    let exact = rest == 0 && number.exact;
    (kept + u128::from(rounds_up(rounding, number.negative, kept & 1 == 1, half, exact)), exact)
}

fn round(format: Format, number: Number, rounding: Rounding) -> u64 {
    let sign = if number.negative { format.sign() } else { 0 };
    let length = 128 - number.digits.leading_zeros() as i32;
    let last = (number.exponent + length - 1 - format.fraction as i32).max(format.least());
    let shift = last - number.exponent;
    let kept = if shift <= 0 {
        // At most as many zeros are appended as the format has digits, so the digits fit.
        let widened = Number { digits: number.digits << -shift, ..number };
        cut(widened, 0, rounding).0
    } else {
        cut(number, shift as u32, rounding).0
    };
    let magnitude = (((last - format.least()) as u64) << format.fraction).wrapping_add(kept as u64);
    if last - format.least() >= 1 << format.exponent || magnitude >= format.infinity() {
        let infinite = match rounding {
            Rounding::Near | Rounding::Away => true,
            Rounding::Zero => false,
            Rounding::Down => number.negative,
            Rounding::Up => !number.negative,
        };
        return sign | if infinite { format.infinity() } else { format.infinity() - 1 };
    }
    sign | magnitude
}

/// The zero that is the sum of two nonzero numbers.
fn zero(format: Format, rounding: Rounding) -> u64 {
    if rounding == Rounding::Down { format.sign() } else { 0 }
}

fn signed_zero(format: Format, negative: bool) -> u64 {
    if negative { format.sign() } else { 0 }
}

/// Shifts the highest digit to a fixed position, two below the top.
fn widened(number: Number) -> Number {
    let shift = number.digits.leading_zeros() as i32 - 2;
    if shift >= 0 {
        Number { digits: number.digits << shift, exponent: number.exponent - shift, ..number }
    } else {
        number
    }
}

fn sum(format: Format, a: Number, b: Number, rounding: Rounding) -> u64 {
    let (a, b) = (widened(a), widened(b));
    let (high, low) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
    let shift = (high.exponent - low.exponent) as u32;
    let moved = low.digits.checked_shr(shift).unwrap_or(0);
    let exact = moved.checked_shl(shift).unwrap_or(0) == low.digits;
    let (digits, negative) = if high.negative == low.negative {
        (high.digits + moved, high.negative)
    } else {
        // Lower digits make the difference smaller.
        let taken = moved + u128::from(!exact);
        if high.digits >= taken { (high.digits - taken, high.negative) } else { (taken - high.digits, low.negative) }
    };
    if digits == 0 && exact {
        return zero(format, rounding);
    }
    round(format, Number { negative, exponent: high.exponent, digits, exact }, rounding)
}

/// `a + b`.
pub(crate) fn add(format: Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    added(format, unpack(format, a), unpack(format, b), rounding)
}

fn added(format: Format, a: Value, b: Value, rounding: Rounding) -> u64 {
    match (a, b) {
        (Value::Nan, _) | (_, Value::Nan) => format.nan,
        (Value::Infinite(a), Value::Infinite(b)) if a != b => format.nan,
        (Value::Infinite(negative), _) | (_, Value::Infinite(negative)) => {
            signed_zero(format, negative) | format.infinity()
        }
        (Value::Zero(a), Value::Zero(b)) => {
            if a == b {
                signed_zero(format, a)
            } else {
                zero(format, rounding)
            }
        }
        (Value::Zero(_), Value::Number(number)) | (Value::Number(number), Value::Zero(_)) => {
            round(format, number, rounding)
        }
        (Value::Number(a), Value::Number(b)) => sum(format, a, b, rounding),
    }
}

fn product(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Nan, _) | (_, Value::Nan) => Value::Nan,
        (Value::Infinite(_), Value::Zero(_)) | (Value::Zero(_), Value::Infinite(_)) => Value::Nan,
        (Value::Infinite(a), b) | (b, Value::Infinite(a)) => Value::Infinite(a != is_negative(b)),
        (Value::Zero(a), b) | (b, Value::Zero(a)) => Value::Zero(a != is_negative(b)),
        (Value::Number(a), Value::Number(b)) => Value::Number(Number {
            negative: a.negative != b.negative,
            exponent: a.exponent + b.exponent,
            digits: a.digits * b.digits,
            exact: true,
        }),
    }
}

fn is_negative(value: Value) -> bool {
    match value {
        Value::Nan => false,
        Value::Infinite(negative) | Value::Zero(negative) | Value::Number(Number { negative, .. }) => negative,
    }
}

fn pack(format: Format, value: Value, rounding: Rounding) -> u64 {
    match value {
        Value::Nan => format.nan,
        Value::Infinite(negative) => signed_zero(format, negative) | format.infinity(),
        Value::Zero(negative) => signed_zero(format, negative),
        Value::Number(number) => round(format, number, rounding),
    }
}

/// `a * b`.
pub(crate) fn mul(format: Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    pack(format, product(unpack(format, a), unpack(format, b)), rounding)
}

/// `a * b + c`, rounded once.
pub(crate) fn fma(format: Format, a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    added(format, product(unpack(format, a), unpack(format, b)), unpack(format, c), rounding)
}

/// `a / b`.
pub(crate) fn div(format: Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    let quotient = match (unpack(format, a), unpack(format, b)) {
        (Value::Nan, _) | (_, Value::Nan) => Value::Nan,
        (Value::Infinite(_), Value::Infinite(_)) | (Value::Zero(_), Value::Zero(_)) => Value::Nan,
        (Value::Infinite(a), b) => Value::Infinite(a != is_negative(b)),
        (a, Value::Zero(b)) => Value::Infinite(is_negative(a) != b),
        (Value::Zero(a), b) => Value::Zero(a != is_negative(b)),
        (a, Value::Infinite(b)) => Value::Zero(is_negative(a) != b),
        (Value::Number(a), Value::Number(b)) => {
            let shift = a.digits.leading_zeros() as i32;
            let dividend = a.digits << shift;
            Value::Number(Number {
                negative: a.negative != b.negative,
                exponent: a.exponent - shift - b.exponent,
                digits: dividend / b.digits,
                exact: dividend.is_multiple_of(b.digits),
            })
        }
    };
    pack(format, quotient, rounding)
}

/// The square root.
pub(crate) fn sqrt(format: Format, a: u64, rounding: Rounding) -> u64 {
    let root = match unpack(format, a) {
        Value::Zero(negative) => Value::Zero(negative),
        Value::Infinite(false) => Value::Infinite(false),
        Value::Number(number) if !number.negative => {
            let mut shift = number.digits.leading_zeros() as i32;
            // The exponent must be even.
            shift -= (number.exponent - shift) & 1;
            let square = number.digits << shift;
            let digits = square.isqrt();
            let exponent = (number.exponent - shift) / 2;
            Value::Number(Number { negative: false, exponent, digits, exact: digits * digits == square })
        }
        _ => Value::Nan,
    };
    pack(format, root, rounding)
}

/// Converts a number to another format.
pub(crate) fn convert(from: Format, to: Format, bits: u64, rounding: Rounding) -> u64 {
    pack(to, unpack(from, bits), rounding)
}

/// Converts an integer.
pub(crate) fn from_integer(format: Format, value: i128, rounding: Rounding) -> u64 {
    if value == 0 {
        return 0;
    }
    round(format, Number { negative: value < 0, exponent: 0, digits: value.unsigned_abs(), exact: true }, rounding)
}

/// Converts a number to an integer within bounds; `None` for NaN.
pub(crate) fn to_integer(format: Format, bits: u64, rounding: Rounding, least: i128, most: i128) -> Option<i128> {
    Some(match unpack(format, bits) {
        Value::Nan => return None,
        Value::Infinite(true) => least,
        Value::Infinite(false) => most,
        Value::Zero(_) => 0,
        Value::Number(number) => {
            let magnitude = if number.exponent < 0 {
                cut(number, number.exponent.unsigned_abs(), rounding).0
            } else if number.exponent > 66 {
                u128::MAX >> 1
            } else {
                number.digits << number.exponent
            };
            let value = i128::try_from(magnitude).unwrap_or(i128::MAX);
            (if number.negative { -value } else { value }).clamp(least, most)
        }
    })
}

/// Rounds a number to an integer in the same format.
pub(crate) fn integral(format: Format, bits: u64, rounding: Rounding) -> u64 {
    match unpack(format, bits) {
        Value::Number(number) if number.exponent < 0 => {
            let (digits, _) = cut(number, number.exponent.unsigned_abs(), rounding);
            if digits == 0 {
                return signed_zero(format, number.negative);
            }
            round(format, Number { digits, exponent: 0, ..number }, rounding)
        }
        Value::Nan => format.nan,
        _ => bits,
    }
}

pub(crate) mod functions;
pub(crate) mod lanewise;
#[cfg(test)]
mod tests;
