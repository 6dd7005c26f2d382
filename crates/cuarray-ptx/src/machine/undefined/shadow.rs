//! The undefined bits of memory.

use crate::machine::misuse::Origin;
use rustc_hash::FxHashMap;

/// The words of 64 bits with undefined bits, by their number.
///
/// Accesses are aligned, so each is in one word.
#[derive(Default)]
pub(crate) struct Shadow(FxHashMap<u64, (u64, Origin)>);

impl Shadow {
    pub(crate) fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0.clear();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The undefined bits of up to 8 bytes at a place, and their source.
    pub(super) fn bits(&self, place: u64, size: u32) -> Option<(u64, Origin)> {
        if self.0.is_empty() {
            return None;
        }
        let (bits, origin) = self.0.get(&(place >> 3))?;
        let bits = bits >> (place % 8 * 8) & (u64::MAX >> (64 - 8 * size.min(8)));
        (bits != 0).then_some((bits, *origin))
    }

    /// Sets the undefined bits of up to 8 bytes at a place.
    pub(super) fn set(&mut self, place: u64, size: u32, undefined: Option<(u64, Origin)>) {
        let (number, shift) = (place >> 3, place % 8 * 8);
        let mask = (u64::MAX >> (64 - 8 * size.min(8))) << shift;
        let before = self.0.get(&number);
        let kept = before.map_or(0, |(bits, _)| bits & !mask);
        let bits = kept | undefined.map_or(0, |(bits, _)| bits << shift & mask);
        let origin = undefined.map(|(_, origin)| origin).or(before.map(|(_, origin)| *origin));
        match origin.filter(|_| bits != 0) {
            Some(origin) => _ = self.0.insert(number, (bits, origin)),
            None if before.is_some() => _ = self.0.remove(&number),
            None => {}
        }
    }

    /// Makes all bytes of a range defined.
    pub(crate) fn define(&mut self, start: u64, end: u64) {
        if self.0.is_empty() {
            return;
        }
        let mut at = start;
        while at < end {
            let size = (8 - at % 8).min(end - at);
            self.set(at, size as u32, None);
            at += size;
        }
    }

    /// Copies a word.
    pub(crate) fn copy(&mut self, from: u64, to: u64) {
        if !self.0.is_empty() {
            let undefined = self.bits(from, 8);
            self.set(to, 8, undefined);
        }
    }

    /// The ranges of bytes with undefined bits, in ascending order.
    pub(crate) fn ranges(&self) -> Vec<(u64, u64)> {
        let mut words: Vec<(u64, u64)> = self.0.iter().map(|(number, (bits, _))| (*number, *bits)).collect();
        words.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (number, bits) in words {
            for byte in (0..8).filter(|byte| bits >> (8 * byte) & 0xff != 0) {
                let at = number * 8 + byte;
                match ranges.last_mut() {
                    Some(last) if last.1 == at => last.1 += 1,
                    _ => ranges.push((at, at + 1)),
                }
            }
        }
        ranges
    }
}
