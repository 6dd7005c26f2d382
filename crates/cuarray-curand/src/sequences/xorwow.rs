//! XORWOW, by G. Marsaglia (2003): a linear recurrence over bits, plus a counter.
//!
//! Sequences are `2^67` steps apart. A jump is the product with a power of the recurrence's matrix over bits.

use super::lanes::State;
use crate::distribution::Draw;
use std::sync::OnceLock;

/// The steps between sequences are `2^SEQUENCE`.
const SEQUENCE: usize = 67;
/// The step of the counter.
const WEYL: u32 = 362_437;
const BITS: usize = 160;

type Words = [u32; 5];
/// The images of the single bits.
type Matrix = [Words; BITS];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Xorwow {
    words: Words,
    counter: u32,
}

fn step(words: Words) -> Words {
    let [a, b, c, d, e] = words;
    let t = a ^ (a >> 2);
    [b, c, d, e, e ^ (e << 4) ^ t ^ (t << 1)]
}

fn product(matrix: &Matrix, words: Words) -> Words {
    let mut sum = [0; 5];
    for (word, rows) in words.iter().zip(matrix.chunks_exact(32)) {
        let mut rest = *word;
        while rest != 0 {
            let row = &rows[rest.trailing_zeros() as usize];
            sum.iter_mut().zip(row).for_each(|(sum, row)| *sum ^= row);
            rest &= rest - 1;
        }
    }
    sum
}

/// The matrices of `2^k` steps, up to those between sequences.
fn powers() -> &'static [Matrix] {
    static POWERS: OnceLock<Vec<Matrix>> = OnceLock::new();
    POWERS.get_or_init(|| {
        let bit = |index: usize| {
            let mut words = [0; 5];
            words[index / 32] = 1 << (index % 32);
            words
        };
        let mut powers = vec![std::array::from_fn(|index| step(bit(index)))];
        while powers.len() <= SEQUENCE {
            let last: &Matrix = &powers[powers.len() - 1];
            powers.push(std::array::from_fn(|index| product(last, last[index])));
        }
        powers
    })
}

impl Xorwow {
    /// The first state of a seed, as cuRAND's device interface defines it.
    pub(crate) fn new(seed: u64) -> Xorwow {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let first = (low ^ 0xaad2_6b49).wrapping_mul(1_099_087_573);
        let second = (high ^ 0xf7dc_efdd).wrapping_mul(2_591_861_531);
        // The initial words of Marsaglia's paper, mixed with the seed.
        let words = [
            123_456_789_u32.wrapping_add(first),
            362_436_069 ^ first,
            521_288_629_u32.wrapping_add(second),
            88_675_123 ^ second,
            5_783_321_u32.wrapping_add(first),
        ];
        Xorwow { words, counter: 6_615_241_u32.wrapping_add(second).wrapping_add(first) }
    }
}

/// How the first states of sequences follow from each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Jumps {
    /// Sequence `t` begins `t * 2^67` steps after the first one.
    Apart,
    /// Sequence `t` has its own seed, made of this one.
    Seeded(u64),
}

impl State for Xorwow {
    type Jumps = Jumps;

    fn next_sequence(&self, jumps: &Jumps, index: u64) -> Xorwow {
        match jumps {
            // The period of the counter divides the distance.
            Jumps::Apart => Xorwow { words: product(&powers()[SEQUENCE], self.words), counter: self.counter },
            Jumps::Seeded(seed) => Xorwow::new(seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
        }
    }

    fn skip(&self, _: &Jumps, steps: u64) -> Xorwow {
        let mut words = self.words;
        for (_, matrix) in powers().iter().take(64).enumerate().filter(|(bit, _)| steps >> bit & 1 == 1) {
            words = product(matrix, words);
        }
        Xorwow { words, counter: self.counter.wrapping_add(WEYL.wrapping_mul(steps as u32)) }
    }
}

impl Draw for Xorwow {
    fn bits(&mut self) -> u32 {
        self.words = step(self.words);
        self.counter = self.counter.wrapping_add(WEYL);
        self.words[4].wrapping_add(self.counter)
    }
}

#[cfg(test)]
mod tests {
    use super::{Jumps, Xorwow};
    use crate::distribution::Draw;
    use crate::sequences::lanes::State;

    #[test]
    fn skipping_is_drawing() {
        let mut state = Xorwow::new(7);
        let skipped = state.skip(&Jumps::Apart, 1000);
        for _ in 0..1000 {
            let _ = state.bits();
        }
        assert_eq!(state, skipped);
    }

    #[test]
    fn distances_of_sequences_add_up() {
        let start = Xorwow::new(7);
        let apart = (0..4).fold(start, |state, index| state.next_sequence(&Jumps::Apart, index));
        let mut twice = start;
        for _ in 0..64 {
            // Each is 2^63 steps, so all are 2^69, which are 4 sequences.
            twice = twice.skip(&Jumps::Apart, 1 << 63);
        }
        assert_eq!(apart, twice);
    }
}
