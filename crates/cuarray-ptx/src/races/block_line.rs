//! The accesses of all blocks to a line: 32 adjacent pieces of a page.
//!
//! Blocks are unordered, so the result must not depend on which block ran first, or on which core.

use super::block_mark::{Mark, Part};
use super::cell::Kind;
use super::record::{Record, Slot};
use super::span::{Lanes, bits, split};

/// The accesses by one instruction to one piece.
#[derive(Clone, Copy)]
struct Chained {
    record: Record,
    /// The piece, or [`END`] if the accesses are dropped.
    piece: u32,
    next: u32,
}

/// The end of a list, and the index of what is missing.
pub(super) const END: u32 = u32::MAX;
/// The bit of a line whose accesses are [alone](super::one_thread_pieces), among its kinds.
pub(super) const ALONE: u32 = 1 << 31;
/// The bit of [`Line::chains`] for a line with a list for each piece.
const TABLE: u32 = 1 << 31;
/// The most records of a line in one list.
const LISTED: u32 = 12;
/// The most marks of several pieces of a line.
const MARKS: usize = 12;
/// Fewer pieces than these are recorded one by one.
pub(super) const FEW: u32 = 3;
/// The unit of a line that several units have accessed.
const SEVERAL: u32 = u32::MAX;

/// The accesses to 32 pieces; its lists are in a [`Store`].
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// The only unit that has accessed the line, or [`SEVERAL`].
    pub unit: u32,
    /// A bit for each kind of access.
    pub kinds: u32,
    /// The first mark.
    pub marks: u32,
    /// The first record; with [`TABLE`], the index of the first records of the pieces.
    chains: u32,
    /// The pieces that have records. In a line whose accesses are alone, those of the marks.
    pub recorded: u32,
    /// The pieces that have several, or one of several units.
    again: u32,
}

impl Default for Line {
    fn default() -> Line {
        Line { unit: 0, kinds: 0, marks: END, chains: END, recorded: 0, again: 0 }
    }
}

impl Line {
    /// Whether units may conflict.
    pub(super) fn may_conflict(&self) -> bool {
        let read_only = self.kinds == 1 << Kind::Read as u32;
        let atomic_only = self.kinds == 1 << Kind::Atomic as u32;
        self.unit == SEVERAL && self.kinds & ALONE == 0 && self.kinds != 0 && !read_only && !atomic_only
    }

    /// Notes a kind of access by a unit.
    #[inline(always)]
    pub(super) fn note(&mut self, unit: u32, kind: Kind) {
        if self.kinds == 0 {
            self.unit = unit;
        } else if self.unit != unit {
            self.unit = SEVERAL;
        }
        self.kinds |= 1 << kind as u32;
    }
}

/// The lists of the lines.
#[derive(Default)]
pub(super) struct Store {
    pub marks: Vec<Mark>,
    pub values: Vec<[u32; 32]>,
    chains: Vec<[u32; 32]>,
    records: Vec<Chained>,
    /// The number of low bits of [`Slot::block`] in which blocks of one cluster differ.
    pub ranks: u32,
}

impl Store {
    pub(super) fn new(ranks: u32) -> Store {
        Store { ranks, ..Store::default() }
    }

    /// Empties the lists, and keeps their memory.
    pub(super) fn clear(&mut self) {
        self.marks.clear();
        self.values.clear();
        self.chains.clear();
        self.records.clear();
    }

    /// The size of the lists' memory in bytes.
    pub(super) fn size(&self) -> usize {
        fn of<T>(list: &Vec<T>) -> usize {
            list.capacity() * size_of::<T>()
        }
        of(&self.marks) + of(&self.values) + of(&self.chains) + of(&self.records)
    }

    /// Adds an access to a line.
    #[inline(always)]
    pub(super) fn touch(&mut self, line: &mut Line, part: &Part<'_>) {
        line.note(part.slot.block >> self.ranks, part.slot.origin.kind());
        if part.pieces.count_ones() < FEW || !self.touch_row(line, part) {
            self.touch_each(line, part);
        }
    }

    #[inline(always)]
    fn touch_row(&mut self, line: &mut Line, part: &Part<'_>) -> bool {
        let (mut at, mut count) = (line.marks, 0);
        while let Some(mark) = self.marks.get(at as usize) {
            let alike = mark.one.origin.is_alike(part.slot.origin) && mark.lanes == part.lanes;
            let next = mark.next;
            if alike && self.join(at as usize, part) {
                return true;
            }
            (at, count) = (next, count + 1);
        }
        if count < MARKS {
            self.push(line, part, 0);
        }
        count < MARKS
    }

    /// Adds a mark to a line.
    #[inline(always)]
    pub(super) fn push(&mut self, line: &mut Line, part: &Part<'_>, clock: u32) {
        let mut values = END;
        if part.slot.origin.kind() == Kind::Write {
            values = if part.lanes.is_row() { self.values.len() as u32 } else { part.value(0) };
            if part.lanes == (Lanes::row(0, 1)) {
                self.values.push(*part.values);
            } else if part.lanes.is_row() {
                let mut digests = [0; 32];
                bits(part.pieces).for_each(|piece| digests[piece as usize] = part.value(piece));
                self.values.push(digests);
            }
        }
        let (one, other) = (part.slot, Slot::default());
        let (pieces, lanes, next) = (part.pieces, part.lanes, line.marks);
        line.marks = self.marks.len() as u32;
        self.marks.push(Mark { one, other, pieces, clock, lanes, values, varied: 0, earlier: 0, next });
    }

    /// The digest of what a mark wrote to a piece.
    #[inline(always)]
    pub(super) fn value(&self, mark: &Mark, piece: u32) -> u32 {
        match (mark.one.origin.kind(), mark.lanes.is_row()) {
            (Kind::Write, true) => self.values.get(mark.values as usize).map_or(0, |values| values[piece as usize]),
            (Kind::Write, false) => mark.values,
            _ => 0,
        }
    }

    /// The pieces of an access to which it writes another value than a mark of the same instruction.
    #[inline(always)]
    pub(super) fn differing(&self, mark: &Mark, part: &Part<'_>) -> u32 {
        if part.slot.origin.kind() != Kind::Write {
            return 0;
        }
        let differs = |piece| u32::from(self.value(mark, piece) != part.value(piece)) << piece;
        bits(part.pieces).fold(0, |all, piece| all | differs(piece))
    }

    fn touch_each(&mut self, line: &mut Line, part: &Part<'_>) {
        for piece in bits(part.pieces) {
            let slot = part.slot_at(piece);
            let is_alike = |record: &&Record| record.one.origin.is_alike(slot.origin);
            if line.recorded >> piece & 1 == 1
                && self.chained(line, piece).find(is_alike).is_some_and(|record| record.covers(slot, self.ranks))
            {
                line.again |= 1 << piece;
                continue;
            }
            self.add(line, piece, &Record::new(part.slot_at(piece), part.value(piece), Slot::default()));
        }
    }

    /// Adds an access of the same lanes and instruction to a mark. Returns whether the mark now stands for it.
    #[inline(always)]
    fn join(&mut self, at: usize, part: &Part<'_>) -> bool {
        let differ = self.differing(&self.marks[at], part);
        self.marks[at].join(part, self.ranks, differ)
    }

    /// Adds a record to a piece of a line.
    #[inline(always)]
    pub(super) fn add(&mut self, line: &mut Line, piece: u32, record: &Record) {
        let bit = 1 << (piece & 31);
        let is_recorded = line.recorded & bit != 0;
        if is_recorded || !record.is_of_one() {
            line.again |= bit;
        }
        line.recorded |= bit;
        let (mut at, mut count) = (if is_recorded { self.first(line, piece) } else { END }, 0);
        while let Some(chained) = self.records.get_mut(at as usize) {
            if chained.piece == piece && chained.record.one.origin.is_alike(record.one.origin) {
                return chained.record.join(record, self.ranks);
            }
            (at, count) = (chained.next, count + 1);
        }
        if count >= LISTED && self.table(line).is_none() {
            self.tabulate(line);
        }
        let added = self.records.len() as u32;
        let next = match self.table(line).and_then(|table| self.chains.get_mut(table)) {
            Some(heads) => std::mem::replace(&mut heads[piece as usize & 31], added),
            None => std::mem::replace(&mut line.chains, added),
        };
        self.records.push(Chained { record: *record, piece, next });
    }

    /// The index of the lists of a line's pieces, if it has one for each.
    fn table(&self, line: &Line) -> Option<usize> {
        (line.chains != END && line.chains & TABLE != 0).then_some((line.chains & !TABLE) as usize)
    }

    /// The start of the list with the records of a piece, and perhaps of others.
    #[inline(always)]
    fn first(&self, line: &Line, piece: u32) -> u32 {
        match self.table(line) {
            Some(table) => self.chains.get(table).map_or(END, |heads| heads[piece as usize & 31]),
            None => line.chains,
        }
    }

    /// Makes a list for each piece of a line from its list.
    #[cold]
    fn tabulate(&mut self, line: &mut Line) {
        let mut heads = [END; 32];
        let mut at = std::mem::replace(&mut line.chains, self.chains.len() as u32 | TABLE);
        while let Some(chained) = self.records.get_mut(at as usize) {
            let this = at;
            at = chained.next;
            if let Some(head) = heads.get_mut(chained.piece as usize) {
                chained.next = std::mem::replace(head, this);
            }
        }
        self.chains.push(heads);
    }

    /// The records from an index on, with their pieces.
    fn listed(&self, mut at: u32) -> impl Iterator<Item = (u32, &Record)> {
        std::iter::from_fn(move || {
            let chained = self.records.get(at as usize)?;
            at = chained.next;
            Some((chained.piece, &chained.record))
        })
    }

    /// The records of a piece, besides marks.
    fn chained(&self, line: &Line, piece: u32) -> impl Iterator<Item = &Record> {
        self.listed(self.first(line, piece)).filter(move |(of, _)| *of == piece).map(|(_, record)| record)
    }

    /// The record of a mark's first access to a piece.
    pub(super) fn record(&self, mark: &Mark, piece: u32) -> Record {
        let one = mark.one.of(mark.lanes.first_at(piece));
        let varied = if mark.varied >> piece & 1 == 1 { one } else { Slot::default() };
        Record::new(one, self.value(mark, piece), varied)
    }

    /// Calls `f` with the records of a piece; several may be of one instruction.
    fn each(&self, line: &Line, piece: u32, mut f: impl FnMut(Record)) {
        let mut at = line.marks;
        while let Some(mark) = self.marks.get(at as usize) {
            at = mark.next;
            if mark.pieces >> piece & 1 == 1 {
                f(self.record(mark, piece));
                if !mark.other.is_none() {
                    let other = mark.other.of(mark.lanes.first_at(piece));
                    f(Record::new(other, self.value(mark, piece), Slot::default()));
                }
            }
        }
        self.chained(line, piece).for_each(|record| f(*record));
    }

    /// The pieces that may have conflicting accesses of several units.
    pub(super) fn disputed(&self, line: &Line) -> u32 {
        let (mut seen, mut disputed, mut at) = (line.recorded, line.again, line.marks);
        // The kinds of records are not looked at.
        let mut kinds = [line.recorded; 3];
        while let Some(mark) = self.marks.get(at as usize) {
            disputed |= if mark.other.is_none() { seen & mark.pieces } else { mark.pieces };
            kinds[mark.one.origin.kind() as usize - 1] |= mark.pieces;
            (seen, at) = (seen | mark.pieces, mark.next);
        }
        let [read, written, atomic] = kinds;
        disputed & (written | read & atomic)
    }

    /// Collects the records of a piece: one for each instruction and kind, in the order of the instructions.
    pub(super) fn records(&self, line: &Line, piece: u32, records: &mut Vec<Record>) {
        records.clear();
        self.each(line, piece, |record| {
            match records.iter_mut().find(|known| known.one.origin.is_alike(record.one.origin)) {
                Some(known) => known.join(&record, self.ranks),
                None => records.push(record),
            }
        });
        records.sort_unstable_by_key(|record| record.one.origin.of(0));
    }

    /// Adds a copy of a line of another store. Accesses that are alone stay so, if the line has no others.
    pub(super) fn merge(&mut self, line: &mut Line, store: &Store, other: &Line) {
        if other.kinds == 0 {
            return;
        }
        if line.kinds == 0 && other.kinds & ALONE != 0 {
            *line = Line { marks: END, ..*other };
            self.copy(line, store, other.marks, usize::MAX);
            return;
        }
        if line.kinds == 0 {
            line.unit = other.unit;
        } else if line.unit != other.unit {
            line.unit = SEVERAL;
        }
        if line.kinds & ALONE != 0 {
            line.recorded = 0;
        }
        line.kinds = (line.kinds | other.kinds) & !ALONE;
        let (mut at, mut count) = (line.marks, 0);
        while let Some(mark) = self.marks.get(at as usize) {
            (at, count) = (mark.next, count + 1);
        }
        let at = self.copy(line, store, other.marks, MARKS.saturating_sub(count));
        let rest = Line { marks: at, ..*other };
        if rest.marks == END && store.table(&rest).is_none() {
            let listed = store.listed(rest.chains).filter(|(piece, _)| *piece != END);
            return listed.for_each(|(piece, record)| self.add(line, piece, record));
        }
        for piece in 0..32 {
            store.each(&rest, piece, |record| self.add(line, piece, &record));
        }
    }

    /// Adds copies of marks of another store, which are listed from an index on, at most so many. Returns the index of the others.
    fn copy(&mut self, line: &mut Line, store: &Store, mut at: u32, most: usize) -> u32 {
        let mut count = 0;
        while let Some(mark) = store.marks.get(at as usize).filter(|_| count < most) {
            let mut values = mark.values;
            if let Some(digests) = store.values.get(mark.values as usize).filter(|_| mark.has_digests()) {
                values = self.values.len() as u32;
                self.values.push(*digests);
            }
            let next = std::mem::replace(&mut line.marks, self.marks.len() as u32);
            self.marks.push(Mark { values, next, ..*mark });
            (at, count) = (mark.next, count + 1);
        }
        at
    }

    /// Splits each piece of a line into `1 << halvings` pieces; returns part `index`.
    pub(super) fn split(&mut self, line: &Line, halvings: u32, index: u32) -> Line {
        let recorded = if line.kinds & ALONE != 0 { split(line.recorded, halvings, index) } else { 0 };
        let mut new = Line { unit: line.unit, kinds: line.kinds, recorded, ..Line::default() };
        let old = |piece: u32| (index * 32 + piece) >> halvings;
        let mut at = line.marks;
        while let Some(mark) = self.marks.get(at as usize).copied() {
            at = mark.next;
            let (pieces, varied) = (split(mark.pieces, halvings, index), split(mark.varied, halvings, index));
            if pieces == 0 {
                continue;
            }
            let mut values = mark.values;
            if let Some(digests) = self.values.get(mark.values as usize).copied().filter(|_| mark.has_digests()) {
                values = self.values.len() as u32;
                self.values.push(std::array::from_fn(|piece| digests[old(piece as u32) as usize]));
            }
            let lanes = mark.lanes.split(halvings, index);
            let next = std::mem::replace(&mut new.marks, self.marks.len() as u32);
            self.marks.push(Mark { pieces, lanes, values, varied, next, ..mark });
        }
        for piece in (0..32).filter(|_| line.chains != END) {
            let mut at = self.first(line, old(piece));
            while let Some(chained) = self.records.get(at as usize).copied() {
                if chained.piece == old(piece) {
                    self.add(&mut new, piece, &chained.record);
                }
                at = chained.next;
            }
        }
        new
    }

    /// Drops the accesses to some pieces of a line.
    pub(super) fn forget(&mut self, line: &mut Line, pieces: u32) {
        let mut at = line.marks;
        while let Some(mark) = self.marks.get_mut(at as usize) {
            mark.pieces &= !pieces;
            at = mark.next;
        }
        line.recorded &= !pieces;
        for piece in bits(pieces) {
            let mut at = self.first(line, piece);
            while let Some(chained) = self.records.get_mut(at as usize) {
                if chained.piece == piece {
                    chained.piece = END;
                }
                at = chained.next;
            }
        }
    }
}
