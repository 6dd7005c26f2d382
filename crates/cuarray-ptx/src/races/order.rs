//! What comes before what among the threads of one block.
//!
//! Each warp has a clock, which advances whenever the warp hands something on: at a barrier, a fence, a synchronization of its
//! lanes. An access is stamped with its thread and the clock of its warp. For each warp it is kept up to which time of each other
//! warp everything comes before what it does from now on, as vector clocks do; lanes of a warp know one another
//! up to a time that is one number as long as all of them synchronize together.
//!
//! Where that is not exact it errs towards order: what some lanes of a warp learn from other warps, all of its lanes know.

/// The greatest time: stamps hold 27 bits of it. Whoever gets there is in order with all.
pub(crate) const LATEST: u32 = (1 << 27) - 2;

/// The barriers of a block.
pub(crate) const BARRIERS: usize = 16;

/// The most warps of a block.
const WARPS: usize = 32;

/// Up to when each warp is known.
type Times = [u32; WARPS];

/// Takes over what is later.
fn join(times: &mut Times, others: &Times) {
    for (time, other) in times.iter_mut().zip(others) {
        *time = (*time).max(*other);
    }
}

/// A barrier that threads have come to.
#[derive(Clone, Copy)]
struct Arrivals {
    known: Times,
    /// The lanes of each warp that wait.
    waiting: [u32; WARPS],
}

const NOBODY: Arrivals = Arrivals { known: [0; WARPS], waiting: [0; WARPS] };

/// The order of a block's threads.
pub(crate) struct Order {
    /// The clocks of this block begin here: smaller ones are of blocks that were executed before in the same place.
    first: u32,
    warps: usize,
    clocks: Times,
    known: [Times; WARPS],
    /// Up to which time of any warp everything comes before what a warp does now: what is looked at first.
    settled: Times,
    /// Up to when the lanes of each warp know one another.
    together: Times,
    /// Up to when each lane of a warp knows each other lane, where that is later.
    lanes: Vec<Option<Box<[[u32; 32]; 32]>>>,
    /// What fences have handed on to whoever looks, and what threads that have exited have.
    released: Times,
    ended: Times,
    /// Whether there was a fence.
    fenced: bool,
    barriers: [Arrivals; BARRIERS],
    /// The turn of the grid's barrier up to which all know all.
    grid_turn: u32,
}

impl Default for Order {
    fn default() -> Order {
        Order {
            first: 1,
            warps: 0,
            clocks: [0; WARPS],
            known: [[0; WARPS]; WARPS],
            settled: [0; WARPS],
            together: [0; WARPS],
            lanes: Vec::new(),
            released: [0; WARPS],
            ended: [0; WARPS],
            fenced: false,
            barriers: [NOBODY; BARRIERS],
            grid_turn: 0,
        }
    }
}

impl Order {
    /// Begins with a new block. `false` if stamps of former blocks must be forgotten first: the clocks begin anew.
    pub(crate) fn start(&mut self, warps: usize, grid_turn: u32) -> bool {
        let last = self.clocks[..self.warps].iter().copied().max().unwrap_or(self.first);
        let wraps = last > LATEST / 2;
        self.first = if wraps { 1 } else { last + 1 };
        self.warps = warps;
        self.clocks = [self.first; WARPS];
        self.known[..warps].fill([0; WARPS]);
        self.together = [0; WARPS];
        self.settled = [self.first - 1; WARPS];
        self.lanes.clear();
        (self.released, self.ended, self.fenced) = ([0; WARPS], [0; WARPS], false);
        self.barriers = [NOBODY; BARRIERS];
        self.grid_turn = grid_turn;
        !wraps
    }

    /// The first clock of this block.
    #[inline(always)]
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// The time of a warp.
    #[inline(always)]
    pub(crate) fn now(&self, warp: u32) -> u32 {
        self.clocks[warp as usize & 31]
    }

    /// Whether what a thread did at a time of its warp comes before what a lane of a warp does now.
    #[inline(always)]
    pub(crate) fn before(&self, thread: u32, clock: u32, warp: u32, lane: u32) -> bool {
        let other = thread >> 5;
        if other != warp {
            return self.knows(warp, other, clock);
        }
        self.together[warp as usize & 31] >= clock || self.lanes_know(warp, lane, thread & 31, clock)
    }

    /// Whether what another warp did at a time of its comes before what a warp does now.
    #[inline(always)]
    pub(crate) fn knows(&self, warp: u32, other: u32, clock: u32) -> bool {
        self.known[warp as usize & 31][other as usize & 31] >= clock
    }

    #[cold]
    fn lanes_know(&self, warp: u32, lane: u32, other: u32, clock: u32) -> bool {
        let rows = self.lanes.get(warp as usize).and_then(Option::as_ref);
        lane == other || rows.is_some_and(|rows| rows[lane as usize & 31][other as usize & 31] >= clock)
    }

    /// Up to which time of any warp everything comes before what a warp does now, whoever did it.
    #[inline(always)]
    pub(crate) fn settled(&self, warp: u32) -> u32 {
        self.settled[warp as usize & 31]
    }

    fn advance(&mut self, warp: usize) {
        self.clocks[warp] = (self.clocks[warp] + 1).min(LATEST);
    }

    /// All threads of the block know one another; their clocks go on from one time.
    fn settle(&mut self) {
        let last = self.clocks[..self.warps].iter().copied().max().unwrap_or(self.first);
        self.known[..self.warps].fill([last; WARPS]);
        self.together = [last; WARPS];
        self.settled = [last; WARPS];
        self.clocks = [(last + 1).min(LATEST); WARPS];
    }

    /// Lanes of a warp wait for one another; `live` are all that have not exited.
    pub(crate) fn lanes_meet(&mut self, warp: u32, members: u32, live: u32) {
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

    /// Lanes of a warp come to a barrier of the block, and wait there if `waits`.
    pub(crate) fn arrive(&mut self, barrier: usize, warp: u32, lanes: u32, waits: bool) {
        let warp = warp as usize & 31;
        let arrivals = &mut self.barriers[barrier];
        join(&mut arrivals.known, &self.known[warp]);
        arrivals.known[warp] = self.clocks[warp];
        if waits {
            arrivals.waiting[warp] |= lanes;
        }
        self.advance(warp);
    }

    /// All that a barrier was for have come: those that waited know what those that came knew. A barrier of the whole block
    /// counts threads that have exited as come. `dead` are the lanes of each warp that are no more.
    pub(crate) fn complete(&mut self, barrier: usize, whole: bool, dead: impl Fn(usize) -> u32) {
        let mut arrivals = std::mem::replace(&mut self.barriers[barrier], NOBODY);
        if whole && (0..self.warps).all(|warp| arrivals.waiting[warp] | dead(warp) == u32::MAX) {
            return self.settle();
        }
        if whole {
            join(&mut arrivals.known, &self.ended);
        }
        for warp in 0..self.warps.min(WARPS) {
            if arrivals.waiting[warp] != 0 {
                join(&mut self.known[warp], &arrivals.known);
                self.lanes_meet(warp as u32, arrivals.waiting[warp], !dead(warp));
            }
        }
    }

    /// Lanes of a warp exit.
    pub(crate) fn exit(&mut self, warp: u32) {
        let warp = warp as usize & 31;
        join(&mut self.ended, &self.known[warp]);
        self.ended[warp] = self.clocks[warp];
        self.advance(warp);
    }

    /// A fence: what comes before it is handed on to every thread that looks from now on.
    pub(crate) fn release(&mut self, warp: u32) {
        let warp = warp as usize & 31;
        join(&mut self.released, &self.known[warp]);
        self.released[warp] = self.clocks[warp];
        self.fenced = true;
        self.advance(warp);
    }

    /// A warp looks at what others may have handed on: it reads memory in a way that synchronizes.
    pub(crate) fn acquire(&mut self, warp: u32) {
        if self.fenced {
            let warp = warp as usize & 31;
            join(&mut self.known[warp], &self.released);
            self.together[warp] = self.together[warp].max(self.released[warp]);
        }
    }

    /// Whether [`Order::grid_met`] knows of this turn of the grid's barrier.
    #[inline(always)]
    pub(crate) fn is_at(&self, turn: u32) -> bool {
        turn == self.grid_turn
    }

    /// Whether the grid's barrier was completed since this was asked last; all threads know one another then.
    #[inline(always)]
    pub(crate) fn grid_met(&mut self, turn: u32) -> bool {
        turn != self.grid_turn && self.all_meet(turn)
    }

    #[cold]
    fn all_meet(&mut self, turn: u32) -> bool {
        self.grid_turn = turn;
        self.settle();
        true
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
    fn a_barrier_orders_those_that_come() {
        let mut order = order(3);
        let early = order.now(0);
        order.arrive(1, 0, ALL, false);
        let late = order.now(0);
        order.arrive(1, 1, ALL, true);
        assert!(!order.before(0, early, 1, 0));
        order.complete(1, false, |_| 0);
        // Warp 0 has only arrived, warp 2 has nothing to do with it.
        assert!(order.before(0, early, 1, 0));
        assert!(!order.before(0, late, 1, 0));
        assert!(!order.before(32, early, 0, 0));
        assert!(!order.before(0, early, 2, 0));
        assert!(order.before(33, early, 1, 0), "lanes that wait together know one another");
    }

    #[test]
    fn what_is_known_is_handed_on() {
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
    fn lanes_that_do_not_take_part_learn_nothing() {
        let mut order = order(1);
        let time = order.now(0);
        order.lanes_meet(0, 0xff, ALL);
        assert!(order.before(1, time, 0, 7));
        assert!(!order.before(1, time, 0, 8) && !order.before(8, time, 0, 1));
        assert!(!order.before(1, order.now(0), 0, 7), "not what comes afterwards");
        order.lanes_meet(0, 0x180, ALL);
        assert!(order.before(1, time, 0, 8), "what lane 7 knew");
        order.lanes_meet(0, 0xffff, 0xffff);
        assert!(order.before(9, time, 0, 1));
    }

    #[test]
    fn a_fence_hands_on_to_who_looks() {
        let mut order = order(2);
        let before = order.now(0);
        order.release(0);
        let after = order.now(0);
        assert!(!order.before(0, before, 1, 0));
        order.acquire(1);
        assert!(order.before(0, before, 1, 0) && !order.before(0, after, 1, 0));
    }

    #[test]
    fn a_new_block_knows_nothing_of_the_last() {
        let mut order = order(2);
        let time = order.now(0);
        order.arrive(0, 0, ALL, true);
        order.arrive(0, 1, ALL, true);
        order.complete(0, true, |_| 0);
        assert!(order.start(2, 0));
        assert!(time < order.first() && !order.before(0, order.now(0), 1, 0));
        order.clocks[1] = LATEST;
        assert!(!order.start(2, 0) && order.first() == 1);
    }
}
