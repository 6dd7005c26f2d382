//! The accesses to shared memory whose bytes are known to be written, in launches with records.
//!
//! A site has whole variables, or parts of them, all of whose bytes are written. A variable may have bytes that nothing ever writes: a tile has a
//! further column, so that threads access different banks. For such accesses, a table in front of the sites has those whose own bytes were
//! found to be written. They stay so until the block ends.

use super::access::Groups;
use super::compiled::Compiled;
use super::context::Site;
use crate::machine::Machine;
use crate::machine::access_mode::{self, is_wide, space};
use crate::machine::direct::{GROUP, GROUPS, SHARED};
use crate::machine::program::Instruction;
use std::slice;

/// The places of the table, and the sites that take as much memory.
pub(super) const PLACES: u64 = 1024;
const TABLE: usize = PLACES as usize * 8 / size_of::<Site>();
/// The distance of the places of two sites with one offset.
pub(super) const APART: u32 = 61;
/// The offsets in shared memory, the sites, and the blocks that the table can have: an entry is the number of a block from 1 on, a site and an offset.
pub(super) const OFFSETS: u64 = 1 << 18;
pub(super) const MOST_SITES: u32 = 1 << 12;
const BLOCK: u32 = 30;

/// The part of an entry that names a block. No entry has that of a block whose number is too large.
pub(super) fn generation(block: u64) -> u64 {
    (block + 1).min(u64::MAX >> BLOCK) << BLOCK
}

/// The bytes of an access, or of several that are checked together: those of each group, at distances from the lowest offset.
pub(super) struct Pattern {
    distances: [i64; GROUPS],
    bytes: u64,
    members: Vec<i32>,
    /// The distance of the lowest offset from the first lane's register.
    low: i32,
}

impl Pattern {
    pub(super) fn new(groups: &Groups, size: u64, members: Vec<i32>, low: i32) -> Pattern {
        let distances = groups.distances.map(|distance| distance - groups.low);
        Pattern { distances, bytes: if groups.rows { GROUP as u64 * size } else { size }, members, low }
    }
}

/// The sites of code, behind a table if an access may be in it.
pub(super) struct Sites {
    all: Vec<Site>,
    first: usize,
}

impl Sites {
    pub(super) fn new(compiled: &Compiled) -> Sites {
        let first = if compiled.patterns.is_empty() { 0 } else { TABLE };
        Sites { all: vec![Site::NONE; first + compiled.sites as usize], first }
    }

    pub(super) fn start(&mut self) -> *mut Site {
        self.all[self.first..].as_mut_ptr()
    }
}

/// Forgets the shared memory that accesses have found: each block has its own, which nothing has written.
///
/// # Safety
/// The sites are those of the code, and nothing else accesses them meanwhile.
pub(super) unsafe fn forget_shared(compiled: &Compiled, sites: *mut Site) {
    if compiled.journal {
        // SAFETY: this function's contract.
        let sites = unsafe { slice::from_raw_parts_mut(sites, compiled.sites as usize) };
        let shared = sites.iter_mut().filter(|site| site.region == SHARED.into());
        shared.for_each(|site| *site = Site { region: SHARED.into(), ..Site::NONE });
    }
}

impl Machine<'_> {
    /// Adds an access to shared memory to the table if all its bytes are written. The function of its instruction has just executed it, in all
    /// lanes.
    ///
    /// # Safety
    /// The sites are those of the running code, and nothing else accesses them meanwhile.
    pub(super) unsafe fn note_written(&mut self, instruction: &Instruction, site: u32, sites: *mut Site) {
        if !self.journal.on || space(instruction.c) != access_mode::SHARED || self.mask != u32::MAX {
            return;
        }
        // SAFETY: the running code is kept as long as the program.
        let Some(pattern) = unsafe { &*self.journal.compiled }.patterns.get(&site) else { return };
        // SAFETY: the access was executed.
        let address = unsafe { self.address_of(instruction, 0) };
        let first = match is_wide(instruction.c) {
            true => address.wrapping_add_signed(pattern.low.into()),
            false => (address as u32).wrapping_add_signed(pattern.low).into(),
        };
        if first >= OFFSETS || self.block.number >= (u64::MAX >> BLOCK) - 1 {
            return;
        }
        for member in &pattern.members {
            for distance in pattern.distances {
                let start = first.wrapping_add_signed(distance + i64::from(*member));
                if start >= self.block.shared_bytes() || !self.block.is_written(start, start + pattern.bytes) {
                    return;
                }
            }
        }
        let entry = generation(self.block.number) | (u64::from(site) * OFFSETS) | first;
        let place = (first / 4 + u64::from(site * APART)) % PLACES;
        // SAFETY: this function's contract. The code has patterns, so a table is in front of its sites.
        unsafe {
            sites.cast::<u64>().sub(PLACES as usize).add(place as usize).write(entry);
            (*sites.add(site as usize)).region = SHARED.into();
        }
    }
}
