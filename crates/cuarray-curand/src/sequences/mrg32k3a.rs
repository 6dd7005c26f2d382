//! MRG32k3a, by P. L'Ecuyer (1999): the difference of two linear recurrences modulo primes.
//!
//! Sequences are `2^76` steps apart. A jump is the product with a power of the matrix of each recurrence.

use super::lanes::State;
use crate::distribution::{Draw, TWO_PI, box_muller, box_muller_double};
use std::sync::OnceLock;

/// The steps between sequences are `2^SEQUENCE`.
const SEQUENCE: usize = 76;
const MODULUS: [u64; 2] = [4_294_967_087, 4_294_944_443];
/// Scales results to (0, 1]: the reciprocal of the first modulus.
const NORM: f64 = 2.328_306_549_837_829e-10;
/// Scales results to 32 bits.
const BITS_NORM: f64 = 1.000_000_048_662;

type Vector = [u64; 3];
type Matrix = [Vector; 3];
type Pair = [Matrix; 2];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mrg {
    parts: [Vector; 2],
}

fn product(matrix: &Matrix, vector: Vector, modulus: u64) -> Vector {
    // The terms are below 2^64 and are reduced before they are added.
    matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b % modulus).sum::<u64>() % modulus)
}

fn square(matrix: &Matrix, modulus: u64) -> Matrix {
    let column = |index: usize| product(matrix, matrix.map(|row| row[index]), modulus);
    let columns = [column(0), column(1), column(2)];
    std::array::from_fn(|row| columns.map(|column| column[row]))
}

/// The matrices of `2^k` steps, up to those between sequences.
fn powers() -> &'static [Pair] {
    static POWERS: OnceLock<Vec<Pair>> = OnceLock::new();
    POWERS.get_or_init(|| {
        let [first, second] = MODULUS;
        let one: Pair = [
            [[0, 1, 0], [0, 0, 1], [first - 810_728, 1_403_580, 0]],
            [[0, 1, 0], [0, 0, 1], [second - 1_370_589, 0, 527_612]],
        ];
        let mut powers = vec![one];
        while powers.len() <= SEQUENCE {
            let last = powers[powers.len() - 1];
            powers.push([square(&last[0], first), square(&last[1], second)]);
        }
        powers
    })
}

impl Mrg {
    /// The first state of a seed, as cuRAND's device interface defines it.
    pub(crate) fn new(seed: u64) -> Mrg {
        if seed == 0 {
            return Mrg { parts: [[12_345; 3]; 2] };
        }
        let low = u64::from(seed as u32 ^ 0x5555_5555);
        let high = u64::from((seed >> 32) as u32 ^ 0xaaaa_aaaa);
        let scaled = |factors: [u64; 3], modulus: u64| factors.map(|factor| factor * 12_345 % modulus);
        Mrg { parts: [scaled([low, high, low], MODULUS[0]), scaled([high, low, high], MODULUS[1])] }
    }

    fn jump(&self, pair: &Pair) -> Mrg {
        Mrg { parts: std::array::from_fn(|part| product(&pair[part], self.parts[part], MODULUS[part])) }
    }

    /// The next result, from 1 to the first modulus.
    fn next(&mut self) -> u64 {
        let [[a, b, c], [d, e, f]] = self.parts;
        let first = (1_403_580 * b + 810_728 * (MODULUS[0] - a)) % MODULUS[0];
        let second = (527_612 * f + 1_370_589 * (MODULUS[1] - d)) % MODULUS[1];
        self.parts = [[b, c, first], [e, f, second]];
        if first > second { first - second } else { first + MODULUS[0] - second }
    }
}

impl State for Mrg {
    type Jumps = ();

    fn next_sequence(&self, (): &(), _: u64) -> Mrg {
        self.jump(&powers()[SEQUENCE])
    }

    fn skip(&self, (): &(), steps: u64) -> Mrg {
        let bits = powers().iter().take(64).enumerate().filter(|(bit, _)| steps >> bit & 1 == 1);
        bits.fold(*self, |state, (_, pair)| state.jump(pair))
    }
}

impl Draw for Mrg {
    const DOUBLE: u64 = 1;
    const NORMAL_DOUBLE: u64 = 2;

    fn bits(&mut self) -> u32 {
        (self.next() as f64 * BITS_NORM) as u32
    }

    fn uniform(&mut self) -> f32 {
        self.uniform_double() as f32
    }

    fn uniform_double(&mut self) -> f64 {
        self.next() as f64 * NORM
    }

    fn normal_pair(&mut self) -> [f32; 2] {
        let radius = self.uniform();
        box_muller(radius, self.uniform() * TWO_PI)
    }

    fn normal_pair_double(&mut self) -> [f64; 2] {
        let radius = self.uniform_double();
        box_muller_double(radius, self.uniform_double() * 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Mrg;
    use crate::sequences::lanes::State;

    #[test]
    fn skipping_is_drawing() {
        let mut state = Mrg::new(7);
        let skipped = state.skip(&(), 1000);
        for _ in 0..1000 {
            let _ = state.next();
        }
        assert_eq!(state, skipped);
    }

    #[test]
    fn results_are_in_their_range() {
        let mut state = Mrg::new(u64::MAX);
        assert!((0..10_000).all(|_| (1..=super::MODULUS[0]).contains(&state.next())));
    }
}
