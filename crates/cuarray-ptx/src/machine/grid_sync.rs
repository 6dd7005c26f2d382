//! The workspace of a cooperative launch, by which the headers of CUDA C++ synchronize the grid.
//!
//! `cooperative_groups` reads the address of the workspace from `%envreg1` (high) and `%envreg2`. One thread of each block adds
//! to a word there, and then polls its highest bit, which the last arrival flips. The machine observes both: a poll ends
//! the turn of its block, and a flip completes the grid's barrier for race detection.

use super::access_mode::STRONG;
use super::program::Instruction;
use super::{Launch, Machine, Region};
use std::sync::atomic::{AtomicU32, Ordering};

/// The device address of the workspace, above the memory of every caller.
pub(crate) const ADDRESS: u64 = 0x00ff_0000_0000_0000;
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

/// The word of the grid's barrier.
pub(crate) struct GridWord {
    /// The word; null if the launch is not cooperative.
    word: *mut u32,
    /// The highest bit of the word.
    flipped: bool,
    /// The number of atomic operations on the word.
    pub arrivals: u64,
    /// Whether the warp has polled the word in its turn.
    pub polled: bool,
}

impl GridWord {
    pub(crate) fn of(launch: &Launch<'_>) -> GridWord {
        let workspace = launch.regions.last().filter(|region| region.start == ADDRESS);
        let word = workspace.map_or(0, |region| region.host + 4) as *mut u32;
        GridWord { word, flipped: false, arrivals: 0, polled: false }
    }
}

impl Machine<'_> {
    /// The address of the workspace; 0 without one.
    pub(crate) fn workspace(&self) -> u64 {
        if self.grid_word.word.is_null() { 0 } else { ADDRESS }
    }

    /// Whether the running access is to the workspace.
    fn is_in_workspace(&self) -> bool {
        !self.grid_word.word.is_null() && self.addresses[Self::first(self.mask) as usize] >> 48 == ADDRESS >> 48
    }

    /// Ends the turn of the block after a poll of the grid's barrier.
    #[inline(always)]
    pub(crate) fn note_poll(&mut self, instruction: &Instruction) {
        if instruction.c & STRONG != 0 && self.is_in_workspace() {
            self.grid_word.polled = true;
            (self.turn_end, self.warp_end) = (self.executed, self.executed);
        }
    }

    /// Completes the grid's barrier if an atomic operation has flipped its word.
    #[inline(always)]
    pub(crate) fn note_arrival(&mut self) {
        if !self.grid_word.word.is_null() && self.is_in_workspace() {
            self.grid_word.arrivals += 1;
            // SAFETY: the word belongs to the workspace, which outlives the launch.
            let word = unsafe { AtomicU32::from_ptr(self.grid_word.word) }.load(Ordering::Relaxed);
            if self.grid_word.flipped != (word >> 31 == 1) {
                self.grid_word.flipped = !self.grid_word.flipped;
                self.grid.turn += 1;
            }
        }
    }
}
