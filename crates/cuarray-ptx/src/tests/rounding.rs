//! Arithmetic and conversions in every format and rounding mode, bit by bit against [`float`], which computes by digits.

use super::*;
use crate::float::{self, BF16, F16, F32, F64, Format, Rounding};

/// The numbers of a run.
pub(super) const NUMBERS: usize = 4096;

const MODES: [(&str, Rounding); 4] =
    [("n", Rounding::Near), ("z", Rounding::Zero), ("m", Rounding::Down), ("p", Rounding::Up)];

/// Reproducible numbers of a format: limits, numbers near each other, and any bits.
fn numbers(format: Format, seed: u64) -> Vec<u64> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 1
    };
    let all = format.sign() << 1;
    let all = if all == 0 { u64::MAX } else { all - 1 };
    let one = (format.infinity() >> 1) & format.infinity();
    (0..NUMBERS)
        .map(|_| {
            let bits = next();
            let near = one.wrapping_add((next() % 9) << format.fraction).wrapping_sub(4 << format.fraction);
            let fraction = bits & ((1 << format.fraction) - 1);
            let number = match next() % 8 {
                0 => bits,
                1 => [0, 1, 2, format.infinity(), format.infinity() - 1, format.infinity() | 1, one, one + 1]
                    [(bits % 8) as usize],
                2 => fraction,
                3 => near | fraction & 7,
                // Few digits, so that sums and products are exact or in the middle.
                4 => near | fraction & !(u64::MAX >> (70 - format.fraction)),
                _ => near | fraction,
            };
            (number | if bits >> 62 & 1 == 1 { format.sign() } else { 0 }) & all
        })
        .collect()
}

/// Executes an instruction for each number of the inputs.
pub(super) fn results(instruction: &str, inputs: [&[u64]; 3]) -> Vec<u64> {
    let source = format!(
        ".visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c) {{
         .reg .b64 %out, %a, %b, %c, %d, %at; .reg .b32 %i, %n, %x, %y, %z, %r; .reg .b16 %hx, %hy, %hz, %hr;
         ld.param.u64 %out, [out]; ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %c, [c];
         mov.u32 %i, %tid.x; mov.u32 %n, %ctaid.x; mad.lo.u32 %i, %n, 256, %i; mul.wide.u32 %at, %i, 8;
         add.u64 %a, %a, %at; add.u64 %b, %b, %at; add.u64 %c, %c, %at; add.u64 %out, %out, %at;
         ld.global.u64 %a, [%a]; ld.global.u64 %b, [%b]; ld.global.u64 %c, [%c]; mov.u64 %d, 0; mov.u32 %r, 0;
         cvt.u32.u64 %x, %a; cvt.u32.u64 %y, %b; cvt.u32.u64 %z, %c;
         cvt.u16.u64 %hx, %a; cvt.u16.u64 %hy, %b; cvt.u16.u64 %hz, %c;
         {instruction};
         st.global.u64 [%out], %d; ret; }}"
    );
    let run = Run { source: &source, threads: [256, 1, 1], grid: [NUMBERS as u32 / 256, 1, 1], ..Run::default() };
    let mut before: Option<Vec<u64>> = None;
    for way in [Way::Unrecorded, Way::Generated] {
        let mut out = vec![0; NUMBERS];
        let [mut a, mut b, mut c] = inputs.map(<[u64]>::to_vec);
        let outcome = run.executed(&mut [&mut out, &mut a, &mut b, &mut c], way, 1);
        assert_eq!(outcome.fault, None, "{instruction}");
        if let Some(before) = &before {
            assert_eq!(*before, out, "{instruction}: generated code differs");
        }
        before = Some(out);
    }
    before.unwrap_or_default()
}

/// An instruction on registers of the width of a type: its result is in the lowest bits of `%d`.
pub(super) fn spelled(opcode: &str, sources: usize, from: u32, to: u32) -> String {
    let name = |width: u32, at: usize| match width {
        16 => ["%hx", "%hy", "%hz"][at],
        32 => ["%x", "%y", "%z"][at],
        _ => ["%a", "%b", "%c"][at],
    };
    let operands: Vec<&str> = (0..sources).map(|at| name(from, at)).collect();
    let operands = operands.join(", ");
    match to {
        16 => format!("{opcode} %hr, {operands}; cvt.u64.u16 %d, %hr"),
        32 => format!("{opcode} %r, {operands}; cvt.u64.u32 %d, %r"),
        _ => format!("{opcode} %d, {operands}"),
    }
}

/// The result of an operation with one rounding.
fn arithmetic(opcode: &str, format: Format, [a, b, c]: [u64; 3], rounding: Rounding) -> u64 {
    match opcode {
        "add" => float::add(format, a, b, rounding),
        "sub" => float::add(format, a, b ^ format.sign(), rounding),
        "mul" => float::mul(format, a, b, rounding),
        _ => float::fma(format, a, b, c, rounding),
    }
}

#[test]
fn every_rounding_mode_of_f32_is_that_of_the_digits() {
    let inputs = [1, 2, 3].map(|seed| numbers(F32, seed << 40));
    for (opcode, sources) in [("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)] {
        for (mode, rounding) in MODES {
            for (flush, saturate) in [(false, false), (true, false), (false, true), (true, true)] {
                let (ftz, sat) = (if flush { ".ftz" } else { "" }, if saturate { ".sat" } else { "" });
                let text = spelled(&format!("{opcode}.r{mode}{ftz}{sat}.f32"), sources, 32, 32);
                let found = results(&text, std::array::from_fn(|at| inputs[at].as_slice()));
                for (at, found) in found.into_iter().enumerate() {
                    let flushed = |bits: u64| if flush { F32.flush(bits) } else { bits };
                    let numbers = [0, 1, 2].map(|input| flushed(inputs[input][at]));
                    let exact = flushed(arithmetic(opcode, F32, numbers, rounding));
                    let value = f32::from_bits(exact as u32);
                    let expected = match saturate {
                        true if value.is_nan() || value <= 0.0 => 0,
                        true if value > 1.0 => 1.0_f32.to_bits().into(),
                        _ => exact,
                    };
                    assert_eq!(found, expected, "{text}: {numbers:x?}");
                }
            }
        }
    }
}

#[test]
fn arithmetic_of_16_bits_is_that_of_the_digits() {
    for (ty, format) in [("f16", F16), ("bf16", BF16)] {
        let inputs = [1, 2, 3].map(|seed| numbers(format, seed << 40));
        let pairs = [4, 5, 6].map(|seed| -> Vec<u64> {
            let high = numbers(format, seed << 40);
            inputs[seed as usize - 4].iter().zip(high).map(|(low, high)| low | high << 16).collect()
        });
        for (opcode, sources) in [("add", 2), ("sub", 2), ("mul", 2), ("fma.rn", 3)] {
            let operation = &opcode[..3];
            let of = |numbers: [u64; 3]| arithmetic(operation, format, numbers, Rounding::Near);
            let text = spelled(&format!("{opcode}.{ty}"), sources, 16, 16);
            let found = results(&text, std::array::from_fn(|at| inputs[at].as_slice()));
            for (at, found) in found.into_iter().enumerate() {
                let numbers = [0, 1, 2].map(|input| inputs[input][at]);
                assert_eq!(found, of(numbers), "{text}: {numbers:x?}");
            }
            let text = spelled(&format!("{opcode}.{ty}x2"), sources, 32, 32);
            let found = results(&text, std::array::from_fn(|at| pairs[at].as_slice()));
            for (at, found) in found.into_iter().enumerate() {
                let half = |shift: u32| of([0, 1, 2].map(|input| pairs[input][at] >> shift & 0xffff)) << shift;
                assert_eq!(found, half(0) | half(16), "{text}");
            }
        }
    }
}

#[test]
fn least_and_greatest_numbers_keep_the_order_of_zeros() {
    for (ty, format, width) in [("f64", F64, 64), ("f32", F32, 32), ("f16", F16, 16), ("bf16", BF16, 16)] {
        let inputs = [1, 2].map(|seed| numbers(format, seed << 40));
        for (opcode, greatest) in [("min", false), ("max", true)] {
            let text = spelled(&format!("{opcode}.{ty}"), 2, width, width);
            let found = results(&text, [&inputs[0], &inputs[1], &inputs[0]]);
            for (at, found) in found.into_iter().enumerate() {
                let (a, b) = (inputs[0][at], inputs[1][at]);
                let value = |bits: u64| f64::from_bits(float::convert(format, F64, bits, Rounding::Near));
                let (x, y) = (value(a), value(b));
                let expected = match (x.is_nan(), y.is_nan()) {
                    (true, true) => format.nan,
                    (true, false) => b,
                    (false, true) => a,
                    _ if x == y && greatest => a & b,
                    _ if x == y => a | b,
                    _ => {
                        if (x > y) == greatest {
                            a
                        } else {
                            b
                        }
                    }
                };
                assert_eq!(found, expected, "{text}: {a:x} {b:x}");
            }
        }
    }
}

const FLOATS: [(&str, Format, u32); 4] = [("f16", F16, 16), ("bf16", BF16, 16), ("f32", F32, 32), ("f64", F64, 64)];

#[test]
fn conversions_between_formats_are_those_of_the_digits() {
    for (from, from_format, from_width) in FLOATS {
        let inputs = numbers(from_format, 7 << 40);
        for (to, to_format, to_width) in FLOATS {
            if from_width == 16 && to_width == 16 {
                continue;
            }
            for (mode, rounding) in MODES {
                let narrows = to_width < from_width;
                // Without a modifier, the mode is another form of the same conversion.
                let modifier = match (narrows, from == to) {
                    (true, _) => format!(".r{mode}"),
                    (false, true) => format!(".r{mode}i"),
                    _ => String::new(),
                };
                let text = spelled(&format!("cvt{modifier}.{to}.{from}"), 1, from_width, to_width);
                let found = results(&text, [&inputs; 3]);
                for (a, found) in inputs.iter().zip(found) {
                    let expected = match from == to {
                        true => float::integral(from_format, *a, rounding),
                        false => float::convert(from_format, to_format, *a, rounding),
                    };
                    assert_eq!(found, expected, "{text}: {a:x}");
                }
            }
        }
    }
}

#[test]
fn conversions_from_and_to_integers_are_those_of_the_digits() {
    let integers = [("u32", 32, 0, u32::MAX.into()), ("s32", 32, i32::MIN.into(), i32::MAX.into())];
    let long = [("u64", 64, 0, u64::MAX.into()), ("s64", 64, i64::MIN.into(), i64::MAX.into())];
    for (integer, width, least, most) in integers.into_iter().chain(long) {
        for (name, format, float_width) in FLOATS {
            let (inputs, mut any) = (numbers(format, 7 << 40), numbers(F64, 9 << 40));
            // Small numbers too.
            (0..NUMBERS).for_each(|at| any[at] >>= at % 64);
            for (mode, rounding) in MODES {
                let text = spelled(&format!("cvt.r{mode}i.{integer}.{name}"), 1, float_width, width);
                for (a, found) in inputs.iter().zip(results(&text, [&inputs; 3])) {
                    let highest = if name == "f64" || width == 64 { 1 << (width - 1) } else { 0 };
                    let expected = float::to_integer(format, *a, rounding, least, most).unwrap_or(highest);
                    let expected = expected as u64 & (u64::MAX >> (64 - width));
                    assert_eq!(found, expected, "{text}: {a:x}");
                }
                let text = spelled(&format!("cvt.r{mode}.{name}.{integer}"), 1, width, float_width);
                for (a, found) in any.iter().zip(results(&text, [&any; 3])) {
                    let a = a & (u64::MAX >> (64 - width));
                    let signed = if width == 32 { i128::from(a as i32) } else { i128::from(a as i64) };
                    let value = if least == 0 { i128::from(a) } else { signed };
                    assert_eq!(found, float::from_integer(format, value, rounding), "{text}: {a:x}");
                }
            }
        }
    }
}

#[test]
fn conversions_between_integers_extend_or_saturate() {
    let types = [
        ("u8", 8, false),
        ("s8", 8, true),
        ("u16", 16, false),
        ("s16", 16, true),
        ("u32", 32, false),
        ("s32", 32, true),
        ("u64", 64, false),
        ("s64", 64, true),
    ];
    let mut inputs = numbers(F64, 9 << 40);
    (0..NUMBERS).for_each(|at| inputs[at] >>= at % 64);
    let value = |bits: u64, width: u32, signed: bool| {
        let above = 64 - width;
        if signed { i128::from((bits << above) as i64 >> above) } else { i128::from(bits << above >> above) }
    };
    for (from, from_width, from_signed) in types {
        for (to, to_width, to_signed) in types {
            for saturates in [false, true] {
                let sat = if saturates { ".sat" } else { "" };
                let register = |width: u32| width.max(16);
                let text = spelled(&format!("cvt{sat}.{to}.{from}"), 1, register(from_width), register(to_width));
                for (a, found) in inputs.iter().zip(results(&text, [&inputs; 3])) {
                    let number = value(*a, from_width, from_signed);
                    let least = if to_signed { -(1_i128 << (to_width - 1)) } else { 0 };
                    let most = least + (1_i128 << to_width) - 1;
                    let kept = if saturates { number.clamp(least, most) } else { number };
                    let extended = value(kept as u64, to_width, to_signed) as u64;
                    let expected = extended & (u64::MAX >> (64 - register(to_width)));
                    assert_eq!(found, expected, "{text}: {a:x}");
                }
            }
        }
    }
}

#[test]
fn approximate_functions_are_within_the_bounds_of_the_manual() {
    let inputs = numbers(F32, 11 << 40);
    type Function = fn(f64) -> f64;
    let functions: [(&str, Function); 5] =
        [("ex2", f64::exp2), ("lg2", f64::log2), ("sin", f64::sin), ("cos", f64::cos), ("tanh", f64::tanh)];
    for (name, function) in functions {
        for (a, found) in inputs.iter().zip(results(&spelled(&format!("{name}.approx.f32"), 1, 32, 32), [&inputs; 3])) {
            let exact = function(f32::from_bits(*a as u32).into());
            let (expected, found) = (exact as f32, f32::from_bits(found as u32));
            let same = expected == found && expected.is_sign_negative() == found.is_sign_negative();
            // The result is the nearest number, or its neighbour.
            let near = same || found == expected.next_up() || found == expected.next_down();
            assert!(
                near || expected.is_nan() && found.to_bits() == 0x7fff_ffff,
                "{name} {a:x}: {found:e}, not {expected:e}"
            );
        }
    }
}

#[test]
fn conversions_to_pairs_put_the_first_number_above() {
    let inputs = [1, 2].map(|seed| numbers(F32, seed << 40));
    for (to, format) in [("f16", F16), ("bf16", BF16)] {
        for (mode, rounding) in [MODES[0], MODES[1]] {
            let text = spelled(&format!("cvt.r{mode}.{to}x2.f32"), 2, 32, 32);
            for (at, found) in results(&text, [&inputs[0], &inputs[1], &inputs[0]]).into_iter().enumerate() {
                let half = |input: usize| float::convert(F32, format, inputs[input][at], rounding);
                assert_eq!(found, half(0) << 16 | half(1), "{text}");
            }
        }
    }
}
