//! Asynchronous copies into shared memory by each thread: `cp.async`.

use super::barrier::arrive;
use super::in_flight::{Arrival, Copies, Copy, Entry, Place};
use super::{Copying, Issuer, move_bytes};
use crate::machine::access_mode::{SHARED, space};
use crate::machine::address_windows::SHARED_WINDOW;
use crate::machine::atomic::Word;
use crate::machine::program::Instruction;
use crate::machine::{Flow, Machine};
use crate::races::causality::phases::Step;
use crate::races::causality::times::Times;
use crate::races::cell::{Kind, Origin, digest};

/// `[b] = [a]`: starts a copy of `imm` bytes. Further operands: the offset of `a`; whether the address `b` has 64 bits;
/// its offset; the number of bytes to read, and the predicate of lanes that read nothing, or left out. Unread bytes are
/// zero.
pub(crate) unsafe fn copy(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let extra = |machine: &Machine<'_>, index| machine.extra(instruction, index);
    let wide = if extra(machine, 1) == 1 { 8 } else { 0 };
    let (count, ignored) = (machine.optional(instruction, 3), machine.optional(instruction, 4));
    let size = instruction.imm as u32;
    // SAFETY: the resolver checked the widths: `a` has 64 bits, `b` as stated by its operand, the count 32.
    let (sources, mut targets, counts, ignores) = unsafe {
        let sources = machine.generic_addresses(instruction.a, extra(machine, 0), 8 | 1);
        let targets = machine.generic_addresses(instruction.b, extra(machine, 2), wide | 2);
        let counts = count.map_or([size; 32], |count| machine.slots::<[u32; 32]>(count).read());
        (sources, targets, counts, ignored.map_or(0, |ignored| machine.predicate(ignored)))
    };
    let (mask, mut pointers, mut read) = (machine.mask, [std::ptr::null_mut(); 32], [0_u8; 32]);
    for lane in (0..32_u32).filter(|lane| mask >> lane & 1 == 1) {
        let index = lane as usize;
        let bytes = if ignores >> lane & 1 == 1 { 0 } else { counts[index].min(size) };
        if bytes > 0 {
            match machine.locate_lane(lane, sources[index], bytes.into(), size.into(), false) {
                Ok(pointer) => pointers[index] = pointer,
                Err(kind) => return machine.fail(kind, lane, sources[index], bytes, false),
            }
        }
        read[index] = bytes as u8;
        if let Err(kind) = machine.locate_lane(lane, targets[index], size.into(), size.into(), true) {
            return machine.fail(kind, lane, targets[index], size, true);
        }
        targets[index] = match machine.place_of(targets[index]) {
            Place::Shared(rank, offset) if rank == machine.block.rank => offset,
            _ => {
                let kind = crate::machine::FaultKind::IllegalAddress;
                return machine.fail(kind, lane, targets[index], size, true);
            }
        };
    }
    let (slot, rank, block, warp) =
        (machine.block.cluster, machine.block.rank, machine.block.number, machine.warp.number);
    let pc = machine.pc - 1;
    let committed = machine.clusters[slot].pending.copies(rank, block, warp).committed;
    let mut left = mask;
    while left != 0 {
        let group = committed[Machine::first(left) as usize];
        let lanes = (0..32).filter(|lane| left >> lane & 1 == 1 && committed[*lane] == group);
        let lanes = lanes.fold(0, |lanes, lane| lanes | 1_u32 << lane);
        left &= !lanes;
        let inside = || (0..32).filter(|lane| lanes >> lane & 1 == 1 && read[*lane] > 0);
        let low = inside().map(|lane| sources[lane]).min().unwrap_or(0);
        let high = inside().map(|lane| sources[lane] + u64::from(read[lane])).max().unwrap_or(0);
        let copy = Copy { pc, lanes, size, counts: read, group, pointers, sources, targets, low, high };
        if machine.races.on {
            machine.watch_start(&copy);
        }
        let pending = &mut machine.clusters[slot].pending;
        pending.starts();
        pending.copies(rank, block, warp).list.push(Entry::Copy(Box::new(copy)));
    }
    Flow::Next
}

/// `cp.async.commit_group`.
pub(crate) unsafe fn commit(machine: &mut Machine<'_>, _: &Instruction) -> Flow {
    let mask = machine.mask;
    let copies = machine.own_copies();
    for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
        copies.committed[lane] += 1;
    }
    Flow::Next
}

/// `cp.async.wait_group` for all but the last `imm` groups, or `cp.async.wait_all` if `imm` is negative.
pub(crate) unsafe fn wait(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let (mask, warp) = (machine.mask, machine.warp.number);
    let copies = machine.own_copies();
    let committed = copies.committed;
    if copies.list.is_empty() {
        return Flow::Next;
    }
    let is_due = |group: u32, lane: usize| match u32::try_from(instruction.imm) {
        Ok(kept) => group.saturating_add(kept) < committed[lane],
        Err(_) => true,
    };
    machine.run_copies(warp, usize::MAX, |group| {
        (0..32).filter(|lane| mask >> lane & 1 == 1 && is_due(group, *lane)).fold(0, |lanes, lane| lanes | 1 << lane)
    });
    machine.watch_landing(warp, mask);
    Flow::Next
}

/// `cp.async.mbarrier.arrive`: arrives at the barrier `[a + imm]` once the earlier copies of the thread have run. If `b`
/// is 0, the phase expects one more arrival.
pub(crate) unsafe fn arrive_after(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: `a` is a register or constant of the width that the mode states.
    if unsafe { machine.locate(instruction, 8, true) } == Flow::Stop {
        return Flow::Stop;
    }
    let (lanes, words, addresses) = (machine.mask, machine.pointers, machine.addresses);
    let objects = std::array::from_fn(|lane| {
        let address = if space(instruction.c) == SHARED { addresses[lane] | SHARED_WINDOW } else { addresses[lane] };
        machine.object(machine.place_of(address), words[lane])
    });
    let mut known = Vec::new();
    for lane in 0..32_u32 {
        let running = lanes >> lane & 1 == 1;
        if running {
            machine.watch_step(instruction.c, lane, Step::Names);
        }
        known.push(if running { machine.known_by(lane) } else { Times::default() });
    }
    if instruction.b == 0 {
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            // SAFETY: `locate` returned valid, aligned pointers.
            unsafe { <u64 as Word>::update(words[lane], super::barrier::expect_arrival) };
        }
    }
    let slot = machine.block.cluster;
    let number = machine.clusters[slot].pending.starts();
    machine.own_copies().list.push(Entry::Arrival(Box::new(Arrival { number, lanes, objects, known })));
    Flow::Next
}

impl Machine<'_> {
    /// The copies of the running warp.
    fn own_copies(&mut self) -> &mut Copies {
        let (rank, block, warp) = (self.block.rank, self.block.number, self.warp.number);
        self.clusters[self.block.cluster].pending.copies(rank, block, warp)
    }

    /// Reports the start of a copy to race detection.
    fn watch_start(&mut self, copy: &Copy) {
        let (rank, warp) = (self.block.rank, self.warp.number);
        for lane in (0..32_u32).filter(|lane| copy.lanes >> lane & 1 == 1) {
            let (index, size) = (lane as usize, u64::from(copy.size));
            let target = Place::Shared(rank, copy.targets[index]);
            let origin = |kind| Origin::new(warp * 32 + lane, copy.pc, kind);
            self.meet_others(origin(Kind::Write), target, size, Some(copy.sources[index]));
            let pending = &mut self.clusters[self.block.cluster].pending;
            pending.mark(target, size, true);
            if copy.counts[index] > 0 {
                let (source, bytes) = (Place::Global(copy.sources[index]), copy.counts[index].into());
                pending.mark(source, bytes, false);
                self.meet_others(origin(Kind::Read), source, bytes, None);
            }
        }
        self.touch_copy(copy, copy.lanes, warp);
    }

    /// Records the accesses of a copy.
    fn touch_copy(&mut self, copy: &Copy, lanes: u32, warp: u32) {
        let by = Issuer { warp, pc: copy.pc };
        let (mut digests, mut whole) = ([0; 32], 0);
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            digests[lane] = digest(copy.bytes(lane)[0] ^ copy.bytes(lane)[1].rotate_left(29));
            match u32::from(copy.counts[lane]) {
                0 => {}
                count if count == copy.size => whole |= 1 << lane,
                count => self.touch_lanes((by, 1 << lane), (false, &copy.sources), count, Kind::Read, &[0; 32]),
            }
        }
        self.touch_lanes((by, whole), (false, &copy.sources), copy.size, Kind::Read, &[0; 32]);
        self.touch_lanes((by, lanes), (true, &copy.targets), copy.size, Kind::Write, &digests);
    }

    /// Runs copies of a warp among its first `until` entries, in their order: those of the lanes that `due` returns for
    /// their group.
    fn run_copies(&mut self, warp: u32, until: usize, due: impl Fn(u32) -> u32) {
        let (slot, rank, block) = (self.block.cluster, self.block.rank, self.block.number);
        let mut list = std::mem::take(&mut self.clusters[slot].pending.copies(rank, block, warp).list);
        let before = list.len();
        let mut at = 0;
        list.retain_mut(|entry| {
            at += 1;
            let Entry::Copy(copy) = entry else { return true };
            let lanes = if at <= until { due(copy.group) & copy.lanes } else { 0 };
            if lanes != 0 {
                self.run_copy(copy, lanes, warp);
                copy.lanes &= !lanes;
            }
            copy.lanes != 0
        });
        let pending = &mut self.clusters[slot].pending;
        pending.ends(before - list.len());
        pending.copies(rank, block, warp).list = list;
    }

    fn run_copy(&mut self, copy: &Copy, lanes: u32, warp: u32) {
        let base = self.block.shared_base();
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let bytes = copy.bytes(lane);
            // SAFETY: the start of the copy checked that the target is in the block's shared memory.
            unsafe { move_bytes(bytes.as_ptr().cast(), base.add(copy.targets[lane] as usize), copy.size as usize) };
        }
        if self.races.on {
            let (slot, rank) = (self.block.cluster, self.block.rank);
            for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
                let target = Place::Shared(rank, copy.targets[lane]);
                self.clusters[slot].pending.unmark(target, copy.size.into(), true);
            }
            self.copying = Copying { landed: true, bulk: false };
            self.touch_copy(copy, lanes, warp);
            self.copying = Copying::default();
        }
    }

    /// Lets the arrival with a number arrive at a barrier, after the earlier copies of its lanes.
    pub(super) fn arrive_at(&mut self, warp: u32, number: u64, barrier: *mut u8) {
        let list = |machine: &mut Self| {
            let (rank, block) = (machine.block.rank, machine.block.number);
            std::mem::take(&mut machine.clusters[machine.block.cluster].pending.copies(rank, block, warp).list)
        };
        let mut entries = list(self);
        let is_it = |entry: &Entry| matches!(entry, Entry::Arrival(arrival) if arrival.number == number);
        let Some(at) = entries.iter().position(is_it) else { return };
        let Entry::Arrival(arrival) = &mut entries[at] else { return };
        let lanes = arrival.lanes_at(barrier);
        arrival.lanes &= !lanes;
        let object = arrival.objects[Machine::first(lanes) as usize];
        let mut known = Times::default();
        let counted = arrival.known.iter().enumerate().filter(|(lane, _)| lanes >> lane & 1 == 1);
        counted.for_each(|(_, one)| known.join(one));
        let (slot, rank, block) = (self.block.cluster, self.block.rank, self.block.number);
        self.clusters[slot].pending.copies(rank, block, warp).list = entries;
        self.run_copies(warp, at, |_| lanes);
        let pending = &mut self.clusters[slot].pending;
        let list = &mut pending.copies(rank, block, warp).list;
        let length = list.len();
        list.retain(|entry| !matches!(entry, Entry::Arrival(arrival) if arrival.lanes == 0));
        let ended = length - list.len();
        pending.ends(ended);
        // SAFETY: the start of the arrival checked the pointer.
        unsafe { object.count(self, (warp, lanes), known, |old| arrive(old, lanes.count_ones().into())) };
    }
}

impl Copy {
    /// The bytes that a lane writes, as its source has them now.
    fn bytes(&self, lane: usize) -> [u64; 2] {
        let mut words = [0_u64; 2];
        // SAFETY: the start of the copy checked that the source has these bytes.
        unsafe { move_bytes(self.pointers[lane], words.as_mut_ptr().cast(), self.counts[lane].into()) };
        words
    }
}
