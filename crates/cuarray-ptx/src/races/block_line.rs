//! The accesses of all blocks to a line: 32 adjacent pieces of a page.
//!
//! Blocks are unordered, so the result must not depend on which block ran first, or on which core.

use super::cell::Kind;
use super::record::{Record, Slot};
use super::span::{Lanes, bits, split};

/// The part of a warp's access in a line.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    /// The access of the first lane.
    pub slot: Slot,
    pub pieces: u32,
    pub lanes: Lanes,
    /// The digest of the value that each lane writes.
    pub values: &'a [u32; 32],
}

impl Part<'_> {
    #[inline(always)]
    pub(super) fn value(&self, piece: u32) -> u32 {
        if self.slot.origin.kind() == Kind::Write { self.values[self.lanes.first_at(piece) as usize] } else { 0 }
    }

    fn slot_at(&self, piece: u32) -> Slot {
        let origin = self.slot.origin;
        Slot { origin: origin.of(origin.thread() & !31 | self.lanes.first_at(piece)), ..self.slot }
    }
}

/// Accesses by one instruction to several pieces: of one block, or reads or atomic operations of two units.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub one: Slot,
    other: Slot,
    pub pieces: u32,
    /// The last time of the access, if it is [alone](super::one_warp_lines).
    pub clock: u32,
    pub lanes: Lanes,
    /// For writes, the index of the digests.
    pub values: u32,
    /// The pieces to which the block wrote several values.
    pub varied: u32,
    /// The last time at which the block wrote another value to the varied pieces, if the access is alone.
    pub earlier: u32,
    pub next: u32,
}

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
/// The bit of a line whose accesses are [alone](super::one_warp_lines), among its kinds.
pub(super) const ALONE: u32 = 1 << 31;
/// The bit of [`Line::chains`] for a line with a list for each piece.
const TABLE: u32 = 1 << 31;
/// The most records of a line in one list.
const LISTED: u32 = 12;
/// The most marks of several pieces of a line.
const MARKS: usize = 12;
/// Fewer pieces than these are recorded one by one.
const FEW: u32 = 3;
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
    /// The pieces that have records.
    recorded: u32,
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
        self.unit == SEVERAL && self.kinds != 0 && !read_only && !atomic_only
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
        let unit = part.slot.block >> self.ranks;
        if line.kinds == 0 {
            line.unit = unit;
        } else if line.unit != unit {
            line.unit = SEVERAL;
        }
        line.kinds |= 1 << part.slot.origin.kind() as u32;
        if part.pieces.count_ones() < FEW || !self.touch_row(line, part) {
            self.touch_each(line, part);
        }
    }

    #[inline(always)]
    fn touch_row(&mut self, line: &mut Line, part: &Part<'_>) -> bool {
        let (mut at, mut count) = (line.marks, 0);
        while let Some(mark) = self.marks.get_mut(at as usize) {
            let alike = mark.one.origin.is_alike(part.slot.origin) && mark.lanes == part.lanes;
            if alike && mark.join(part, self.ranks, &self.values) {
                return true;
            }
            at = mark.next;
            count += 1;
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
            values = self.values.len() as u32;
            if part.lanes == (Lanes::row(0, 0)) {
                self.values.push(*part.values);
            } else {
                self.values.push(std::array::from_fn(|piece| part.value(piece as u32)));
            }
        }
        let (one, other) = (part.slot, Slot::default());
        let (pieces, lanes, next) = (part.pieces, part.lanes, line.marks);
        line.marks = self.marks.len() as u32;
        self.marks.push(Mark { one, other, pieces, clock, lanes, values, varied: 0, earlier: 0, next });
    }

    fn touch_each(&mut self, line: &mut Line, part: &Part<'_>) {
        for piece in bits(part.pieces) {
            self.add(line, piece, &Record::new(part.slot_at(piece), part.value(piece), Slot::default()));
        }
    }

    /// Adds a record to a piece of a line.
    #[inline(always)]
    fn add(&mut self, line: &mut Line, piece: u32, record: &Record) {
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

    /// Calls `f` with the records of a piece; several may be of one instruction.
    fn each(&self, line: &Line, piece: u32, mut f: impl FnMut(Record)) {
        let mut at = line.marks;
        while let Some(mark) = self.marks.get(at as usize) {
            at = mark.next;
            if mark.pieces >> piece & 1 == 1 {
                let lane = mark.lanes.first_at(piece);
                let value = self.values.get(mark.values as usize).map_or(0, |values| values[piece as usize]);
                let of = |slot: Slot| Slot { origin: slot.origin.of(slot.origin.thread() & !31 | lane), ..slot };
                let varied = if mark.varied >> piece & 1 == 1 { of(mark.one) } else { Slot::default() };
                f(Record::new(of(mark.one), value, varied));
                if !mark.other.is_none() {
                    f(Record::new(of(mark.other), value, Slot::default()));
                }
            }
        }
        self.chained(line, piece).for_each(|record| f(*record));
    }

    /// The pieces that may have accesses of several units.
    pub(super) fn disputed(&self, line: &Line) -> u32 {
        let (mut seen, mut disputed, mut at) = (line.recorded, line.again, line.marks);
        while let Some(mark) = self.marks.get(at as usize) {
            disputed |= if mark.other.is_none() { seen & mark.pieces } else { mark.pieces };
            (seen, at) = (seen | mark.pieces, mark.next);
        }
        disputed
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

    /// Adds a copy of a line of another store.
    pub(super) fn merge(&mut self, line: &mut Line, store: &Store, other: &Line) {
        if line.kinds == 0 {
            line.unit = other.unit;
        } else if other.kinds != 0 && line.unit != other.unit {
            line.unit = SEVERAL;
        }
        line.kinds = (line.kinds | other.kinds) & !ALONE;
        let (mut at, mut count) = (line.marks, 0);
        while let Some(mark) = self.marks.get(at as usize) {
            (at, count) = (mark.next, count + 1);
        }
        let mut at = other.marks;
        while let Some(mark) = store.marks.get(at as usize).filter(|_| count < MARKS) {
            let mut values = END;
            if let Some(digests) = store.values.get(mark.values as usize) {
                values = self.values.len() as u32;
                self.values.push(*digests);
            }
            let next = std::mem::replace(&mut line.marks, self.marks.len() as u32);
            self.marks.push(Mark { values, next, ..*mark });
            (at, count) = (mark.next, count + 1);
        }
        let rest = Line { marks: at, ..*other };
        if rest.marks == END && store.table(&rest).is_none() {
            let listed = store.listed(rest.chains).filter(|(piece, _)| *piece != END);
            return listed.for_each(|(piece, record)| self.add(line, piece, record));
        }
        for piece in 0..32 {
            store.each(&rest, piece, |record| self.add(line, piece, &record));
        }
    }

    /// Splits each piece of a line into `1 << halvings` pieces; returns part `index`.
    pub(super) fn split(&mut self, line: &Line, halvings: u32, index: u32) -> Line {
        let mut new = Line { unit: line.unit, kinds: line.kinds, ..Line::default() };
        let old = |piece: u32| (index * 32 + piece) >> halvings;
        let mut at = line.marks;
        while let Some(mark) = self.marks.get(at as usize).copied() {
            at = mark.next;
            let (pieces, varied) = (split(mark.pieces, halvings, index), split(mark.varied, halvings, index));
            if pieces == 0 {
                continue;
            }
            let mut values = END;
            if let Some(digests) = self.values.get(mark.values as usize).copied() {
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

impl Mark {
    /// Adds an access of the same lanes and instruction. Returns whether the mark now stands for it.
    #[inline(always)]
    fn join(&mut self, part: &Part<'_>, ranks: u32, values: &[[u32; 32]]) -> bool {
        let slot = part.slot;
        if slot.origin.kind() == Kind::Write {
            return slot.block == self.one.block && self.join_written(part, &values[self.values as usize]);
        }
        if slot.block == self.one.block && part.pieces & !self.pieces == 0 && slot >= self.one {
            return true;
        }
        if part.pieces != self.pieces {
            return false;
        }
        if slot.block >> ranks == self.one.block >> ranks {
            self.one = self.one.or(slot);
        } else if slot < self.one {
            self.other = std::mem::replace(&mut self.one, slot);
        } else {
            self.other = self.other.or(slot);
        }
        true
    }

    #[inline(always)]
    fn join_written(&mut self, part: &Part<'_>, values: &[u32; 32]) -> bool {
        if part.pieces & !self.pieces != 0 || part.slot < self.one {
            return false;
        }
        let differs = |piece| u32::from(values[piece as usize] != part.value(piece)) << piece;
        let varied = bits(part.pieces).fold(0, |all, piece| all | differs(piece));
        if varied != 0 && part.slot != self.one {
            return false;
        }
        self.varied |= varied;
        true
    }
}
