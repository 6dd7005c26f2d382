//! Functions of a number in `f32`, without branches, so that the compiler makes vector instructions of a loop over lanes. They are series in
//! `f64`, whose rest is far below the last digit of `f32`.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, LN_2, LOG2_E, SQRT_2};

/// The sum of this and a small number has the nearest integer in its lowest bits.
const INTEGERS: f64 = 6_755_399_441_055_744.0;

/// The sum of a series at `x`: the coefficient of the highest power comes first.
#[inline(always)]
fn series<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = 0.0;
    for coefficient in coefficients {
        sum = f64::mul_add(sum, x, coefficient);
    }
    sum
}

/// Two to the power of `x`. The rest of the series is below 2^-41.
#[inline(always)]
pub(crate) fn exp2(x: f64) -> f64 {
    // The results beyond this range are infinite or zero in `f32`. A comparison with NaN fails.
    let bounded = if x > 300.0 { 300.0 } else { x };
    let bounded = if bounded > -300.0 { bounded } else { -300.0 };
    let shifted = bounded + INTEGERS;
    let rest = (bounded - (shifted - INTEGERS)) * LN_2;
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    const { assert!(INTEGERS.to_bits() & 0xfff == 0) };
    let sum = series(
        rest,
        [
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
            1.0,
            1.0,
        ],
    );
    if x.is_nan() { x } else { sum * power }
}

/// The logarithm to the base of two of a number of `f32`. The rest of the series is below 2^-44.
#[inline(always)]
pub(crate) fn log2(x: f64) -> f64 {
    // The number is a power of two times a factor between the root of 1/2 and the root of 2.
    const FIRST: u64 = (SQRT_2 / 2.0).to_bits();
    let bits = x.to_bits();
    let exponent = bits.wrapping_sub(FIRST).wrapping_add(1023 << 52) >> 52;
    let factor = f64::from_bits(bits.wrapping_sub(exponent.wrapping_sub(1023) << 52));
    // An integer below 2^52 in the lowest bits of this number.
    const BASE: u64 = 4_503_599_627_370_496.0_f64.to_bits();
    let exponent = f64::from_bits(BASE | exponent) - (4_503_599_627_370_496.0 + 1023.0);
    let s = (factor - 1.0) / (factor + 1.0);
    let sum = series(s * s, [1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0]);
    let finite = exponent + 2.0 * LOG2_E * s * sum;
    let finite = if x == f64::INFINITY { x } else { finite };
    let positive = if x > 0.0 { finite } else { f64::NAN };
    if x == 0.0 { f64::NEG_INFINITY } else { positive }
}

/// The bound of the arguments of [`circular`].
pub(crate) const CIRCULAR: f64 = 1_073_741_824.0;

/// The sine of a number below [`CIRCULAR`], or its cosine if `quarters` is 1. The rests of the series are below 2^-45.
#[inline(always)]
pub(crate) fn circular(x: f64, quarters: u64) -> f64 {
    /// The difference of a quarter of a circle from its nearest number.
    const REST: f64 = 6.123_233_995_736_766e-17;
    let shifted = f64::mul_add(x, FRAC_2_PI, INTEGERS);
    let turns = shifted - INTEGERS;
    let angle = f64::mul_add(-turns, REST, f64::mul_add(-turns, FRAC_PI_2, x));
    let square = angle * angle;
    let sine = series(
        square,
        [1.0 / 6_227_020_800.0, -1.0 / 39_916_800.0, 1.0 / 362_880.0, -1.0 / 5_040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0],
    );
    let cosine = series(
        square,
        [
            -1.0 / 87_178_291_200.0,
            1.0 / 479_001_600.0,
            -1.0 / 3_628_800.0,
            1.0 / 40_320.0,
            -1.0 / 720.0,
            1.0 / 24.0,
            -0.5,
            1.0,
        ],
    );
    let turns = shifted.to_bits().wrapping_add(quarters);
    let value = if turns & 1 == 0 { angle * sine } else { cosine };
    f64::from_bits(value.to_bits() ^ (turns & 2) << 62)
}

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh(x: f64) -> f64 {
    let square = x * x;
    let small = x * series(square, [-17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0]);
    let large = 1.0 - 2.0 / (exp2(x * (2.0 * LOG2_E)) + 1.0);
    if x.abs() < 1.0 / 32.0 { small } else { large }
}
