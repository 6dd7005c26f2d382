//! Undefined values through memory: loads, stores and atomic operations.

use super::registers::Register;
use crate::grammar::types::Width;
use crate::machine::memory::{Cell, Slot};
use crate::machine::misuse::{MisuseKind, Origin, Used};
use crate::machine::program::{Instruction, LEFT_OUT};
use crate::machine::region::{self, Region};
use crate::machine::{Flow, Machine};
use crate::races::span::bits;

/// The bits of bytes that are given as bits.
fn each_bit(bytes: u64) -> u64 {
    (0..8).filter(|byte| bytes >> byte & 1 == 1).fold(0, |all, byte| all | 0xff << (8 * byte))
}

/// Undefined bits together with those that nothing has written.
fn with_unwritten(undefined: Option<(u64, Origin)>, unwritten: u64, origin: Origin) -> Option<(u64, Origin)> {
    match unwritten {
        0 => undefined,
        _ => Some((unwritten | undefined.map_or(0, |(bits, _)| bits), origin)),
    }
}

/// The shadow of a byte of memory.
#[derive(Clone, Copy)]
enum Place {
    /// In the local memory of the warp.
    Local(u64),
    /// In the shared memory of the block.
    Shared(u64),
    /// The host's address of global memory, or of the shared memory of another block.
    Global(u64),
}

impl Machine<'_> {
    /// Continues after an access whose undefined values were followed. The first one leaves the usual loop.
    fn flow_of_access(&self) -> Flow {
        match self.undefined.as_ref().is_some_and(|undefined| undefined.follows) {
            true => Flow::Next,
            false => Flow::Stop,
        }
    }

    /// Whether neither the registers of the call nor any byte of memory has undefined bits. An access to unwritten bytes has begun to
    /// follow them.
    fn is_defined(&self) -> bool {
        self.warp.frames[self.frame as usize].twin.is_none()
            && self.warp.undefined.is_empty()
            && self.block.undefined.is_empty()
            && self.undefined.as_ref().is_none_or(|undefined| undefined.global.is_empty())
    }

    fn shadow_place(&mut self, lane: usize, pointer: u64) -> Place {
        if self.local_lanes >> lane & 1 == 1 {
            return Place::Local(pointer.wrapping_sub(self.warp.local.as_ptr() as u64));
        }
        let offset = pointer.wrapping_sub(self.block.shared_base() as u64);
        if offset < self.block.shared_bytes() { Place::Shared(offset) } else { Place::Global(pointer) }
    }

    /// The undefined bits of up to 8 bytes that a lane accesses, and their source.
    fn undefined_bits(&mut self, lane: usize, pointer: u64, size: u32) -> Option<(u64, Origin)> {
        let pc = self.pc - 1;
        match self.shadow_place(lane, pointer) {
            Place::Local(place) => {
                let undefined = self.warp.undefined.bits(place, size);
                // The lanes' words of 8 bytes are side by side.
                let address = place / 256 * 8 + place % 8;
                match self.recorder.enabled {
                    true => {
                        let unwritten = self.warp.written.unwritten_bits(lane as u32, (address, size));
                        with_unwritten(
                            undefined,
                            unwritten,
                            Origin { kind: MisuseKind::UnwrittenLocal, pc, address, size },
                        )
                    }
                    false => undefined,
                }
            }
            Place::Shared(offset) => {
                let undefined = self.block.undefined.bits(offset, size);
                match self.races.on && self.recorder.enabled {
                    true => {
                        let unwritten = self.block.unwritten_bits(offset, size);
                        let origin = Origin { kind: MisuseKind::UnwrittenShared, pc, address: offset, size };
                        with_unwritten(undefined, unwritten, origin)
                    }
                    false => undefined,
                }
            }
            Place::Global(place) => {
                let undefined = self.undefined.as_ref()?.global.bits(place, size);
                let address = self.addresses[lane].wrapping_add(pointer.wrapping_sub(self.pointers[lane] as u64));
                let unwritten = match region::find(self.launch.regions, address, address + u64::from(size)) {
                    Some(index) => self.unwritten_bytes(index, address, size),
                    None => 0,
                };
                let is_own = self.allocated.range(..=address).next_back().is_some_and(|(_, end)| address < *end);
                let kind = if is_own { MisuseKind::UnwrittenHeap } else { MisuseKind::UnwrittenGlobal };
                with_unwritten(undefined, each_bit(unwritten), Origin { kind, pc, address, size })
            }
        }
    }

    /// The host's address of an element of `size` bytes that a lane accesses.
    fn element_pointer(&self, lane: usize, index: u32, size: u32) -> *mut u8 {
        self.pointers[lane].wrapping_add(self.element(lane, index * size))
    }

    /// The undefined bits of an element of `size` bytes that a lane accesses, and their source.
    fn undefined_element(&mut self, lane: usize, index: u32, size: u32) -> Option<(u64, Origin)> {
        self.undefined_bits(lane, self.element_pointer(lane, index, size) as u64, size)
    }

    /// The bytes, as bits, of up to 8 bytes of a region that nothing has written.
    fn unwritten_bytes(&mut self, index: usize, address: u64, size: u32) -> u64 {
        let launch = self.launch;
        if !self.recorder.follows {
            return 0;
        }
        let start = launch.regions[index].start;
        let allocated = &self.allocated;
        let ask = |from: u64, to: u64| {
            let mut ranges = launch.service.unwritten(start + from, start + to);
            // Blocks do not overlap, so the last one that begins before the end decides whether there is a further one.
            let blocks = allocated.range(..start + to).rev().take_while(|(_, end)| **end > start + from);
            ranges.extend(blocks.map(|(first, end)| (*first, *end)));
            ranges.into_iter().map(|(from, to)| (from.max(start) - start, to - start)).collect()
        };
        self.recorder.unwritten(index, (address - start, size), ask)
    }

    /// A lane reads bytes of a region that nothing may have written.
    #[cold]
    pub(in crate::machine) fn meet_unwritten(&mut self, index: usize, address: u64, size: u32) {
        let (mut at, end) = (address, address + u64::from(size));
        while at < end {
            let bytes = (8 - at % 8).min(end - at);
            if self.unwritten_bytes(index, at, bytes as u32) != 0 {
                if self.follows_accesses() {
                    self.begin_undefined();
                } else {
                    self.add_unwritten_read(at, at + bytes);
                }
            }
            at += bytes;
        }
    }

    /// Adds a read of unwritten memory that is not followed. Many reads become few ranges, as a finding names the first.
    fn add_unwritten_read(&mut self, start: u64, end: u64) {
        const MOST: usize = 1024;
        let count = self.unwritten_reads.len();
        match self.unwritten_reads.last_mut() {
            Some(last) if start <= last.1 && last.0 <= end => *last = (last.0.min(start), last.1.max(end)),
            _ if count < MOST => self.unwritten_reads.push((start, end)),
            _ => {}
        }
    }

    /// The lanes update bytes of a region.
    pub(in crate::machine) fn meet_updates(&mut self, index: usize, size: u32) {
        bits(self.mask).for_each(|lane| self.meet_update(index, self.addresses[lane as usize], size));
    }

    /// A lane updates bytes of a region. They count as written from then on, so undefined ones become so in the shadow.
    pub(in crate::machine) fn meet_update(&mut self, index: usize, address: u64, size: u32) {
        let Region { start, host, .. } = self.launch.regions[index];
        if self.recorder.is_written(index, address - start, size) {
            return;
        }
        let bytes = if size <= 8 { self.unwritten_bytes(index, address, size) } else { 0 };
        if bytes != 0 && self.follows_accesses() {
            self.begin_undefined();
            let origin = Origin { kind: MisuseKind::UnwrittenGlobal, pc: self.pc - 1, address, size };
            if let Some(undefined) = self.undefined.as_mut() {
                undefined.global.set(address - start + host, size, Some((each_bit(bytes), origin)));
            }
        }
    }

    /// The ranges of device memory whose bytes the launch has written with undefined values.
    pub(in crate::machine) fn undefined_ranges(&self) -> Vec<(u64, u64)> {
        let Some(undefined) = &self.undefined else { return Vec::new() };
        let mut regions: Vec<&Region> = self.launch.regions.iter().collect();
        regions.sort_unstable_by_key(|region| region.host);
        let device = |(start, end): (u64, u64)| {
            let behind = regions.partition_point(|region| region.host <= start);
            let region = regions[behind.checked_sub(1)?];
            let address = start - region.host + region.start;
            (address < region.end).then_some((address, address + (end - start)))
        };
        undefined.global.ranges().into_iter().filter_map(device).collect()
    }

    /// Sets the undefined bits of up to 8 bytes that a lane writes. `whole` is set if all bytes that the lane writes are undefined.
    fn set_undefined_bits(
        &mut self,
        lane: usize,
        (pointer, size): (u64, u32),
        undefined: Option<(u64, Origin)>,
        whole: bool,
    ) {
        match self.shadow_place(lane, pointer) {
            Place::Local(place) => {
                self.warp.written.add(1 << lane, (place / 256 * 8 + place % 8, size));
                self.warp.undefined.set(place, size, undefined);
            }
            Place::Shared(offset) => {
                self.block.set_written(offset, offset + u64::from(size));
                self.block.undefined.set(offset, size, undefined);
            }
            Place::Global(place) => {
                let mut kept = undefined;
                // Copies of unwritten global memory are no use, and neither is the padding of a record. A record in local memory
                // may have members that are not set.
                let is_copy = |(bits, origin): &(u64, Origin)| match origin.kind {
                    MisuseKind::UnwrittenGlobal | MisuseKind::UnwrittenHeap => true,
                    MisuseKind::UnwrittenLocal => *bits == u64::MAX >> (64 - 8 * size.min(8)),
                    _ => false,
                };
                if let Some((_, origin)) = undefined.filter(|undefined| whole && !is_copy(undefined)) {
                    self.uses_undefined(Used::Store, lane as u32, origin);
                    kept = None;
                }
                if let Some(state) = self.undefined.as_mut() {
                    state.global.set(place, size, kept);
                }
            }
        }
    }

    /// Loads an element into the second set of registers: element `index` of the bytes of each lane, into `target`.
    ///
    /// # Safety
    /// As for a load that [`Machine::locate`] has prepared, after it has written its targets.
    #[cold]
    pub(in crate::machine) unsafe fn follow_load<M: Cell, S: Slot>(&mut self, target: u32, index: u32) -> Flow {
        if self.is_defined() {
            return Flow::Next;
        }
        let size = size_of::<M>() as u32;
        let has_twin = self.warp.frames[self.frame as usize].twin.is_some();
        if !has_twin && !bits(self.mask).any(|lane| self.undefined_element(lane as usize, index, size).is_some()) {
            return Flow::Next;
        }
        let twin = self.twin();
        for lane in bits(self.mask).map(|lane| lane as usize) {
            let pointer = self.element_pointer(lane, index, size);
            let undefined = self.undefined_bits(lane, pointer as u64, size);
            // SAFETY: this function's contract: the pointer is valid, and both sets have the register.
            unsafe {
                let mut value = M::get(pointer);
                if let Some((differ, origin)) = undefined {
                    let mut word = value ^ differ;
                    value = M::get((&raw mut word).cast());
                    self.set_origin(target, origin);
                }
                twin.add(target as usize).cast::<S>().add(lane).write(S::of(value));
            }
        }
        self.flow_of_access()
    }

    /// Keeps the undefined bits of the elements that are stored, from `sources`.
    ///
    /// # Safety
    /// As for a store that [`Machine::locate`] has prepared.
    #[cold]
    pub(in crate::machine) unsafe fn follow_store<M: Cell, S: Slot>(&mut self, sources: &[u32]) {
        if self.is_defined() {
            return;
        }
        let size = size_of::<M>() as u32;
        let mut whole = self.mask;
        let elements: Vec<[u64; 32]> = sources
            .iter()
            .map(|source| {
                // SAFETY: this function's contract.
                let differences = unsafe { self.operand_differences::<S>(*source) }.unwrap_or([0; 32]);
                let has_defined =
                    |lane: u32| (0..size).any(|byte| differences[lane as usize] >> (8 * byte) & 0xff == 0);
                bits(whole).filter(|lane| has_defined(*lane)).for_each(|lane| whole &= !(1 << lane));
                differences
            })
            .collect();
        for (index, (source, differences)) in sources.iter().zip(elements).enumerate() {
            let origin = self.origin_of(*source);
            for lane in bits(self.mask).map(|lane| lane as usize) {
                let at = self.element(lane, index as u32 * size);
                let differ = differences[lane] & (u64::MAX >> (64 - 8 * size));
                let undefined = origin.filter(|_| differ != 0).map(|origin| (differ, origin));
                let place = (self.pointers[lane] as u64 + at as u64, size);
                self.set_undefined_bits(lane, place, undefined, whole >> lane & 1 == 1);
            }
        }
    }

    /// The bits of each lane in which an operand of the instruction differs.
    ///
    /// # Safety
    /// As for [`Machine::slots`].
    unsafe fn operand_differences<S: Slot>(&mut self, operand: u32) -> Option<[u64; 32]> {
        if operand >> 31 == 1 {
            // Constants, and operands that are left out.
            return None;
        }
        let program = self.program;
        let registers = program.operands_of.read(self.pc as usize - 1);
        let width = if size_of::<S>() == 8 { Width::W64 } else { Width::W32 };
        let known = registers.iter().find(|register| register.place() == operand);
        // SAFETY: this function's contract.
        unsafe { self.differences(known.copied().unwrap_or(Register::new(operand, width, false))) }
    }

    /// Follows an atomic operation on `size` bytes: its result and the memory are undefined if an operand or the old value is.
    /// `updates` is unset for an exchange.
    ///
    /// # Safety
    /// As for an atomic operation that [`Machine::locate_atomic`] has prepared, after it has written its target.
    #[cold]
    pub(in crate::machine) unsafe fn follow_atomic<S: Slot>(
        &mut self,
        instruction: &Instruction,
        (size, other): (u32, u32),
        updates: bool,
    ) -> Flow {
        if self.is_defined() {
            return Flow::Next;
        }
        let whole = u64::MAX >> (64 - 8 * size);
        // SAFETY: this function's contract.
        let operands = [instruction.b, other].map(|operand| unsafe { self.operand_differences::<S>(operand) });
        let origins = [instruction.b, other].map(|operand| self.origin_of(operand));
        let twin = self.twin();
        for lane in bits(self.mask).map(|lane| lane as usize) {
            let pointer = self.pointers[lane] as u64;
            let memory = self.undefined_bits(lane, pointer, size).map(|(_, origin)| origin);
            let operand = (0..2).find(|index| operands[*index].is_some_and(|lanes| lanes[lane] & whole != 0));
            let operand = operand.and_then(|index| origins[index]);
            let left = if updates { operand.or(memory) } else { operand };
            self.set_undefined_bits(lane, (pointer, size), left.map(|origin| (whole, origin)), true);
            if instruction.d == LEFT_OUT {
                continue;
            }
            // SAFETY: this function's contract: both sets have the register.
            unsafe {
                let mut value = self.slots::<S>(instruction.d).add(lane).read().value();
                if let Some(origin) = memory {
                    value ^= whole;
                    self.set_origin(instruction.d, origin);
                }
                twin.add(instruction.d as usize).cast::<S>().add(lane).write(S::of(value));
            }
        }
        self.flow_of_access()
    }

    /// The value that a shuffle gives for a lane that takes no part.
    #[cold]
    pub(in crate::machine) fn absent_value(&mut self, lane: u32) -> u32 {
        if self.repeats {
            return !super::POISON as u32;
        }
        if self.recorder.enabled {
            self.begin_undefined();
            let pc = self.pc - 1;
            self.meets_undefined(Origin { kind: MisuseKind::AbsentLane, pc, address: lane.into(), size: 0 });
        }
        super::POISON as u32
    }
}
