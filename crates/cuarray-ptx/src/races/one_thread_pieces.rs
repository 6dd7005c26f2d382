//! Lines in which each piece has the accesses of one thread alone.
//!
//! Threads mostly read and write their own elements of global memory. Such accesses cannot race, so they are
//! recorded once, for the comparison of blocks. When an access of another thread meets one of them, the block records those of the line that
//! are its own too, as if they were made then. Nothing is lost: the record has the time, the lanes and the values.
//!
//! Each block has to end before the next one begins. Then the accesses of other blocks need no record within a block.

use super::block_line::{ALONE, END, FEW, Line, Store};
use super::block_mark::{Mark, Part};
use super::blocks::{Grid, Slot};
use super::cell::{Kind, Now, Origin};
use super::page::{lines_of, shift_of};
use super::span::{Lanes, Row, bits};

/// The most marks of a line with pieces of an access.
const MOST: usize = 12;

/// Accesses that were recorded alone: the place, the thread, the time, and the digest of each lane's value.
pub(crate) struct Exposed {
    pub row: Row,
    pub origin: Origin,
    pub clock: u32,
    pub values: [u32; 32],
}

impl Exposed {
    /// The access, for the comparison with a later one.
    pub(crate) fn at(&self, later: &Now) -> Now {
        let (kind, warp) = (self.origin.kind(), self.origin.thread() / 32);
        Now { origin: self.origin, kind, clock: self.clock, warp, settled: later.settled }
    }
}

impl Store {
    /// Whether all pieces of a line have accesses of one thread each, with this one too.
    #[inline(always)]
    fn takes_alone(&self, line: &Line, part: &Part<'_>) -> bool {
        if line.kinds != 0 && line.kinds & ALONE == 0 || !part.lanes.is_apart() {
            return false;
        }
        let (mut at, mut count) = (line.marks, 0);
        while let Some(mark) = self.marks.get(at as usize).filter(|_| line.recorded & part.pieces != 0) {
            at = mark.next;
            let common = mark.pieces & part.pieces;
            if common == 0 {
                continue;
            }
            count += 1;
            let threads = |slot: Slot| (slot.block, slot.origin.thread());
            let alike = |piece| mark.lanes.at(piece) == part.lanes.at(piece);
            let same = threads(mark.one) == threads(part.slot) && (mark.lanes == part.lanes || bits(common).all(alike));
            if !same || count > MOST {
                return false;
            }
            if mark.one.origin.is_alike(part.slot.origin) {
                // The times of earlier values are not told apart by pieces.
                let differ = self.differing(mark, part);
                return mark.pieces == part.pieces && (differ == 0 || mark.varied & !differ == 0);
            }
        }
        true
    }

    /// Adds an access that [`Store::takes_alone`] has allowed.
    #[inline(always)]
    fn add_alone(&mut self, line: &mut Line, part: &Part<'_>, clock: u32) {
        let mut at = line.marks;
        while let Some(mark) = self.marks.get(at as usize).filter(|_| line.recorded & part.pieces != 0) {
            if mark.pieces & part.pieces == 0 || !mark.one.origin.is_alike(part.slot.origin) {
                at = mark.next;
                continue;
            }
            let differ = self.differing(mark, part);
            let mark = &mut self.marks[at as usize];
            if differ != 0 {
                (mark.varied, mark.earlier) = (differ, mark.clock);
                match self.values.get_mut(mark.values as usize).filter(|_| mark.lanes.is_row()) {
                    Some(values) => bits(part.pieces).for_each(|piece| values[piece as usize] = part.value(piece)),
                    None => mark.values = part.value(part.pieces.trailing_zeros()),
                }
            }
            mark.clock = clock;
            return;
        }
        line.note(part.slot.block >> self.ranks, part.slot.origin.kind());
        line.kinds |= ALONE;
        line.recorded |= part.pieces;
        self.push(line, part, clock);
    }

    /// Calls `f` with the accesses of a block that a line has alone, and ends this state.
    #[cold]
    fn expose(&mut self, line: &mut Line, place: (usize, u32), block: u32, f: &mut dyn FnMut(&Exposed)) {
        line.kinds &= !ALONE;
        line.recorded = 0;
        let (mut marks, mut at) = (Vec::new(), std::mem::replace(&mut line.marks, END));
        while let Some(mark) = self.marks.get(at as usize) {
            marks.push((at, *mark));
            at = mark.next;
        }
        let own = marks.iter().map(|(_, mark)| mark).filter(|mark| mark.one.block == block);
        let mut times: Vec<(u32, bool, &Mark)> = own.clone().map(|mark| (mark.clock, false, mark)).collect();
        times.extend(own.filter(|mark| mark.varied != 0).map(|mark| (mark.earlier, true, mark)));
        // The block takes them for accesses in this order.
        times.sort_by_key(|(clock, ..)| *clock);
        times.iter().for_each(|(clock, earlier, mark)| self.expose_mark(mark, (*clock, *earlier), place, f));
        for (at, mark) in &marks {
            if mark.pieces.count_ones() < FEW {
                // Many short marks would be a long list.
                bits(mark.pieces).for_each(|piece| self.add(line, piece, &self.record(mark, piece)));
            } else {
                self.marks[*at as usize].next = std::mem::replace(&mut line.marks, *at);
            }
        }
    }

    /// Calls `f` with an access that is alone, at a time: its last one, or an `earlier` one, at which the threads wrote other values to some pieces.
    fn expose_mark(
        &self,
        mark: &Mark,
        (clock, earlier): (u32, bool),
        place: (usize, u32),
        f: &mut dyn FnMut(&Exposed),
    ) {
        mark.lanes.rows(place, mark.pieces, |row| {
            let mut exposed = Exposed { row, origin: mark.one.origin, clock, values: [0; 32] };
            if mark.one.origin.kind() == Kind::Write {
                let lane = |piece: u32| mark.lanes.first_at(piece) as usize;
                bits(mark.pieces).for_each(|piece| exposed.values[lane(piece)] = self.value(mark, piece));
                let varied = bits(mark.varied).fold(0, |all, piece| all | 1 << lane(piece));
                bits(if earlier { varied } else { 0 }).for_each(|lane| exposed.values[lane as usize] ^= 1);
            }
            f(&exposed);
        });
    }
}

impl Grid {
    /// Records accesses to a page in the lines whose pieces have accesses of one thread each, and returns the lanes of other lines. The arguments are
    /// as for [`Grid::touch`], with the time of the access.
    #[inline(always)]
    pub(crate) fn touch_alone(&mut self, place: usize, row: &Row, slot: Slot, clock: u32, values: &[u32; 32]) -> u32 {
        let Some(page) = self.pages.get_mut(place).filter(|_| self.sequential) else { return row.lanes };
        if shift_of(row.size) < page.shift || row.offset & ((1 << page.shift) - 1) != 0 {
            return row.lanes;
        }
        let (store, lines, mut rest) = (&mut self.store, &mut page.lines, 0);
        row.parts(page.shift, |line, pieces, lanes: Lanes| {
            let Some(line) = lines.get_mut(line) else { return };
            let part = Part { slot, pieces, lanes, values };
            if store.takes_alone(line, &part) {
                store.add_alone(line, &part, clock);
            } else {
                rest |= bits(pieces).fold(0, |all, piece| all | lanes.at(piece));
            }
        });
        rest
    }

    /// Calls `f` with the accesses of a block that were recorded alone in the lines of a row, before another access there.
    #[inline(always)]
    pub(crate) fn expose(&mut self, place: usize, row: &Row, block: u32, mut f: impl FnMut(&Exposed)) {
        let Some(page) = self.pages.get_mut(place).filter(|_| self.sequential) else { return };
        let (store, lines, shift) = (&mut self.store, &mut page.lines, page.shift);
        let mut each = |number: usize| {
            if let Some(line) = lines.get_mut(number).filter(|line| line.kinds & ALONE != 0) {
                store.expose(line, (number, shift), block, &mut f);
            }
        };
        if shift_of(row.size) < shift {
            // The access splits the pieces of all lines.
            (0..lines_of(shift)).for_each(each);
        } else {
            row.parts(shift, |line, _, _| each(line));
        }
    }
}
