//! The completion of copies by one thread: when they read their source and write their target.

use super::super::barrier::complete_bytes;
use super::super::in_flight::{Bulk, Place};
use super::super::{Copying, Issuer, digest_of, move_bytes};
use crate::machine::Machine;
use crate::machine::atomic::Word;
use crate::machine::misuse::MisuseKind;
use crate::races::cell::Kind;

impl Machine<'_> {
    /// Records the accesses of a copy. A copy by another block is an access of the running thread, which waits for it.
    ///
    /// A write to another block is compared while it is in flight only: no barrier of the cluster need order it.
    pub(super) fn touch_bulk(&mut self, bulk: &Bulk, bytes: &[u8], landed: bool) {
        self.copying = Copying { landed, bulk: true };
        let own = bulk.block == self.block.number;
        let (warp, lane) = self.agent_of(bulk);
        let by = Issuer { warp, pc: bulk.pc };
        if let Some((source, _)) = bulk.source.filter(|_| own) {
            self.touch_range(by, lane, source, bulk.size, (Kind::Read, 0));
        }
        let kind = if bulk.operation.is_some() { Kind::Atomic } else { Kind::Write };
        let digest = digest_of(if bytes.is_empty() { &bulk.held } else { bytes }) ^ bulk.pc;
        match bulk.target.0 {
            Place::Shared(rank, _) if rank != self.block.rank => {}
            Place::Shared(_, offset) if !own => self.touch_own(by, lane, offset, bulk.size, (kind, digest)),
            place => self.touch_range(by, lane, place, bulk.size, (kind, digest)),
        }
        self.copying = Copying::default();
    }

    /// The warp and the lane of the running block whose accesses those of a copy are.
    fn agent_of(&self, bulk: &Bulk) -> (u32, u32) {
        match bulk.block == self.block.number {
            true => (bulk.thread / 32, bulk.thread % 32),
            false => (self.warp.number, Machine::first(self.mask)),
        }
    }

    /// Reads the source of a copy.
    fn read_bulk(&mut self, bulk: &mut Bulk) {
        let Some((source, pointer)) = bulk.source else { return };
        if self.races.on {
            self.clusters[self.block.cluster].pending.unmark(source, bulk.size, false);
        }
        let mut words = vec![0_u64; bulk.size.div_ceil(8) as usize];
        // SAFETY: the start of the copy checked the source. It is in global memory, in the shared memory of a block that
        // runs, or in that of a block that ends and reads its sources now.
        unsafe { move_bytes(pointer, words.as_mut_ptr().cast(), bulk.size as usize) };
        bulk.held = words.into_iter().flat_map(u64::to_le_bytes).take(bulk.size as usize).collect();
    }

    pub(super) fn read_bulk_at(&mut self, index: usize) {
        let mut bulk = self.clusters[self.block.cluster].pending.bulk.remove(index);
        self.read_bulk(&mut bulk);
        if let Some((source, _)) = bulk.source
            && self.races.on
        {
            let (warp, lane) = (bulk.thread / 32, bulk.thread % 32);
            self.copying = Copying { landed: true, bulk: true };
            self.touch_range(Issuer { warp, pc: bulk.pc }, lane, source, bulk.size, (Kind::Read, 0));
            self.copying = Copying::default();
            self.watch_landing(warp, 1 << lane);
        }
        bulk.source = None;
        self.clusters[self.block.cluster].pending.bulk.insert(index, bulk);
    }

    /// Runs a copy.
    pub(in crate::machine::asynchronous) fn run_bulk_at(&mut self, index: usize) {
        let slot = self.block.cluster;
        let mut bulk = self.clusters[slot].pending.bulk.remove(index);
        self.clusters[slot].pending.ends(1);
        self.read_bulk(&mut bulk);
        let (place, target) = bulk.target;
        if let Place::Shared(rank, _) = place
            && self.cluster().has_ended(rank)
        {
            return;
        }
        let held = &bulk.held;
        // SAFETY: the start of the copy checked the target, and its block has not ended.
        unsafe {
            match bulk.operation {
                Some((operation, size)) => {
                    for (at, element) in held.chunks(size as usize).enumerate() {
                        let mut value = [0; 8];
                        value[..element.len()].copy_from_slice(element);
                        let value = u64::from_le_bytes(value);
                        let target = target.add(at * size as usize);
                        match size {
                            2 => drop(u16::update(target, |old| operation(old.into(), value) as u16)),
                            4 => drop(u32::update(target, |old| operation(old.into(), value) as u32)),
                            _ => drop(u64::update(target, |old| operation(old, value))),
                        }
                    }
                }
                None if bulk.bytes == u16::MAX => move_bytes(held.as_ptr(), target, held.len()),
                None => {
                    for (at, byte) in held.iter().enumerate().filter(|(at, _)| bulk.bytes >> (at % 16) & 1 == 1) {
                        move_bytes(byte, target.add(at), 1);
                    }
                }
            }
        }
        if self.races.on {
            self.clusters[slot].pending.unmark(place, bulk.size, true);
            self.touch_bulk(&bulk, held, true);
        }
        let (warp, lane) = self.agent_of(&bulk);
        match bulk.object {
            // SAFETY: the start of the copy checked the pointer. The object is in the block of the target, or in that of
            // the thread that waits at it.
            Some(object) => unsafe {
                object.count(self, (warp, 1 << lane), bulk.known, |word| complete_bytes(word, bulk.size));
            },
            None if bulk.block == self.block.number => self.watch_landing(warp, 1 << lane),
            None => {}
        }
    }

    /// Runs the copies that a block leaves behind: its own groups, and those that read its shared memory.
    pub(in crate::machine::asynchronous) fn finish_bulk(&mut self) {
        let (block, rank) = (self.block.number, self.block.rank);
        let mut at = 0;
        while let Some(bulk) = self.cluster().pending.bulk.get(at) {
            let source = bulk.source.map(|(place, _)| place);
            let reads = matches!(source, Some(Place::Shared(of, _)) if of == rank);
            let own = bulk.block == block;
            let runs = reads || bulk.group.is_some() && own;
            let (thread, pc, size) = (bulk.thread, bulk.pc, bulk.size as u32);
            if let Some(Place::Shared(_, offset)) = source.filter(|_| reads && own) {
                // The memory may belong to another block before the copy has read it.
                let (by, lane) = (Issuer { warp: thread / 32, pc }, thread % 32);
                self.as_issuer(by, 1 << lane, |machine| {
                    machine.misuse(MisuseKind::SourceOfEndedBlock, lane, (offset, size), false, 0);
                });
            }
            if runs {
                self.run_bulk_at(at);
            } else {
                at += 1;
            }
        }
    }
}
