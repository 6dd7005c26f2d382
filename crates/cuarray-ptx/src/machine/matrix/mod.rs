//! Instructions of a whole warp on matrices.
//!
//! The lanes of a warp hold a matrix together. `movement` loads, stores and transposes matrices, `element` decodes their
//! elements, `fragment` knows which lane holds which element, and `product`, `quad` and `sparse` multiply.

pub(crate) mod element;
mod fragment;
pub(crate) mod movement;
pub(crate) mod product;
pub(crate) mod quad;
pub(crate) mod sparse;

pub(crate) use fragment::Sum;

use super::fault::FaultKind;
use super::misuse::MisuseKind;
use super::program::{Instruction, LEFT_OUT};
use super::{Flow, Machine};

impl Machine<'_> {
    /// Returns whether all lanes of the warp have arrived at a matrix instruction. If some can never arrive, the
    /// instruction runs without them, and their absence is a misuse.
    ///
    /// # Safety
    /// `members` is a constant operand of the running instruction: the mask of all lanes. It is left out if an earlier
    /// instruction has waited.
    unsafe fn whole_warp(&mut self, members: u32, synchronizes: bool) -> bool {
        if members == LEFT_OUT || self.repeats {
            return true;
        }
        // SAFETY: this function's contract.
        let members = unsafe { self.slots::<[u32; 32]>(members).read() };
        let arrived = self.arrived(&members, false);
        if arrived && synchronizes {
            self.synchronize(&members, false);
        }
        if arrived && self.mask != u32::MAX {
            let absent = !self.mask;
            let other = self.instruction_of(absent & !self.warp.dead);
            self.misuse_lanes(MisuseKind::PartialWarp, Machine::first(self.mask), (u32::MAX, absent), other);
        }
        arrived
    }
}

/// Waits for all lanes before the accesses of `wmma.load` and `wmma.store`, and checks the alignment of the address `a` and
/// of rows of `b` elements. `c` is the mask of all lanes. `imm` has the bytes of a lane's fragment, the bits of an element
/// at bit 16, and whether the accesses write at bit 32.
///
/// PTX asks for rows that are aligned as the fragment is, and CUDA C++ for rows aligned to 16 bytes in a matrix aligned to
/// 32. An access that both forbid is a fault.
pub(crate) unsafe fn begin(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let (bytes, bits) = (instruction.imm as u64 & 0xffff, instruction.imm as u64 >> 16 & 0xffff);
    // SAFETY: the operands are registers of 64 and 32 bits, and the mask.
    unsafe {
        if !machine.whole_warp(instruction.c, false) {
            return Flow::Stop;
        }
        let addresses = machine.slots::<[u64; 32]>(instruction.a).read();
        let rows = machine.slots::<[u32; 32]>(instruction.b).read();
        for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
            let index = lane as usize;
            let row = u64::from(rows[index]) * bits / 8;
            if !(addresses[index].is_multiple_of(bytes.min(32)) && row.is_multiple_of(bytes.min(16))) {
                let write = instruction.imm >> 32 & 1 == 1;
                return machine.fail(FaultKind::Misaligned, lane, addresses[index], bytes as u32, write);
            }
        }
    }
    Flow::Next
}

/// Writes the number of each lane to `d`.
pub(crate) unsafe fn lane_numbers(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: `d` is a register of 32 bits.
    unsafe {
        let target = machine.slots::<u32>(instruction.d);
        for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
            target.add(lane as usize).write(lane);
        }
    }
    Flow::Next
}
