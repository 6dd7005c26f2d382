//! Asynchronous copies: `cp.async`, `cp.async.bulk`, `st.async` and `red.async`.
//!
//! A copy runs as late as the manual allows: when its thread waits for its group, or when a thread waits for a phase of
//! the `mbarrier` that tracks it. Until then the target keeps its old bytes, and the source may still change. So a
//! missing wait shows in the results.
//!
//! Between its start and its end, a copy races with every access to its target, and with every write to its source. Such
//! an access comes neither before the start nor after the wait, also if it is of the same thread. The copy itself counts as two accesses of
//! its thread, one at the start and one at the wait.

pub(crate) mod barrier;
pub(crate) mod bulk;
pub(crate) mod copies;
mod in_flight;
mod pending;

pub(crate) use in_flight::Place;
pub(crate) use pending::Pending;

use super::Machine;
use super::access_mode::{GENERIC, GLOBAL, Mode, SHARED, is_wide, space};
use super::address_windows::SHARED_WINDOW;
use super::cluster::{OFFSETS, RANK_SHIFT};
use super::pattern::{Chains, Pattern};
use super::program::Instruction;
use super::region::without_alias;
use crate::grammar::types::Space;
use crate::races::cell::{Kind, Origin, digest};
use crate::races::page::PAGE;
use crate::races::{Access, Race, access};
use pending::InFlight;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// The copy that the recorded accesses are part of, for the search for races.
#[derive(Clone, Copy, Default)]
pub(crate) struct Copying {
    /// Whether it lands: its accesses are those of an agent then, not of its thread.
    pub landed: bool,
    /// Whether it is a bulk copy.
    pub bulk: bool,
}

/// A thread of the current block, and an instruction of it.
#[derive(Clone, Copy)]
struct Issuer {
    warp: u32,
    pc: u32,
}

/// Copies bytes that other host threads may access.
///
/// # Safety
/// Both pointers are valid for `size` bytes.
unsafe fn move_bytes(from: *const u8, to: *mut u8, size: usize) {
    let mut at = 0;
    while at < size {
        let whole = |bytes| (from as usize + at).is_multiple_of(bytes) && (to as usize + at).is_multiple_of(bytes);
        // SAFETY: this function's contract; the pointers are aligned for the type.
        unsafe {
            let (source, target) = (from.add(at).cast_mut(), to.add(at));
            if size - at >= 8 && whole(8) {
                let value = AtomicU64::from_ptr(source.cast()).load(Ordering::Relaxed);
                AtomicU64::from_ptr(target.cast()).store(value, Ordering::Relaxed);
                at += 8;
            } else if size - at >= 4 && whole(4) {
                let value = AtomicU32::from_ptr(source.cast()).load(Ordering::Relaxed);
                AtomicU32::from_ptr(target.cast()).store(value, Ordering::Relaxed);
                at += 4;
            } else {
                let value = AtomicU8::from_ptr(source).load(Ordering::Relaxed);
                AtomicU8::from_ptr(target).store(value, Ordering::Relaxed);
                at += 1;
            }
        }
    }
}

/// Splits a range at the pages of race detection.
fn pages(start: u64, size: u64) -> impl Iterator<Item = (u64, u32)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let address = start + at;
        let count = (size - at).min(PAGE - address % PAGE);
        at += count;
        (count > 0).then_some((address, count as u32))
    })
}

/// A digest of some bytes.
fn digest_of(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    digest(words.fold(0, |all, word| all.rotate_left(29) ^ word))
}

impl Machine<'_> {
    /// The addresses that an operand holds plus an offset, as generic ones. The mode code names the space and the
    /// width.
    ///
    /// # Safety
    /// The operand is a register or constant of the running instruction, of the width that the mode states.
    unsafe fn generic_addresses(&self, operand: u32, offset: u32, mode: u32) -> [u64; 32] {
        // SAFETY: this function's contract.
        let bases = unsafe {
            match is_wide(mode) {
                false => self.slots::<[u32; 32]>(operand).read().map(|base| base.wrapping_add(offset).into()),
                true => self
                    .slots::<[u64; 32]>(operand)
                    .read()
                    .map(|base| base.wrapping_add_signed(i64::from(offset as i32))),
            }
        };
        match space(mode) {
            // An address beyond shared memory must not become an address of another space.
            SHARED => bases.map(|address: u64| if address >> 56 != 0 { u64::MAX } else { SHARED_WINDOW + address }),
            _ => bases,
        }
    }

    /// The place of a generic address in shared or global memory.
    fn place_of(&self, address: u64) -> Place {
        match address & SHARED_WINDOW {
            0 => Place::Global(without_alias(self.launch.aliases, address)),
            _ => match (address & (SHARED_WINDOW - 1)) >> RANK_SHIFT {
                0 => Place::Shared(self.block.rank, address & OFFSETS),
                rank => Place::Shared(rank as u32 - 1, address & OFFSETS),
            },
        }
    }

    /// Runs `f` as another warp of the block, and with other lanes.
    fn as_issuer(&mut self, by: Issuer, lanes: u32, f: impl FnOnce(&mut Self)) {
        let kept = (self.warp.number, self.pc, self.mask);
        (self.warp.number, self.pc, self.mask) = (by.warp, by.pc + 1, lanes);
        f(self);
        (self.warp.number, self.pc, self.mask) = kept;
    }

    /// Records accesses of lanes for race detection. The addresses are offsets in shared memory, or global.
    fn touch_lanes(
        &mut self,
        (by, lanes): (Issuer, u32),
        (shared, addresses): (bool, &[u64; 32]),
        size: u32,
        kind: Kind,
        digests: &[u32; 32],
    ) {
        if lanes == 0 {
            return;
        }
        let space = if shared { Space::Shared } else { Space::Global };
        self.as_issuer(by, lanes, |machine| {
            let near = (0..32).all(|lane| addresses[lane] >> 32 == addresses[0] >> 32);
            machine.addresses = *addresses;
            machine.pattern = Pattern::Other;
            machine.chains = if near { Chains::of(addresses, size) } else { Chains { same: 0, next: 0, stride: size } };
            if !shared && !machine.launch.aliases.is_empty() {
                machine.leave_aliases(size);
            }
            machine.touch_recorded(Mode::new(space, true).code(), size, 0, kind, digests);
        });
    }

    /// Records an access of one lane to a range of bytes, and the digest of what it writes.
    fn touch_range(&mut self, by: Issuer, lane: u32, place: Place, size: u64, (kind, digest): (Kind, u32)) {
        let (shared, start) = match place {
            Place::Global(address) => (false, address),
            Place::Shared(rank, offset) if self.has_clusters() => (true, u64::from(rank + 1) << RANK_SHIFT | offset),
            Place::Shared(_, offset) => (true, offset),
        };
        for (address, count) in pages(start, size) {
            let mut addresses = [0; 32];
            addresses[lane as usize] = address;
            self.touch_lanes((by, 1 << lane), (shared, &addresses), count, kind, &[digest; 32]);
        }
    }

    /// As [`Machine::touch_range`] for the shared memory of the block, without a comparison with other blocks.
    fn touch_own(&mut self, by: Issuer, lane: u32, offset: u64, size: u64, (kind, digest): (Kind, u32)) {
        for (address, count) in pages(offset, size) {
            self.as_issuer(by, 1 << lane, |machine| {
                machine.addresses[lane as usize] = address;
                machine.chains = Chains { same: 0, next: 0, stride: count };
                machine.touch_own_shared(count, kind, &[digest; 32]);
            });
        }
    }

    /// Reports accesses of the running instruction to bytes of copies that are in flight.
    #[cold]
    pub(super) fn meet_pending(&mut self, mode: u32, size: u32, at: u32, kind: Kind) {
        let mask = self.mask;
        for lane in (0..32_u32).filter(|lane| mask >> lane & 1 == 1) {
            let address = self.addresses[lane as usize].wrapping_add(at.into());
            let place = match (space(mode), address >> 56) {
                (GLOBAL, _) | (GENERIC, 0) => Place::Global(address),
                (SHARED, _) => self.place_of(address | SHARED_WINDOW),
                (GENERIC, window) if window == SHARED_WINDOW >> 56 => self.place_of(address),
                _ => continue,
            };
            if !self.cluster().pending.may_meet(place, size.into(), kind != Kind::Read) {
                continue;
            }
            let found = self.cluster().pending.find(place, size.into(), kind, |_| true);
            if let Some(found) = found {
                let thread = self.warp.number * 32 + lane;
                self.add_race(place, size, found, Origin::new(thread, self.pc - 1, kind));
            }
        }
    }

    /// Reports that a copy starts while another one is in flight. `from` is the source of the new one.
    fn meet_others(&mut self, origin: Origin, place: Place, size: u64, from: Option<u64>) {
        let writes = origin.kind() != Kind::Read;
        if !self.races.on || !self.cluster().pending.may_meet(place, size, writes) {
            return;
        }
        // Copies of equal bytes have one result.
        let differs = |other: Option<u64>| !writes || from.is_none() || other != from;
        if let Some(found) = self.cluster().pending.find(place, size, origin.kind(), differs) {
            self.add_race(place, size as u32, found, origin);
        }
    }

    fn add_race(&mut self, place: Place, size: u32, found: InFlight, origin: Origin) {
        let (shared, address) = match place {
            Place::Shared(_, offset) => (true, offset),
            Place::Global(address) => (false, address),
        };
        let kind = if found.writes { Kind::Write } else { Kind::Read };
        let mut first = access(found.block, Origin::new(found.thread, found.pc, kind));
        first.pending = Some(found.wait);
        let second: Access = access(self.block.number, origin);
        let race = Race { shared, address, size, accesses: [first, second], why: None };
        self.races.add(self.launch, race, found.block != self.block.number);
    }

    /// Completes the copies of a block that ends.
    pub(super) fn finish_pending(&mut self) {
        if self.cluster().pending.count > 0 {
            self.finish_bulk();
            let (slot, rank) = (self.block.cluster, self.block.rank);
            self.clusters[slot].pending.block_ends(rank);
        }
    }

    /// An extra operand of the running instruction as a number, or `None` if it was left out.
    fn optional(&self, instruction: &Instruction, index: usize) -> Option<u32> {
        Some(self.extra(instruction, index)).filter(|operand| *operand != super::program::LEFT_OUT)
    }
}
