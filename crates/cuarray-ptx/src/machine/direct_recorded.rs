//! Records of direct accesses, for launches that are watched.
//!
//! A direct access is recorded from its shape: by ranges of memory, instead of lane by lane. Other accesses take the general way:
//! - those of global memory that may race and are neither one row nor of one address,
//! - reads of memory that may be unwritten,
//! - stores in shared memory.

use super::Machine;
use super::access_mode::{GUESS, IN_PLACE, STRONG, slot};
use super::direct::{GROUP, GROUPS, SHARED, Shape};
use super::watch::{Digests, Finds, NOTHING};
use crate::machine::pattern::Chains;
use crate::machine::program::Instruction;
use crate::machine::region::Strength;
use crate::races::Watched;
use crate::races::cell::{Kind, Now, Origin};
use crate::races::deferred::Groups;
use crate::races::global_access::GlobalAccess;
use crate::races::page::PAGE;
use crate::races::span::Row;

/// The bits of all groups.
pub(super) const ALL_ROWS: u32 = (1 << GROUPS) - 1;

impl Machine<'_> {
    /// Whether the launch needs the usual records only. Otherwise the addresses of each lane are compared.
    #[inline(always)]
    pub(super) fn records_directly(&self) -> bool {
        self.is_ordered_by_barriers()
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
        let shape = self.shapes.slots[slot];
        let may_race = self.races.on && !self.is_only_read(shape.region as usize);
        let step = shape.step(size).filter(|_| self.launch.aliases.is_empty());
        if may_race && step.is_none() || self.note_shape(&shape, (offset, size), false) {
            return false;
        }
        if let Some(step) = step.filter(|_| may_race) {
            self.touch_shape(&shape, (offset, size, step), Kind::Read, NOTHING, pc);
        }
        true
    }

    /// Adds a weak access to the accessed ranges. Returns whether it may read bytes that nothing has written.
    #[inline(always)]
    fn note_shape(&mut self, shape: &Shape, (offset, size): (i64, u32), write: bool) -> bool {
        let mut meets = false;
        if self.recorder.enabled {
            self.recorder.strength = Strength::Weak;
            shape.ranges(size, |start, bytes| {
                meets |= self.recorder.note(shape.region as usize, start.wrapping_add_signed(offset), bytes, write);
            });
        }
        meets
    }

    /// Records an access to global memory at an offset from a shape, whose reads find written memory. `notes` tells whether the recorder may not
    /// have it. Returns `false` if its addresses have to be compared one by one.
    pub(super) fn record_shape(
        &mut self,
        shape: &Shape,
        (offset, size): (i64, u32),
        kind: Kind,
        (digests, notes): (Digests<'_>, bool),
        pc: u32,
    ) -> bool {
        if notes {
            self.note_shape(shape, (offset, size), kind == Kind::Write);
        }
        if !self.races.on || self.is_only_read(shape.region as usize) {
            return true;
        }
        let Some(step) = shape.step(size) else { return false };
        self.touch_shape(shape, (offset, size, step), kind, digests, pc);
        true
    }

    /// Records a store whose shape is in its slot. `values` returns a digest of the value of each lane. Returns `false` if the store has
    /// to take the general way.
    #[inline(always)]
    pub(super) fn record_write(
        &mut self,
        instruction: &Instruction,
        size: u32,
        values: impl FnOnce() -> [u32; 32],
    ) -> bool {
        let shape = self.shapes.slots[slot(instruction.c)];
        let general = instruction.c & (STRONG | IN_PLACE) != 0
            || shape.region == SHARED
            || shape.step(size) != Some(size)
            || self.is_only_read(shape.region as usize)
            || !self.launch.aliases.is_empty();
        if general {
            return false;
        }
        self.note_shape(&shape, (instruction.imm, size), true);
        if self.races.on {
            self.touch_shape(&shape, (instruction.imm, size, size), Kind::Write, &values(), self.pc - 1);
        }
        true
    }

    /// As [`Machine::touch_row`], at an offset from a shape.
    fn touch_shape(
        &mut self,
        shape: &Shape,
        (offset, size, step): (i64, u32, u32),
        kind: Kind,
        digests: Digests<'_>,
        pc: u32,
    ) {
        let first = shape.pointers[0].wrapping_sub(shape.host).wrapping_add_signed(offset);
        let Some(region) = self.launch.regions.get(shape.region as usize) else { return };
        self.touch_row(region.start.wrapping_add(first), (size, step), kind, digests, pc);
    }

    /// Compares an access to global memory with recorded ones. The lanes access one address, or aligned elements at a distance of `step` bytes.
    pub(super) fn touch_row(
        &mut self,
        address: u64,
        (size, step): (u32, u32),
        kind: Kind,
        digests: Digests<'_>,
        pc: u32,
    ) {
        let Some(watched) = self.block.watched.as_mut() else { return };
        let Watched { order, shadow, updates, .. } = &mut **watched;
        order.settle_after_grid(self.grid.turn);
        let now = Now::new(order, self.warp.number, pc, kind);
        let (launch, block) = (self.launch, self.block.number);
        let place = |lane: u32| address.wrapping_add(u64::from(lane * step));
        let mut finds = Finds { launch, updates, block, now, size, shared: false, found: Vec::new() };
        let mut sink = |lane: u32, with: Origin| finds.accepts(place(lane), lane, with);
        let mut access = GlobalAccess::new((order, shadow, &mut self.races.grid), now, self.block.slot, digests);
        let mut lane = 0;
        while lane < 32 {
            let offset = (place(lane) % PAGE) as u32;
            // Elements are aligned, so a page has whole ones. With a step of 0, all are one element.
            let count = if step == 0 { 32 } else { (PAGE as u32 - offset).div_ceil(step) }.min(32 - lane);
            let lanes = u32::MAX >> (32 - count) << lane;
            access.touch(place(lane) / PAGE, &Row { offset, size, step, lane, lanes }, &mut sink);
            lane += count;
        }
        let found = finds.found;
        found.into_iter().for_each(|race| self.races.add(launch, race, false));
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
        shape.list(watched, (self.grid.turn, self.warp.number), size, &[(pc, offset as i32)])
    }
}

impl Shape {
    /// Lists reads of shared memory by a warp, each by an instruction at an offset. Returns `false` if they have to be compared at once.
    #[inline(always)]
    pub(super) fn list(
        &mut self,
        watched: &mut Watched,
        (turn, warp): (u32, u32),
        size: u32,
        reads: &[(u32, i32)],
    ) -> bool {
        let Watched { order, deferred, .. } = watched;
        order.settle_after_grid(turn);
        let now = Now::new(order, warp, 0, Kind::Read);
        let addresses = *self;
        deferred.list(&now, &mut self.known, || addresses.groups(size), reads)
    }

    /// The chains of the elements' addresses.
    #[inline(always)]
    pub(super) fn chains(&self, size: u32) -> Chains {
        Chains::of_groups(&self.pointers, self.rows, size)
    }

    /// The addresses of elements in shared memory.
    fn groups(&self, size: u32) -> Groups {
        Groups { firsts: self.pointers.map(|pointer| pointer.wrapping_sub(self.host) as u32), rows: self.rows, size }
    }

    /// The distance of the lanes' elements: their size or zero, if it is the same for all lanes.
    #[inline(always)]
    fn step(&self, size: u32) -> Option<u32> {
        step_of(&self.pointers, self.rows, size)
    }

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

/// The distance of elements of a size in groups, as for [`Shape`], whose first elements have these addresses: zero, the size, or none for all.
#[inline(always)]
pub(super) fn step_of(firsts: &[u64; GROUPS], rows: u32, size: u32) -> Option<u32> {
    let step = match rows {
        0 => 0,
        ALL_ROWS => size,
        _ => return None,
    };
    let apart = GROUP as u64 * u64::from(step);
    firsts.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(apart)).then_some(step)
}
