//! The order of the threads of one block.
//!
//! Each warp has a clock. It advances at each barrier, and at each synchronization of lanes. An access
//! is stamped with its thread and the clock of its warp. As in vector clocks, each warp keeps, for every other warp,
//! the time up to which accesses of that warp are ordered before its own. The lanes of one warp need such times among
//! each other too: one number while all of them synchronize together.
//!
//! Inexact cases err towards order: if a lane of a warp joins the clock of another warp, all lanes of its warp do.

use super::span::bits;

/// The greatest time. Later accesses count as ordered.
pub(crate) const LATEST: u32 = u32::MAX - 1;

/// The number of barriers of a block.
pub(crate) const BARRIERS: usize = 16;

/// The most warps of a block.
const WARPS: usize = 32;

/// A time for each warp.
type Times = [u32; WARPS];

/// Takes the later time of each warp.
fn join(times: &mut Times, others: &Times) {
    for (time, other) in times.iter_mut().zip(others) {
        *time = (*time).max(*other);
    }
}

/// The state of a barrier that threads have arrived at.
#[derive(Clone, Copy)]
struct Arrivals {
    known: Times,
    /// The waiting lanes of each warp.
    waiting: [u32; WARPS],
}

const NO_ARRIVALS: Arrivals = Arrivals { known: [0; WARPS], waiting: [0; WARPS] };

/// The state of the barrier of the block's cluster.
#[derive(Clone, Copy)]
struct ClusterArrivals {
    /// The joined times of the arrived threads.
    known: Times,
    /// Those times at the last completed barrier.
    passed: Times,
    /// How often the barrier was completed.
    turn: u32,
}

const NO_CLUSTER_ARRIVALS: ClusterArrivals = ClusterArrivals { known: [0; WARPS], passed: [0; WARPS], turn: 0 };

/// The order of a block's threads.
pub(crate) struct Order {
    /// The first clock of this block; smaller ones belong to earlier blocks on the same core.
    first: u32,
    warps: usize,
    clocks: Times,
    /// The time up to which all accesses are ordered before all later ones. The times of single warps below may be earlier, and do not count then.
    all: u32,
    known: [Times; WARPS],
    /// For each warp, the time up to which accesses of all warps are ordered before its own. This time is compared
    /// first.
    settled: Times,
    /// For each warp, the time up to which the accesses of its lanes are ordered for all its lanes.
    together: Times,
    /// For single lanes of a warp, later times up to which the accesses of another lane are ordered.
    lanes: Vec<Option<Box<[[u32; 32]; 32]>>>,
    /// The joined times of exited threads.
    ended: Times,
    barriers: [Arrivals; BARRIERS],
    /// The barriers with arrivals, as bits.
    begun: u32,
    cluster: ClusterArrivals,
    /// The turn of the grid barrier that last ordered all threads of the block.
    grid_turn: u32,
}

impl Default for Order {
    fn default() -> Order {
        Order {
            first: 1,
            warps: 0,
            clocks: [0; WARPS],
            all: 0,
            known: [[0; WARPS]; WARPS],
            settled: [0; WARPS],
            together: [0; WARPS],
            lanes: Vec::new(),
            ended: [0; WARPS],
            barriers: [NO_ARRIVALS; BARRIERS],
            begun: 0,
            cluster: NO_CLUSTER_ARRIVALS,
            grid_turn: 0,
        }
    }
}

impl Order {
    /// Starts a new block. Returns `false` if the clocks restart, and the stamps of earlier blocks must be dropped.
    pub(crate) fn start(&mut self, warps: usize, grid_turn: u32) -> bool {
        let last = self.clocks[..self.warps].iter().copied().max().unwrap_or(self.first);
        let wraps = last > LATEST / 2;
        self.first = if wraps { 1 } else { last + 1 };
        self.warps = warps;
        self.clocks = [self.first; WARPS];
        self.all = self.first - 1;
        if wraps {
            self.known = [[0; WARPS]; WARPS];
            (self.together, self.settled, self.ended) = ([0; WARPS], [0; WARPS], [0; WARPS]);
            (self.barriers, self.cluster) = ([NO_ARRIVALS; BARRIERS], NO_CLUSTER_ARRIVALS);
        }
        self.lanes.clear();
        // Few blocks end while threads are waiting.
        bits(std::mem::take(&mut self.begun)).for_each(|barrier| self.barriers[barrier as usize] = NO_ARRIVALS);
        (self.cluster.turn, self.grid_turn) = (0, grid_turn);
        !wraps
    }

    /// The time of a warp.
    #[inline(always)]
    pub(crate) fn now(&self, warp: u32) -> u32 {
        self.clocks[warp as usize & 31]
    }

    /// Whether an access by `thread` at `clock` is ordered before an access by lane `lane` of `warp` now.
    #[inline(always)]
    pub(crate) fn before(&self, thread: u32, clock: u32, warp: u32, lane: u32) -> bool {
        let other = thread >> 5;
        if other != warp {
            return self.knows(warp, other, clock);
        }
        self.are_together(warp, clock) || self.lanes_know(warp, lane, thread & 31, clock)
    }

    /// Whether an access by warp `other` at `clock` is ordered before an access by `warp` now.
    #[inline(always)]
    pub(crate) fn knows(&self, warp: u32, other: u32, clock: u32) -> bool {
        self.all.max(self.known[warp as usize & 31][other as usize & 31]) >= clock
    }

    /// Whether the accesses of all lanes of a warp at `clock` are ordered before those of its lanes now.
    #[inline(always)]
    pub(crate) fn are_together(&self, warp: u32, clock: u32) -> bool {
        self.all.max(self.together[warp as usize & 31]) >= clock
    }

    #[cold]
    fn lanes_know(&self, warp: u32, lane: u32, other: u32, clock: u32) -> bool {
        let rows = self.lanes.get(warp as usize).and_then(Option::as_ref);
        lane == other || rows.is_some_and(|rows| rows[lane as usize & 31][other as usize & 31] >= clock)
    }

    /// The time up to which accesses of all warps are ordered before one of `warp` now.
    #[inline(always)]
    pub(crate) fn settled(&self, warp: u32) -> u32 {
        self.all.max(self.settled[warp as usize & 31])
    }

    fn advance(&mut self, warp: usize) {
        self.clocks[warp] = (self.clocks[warp] + 1).min(LATEST);
    }

    /// Orders all earlier accesses of the block before all later ones. The clocks of all warps continue from one
    /// time.
    fn settle(&mut self) {
        self.all = self.clocks[..self.warps].iter().copied().max().unwrap_or(self.first);
        self.clocks = [(self.all + 1).min(LATEST); WARPS];
    }

    /// Synchronizes lanes of a warp; `live` are the lanes that have not exited.
    pub(crate) fn synchronize_lanes(&mut self, warp: u32, members: u32, live: u32) {
        let warp = warp as usize & 31;
        let now = self.clocks[warp];
        if members & live == live {
            self.together[warp] = now;
            if self.warps == 1 {
                self.settled[warp] = now;
            }
        } else {
            if self.lanes.len() <= warp {
                self.lanes.resize_with(warp + 1, || None);
            }
            let rows = self.lanes[warp].get_or_insert_with(|| Box::new([[0; 32]; 32]));
            let mut all = [0; 32];
            for lane in (0..32).filter(|lane| members >> lane & 1 == 1) {
                join(&mut all, &rows[lane]);
                all[lane] = now;
            }
            for lane in (0..32).filter(|lane| members >> lane & 1 == 1) {
                rows[lane] = all;
            }
        }
        self.advance(warp);
    }

    /// Records that lanes of a warp arrive at a barrier of the block, and whether they wait there.
    pub(crate) fn arrive(&mut self, barrier: usize, warp: u32, lanes: u32, waits: bool) {
        let warp = warp as usize & 31;
        self.begun |= 1 << barrier;
        let arrivals = &mut self.barriers[barrier];
        arrivals.known[warp] = self.clocks[warp];
        if waits {
            arrivals.waiting[warp] |= lanes;
        }
        // Nothing changes what a whole warp knows while it waits.
        if arrivals.waiting[warp] != u32::MAX {
            join(&mut arrivals.known, &self.known[warp]);
        }
        self.advance(warp);
    }

    /// Completes a barrier: the waiting lanes join the clocks of the arrived lanes. Exited threads count as arrived
    /// at a barrier of the whole block. `dead` returns the exited lanes of a warp.
    pub(crate) fn complete(&mut self, barrier: usize, whole: bool, dead: impl Fn(usize) -> u32) {
        self.begun &= !(1 << barrier);
        let waiting = &mut self.barriers[barrier].waiting;
        if whole && (0..self.warps).all(|warp| waiting[warp] == u32::MAX || waiting[warp] | dead(warp) == u32::MAX) {
            waiting[..self.warps].fill(0);
            return self.settle();
        }
        let mut arrivals = std::mem::replace(&mut self.barriers[barrier], NO_ARRIVALS);
        for warp in (0..self.warps).filter(|warp| arrivals.waiting[*warp] == u32::MAX) {
            join(&mut arrivals.known, &self.known[warp]);
        }
        if whole {
            join(&mut arrivals.known, &self.ended);
        }
        for warp in 0..self.warps.min(WARPS) {
            if arrivals.waiting[warp] != 0 {
                join(&mut self.known[warp], &arrivals.known);
                self.synchronize_lanes(warp as u32, arrivals.waiting[warp], !dead(warp));
            }
        }
    }

    /// Records that threads of a warp arrive at the barrier of the cluster.
    pub(crate) fn arrive_at_cluster(&mut self, warp: u32) {
        let warp = warp as usize & 31;
        join(&mut self.cluster.known, &self.known[warp]);
        self.cluster.known[warp] = self.clocks[warp];
        self.advance(warp);
    }

    /// Records that lanes of a warp have waited for the barrier of the cluster, which was completed `turn` times.
    pub(crate) fn wait_for_cluster(&mut self, turn: u32, warp: u32, lanes: u32, live: u32) {
        if self.cluster.turn != turn {
            // No thread arrives at the next barrier before a thread of the block has waited for this one.
            let arrived = std::mem::replace(&mut self.cluster.known, [0; WARPS]);
            self.cluster.passed = arrived;
            join(&mut self.cluster.passed, &self.ended);
            self.cluster.turn = turn;
        }
        join(&mut self.known[warp as usize & 31], &self.cluster.passed);
        self.synchronize_lanes(warp, lanes, live);
    }

    /// Records that lanes of a warp exit.
    pub(crate) fn exit(&mut self, warp: u32) {
        let warp = warp as usize & 31;
        join(&mut self.ended, &self.known[warp]);
        self.ended[warp] = self.clocks[warp];
        self.advance(warp);
    }

    /// Orders all threads of the block if the grid barrier was completed since the last call. `turn` counts how often it was.
    #[inline(always)]
    pub(crate) fn settle_after_grid(&mut self, turn: u32) {
        if turn != self.grid_turn {
            self.grid_turn = turn;
            self.settle();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(warps: usize) -> Order {
        let mut order = Order::default();
        assert!(order.start(warps, 0));
        order
    }

    const ALL: u32 = u32::MAX;

    #[test]
    fn a_barrier_orders_arriving_before_waiting_threads() {
        let mut order = order(3);
        let early = order.now(0);
        order.arrive(1, 0, ALL, false);
        let late = order.now(0);
        order.arrive(1, 1, ALL, true);
        assert!(!order.before(0, early, 1, 0));
        order.complete(1, false, |_| 0);
        // Warp 0 has only arrived, and warp 2 does not take part.
        assert!(order.before(0, early, 1, 0));
        assert!(!order.before(0, late, 1, 0));
        assert!(!order.before(32, early, 0, 0));
        assert!(!order.before(0, early, 2, 0));
        assert!(order.before(33, early, 1, 0), "lanes that wait together are ordered");
    }

    #[test]
    fn order_is_transitive_over_barriers() {
        let mut order = order(3);
        let time = order.now(0);
        for pair in [[0, 1], [1, 2]] {
            pair.into_iter().for_each(|warp| order.arrive(2, warp, ALL, true));
            order.complete(2, false, |_| 0);
        }
        assert!(order.before(5, time, 2, 0));
        assert!(!order.before(64, time, 0, 0));
    }

    #[test]
    fn lanes_outside_of_a_synchronization_stay_unordered() {
        let mut order = order(1);
        let time = order.now(0);
        order.synchronize_lanes(0, 0xff, ALL);
        assert!(order.before(1, time, 0, 7));
        assert!(!order.before(1, time, 0, 8) && !order.before(8, time, 0, 1));
        assert!(!order.before(1, order.now(0), 0, 7), "later accesses are unordered");
        order.synchronize_lanes(0, 0x180, ALL);
        assert!(order.before(1, time, 0, 8), "lane 7 passes its order on");
        order.synchronize_lanes(0, 0xffff, 0xffff);
        assert!(order.before(9, time, 0, 1));
    }

    #[test]
    fn a_new_block_starts_without_order() {
        let mut order = order(2);
        let time = order.now(0);
        order.arrive(0, 0, ALL, true);
        order.arrive(0, 1, ALL, true);
        order.complete(0, true, |_| 0);
        assert!(order.start(2, 0));
        assert!(time < order.first && !order.before(0, order.now(0), 1, 0));
        order.clocks[1] = LATEST;
        assert!(!order.start(2, 0) && order.first == 1);
    }
}
