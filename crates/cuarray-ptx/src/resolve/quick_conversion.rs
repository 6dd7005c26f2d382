//! The common conversions as vector code.

use super::rounding_code::{code, direction, flush32, quiet32, quiet64};
use crate::float::Rounding;
use crate::float::lanewise::{Binary16, Brain16, Half, directed32, odd, saturated32};
use crate::grammar::types::Type;
use crate::machine::lanes::{map_long1, map_long3, map1};
use crate::machine::program::Exec;

/// A conversion of a number that is rounded to an integer in the direction of a code.
macro_rules! integral {
    ($how:expr, |$a:ident: $ty:ty| $value:expr, |$whole:ident| $result:expr) => {
        match direction($how) {
            Rounding::Near => map_long1(|$a: $ty| {
                let $whole = $value.round_ties_even();
                $result
            }),
            Rounding::Zero => map_long1(|$a: $ty| {
                let $whole = $value.trunc();
                $result
            }),
            Rounding::Down => map_long1(|$a: $ty| {
                let $whole = $value.floor();
                $result
            }),
            Rounding::Up => map_long1(|$a: $ty| {
                let $whole = $value.ceil();
                $result
            }),
            Rounding::Away => return None,
        }
    };
}

/// A conversion to `f32` that is rounded in the direction of a code.
macro_rules! directed {
    ($how:expr, |$a:ident: $ty:ty| $value:expr) => {
        match direction($how) {
            Rounding::Zero => map_long1(|$a: $ty| quiet32(directed32($value, Rounding::Zero))),
            Rounding::Down => map_long1(|$a: $ty| quiet32(directed32($value, Rounding::Down))),
            Rounding::Up => map_long1(|$a: $ty| quiet32(directed32($value, Rounding::Up))),
            Rounding::Near | Rounding::Away => return None,
        }
    };
}

/// An integer of at most 32 bits within the bounds of another type.
macro_rules! clamped {
    ($to:expr, $a:ident: $from:ty) => {
        match $to {
            Type::U8 => map1(|$a: $from| i64::from($a).clamp(0, 0xff) as u32),
            Type::S8 => map1(|$a: $from| i64::from($a).clamp(-0x80, 0x7f) as u32),
            Type::U16 => map1(|$a: $from| i64::from($a).clamp(0, 0xffff) as u32),
            Type::S16 => map1(|$a: $from| i64::from($a).clamp(-0x8000, 0x7fff) as u32),
            Type::U32 => map1(|$a: $from| i64::from($a).max(0) as u32),
            Type::S32 => map1(|$a: $from| i64::from($a).min(i64::from(i32::MAX)) as u32),
            _ => return None,
        }
    };
}

/// A conversion to an integer. A NaN becomes the highest bit if one of the types has 64 bits.
fn to_integer(from: Type, to: Type, how: i64, flush: bool) -> Option<Exec> {
    use Type::{F32, F64, S32, S64, U32, U64};
    const HIGHEST: u64 = 1 << 63;
    Some(match (from, to) {
        // The manual and Rust both saturate.
        (F32, S32) if flush => integral!(how, |a: f32| flush32(a), |whole| whole as i32),
        (F32, U32) if flush => integral!(how, |a: f32| flush32(a), |whole| whole as u32),
        _ if flush => return None,
        (F32, S32) => integral!(how, |a: f32| a, |whole| whole as i32),
        (F32, U32) => integral!(how, |a: f32| a, |whole| whole as u32),
        (F32, S64) => integral!(how, |a: f32| a, |whole| if whole.is_nan() { HIGHEST as i64 } else { whole as i64 }),
        (F32, U64) => integral!(how, |a: f32| a, |whole| if whole.is_nan() { HIGHEST } else { whole as u64 }),
        (F64, S32) => integral!(how, |a: f64| a, |whole| if whole.is_nan() { i32::MIN } else { whole as i32 }),
        (F64, U32) => integral!(how, |a: f64| a, |whole| if whole.is_nan() { 1 << 31 } else { whole as u32 }),
        (F64, S64) => integral!(how, |a: f64| a, |whole| if whole.is_nan() { HIGHEST as i64 } else { whole as i64 }),
        (F64, U64) => integral!(how, |a: f64| a, |whole| if whole.is_nan() { HIGHEST } else { whole as u64 }),
        _ => return None,
    })
}

/// A conversion between integers that keeps the lowest bits. The narrower type decides which, and the sign of the source how they are extended.
fn kept(from: Type, to: Type, (wide_source, wide_target): (bool, bool), narrow16: bool) -> Option<Exec> {
    let bits = from.bits().min(to.bits());
    let sign = if from.bits() < to.bits() { from.is_signed() } else { to.is_signed() };
    Some(match (wide_source, wide_target, bits, sign) {
        (true, false, 16, _) if narrow16 => map1(|a: u64| a as u16),
        (true, false, 8, false) if narrow16 => map1(|a: u64| u16::from(a as u8)),
        (true, false, 8, true) if narrow16 => map1(|a: u64| i16::from(a as i8)),
        (false, false, 16, _) if narrow16 => map1(|a: u32| a as u16),
        (false, false, 8, false) if narrow16 => map1(|a: u32| u16::from(a as u8)),
        (false, false, 8, true) if narrow16 => map1(|a: u32| i16::from(a as i8)),
        _ if narrow16 => return None,
        (true, true, 64, _) => map1(|a: u64| a),
        (true, true, 32, false) => map1(|a: u64| a & 0xffff_ffff),
        (true, true, 32, true) => map1(|a: u64| i64::from(a as i32)),
        (true, false, 32, _) => map1(|a: u64| a as u32),
        (false, true, 32, false) => map1(|a: u32| u64::from(a)),
        (false, true, 32, true) => map1(|a: i32| i64::from(a)),
        (false, false, 32, _) => map1(|a: u32| a),
        (false, false, 16, false) => map1(|a: u32| a & 0xffff),
        (false, false, 16, true) => map1(|a: u32| i32::from(a as i16)),
        (false, false, 8, false) => map1(|a: u32| a & 0xff),
        (false, false, 8, true) => map1(|a: u32| i32::from(a as i8)),
        (false, true, 16, false) => map1(|a: u32| u64::from(a & 0xffff)),
        (false, true, 16, true) => map1(|a: u32| i64::from(a as i16)),
        (false, true, 8, false) => map1(|a: u32| u64::from(a & 0xff)),
        (false, true, 8, true) => map1(|a: u32| i64::from(a as i8)),
        _ => return None,
    })
}

/// A conversion to a number of 16 bits, rounded to nearest.
fn to_half<H: Half + 'static>(from: Type) -> Option<Exec> {
    Some(match from {
        Type::F32 => map_long1(|a: f32| H::nearest(a)),
        Type::F64 => map_long1(|a: f64| H::nearest(odd(a))),
        Type::S32 => map_long1(|a: i32| H::nearest(odd(a.into()))),
        Type::U32 => map_long1(|a: u32| H::nearest(odd(a.into()))),
        Type::S16 => map_long1(|a: i16| H::nearest(a.into())),
        Type::U16 => map_long1(|a: u16| H::nearest(a.into())),
        _ => return None,
    })
}

/// A conversion of two numbers in `f32` to a pair of numbers of 16 bits: the first one becomes the upper half.
fn to_pair<H: Half + 'static>() -> Exec {
    map_long3(|a: f32, b: f32, _: u32| u32::from(H::nearest(a)) << 16 | u32::from(H::nearest(b)))
}

/// Returns the vector code of a conversion to a pair by its code, if there is any.
pub(super) fn quick_pair(to: Type, how: i64) -> Option<Exec> {
    match (to, how) {
        (Type::F16x2, 0) => Some(to_pair::<Binary16>()),
        (Type::BF16x2, 0) => Some(to_pair::<Brain16>()),
        _ => None,
    }
}

/// Returns the vector code of a conversion between two types by its code, if there is any. `wide` states which of the registers have 64 bits.
/// `narrow16` states that the result has 16 bits.
pub(super) fn quick((from, to): (Type, Type), how: i64, wide: (bool, bool), narrow16: bool) -> Option<Exec> {
    use Type::{BF16, F16, F32, F64, S32, S64, U32, U64};
    let flags = how & (code::SATURATE | code::FLUSH | code::RELU | code::INTEGRAL | code::FINITE);
    if !from.is_float() && !to.is_float() {
        return match flags {
            0 => kept(from, to, wide, narrow16),
            code::SATURATE if wide == (false, false) && !narrow16 => Some(match from {
                S32 => clamped!(to, a: i32),
                U32 => clamped!(to, a: u32),
                _ => return None,
            }),
            _ => None,
        };
    }
    let near = direction(how) == Rounding::Near;
    if narrow16 {
        return match to {
            F16 if flags == 0 && near => to_half::<Binary16>(from),
            BF16 if flags == 0 && near => to_half::<Brain16>(from),
            _ => None,
        };
    }
    if wide != (from.bits() == 64, to.bits() == 64) {
        return None;
    }
    let flush = flags & code::FLUSH != 0;
    Some(match (from, to, flags & !code::FLUSH) {
        (_, _, code::INTEGRAL) if !to.is_float() => return to_integer(from, to, how, flush),
        (F32, F32, code::INTEGRAL) if flush => integral!(how, |a: f32| flush32(a), |whole| quiet32(whole)),
        (F32, F32, code::INTEGRAL) => integral!(how, |a: f32| a, |whole| quiet32(whole)),
        (F64, F64, code::INTEGRAL) => integral!(how, |a: f64| a, |whole| quiet64(whole)),
        (F32, F32, code::SATURATE) if flush => map1(|a: f32| saturated32(flush32(a))),
        (F32, F32, code::SATURATE) => map1(|a: f32| saturated32(a)),
        (F32, F32, 0) if flush => map1(|a: f32| quiet32(flush32(a))),
        (F64, F32, 0) if flush && near => map1(|a: f64| flush32(quiet32(a as f32))),
        (F32, F64, 0) if flush => map1(|a: f32| quiet64(f64::from(flush32(a)))),
        _ if flags != 0 => return None,
        (S32, F32, _) if near => map1(|a: i32| a as f32),
        (U32, F32, _) if near => map1(|a: u32| a as f32),
        (S64, F32, _) if near => map1(|a: i64| a as f32),
        (U64, F32, _) if near => map1(|a: u64| a as f32),
        (S32, F64, _) => map1(|a: i32| f64::from(a)),
        (U32, F64, _) => map1(|a: u32| f64::from(a)),
        (S64, F64, _) if near => map1(|a: i64| a as f64),
        (U64, F64, _) if near => map1(|a: u64| a as f64),
        (F32, F64, _) => map1(|a: f32| quiet64(f64::from(a))),
        (F64, F32, _) if near => map1(|a: f64| quiet32(a as f32)),
        (S32, F32, _) => directed!(how, |a: i32| a.into()),
        (U32, F32, _) => directed!(how, |a: u32| a.into()),
        (F64, F32, _) => directed!(how, |a: f64| a),
        (F16, F32, _) => map_long1(|a: u16| Binary16::widened(a)),
        (BF16, F32, _) => map_long1(|a: u16| Brain16::widened(a)),
        (F16, F64, _) => map_long1(|a: u16| quiet64(Binary16::widened(a).into())),
        (BF16, F64, _) => map_long1(|a: u16| quiet64(Brain16::widened(a).into())),
        _ => return None,
    })
}
