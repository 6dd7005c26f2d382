//! The machine: what an instruction sees when it is executed, and the loop that executes.

use super::block::{Block, GridBarrier};
use super::fault::{Fault, FaultKind};
use super::grid::Launch;
use super::locate::{Chains, Pattern};
use super::region::Recorder;
use super::warp::Warp;
use super::{Flow, lanes};
use crate::machine::program::{Instruction, Program, UNGUARDED};
use crate::races::Races;

/// One block's execution.
pub(crate) struct Machine<'p> {
    /// The registers of the current frame, and the constants.
    pub bases: [*mut u8; 2],
    pub pc: u32,
    /// The place at which the nearest other fragment of the frame waits.
    pub limit: u32,
    /// The lanes of the fragment.
    pub active: u32,
    /// The lanes that the instruction is executed for.
    pub mask: u32,
    /// Those, and the lanes of which nothing is left: registers of both may be written.
    pub write: u32,
    /// The frame that the fragment is in.
    pub frame: u32,
    /// Where the frame's local memory begins.
    pub local_base: u32,
    /// Whether the fragment was let go from a barrier that has a result for it.
    pub resumed: bool,
    /// Whether an instruction for several threads must be executed by those that have come.
    pub forced: bool,
    /// Whether the fragment runs although others are further behind, so that all get their turn.
    pub rotated: bool,
    /// Instructions that were executed, each counted once for a warp; and counted for each thread.
    pub executed: u64,
    pub lanes: u64,
    /// When the fragment's turn ends, and the warp's.
    pub turn_end: u64,
    pub warp_end: u64,
    pub warp: Warp,
    pub block: Block,
    pub grid: GridBarrier,
    pub fault: Option<Box<Fault>>,
    /// For each instruction, the region that it last found its addresses in.
    pub found: Vec<u32>,
    /// Of the access that is being executed.
    pub addresses: [u64; 32],
    pub pattern: Pattern,
    /// Set if races are looked for.
    pub chains: Chains,
    pub pointers: [*mut u8; 32],
    /// Which of the pointers lead into local memory.
    pub local_lanes: u32,
    pub recorder: Recorder,
    pub races: Races,
    pub launch: &'p Launch<'p>,
    pub program: &'p Program,
}

impl Machine<'_> {
    /// The slots of a register or constant.
    ///
    /// # Safety
    /// The operand is one of the instruction being executed, and its slots are of this type.
    #[inline(always)]
    pub(crate) unsafe fn slots<T>(&self, operand: u32) -> *mut T {
        // SAFETY: an operand's offset lies in the frame or in the constants, as its highest bit says.
        unsafe { self.bases[(operand >> 31) as usize].add((operand & 0x7fff_ffff) as usize).cast() }
    }

    /// A predicate, as a mask.
    ///
    /// # Safety
    /// The operand is a predicate of the instruction being executed.
    #[inline(always)]
    pub(crate) unsafe fn predicate(&self, operand: u32) -> u32 {
        // SAFETY: this function's contract.
        unsafe { *self.slots::<u32>(operand) }
    }

    /// Sets a predicate in the lanes that the instruction is executed for.
    ///
    /// # Safety
    /// As for [`Machine::predicate`].
    #[inline(always)]
    pub(crate) unsafe fn set_predicate(&mut self, operand: u32, holds: u32) {
        // SAFETY: this function's contract.
        unsafe {
            let slot = self.slots::<u32>(operand);
            *slot = (*slot & !self.mask) | (holds & self.mask);
        }
    }

    /// The `index`-th further operand.
    #[inline(always)]
    pub(crate) fn extra(&self, instruction: &Instruction, index: usize) -> u32 {
        self.program.operands[instruction.extra as usize + index]
    }

    /// Ends the launch.
    #[cold]
    pub(crate) fn fail(&mut self, kind: FaultKind, lane: u32, address: u64, size: u32, write: bool) -> Flow {
        let thread = self.thread_of(lane);
        let pc = self.pc.saturating_sub(1);
        let block = self.block.index;
        self.fault = Some(Box::new(Fault { kind, pc, block, thread, address, size, write }));
        Flow::Stop
    }

    /// The thread index of a lane of the current warp.
    pub(crate) fn thread_of(&self, lane: u32) -> [u32; 3] {
        let [x, y, _] = self.launch.threads;
        let linear = self.warp.number * 32 + lane;
        if linear < x {
            // Most blocks have one dimension.
            return [linear, 0, 0];
        }
        [linear % x, linear / x % y, linear / (x * y)]
    }

    /// The first lane of a mask.
    pub(crate) fn first(mask: u32) -> u32 {
        mask.trailing_zeros().min(31)
    }

    /// Executes the current fragment until an instruction stops it.
    pub(crate) fn interpret(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if lanes::wide() {
            // SAFETY: the processor has the features (just asked).
            unsafe { self.interpret_wide() };
            return;
        }
        self.steps();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn interpret_wide(&mut self) {
        self.steps();
    }

    #[inline(always)]
    fn steps(&mut self) {
        let code = self.program.code.as_slice();
        loop {
            if self.pc >= self.limit && !self.meet() {
                return;
            }
            let Some(instruction) = code.get(self.pc as usize) else { return };
            self.pc += 1;
            self.executed += 1;
            let mut mask = self.active;
            if instruction.guard != UNGUARDED {
                // SAFETY: a guard is a predicate of the frame.
                let predicate = unsafe { self.predicate(instruction.guard >> 1) };
                mask &= predicate ^ (instruction.guard & 1).wrapping_neg();
                if mask == 0 {
                    continue;
                }
            }
            self.mask = mask;
            self.write = mask | self.warp.dead;
            self.lanes += u64::from(mask.count_ones());
            // SAFETY: the instruction is one of the program that runs, in a frame of its function: `pc` and `frame` change
            // together, in calls and returns alone.
            if unsafe { (instruction.exec)(self, instruction) } == Flow::Stop {
                return;
            }
        }
    }
}
