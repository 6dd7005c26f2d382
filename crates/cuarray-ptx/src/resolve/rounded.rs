//! Floating-point arithmetic that the processor does not have, as vector code: other rounding modes, saturation, and numbers of 16 bits.

use super::rounding_code::{both, code, direction, extreme, extreme16, flush32, flushing, quiet32};
use crate::float::lanewise::{Binary16, Brain16, fused16, product16, product32, saturated32, sum16, sum32};
use crate::float::{F64, Rounding};
use crate::grammar::types::Type;
use crate::machine::lanes::{map_long3, map3};
use crate::machine::program::Exec;

/// An operation on numbers of 16 bits, or on pairs.
macro_rules! halves {
    ($ty:expr, |$a:ident, $b:ident, $c:ident| <$H:ident> $f:expr) => {
        match $ty {
            Type::F16 => {
                type $H = Binary16;
                Some(map_long3(|$a: u16, $b: u16, $c: u16| $f))
            }
            Type::BF16 => {
                type $H = Brain16;
                Some(map_long3(|$a: u16, $b: u16, $c: u16| $f))
            }
            Type::F16x2 => {
                type $H = Binary16;
                Some(map_long3(|a: u32, b: u32, c: u32| both(a, b, c, |$a, $b, $c| $f)))
            }
            Type::BF16x2 => {
                type $H = Brain16;
                Some(map_long3(|a: u32, b: u32, c: u32| both(a, b, c, |$a, $b, $c| $f)))
            }
            _ => None,
        }
    };
}

fn half(opcode: &str, ty: Type) -> Option<Exec> {
    match opcode {
        "add" => halves!(ty, |a, b, _c| <H> sum16::<H>(a, b)),
        "sub" => halves!(ty, |a, b, _c| <H> sum16::<H>(a, b ^ 0x8000)),
        "mul" => halves!(ty, |a, b, _c| <H> product16::<H>(a, b)),
        "fma" | "mad" => halves!(ty, |a, b, c| <H> fused16::<H>(a, b, c)),
        "min" => halves!(ty, |a, b, _c| <H> extreme16::<H>(a, b, false)),
        "max" => halves!(ty, |a, b, _c| <H> extreme16::<H>(a, b, true)),
        _ => None,
    }
}

/// The operations with a rounding mode.
macro_rules! directed {
    ($opcode:expr, $flush:expr, $rounding:expr) => {
        Some(match $opcode {
            "add" => flushing!($flush, map_long3, |a, b, _c| sum32(a.into(), b.into(), $rounding)),
            "sub" => flushing!($flush, map_long3, |a, b, _c| sum32(a.into(), (-b).into(), $rounding)),
            "mul" => flushing!($flush, map_long3, |a, b, _c| product32(a, b, $rounding)),
            "fma" | "mad" => {
                flushing!($flush, map_long3, |a, b, c| sum32(f64::from(a) * f64::from(b), c.into(), $rounding))
            }
            _ => return None,
        })
    };
}

/// An operation by its code, if there is vector code for it. It has three sources: the first one stands for those that are missing.
pub(super) fn rounded(opcode: &str, ty: Type, how: i64) -> Option<Exec> {
    let (flush, flags) = (how & code::FLUSH != 0, how & !code::FLUSH);
    match ty {
        Type::F32 if flags == code::SATURATE => Some(match opcode {
            "add" => flushing!(flush, map3, |a, b, _c| saturated32(a + b)),
            "sub" => flushing!(flush, map3, |a, b, _c| saturated32(a - b)),
            "mul" => flushing!(flush, map3, |a, b, _c| saturated32(a * b)),
            "fma" | "mad" => flushing!(flush, map3, |a, b, c| saturated32(a.mul_add(b, c))),
            _ => return None,
        }),
        Type::F32 if flags & !code::ROUNDING == 0 => match direction(how) {
            Rounding::Down => directed!(opcode, flush, Rounding::Down),
            Rounding::Up => directed!(opcode, flush, Rounding::Up),
            Rounding::Zero => directed!(opcode, flush, Rounding::Zero),
            _ => None,
        },
        Type::F64 if how == 0 => Some(match opcode {
            "min" => map_long3(|a: u64, b: u64, _: u64| extreme(F64, a, b, false, 0)),
            "max" => map_long3(|a: u64, b: u64, _: u64| extreme(F64, a, b, true, 0)),
            _ => return None,
        }),
        _ if how == 0 => half(opcode, ty),
        _ => None,
    }
}
