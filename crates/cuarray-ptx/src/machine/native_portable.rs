//! The interpreter alone, on processors for which no code is generated.

use super::Machine;
use super::launch::Launch;
use super::program::Program;

/// The generated code of a program: none.
#[derive(Default)]
pub(crate) struct Generated;

impl Generated {
    pub(super) fn plain<'p>(&'p self, program: &'p Program, _: bool) -> &'p Vec<super::program::Instruction> {
        &program.code
    }

    pub(super) fn executed(&self, _: &Program, _: u32, _: u64) {}
}

/// Registers whose rows are not written yet: none.
pub(crate) enum Deferred {}

impl super::warp::Warp {
    pub(super) fn write_deferred(&mut self) {}
}

/// The generated code that a machine runs: none.
pub(crate) struct Native {
    pub on: bool,
}

impl Native {
    pub(super) fn new(_: &Launch<'_>) -> Native {
        Native { on: false }
    }
}

impl Machine<'_> {
    pub(super) fn keeps_shapes(&self) -> bool {
        true
    }

    pub(super) fn begin_generated(&mut self) {}
}
