//! The accesses to shared memory whose bytes are known to be written, in launches with records.
//!
//! A site has whole variables, or parts of them, all of whose bytes are written. A variable may have bytes that nothing ever writes: a tile has a
//! further column, so that threads access different banks. For such accesses, a table in front of the sites has those whose own bytes were
//! found to be written. They stay so until the block ends.

use super::access::Groups;
use super::compiled::Compiled;
use super::context::Site;
use crate::machine::Machine;
use crate::machine::direct::{GROUP, SHARED};
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
    distances: Vec<i64>,
    bytes: u64,
    members: Vec<i32>,
    /// Whether they are stores, and nothing reads memory between them.
    marks: bool,
}

impl Pattern {
    pub(super) fn new(groups: &Groups, size: u64, members: Vec<i32>, marks: bool) -> Pattern {
        let distances = groups.distances.iter().map(|distance| distance - groups.low).collect();
        Pattern { distances, bytes: if groups.rows { GROUP as u64 * size } else { size }, members, marks }
    }

    /// As [`Pattern::new`], for the elements of lanes at any distances, with the least one.
    pub(super) fn of_lanes(distances: &[i64; 32], low: i64, size: u64, marks: bool) -> Pattern {
        let distances = distances.iter().map(|distance| distance - low).collect();
        Pattern { distances, bytes: size, members: vec![0], marks }
    }

    /// Whether `f` holds for the range of bytes of each group, for a lowest offset.
    fn all(&self, lowest: u64, mut f: impl FnMut(u64, u64) -> bool) -> bool {
        let starts =
            self.members.iter().flat_map(|member| self.distances.iter().map(|distance| distance + i64::from(*member)));
        starts.map(|distance| lowest.wrapping_add_signed(distance)).all(|start| f(start, start + self.bytes))
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
    /// Finds the shared memory of an access of all lanes: for its site if all bytes around it are written, or for the table if its own bytes are.
    /// `lowest` is the least offset, and `span` the bytes from there on. Returns whether it was found.
    ///
    /// # Safety
    /// The sites are those of the running code, and nothing else accesses them meanwhile.
    pub(super) unsafe fn find_written(&mut self, site: u32, (lowest, span): (u64, u64), sites: *mut Site) -> bool {
        // SAFETY: the running code is kept as long as the program.
        let pattern = unsafe { &*self.journal.compiled }.patterns.get(&site);
        if let Some(pattern) = pattern.filter(|pattern| pattern.marks) {
            self.mark_written(pattern, (lowest, span));
        }
        let has = |found: &Site| lowest - found.start < found.places;
        if let Some(found) = self.written_shared(lowest, span).filter(has) {
            // SAFETY: this function's contract.
            unsafe { sites.add(site as usize).write(found) };
            return true;
        }
        let Some(pattern) = pattern.filter(|_| lowest < OFFSETS && self.block.number < (u64::MAX >> BLOCK) - 1) else {
            return false;
        };
        let bytes = self.block.shared_bytes();
        let block = &mut self.block;
        if !pattern.all(lowest, |start, end| end <= bytes && block.is_written(start, end)) {
            return false;
        }
        let entry = generation(self.block.number) | (u64::from(site) * OFFSETS) | lowest;
        let place = (lowest / 4 + u64::from(site * APART)) % PLACES;
        // SAFETY: this function's contract. The code has patterns, so a table is in front of its sites.
        unsafe {
            sites.cast::<u64>().sub(PLACES as usize).add(place as usize).write(entry);
            (*sites.add(site as usize)).region = SHARED.into();
        }
        true
    }

    /// Marks the bytes as written that the code is about to store, if they are in variables without a gap between them.
    fn mark_written(&mut self, pattern: &Pattern, (lowest, span): (u64, u64)) {
        let (_, end) = self.program.shared_without_gaps(lowest);
        if lowest.saturating_add(span) <= end.min(self.block.shared_bytes()) {
            pattern.all(lowest, |start, end| {
                self.block.set_written(start, end);
                self.block.undefined.define(start, end);
                true
            });
        }
    }
}
