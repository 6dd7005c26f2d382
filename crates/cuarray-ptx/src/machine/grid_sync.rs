//! The workspace of a cooperative launch, by which the headers of CUDA C++ synchronize the grid.
//!
//! `cooperative_groups` reads the address of the workspace from `%envreg1` (high) and `%envreg2`. One thread of each block adds
//! to a word there, and then polls its highest bit, which the last arrival flips. A poll ends the turn of its block, so that the
//! others arrive. The search for races sees no barrier, only the accesses and barriers of blocks that it consists of.

use super::access_mode::STRONG;
use super::program::Instruction;
use super::{Launch, Machine, Region};

pub(crate) use crate::races::causality::GRID_WORKSPACE as ADDRESS;
/// The size of the workspace in bytes: its size, and the word of the barrier.
const BYTES: u64 = 8;

/// The memory of the workspace.
pub(crate) struct Workspace(u64);

impl Default for Workspace {
    fn default() -> Workspace {
        Workspace(BYTES)
    }
}

impl Workspace {
    pub(crate) fn region(&mut self) -> Region {
        Region {
            start: ADDRESS,
            end: ADDRESS + BYTES,
            host: (&raw mut self.0) as u64,
            writable: true,
            slack: 0,
            group: 0,
        }
    }
}

/// The use of the workspace.
pub(crate) struct GridWord {
    /// Whether the launch has a workspace: it is cooperative.
    exists: bool,
}

impl GridWord {
    pub(crate) fn of(launch: &Launch<'_>) -> GridWord {
        let exists = launch.regions.last().is_some_and(|region| region.start == ADDRESS);
        GridWord { exists }
    }
}

impl Machine<'_> {
    /// The address of the workspace; 0 without one.
    pub(crate) fn workspace(&self) -> u64 {
        if self.grid_word.exists { ADDRESS } else { 0 }
    }

    /// Whether the running access is to the workspace.
    fn is_in_workspace(&self) -> bool {
        self.grid_word.exists && self.addresses[Self::first(self.mask) as usize] >> 48 == ADDRESS >> 48
    }

    /// Ends the turn of the block after a poll of the grid's barrier.
    #[inline(always)]
    pub(super) fn note_grid_poll(&mut self, instruction: &Instruction) {
        if instruction.c & STRONG != 0 && self.is_in_workspace() {
            self.end_waiting_warp();
        }
    }
}
