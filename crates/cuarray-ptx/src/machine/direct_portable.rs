//! Direct accesses on processors for which none are written: all accesses take the general way.

use super::Machine;
use super::memory::{Cell, Slot};
use crate::machine::program::Instruction;

/// No shapes.
pub(crate) struct Shapes;

impl Shapes {
    pub(super) fn new(_recorded: bool, _allowed: bool, _instructions: usize) -> Shapes {
        Shapes
    }

    pub(super) fn forget(&mut self) {}

    pub(super) fn forbid(&mut self) {}
}

/// Returns `false`: the load has to take the general way.
pub(super) unsafe fn load<M: Cell, S: Slot>(_: &mut Machine<'_>, _: &Instruction) -> bool {
    false
}

/// Returns `false`: the store has to take the general way.
pub(super) unsafe fn store<M: Cell, S: Slot>(_: &mut Machine<'_>, _: &Instruction) -> bool {
    false
}
