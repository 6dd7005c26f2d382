//! The order in which the blocks and the warps of a launch take turns.
//!
//! The search for races analyses one executed order: in it threads read certain values, and a race that follows from other values
//! stays hidden. Another order shows it. Blocks take turns only in launches whose blocks can observe their order; see
//! [`grid`](super::grid). Warps always do.

/// The order of blocks and warps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum KernelOrder {
    /// By their numbers. A turn is long.
    #[default]
    Forward,
    /// From the last to the first. A turn is long.
    Reverse,
    /// Pseudorandom, from a seed. A turn is short, and ends behind strong accesses too, if races are searched.
    Random(u64),
}

impl KernelOrder {
    /// Whether the order is the same for all launches: turns are long, and end by polls.
    pub(crate) fn is_fixed(self) -> bool {
        !matches!(self, KernelOrder::Random(_))
    }
}

/// The most clusters that a random order chooses the next one from.
const AHEAD: usize = 16;
/// The bits of the longest random turn, in instructions.
const LONGEST: u32 = 12;

/// The turns of a launch.
#[derive(Clone, Default)]
pub(crate) struct Turns {
    order: KernelOrder,
    state: u64,
    /// Clusters that may start next, and the first number behind them.
    ahead: Vec<u64>,
    next: u64,
}

impl Turns {
    pub(super) fn new(order: KernelOrder) -> Turns {
        Turns { order, ..Turns::default() }
    }

    /// Whether warps take turns in the order of their numbers.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
    pub(super) fn is_forward(&self) -> bool {
        self.order == KernelOrder::Forward
    }

    /// Begins with a cluster, or with a whole grid as number 0.
    pub(super) fn begin(&mut self, number: u64) {
        if let KernelOrder::Random(seed) = self.order {
            self.state = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
    }

    pub(super) fn is_random(&self) -> bool {
        !self.order.is_fixed()
    }

    /// A pseudorandom number below a limit (SplitMix64).
    fn random(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % below.max(1)
    }

    /// The number of the next cluster to start, of `total`. `started` clusters have started, and some are left.
    pub(super) fn next_cluster(&mut self, started: u64, total: u64) -> u64 {
        match self.order {
            KernelOrder::Forward => started,
            KernelOrder::Reverse => total - 1 - started,
            KernelOrder::Random(_) => {
                while self.next < total && self.ahead.len() < AHEAD {
                    self.ahead.push(self.next);
                    self.next += 1;
                }
                let index = self.random(self.ahead.len() as u64) as usize;
                self.ahead.swap_remove(index)
            }
        }
    }

    /// The place of the block that runs next, among blocks that have not run.
    pub(super) fn fresh(&mut self, count: usize) -> usize {
        match self.order {
            KernelOrder::Forward => 0,
            KernelOrder::Reverse => count - 1,
            KernelOrder::Random(_) => self.random(count as u64) as usize,
        }
    }

    /// The place of the block that runs next, among blocks that wait for a turn. The first one has waited longest.
    pub(super) fn waiting(&mut self, count: usize) -> usize {
        if self.is_random() { self.random(count as u64) as usize } else { 0 }
    }

    /// Whether a block that waits for a turn precedes one that has not run.
    pub(super) fn waits_first(&mut self) -> bool {
        self.is_random() && self.random(2) == 0
    }

    /// The length of a turn of at most `longest` instructions.
    pub(super) fn length(&mut self, longest: u64) -> u64 {
        if !self.is_random() {
            return longest;
        }
        let bits = self.random(u64::from(LONGEST) + 1);
        (1 + self.random(1 << bits)).min(longest)
    }

    /// A number for [`Turns::warp`], for one round over all warps.
    pub(super) fn round(&mut self, warps: usize) -> usize {
        if self.is_random() { self.random(warps as u64) as usize } else { 0 }
    }

    /// The warp with a place in a round.
    pub(super) fn warp(&self, place: usize, round: usize, warps: usize) -> usize {
        match self.order {
            KernelOrder::Forward => place,
            KernelOrder::Reverse => warps - 1 - place,
            KernelOrder::Random(_) => (place + round) % warps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cluster_and_warp_has_its_turn_in_every_order() {
        for order in [KernelOrder::Forward, KernelOrder::Reverse, KernelOrder::Random(5)] {
            let mut turns = Turns::new(order);
            turns.begin(0);
            let mut clusters: Vec<u64> = (0..100).map(|started| turns.next_cluster(started, 100)).collect();
            assert_eq!(clusters.is_sorted(), order == KernelOrder::Forward, "{order:?}");
            clusters.sort_unstable();
            assert_eq!(clusters, (0..100).collect::<Vec<_>>(), "{order:?}");
            for _ in 0..10 {
                let round = turns.round(7);
                let mut warps: Vec<usize> = (0..7).map(|place| turns.warp(place, round, 7)).collect();
                warps.sort_unstable();
                assert_eq!(warps, (0..7).collect::<Vec<_>>(), "{order:?}");
                assert!((1..=50).contains(&turns.length(50)));
            }
        }
    }

    #[test]
    fn seeds_and_clusters_have_orders_of_their_own() {
        let order = |seed, number| {
            let mut turns = Turns::new(KernelOrder::Random(seed));
            turns.begin(number);
            (0..20).map(|started| turns.next_cluster(started, 20)).collect::<Vec<_>>()
        };
        assert_eq!(order(1, 0), order(1, 0));
        assert_ne!(order(1, 0), order(2, 0));
        assert_ne!(order(1, 0), order(1, 1));
    }
}
