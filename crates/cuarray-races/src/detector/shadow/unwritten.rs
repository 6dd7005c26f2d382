//! The bytes of live memory that nothing has written.
//!
//! Long ranges are stored as such. A page where written and unwritten bytes meet has a bit for each byte, so thousands of single elements
//! cost little more than one.

use std::collections::BTreeMap;

/// The bytes of a page.
const PAGE: u64 = 4096;
const WORDS: usize = PAGE as usize / 64;

/// A bit for each byte of a page: whether it is unwritten.
type Bits = [u64; WORDS];

/// A set of bytes.
#[derive(Default)]
pub(super) struct Unwritten {
    /// Ranges by first address, with the address after the last. None has a byte of a page below.
    ranges: BTreeMap<u64, u64>,
    /// Pages by number.
    pages: BTreeMap<u64, Box<Bits>>,
}

impl Unwritten {
    /// Adds the bytes from `start` to `end`.
    pub(super) fn add(&mut self, start: u64, end: u64) {
        self.cut(start, end);
        let mut at = start;
        let numbers: Vec<u64> = self.pages.range(start / PAGE..end.div_ceil(PAGE)).map(|(number, _)| *number).collect();
        for number in numbers {
            let base = number * PAGE;
            if at < base {
                self.ranges.insert(at, base);
            }
            if let Some(bits) = self.pages.get_mut(&number) {
                each_word(start.max(base) - base, end.min(base + PAGE) - base, |word, ones| bits[word] |= ones);
            }
            at = base + PAGE;
        }
        if at < end {
            self.ranges.insert(at, end);
        }
    }

    /// Removes the bytes from `start` to `end`.
    pub(super) fn remove(&mut self, start: u64, end: u64) {
        if self.is_empty() || start >= end {
            return;
        }
        if start / PAGE == (end - 1) / PAGE {
            return self.remove_in_page(start / PAGE, start, end);
        }
        let (first, behind) = (start.div_ceil(PAGE), end / PAGE);
        if start < first * PAGE {
            self.remove_in_page(first - 1, start, first * PAGE);
        }
        if behind * PAGE < end {
            self.remove_in_page(behind, behind * PAGE, end);
        }
        if first < behind {
            self.cut(first * PAGE, behind * PAGE);
            let numbers: Vec<u64> = self.pages.range(first..behind).map(|(number, _)| *number).collect();
            numbers.iter().for_each(|number| drop(self.pages.remove(number)));
        }
    }

    fn remove_in_page(&mut self, number: u64, start: u64, end: u64) {
        let base = number * PAGE;
        if let Some(bits) = self.pages.get_mut(&number) {
            each_word(start - base, end - base, |word, ones| bits[word] &= !ones);
            if bits.iter().all(|word| *word == 0) {
                self.pages.remove(&number);
            }
            return;
        }
        let parts = self.ranges_in(base, base + PAGE);
        if parts.iter().all(|(first, behind)| start <= *first && *behind <= end) {
            // No unwritten byte of the page is left.
            return self.cut(start, end);
        }
        if parts.iter().all(|(first, behind)| end <= *first || *behind <= start) {
            return;
        }
        self.cut(base, base + PAGE);
        let mut bits = Box::new([0; WORDS]);
        for (first, behind) in parts {
            each_word(first - base, behind - base, |word, ones| bits[word] |= ones);
        }
        each_word(start - base, end - base, |word, ones| bits[word] &= !ones);
        self.pages.insert(number, bits);
    }

    /// Removes the bytes from `start` to `end` from the ranges.
    fn cut(&mut self, start: u64, end: u64) {
        if let Some((_, behind)) = self.ranges.range_mut(..start).next_back()
            && *behind > start
        {
            let rest = std::mem::replace(behind, start);
            self.ranges.insert(start, rest);
        }
        while let Some((first, behind)) = self.ranges.range(start..end).next().map(|(first, behind)| (*first, *behind))
        {
            self.ranges.remove(&first);
            if behind > end {
                self.ranges.insert(end, behind);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.pages.is_empty()
    }

    /// The parts of ranges from `start` to `end`.
    fn ranges_in(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let before = self.ranges.range(..start).next_back().filter(|(_, behind)| **behind > start);
        let ranges = before.into_iter().chain(self.ranges.range(start..end));
        ranges.map(|(first, behind)| (start.max(*first), end.min(*behind))).collect()
    }

    /// The parts of the bytes from `start` to `end` that are in the set, in ascending order.
    pub(super) fn parts(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        if self.is_empty() || start >= end {
            return Vec::new();
        }
        let mut parts = self.ranges_in(start, end);
        for (number, bits) in self.pages.range(start / PAGE..end.div_ceil(PAGE)) {
            let base = number * PAGE;
            runs(bits, |first, behind| {
                let (first, behind) = (start.max(base + first), end.min(base + behind));
                if first < behind {
                    parts.push((first, behind));
                }
            });
        }
        parts.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(parts.len());
        for (first, behind) in parts {
            match joined.last_mut() {
                Some(last) if last.1 == first => last.1 = behind,
                _ => joined.push((first, behind)),
            }
        }
        joined
    }

    /// Whether any byte from `start` to `end` is in the set.
    pub(super) fn meets(&self, start: u64, end: u64) -> bool {
        if self.is_empty() || start >= end {
            return false;
        }
        let has = |number: u64, bits: &Bits| {
            let (base, mut met) = (number * PAGE, false);
            each_word(start.max(base) - base, end.min(base + PAGE) - base, |word, ones| met |= bits[word] & ones != 0);
            met
        };
        let mut pages = self.pages.range(start / PAGE..end.div_ceil(PAGE));
        let before = self.ranges.range(..end).next_back();
        before.is_some_and(|(_, behind)| *behind > start) || pages.any(|(number, bits)| has(*number, bits))
    }

    /// Whether all bytes from `start` to `end` are in the set.
    pub(super) fn holds(&self, start: u64, end: u64) -> bool {
        self.parts(start, end) == [(start, end)]
    }

    /// About the bytes of the set itself.
    pub(super) fn memory(&self) -> usize {
        self.ranges.len() * size_of::<(u64, u64)>() + self.pages.len() * size_of::<(u64, Box<Bits>, Bits)>()
    }
}

/// Calls `f` with the index of each word that has bytes from one offset to another, and with their bits.
fn each_word(start: u64, end: u64, mut f: impl FnMut(usize, u64)) {
    let mut at = start;
    while at < end {
        let count = (64 - at % 64).min(end - at);
        let ones = if count == 64 { u64::MAX } else { ((1 << count) - 1) << (at % 64) };
        f((at / 64) as usize, ones);
        at += count;
    }
}

/// Calls `f` with the offsets of each run of bytes.
fn runs(bits: &Bits, mut f: impl FnMut(u64, u64)) {
    for (index, word) in bits.iter().enumerate() {
        let (mut rest, mut at) = (*word, index as u64 * 64);
        while rest != 0 {
            let skipped = rest.trailing_zeros();
            rest >>= skipped;
            let count = rest.trailing_ones();
            at += u64::from(skipped);
            f(at, at + u64::from(count));
            at += u64::from(count);
            rest = rest.checked_shr(count).unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_agree_with_a_set_of_bytes() {
        const BYTES: u64 = 5 * PAGE;
        let mut state = 0x0123_4567_89ab_cdef_u64;
        let mut below = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        for _ in 0..60 {
            let (mut set, mut expected) = (Unwritten::default(), BTreeSet::new());
            for _ in 0..40 {
                let start = if below(3) == 0 { below(BYTES / PAGE) * PAGE } else { below(BYTES) };
                let length = [4, 64, PAGE, 2 * PAGE, 1 + below(3 * PAGE)][below(5) as usize];
                let end = (start + length).min(BYTES);
                match below(3) {
                    0 => {
                        set.add(start, end);
                        expected.extend(start..end);
                    }
                    _ => {
                        set.remove(start, end);
                        expected.retain(|byte| !(start..end).contains(byte));
                    }
                }
                let (from, to) = (below(BYTES), below(BYTES));
                let inside: Vec<u64> = (from..to).filter(|byte| expected.contains(byte)).collect();
                let parts = set.parts(from, to);
                assert_eq!(parts.iter().flat_map(|(first, behind)| *first..*behind).collect::<Vec<_>>(), inside);
                assert!(parts.windows(2).all(|pair| pair[0].1 < pair[1].0), "{parts:?}");
                assert_eq!(set.meets(from, to), !inside.is_empty());
                assert_eq!(set.holds(from, to), from < to && inside.len() as u64 == to - from);
            }
        }
    }
}
