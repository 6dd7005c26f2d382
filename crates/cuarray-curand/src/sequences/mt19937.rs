//! MT19937, the Mersenne Twister of M. Matsumoto and T. Nishimura (1998), with the initialization of 2002.

use crate::distribution::Draw;
use std::sync::{Mutex, PoisonError};

const SIZE: usize = 624;
const DISTANCE: usize = 397;

#[derive(Clone)]
pub(crate) struct Twister {
    words: Box<[u32; SIZE]>,
    next: usize,
}

impl Twister {
    fn new(seed: u32) -> Twister {
        let mut words = Box::new([seed; SIZE]);
        for index in 1..SIZE {
            let before = words[index - 1];
            words[index] = 1_812_433_253_u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(index as u32);
        }
        Twister { words, next: SIZE }
    }

    fn twist(&mut self) {
        for index in 0..SIZE {
            let mixed = (self.words[index] & 0x8000_0000) | (self.words[(index + 1) % SIZE] & 0x7fff_ffff);
            let odd = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[index] = self.words[(index + DISTANCE) % SIZE] ^ (mixed >> 1) ^ odd;
        }
        self.next = 0;
    }
}

impl Draw for Twister {
    fn bits(&mut self) -> u32 {
        if self.next == SIZE {
            self.twist();
        }
        let mut y = self.words[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }
}

/// The sequence of a seed.
pub(crate) struct Sequence {
    seed: u32,
    /// A state, with the number of results before it.
    current: Mutex<(u64, Twister)>,
}

impl Sequence {
    pub(crate) fn new(seed: u32) -> Sequence {
        Sequence { seed, current: Mutex::new((0, Twister::new(seed))) }
    }

    /// Draws from the result with this index on. Returns the index after them.
    pub(crate) fn draw(&self, from: u64, f: impl FnOnce(&mut Twister) -> u64) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, twister) = &mut *current;
        if *at > from {
            (*at, *twister) = (0, Twister::new(self.seed));
        }
        while *at < from {
            let _ = twister.bits();
            *at += 1;
        }
        *at += f(twister);
    }
}

#[cfg(test)]
mod tests {
    use super::Twister;
    use crate::distribution::Draw;

    #[test]
    fn ten_thousandth_result_is_the_one_of_the_standard_library_of_c_plus_plus() {
        let mut twister = Twister::new(5489);
        for _ in 0..9999 {
            let _ = twister.bits();
        }
        assert_eq!(twister.bits(), 4_123_659_995);
    }
}
