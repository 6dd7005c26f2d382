//! Dynamic local memory of a thread: `alloca`, `stacksave` and `stackrestore`.
//!
//! The memory follows the variables of the frame, and each lane has its own stack in it. The frame of a called
//! function starts after the highest of these stacks.

use super::fault::FaultKind;
use super::memory::Slot;
use super::warp::LOCAL;
use super::{Flow, Machine};
use crate::machine::program::Instruction;

impl Machine<'_> {
    /// The end of each lane's stack.
    fn tops(&self) -> [u32; 32] {
        let frame = &self.warp.frames[self.frame as usize];
        frame.tops.as_deref().copied().unwrap_or([frame.local_end; 32])
    }

    fn set_tops(&mut self, tops: [u32; 32]) {
        let frame = &mut self.warp.frames[self.frame as usize];
        let fixed = frame.local_base + self.program.functions[frame.function as usize].local;
        frame.local_end = tops.iter().fold(fixed, |end, top| end.max(*top)).next_multiple_of(16);
        frame.tops = Some(Box::new(tops));
        let end = frame.local_end;
        self.warp.grow_local(end);
    }
}

/// `alloca`: `d` is the address of `a` bytes, aligned to `imm`.
pub(crate) unsafe fn allocate<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let mut tops = machine.tops();
    for lane in (0..32_u32).filter(|lane| machine.mask >> lane & 1 == 1) {
        let top = &mut tops[lane as usize];
        // SAFETY: `a` and `d` are registers of this width.
        let size = unsafe { machine.slots::<S>(instruction.a).add(lane as usize).read() }.value();
        let start = u64::from(*top).next_multiple_of(instruction.imm as u64);
        let end = start.checked_add(size).filter(|end| *end <= u64::from(LOCAL));
        let Some(end) = end else { return machine.fail(FaultKind::Stack, lane, 0, 0, false) };
        *top = end.next_multiple_of(8) as u32;
        // SAFETY: as above.
        unsafe { machine.slots::<S>(instruction.d).add(lane as usize).write(S::of(start)) };
    }
    machine.set_tops(tops);
    Flow::Next
}

/// `stacksave`: `d` is the end of the stack.
pub(crate) unsafe fn save<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let tops = machine.tops();
    for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
        // SAFETY: `d` is a register of this width.
        unsafe { machine.slots::<S>(instruction.d).add(lane).write(S::of(tops[lane].into())) };
    }
    Flow::Next
}

/// `stackrestore`: resets the end of the stack to `a`, a former end.
pub(crate) unsafe fn restore<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let mut tops = machine.tops();
    let frame = &machine.warp.frames[machine.frame as usize];
    let least = frame.local_base + machine.program.functions[frame.function as usize].local;
    for lane in (0..32_u32).filter(|lane| machine.mask >> lane & 1 == 1) {
        let top = &mut tops[lane as usize];
        // SAFETY: `a` is a register of this width.
        let saved = unsafe { machine.slots::<S>(instruction.a).add(lane as usize).read() }.value();
        if saved < u64::from(least) || saved > u64::from(*top) {
            return machine.fail(FaultKind::Stack, lane, saved, 0, false);
        }
        *top = saved as u32;
    }
    machine.set_tops(tops);
    Flow::Next
}
