//! Address resolution: the host pointers of a warp's access.
//!
//! Lanes mostly access one address, or adjacent ones. The machine recognizes such a [`Pattern`] once. Then the checks
//! of bounds and alignment, the recording and the race detection need only the first and the last lane. If the
//! addresses have no such pattern, or an access faults, [each lane](super::locate_lane) is resolved separately.

use super::access_mode::{
    ACQUIRES, GENERIC, GLOBAL, GUESS, LOCAL, RELEASES, SHARED, UPDATES, is_wide, space, strength,
};
use super::address_windows::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use super::misuse::MisuseKind;
use super::pattern::{Chains, Pattern};
use super::region::{self, Region, Strength};
use super::{Flow, Machine};
use crate::machine::program::{Instruction, LEFT_OUT};
use crate::races::span::bits;

/// The number of lanes in one step of a vectorized loop.
const PIECE: usize = 4;

/// The least and the greatest address of the participating lanes, and the bitwise OR of the addresses, for alignment.
type Hull = (u64, u64, u64);

/// Computes the lanes' addresses from the slots of a register, and compares them. The compiler vectorizes these plain
/// loops.
macro_rules! pieces {
    ($machine:ident, $slot:ty, $register:expr, $size:expr, |$base:ident| $address:expr) => {{
        let slots = $machine.slots::<$slot>($register);
        let $base = slots.read();
        let first = $address;
        let (mut differ, mut stray) = ([0_u64; PIECE], [0_u64; PIECE]);
        for at in (0..32).step_by(PIECE) {
            let piece = slots.add(at).cast::<[$slot; PIECE]>().read();
            let mut addresses = [0_u64; PIECE];
            for lane in 0..PIECE {
                let $base = piece[lane];
                let address = $address;
                addresses[lane] = address;
                differ[lane] |= address ^ first;
                stray[lane] |= address ^ first.wrapping_add((at + lane) as u64 * u64::from($size));
            }
            $machine.addresses.as_mut_ptr().add(at).cast::<[u64; PIECE]>().write(addresses);
        }
        let (mut all_differ, mut all_stray) = (0, 0);
        for lane in 0..PIECE {
            all_differ |= differ[lane];
            all_stray |= stray[lane];
        }
        $machine.compare($size, (all_differ, all_stray))
    }};
}

impl Machine<'_> {
    /// Resolves the addresses of an access: [`Machine::pointers`] of the lanes in the mask become valid for `size`
    /// bytes.
    ///
    /// # Safety
    /// `instruction.a` is a register or constant with addresses, of the width that `instruction.c` states.
    #[inline(always)]
    pub(crate) unsafe fn locate(&mut self, instruction: &Instruction, size: u32, write: bool) -> Flow {
        #[cfg(target_arch = "x86_64")]
        if super::processor::wide() {
            // SAFETY: this function's contract; the processor has the features.
            return unsafe { self.locate_wide(instruction, size, write) };
        }
        // SAFETY: this function's contract.
        unsafe { self.locate_base(instruction, size, write) }
    }

    /// Resolves the addresses of an atomic access, which writes and may depend on the old contents.
    ///
    /// # Safety
    /// As for [`Machine::locate`].
    pub(crate) unsafe fn locate_atomic(&mut self, instruction: &Instruction, size: u32) -> Flow {
        self.recorder.updates = instruction.c & UPDATES != 0;
        self.recorder.returns = instruction.d != LEFT_OUT;
        // SAFETY: this function's contract.
        let flow = unsafe { self.locate(instruction, size, true) };
        (self.recorder.updates, self.recorder.returns) = (false, false);
        flow
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn locate_wide(&mut self, instruction: &Instruction, size: u32, write: bool) -> Flow {
        // SAFETY: this function's contract.
        unsafe { self.locate_body(instruction, size, write) }
    }

    #[inline(never)]
    unsafe fn locate_base(&mut self, instruction: &Instruction, size: u32, write: bool) -> Flow {
        // SAFETY: this function's contract.
        unsafe { self.locate_body(instruction, size, write) }
    }

    #[inline(always)]
    unsafe fn locate_body(&mut self, instruction: &Instruction, size: u32, write: bool) -> Flow {
        let (mode, offset) = (instruction.c, instruction.imm as u64);
        // SAFETY: this function's contract.
        let hull = unsafe {
            if is_wide(mode) {
                pieces!(self, u64, instruction.a, size, |base| base.wrapping_add(offset))
            } else {
                // Addresses of 32 bits wrap.
                pieces!(self, u32, instruction.a, size, |base| u64::from(base.wrapping_add(offset as u32)))
            }
        };
        self.block.changes += u64::from(write);
        self.warp.time_reads.count = 0;
        self.local_lanes = 0;
        self.region = u32::MAX;
        self.recorder.strength = match mode & GUESS {
            0 => strength(mode),
            _ if self.launch.guesses => Strength::Weak,
            _ => Strength::Device,
        };
        if self.recorder.ordering.is_some() && mode & GUESS == 0 && strength(mode) != Strength::Weak {
            let (releases, acquires) = (mode & RELEASES != 0, mode & ACQUIRES != 0);
            self.recorder.note_strong(!write || self.recorder.returns, write, (releases, acquires));
        }
        match space(mode) {
            GENERIC => self.locate_generic(hull, size, write),
            GLOBAL => self.locate_global(hull, size, write),
            SHARED => self.locate_shared(0, hull, size, write),
            LOCAL => self.locate_local(hull, size, write),
            _ => self.locate_each(PARAM_WINDOW, size, write),
        }
    }

    /// Sets the pattern and the chains, and returns the hull. The arguments are the bits in which addresses differ from
    /// the first address, and from consecutive addresses.
    #[inline(always)]
    fn compare(&mut self, size: u32, bits: (u64, u64)) -> Hull {
        let near = self.classify(size, bits);
        self.hull(near)
    }

    /// Finds the chains of [`Machine::addresses`], which the caller has set, for an access of the lanes.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
    #[inline(always)]
    pub(super) fn find_chains(&mut self, size: u32) {
        let first = self.addresses[0];
        let (mut differ, mut stray) = (0, 0);
        for (lane, address) in self.addresses.iter().enumerate() {
            differ |= address ^ first;
            stray |= address ^ first.wrapping_add(lane as u64 * u64::from(size));
        }
        self.classify(size, (differ, stray));
    }

    /// Sets the pattern and the chains, and returns whether the addresses differ in the lower 32 bits only. The arguments are as for
    /// [`Machine::compare`].
    #[inline(always)]
    fn classify(&mut self, size: u32, (differ, stray): (u64, u64)) -> bool {
        let watched = self.races.on || self.recorder.enabled;
        let (differ, stray) = if watched && self.mask != u32::MAX { self.complete(size) } else { (differ, stray) };
        (self.pattern, self.chains) = match (differ, stray) {
            (0, _) => (Pattern::Same, Chains { same: u32::MAX, next: 0, stride: size }),
            (_, 0) => (Pattern::Row, Chains { same: 0, next: u32::MAX, stride: size }),
            _ if watched && differ >> 32 == 0 => (Pattern::Other, Chains::of(&self.addresses, size)),
            _ => (Pattern::Other, Chains { same: 0, next: 0, stride: size }),
        };
        differ >> 32 == 0
    }

    /// Gives addresses to the lanes that do not take part, whose registers may have anything: those of a row, if the others are in one, and
    /// else that of the first lane that takes part. Returns the bits in which addresses differ from that one, and from consecutive addresses.
    #[inline(always)]
    fn complete(&mut self, size: u32) -> (u64, u64) {
        let lane = Self::first(self.mask);
        let first = self.addresses[lane as usize];
        let distance = self.distance(lane);
        let start = first.wrapping_sub(u64::from(lane).wrapping_mul(distance));
        let (mut differ, mut stray) = (0, 0);
        for (lane, address) in self.addresses.iter().enumerate() {
            let takes_part = u64::from(self.mask >> lane & 1).wrapping_neg();
            differ |= (address ^ first) & takes_part;
            stray |= (address ^ start.wrapping_add(distance.wrapping_mul(lane as u64))) & takes_part;
        }
        let (start, step) = if differ != 0 && stray == 0 { (start, distance) } else { (first, 0) };
        for (lane, address) in self.addresses.iter_mut().enumerate() {
            if self.mask >> lane & 1 == 0 {
                *address = start.wrapping_add(step.wrapping_mul(lane as u64));
            }
        }
        (differ, if distance == u64::from(size) { stray } else { u64::MAX })
    }

    /// The distance of the addresses of neighbouring lanes, if all are in a row with those of the first lane, and of the next one, that take part.
    fn distance(&self, lane: u32) -> u64 {
        let others = self.mask & (self.mask - 1);
        let next = others.trailing_zeros();
        let apart = u64::from(next.wrapping_sub(lane)).max(1);
        let bytes = self.addresses[next as usize & 31].wrapping_sub(self.addresses[lane as usize]);
        if others != 0 && bytes.is_multiple_of(apart) { bytes / apart } else { 0 }
    }

    /// Computes the hull; `near` means that addresses differ in the lower 32 bits only.
    #[inline(always)]
    fn hull(&self, near: bool) -> Hull {
        if self.pattern != Pattern::Other {
            let low = self.addresses[Self::first(self.mask) as usize];
            let high = self.addresses[31 - self.mask.leading_zeros().min(31) as usize];
            if low <= high {
                return (low, high, low);
            }
        }
        if near {
            let (mut low, mut high, mut any) = (u32::MAX, 0, 0);
            for lane in 0..32 {
                let address = self.addresses[lane] as u32;
                let takes_part = self.mask >> lane & 1 == 1;
                low = low.min(if takes_part { address } else { u32::MAX });
                let address = if takes_part { address } else { 0 };
                high = high.max(address);
                any |= address;
            }
            let upper = self.addresses[Self::first(self.mask) as usize] & !u64::from(u32::MAX);
            return (upper | u64::from(low), upper | u64::from(high), upper | u64::from(any));
        }
        let (mut low, mut high, mut any) = (u64::MAX, 0, 0);
        for lane in (0..32).filter(|lane| self.mask >> lane & 1 == 1) {
            let address = self.addresses[lane];
            low = low.min(address);
            high = high.max(address);
            any |= address;
        }
        (low, high, any)
    }

    #[inline(always)]
    fn locate_generic(&mut self, hull: Hull, size: u32, write: bool) -> Flow {
        match (hull.0 >> 56, hull.1 >> 56) {
            (0, 0) => self.locate_global(hull, size, write),
            (1, 1) => self.locate_shared(SHARED_WINDOW, hull, size, write),
            _ => self.locate_each(0, size, write),
        }
    }

    #[inline(always)]
    fn locate_global(&mut self, (low, high, any): Hull, size: u32, write: bool) -> Flow {
        let end = high.wrapping_add(u64::from(size));
        if any & u64::from(size - 1) != 0 || end < low {
            return self.locate_each(0, size, write);
        }
        let pc = self.pc as usize - 1;
        let regions = self.launch.regions;
        let mut index = self.found[pc] as usize;
        let held = |index: usize| regions.get(index).is_some_and(|region| region.start <= low && end <= region.end);
        if !held(index) {
            match region::find(regions, low, end) {
                Some(found) => index = found,
                None => return self.locate_each(0, size, write),
            }
            self.found[pc] = index as u32;
        }
        let region = regions[index];
        if write && !region.writable {
            return self.locate_each(0, size, write);
        }
        if write && self.is_only_read(index) {
            let lane = Self::first(self.mask);
            self.misuse(MisuseKind::OtherRegion, lane, (self.addresses[lane as usize], size), write, index);
        }
        self.region = index as u32;
        let shift = region.host.wrapping_sub(region.start);
        for lane in 0..32 {
            self.pointers[lane] = self.addresses[lane].wrapping_add(shift) as *mut u8;
        }
        if self.recorder.enabled {
            self.note(index, size, write);
        }
        if !self.launch.aliases.is_empty() {
            self.leave_aliases(size);
        }
        Flow::Next
    }

    /// Replaces the resolved addresses by those that the search for races knows, where bytes have several.
    #[cold]
    pub(super) fn leave_aliases(&mut self, size: u32) {
        let mut shifts = [0; 32];
        for (lane, shift) in shifts.iter_mut().enumerate().filter(|(lane, _)| self.mask >> lane & 1 == 1) {
            let address = &mut self.addresses[lane];
            if *address >> 56 == 0 {
                let known = region::without_alias(self.launch.aliases, *address);
                *shift = known.wrapping_sub(*address);
                *address = known;
            }
        }
        let first = shifts[Self::first(self.mask) as usize];
        if (0..32).any(|lane| self.mask >> lane & 1 == 1 && shifts[lane] != first) {
            self.pattern = Pattern::Other;
            self.chains = Chains::of_any(&self.addresses, size);
        }
    }

    /// Whether no store of the kernel may address a region.
    #[inline(always)]
    pub(crate) fn is_only_read(&self, index: usize) -> bool {
        self.only_read.get(index).copied().unwrap_or(false)
    }

    /// Records an access to one region.
    fn note(&mut self, index: usize, size: u32, write: bool) {
        let Region { start, host, .. } = self.launch.regions[index];
        if let Some(undefined) = self.undefined.as_mut().filter(|_| write && !self.recorder.updates)
            && !undefined.global.is_empty()
        {
            let places = bits(self.mask).map(|lane| self.addresses[lane as usize] - start + host);
            places.for_each(|place| undefined.global.define(place, place + u64::from(size)));
        }
        if !self.freed.is_empty() {
            self.note_freed(self.mask, size - self.unused, write);
        }
        if self.launch.dependent && self.waits_apart() {
            let bytes = u64::from(size - self.unused);
            for lane in (0..32).filter(|lane| self.mask >> lane & 1 == 1) {
                self.recorder.before_wait = self.is_before_wait(lane as u32);
                // Undefined values of such launches are not followed.
                let _ = self.recorder.note(index, self.addresses[lane] - start, bytes, write);
            }
            return;
        }
        if write && self.recorder.updates {
            return self.note_updates(index, size);
        }
        let meets = self.note_lanes(index, size, write);
        if meets && !write {
            bits(self.mask)
                .for_each(|lane| self.meet_unwritten(index, self.addresses[lane as usize], size - self.unused));
        }
    }

    /// Records updates in one region. An update that the recorder has leaves it as it is.
    fn note_updates(&mut self, index: usize, size: u32) {
        let (all, start) = (self.mask, self.launch.regions[index].start);
        let is_new = |lane: &u32| !self.recorder.has_update(index, self.addresses[*lane as usize] - start, size.into());
        let new = bits(all).filter(is_new).fold(0, |lanes, lane| lanes | 1 << lane);
        if new != 0 {
            self.mask = new;
            self.meet_updates(index, size);
            self.note_lanes(index, size, true);
            self.mask = all;
        }
    }

    /// Records the addresses of the lanes in a region, whose runs the chains have. Returns whether they may meet bytes that nothing has written.
    #[inline(always)]
    pub(super) fn note_lanes(&mut self, index: usize, size: u32, write: bool) -> bool {
        let Region { start, .. } = self.launch.regions[index];
        let mut meets = false;
        let chains = self.chains.without_gaps(size);
        if self.unused > 0 || (chains.same | chains.next) & self.mask & self.mask << 1 == 0 {
            let bytes = u64::from(size - self.unused);
            meets = self.recorder.note_each(
                index,
                bits(self.mask).map(|lane| self.addresses[lane as usize] - start),
                bytes,
                write,
            );
        } else {
            let mut rest = self.mask;
            while rest != 0 {
                let run;
                (run, rest) = chains.run(rest);
                let bytes = size + run.step * (run.count - 1);
                meets |= self.recorder.note(index, self.addresses[run.lane as usize] - start, bytes.into(), write);
            }
        }
        meets
    }

    /// Resolves addresses in shared memory, which begins at `start`.
    #[inline(always)]
    fn locate_shared(&mut self, start: u64, (low, high, any): Hull, size: u32, write: bool) -> Flow {
        let length = self.block.shared_bytes();
        if any & u64::from(size - 1) != 0 || (high - start).saturating_add(u64::from(size)) > length {
            return self.locate_each(SHARED_WINDOW - start, size, write);
        }
        let base = (self.block.shared_base() as u64).wrapping_sub(start);
        for lane in 0..32 {
            self.pointers[lane] = base.wrapping_add(self.addresses[lane]) as *mut u8;
        }
        // A read before a write that it races with looks unwritten, so the races must be known.
        if self.races.on && self.recorder.enabled {
            self.note_shared(start, (low, high), size, write);
        }
        Flow::Next
    }

    #[inline(always)]
    fn locate_local(&mut self, (low, high, any): Hull, size: u32, write: bool) -> Flow {
        let length = self.warp.local.len() as u64 / 4;
        if any & u64::from(size - 1) != 0 || high.saturating_add(u64::from(size)) > length {
            return self.locate_each(LOCAL_WINDOW, size, write);
        }
        let base = self.warp.local.as_mut_ptr() as u64;
        for lane in 0..32 {
            let address = self.addresses[lane];
            let place = (address >> 3).wrapping_mul(256).wrapping_add(lane as u64 * 8 + (address & 7));
            self.pointers[lane] = base.wrapping_add(place) as *mut u8;
        }
        self.local_lanes = u32::MAX;
        // Local memory is interleaved, so equal addresses have different pointers.
        self.pattern = Pattern::Other;
        if self.recorder.enabled {
            self.note_local((low, high), size, write);
        }
        Flow::Next
    }

    /// Resolves [`Machine::addresses`], which the caller has set, for a weak access to global memory.
    pub(crate) fn locate_given(&mut self, size: u32, write: bool) -> Flow {
        self.block.changes += u64::from(write);
        self.local_lanes = 0;
        self.region = u32::MAX;
        self.recorder.strength = Strength::Weak;
        (self.pattern, self.chains) = (Pattern::Other, Chains { same: 0, next: 0, stride: size });
        let hull = self.hull(false);
        self.locate_global(hull, size, write)
    }

    /// The distance of element `index` of a vector from the first one, for a lane.
    #[inline(always)]
    pub(crate) fn element(&self, lane: usize, bytes: u32) -> usize {
        let bytes = bytes as usize;
        if self.local_lanes >> lane & 1 == 1 { (bytes >> 3) * 256 + (bytes & 7) } else { bytes }
    }
}
