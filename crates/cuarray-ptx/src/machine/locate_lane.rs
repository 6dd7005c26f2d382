//! Address resolution of single lanes: where the lanes of an access have no pattern, or one of them faults.

use super::address_windows::SHARED_WINDOW;
use super::fault::FaultKind;
use super::misuse::MisuseKind;
use super::pattern::Pattern;
use super::region::{self, Strength};
use super::{Flow, Machine};

impl Machine<'_> {
    /// Resolves each lane separately; its address is relative to a window.
    #[cold]
    pub(super) fn locate_each(&mut self, window: u64, size: u32, write: bool) -> Flow {
        self.pattern = Pattern::Other;
        for lane in 0..32 {
            if self.mask >> lane & 1 == 0 {
                continue;
            }
            let address = self.addresses[lane as usize];
            // The sum of a large address and the window could wrap into the address of another space.
            let generic = if window != 0 && address >> 56 != 0 { u64::MAX } else { window.wrapping_add(address) };
            match self.locate_one(lane, generic, u64::from(size - self.unused), u64::from(size), write) {
                Ok(pointer) => self.pointers[lane as usize] = pointer,
                Err(FaultKind::IllegalAddress) if self.poisons(generic, size, write) => {
                    self.misuse(MisuseKind::StrayRead, lane, (generic, size), false, 0);
                    self.pointers[lane as usize] = self.poison.as_mut_ptr().cast();
                }
                Err(kind) => return self.fail(kind, lane, generic, size, write),
            }
        }
        if window == 0 && !self.launch.aliases.is_empty() {
            self.leave_aliases(size);
        }
        Flow::Next
    }

    /// Whether an access outside of all regions gives poison, and the launch goes on.
    fn poisons(&self, address: u64, size: u32, write: bool) -> bool {
        let fits = size as usize <= size_of_val(&self.poison);
        self.launch.poisons && self.recorder.enabled && !write && address >> 56 == 0 && fits
    }

    /// Resolves a generic address of a lane for a weak access.
    pub(crate) fn locate_lane(
        &mut self,
        lane: u32,
        address: u64,
        size: u64,
        align: u64,
        write: bool,
    ) -> Result<*mut u8, FaultKind> {
        self.block.changes += u64::from(write);
        self.recorder.strength = Strength::Weak;
        self.locate_one(lane, address, size, align, write)
    }

    fn locate_one(
        &mut self,
        lane: u32,
        address: u64,
        size: u64,
        align: u64,
        write: bool,
    ) -> Result<*mut u8, FaultKind> {
        let offset = address & (SHARED_WINDOW - 1);
        let within = |length: u64| offset.checked_add(size).is_some_and(|end| end <= length);
        let inside = match address >> 56 {
            0 => {
                let end = address.checked_add(size).ok_or(FaultKind::IllegalAddress)?;
                let regions = self.launch.regions;
                let found = region::find(regions, address, end);
                let index = found.or_else(|| region::find_slack(regions, address, end));
                let index = index.ok_or(FaultKind::IllegalAddress)?;
                let region = regions[index];
                if write && !region.writable {
                    return Err(FaultKind::ReadOnly);
                }
                if address & (align - 1) == 0 && self.recorder.enabled {
                    let bytes = (address, size as u32);
                    if write && self.is_only_read(index) {
                        self.misuse(MisuseKind::OtherRegion, lane, bytes, write, index);
                    } else if found.is_none() {
                        self.misuse(MisuseKind::BeyondRegion, lane, bytes, write, index);
                    }
                    self.recorder.before_wait = self.launch.dependent && self.is_before_wait(lane);
                    if !self.freed.is_empty() {
                        self.note_freed_lane(lane, bytes, write);
                    }
                    let inside = size.min(region.end.saturating_sub(address));
                    if write && self.recorder.updates {
                        self.meet_update(index, address, inside as u32);
                    }
                    if self.recorder.note(index, address - region.start, inside, write) && !write {
                        self.meet_unwritten(index, address, inside as u32);
                    }
                    if let Some(undefined) = self.undefined.as_mut().filter(|_| write && !self.recorder.updates) {
                        let place = region.host.wrapping_add(address - region.start);
                        undefined.global.define(place, place + size);
                    }
                }
                region.host.wrapping_add(address - region.start)
            }
            1 if within(self.block.shared_bytes()) => {
                if self.races.on && self.recorder.enabled {
                    self.note_shared_lane(lane, offset, size as u32, write);
                }
                self.block.shared_base() as u64 + offset
            }
            1 => self.locate_remote(offset, size)?,
            2 if within(self.warp.local.len() as u64 / 4) => {
                self.local_lanes |= 1 << lane;
                if self.recorder.enabled {
                    self.note_local_lanes(1 << lane, offset, size as u32, write);
                }
                self.warp.local.as_mut_ptr() as u64 + (offset >> 3) * 256 + u64::from(lane) * 8 + (offset & 7)
            }
            3 if within(self.launch.parameters.len() as u64 * 8) => {
                if write {
                    return Err(FaultKind::ReadOnly);
                }
                self.launch.parameters.as_ptr() as u64 + offset
            }
            _ => return Err(FaultKind::IllegalAddress),
        };
        if address & (align - 1) == 0 { Ok(inside as *mut u8) } else { Err(FaultKind::Misaligned) }
    }
}
