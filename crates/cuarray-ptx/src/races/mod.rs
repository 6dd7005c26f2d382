//! Races between threads of a launch: unordered accesses to the same bytes, at least one of them a write.
//!
//! [`order`] tracks the order of threads within a block. [`page`] and [`line`] record which threads of the running
//! block accessed what, in shared and in global memory; [`deferred`] spares the records that a barrier would drop unused. [`blocks`] and [`block_line`] record which blocks accessed what in
//! global memory. [`causality`] replaces these for kernels whose threads synchronize through memory. The machine reports accesses and synchronization. The model is described in
//! `docs/reference/kernels.md`.
//!
//! For each pair of source lines in each variable or allocation, one race is reported: the race of the block with the
//! smallest number, for any number of cores.

mod block_line;
mod block_mark;
pub(crate) mod blocks;
pub(crate) mod causality;
pub(crate) mod cell;
pub(crate) mod deferred;
pub(crate) mod early;
pub(crate) mod global_access;
mod line;
mod mark;
mod one_thread_pieces;
pub(crate) mod order;
pub(crate) mod page;
mod record;
#[cfg(test)]
mod reference;
pub(crate) mod span;
pub(crate) mod update;

use blocks::{Grid, Slot};
use causality::Why;
use causality::threads::Threads;
use cell::{Kind, Origin};
use deferred::Deferred;
use early::Early;
use order::Order;
use page::{PAGE, Shadow};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use update::Updates;

/// One of the two accesses of a race.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Access {
    /// The linear number of the block in the grid.
    pub block: u64,
    /// The linear number of the thread in the block.
    pub thread: u32,
    /// The number of the instruction; `None` if the program is too long to record it.
    pub pc: Option<u32>,
    /// Whether the access writes.
    pub writes: bool,
    /// Whether the access is atomic.
    pub atomic: bool,
    /// For a copy that had not completed at the time of the other access: the wait that completes it.
    pub pending: Option<Wait>,
}

/// The means by which a thread waits for an asynchronous copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Wait {
    /// `cp.async.wait_group` or `wait_all`, or an `mbarrier` that tracks the copies of the thread.
    Group,
    /// `cp.async.bulk.wait_group`.
    BulkGroup,
    /// The phase of the `mbarrier` that the copy names.
    Barrier,
}

/// Two unordered accesses to the same bytes, at least one of them a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// Whether the bytes are in shared memory.
    pub shared: bool,
    /// The first byte: a device address, or an offset in shared memory. Two calls of `cudaGraphSetConditional` race at the handle of
    /// their condition.
    pub address: u64,
    /// The number of bytes.
    pub size: u32,
    /// Both accesses; those of one block are in execution order.
    pub accesses: [Access; 2],
    /// The reason why the accesses are unordered, if the threads synchronize through memory.
    pub why: Option<Why>,
}

/// Names the location of a race, to distinguish repeated races.
pub(crate) trait Scene {
    /// A number for the shared variable or the region of global memory that holds an address.
    fn object(&self, shared: bool, address: u64) -> usize;
    /// A number for the source line of an instruction; 0 if it is unknown.
    fn line(&self, pc: Option<u32>) -> u64;
    /// Whether an address of a [`Grid`] is in shared memory, and the address or offset there.
    fn place(&self, address: u64) -> (bool, u64);
    /// The number of the block of a [`Slot`].
    fn block(&self, slot: u32) -> u64;
    /// The number of the cluster that holds a block.
    fn cluster(&self, block: u64) -> u64;
}

/// The records of a running block.
#[derive(Default)]
pub(crate) struct Watched {
    pub order: Order,
    pub shadow: Shadow,
    /// The accesses to shared memory that `shadow` does not have yet.
    pub deferred: Deferred,
    pub updates: Updates,
    /// The views of the threads, if the kernel's threads synchronize through memory.
    pub threads: Option<Box<Threads>>,
}

impl Watched {
    /// Starts a new block.
    pub(crate) fn start(&mut self, warps: usize, grid_turn: u32) {
        if !self.order.start(warps, grid_turn) {
            self.shadow.clear();
            self.deferred.clear();
        }
        self.shadow.start();
        self.updates.clear();
        self.threads = None;
    }

    /// Records that lanes of a warp arrive at a barrier of the block, and whether they wait there.
    pub(crate) fn arrive(&mut self, barrier: usize, warp: u32, lanes: u32, waits: bool) {
        match &mut self.threads {
            Some(threads) => threads.arrive(barrier, warp, lanes, waits),
            None => self.order.arrive(barrier, warp, lanes, waits),
        }
    }

    /// Completes a barrier, as [`Order::complete`] does.
    pub(crate) fn complete(&mut self, barrier: usize, whole: bool, dead: impl Fn(usize) -> u32) {
        match &mut self.threads {
            Some(threads) => threads.complete(barrier, whole, dead),
            None => self.order.complete(barrier, whole, dead),
        }
    }

    /// Records that lanes of a warp exit; `dead` are its exited lanes.
    pub(crate) fn exit(&mut self, warp: u32, dead: u32) {
        match &mut self.threads {
            Some(threads) => threads.exit(warp, dead),
            None => self.order.exit(warp),
        }
    }

    /// Synchronizes lanes of a warp; `live` are the lanes that have not exited.
    pub(crate) fn synchronize_lanes(&mut self, warp: u32, lanes: u32, live: u32) {
        match &mut self.threads {
            Some(threads) => threads.synchronize_lanes(warp, lanes),
            None => self.order.synchronize_lanes(warp, lanes, live),
        }
    }
}

/// The variable or region, with a flag for shared memory, and the source lines of both accesses.
type Key = (bool, usize, [u64; 2]);
/// The threads that a race needs to be ordered, the widest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Width {
    Grid,
    Cluster,
    Block,
    Warp,
}

impl Width {
    fn of(scene: &impl Scene, race: &Race) -> Width {
        let [one, other] = &race.accesses;
        if one.block != other.block {
            let together = scene.cluster(one.block) == scene.cluster(other.block);
            return if together { Width::Cluster } else { Width::Grid };
        }
        if one.thread / 32 == other.thread / 32 { Width::Warp } else { Width::Block }
    }
}

/// Ranks the races of a key; the smallest is reported.
type Preference = (bool, Width, Reverse<u32>, u64, Option<[Access; 2]>);
/// The race to report if all memory is watched, and the race to report if only a part is watched.
type Candidates = [(Preference, Race); 2];

/// The races that one core has found.
#[derive(Default)]
pub(crate) struct Races {
    /// Whether races are detected.
    pub on: bool,
    pub grid: Grid,
    found: BTreeMap<Key, Candidates>,
    pub early: Early,
    /// The turn of the grid barrier since which the grid's accesses are recorded.
    pub grid_turn: u32,
}

impl Races {
    /// Creates the records of a launch, which watches at most `bytes` bytes of global memory. Blocks of one cluster differ
    /// in `ranks` bits of their slots.
    pub(crate) fn new(on: bool, bytes: u64, ranks: u32) -> Races {
        let limit = usize::try_from(bytes / PAGE).unwrap_or(usize::MAX);
        Races { on, grid: Grid::new(limit, ranks), ..Races::default() }
    }

    /// Adds a race, `between` blocks or within one.
    pub(crate) fn add(&mut self, scene: &impl Scene, race: Race, between: bool) {
        let object = scene.object(race.shared, race.address);
        let mut lines = race.accesses.map(|access| scene.line(access.pc));
        lines.sort_unstable();
        let rank = if race.shared { u32::MAX } else { blocks::rank(race.address / PAGE) };
        let last = if between { race.address } else { race.accesses[1].block };
        // A copy that was not waited for explains more than a missing barrier.
        let waited = race.accesses[0].pending.is_none();
        // The order in which the conflicts of a grid are found depends on the number of cores.
        let tie = between.then_some(race.accesses);
        // Synchronization of the wider scope orders the narrower one too.
        let width = Width::of(scene, &race);
        let kept = [0, rank].map(|rank| ((waited, width, Reverse(rank), last, tie), race));
        self.keep((race.shared, object, lines), kept);
    }

    fn keep(&mut self, key: Key, races: Candidates) {
        let known = self.found.entry(key).or_insert(races);
        for (known, race) in known.iter_mut().zip(races) {
            if race.0 < known.0 {
                *known = race;
            }
        }
    }

    /// Compares the accesses of blocks since the last grid barrier.
    pub(crate) fn compare_blocks(&mut self, scene: &impl Scene) {
        let grid = std::mem::take(&mut self.grid);
        self.compare(&grid, scene);
        self.grid = grid;
    }

    /// Compares the accesses of the blocks of a cluster between two of its barriers.
    pub(crate) fn compare_cluster(&mut self, phase: Grid, scene: &impl Scene) {
        self.compare(&phase, scene);
    }

    fn compare(&mut self, grid: &Grid, scene: &impl Scene) {
        grid.conflicts(|conflict| {
            let access = |slot: Slot| access(scene.block(slot.block), slot.origin);
            let [mut one, mut other] = conflict.slots.map(access);
            if other.block < one.block {
                std::mem::swap(&mut one, &mut other);
            }
            let accesses = [one, other];
            let (shared, address) = scene.place(conflict.address);
            let race = Race { shared, address, size: conflict.size, accesses, why: None };
            self.add(scene, race, true);
        });
    }

    /// States why the accesses of a race that was found are unordered.
    pub(crate) fn explain(&mut self, race: &Race, why: Why) {
        let is_race =
            |known: &Race| (known.shared, known.address, known.accesses) == (race.shared, race.address, race.accesses);
        let found = self.found.values_mut().flatten();
        found.filter(|(_, known)| is_race(known)).for_each(|(_, known)| known.why = Some(why));
    }

    /// Merges the races that another core has found.
    pub(crate) fn merge(&mut self, other: Races) {
        self.grid.merge(other.grid);
        other.found.into_iter().for_each(|(key, races)| self.keep(key, races));
    }

    /// Returns all races. After a failure, only races of clusters up to the failed one count, because the number of
    /// cores decides which other blocks ran.
    pub(crate) fn finish(mut self, scene: &impl Scene, failed: Option<u64>) -> Vec<Race> {
        if failed.is_none() {
            self.compare_blocks(scene);
        }
        let level = self.grid.level();
        let watched = |race: &Race| race.shared || blocks::rank(race.address / PAGE) >= level;
        let sure = |race: &Race| failed.is_none_or(|failed| scene.cluster(race.accesses[1].block) <= failed);
        let races = self.found.into_values().map(|kept| kept[usize::from(level > 0)]);
        let mut races: Vec<_> = races.filter(|(_, race)| watched(race) && sure(race)).collect();
        races.sort_by_key(|((waited, width, ..), _)| (*waited, *width));
        races.into_iter().map(|(_, race)| race).collect()
    }
}

pub(crate) fn access(block: u64, origin: Origin) -> Access {
    let kind = origin.kind();
    Access {
        block,
        thread: origin.thread(),
        pc: origin.pc(),
        writes: kind != Kind::Read,
        atomic: kind == Kind::Atomic,
        pending: None,
    }
}
