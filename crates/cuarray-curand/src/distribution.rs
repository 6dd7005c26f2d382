//! Results made of bits, as cuRAND's device interface defines them.

use crate::poisson::Table;
use crate::quantile;
use std::sync::Arc;

/// `2 pi`, rounded to a float.
pub(crate) const TWO_PI: f32 = std::f32::consts::TAU;
/// The distance of uniform results of 32 bits.
const SINGLE: f32 = 1.0 / 4_294_967_296.0;
/// The distance of uniform results of 53 bits.
const DOUBLE: f64 = 1.0 / 9_007_199_254_740_992.0;

/// A uniform result in (0, 1].
pub(crate) fn uniform(bits: u32) -> f32 {
    bits as f32 * SINGLE + SINGLE / 2.0
}

/// A uniform result of two words, in (0, 1].
pub(crate) fn uniform_double(low: u32, high: u32) -> f64 {
    let bits = u64::from(low) ^ (u64::from(high) << 21);
    bits as f64 * DOUBLE + DOUBLE / 2.0
}

/// Two normal results of a uniform one and an angle, by G. E. P. Box and M. E. Muller (1958).
pub(crate) fn box_muller(uniform: f32, angle: f32) -> [f32; 2] {
    let radius = (-2.0 * uniform.ln()).sqrt();
    [angle.sin() * radius, angle.cos() * radius]
}

/// Two normal results of a uniform one and an angle in units of pi.
pub(crate) fn box_muller_double(uniform: f64, half_turns: f64) -> [f64; 2] {
    let radius = (-2.0 * uniform.ln()).sqrt();
    let angle = half_turns * std::f64::consts::PI;
    [angle.sin() * radius, angle.cos() * radius]
}

/// Two normal results of two words.
pub(crate) fn normal_pair(x: u32, y: u32) -> [f32; 2] {
    const ANGLE: f32 = SINGLE * TWO_PI;
    box_muller(uniform(x), y as f32 * ANGLE + ANGLE / 2.0)
}

/// Two normal results of four words.
pub(crate) fn normal_pair_double(x: [u32; 2], y: [u32; 2]) -> [f64; 2] {
    box_muller_double(uniform_double(x[0], x[1]), uniform_double(y[0], y[1]) * 2.0)
}

/// A source of bits, and the results that it makes of them.
pub(crate) trait Draw {
    /// The steps for a uniform double.
    const DOUBLE: u64 = 2;
    /// The steps for two normal doubles.
    const NORMAL_DOUBLE: u64 = 4;

    fn bits(&mut self) -> u32;

    fn uniform(&mut self) -> f32 {
        uniform(self.bits())
    }

    fn uniform_double(&mut self) -> f64 {
        let low = self.bits();
        uniform_double(low, self.bits())
    }

    fn normal_pair(&mut self) -> [f32; 2] {
        let x = self.bits();
        normal_pair(x, self.bits())
    }

    fn normal_pair_double(&mut self) -> [f64; 2] {
        let x = [self.bits(), self.bits()];
        normal_pair_double(x, [self.bits(), self.bits()])
    }
}

/// A transformation of standard normal results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Normal<F> {
    pub(crate) mean: F,
    pub(crate) deviation: F,
    /// Whether the result is the exponential of a normal one.
    pub(crate) logarithmic: bool,
}

impl Normal<f32> {
    pub(crate) fn of(&self, standard: f32) -> f32 {
        let value = self.mean + self.deviation * standard;
        if self.logarithmic { value.exp() } else { value }
    }
}

impl Normal<f64> {
    pub(crate) fn of(&self, standard: f64) -> f64 {
        let value = self.mean + self.deviation * standard;
        if self.logarithmic { value.exp() } else { value }
    }
}

/// The kind of the results of a call.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Bits,
    Bits64,
    Uniform,
    UniformDouble,
    Normal(Normal<f32>),
    NormalDouble(Normal<f64>),
    Poisson(Arc<Table>),
}

/// The standard normal result of a quasi-random one with 32 bits.
pub(crate) fn inverted(bits: u32) -> f32 {
    // The upper half is the mirrored lower one, where floats are dense.
    let (mirrored, sign) = if bits > 1 << 31 { (!bits, -1.0) } else { (bits, 1.0) };
    sign * quantile::normal(f64::from(uniform(mirrored))) as f32
}

/// The standard normal result of a quasi-random one with 32 bits, in double precision.
pub(crate) fn inverted_double(bits: u32) -> f64 {
    let (mirrored, sign) = if bits > 1 << 31 { (!bits, -1.0) } else { (bits, 1.0) };
    let single = f64::from(SINGLE);
    sign * quantile::normal(f64::from(mirrored) * single + single / 2.0)
}

/// The standard normal result of a quasi-random one with 64 bits.
pub(crate) fn inverted_wide(bits: u64) -> f64 {
    let bits = bits >> 11;
    let (mirrored, sign) = if bits > 1 << 52 { ((1 << 53) - 1 - bits, -1.0) } else { (bits, 1.0) };
    sign * quantile::normal(mirrored as f64 * DOUBLE + DOUBLE / 2.0)
}

/// The uniform double of a quasi-random result with 32 bits.
pub(crate) fn quasi_double(bits: u32) -> f64 {
    let single = f64::from(SINGLE);
    f64::from(bits) * single + single
}

/// The uniform double of a quasi-random result with 64 bits.
pub(crate) fn quasi_double_wide(bits: u64) -> f64 {
    (bits >> 11) as f64 * DOUBLE + DOUBLE / 2.0
}

/// The cumulative probability that selects a Poisson result.
pub(crate) fn probability(bits: u32) -> f64 {
    let single = f64::from(SINGLE);
    f64::from(bits) * single + single / 2.0
}

#[cfg(test)]
mod tests {
    use super::{inverted, inverted_wide, uniform, uniform_double};

    #[test]
    fn uniform_results_are_above_zero_and_at_most_one() {
        assert!(uniform(0) > 0.0 && uniform_double(0, 0) > 0.0);
        assert_eq!(uniform(u32::MAX), 1.0);
        assert!(uniform_double(u32::MAX, u32::MAX) <= 1.0);
    }

    #[test]
    fn inverted_extremes_are_finite_and_mirrored() {
        assert_eq!(inverted(0), -inverted(u32::MAX));
        assert_eq!(inverted_wide(0), -inverted_wide(u64::MAX));
        assert!(inverted(0).is_finite() && inverted_wide(0).is_finite());
    }
}
