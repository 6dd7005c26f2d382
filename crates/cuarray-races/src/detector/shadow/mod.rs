//! Shadow memory: the last accesses to every byte, and whether it was ever written.
//!
//! Memory is divided into segments. All bytes of a segment have one history: the last plain write, the other accesses
//! since then that no later access stands for, and whether the bytes were written. Strong accesses, such as atomic
//! operations, do not conflict with each other, so one of them does not stand for an earlier one of another lane. An access splits the segments at its ends,
//! is compared with their records, and is recorded in them. Equal neighbours are merged. So the number of segments
//! depends on how differently a program treats parts of its memory, not on the number of operations. A look-up takes
//! time logarithmic in the number of segments.
//!
//! A record that happens before every later operation can never be part of a finding. The next access drops it. A box
//! with very many rows would make very many segments. A separate list stores such boxes as whole boxes. The list is
//! exact about conflicts, and counts every byte that the box spans as written.

mod conflict;
mod record;
mod segment;

use super::region::{Region, Strength};
use crate::finding::AccessKind;
pub(super) use conflict::{Conflict, Met};
use conflict::{Found, note};
pub(super) use record::Observer;
use record::Record;
use segment::Segment;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

/// Boxes with more rows than this are stored as whole boxes.
const ROWS: u64 = 64;
/// The number of stored whole boxes. Beyond it, the older half is stored row by row.
const TALL: usize = 4096;

/// A box that is stored whole.
struct Tall {
    region: Region,
    record: Record,
}

/// The history of all live memory.
#[derive(Default)]
pub(super) struct Shadow {
    segments: BTreeMap<u64, Segment>,
    tall: Vec<Tall>,
    /// The operations that the accesses of the running check have synchronized with through memory.
    pub met: Vec<Met>,
    /// The number of segments after the last sweep.
    swept: usize,
    /// Ranges with the same bytes as another one: by first address, the address after the last, and the other's first
    /// address. Each pair of ranges is listed in both directions.
    same: BTreeMap<u64, Vec<(u64, u64)>>,
}

impl Shadow {
    /// Adds memory without accesses. An allocation in a stream counts as the first write.
    pub(super) fn create(&mut self, start: u64, end: u64, written: bool, by: Option<&Observer<'_>>) {
        let write = by.map(|observer| observer.record(AccessKind::Create));
        self.segments.insert(start, Segment { end, write, since: Vec::new(), written, first: true, last: true });
    }

    /// Removes freed memory. Returns the accesses that do not happen before the free.
    pub(super) fn release(&mut self, start: u64, end: u64, by: &Observer<'_>) -> Vec<Conflict> {
        let (mut conflicts, free) = (Vec::new(), by.record(AccessKind::Release));
        if self.same.remove(&start).is_some() {
            self.same.values_mut().for_each(|others| others.retain(|(_, other)| *other != start));
            self.same.retain(|_, others| !others.is_empty());
        }
        let keys: Vec<u64> = self.segments.range(start..end).map(|(key, _)| *key).collect();
        for key in keys {
            let Some(segment) = self.segments.remove(&key) else { continue };
            let own = segment.write.iter().chain(&segment.since).filter(|record| !record.elsewhere);
            for record in own.filter(|record| !by.follows(record)) {
                note(&mut conflicts, (record, &free), key, segment.end);
            }
        }
        self.tall.retain(|tall| {
            let (first, behind) = (tall.region.start(), tall.region.end());
            let gone = first < end && behind > start;
            if gone && !by.follows(&tall.record) {
                note(&mut conflicts, (&tall.record, &free), first, behind);
            }
            !gone
        });
        conflicts
    }

    /// Records an access to a box, and returns the accesses that it conflicts with.
    pub(super) fn access(&mut self, region: &Region, access: AccessKind, by: &Observer<'_>) -> Vec<Conflict> {
        let (mut found, new) = (Found::default(), by.record(access));
        if !self.same.is_empty() {
            self.access_same(region, &new, by);
        }
        if !self.tall.is_empty() {
            self.meet_tall(region, &new, by, &mut found);
        }
        if region.row_count() > ROWS {
            self.access_tall(region, new, by, &mut found);
        } else {
            for (start, end) in region.rows() {
                self.touch(start, end, &new, by, &mut found);
            }
        }
        self.met.extend(found.met);
        found.conflicts
    }

    /// Records that two ranges have the same bytes: the new range `start..end`, and one that starts at `other`. The new
    /// range takes over the other's history.
    pub(super) fn unify(&mut self, start: u64, end: u64, other: u64) {
        // Ranges of one allocation may have different lengths. The last segment of the other range ends it.
        let ends = |(_, segment): &(&u64, &Segment)| segment.last;
        let Some(other_end) = self.segments.range(other..).find(ends).map(|(_, segment)| segment.end) else { return };
        let length = (end - start).min(other_end - other);
        self.same.entry(start).or_default().push((start + length, other));
        self.same.entry(other).or_default().push((other + length, start));
        self.split(start, start + length);
        self.split(other, other + length);
        let history: Vec<(u64, Segment)> = self
            .segments
            .range(other..other + length)
            .map(|(key, segment)| {
                let (first, last) = (*key == other, segment.end - other == end - start);
                let end = segment.end - other + start;
                let write = segment.write.as_ref().map(Record::elsewhere);
                let since = segment.since.iter().map(Record::elsewhere).collect();
                let copy = Segment { end, write, since, written: segment.written, first, last };
                (key - other + start, copy)
            })
            .collect();
        self.segments.retain(|key, _| !(start..start + length).contains(key));
        self.segments.extend(history);
        self.unite(other, other + length);
    }

    /// A box, and its rows in the other ranges that have the same bytes.
    pub(super) fn everywhere(&self, region: Region) -> Vec<Region> {
        let mut all = vec![region];
        for (start, end) in region.rows() {
            let ranges = self.same.range(..end).flat_map(|(first, others)| others.iter().map(|other| (*first, *other)));
            for (first, (behind, other)) in ranges {
                let (from, to) = (start.max(first), end.min(behind));
                if from < to {
                    all.push(Region::row(from - first + other, to - from));
                }
            }
        }
        all
    }

    /// Records an access in the other ranges that have the same bytes.
    fn access_same(&mut self, region: &Region, new: &Record, by: &Observer<'_>) {
        let (start, end, new) = (region.start(), region.end(), new.elsewhere());
        let meets = |first: &u64, behind: &u64| *first < end && *behind > start;
        let ranges = self.same.range(..end).flat_map(|(first, others)| others.iter().map(|other| (*first, *other)));
        let ranges: Vec<_> = ranges.filter(|(first, (behind, _))| meets(first, behind)).collect();
        for (first, (behind, other)) in ranges {
            for (from, to) in region.rows() {
                let (from, to) = (from.max(first), to.min(behind));
                if from < to {
                    // Every access is recorded in all ranges, so the conflicts are found where it was made.
                    self.touch(from - first + other, to - first + other, &new, by, &mut Found::default());
                }
            }
        }
    }

    fn touch(&mut self, start: u64, end: u64, new: &Record, by: &Observer<'_>, found: &mut Found) {
        if let Some(segment) = self.whole(start, end) {
            return segment.touch(start, new, by, found);
        }
        self.split(start, end);
        for (key, segment) in self.segments.range_mut(start..end) {
            segment.touch(*key, new, by, found);
        }
        self.unite(start, end);
    }

    /// The segment of `start..end`, if it is a whole allocation: the common and fast case.
    fn whole(&mut self, start: u64, end: u64) -> Option<&mut Segment> {
        self.segments.get_mut(&start).filter(|segment| segment.end == end && segment.first && segment.last)
    }

    /// Splits segments at both ends of `start..end`.
    fn split(&mut self, start: u64, end: u64) {
        for at in [start, end] {
            let before = self.segments.range_mut(..at).next_back();
            if let Some((_, segment)) = before.filter(|(_, segment)| segment.end > at) {
                let behind = segment.split(at);
                self.segments.insert(at, behind);
            }
        }
    }

    /// Unites equal neighbours among the segments in and around `start..end`.
    fn unite(&mut self, start: u64, end: u64) {
        let left = self.segments.range(..start).next_back().map(|(key, _)| *key);
        let mut at = match left.or_else(|| self.segments.range(start..).next().map(|(key, _)| *key)) {
            Some(at) => at,
            None => return,
        };
        while let Some((next, segment)) = self.segments.range((Excluded(at), Unbounded)).next() {
            if *next > end {
                return;
            }
            let next = *next;
            let one = self
                .segments
                .get(&at)
                .is_some_and(|before| !segment.first && before.end == next && before.same(segment));
            if !one {
                at = next;
            } else if let Some(gone) = self.segments.remove(&next)
                && let Some(segment) = self.segments.get_mut(&at)
            {
                (segment.end, segment.last) = (gone.end, gone.last);
            }
        }
    }

    /// Compares an access with the whole boxes, and drops boxes that can no longer conflict.
    fn meet_tall(&mut self, region: &Region, new: &Record, by: &Observer<'_>, found: &mut Found) {
        let (start, end) = (region.start(), region.end());
        self.tall.retain(|tall| {
            if by.settled(&tall.record) {
                return false;
            }
            if tall.region.start() >= end || tall.region.end() <= start {
                return true;
            }
            let known = by.follows(&tall.record);
            if !known && tall.region.overlaps(region) {
                found.compare(new, &tall.record, start.max(tall.region.start()), end.min(tall.region.end()));
            }
            // A later row that covers the box replaces it.
            let covered = region.row_count() == 1 && start <= tall.region.start() && end >= tall.region.end();
            !(known && covered && new.writes() && new.manner.strength == Strength::Weak)
        });
    }

    fn access_tall(&mut self, region: &Region, new: Record, by: &Observer<'_>, found: &mut Found) {
        let (start, end) = (region.start(), region.end());
        let first = self.segments.range(..=start).next_back().map_or(start, |(key, _)| *key);
        for (key, segment) in self.segments.range_mut(first..end).filter(|(_, segment)| segment.end > start) {
            if !region.meets(*key, segment.end) {
                continue;
            }
            for record in segment.write.iter().chain(&segment.since).filter(|record| !by.follows(record)) {
                found.compare(&new, record, start.max(*key), end.min(segment.end));
            }
            segment.written |= new.writes();
        }
        let same = |tall: &Tall| {
            let (one, other) = (tall.region.hull(), region.hull());
            one == other && tall.region.row_count() == region.row_count() && tall.record.kind() == new.kind()
        };
        match self.tall.iter_mut().find(|tall| same(tall) && by.follows(&tall.record)) {
            Some(tall) => tall.record = new,
            None => {
                if self.tall.len() >= TALL {
                    self.store_rows(TALL / 2);
                }
                self.tall.push(Tall { region: *region, record: new });
            }
        }
    }

    /// Stores the oldest whole boxes row by row. Their rows are older than other records of the same bytes, so they
    /// replace none.
    fn store_rows(&mut self, count: usize) {
        for Tall { region, record } in self.tall.drain(..count).collect::<Vec<_>>() {
            for (start, end) in region.rows() {
                self.split(start, end);
                self.segments.range_mut(start..end).for_each(|(_, segment)| segment.since.push(record.clone()));
                self.unite(start, end);
            }
        }
    }

    /// Whether an address lies in live memory.
    pub(super) fn holds(&self, address: u64) -> bool {
        self.segments.range(..=address).next_back().is_some_and(|(_, segment)| segment.end > address)
    }

    /// The record of the last write of an address.
    pub(super) fn last_write(&self, address: u64) -> Option<&Record> {
        let (_, segment) = self.segments.range(..=address).next_back().filter(|(_, segment)| segment.end > address)?;
        let strong = segment.since.iter().rev().find(|record| record.writes());
        strong.or(segment.write.as_ref())
    }

    /// Takes the bytes as written, without a record of an access. They begin and end with an allocation.
    pub(super) fn take_as_written(&mut self, start: u64, end: u64) {
        self.segments.range_mut(start..end).for_each(|(_, segment)| segment.written = true);
    }

    /// The unwritten parts of `start..end`.
    pub(super) fn unwritten(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let first = self.segments.range(..=start).next_back().map_or(start, |(key, _)| *key);
        let segments = self.segments.range(first..end).filter(|(_, segment)| segment.end > start && !segment.written);
        segments.map(|(key, segment)| (start.max(*key), end.min(segment.end))).collect()
    }

    /// Whether the bytes of `start..end` have one history, in which nothing has written them.
    pub(super) fn is_unwritten(&self, start: u64, end: u64) -> bool {
        let first = self.segments.range(..=start).next_back();
        first.is_some_and(|(_, segment)| segment.end >= end && !segment.written)
    }

    /// The unwritten bytes of a box: the first address and the address after the last. A whole box counts only if
    /// none of its bytes was written.
    ///
    /// A copy of a strided array to the host often includes the bytes between the elements, which are never used. With
    /// `padding`, gaps between written bytes do not count if their lengths repeat.
    pub(super) fn unwritten_of(&self, region: &Region, padding: bool) -> Option<(u64, u64)> {
        if region.row_count() > ROWS {
            let (start, end) = (region.start(), region.end());
            return self.is_unwritten(start, end).then_some((start, end));
        }
        let parts = region.rows().flat_map(|(start, end)| {
            let parts = self.unwritten(start, end);
            if padding && is_padding(start, end, &parts) { Vec::new() } else { parts }
        });
        parts.reduce(|(start, end), (first, behind)| (start.min(first), end.max(behind)))
    }

    /// The unwritten parts of a box, as ranges of offsets in its packed bytes.
    pub(super) fn holes(&self, region: &Region) -> Vec<(u64, u64)> {
        if region.row_count() > ROWS {
            return Vec::new();
        }
        let (mut holes, mut packed) = (Vec::new(), 0);
        for (start, end) in region.rows() {
            let parts = self.unwritten(start, end).into_iter();
            holes.extend(parts.map(|(first, behind)| (packed + (first - start), packed + (behind - start))));
            packed += end - start;
        }
        holes
    }

    /// Marks these parts of a box as unwritten.
    pub(super) fn unwrite(&mut self, region: &Region, holes: &[(u64, u64)]) {
        if region.row_count() > ROWS || holes.is_empty() {
            return;
        }
        let mut packed = 0;
        for (start, end) in region.rows() {
            let length = end - start;
            // An alias of the bytes may have been written meanwhile, so only memory without one is marked.
            if self.same.iter().any(|(first, others)| others.iter().any(|(end, _)| *first <= start && start < *end)) {
                return;
            }
            for (first, behind) in holes {
                let first = start + first.saturating_sub(packed);
                let behind = start + behind.saturating_sub(packed).min(length);
                if first < behind {
                    self.split(first, behind);
                    self.segments.range_mut(first..behind).for_each(|(_, segment)| segment.written = false);
                    self.unite(first, behind);
                }
            }
            packed += length;
        }
    }

    /// Drops records that happen before every later operation, once there are many segments.
    pub(super) fn sweep(&mut self, by: &Observer<'_>) {
        if by.floor.is_none() || self.segments.len() < 2 * self.swept + 4096 {
            return;
        }
        for segment in self.segments.values_mut() {
            segment.write.take_if(|write| by.settled(write));
            segment.since.retain(|record| !by.settled(record));
        }
        self.unite(0, u64::MAX);
        self.swept = self.segments.len();
    }

    /// The bytes of live memory, and about the bytes of the history itself.
    pub(super) fn memory(&self) -> (u64, u64) {
        let (mut watched, mut used) = (0, 0);
        for (start, segment) in &self.segments {
            watched += segment.end - start;
            used += size_of::<(u64, Segment)>() + segment.since.capacity() * size_of::<Record>();
        }
        (watched, (used + self.tall.capacity() * size_of::<Tall>()) as u64)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }
}

/// Whether the unwritten parts of `start..end` look like padding between the elements of an array.
fn is_padding(start: u64, end: u64, parts: &[(u64, u64)]) -> bool {
    let inside = |(first, behind): &(u64, u64)| *first > start && *behind < end;
    let length = |(first, behind): &(u64, u64)| behind - first;
    // Records of equal size may end with padding, the last one too.
    let alike = |pair: &[(u64, u64)]| length(&pair[0]) == length(&pair[1]) && length(&pair[0]) < LONGEST_ELEMENT;
    let apart = |pair: &[(u64, u64)]| pair[1].0 - pair[0].0;
    let step = parts.windows(2).map(apart).next();
    if parts.len() > 1 && parts[0].0 > start && parts.windows(2).all(|pair| alike(pair) && Some(apart(pair)) == step) {
        return true;
    }
    match parts {
        [] => true,
        [only] => inside(only) && length(only) <= LONGEST_ELEMENT,
        _ => {
            // One length for each dimension: with padding, lengths repeat.
            let lengths: BTreeSet<u64> = parts.iter().map(length).collect();
            parts.iter().all(inside) && lengths.len() < parts.len()
        }
    }
}

/// The size of the longest common element: a complex number of two doubles.
const LONGEST_ELEMENT: u64 = 16;

#[cfg(test)]
mod tests;
