//! Floating-point arithmetic.
//!
//! PTX manual: [floating-point
//! instructions](https://docs.nvidia.com/cuda/parallel-thread-execution/#floating-point-instructions) and
//! [half-precision
//! ones](https://docs.nvidia.com/cuda/parallel-thread-execution/#half-precision-floating-point-instructions). The
//! host's processor computes `f32` and `f64` rounded to nearest; [`float`] computes all other cases. Approximate
//! instructions are computed exactly or in double precision, so the results are within the manual's bounds.

use super::builder::Builder;
use super::draft::Operand;
use super::operand::Modifiers;
use super::rounded::rounded;
use super::rounding_code::{both, code, direction, extreme, flush32, flushing, quiet32, quiet64, saturated};
use crate::Error;
use crate::float::lanewise::{Binary16, Brain16, Half, odd};
use crate::float::{self, BF16, F16, F32, F64, Format, functions};
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::Type;
use crate::machine::lanes::{compare, map_bounded, map_coded, map_long1, map1, map2, map3};
use crate::machine::program::Exec;

/// The operations of [`computed`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Sqrt,
    Reciprocal,
    Min,
    Max,
}

/// Computes the operation that a code selects.
pub(super) fn computed(operation: Operation, format: Format, a: u64, b: u64, c: u64, code: i64) -> u64 {
    let flush = |bits| if code & code::FLUSH != 0 { format.flush(bits) } else { bits };
    let (a, b, c, rounding) = (flush(a), flush(b), flush(c), direction(code));
    let one = (((1 << (format.exponent - 1)) - 1) as u64) << format.fraction;
    let result = match operation {
        Operation::Add => float::add(format, a, b, rounding),
        Operation::Sub => float::add(format, a, b ^ format.sign(), rounding),
        Operation::Mul => float::mul(format, a, b, rounding),
        Operation::Fma => float::fma(format, a, b, c, rounding),
        Operation::Div => float::div(format, a, b, rounding),
        Operation::Sqrt => float::sqrt(format, a, rounding),
        Operation::Reciprocal => float::div(format, one, a, rounding),
        Operation::Min | Operation::Max => extreme(format, a, b, operation == Operation::Max, code),
    };
    let result = flush(result);
    if code & code::SATURATE != 0 {
        return saturated(format, result, one);
    }
    if code & code::RELU != 0 && !format.is_nan(result) && result & format.sign() != 0 {
        return 0;
    }
    result
}

/// An operation in a 16-bit format, or on pairs.
macro_rules! halves {
    ($ty:expr, $operation:ident, $map:ident) => {
        match $ty {
            Type::F16 => Some($map(|a: u16, b: u16, c: u16, code: i64| {
                computed(Operation::$operation, F16, a.into(), b.into(), c.into(), code) as u16
            })),
            Type::BF16 => Some($map(|a: u16, b: u16, c: u16, code: i64| {
                computed(Operation::$operation, BF16, a.into(), b.into(), c.into(), code) as u16
            })),
            Type::F16x2 => {
                Some($map(|a: u32, b: u32, c: u32, code: i64| pairs(Operation::$operation, F16, a, b, c, code)))
            }
            Type::BF16x2 => {
                Some($map(|a: u32, b: u32, c: u32, code: i64| pairs(Operation::$operation, BF16, a, b, c, code)))
            }
            Type::F32 => Some($map(|a: u32, b: u32, c: u32, code: i64| {
                computed(Operation::$operation, F32, a.into(), b.into(), c.into(), code) as u32
            })),
            Type::F64 => {
                Some($map(|a: u64, b: u64, c: u64, code: i64| computed(Operation::$operation, F64, a, b, c, code)))
            }
            _ => None,
        }
    };
}

fn pairs(operation: Operation, format: Format, a: u32, b: u32, c: u32, code: i64) -> u32 {
    both(a, b, c, |a, b, c| computed(operation, format, a.into(), b.into(), c.into(), code) as u16)
}

/// The number of sources of an operation.
fn sources(opcode: &str) -> usize {
    match opcode {
        "fma" | "mad" => 3,
        "add" | "sub" | "mul" | "div" | "min" | "max" | "copysign" => 2,
        _ => 1,
    }
}

/// An operation that the host's processor computes: rounded to nearest, possibly flushed.
fn by_processor(opcode: &str, ty: Type, flush: bool, approximate: bool) -> Option<Exec> {
    Some(match (opcode, ty) {
        ("add", Type::F32) => flushing!(flush, map2, |a, b| a + b),
        ("sub", Type::F32) => flushing!(flush, map2, |a, b| a - b),
        ("mul", Type::F32) => flushing!(flush, map2, |a, b| a * b),
        ("div", Type::F32) => flushing!(flush, map2, |a, b| a / b),
        ("min", Type::F32) => flushing!(flush, map2, |a, b| least32(a, b)),
        ("max", Type::F32) => flushing!(flush, map2, |a, b| most32(a, b)),
        ("add", Type::F64) => map2(|a: f64, b: f64| quiet64(a + b)),
        ("sub", Type::F64) => map2(|a: f64, b: f64| quiet64(a - b)),
        ("mul", Type::F64) => map2(|a: f64, b: f64| quiet64(a * b)),
        ("div", Type::F64) => map2(|a: f64, b: f64| quiet64(a / b)),
        ("fma" | "mad", Type::F32) => flushing!(flush, map3, |a, b, c| a.mul_add(b, c)),
        ("fma" | "mad", Type::F64) => map3(|a: f64, b: f64, c: f64| quiet64(a.mul_add(b, c))),
        ("sqrt", Type::F32) => flushing!(flush, map1, |a| a.sqrt()),
        ("sqrt", Type::F64) => map1(|a: f64| quiet64(a.sqrt()).to_bits()),
        ("rcp", Type::F32) => flushing!(flush, map1, |a| 1.0 / a),
        // The manual requires that the lower half of the result is zero.
        ("rcp", Type::F64) if approximate => {
            map1(|a: f64| f64::from_bits(quiet64(1.0 / flush64(a)).to_bits() & !0xffff_ffff))
        }
        ("rcp", Type::F64) => map1(|a: f64| quiet64(1.0 / a)),
        _ => return None,
    })
}

/// An operation that [`computed`] computes by its code, and one that only moves bits.
fn by_format(opcode: &str, ty: Type) -> Option<Exec> {
    match (opcode, ty) {
        ("add", _) => halves!(ty, Add, map_coded),
        ("sub", _) => halves!(ty, Sub, map_coded),
        ("mul", _) => halves!(ty, Mul, map_coded),
        ("div", Type::F32 | Type::F64) => halves!(ty, Div, map_coded),
        ("fma" | "mad", _) => halves!(ty, Fma, map_coded),
        ("min", _) => halves!(ty, Min, map_coded),
        ("max", _) => halves!(ty, Max, map_coded),
        ("sqrt", Type::F32 | Type::F64) => halves!(ty, Sqrt, map_coded),
        ("rcp", Type::F32 | Type::F64) => halves!(ty, Reciprocal, map_coded),
        ("copysign", Type::F32) => Some(map2(|a: u32, b: u32| a & (1 << 31) | b & !(1 << 31))),
        ("copysign", Type::F64) => Some(map2(|a: u64, b: u64| a & (1 << 63) | b & !(1 << 63))),
        _ => None,
    }
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn floating(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        let opcode = instruction.opcode;
        if opcode == "testp" {
            return self.test(instruction, words);
        }
        if Self::is_mixed(words) {
            return self.mixed(instruction, words);
        }
        let flush = words.take("ftz");
        let saturate = words.take("sat");
        let approximate = words.take("approx");
        let full = words.take("full");
        let relu = words.take("relu");
        let nan = words.take("NaN");
        let xorsign = words.take("xorsign") && words.take("abs");
        let rounding = words.one_of(&["rn", "rz", "rm", "rp"]);
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        if !ty.is_float() {
            return self.refuse(instruction);
        }
        let mut how = rounding.unwrap_or(0) as i64;
        for (set, bit) in [
            (flush, code::FLUSH),
            (saturate, code::SATURATE),
            (relu, code::RELU),
            (nan, code::NAN),
            (xorsign, code::XORSIGN),
        ] {
            how |= if set { bit } else { 0 };
        }
        // The host's processor can compute this: rounded to nearest, possibly flushed.
        let fast = how & !code::FLUSH == 0;
        let flush32s = flush && ty == Type::F32;
        let exec = fast.then(|| by_processor(opcode, ty, flush32s, approximate)).flatten();
        let exec =
            exec.or_else(|| rounded(opcode, ty, how)).or_else(|| by_format(opcode, ty)).or_else(|| match opcode {
                "abs" | "neg" => sign(opcode, ty, flush32s),
                _ => function(opcode, ty, flush),
            });
        let Some(exec) = exec else { return self.refuse(instruction) };
        let known = matches!(opcode, "div" | "sqrt" | "rcp" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh");
        if (approximate || full) && !known {
            return self.refuse(instruction);
        }
        if matches!(opcode, "min" | "max") && instruction.operands.len() == 4 && ty == Type::F32 {
            return self.of_three(instruction, exec, ty, how);
        }
        self.plain(instruction, exec, ty, &vec![ty; sources(opcode)], how)
    }

    /// `min` and `max` of three numbers.
    fn of_three(&mut self, instruction: &'a Instruction<'a>, exec: Exec, ty: Type, how: i64) -> Result<(), Error> {
        let operands = &instruction.operands;
        let [a, b, c] =
            [self.source(&operands[1], ty)?, self.source(&operands[2], ty)?, self.source(&operands[3], ty)?];
        let d = self.target(&operands[0], ty)?;
        let first = Operand::Register(self.register(ty.width()));
        for (d, a, b) in [(first, a, b), (d, first, c)] {
            let draft = super::draft::Draft { d, a, b, c: b, imm: how, ..self.draft(exec) };
            self.push(draft);
        }
        Ok(())
    }

    fn test(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let kind = words.one_of(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]);
        let ty = words.ty();
        let exec = match (kind, ty) {
            (Some(0), Some(Type::F32)) => compare(|a: f32, _| a.is_finite()),
            (Some(1), Some(Type::F32)) => compare(|a: f32, _| a.is_infinite()),
            (Some(2), Some(Type::F32)) => compare(|a: f32, _| !a.is_nan()),
            (Some(3), Some(Type::F32)) => compare(|a: f32, _| a.is_nan()),
            (Some(4), Some(Type::F32)) => compare(|a: f32, _| a.is_normal()),
            (Some(5), Some(Type::F32)) => compare(|a: f32, _| a.is_subnormal()),
            (Some(0), Some(Type::F64)) => compare(|a: f64, _| a.is_finite()),
            (Some(1), Some(Type::F64)) => compare(|a: f64, _| a.is_infinite()),
            (Some(2), Some(Type::F64)) => compare(|a: f64, _| !a.is_nan()),
            (Some(3), Some(Type::F64)) => compare(|a: f64, _| a.is_nan()),
            (Some(4), Some(Type::F64)) => compare(|a: f64, _| a.is_normal()),
            (Some(5), Some(Type::F64)) => compare(|a: f64, _| a.is_subnormal()),
            _ => return self.refuse(instruction),
        };
        self.count(instruction, &[2])?;
        let a = self.source(&instruction.operands[1], ty.unwrap_or(Type::F32))?;
        let d = match &instruction.operands[0] {
            Written::Name(name) => self.predicate_target(name)?,
            _ => return Err(self.wrong(instruction.opcode, "the target is not a predicate")),
        };
        self.emit(exec, d, [a, a, Operand::Nothing]);
        Ok(())
    }
}

fn flush64(value: f64) -> f64 {
    if value.is_subnormal() { 0.0_f64.copysign(value) } else { value }
}

fn least32(a: f32, b: f32) -> f32 {
    // +0 is greater than -0, and a number is preferred to NaN.
    let equal = f32::from_bits(a.to_bits() | b.to_bits());
    if a < b || b.is_nan() {
        a
    } else if b < a || a.is_nan() {
        b
    } else {
        equal
    }
}

fn most32(a: f32, b: f32) -> f32 {
    let equal = f32::from_bits(a.to_bits() & b.to_bits());
    if a > b || b.is_nan() {
        a
    } else if b > a || a.is_nan() {
        b
    } else {
        equal
    }
}

/// `abs` and `neg` change the sign bit; NaN in `f32` is an exception.
fn sign(opcode: &str, ty: Type, flush: bool) -> Option<Exec> {
    let negates = opcode == "neg";
    Some(match (ty, negates) {
        (Type::F32, false) if flush => map1(|a: f32| flush32(a.abs())),
        (Type::F32, true) if flush => map1(|a: f32| flush32(-a)),
        (Type::F32, false) => map1(|a: u32| a & !(1 << 31)),
        (Type::F32, true) => map1(|a: u32| a ^ 1 << 31),
        (Type::F64, false) => map1(|a: u64| a & !(1 << 63)),
        (Type::F64, true) => map1(|a: u64| a ^ 1 << 63),
        (Type::F16 | Type::BF16, false) => map1(|a: u16| a & 0x7fff),
        (Type::F16 | Type::BF16, true) => map1(|a: u16| a ^ 0x8000),
        (Type::F16x2 | Type::BF16x2, false) => map1(|a: u32| a & 0x7fff_7fff),
        (Type::F16x2 | Type::BF16x2, true) => map1(|a: u32| a ^ 0x8000_8000),
        _ => return None,
    })
}

/// An approximate function of one number, computed in double precision.
macro_rules! through64 {
    ($flush:expr, $map:ident, |$a:ident $(, $exact:ident)?| $body:expr) => {
        if $flush {
            $map(|a: f32 $(, $exact: bool)?| {
                let $a = f64::from(flush32(a));
                $body.finished(true)
            })
        } else {
            $map(|a: f32 $(, $exact: bool)?| {
                let $a = f64::from(a);
                $body.finished(false)
            })
        }
    };
}

/// The result of an approximate function, possibly with whether it is the right one.
trait Finished {
    type In32;
    /// The result in `f32`, flushed or not.
    fn finished(self, flush: bool) -> Self::In32;
}

impl Finished for f64 {
    type In32 = f32;
    #[inline(always)]
    fn finished(self, flush: bool) -> f32 {
        let result = quiet32(self as f32);
        if flush { flush32(result) } else { result }
    }
}

impl Finished for (f64, bool) {
    type In32 = (f32, bool);
    #[inline(always)]
    fn finished(self, flush: bool) -> (f32, bool) {
        (self.0.finished(flush), self.1)
    }
}

/// The sine or the cosine, and whether the number was within the bounds of `circular`. If not, the library of the language computes it.
#[inline(always)]
fn circular(a: f64, exact: bool, quarters: u64, library: fn(f64) -> f64) -> (f64, bool) {
    if exact { (library(a), true) } else { (functions::circular(a, quarters), a.abs() < functions::CIRCULAR) }
}

/// A function of a number of 16 bits.
#[inline(always)]
fn of_half<H: Half>(bits: u16, f: impl Fn(f64) -> f64) -> u16 {
    H::nearest(odd(f(f64::from(H::widened(bits)))))
}

/// A function of a number of 16 bits, or of both numbers of a pair.
macro_rules! of_halves {
    ($ty:expr, $f:path) => {
        match $ty {
            Type::F16 => map_long1(|a: u16| of_half::<Binary16>(a, |a| $f(a))),
            Type::BF16 => map_long1(|a: u16| of_half::<Brain16>(a, |a| $f(a))),
            Type::F16x2 => map_long1(|a: u32| both(a, a, a, |a, _, _| of_half::<Binary16>(a, |a| $f(a)))),
            Type::BF16x2 => map_long1(|a: u32| both(a, a, a, |a, _, _| of_half::<Brain16>(a, |a| $f(a)))),
            _ => return None,
        }
    };
}

fn function(opcode: &str, ty: Type, flush: bool) -> Option<Exec> {
    Some(match (opcode, ty) {
        ("rsqrt", Type::F32) => through64!(flush, map_long1, |a| (1.0 / a.sqrt())),
        ("sin", Type::F32) => through64!(flush, map_bounded, |a, exact| circular(a, exact, 0, f64::sin)),
        ("cos", Type::F32) => through64!(flush, map_bounded, |a, exact| circular(a, exact, 1, f64::cos)),
        ("lg2", Type::F32) => through64!(flush, map_long1, |a| functions::log2(a)),
        ("ex2", Type::F32) => through64!(flush, map_long1, |a| functions::exp2(a)),
        ("tanh", Type::F32) => through64!(flush, map_long1, |a| functions::tanh(a)),
        ("rsqrt", Type::F64) if flush => {
            map1(|a: f64| f64::from_bits(quiet64(1.0 / flush64(a).sqrt()).to_bits() & !0xffff_ffff))
        }
        ("rsqrt", Type::F64) => map1(|a: f64| quiet64(1.0 / a.sqrt())),
        ("ex2", _) => of_halves!(ty, functions::exp2),
        ("tanh", _) => of_halves!(ty, functions::tanh),
        _ => return None,
    })
}
