//! Philox 4x32 with 10 rounds, by J. K. Salmon and others (2011): a bijection of counters.
//!
//! A unit is a counter with four words. Sequence `t` has the counters whose upper half is `t`.

/// The four words of a counter.
pub(crate) fn words(sequence: u64, counter: u64, seed: u64) -> [u32; 4] {
    let mut x = [counter as u32, (counter >> 32) as u32, sequence as u32, (sequence >> 32) as u32];
    let mut key = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let first = 0xd251_1f53_u64 * u64::from(x[0]);
        let second = 0xcd9e_8d57_u64 * u64::from(x[2]);
        x = [(second >> 32) as u32 ^ x[1] ^ key[0], second as u32, (first >> 32) as u32 ^ x[3] ^ key[1], first as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    x
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_those_of_the_authors_known_answers() {
        assert_eq!(super::words(0, 0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(super::words(u64::MAX, u64::MAX, u64::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }
}
