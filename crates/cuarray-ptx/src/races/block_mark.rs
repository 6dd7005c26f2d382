//! Marks of a [line](super::block_line): accesses of a block by one instruction to several pieces.

use super::cell::Kind;
use super::record::Slot;
use super::span::Lanes;

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

    pub(super) fn slot_at(&self, piece: u32) -> Slot {
        self.slot.of(self.lanes.first_at(piece))
    }
}

/// Accesses by one instruction to several pieces: of one block, or reads or atomic operations of two units.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub one: Slot,
    pub other: Slot,
    pub pieces: u32,
    /// The last time of the access, if it is [alone](super::one_thread_pieces).
    pub clock: u32,
    pub lanes: Lanes,
    /// For writes, the digest of the value, or the index of the digests if the lanes are a row.
    pub values: u32,
    /// The pieces to which the block wrote several values.
    pub varied: u32,
    /// The last time at which the block wrote another value to the varied pieces, if the access is alone.
    pub earlier: u32,
    pub next: u32,
}

impl Mark {
    /// Whether the mark has a digest for each piece.
    pub(super) fn has_digests(&self) -> bool {
        self.one.origin.kind() == Kind::Write && self.lanes.is_row()
    }

    /// Adds an access of the same lanes and instruction, which writes other values to some pieces. Returns whether the mark now stands for it.
    #[inline(always)]
    pub(super) fn join(&mut self, part: &Part<'_>, ranks: u32, differ: u32) -> bool {
        let slot = part.slot;
        if slot.origin.kind() == Kind::Write {
            if slot.block != self.one.block || part.pieces & !self.pieces != 0 || slot < self.one {
                return false;
            }
            if differ != 0 && slot != self.one {
                return false;
            }
            self.varied |= differ;
            return true;
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
}
