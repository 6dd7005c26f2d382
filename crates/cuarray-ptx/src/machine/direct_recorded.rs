//! Records of direct accesses, for launches that are watched.
//!
//! A direct read is recorded from its shape: by ranges of memory, instead of lane by lane. Other accesses take the general way:
//! reads of global memory that may race, reads of shared memory that may be unwritten, and stores.

use super::Machine;
use super::access_mode::{GUESS, IN_PLACE, STRONG, slot};
use super::direct::{GROUP, GROUPS, SHARED, Shape};
use crate::machine::program::Instruction;
use crate::machine::region::Strength;
use crate::races::Watched;
use crate::races::cell::{Kind, Now};
use crate::races::deferred::Groups;

impl Machine<'_> {
    /// Whether the launch needs the usual records only. Otherwise the addresses of each lane are compared.
    #[inline(always)]
    pub(super) fn records_directly(&self) -> bool {
        self.causality.is_none()
            && !self.has_clusters()
            && !self.launch.dependent
            && self.cluster().pending.count == 0
            && self.races.grid_turn == self.grid.turn
            && self.freed.is_empty()
    }

    /// Records a read whose shape is in its slot, by an instruction whose records are the usual ones. Returns `false` if the
    /// read has to take the general way.
    #[inline(always)]
    pub(super) fn record_read(&mut self, instruction: &Instruction, pc: u32, size: u32) -> bool {
        if instruction.c & (STRONG | GUESS | IN_PLACE) != 0 {
            return false;
        }
        let (slot, offset) = (slot(instruction.c), instruction.imm);
        if self.shapes.slots[slot].region == SHARED {
            return !self.races.on || self.record_shared_read(slot, offset, pc, size);
        }
        let shape = &self.shapes.slots[slot];
        if self.races.on && !self.is_only_read(shape.region as usize) {
            return false;
        }
        if self.recorder.enabled {
            self.recorder.strength = Strength::Weak;
            shape.ranges(size, |start, bytes| {
                self.recorder.note(shape.region as usize, start.wrapping_add_signed(offset), bytes, false);
            });
        }
        true
    }

    #[inline(always)]
    fn record_shared_read(&mut self, slot: usize, offset: i64, pc: u32, size: u32) -> bool {
        let length = self.block.shared_bytes();
        let shape = &mut self.shapes.slots[slot];
        if self.recorder.enabled {
            let (start, end) = shape.hull(offset, length);
            // Bytes between two variables are never written.
            if !self.block.is_written(start, end) {
                return false;
            }
        }
        let Some(watched) = self.block.watched.as_mut() else { return false };
        let Watched { order, deferred, exempt, .. } = &mut **watched;
        if order.grid_completed(self.grid.turn) {
            *exempt = false;
        }
        let now = Now::new(order, self.warp.number, pc, Kind::Read);
        let (pointers, host, rows) = (shape.pointers, shape.host, shape.rows);
        let groups = || Groups { firsts: pointers.map(|pointer| pointer.wrapping_sub(host) as u32), rows, size };
        deferred.list(&now, &mut shape.known, groups, offset as u32)
    }
}

impl Shape {
    /// The first offset in the memory and the one behind the last, for an access at an offset from the shape.
    #[inline(always)]
    fn hull(&self, offset: i64, length: u64) -> (u64, u64) {
        let moved = |from: u64, back: i64| from.wrapping_add_signed(offset).wrapping_sub(back as u64);
        (moved(0, self.least), moved(length, self.greatest))
    }

    /// Calls `f` with the offset and the size of each range in the memory.
    #[inline(always)]
    fn ranges(&self, size: u32, mut f: impl FnMut(u64, u64)) {
        let size = u64::from(size);
        let mut group = 0;
        while group < GROUPS {
            let (first, row) = (self.pointers[group], self.rows >> group & 1);
            let (bytes, step) = if row == 1 { (GROUP as u64 * size, GROUP as u64 * size) } else { (size, 0) };
            let start = group;
            group += 1;
            let follows = |group: usize, count: u64| {
                self.rows >> group & 1 == row && self.pointers[group] == first.wrapping_add(step * count)
            };
            while group < GROUPS && follows(group, (group - start) as u64) {
                group += 1;
            }
            f(first.wrapping_sub(self.host), bytes + step * (group - start - 1) as u64);
        }
    }
}
