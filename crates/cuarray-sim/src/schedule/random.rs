//! Random choices from a seed.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, 2014): one word of state, and the same numbers on every machine
//! and in every version, so that a seed in a bug report stays valid.

use crate::schedule::scheduler::Scheduler;

pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

impl Scheduler for Random {
    fn choose(&mut self, options: u32) -> Result<u32, String> {
        // The upper half of a product with a 32-bit number is uniform enough for so few options.
        Ok((((self.next() >> 32) * u64::from(options)) >> 32) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_the_published_generator() {
        let mut random = Random::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.next(), random.next(), random.next()], expected);
    }

    #[test]
    fn options_are_chosen_about_equally_often() {
        let mut counts = [0; 7];
        let mut random = Random::new(5);
        (0..7000).for_each(|_| counts[random.choose(7).unwrap() as usize] += 1);
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
    }
}
