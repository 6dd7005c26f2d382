//! Lines that one warp alone has accessed, each of its lanes its own bytes.
//!
//! Threads mostly read and write their own elements of global memory. Such accesses cannot race within the block, so they are
//! recorded once, for the comparison of blocks. When another access meets the line, the block records them too, as if
//! they were made then. Nothing is lost: the record has the time, the lanes and the values.
//!
//! Each block has to end before the next one begins. Then the accesses of other blocks need no record within a block.

use super::block_line::{ALONE, Line, Mark, Part, Store};
use super::blocks::{Grid, Slot};
use super::cell::{Now, Origin};
use super::page::{lines_of, shift_of};
use super::span::{Lanes, Row, bits};

/// The most instructions whose accesses to a line are recorded alone.
const MOST: usize = 4;

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
    /// Whether a line has no accesses but those of the same lanes of the same warp.
    #[inline(always)]
    fn takes_alone(&self, line: &Line, part: &Part<'_>) -> bool {
        if line.kinds == 0 {
            return true;
        }
        let (mut at, mut count) = (line.marks, 0);
        while let Some(mark) = self.marks.get(at as usize).filter(|_| line.kinds & ALONE != 0) {
            let threads = |slot: Slot| (slot.block, slot.origin.thread());
            if mark.lanes != part.lanes || threads(mark.one) != threads(part.slot) {
                return false;
            }
            if mark.one.origin.is_alike(part.slot.origin) {
                // The times of earlier values are not told apart by pieces.
                let differ = self.differing(mark, part);
                return mark.pieces == part.pieces && (differ == 0 || mark.varied & !differ == 0);
            }
            at = mark.next;
            count += 1;
        }
        line.kinds & ALONE != 0 && count < MOST
    }

    /// The pieces to which an access writes another value than a mark has.
    #[inline(always)]
    fn differing(&self, mark: &Mark, part: &Part<'_>) -> u32 {
        let Some(values) = self.values.get(mark.values as usize) else { return 0 };
        bits(part.pieces).fold(0, |all, piece| all | u32::from(values[piece as usize] != part.value(piece)) << piece)
    }

    /// Adds an access that [`Store::takes_alone`] has allowed.
    #[inline(always)]
    fn add_alone(&mut self, line: &mut Line, part: &Part<'_>, clock: u32) {
        let mut at = line.marks;
        while let Some(mark) = self.marks.get(at as usize) {
            if !mark.one.origin.is_alike(part.slot.origin) {
                at = mark.next;
                continue;
            }
            let differ = self.differing(mark, part);
            let mark = &mut self.marks[at as usize];
            if differ != 0 {
                (mark.varied, mark.earlier) = (differ, mark.clock);
                let values = &mut self.values[mark.values as usize];
                bits(part.pieces).for_each(|piece| values[piece as usize] = part.value(piece));
            }
            mark.clock = clock;
            return;
        }
        (line.unit, line.kinds) =
            (part.slot.block >> self.ranks, line.kinds | 1 << part.slot.origin.kind() as u32 | ALONE);
        self.push(line, part, clock);
    }

    /// Calls `f` with the accesses of a block that a line has alone, and ends this state.
    #[cold]
    fn expose(&self, line: &mut Line, number: usize, shift: u32, block: u32, f: &mut dyn FnMut(&Exposed)) {
        line.kinds &= !ALONE;
        let (mut marks, mut count, mut at) = ([None; MOST], 0, line.marks);
        while let (Some(mark), Some(place)) = (self.marks.get(at as usize), marks.get_mut(count)) {
            (*place, count, at) = (Some(*mark), count + 1, mark.next);
        }
        let own = marks.into_iter().rev().flatten().filter(|mark| mark.one.block == block && mark.pieces != 0);
        for mark in own {
            let (piece, size) = (mark.pieces.trailing_zeros(), 1 << shift);
            let lanes = bits(mark.pieces).fold(0, |lanes, piece| lanes | mark.lanes.at(piece));
            let offset = (number as u32 * 32 + piece) << shift;
            let row = Row { offset, size, step: size, lane: mark.lanes.first_at(piece), lanes };
            let mut exposed = Exposed { row, origin: mark.one.origin, clock: mark.clock, values: [0; 32] };
            if let Some(values) = self.values.get(mark.values as usize) {
                let lane = |piece: u32| mark.lanes.first_at(piece) as usize;
                bits(mark.pieces).for_each(|piece| exposed.values[lane(piece)] = values[piece as usize]);
                if mark.varied != 0 {
                    let mut earlier = Exposed { clock: mark.earlier, ..exposed };
                    bits(mark.varied).for_each(|piece| earlier.values[lane(piece)] ^= 1);
                    f(&earlier);
                }
            }
            f(&exposed);
        }
    }
}

impl Grid {
    /// Records accesses to a page, if nothing but the same lanes has accessed their lines. Returns whether it did. The arguments are
    /// as for [`Grid::touch`], with the time of the access.
    #[inline(always)]
    pub(crate) fn touch_alone(&mut self, place: usize, row: &Row, slot: Slot, clock: u32, values: &[u32; 32]) -> bool {
        let Some(page) = self.pages.get_mut(place).filter(|_| self.sequential) else { return false };
        let size = 1 << page.shift;
        if (row.step, row.size) != (size, size) || row.offset & (size - 1) != 0 {
            return false;
        }
        let (store, lines) = (&mut self.store, &mut page.lines);
        let part = |pieces: u32, lanes: Lanes| Part { slot, pieces, lanes, values };
        let mut takes = true;
        row.parts(page.shift, |line, pieces, lanes| {
            takes = takes && lines.get(line).is_some_and(|line| store.takes_alone(line, &part(pieces, lanes)));
        });
        if takes {
            row.parts(page.shift, |line, pieces, lanes| {
                if let Some(line) = lines.get_mut(line) {
                    store.add_alone(line, &part(pieces, lanes), clock);
                }
            });
        }
        takes
    }

    /// Calls `f` with the accesses of a block that were recorded alone in the lines of a row, before another access there.
    #[inline(always)]
    pub(crate) fn expose(&mut self, place: usize, row: &Row, block: u32, mut f: impl FnMut(&Exposed)) {
        let Some(page) = self.pages.get_mut(place).filter(|_| self.sequential) else { return };
        let (store, lines, shift) = (&self.store, &mut page.lines, page.shift);
        let mut each = |number: usize| {
            if let Some(line) = lines.get_mut(number).filter(|line| line.kinds & ALONE != 0) {
                store.expose(line, number, shift, block, &mut f);
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
