//! Reports accesses, barriers and fences to race detection.
//!
//! Kernels whose threads can synchronize through memory are searched by the memory model: see
//! [`memory_model`](super::memory_model). In the other kernels only barriers and exchanges of lanes order threads.

use super::access_mode::{GENERIC, GLOBAL, GUESS, IN_PLACE, Mode, SHARED, STRONG, UPDATES, space};
use super::access_rows::{each_row, record_late};
use super::address_windows::SHARED_WINDOW;
use super::block::Block;
use super::cluster::OFFSETS;
use super::pattern::Chains;
use super::program::Instruction;
use super::{Launch, Machine, region};
use crate::grammar::types::Space;
use crate::races::causality::Why;
use crate::races::cell::{Kind, Now, Origin};
use crate::races::deferred::Scattered;
use crate::races::global_access::GlobalAccess;
use crate::races::update::Updates;
use crate::races::{Access, Race, Scene, Watched, access};

/// Whether two threads of one warp race.
#[cold]
fn is_within_warp(race: &Race) -> bool {
    let [one, other] = &race.accesses;
    one.thread / 32 == other.thread / 32
}

/// Holds back a race of an update in place; returns whether the race is one.
#[cold]
pub(super) fn hold_back(launch: &Launch<'_>, race: &Race, updates: &mut Updates) -> bool {
    let [before, now] = race.accesses;
    let (load, store) = if now.writes { (before, now) } else { (now, before) };
    let (Some(read), Some(written)) = (load.pc, store.pc) else { return false };
    let Some(update) = launch.program.updates.get(&(read, written)).filter(|_| !load.writes) else { return false };
    // Parameters of 64 bits are aligned.
    let value = |offset: u32| launch.parameters.get(offset as usize / 8);
    if update.parameters.is_some_and(|[one, other]| value(one) != value(other)) {
        return false;
    }
    let bits = if race.shared { OFFSETS } else { u64::MAX };
    updates.hold(*race, [read, written], [load.thread, store.thread], update.bytes, bits);
    true
}

/// The races of an access of a warp with earlier ones of its block.
pub(super) struct Finds<'a> {
    pub launch: &'a Launch<'a>,
    pub updates: &'a mut Updates,
    pub block: u64,
    pub now: Now,
    pub size: u32,
    pub shared: bool,
    /// One race for each instruction and kind of the earlier access.
    pub found: Vec<Race>,
}

impl Finds<'_> {
    /// Adds a race of a lane, and returns whether no other one is looked for.
    #[cold]
    pub(super) fn accepts(&mut self, address: u64, lane: u32, with: Origin) -> bool {
        let Finds { launch, block, now, size, shared, .. } = *self;
        let accesses = [access(block, with), access(block, now.origin.of(now.warp * 32 + lane))];
        let race = Race { shared, address, size, accesses, why: None };
        let known = |other: &Race| {
            let alike = other.accesses[0].pc == accesses[0].pc && other.accesses[0].writes == accesses[0].writes;
            alike && (!is_within_warp(other) || is_within_warp(&race))
        };
        let races = !hold_back(launch, &race, self.updates);
        if races && !self.found.iter().any(known) {
            self.found.push(race);
        }
        // The synchronization with another warp orders the threads of a warp too, so such a race is looked for.
        races && !is_within_warp(&race)
    }
}

impl Launch<'_> {
    /// The races of a launch, with the strong stores that were searched as atomic operations.
    pub(super) fn with_strong_stores(&self, mut races: Vec<Race>) -> Vec<Race> {
        let is_store = |access: &Access| {
            let mode =
                access.pc.and_then(|pc| self.program.code.get(pc as usize)).map_or(0, |instruction| instruction.c);
            access.atomic && mode & STRONG != 0 && mode & UPDATES == 0
        };
        for race in races.iter_mut().filter(|race| race.why.is_none()) {
            for access in &mut race.accesses {
                if is_store(access) {
                    access.atomic = false;
                    race.why = Some(Why::Plain);
                }
            }
        }
        races
    }
}

impl Scene for Launch<'_> {
    fn object(&self, shared: bool, address: u64) -> usize {
        let found = match shared {
            true => self.program.shared_variable_at(address),
            false => region::find(self.regions, address, address + 1),
        };
        found.unwrap_or(usize::MAX)
    }

    fn place(&self, address: u64) -> (bool, u64) {
        match address & SHARED_WINDOW {
            0 => (false, address),
            // The rank of the block that has the memory is not part of the race.
            _ => (true, address & OFFSETS),
        }
    }

    fn block(&self, slot: u32) -> u64 {
        let bits = self.rank_bits();
        self.block_number(self.block_index(u64::from(slot >> bits), slot & ((1 << bits) - 1)))
    }

    fn cluster(&self, block: u64) -> u64 {
        self.cluster_of(block)
    }

    fn line(&self, pc: Option<u32>) -> u64 {
        let location = pc.and_then(|pc| self.program.location(pc));
        // Calls of one inlined function are different places.
        let place = |location: super::program::Location| {
            let call = u64::from(location.inlined_at.1) << 40;
            (u64::from(location.file) << 32 | u64::from(location.source_line)) ^ call
        };
        location.map_or(0, place)
    }
}

/// The size of a condition of a graph in bytes.
const CONDITION: u32 = 4;

/// A digest of each lane's value.
pub(super) type Digests<'a> = &'a [u32; 32];
/// The digests of lanes that write nothing.
pub(super) const NOTHING: Digests<'_> = &[0; 32];

impl Machine<'_> {
    /// Whether a load, whose addresses are resolved, reads memory that no store of the kernel addresses. Such a read cannot race.
    #[inline(always)]
    pub(crate) fn only_reads(&self, instruction: &Instruction) -> bool {
        instruction.c & STRONG == 0 && self.is_only_read(self.region as usize)
    }

    /// Reports reads of `size` bytes that `locate` has resolved.
    #[inline(never)]
    pub(crate) fn watch_read(&mut self, instruction: &Instruction, size: u32) {
        if self.causality.is_some() {
            return self.watch_read_causally(instruction, size);
        }
        if instruction.c & STRONG != 0 || instruction.c & GUESS != 0 && !self.launch.guesses {
            return;
        }
        self.note_in_place(instruction, Kind::Read);
        self.touch(instruction.c, size, 0, Kind::Read, NOTHING);
    }

    /// Reports writes of elements of `size` bytes, `at` bytes after the resolved addresses.
    #[inline(never)]
    pub(crate) fn watch_write(&mut self, instruction: &Instruction, size: u32, at: u32, digests: Digests<'_>) {
        if self.causality.is_some() && instruction.c & STRONG != 0 {
            return self.watch_store_causally(instruction, size, at);
        }
        self.note_in_place(instruction, Kind::Write);
        // Without strong loads, a strong store is like an atomic operation: it races with plain accesses only.
        let kind = if instruction.c & STRONG == 0 { Kind::Write } else { Kind::Atomic };
        self.touch(instruction.c, size, at, kind, digests);
    }

    /// Records a load or a store that may be of an update in place.
    #[inline(always)]
    pub(super) fn note_in_place(&mut self, instruction: &Instruction, kind: Kind) {
        if instruction.c & IN_PLACE != 0 {
            self.note_update(kind);
        }
    }

    /// Records a load or a store of an update in place.
    #[cold]
    fn note_update(&mut self, kind: Kind) {
        let (warp, pc) = (self.warp.number, self.pc - 1);
        let Some(watched) = self.block.watched.as_mut() else { return };
        match kind {
            Kind::Read => watched.updates.load(warp, pc, self.mask, &self.addresses),
            Kind::Write | Kind::Atomic => watched.updates.store(warp, pc, self.mask),
        }
        // Each lane is compared alone, because the race of one lane may count, and that of another one not.
        (self.chains.same, self.chains.next) = (0, 0);
    }

    /// Reports atomic operations that have run, on `count` words of `size` bytes. Whether threads use the `result`; the lanes whose
    /// operations `kept` the old value.
    #[inline(never)]
    pub(crate) fn watch_atomic(
        &mut self,
        instruction: &Instruction,
        (size, count): (u32, u32),
        result: bool,
        kept: u32,
    ) {
        if result {
            self.note_waited();
        }
        match self.causality {
            Some(_) => self.watch_atomic_causally(instruction, (size, count), result, kept),
            None => self.touch(instruction.c, size * count, 0, Kind::Atomic, NOTHING),
        }
    }

    /// Executes a fence with a code of [`fence_code`](super::branching::fence_code) or
    /// [`PROXY_FENCE`](super::branching::PROXY_FENCE); 0 is none.
    pub(super) fn watch_fence(&mut self, code: i64) {
        if self.causality.is_some() {
            self.fence_causally(code);
        }
    }

    /// Begins to search the accesses of a block, in the cluster with a number.
    pub(super) fn watch_block(&mut self, cluster: u64, warps: usize) {
        if self.races.on {
            self.block.watched.get_or_insert_default().start(warps, self.grid.turn);
            self.start_causally(cluster, warps);
        }
    }

    /// Reports that lanes arrive at the barrier of the cluster, which may be `relaxed`.
    pub(super) fn watch_cluster_arrival(&mut self, lanes: u32, relaxed: bool) {
        let warp = self.warp.number;
        if let Some(watched) = self.block.watched.as_mut() {
            watched.order.arrive_at_cluster(warp);
        }
        self.cluster_causally(None, lanes, relaxed);
    }

    /// Reports that lanes have waited for a turn of the barrier of the cluster.
    pub(super) fn watch_cluster_wait(&mut self, turn: u32, lanes: u32) {
        let (warp, live) = (self.warp.number, !self.warp.dead);
        if let Some(watched) = self.block.watched.as_mut() {
            watched.order.wait_for_cluster(turn, warp, lanes, live);
        }
        self.cluster_causally(Some(turn), lanes, false);
    }

    /// Whether only barriers and exchanges of lanes order the threads.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
    pub(super) fn is_ordered_by_barriers(&self) -> bool {
        self.causality.is_none()
    }

    /// Reports that the lanes set conditions of graphs: each is compared as a word at the address that its handle has as a number.
    ///
    /// Possibly concurrent calls for one condition are undefined, whatever their values. So each thread writes its own value.
    #[cold]
    pub(super) fn watch_conditions(&mut self, handles: &[u64; 32]) {
        let is_handle = |handle: u64| handle >> 56 == 0 && handle.is_multiple_of(CONDITION.into());
        let mask = self.lanes().filter(|lane| is_handle(handles[*lane])).fold(0, |mask, lane| mask | 1 << lane);
        if self.block.watched.is_none() || mask == 0 {
            return;
        }
        let first = (self.block.number as u32).wrapping_mul(1024).wrapping_add(self.warp.number * 32);
        let digests = std::array::from_fn(|lane| first.wrapping_add(lane as u32));
        let all = std::mem::replace(&mut self.mask, mask);
        self.addresses = *handles;
        (self.chains.same, self.chains.next) = (0, 0);
        self.touch(1, CONDITION, 0, Kind::Write, &digests);
        self.mask = all;
    }

    /// Records that the lanes synchronize through memory with a thread that has waited for the prerequisite grids.
    pub(super) fn note_waited(&mut self) {
        if self.launch.dependent && (self.cluster().waited || self.waited && self.in_turns()) {
            self.have_waited(self.mask);
        }
    }

    /// Records that groups of lanes of the warp have synchronized: by a `barrier` of the warp, or by another instruction, whose
    /// order of memory the manual does not state.
    pub(crate) fn record_lane_synchronization(&mut self, groups: impl Iterator<Item = u32>, barrier: bool) {
        let (warp, live) = (self.warp.number, !self.warp.dead);
        for group in groups {
            if self.warp.waited & group != 0 {
                self.warp.waited |= group;
            }
            if !barrier && self.launch.strict {
                self.follow_causally(group);
                continue;
            }
            if let Some(watched) = self.block.watched.as_mut() {
                watched.synchronize_lanes(warp, group, live);
            }
        }
    }

    /// Drops accesses to memory that was allocated anew.
    pub(crate) fn forget_accesses(&mut self, address: u64, size: u64) {
        if let Some(watched) = self.block.watched.as_mut().filter(|_| address != 0 && size != 0) {
            watched.shadow.forget(address, size);
            self.races.grid.forget(address, size);
            if let Some(causality) = self.causality.as_mut() {
                causality.memory.forget(address, size);
            }
            self.forget_cluster_accesses(address, size);
        }
    }

    /// Reports the races that were held back, once a block has ended or the launch has failed.
    pub(crate) fn settle_updates(&mut self, block: Option<&mut Block>) {
        let Some(watched) = block.unwrap_or(&mut self.block).watched.as_mut() else { return };
        for race in watched.updates.settle(&self.program.reached) {
            self.races.add(self.launch, race, false);
        }
    }

    /// Compares the blocks once the grid barrier is completed: accesses before it do not race with later ones.
    #[cold]
    fn grid_completed(&mut self) {
        self.races.compare_blocks(self.launch);
        self.races.grid.clear();
        if self.has_clusters() {
            (0..self.clusters.len()).for_each(|slot| self.compare_cluster(slot));
        }
        self.races.grid_turn = self.grid.turn;
    }

    /// Compares the lanes' accesses with copies in flight, and with recorded accesses.
    #[inline(always)]
    pub(crate) fn touch(&mut self, mode: u32, size: u32, at: u32, kind: Kind, digests: Digests<'_>) {
        if self.cluster().pending.count > 0 {
            self.meet_pending(mode, size, at, kind);
        }
        self.touch_recorded(mode, size, at, kind, digests);
    }

    /// Compares the lanes' accesses with recorded ones.
    #[inline(always)]
    pub(super) fn touch_recorded(&mut self, mode: u32, size: u32, at: u32, kind: Kind, digests: Digests<'_>) {
        if self.causality.is_some() {
            return self.touch_causally(mode, (size, at), kind, digests);
        }
        if self.races.grid_turn != self.grid.turn {
            self.grid_completed();
        }
        let (global, shared) = self.lanes_by_space(mode);
        if self.has_clusters() {
            return self.touch_with_cluster((global, shared), size, at, kind, digests);
        }
        if global != 0 {
            self.touch_in::<false>(global, size, at, kind, digests);
        }
        if shared != 0 {
            self.touch_in::<true>(shared, size, at, kind, digests);
        }
    }

    /// Compares accesses to the shared memory of the block with recorded ones of the block.
    pub(super) fn touch_own_shared(&mut self, size: u32, kind: Kind, digests: Digests<'_>) {
        match self.causality {
            Some(_) => self.touch_causally(Mode::new(Space::Shared, true).code(), (size, 0), kind, digests),
            None => self.touch_in::<true>(self.mask, size, 0, kind, digests),
        }
    }

    /// The lanes that access global memory, and those that access shared memory.
    #[inline(always)]
    fn lanes_by_space(&self, mode: u32) -> (u32, u32) {
        let in_window = |window: u64| {
            let lanes = (0..32).filter(|lane| self.addresses[*lane] >> 56 == window);
            lanes.fold(0, |lanes, lane| lanes | 1 << lane) & self.mask
        };
        match space(mode) {
            GLOBAL => (self.mask, 0),
            SHARED => (0, self.mask),
            GENERIC => (in_window(0), in_window(SHARED_WINDOW >> 56)),
            _ => (0, 0),
        }
    }

    /// Compares accesses of a block of a cluster, which may be in the shared memory of another block.
    #[cold]
    fn touch_with_cluster(
        &mut self,
        (global, shared): (u32, u32),
        size: u32,
        at: u32,
        kind: Kind,
        digests: Digests<'_>,
    ) {
        let own = self.own_shared(shared);
        if global != 0 {
            self.touch_in::<false>(global, size, at, kind, digests);
        }
        if own != 0 {
            self.touch_in::<true>(own, size, at, kind, digests);
        }
        self.touch_cluster(global | shared, shared, (size, at), kind, digests);
    }

    /// Compares accesses of lanes, whose addresses and chains the machine has, with recorded ones, `at` bytes behind the addresses.
    #[inline(always)]
    pub(super) fn touch_in<const SHARED: bool>(
        &mut self,
        mask: u32,
        size: u32,
        at: u32,
        kind: Kind,
        digests: Digests<'_>,
    ) {
        let address = |addresses: &[u64; 32], lane: u32| addresses[lane as usize & 31].wrapping_add(at.into());
        self.touch_at::<SHARED>((self.chains, mask), size, kind, digests, address);
    }

    /// Compares accesses of lanes with recorded ones. `address` returns the address of a lane, by those that the machine has if it needs them.
    #[inline(always)]
    pub(super) fn touch_at<const SHARED: bool>(
        &mut self,
        (chains, mask): (Chains, u32),
        size: u32,
        kind: Kind,
        digests: Digests<'_>,
        address: impl Fn(&[u64; 32], u32) -> u64,
    ) {
        let shared_bytes = self.block.shared_bytes();
        let Some(watched) = self.block.watched.as_mut() else { return };
        let Watched { order, shadow, deferred, updates, .. } = &mut **watched;
        order.settle_after_grid(self.grid.turn);
        let (warp, block, slot) = (self.warp.number, self.block.number, self.block.slot);
        let now = Now::new(order, warp, self.pc - 1, kind);
        let (launch, addresses) = (self.launch, &self.addresses);
        // The rank, if an address in shared memory has one, is that of the own block.
        let bits = if SHARED { OFFSETS } else { u64::MAX };
        let place = |lane: u32| address(addresses, lane) & bits;
        if SHARED {
            let scattered = || Scattered {
                offsets: std::array::from_fn(|lane| place(lane as u32) as u32),
                lanes: mask,
                size,
                chains: Some([chains.same, chains.next, chains.stride]),
            };
            let record = |access: &Scattered, now: &Now| record_late(access, now, order, shadow, shared_bytes);
            if deferred.list_or(&now, scattered, record) {
                return;
            }
        }
        let mut finds = Finds { launch, updates, block, now, size, shared: SHARED, found: Vec::new() };
        let mut sink = |lane: u32, with: Origin| finds.accepts(place(lane), lane, with);
        if SHARED {
            each_row((chains, mask), size, (kind, digests), place, |number, row| {
                shadow.shared_page(number, size, shared_bytes).touch(row, &now, order, digests, &mut sink);
            });
        } else {
            let mut access = GlobalAccess::new((order, shadow, &mut self.races.grid), now, slot, digests);
            each_row((chains, mask), size, (kind, digests), place, |number, row| access.touch(number, row, &mut sink));
        }
        let found = finds.found;
        found.into_iter().for_each(|race| self.races.add(launch, race, false));
    }
}
