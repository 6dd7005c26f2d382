//! Pseudorandom numbers for random kernels.

/// How many random cases a test runs: fewer if `PROPTEST_CASES` is less than the 256 that it usually is.
pub(crate) fn cases(usual: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse::<u32>().ok());
    (usual * asked.map_or(256, |cases| cases.min(256)) / 256).max(10)
}

pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % end
    }

    pub(super) fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}
