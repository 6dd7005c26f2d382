//! The knowledge of a thread while it accesses memory.

use super::times::Times;

/// The view of a thread, with the part that most comparisons ask for.
pub(crate) struct View {
    times: Times,
    height: u32,
    block: u32,
    /// The time up to which the accesses of all threads of the thread's block are known, as a barrier orders them.
    settled: u32,
}

impl View {
    pub(crate) fn new(times: Times, height: u32, block: u32) -> View {
        let settled = times.settled(height, block);
        View { times, height, block, settled }
    }

    /// Whether a barrier has ordered the accesses of a block at `time` before.
    #[inline(always)]
    pub(super) fn has_settled(&self, block: u32, time: u32) -> bool {
        block == self.block && time <= self.settled
    }

    /// The lanes of a mask of a warp whose accesses at `time` are not known.
    #[inline(always)]
    pub(super) fn unknown(&self, place: (u32, u32), lanes: u32, time: u32) -> u32 {
        match self.has_settled(place.0, time) {
            true => 0,
            false => self.times.unknown(self.height, place, lanes, time),
        }
    }

    /// Whether something is known only through instructions whose order of memory the manual does not state.
    pub(super) fn has_followed(&self) -> bool {
        self.times.has_followed()
    }

    /// The view with what is known only through such instructions.
    pub(crate) fn with_followed(&self) -> View {
        View::new(self.times.with_followed(), self.height, self.block)
    }
}
