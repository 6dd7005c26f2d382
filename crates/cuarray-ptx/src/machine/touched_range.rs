//! The memory that a launch has accessed.

use super::region::{AccessKind, Strength};
use std::sync::Arc;

/// Device memory that a launch has accessed: a range, pieces of one length at equal distances, or listed pieces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TouchedRange {
    /// The first address.
    pub start: u64,
    /// The address behind the last byte.
    pub end: u64,
    /// The bytes of each piece, if they are not listed.
    pub length: u64,
    /// The bytes from the start of a piece to that of the next one; zero if there is one piece, or if they are listed.
    pub step: u64,
    /// Very many pieces that have no common length or distance, in ascending order. Each is its first address, and the address behind its
    /// last byte.
    pub listed: Option<Arc<[(u64, u64)]>>,
    /// The kind of the accesses.
    pub kind: AccessKind,
    /// The strength of the accesses; weak for updates.
    pub strength: Strength,
    /// Whether the launch may have released all of these accesses to other launches: a release followed them.
    pub released: bool,
    /// Whether all of these accesses may be ordered after other launches: an acquire preceded them.
    pub acquired: bool,
}

impl TouchedRange {
    /// Accesses of a kind and a strength, without bytes: see [`TouchedRange::piece`].
    pub fn new(kind: AccessKind, strength: Strength) -> TouchedRange {
        let (released, acquired) = (false, false);
        TouchedRange { start: 0, end: 0, length: 0, step: 0, listed: None, kind, strength, released, acquired }
    }

    /// The number of pieces.
    #[inline]
    pub fn count(&self) -> u64 {
        match &self.listed {
            Some(listed) => listed.len() as u64,
            None => (self.end - self.start - self.length).checked_div(self.step).unwrap_or(0) + 1,
        }
    }

    /// The number of bytes in the pieces.
    pub fn bytes(&self) -> u64 {
        match &self.listed {
            Some(listed) => listed.iter().map(|(start, end)| end - start).sum(),
            None => self.count() * self.length,
        }
    }

    /// The pieces in ascending order: each from its first address to the address behind its last byte.
    #[inline]
    pub fn pieces(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.pieces_behind(self.start)
    }

    /// The pieces that end behind an address.
    #[inline]
    pub fn pieces_behind(&self, address: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let TouchedRange { start, length, step, .. } = *self;
        let passed = address
            .checked_sub(start + length)
            .map_or(0, |beyond| beyond.checked_div(step).map_or(1, |pieces| pieces + 1));
        let listed = self.listed.as_deref().unwrap_or_default();
        let regular = if self.listed.is_some() { 0..0 } else { passed..self.count() };
        let listed = &listed[listed.partition_point(|piece| piece.1 <= address)..];
        let regular = regular.map(move |index| (start + index * step, start + index * step + length));
        regular.chain(listed.iter().copied())
    }

    /// A piece of the same accesses.
    #[inline]
    pub fn piece(&self, start: u64, end: u64) -> TouchedRange {
        TouchedRange { start, end, length: end - start, step: 0, listed: None, ..*self }
    }
}

/// Collects pieces of accesses that are alike, in ascending order, in few ranges.
pub struct Pieces<'a> {
    like: &'a TouchedRange,
    /// The pieces at equal distances that the last one belongs to.
    last: Option<Regular>,
    /// The pieces before them that are in no range yet.
    single: Vec<(u64, u64)>,
}

/// Pieces of one length at equal distances.
#[derive(Clone, Copy)]
struct Regular {
    /// The first piece, and the address behind the last one.
    first: (u64, u64),
    end: u64,
    count: u64,
    step: u64,
}

/// The least number of pieces at equal distances that are not listed among others.
const REGULAR: u64 = 16;
/// The least number of pieces that are listed.
const LISTED: usize = 65;

impl Regular {
    fn new(start: u64, end: u64) -> Regular {
        Regular { first: (start, end), end, count: 1, step: 0 }
    }

    /// Adds a piece behind the last one, if it is as long as the others, and as far from the last one as they are from each other. Returns whether it did.
    #[inline]
    fn takes(&mut self, start: u64, end: u64) -> bool {
        let length = self.first.1 - self.first.0;
        let distance = start - (self.end - length);
        let fits = end - start == length && (self.count == 1 || self.step == distance);
        if fits {
            (self.end, self.step, self.count) = (end, distance, self.count + 1);
        }
        fits
    }

    fn range(&self, like: &TouchedRange) -> TouchedRange {
        TouchedRange { end: self.end, step: self.step, ..like.piece(self.first.0, self.first.1) }
    }
}

impl<'a> Pieces<'a> {
    /// No pieces yet, of accesses like another one.
    pub fn new(like: &'a TouchedRange) -> Pieces<'a> {
        Pieces { like, last: None, single: Vec::new() }
    }

    /// Adds a piece behind the others. Calls `f` with each range that is complete.
    #[inline]
    pub fn add(&mut self, start: u64, end: u64, f: &mut impl FnMut(TouchedRange)) {
        if self.last.as_mut().is_some_and(|last| last.takes(start, end)) {
            return;
        }
        if let Some(last) = self.last.replace(Regular::new(start, end)) {
            self.settle(last, f);
        }
    }

    /// Adds `count` pieces. The first one is `next`, and all are some bytes behind the `count` pieces in front of it, whose last one is the last
    /// piece. Does so if all of them are at equal distances with the last ones, and returns whether it did.
    #[inline]
    pub fn repeat(&mut self, (start, end): (u64, u64), (count, distance): (u64, u64)) -> bool {
        let Some(last) = &mut self.last else { return false };
        let (many, length) = (last.count >= count.max(2), last.first.1 - last.first.0);
        let fits = many
            && count * last.step == distance
            && start == last.end - length + last.step
            && end == last.end + last.step;
        if fits {
            (last.end, last.count) = (last.end + distance, last.count + count);
        }
        fits
    }

    #[inline]
    fn settle(&mut self, regular: Regular, f: &mut impl FnMut(TouchedRange)) {
        if regular.count < REGULAR {
            let (Regular { first: (start, end), step, .. }, pieces) = (regular, 0..regular.count);
            self.single.extend(pieces.map(|index| (start + index * step, end + index * step)));
            return;
        }
        self.end_single(f);
        f(regular.range(self.like));
    }

    /// Calls `f` with ranges of the pieces that are in none.
    fn end_single(&mut self, f: &mut impl FnMut(TouchedRange)) {
        if self.single.len() >= LISTED {
            let (start, end) = (self.single[0].0, self.single[self.single.len() - 1].1);
            let listed = Some(Arc::from(&self.single[..]));
            f(TouchedRange { length: 0, listed, ..self.like.piece(start, end) });
            return self.single.clear();
        }
        let mut open: Option<Regular> = None;
        for (start, end) in self.single.drain(..) {
            if !open.as_mut().is_some_and(|open| open.takes(start, end)) {
                open.replace(Regular::new(start, end)).into_iter().for_each(|regular| f(regular.range(self.like)));
            }
        }
        open.into_iter().for_each(|regular| f(regular.range(self.like)));
    }

    /// Calls `f` with the rest of the ranges.
    pub fn end(mut self, f: &mut impl FnMut(TouchedRange)) {
        self.last.take().into_iter().for_each(|last| self.settle(last, f));
        self.end_single(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranges of pieces, and all of their pieces.
    fn collected(pieces: &[(u64, u64)]) -> Vec<TouchedRange> {
        let like = TouchedRange::new(AccessKind::Read, Strength::Weak);
        let (mut ranges, mut collected) = (Vec::new(), Pieces::new(&like));
        pieces.iter().for_each(|(start, end)| collected.add(*start, *end, &mut |range| ranges.push(range)));
        collected.end(&mut |range| ranges.push(range));
        assert!(ranges.iter().flat_map(TouchedRange::pieces).eq(pieces.iter().copied()));
        let bytes: u64 = ranges.iter().map(TouchedRange::bytes).sum();
        assert_eq!(bytes, pieces.iter().map(|(start, end)| end - start).sum::<u64>());
        ranges
    }

    #[test]
    fn pieces_at_equal_distances_are_one_range() {
        let column = |first: u64, count: u64| (0..count).map(move |row| (first + 16 * row, first + 16 * row + 4));
        let both: Vec<_> = column(0, 20).chain(column(1000, 3)).chain([(2000, 2008)]).collect();
        let ranges = collected(&both);
        let [all, few, last] = &ranges[..] else { panic!("{ranges:?}") };
        assert_eq!(
            [all, few, last].map(|range| (range.count(), range.length, range.step)),
            [(20, 4, 16), (3, 4, 16), (1, 8, 0)]
        );
        assert!(all.pieces_behind(20).eq(column(0, 20).skip(2)));
    }

    #[test]
    fn repeated_pieces_are_as_added_ones() {
        let like = TouchedRange::new(AccessKind::Read, Strength::Weak);
        let (mut ranges, mut pieces) = (Vec::new(), Pieces::new(&like));
        let mut push = |range| ranges.push(range);
        pieces.add(0, 4, &mut push);
        assert!(!pieces.repeat((16, 20), (1, 16)), "no distance is known");
        pieces.add(16, 20, &mut push);
        assert!(!pieces.repeat((32, 36), (4, 64)), "fewer pieces than are repeated");
        (2..4).for_each(|row| pieces.add(16 * row, 16 * row + 4, &mut push));
        assert!(
            !pieces.repeat((64, 72), (4, 64)) && !pieces.repeat((60, 64), (4, 64)) && !pieces.repeat((64, 68), (3, 64))
        );
        assert!(pieces.repeat((64, 68), (4, 64)));
        pieces.end(&mut push);
        assert_eq!(ranges, [TouchedRange { end: 7 * 16 + 4, step: 16, ..like.piece(0, 4) }]);
    }

    #[test]
    fn very_many_single_pieces_are_listed() {
        let single = |count: u64| (0..count).map(|number| (number * number * 8, number * number * 8 + 4));
        let few: Vec<_> = single(64).collect();
        assert!(collected(&few).iter().all(|range| range.listed.is_none()));
        let row = (0..16).map(|number| (100_000 + 32 * number, 100_008 + 32 * number));
        let many: Vec<_> = single(65).chain(row).chain([(200_000, 200_001)]).collect();
        let ranges = collected(&many);
        assert_eq!(ranges.iter().map(|range| range.listed.is_some()).collect::<Vec<_>>(), [true, false, false]);
        assert!(
            ranges[0].pieces_behind(8).eq(single(65).skip(1)) && ranges[0].pieces_behind(12).eq(single(65).skip(2))
        );
    }
}
