//! Undefined values: what nothing has written, and what a lane that takes no part would have given.
//!
//! A launch that meets no undefined value pays nothing. At the first one of a warp the machine begins to execute each instruction of
//! the warp twice, on two sets of registers ([`Twin`]) that differ in the undefined bits only. It ends where the sets have become equal. A result is undefined where the two differ, so
//! `and` with zero, a selection of the other side, or a shift that drops the bits give defined results, as they should.
//! A comparison of undefined values is undefined, although both executions may find the same result.
//!
//! Memory has one value, and [`Shadow`] keeps the bits in which the other execution would have another.
//! A finding is the use of an undefined value: for a branch, an address, a guard, a barrier, or a store that others may read.

mod accesses;
mod execution;
mod local;
mod registers;
mod shadow;

use super::Machine;
pub(crate) use local::Written;
pub(crate) use registers::{Register, Registers, Twin, Way};
pub(crate) use shadow::Shadow;

use super::misuse::Origin;

/// Undefined values of memory and of shuffles: a number of 32 bits, twice. It is a NaN as a number of any width from 16 bits, in
/// its highest bits, and neither 0 nor a plausible index.
pub(crate) const POISON: u64 = 0xfff5_a5a5_fff5_a5a5;

/// The undefined values of a launch that has met one.
#[derive(Default)]
pub(crate) struct Undefined {
    /// The undefined bits of global memory that threads have written, by the host's addresses.
    pub global: Shadow,
    /// Whether the machine has left the usual loop for the running warp.
    follows: bool,
    /// The source of an undefined value that the running instruction has met.
    met: Option<Origin>,
}

impl Machine<'_> {
    /// Begins to follow undefined values of the running warp. The running instruction still has to execute a second time.
    #[cold]
    pub(super) fn begin_undefined(&mut self) {
        if self.undefined.is_none() {
            self.undefined = Some(Box::default());
            self.shapes.forbid();
        }
        self.twin();
    }

    /// Notes that the running instruction has an undefined value that is in no operand of it.
    #[cold]
    pub(super) fn meets_undefined(&mut self, origin: Origin) {
        if let Some(undefined) = self.undefined.as_mut() {
            undefined.met = Some(origin);
        }
    }

    /// Whether the running instruction follows undefined values through memory.
    #[cold]
    pub(super) fn follows_accesses(&self) -> bool {
        self.program.operands_of.way(self.pc as usize - 1) == Way::Accesses
    }
}
