//! The accesses that generated code has made itself in a launch with records.
//!
//! The code adds each one to the journal: where it was, by which instruction, and what it has written. The accesses are recorded and compared,
//! in their order, before anything else orders threads or accesses memory: before the code calls a function, and once it has returned.
//! So each is recorded as if it were then.
//!
//! An access that may meet undefined values is not in the journal, because it has to be followed at once: its site has written memory only,
//! also in shared memory.

use super::access::Groups;
use super::compiled::Compiled;
use super::context::Site;
use crate::machine::Machine;
use crate::machine::access_mode::{ACQUIRES, GUESS, IN_PLACE, RELEASES, strength};
use crate::machine::direct::{GROUPS, SHARED, Shape, groups64};
use crate::machine::direct_recorded::{ALL_ROWS, step_of};
use crate::machine::launch::Launch;
use crate::machine::pattern::Chains;
use crate::machine::program::{Instruction, LEFT_OUT};
use crate::machine::region::Strength;
use crate::races::cell::{Kind, Now, digest};
use crate::races::{self, Watched};

/// The bytes of the journal.
const BYTES: usize = 1 << 14;
/// The most bytes of an entry: those of its head, 32 addresses, and 32 values of 64 bits.
const LONGEST: usize = size_of::<Entry>() + 512;

/// In place of an access: the entries behind are of the next warp.
pub(super) const NEXT_WARP: u32 = u32::MAX;

/// The entries that are compared with further ones.
const NOTED: usize = 512;

/// The head of an entry. The addresses of a scattered access follow, and then the values of a store, as they are in the registers.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Entry {
    /// The host's address of the lowest byte that was checked, if the addresses do not follow.
    pub host: u64,
    /// The number of the access among those of the running code.
    pub access: u32,
    /// The region with the memory, or [`SHARED`].
    pub region: u32,
    /// The lanes that take part.
    pub lanes: u32,
}

/// A store or an atomic operation of the code that the journal may have, or loads that are checked together.
pub(super) struct Journaled {
    pub size: u32,
    pub kind: Kind,
    /// A bit for each group: whether its addresses are consecutive; otherwise they are equal.
    pub rows: u32,
    /// The distance of each group from the host's address of an entry.
    pub firsts: [i64; GROUPS],
    /// The distance of the lanes' elements, if it is the same for all.
    pub step: Option<u32>,
    /// The instructions, and the distance of each from these groups. If the launch fails between loads that are checked together, it counts
    /// as failed behind them.
    pub members: Vec<(u32, i32)>,
    /// The addresses of an access that are neither rows nor equal by groups. It has one member, with its offset.
    pub scattered: Option<Addresses>,
}

/// The addresses of a scattered access.
pub(super) enum Addresses {
    /// At distances from the first one, which is in place of the host's address, with these chains.
    Linear { distances: Box<[i64; 32]>, chains: Chains },
    /// Behind the head of the entry, in 64 bits, or in 32 bits.
    Listed { far: bool },
}

impl Journaled {
    pub(super) fn scattered(size: u32, kind: Kind, addresses: Addresses, member: (u32, i32)) -> Journaled {
        let (firsts, members) = ([0; GROUPS], vec![member]);
        Journaled { size, kind, rows: 0, firsts, step: None, members, scattered: Some(addresses) }
    }

    pub(super) fn new(size: u32, stores: bool, groups: &Groups, members: Vec<(u32, i32)>) -> Journaled {
        let kind = if stores { Kind::Write } else { Kind::Read };
        let firsts = groups.distances.map(|distance| distance - groups.low);
        let rows = if groups.rows { ALL_ROWS } else { 0 };
        let step = step_of(&firsts.map(|first| first as u64), rows, size);
        Journaled { size, kind, rows, firsts, step, members, scattered: None }
    }

    pub(super) fn stores(&self) -> bool {
        self.kind == Kind::Write
    }

    /// The host's pointers to the first elements of the groups.
    fn pointers(&self, host: u64) -> [u64; GROUPS] {
        let mut pointers = [host; GROUPS];
        for (pointer, first) in pointers.iter_mut().zip(self.firsts) {
            *pointer = pointer.wrapping_add_signed(first);
        }
        pointers
    }

    /// The bytes of the addresses behind the head of an entry.
    fn addresses(&self) -> usize {
        match self.scattered {
            Some(Addresses::Listed { far: true }) => 256,
            Some(Addresses::Listed { far: false }) => 128,
            _ => 0,
        }
    }

    /// The bytes of the addresses and the values behind the head of an entry.
    pub(super) fn values(&self) -> usize {
        self.addresses()
            + match (self.stores(), self.size) {
                (false, _) => 0,
                (true, 8) => 256,
                (true, _) => 128,
            }
    }
}

/// The journal of a machine.
pub(crate) struct Journal {
    /// Whether the launch has one, as long as [`Machine::records_directly`] holds.
    pub(in crate::machine) on: bool,
    /// The addresses of the next entry, and of the last place for one.
    pub(super) next: u64,
    pub(super) last: u64,
    entries: Vec<u64>,
    /// The code that makes entries.
    pub(super) compiled: *const Compiled,
    /// Entries whose bytes the recorder has. Warps of a block often read the same memory.
    noted: Vec<(u64, u64)>,
    /// For each region, whether something had written all of it before the launch, once that is known.
    written: Vec<Option<bool>>,
}

impl Journal {
    pub(in crate::machine) fn new(launch: &Launch<'_>) -> Journal {
        let on = (launch.record || launch.races)
            && !launch.follows_memory_model()
            && launch.cluster.is_none()
            && !launch.dependent
            && launch.aliases.is_empty();
        let none = std::ptr::null();
        Journal { on, next: 0, last: 0, entries: Vec::new(), compiled: none, noted: Vec::new(), written: Vec::new() }
    }

    /// Prepares for entries by the code of a function.
    pub(super) fn open(&mut self, compiled: *const Compiled) {
        if self.entries.is_empty() {
            self.entries = vec![0; BYTES / 8];
            self.noted = vec![(0, 0); NOTED];
            self.next = self.entries.as_ptr() as u64;
            self.last = self.next + (BYTES - LONGEST) as u64;
        }
        self.compiled = compiled;
    }

    /// Whether the recorder has the bytes of an entry. If not, it has them next time.
    #[inline(always)]
    fn was_noted(&mut self, entry: &Entry) -> bool {
        // The addresses of code have 48 bits.
        let Ok(access) = u16::try_from(entry.access) else { return false };
        let of = (entry.host, self.compiled as u64 ^ u64::from(access) << 48);
        let place = (entry.host >> 3) ^ (entry.host >> 12) ^ (u64::from(access) * 37);
        let place = place as usize % NOTED;
        std::mem::replace(&mut self.noted[place], of) == of
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.as_ptr() as u64 == self.next || self.next == 0
    }
}

/// Whether the journal may have accesses of an instruction.
pub(super) fn is_usual(instruction: &Instruction) -> bool {
    instruction.c & (GUESS | IN_PLACE) == 0
}

impl Machine<'_> {
    /// Records the accesses of the journal, and empties it.
    #[inline(always)]
    pub(super) fn settle_journal(&mut self) {
        if !self.journal.is_empty() {
            // SAFETY: generated code has made the entries, so the processor has the features.
            unsafe { self.settle_entries() };
        }
    }

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn settle_entries(&mut self) {
        // SAFETY: the code that has made the entries is kept as long as the launch has it.
        let accesses = unsafe { &(*self.journal.compiled).journaled };
        let (first, end) = (self.journal.entries.as_ptr() as u64, self.journal.next);
        self.journal.next = first;
        let (pc, mask) = (self.pc, self.mask);
        // The time of reads of shared memory, and whether they are listed.
        let mut listing: Option<(Now, bool)> = None;
        let mut at = first;
        while at < end {
            // SAFETY: generated code has written an entry here, in front of `end`, with the number of one of its accesses. The values of a
            // store follow it.
            let (entry, values) = unsafe { ((at as *const Entry).read(), (at as *const Entry).add(1)) };
            if entry.access == NEXT_WARP {
                self.warp.number += 1;
                (listing, at) = (None, at + size_of::<Entry>() as u64);
                continue;
            }
            let access = &accesses[entry.access as usize];
            at += (size_of::<Entry>() + access.values()) as u64;
            self.note_operation_order(access);
            if entry.region == SHARED && !self.races.on {
                continue;
            }
            let joins = access.step.is_some() && access.scattered.is_none() && entry.lanes == u32::MAX;
            if !joins || entry.region == SHARED {
                self.recorder.note_joined();
            }
            if let Some(addresses) = &access.scattered {
                // SAFETY: as above: the addresses and the values follow.
                unsafe { self.settle_scattered(access, addresses, &entry, values.cast()) };
                listing = listing.filter(|_| entry.region != SHARED);
                continue;
            }
            let shared = (0, self.block.shared_base() as u64);
            let region = self.launch.regions.get(entry.region as usize);
            let (start, host) = region.map_or(shared, |region| (region.start, region.host));
            if entry.lanes != u32::MAX {
                // SAFETY: as above.
                let digests = unsafe { self.digests_of(access, values.cast()) };
                let shape = Shape::new(access.pointers(entry.host), access.rows, (entry.region, host));
                for (pc, distance) in &access.members {
                    self.pc = pc + 1;
                    self.addresses = std::array::from_fn(|lane| shape.address(lane, access.size, *distance, start));
                    let chains = Some(shape.chains(access.size));
                    self.settle_lanes(&entry, (access.size, access.kind), chains, &digests);
                }
                listing = listing.filter(|_| entry.region != SHARED);
                continue;
            }
            if entry.region == SHARED && !access.stores() {
                let Some(watched) = self.block.watched.as_mut() else { continue };
                let Watched { order, deferred, .. } = &mut **watched;
                let (now, lists) = *listing.get_or_insert_with(|| {
                    order.settle_after_grid(self.grid.turn);
                    let now = Now::new(order, self.warp.number, 0, Kind::Read);
                    (now, deferred.lists(&now))
                });
                let firsts = access.pointers(entry.host).map(|pointer| pointer.wrapping_sub(host) as u32);
                let groups = races::deferred::Groups { firsts, rows: access.rows, size: access.size };
                if lists && deferred.list_further(&now, groups, &access.members) {
                    continue;
                }
            }
            let mut notes = false;
            if entry.region == SHARED {
                // The next accesses may have to be compared at once.
                listing = None;
            } else {
                notes = self.recorder.ordering.is_some() || !self.journal.was_noted(&entry);
                if !notes && (!self.races.on || self.is_only_read(entry.region as usize)) {
                    continue;
                }
            }
            // SAFETY: as above.
            let digests = unsafe { self.digests_of(access, values.cast()) };
            if let Some(step) = access.step.filter(|_| entry.region != SHARED) {
                let first = entry.host.wrapping_sub(host).wrapping_add_signed(access.firsts[0]);
                self.settle_row(&entry, (first, start, step), (access, notes), &digests);
                continue;
            }
            let shape = Shape::new(access.pointers(entry.host), access.rows, (entry.region, host));
            for (pc, distance) in &access.members {
                (self.pc, self.mask) = (pc + 1, u32::MAX);
                self.settle_entry(access, &shape, (*distance, start), notes, &digests);
            }
        }
        self.recorder.note_joined();
        (self.pc, self.mask) = (pc, mask);
    }

    /// Records accesses of all lanes to elements of a region, at a distance of `step` bytes. `first` is the offset of the first one for a member
    /// without a distance, in the region that begins at `start`, and `notes` tells whether the recorder may not have them.
    #[inline(always)]
    fn settle_row(
        &mut self,
        entry: &Entry,
        (first, start, step): (u64, u64, u32),
        (access, notes): (&Journaled, bool),
        digests: &[u32; 32],
    ) {
        let (size, index) = (access.size, entry.region as usize);
        let bytes = u64::from(31 * step + size);
        let compares = self.races.on && !self.is_only_read(index);
        self.recorder.strength = Strength::Weak;
        for (pc, distance) in &access.members {
            let offset = first.wrapping_add_signed((*distance).into());
            if notes && self.recorder.enabled {
                self.recorder.join(entry.access as usize, (entry.region, offset, bytes), access.stores());
            }
            if compares {
                self.touch_row(start.wrapping_add(offset), (size, step), access.kind, digests, *pc);
            }
        }
    }

    /// Records a scattered access to a region.
    ///
    /// # Safety
    /// The addresses of the access are behind its entry, if they are listed, and then the values of a store. The processor has the features.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn settle_scattered(
        &mut self,
        access: &Journaled,
        addresses: &Addresses,
        entry: &Entry,
        behind: *const u32,
    ) {
        let Journaled { size, kind, ref members, .. } = *access;
        let stores = access.stores();
        let Some((pc, offset)) = members.first() else { return };
        let offset = i64::from(*offset);
        (self.pc, self.mask) = (pc + 1, entry.lanes);
        if let Addresses::Listed { far } = *addresses
            && (entry.region, entry.lanes) == (SHARED, u32::MAX)
            && kind != Kind::Write
            // SAFETY: this function's contract.
            && unsafe { self.list_scattered((size, kind), (far, offset), behind) }
        {
            return;
        }
        // SAFETY: this function's contract.
        let digests = unsafe { self.digests_of(access, behind.byte_add(access.addresses())) };
        let mut known = None;
        match *addresses {
            Addresses::Linear { ref distances, chains } => {
                let first = entry.host.wrapping_add_signed(offset);
                for (address, distance) in self.addresses.iter_mut().zip(&**distances) {
                    *address = first.wrapping_add_signed(*distance);
                }
                known = Some(chains);
            }
            Addresses::Listed { far: false } => {
                for (lane, address) in self.addresses.iter_mut().enumerate() {
                    // SAFETY: this function's contract.
                    *address = unsafe { behind.add(lane).read() }.wrapping_add(offset as u32).into();
                }
            }
            Addresses::Listed { far: true } => {
                // SAFETY: this function's contract.
                let groups = unsafe { groups64(behind.cast(), size.into()) };
                // Lanes that store to one address are compared with each other.
                let groups = groups.filter(|(_, rows)| entry.lanes == u32::MAX && (!stores || *rows == ALL_ROWS));
                let region = self.launch.regions.get(entry.region as usize);
                if let (Some((firsts, rows)), Some(region)) = (groups, region) {
                    let shift = region.host.wrapping_sub(region.start).wrapping_add_signed(offset);
                    let pointers = firsts.map(|first| first.wrapping_add(shift));
                    let shape = Shape::new(pointers, rows, (entry.region, region.host));
                    return self.settle_entry(access, &shape, (0, region.start), true, &digests);
                }
                for (lane, address) in self.addresses.iter_mut().enumerate() {
                    // SAFETY: this function's contract.
                    *address = unsafe { behind.cast::<u64>().add(lane).read_unaligned() }.wrapping_add_signed(offset);
                }
            }
        }
        self.settle_lanes(entry, (size, kind), known, &digests);
    }

    /// Lists an access of all lanes to shared memory, at an offset from the addresses. Returns `false` if it has to be compared at once.
    ///
    /// # Safety
    /// `behind` has the addresses of 32 lanes, of 64 bits if they are `far`, and else of 32 bits. The processor has the features.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn list_scattered(
        &mut self,
        (size, kind): (u32, Kind),
        (far, offset): (bool, i64),
        behind: *const u32,
    ) -> bool {
        let Some(watched) = self.block.watched.as_mut() else { return false };
        let Watched { order, deferred, .. } = &mut **watched;
        order.settle_after_grid(self.grid.turn);
        let now = Now::new(order, self.warp.number, self.pc - 1, kind);
        let step = if far { 2 } else { 1 };
        deferred.list_one(&now, || {
            let mut offsets = [0; 32];
            for (lane, place) in offsets.iter_mut().enumerate() {
                // SAFETY: this function's contract. Offsets in shared memory have 32 bits, and the lower half comes first.
                *place = unsafe { behind.add(lane * step).read() }.wrapping_add(offset as u32);
            }
            races::deferred::Scattered { offsets, lanes: u32::MAX, size, chains: None }
        })
    }

    /// Records the access of an entry by the lanes that take part, whose addresses the machine has, with their chains, if these are `known`.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    fn settle_lanes(&mut self, entry: &Entry, (size, kind): (u32, Kind), known: Option<Chains>, digests: &[u32; 32]) {
        self.mask = entry.lanes;
        match known {
            Some(chains) => self.chains = chains,
            None => self.find_chains(size),
        }
        let (stores, index) = (kind != Kind::Read, entry.region as usize);
        if entry.region == SHARED {
            return self.touch_in::<true>(entry.lanes, size, 0, kind, digests);
        }
        let compares = self.races.on && !self.is_only_read(index);
        self.recorder.strength = Strength::Weak;
        let Chains { next, stride, .. } = self.chains;
        // Elements at a distance are recorded by the words of memory that they are in.
        if entry.lanes & next == u32::MAX && stride > size {
            let first = self.addresses[0];
            if self.recorder.enabled {
                self.recorder.note_strided(index, first - self.launch.regions[index].start, (size, stride), stores);
            }
            if compares {
                self.touch_row(first, (size, stride), kind, digests, self.pc - 1);
            }
            return;
        }
        if self.recorder.enabled {
            self.note_lanes(index, size, stores);
        }
        if compares {
            self.touch_in::<false>(entry.lanes, size, 0, kind, digests);
        }
    }

    /// Records the place of an atomic operation among releases and acquires, as `locate` does.
    #[inline(always)]
    fn note_operation_order(&mut self, access: &Journaled) {
        if access.kind != Kind::Atomic || self.recorder.ordering.is_none() {
            return;
        }
        self.recorder.note_joined();
        for (pc, _) in &access.members {
            let Instruction { c: mode, d, .. } = self.program.code[*pc as usize];
            self.recorder.strength = strength(mode);
            if self.recorder.strength != Strength::Weak {
                let order = (mode & RELEASES != 0, mode & ACQUIRES != 0);
                self.recorder.note_strong(d != LEFT_OUT, true, order);
            }
        }
    }

    /// The digests of the values that an access stores, if races are looked for.
    ///
    /// # Safety
    /// If the access is a store, the values are those of 32 lanes, of 64 bits if the element has 8 bytes, and else of 32 bits.
    unsafe fn digests_of(&self, access: &Journaled, values: *const u32) -> [u32; 32] {
        if !access.stores() || !self.races.on {
            return [0; 32];
        }
        // SAFETY: this function's contract.
        std::array::from_fn(|lane| unsafe { digest_of(values, lane, access.size) })
    }

    /// Records the access of an instruction at a distance from a shape, in the memory that starts at an address. `notes` tells whether the recorder
    /// may not have it.
    fn settle_entry(
        &mut self,
        access: &Journaled,
        shape: &Shape,
        (distance, start): (i32, u64),
        notes: bool,
        digests: &[u32; 32],
    ) {
        let Journaled { size, kind, .. } = *access;
        if shape.region != SHARED
            && self.record_shape(shape, (distance.into(), size), kind, (digests, notes), self.pc - 1)
        {
            return;
        }
        let place = |_: &[u64; 32], lane: u32| shape.address(lane as usize & 31, size, distance, start);
        let lanes = (shape.chains(size), u32::MAX);
        match shape.region {
            SHARED => self.touch_at::<true>(lanes, size, kind, digests, place),
            _ => self.touch_at::<false>(lanes, size, kind, digests, place),
        }
    }

    /// Whether generated code may run: with a journal, as long as all accesses have the usual records, and memory has no undefined value.
    #[inline(always)]
    pub(super) fn may_journal(&self) -> bool {
        !self.journal.on || self.undefined.is_none() && self.records_directly()
    }

    /// Whether instructions may use the shapes of addresses that earlier ones have observed: generated code, which observes none, accesses
    /// no memory itself.
    pub(in crate::machine) fn keeps_shapes(&self) -> bool {
        self.shapes.recorded && !self.journal.on
    }

    /// Whether the journal may have accesses to a region.
    pub(super) fn journals_region(&mut self, index: usize, stores: bool) -> bool {
        if stores {
            return !self.is_only_read(index);
        }
        if !self.recorder.enabled || !self.recorder.follows {
            return true;
        }
        if self.journal.written.len() <= index {
            self.journal.written.resize(self.launch.regions.len(), None);
        }
        let (region, service) = (self.launch.regions[index], self.launch.service);
        *self.journal.written[index].get_or_insert_with(|| service.unwritten(region.start, region.end).is_empty())
    }

    /// The written shared memory around an offset, up to gaps between variables, for accesses whose addresses span so many bytes.
    pub(super) fn written_shared(&mut self, offset: u64, span: u64) -> Option<Site> {
        let (start, end) = self.program.shared_without_gaps(offset);
        let end = end.min(self.block.shared_bytes());
        let places = end.checked_sub(start)?.checked_sub(span)? + 1;
        // Threads mostly write the last bytes last.
        let is_written = self.block.is_written(end - span, end) && self.block.is_written_throughout(start, end);
        is_written.then(|| Site { start, places, shift: self.block.shared_base() as u64, region: SHARED.into() })
    }
}

/// The digest of the value that a lane stores.
///
/// # Safety
/// The values are those of 32 lanes, of 64 bits if the element has 8 bytes, and else of 32 bits.
unsafe fn digest_of(values: *const u32, lane: usize, size: u32) -> u32 {
    // SAFETY: this function's contract.
    unsafe {
        match size {
            8 => digest(values.cast::<u64>().add(lane).read_unaligned()),
            4 => values.add(lane).read(),
            size => values.add(lane).read() & ((1 << (8 * size)) - 1),
        }
    }
}
