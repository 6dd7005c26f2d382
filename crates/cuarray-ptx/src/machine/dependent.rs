//! Dependent launches: which threads have waited for the prerequisite grids.
//!
//! A dependent launch may begin before its prerequisite grids have completed. A thread that executes
//! `griddepcontrol.wait` is ordered after them. So are threads that synchronize with it later: by a barrier of the block, the
//! cluster or the grid, by an instruction of the warp, or through memory. Where this is not exact, a thread
//! counts as ordered: a missed race is better than a false one.

use super::program::Instruction;
use super::{Flow, Machine};

impl Machine<'_> {
    /// Records that lanes of the warp have waited for the prerequisite grids.
    pub(crate) fn have_waited(&mut self, lanes: u32) {
        self.warp.waited |= lanes;
        (self.waited, self.block.waited) = (true, true);
        self.clusters[self.block.cluster].waited = true;
    }

    /// The lanes of the warp that have waited for the prerequisite grids.
    fn waited_lanes(&self) -> u32 {
        let cluster = self.cluster();
        let all = self.block.all_waited
            || (self.waited && self.grid.turn > 0)
            || (cluster.waited && cluster.barrier.turn > 0);
        if all { u32::MAX } else { self.warp.waited }
    }

    /// Whether a lane has not waited for the prerequisite grids.
    pub(crate) fn is_before_wait(&self, lane: u32) -> bool {
        self.waited_lanes() >> lane & 1 == 0
    }

    /// Whether the running lanes differ in whether they have waited. If they agree, sets the recorder for all of them.
    pub(crate) fn waits_apart(&mut self) -> bool {
        let waited = self.waited_lanes() & self.mask;
        self.recorder.before_wait = waited == 0;
        waited != 0 && waited != self.mask
    }

    /// Whether blocks run in order, in this machine only.
    pub(crate) fn in_turns(&self) -> bool {
        self.grid.live != u64::MAX
    }
}

/// `griddepcontrol.wait`: earlier launches have completed, so it only orders threads for race detection.
pub(crate) unsafe fn wait(machine: &mut Machine<'_>, _: &Instruction) -> Flow {
    machine.have_waited(machine.mask);
    Flow::Next
}
