//! Marks: recorded accesses of a block by one instruction at one time.
//!
//! A later access of the same threads by the same instruction covers an earlier one: each access that is unordered with
//! the earlier one is unordered with it too.

use super::cell::{Kind, Now, Origin};
use super::order::Order;
use super::span::{Lanes, bits};

/// The end of a chain of marks, and the index of what is missing.
pub(super) const END: u32 = u32::MAX;

/// Accesses of one kind to some pieces.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    /// The kind and the instruction; the thread is 0.
    pub origin: Origin,
    pub clock: u32,
    pub pieces: u32,
    /// The warps whose lanes access the pieces.
    pub warps: u32,
    pub lanes: Lanes,
    /// For a write of one piece, the digest of the value. For one of several pieces, the index of their digests.
    pub value: u32,
    /// The pieces to which the threads wrote another value before, and the last time of such a write.
    pub varied: u32,
    pub earlier: u32,
    /// The index of the lanes of each warp, or [`END`] if `lanes` access the pieces in each warp.
    pub apart: u32,
    pub next: u32,
}

/// The part of a warp's access in a line.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub now: &'a Now,
    pub pieces: u32,
    pub lanes: Lanes,
    /// The digest of the value that each lane writes. Lanes that write one piece write one value.
    pub values: &'a [u32; 32],
}

impl Part<'_> {
    #[inline(always)]
    pub(super) fn value(&self, piece: u32) -> u32 {
        if self.now.kind == Kind::Write { self.values[self.lanes.first_at(piece) as usize] } else { 0 }
    }

    #[inline(always)]
    pub(super) fn warp(&self) -> u32 {
        1 << (self.now.warp & 31)
    }
}

/// Receives the lane of an access and the other access of a race, and returns whether it accepts the race.
pub(crate) type Sink<'a> = dyn FnMut(u32, Origin) -> bool + 'a;

impl Mark {
    pub(super) fn new(part: &Part<'_>, pieces: u32, lanes: Lanes, value: u32) -> Mark {
        let (origin, clock) = (part.now.origin.of(0), part.now.clock);
        let warps = part.warp();
        Mark { origin, clock, pieces, warps, lanes, value, varied: 0, earlier: 0, apart: END, next: END }
    }

    /// Whether all accesses of the mark are seen at once to be ordered before an access by `lanes`, or by the same threads.
    #[inline(always)]
    pub(super) fn is_ordered(&self, part: &Part<'_>, lanes: Lanes, order: &Order) -> bool {
        if self.warps != part.warp() {
            return false;
        }
        self.lanes.is_apart() && self.lanes == lanes || order.are_together(part.now.warp, self.clock)
    }

    /// Reports an unordered access of the mark to some pieces at a time; returns whether there is one.
    #[cold]
    pub(super) fn compare(
        &self,
        part: &Part<'_>,
        (pieces, clock): (u32, u32),
        order: &Order,
        sink: &mut Sink<'_>,
    ) -> bool {
        let now = part.now;
        for warp in bits(self.warps).filter(|_| pieces != 0) {
            let origin = |lane| self.origin.of(warp * 32 + lane);
            if warp != now.warp {
                let piece = pieces.trailing_zeros();
                if !order.knows(now.warp, warp, clock)
                    && sink(part.lanes.first_at(piece), origin(self.lanes.first_at(piece)))
                {
                    return true;
                }
                continue;
            }
            for piece in bits(pieces).filter(|_| !order.are_together(warp, clock)) {
                for own in bits(part.lanes.at(piece)) {
                    let mut others = bits(self.lanes.at(piece)).filter(|lane| *lane != own).map(origin);
                    if others.any(|other| !order.before(other.thread(), clock, warp, own) && sink(own, other)) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Adds an access to one piece, whose instruction is as that of the mark. Returns whether the mark now stands for it.
    #[inline(always)]
    pub(super) fn join(&mut self, part: &Part<'_>, own: u32, value: u32) -> bool {
        let lanes = self.lanes.at(0);
        let equal = self.value == value && self.varied == 0;
        if self.warps == part.warp() {
            if equal && lanes & !own == 0 || self.value == value && lanes == own {
                (self.clock, self.lanes) = (part.now.clock, Lanes::all(own));
                return true;
            }
            if lanes == own {
                (self.varied, self.earlier) = (self.pieces, self.clock);
                (self.value, self.clock) = (value, part.now.clock);
                return true;
            }
            if equal && self.clock == part.now.clock {
                self.lanes = Lanes::all(lanes | own);
                return true;
            }
        } else if equal {
            if self.clock == part.now.clock {
                if lanes == own {
                    self.warps |= part.warp();
                    return true;
                }
                return self.warps & part.warp() != 0 && own & !lanes == 0;
            }
            if lanes & !own == 0 {
                // The access covers the ones of its warp.
                self.warps &= !part.warp();
            }
        }
        false
    }
    /// As [`Mark::join`] for reads and atomic operations, if other `lanes` access the piece in each warp.
    #[inline(always)]
    pub(super) fn join_apart(&mut self, part: &Part<'_>, own: u32, lanes: &mut [u32; 32]) -> bool {
        let lanes = &mut lanes[part.now.warp as usize & 31];
        if self.clock == part.now.clock {
            (self.warps, *lanes) = (self.warps | part.warp(), *lanes | own);
            return true;
        }
        if *lanes & !own != 0 {
            return false;
        }
        // The access covers the ones of its warp.
        if self.warps == part.warp() {
            (self.clock, *lanes) = (part.now.clock, own);
            return true;
        }
        self.warps &= !part.warp();
        *lanes = 0;
        false
    }

    /// Tells the lanes of the warps apart, and adds an access of the same time.
    pub(super) fn take_apart(&mut self, part: &Part<'_>, own: u32, apart: &mut Vec<[u32; 32]>) {
        let mut lanes = [0; 32];
        bits(self.warps).for_each(|warp| lanes[warp as usize] = self.lanes.at(0));
        lanes[part.now.warp as usize & 31] |= own;
        (self.warps, self.lanes, self.apart) = (self.warps | part.warp(), Lanes::all(0), apart.len() as u32);
        apart.push(lanes);
    }
}
