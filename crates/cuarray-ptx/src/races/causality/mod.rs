//! Races of kernels whose threads synchronize through memory: the memory model of PTX.
//!
//! The fast engine (the rest of [`races`](super)) has one order for all threads of a block, in which a fence releases to every
//! observer. That is exact for barriers, and says nothing about flags, locks and queues. This engine follows the chapter on memory
//! consistency of the PTX manual. Kernels with strong loads or stores, with acquiring or releasing operations, with atomic
//! operations of a narrow scope, or with fences and atomic results, use it. Their blocks run in turns in one host thread, so
//! one clock and one memory serve the grid.
//!
//! **Time.** A clock advances with each release: a fence, a releasing operation, an arrival at a barrier. Each access has the time at
//! which it ran. A thread's view ([`times`]) has, for each other thread, the time up to which that thread's accesses are ordered
//! before it. Threads of a warp with one view share it ([`threads`]).
//!
//! **Base causality order** of the manual is what views pass on. A *release pattern* on a location is a releasing operation, or a
//! fence and a later strong write of the same thread. The location ([`location`]) keeps the view that the releasing operation or
//! the fence had, with its scope. A strong write replaces what the location keeps. An atomic operation that read it adds to it, because the
//! observation order passes through atomic operations. A plain write drops it. An *acquire pattern* is an acquiring operation, or a strong read
//! and a later fence of the same thread. The read takes what the location keeps, and the fence adds it to the view. Both are
//! limited to threads that the scopes include. Accesses after the first operation of a release pattern are not released.
//!
//! **Observation.** A strong write also precedes what follows a strong read of it, without any fence. This holds for that write
//! alone: it lets a thread reset a counter by a plain store after it has seen the last increment. Locations keep the readers of
//! each write.
//!
//! **Fence-SC order.** Two `fence.sc` that include each other are ordered in each execution. Only pairs whose order the
//! accesses determine count here: a fence, then an access, then a later conflicting access of another thread, then its fence. Any other
//! pair has the opposite order in another execution with the same values, and there its accesses race.
//!
//! **Races.** Two overlapping accesses of different threads race if one of them writes, causality does not order them, and they
//! are not *morally strong*. Morally strong accesses are both strong, each in the scope of the other, on the same bytes. [`memory`] keeps accesses until a
//! later one conflicts with everything that they conflict with.
//!
//! By default the engine is lenient where much working code departs from the manual; in strict mode it follows the
//! manual. The table in `docs/reference/kernels.md` has each difference.

mod clusters;
mod location;
pub(crate) mod mark;
pub(crate) mod memory;
pub(crate) mod threads;
pub(crate) mod times;

use super::cell::Kind;
use memory::Memory;
use std::collections::HashMap;
pub(crate) use threads::Fence;
pub use threads::Scope;
use threads::{Clock, ClusterBarrier, Threads};
use times::Times;

/// A strong operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strong {
    pub kind: Kind,
    pub scope: Scope,
    pub acquires: bool,
    pub releases: bool,
    /// Whether the thread obtains the value that the operation reads.
    pub result: bool,
}

/// The reason why causality does not order two accesses of threads that synchronize through memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// One access is plain, and the other one is strong.
    Plain,
    /// Both accesses are strong, and the scope of one does not include the other thread.
    NarrowOperation(Scope),
    /// Both accesses are strong, and overlap in a part of their bytes.
    MixedSizes,
    /// The second thread has seen a write of the first one, and the fence before it has a scope that is too narrow.
    NarrowFence(Scope),
    /// The second thread has seen a write of the first one, and no fence is between the access and that write.
    NoFence,
    /// The second thread has seen a write of the first one, and has no fence of at least this scope after it.
    NoAcquire(Scope),
    /// The second thread has read a flag that the first one writes by a plain store.
    PlainFlag,
    /// The second access is a texture fetch or a surface load, which need not see writes of its own launch.
    Texture,
}

/// The state of a grid.
pub(crate) struct Causality {
    pub memory: Memory,
    pub clock: Clock,
    pub strict: bool,
    height: u32,
    /// The turn of the grid's barrier, and the time at which it was completed.
    grid: (u32, u32),
    clusters: HashMap<u64, ClusterBarrier>,
    /// The completed asynchronous copies of a block, for threads that wait at its barrier objects.
    landed: HashMap<u32, Times>,
}

impl Causality {
    pub(crate) fn new(blocks: u64, strict: bool) -> Causality {
        Causality {
            memory: Memory::new(strict),
            clock: Clock::default(),
            strict,
            height: times::height(blocks),
            grid: (0, 0),
            clusters: HashMap::new(),
            landed: HashMap::new(),
        }
    }

    /// The views of a new block. `cluster` has the number of its cluster, if that has several blocks.
    pub(crate) fn start_block(&mut self, block: u32, cluster: Option<u64>, warps: usize) -> Threads {
        if let Some(cluster) = cluster {
            self.memory.clusters.add(block, cluster);
        }
        Threads::new(block, warps, self.height, self.clock.clone(), self.strict, self.grid.0)
    }

    /// Processes completed barriers of the grid.
    #[inline]
    pub(crate) fn settle(&mut self, threads: &mut Threads, turn: u32) {
        if self.grid.0 != turn {
            self.grid = (turn, self.clock.now());
            self.clock.tick();
        }
        if threads.grid_turn != turn {
            threads.grid_turn = turn;
            threads.settle(self.grid.1);
        }
    }

    pub(crate) fn cluster(&mut self, cluster: u64) -> &mut ClusterBarrier {
        self.clusters.entry(cluster).or_default()
    }

    pub(crate) fn cluster_ends(&mut self, cluster: u64) {
        self.clusters.remove(&cluster);
    }

    /// Records that copies of lanes of a warp have completed, for the threads that wait at a barrier object.
    pub(crate) fn copies_land(&mut self, threads: &Threads, warp: u32) {
        let landed = self.landed.entry(threads.block).or_default();
        for lane in 0..32 {
            landed.join(&threads.of(warp, lane).view);
        }
        landed.raise_lanes(self.height, (threads.block, warp), u32::MAX, self.clock.now());
        self.clock.tick();
    }

    /// Orders completed copies before a thread that has waited at a barrier object.
    pub(crate) fn learn_landed(&mut self, threads: &mut Threads, warp: u32, lanes: u32) {
        let Some(landed) = self.landed.get(&threads.block) else { return };
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            threads.learn(warp, lane, landed);
        }
    }

    pub(crate) fn block_ends(&mut self, block: u32, shared_bytes: u64) {
        self.memory.block_ends(block, shared_bytes);
        self.landed.remove(&block);
    }
}
