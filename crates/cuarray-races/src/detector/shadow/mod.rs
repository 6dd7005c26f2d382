//! Shadow memory: the last accesses to every byte, and whether it was ever written.
//!
//! Memory is divided into segments. All bytes of a segment have one history: the last plain write, and the other accesses
//! since then that no later access stands for. Strong accesses, such as atomic
//! operations, do not conflict with each other, so one of them does not stand for an earlier one of another lane. An access splits the segments at its ends,
//! is compared with their records, and is recorded in them. Equal neighbours are merged. So the number of segments
//! depends on how differently a program treats parts of its memory, not on the number of operations. A look-up takes
//! time logarithmic in the number of segments.
//!
//! A record that happens before every later operation can never be part of a finding. The next access drops it. A box
//! with very many rows, or very many single elements, would make very many segments. A separate list stores the areas of such accesses as
//! a whole. It is exact about conflicts. The bytes that nothing has written are a separate [set](unwritten).

mod conflict;
mod pageable;
mod record;
mod segment;
mod unwritten;

use super::region::{Region, Strength};
use crate::finding::AccessKind;
pub(super) use conflict::{Conflict, Met};
use conflict::{Found, note};
use pageable::Pageable;
pub(super) use record::Observer;
use record::Record;
use segment::Segment;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use unwritten::Unwritten;

/// Bytes in more rows than this are stored whole.
pub(super) const ROWS: u64 = 64;
/// The number of areas that are stored whole, and of their listed rows. Beyond it, the older half is stored row by row.
const WHOLE: usize = 4096;
const RANGES: usize = 1 << 22;
/// The most rows of boxes of one access that are stored as listed rows.
pub(super) const LISTED: u64 = 1 << 20;

/// An access to an area that is stored whole.
struct Whole {
    area: Region,
    record: Record,
}

/// The history of all live memory.
#[derive(Default)]
pub(super) struct Shadow {
    segments: BTreeMap<u64, Segment>,
    whole: Vec<Whole>,
    unwritten: Unwritten,
    /// The operations that the accesses of the running check have synchronized with through memory.
    pub met: Vec<Met>,
    /// The number of segments after the last sweep.
    swept: usize,
    /// Ranges with the same bytes as another one: by first address, the address after the last, and the other's first
    /// address. Each pair of ranges is listed in both directions.
    same: BTreeMap<u64, Vec<(u64, u64)>>,
    pageable: Option<Pageable>,
}

impl Shadow {
    /// Adds memory without accesses. An allocation in a stream counts as the first write.
    pub(super) fn create(&mut self, start: u64, end: u64, written: bool, by: Option<&Observer<'_>>) {
        let write = by.map(|observer| observer.record(AccessKind::Create));
        if self.pageable.is_some() {
            self.forget(start, end);
        }
        self.segments.insert(start, Segment { end, write, since: Vec::new(), first: true, last: true });
        if written { self.unwritten.remove(start, end) } else { self.unwritten.add(start, end) }
    }

    /// Removes freed memory. Returns the accesses that do not happen before the free.
    pub(super) fn release(&mut self, start: u64, end: u64, by: &Observer<'_>) -> Vec<Conflict> {
        let (mut conflicts, free) = (Vec::new(), by.record(AccessKind::Release));
        if self.same.remove(&start).is_some() {
            self.same.values_mut().for_each(|others| others.retain(|(_, other)| *other != start));
            self.same.retain(|_, others| !others.is_empty());
        }
        self.unwritten.remove(start, end);
        let keys: Vec<u64> = self.segments.range(start..end).map(|(key, _)| *key).collect();
        for key in keys {
            let Some(segment) = self.segments.remove(&key) else { continue };
            let own = segment.write.iter().chain(&segment.since).filter(|record| !record.elsewhere);
            for record in own.filter(|record| !by.follows(record)) {
                note(&mut conflicts, (record, &free), key, segment.end);
            }
        }
        self.whole.retain(|whole| {
            let (first, behind) = (whole.area.start(), whole.area.end());
            let gone = first < end && behind > start;
            if gone && !by.follows(&whole.record) {
                note(&mut conflicts, (&whole.record, &free), first, behind);
            }
            !gone
        });
        conflicts
    }

    /// Records an access, and returns the accesses that it conflicts with.
    pub(super) fn access(&mut self, area: &Region, access: AccessKind, by: &Observer<'_>) -> Vec<Conflict> {
        let (mut found, new) = (Found::default(), by.record(access));
        if self.pageable.is_some() {
            area.rows().for_each(|(start, end)| self.admit(start, end));
        }
        if !self.same.is_empty() {
            self.access_same(area, &new, by);
        }
        if !self.whole.is_empty() {
            self.meet_whole(area, &new, by, &mut found);
        }
        if new.writes() && self.unwritten.meets(area.start(), area.end()) {
            area.rows().for_each(|(start, end)| self.unwritten.remove(start, end));
        }
        if area.row_count() > ROWS {
            self.access_whole(area, new, by, &mut found);
        } else {
            area.rows().for_each(|(start, end)| self.touch(start, end, &new, by, &mut found));
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
                let copy = Segment { end, write, since, first, last };
                (key - other + start, copy)
            })
            .collect();
        self.segments.retain(|key, _| !(start..start + length).contains(key));
        self.segments.extend(history);
        self.unite(other, other + length);
        self.unwritten.remove(start, start + length);
        for (first, behind) in self.unwritten.parts(other, other + length) {
            self.unwritten.add(first - other + start, behind - other + start);
        }
    }

    /// The bytes, and their rows in the other ranges that have the same bytes.
    pub(super) fn everywhere(&self, region: &Region) -> Vec<Region> {
        let mut all = vec![region.clone()];
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
    fn access_same(&mut self, area: &Region, new: &Record, by: &Observer<'_>) {
        let ((start, end), new) = ((area.start(), area.end()), new.elsewhere());
        let meets = |first: &u64, behind: &u64| *first < end && *behind > start;
        let ranges = self.same.range(..end).flat_map(|(first, others)| others.iter().map(|other| (*first, *other)));
        let ranges: Vec<_> = ranges.filter(|(first, (behind, _))| meets(first, behind)).collect();
        for (first, (behind, other)) in ranges {
            for (from, to) in area.rows() {
                let (from, to) = (from.max(first), to.min(behind));
                if from < to {
                    let (from, to) = (from - first + other, to - first + other);
                    // Every access is recorded in all ranges, so the conflicts are found where it was made.
                    self.touch(from, to, &new, by, &mut Found::default());
                    if new.writes() {
                        self.unwritten.remove(from, to);
                    }
                }
            }
        }
    }

    fn touch(&mut self, start: u64, end: u64, new: &Record, by: &Observer<'_>, found: &mut Found) {
        if let Some(segment) = self.allocation(start, end) {
            return segment.touch(start, new, by, found);
        }
        self.split(start, end);
        for (key, segment) in self.segments.range_mut(start..end) {
            segment.touch(*key, new, by, found);
        }
        self.unite(start, end);
    }

    /// The segment of `start..end`, if it is a whole allocation: the common and fast case.
    fn allocation(&mut self, start: u64, end: u64) -> Option<&mut Segment> {
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

    /// Compares an access with the whole areas, and drops areas that can no longer conflict.
    fn meet_whole(&mut self, area: &Region, new: &Record, by: &Observer<'_>, found: &mut Found) {
        let (start, end) = (area.start(), area.end());
        self.whole.retain(|whole| {
            if by.settled(&whole.record) {
                return false;
            }
            let (first, behind) = (whole.area.start(), whole.area.end());
            if first >= end || behind <= start {
                return true;
            }
            let known = by.follows(&whole.record);
            if !known && let Some((from, to)) = whole.area.shared(area) {
                found.compare(new, &whole.record, from, to);
            }
            // A later row that covers the area replaces it.
            let covered = area.row_count() == 1 && start <= first && end >= behind;
            !(known && covered && new.writes() && new.manner.strength == Strength::Weak)
        });
    }

    fn access_whole(&mut self, area: &Region, new: Record, by: &Observer<'_>, found: &mut Found) {
        let (start, end) = (area.start(), area.end());
        for (key, segment) in self.overlapped(start, end) {
            let mut unordered =
                segment.write.iter().chain(&segment.since).filter(|record| !by.follows(record)).peekable();
            if unordered.peek().is_some()
                && let Some((from, to)) = area.within(*key, segment.end)
            {
                unordered.for_each(|record| found.compare(&new, record, from, to));
            }
        }
        let same =
            |whole: &Whole| whole.record.kind() == new.kind() && whole.area.is_same(area) && by.follows(&whole.record);
        if let Some(whole) = self.whole.iter_mut().find(|whole| same(whole)) {
            whole.record = new;
            return;
        }
        let ranges: usize = self.whole.iter().map(|whole| whole.area.listed_rows()).sum();
        if self.whole.len() >= WHOLE || ranges > RANGES {
            self.store_rows(self.whole.len().div_ceil(2));
        }
        self.whole.push(Whole { area: area.clone(), record: new });
    }

    /// Stores the oldest whole areas row by row. Their rows are older than other records of the same bytes, so they
    /// replace none.
    fn store_rows(&mut self, count: usize) {
        for Whole { area, record } in self.whole.drain(..count).collect::<Vec<_>>() {
            for (start, end) in area.rows() {
                self.split(start, end);
                self.segments.range_mut(start..end).for_each(|(_, segment)| segment.since.push(record.clone()));
                self.unite(start, end);
            }
        }
    }

    /// The segments that a range overlaps, with their first addresses.
    fn overlapped(&self, start: u64, end: u64) -> impl Iterator<Item = (&u64, &Segment)> {
        let first = self.segments.range(..=start).next_back().map_or(start, |(key, _)| *key);
        self.segments.range(first..end).filter(move |(_, segment)| segment.end > start)
    }

    /// The parts of a range that are live memory.
    fn live(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        self.overlapped(start, end).map(|(key, segment)| (start.max(*key), end.min(segment.end))).collect()
    }

    /// Whether an address lies in live memory.
    pub(super) fn holds(&self, address: u64) -> bool {
        self.segments.range(..=address).next_back().is_some_and(|(_, segment)| segment.end > address)
    }

    /// The record of the last write of an address.
    pub(super) fn last_write(&self, address: u64) -> Option<&Record> {
        let (_, segment) = self.segments.range(..=address).next_back().filter(|(_, segment)| segment.end > address)?;
        let strong = segment.since.iter().rev().find(|record| record.writes());
        let writes = |whole: &&Whole| whole.record.writes() && whole.area.within(address, address + 1).is_some();
        let whole = self.whole.iter().rev().find(writes).map(|whole| &whole.record);
        strong.or(segment.write.as_ref()).into_iter().chain(whole).max_by_key(|record| record.operation.ordinal)
    }

    /// Takes the bytes as written, without a record of an access.
    pub(super) fn take_as_written(&mut self, start: u64, end: u64) {
        self.unwritten.remove(start, end);
    }

    /// The unwritten parts of `start..end`.
    pub(super) fn unwritten(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        self.unwritten.parts(start, end)
    }

    /// Whether any byte of `start..end` is unwritten.
    pub(super) fn has_unwritten(&self, start: u64, end: u64) -> bool {
        self.unwritten.meets(start, end)
    }

    /// Whether nothing has written any byte of `start..end`.
    pub(super) fn is_unwritten(&self, start: u64, end: u64) -> bool {
        self.unwritten.holds(start, end)
    }

    /// The unwritten bytes of a box: the first address and the address after the last.
    ///
    /// A copy of a strided array to the host often includes the bytes between the elements, which are never used. With
    /// `padding`, gaps between written bytes do not count if their lengths repeat.
    pub(super) fn unwritten_of(&self, region: &Region, padding: bool) -> Option<(u64, u64)> {
        if !self.unwritten.meets(region.start(), region.end()) {
            return None;
        }
        let parts = region.rows().flat_map(|(start, end)| {
            let parts = self.unwritten(start, end);
            if padding && is_padding(start, end, &parts) { Vec::new() } else { parts }
        });
        parts.reduce(|(start, end), (first, behind)| (start.min(first), end.max(behind)))
    }

    /// The unwritten parts of a box, as ranges of offsets in its packed bytes.
    pub(super) fn holes(&self, region: &Region) -> Vec<(u64, u64)> {
        if !self.unwritten.meets(region.start(), region.end()) {
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
        let (mut packed, mut rest) = (0, holes);
        for (start, end) in region.rows() {
            if rest.is_empty() {
                return;
            }
            let length = end - start;
            // An alias of the bytes may have been written meanwhile, so only memory without one is marked.
            if self.same.iter().any(|(first, others)| others.iter().any(|(end, _)| *first <= start && start < *end)) {
                return;
            }
            for (first, behind) in rest.iter().take_while(|(first, _)| *first < packed + length) {
                let (first, behind) = (start + first.saturating_sub(packed), start + (behind - packed).min(length));
                for (first, behind) in self.live(first, behind) {
                    self.unwritten.add(first, behind);
                }
            }
            packed += length;
            // A hole may go on in the next row.
            rest = &rest[rest.partition_point(|(_, behind)| *behind <= packed)..];
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
        used += self.whole.capacity() * size_of::<Whole>() + self.unwritten.memory();
        used += self.whole.iter().map(|whole| whole.area.listed_rows() * size_of::<(u64, u64)>()).sum::<usize>();
        (watched, used as u64)
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
