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
//! **Barrier objects.** An `mbarrier` hands over by its phases ([`phases`]): an arrival releases to the threads that wait for its phase, and
//! to no other. Otherwise its operations are strong accesses to the object, and its initialization is a plain write. An initialization is an
//! access of a separate agent, one for each thread, because `fence.mbarrier_init` releases initializations and nothing else.
//!
//! **Asynchronous copies.** A copy that has landed is an access of a separate agent, one for each thread. A thread that waits for the
//! copy learns the time of the agent. The accesses of the copying thread between the start and the wait are no part of that.
//!
//! **Races.** Two overlapping accesses of different threads race if one of them writes, causality does not order them, and they
//! are not *morally strong*. Morally strong accesses are both strong, each in the scope of the other, on the same bytes. [`memory`] keeps accesses until a
//! later one conflicts with everything that they conflict with.
//!
//! **Shared memory.** Most atomic operations there hand nothing over: no fence precedes them that a barrier has not told. They are listed
//! by word ([`word`]), and become a location if a later access is not ordered behind the newest one, or hands something over.
//!
//! By default the engine is lenient where much working code departs from the manual; in strict mode it follows the
//! manual. The table in `docs/reference/kernels.md` has each difference.

mod clusters;
mod location;
pub(crate) mod mark;
pub(crate) mod memory;
mod observers;
mod page;
pub(crate) mod phases;
pub(crate) mod proxies;
mod records;
mod row;
mod stale;
pub(crate) mod threads;
pub(crate) mod times;
mod totals;
pub(crate) mod view;
mod word;

use super::cell::Kind;
use memory::Memory;
use phases::Step;
use std::collections::HashMap;
pub(crate) use threads::Fence;
pub use threads::Scope;
use threads::{Clock, ClusterBarrier, Threads};
pub(crate) use times::Times;

/// The device address of the workspace of a cooperative launch, whose words are barriers of the grid. It is above the memory of every caller.
pub const GRID_WORKSPACE: u64 = 0x00ff_0000_0000_0000;

impl Why {
    /// The reason for the accesses in the other order.
    pub(crate) fn swapped(self) -> Why {
        match self {
            Why::OtherWriter { first } => Why::OtherWriter { first: !first },
            Why::OtherReader { first } => Why::OtherReader { first: !first },
            Why::EarlyAccess { first } => Why::EarlyAccess { first: !first },
            other => other,
        }
    }
}

/// A strong operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strong {
    pub kind: Kind,
    pub scope: Scope,
    pub acquires: bool,
    pub releases: bool,
    /// Whether the thread obtains the value that the operation reads.
    pub result: bool,
    /// The part that an operation on a barrier object has in its phases; `None` for other operations.
    pub step: Option<Step>,
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
    /// The second thread has seen a write of the first one, and the access is behind that write.
    BehindFlag,
    /// The second thread has seen a write of the first one, and has no fence of at least this scope after it.
    NoAcquire(Scope),
    /// A fence between the two is restricted to shared memory, and they access global memory.
    RestrictedFence,
    /// The second thread has read a flag that the first one writes by a plain store.
    PlainFlag,
    /// The first access writes bytes that the second one, a bulk copy, reads, and no proxy fence is between them.
    NoProxyFence,
    /// One access reads by the read-only path (`ld.global.nc`), and the other one writes in the same launch.
    ReadOnlyPath,
    /// Both accesses are strong, and the second one reads data behind a flag without the fences: it may read the value before the write.
    OldValue,
    /// One access initializes, invalidates or overwrites a barrier object, and the other one is an operation on it.
    BarrierObject,
    /// Another thread of the block of one access has handed over behind it, and no barrier is between the two.
    OtherWriter {
        /// Whether its access is the first one of the race.
        first: bool,
    },
    /// Another thread of the block of one access has waited for the other one, and no barrier is behind its wait.
    OtherReader {
        /// Whether the access behind the wait is the first one of the race.
        first: bool,
    },
    /// The first access reads what the thread of the second one has written and handed over before, and now writes again.
    NoAnswer,
    /// The thread of one access, the first one of the race if `first` is set, has waited for the other thread only later.
    EarlyAccess {
        /// Whether it is the first access.
        first: bool,
    },
    /// The second access is a texture fetch or a surface load, which need not see writes of its own launch.
    Texture,
}

/// The state of a grid.
pub(crate) struct Causality {
    pub memory: Memory,
    pub clock: Clock,
    pub strict: bool,
    /// Whether the kernel invalidates barrier objects.
    pub invalidates: bool,
    height: u32,
    /// The number of blocks. The agent of a block's copies has the number of the block plus this number, and the agent of its
    /// initializations of barrier objects has the number of the block plus twice this number.
    blocks: u32,
    /// The turn of the grid's barrier, and the time at which it was completed.
    grid: (u32, u32),
    clusters: HashMap<u64, ClusterBarrier>,
}

impl Causality {
    pub(crate) fn new(blocks: u64, strict: bool, invalidates: bool) -> Causality {
        Causality {
            memory: Memory::new(strict),
            clock: Clock::default(),
            strict,
            invalidates,
            height: times::height(blocks.saturating_mul(3)),
            blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
            grid: (0, 0),
            clusters: HashMap::new(),
        }
    }

    /// The views of a new block. `cluster` has the number of its cluster, if that has several blocks.
    pub(crate) fn start_block(&mut self, block: u32, cluster: Option<u64>, warps: usize) -> Threads {
        if let Some(cluster) = cluster {
            self.memory.clusters.add(block, cluster);
        }
        Threads::new((block, self.initializer(block)), warps, self.height, self.clock.clone(), self.strict, self.grid.0)
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

    /// The number of the agent of a block's asynchronous copies, in place of the block's number.
    pub(crate) fn agent(&self, block: u32) -> u32 {
        block.saturating_add(self.blocks)
    }

    /// The number of the agent of a block's initializations of barrier objects, in place of the block's number.
    pub(crate) fn initializer(&self, block: u32) -> u32 {
        self.agent(self.agent(block))
    }

    /// The block of a recorded access, which may be one of an agent.
    pub(crate) fn block_of(&self, block: u32) -> u32 {
        block % self.blocks.max(1)
    }

    /// Orders initializations of barrier objects by lanes of a warp before what these lanes do next.
    pub(crate) fn initialize(&self, threads: &mut Threads, warp: u32, lanes: u32) {
        let (agent, now) = (threads.initializer, self.clock.now());
        threads.change(warp, lanes, |group| group.view.raise_lanes(self.height, (agent, warp), group.lanes, now));
        self.clock.tick();
    }

    /// Orders copies of lanes of a warp, which have landed, before what these lanes do next.
    pub(crate) fn land(&self, threads: &mut Threads, warp: u32, lanes: u32) {
        let (agent, now) = (self.agent(threads.block), self.clock.now());
        threads.change(warp, lanes, |group| group.view.raise_lanes(self.height, (agent, warp), group.lanes, now));
        self.clock.tick();
    }

    /// Lets copies of lanes of a warp, which have landed, arrive at a barrier object. `known` is what their threads knew at the
    /// start, and `ended` tells whether that ends a phase.
    pub(crate) fn complete(
        &mut self,
        (block, warp, lanes): (u32, u32, u32),
        mut known: Times,
        address: u64,
        ended: bool,
    ) {
        known.raise_lanes(self.height, (self.agent(block), warp), lanes, self.clock.now());
        self.clock.tick();
        self.memory.complete(block, &known, address, ended);
    }

    pub(crate) fn block_ends(&mut self, block: u32, shared_bytes: u64) {
        self.memory.block_ends(block, shared_bytes);
    }
}
