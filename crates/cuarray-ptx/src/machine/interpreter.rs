//! The machine: the state that instructions work on, and the loop that executes them.
//!
//! A *fragment* is the lanes of a warp that execute together. A divergent branch splits a fragment, and fragments merge where they meet.

use super::Flow;
use super::asynchronous::Copying;
use super::block::{Block, GridBarrier, Round};
use super::cluster::Cluster;
use super::deadlock::Search;
use super::direct::Shapes;
use super::fault::{Fault, FaultKind};
use super::grid_sync::GridWord;
use super::launch::Launch;
use super::misuse::Misuses;
use super::native::Native;
#[cfg(target_arch = "x86_64")]
use super::native::{Cohort, Following, Journal};
use super::pattern::{Chains, Pattern};
use super::polls::Polls;
#[cfg(target_arch = "x86_64")]
use super::processor;
use super::recorder::Recorder;
use super::succession::Supply;
use super::turns::Turns;
use super::undefined::Undefined;
use super::warp::Warp;
use crate::machine::program::{Instruction, Program, UNGUARDED};
use crate::races::Races;
use crate::races::causality::Causality;
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// The execution of one block.
pub(crate) struct Machine<'p> {
    /// The registers of the current frame, and the constants.
    pub bases: [*mut u8; 2],
    pub pc: u32,
    /// The next instruction at which another fragment of the frame waits.
    pub limit: u32,
    /// The lanes of the fragment.
    pub active: u32,
    /// The lanes that execute the instruction.
    pub mask: u32,
    /// The lanes whose registers may be written: those of `mask`, and exited ones.
    pub write: u32,
    /// The frame of the fragment.
    pub frame: u32,
    /// The start of the frame's local memory.
    pub local_base: u32,
    /// Whether the fragment was released from a barrier that has a result for it.
    pub resumed: bool,
    /// Whether an instruction of several threads must run with only the threads that have arrived.
    pub forced: bool,
    /// The lanes at other places that execute the instruction with those of the fragment: the index among [`Warp::together`].
    pub together: Option<usize>,
    /// Whether the fragment runs although others are further behind, so that every fragment gets a turn.
    pub rotated: bool,
    /// Executed instructions, counted once for a warp.
    pub executed: u64,
    /// Executed instructions, counted once for each lane.
    pub lanes: u64,
    /// The instruction count at which the fragment's turn ends.
    pub turn_end: u64,
    /// The instruction count at which the warp's turn ends.
    pub warp_end: u64,
    pub warp: Box<Warp>,
    pub block: Block,
    pub grid: GridBarrier,
    /// The clusters whose blocks run. A block names its cluster by the index.
    pub clusters: Vec<Cluster>,
    /// The round of turns over the warps of the block.
    pub round: Round,
    /// The instruction count at the start of the block's turn.
    pub block_turn: u64,
    /// The time of the longest block in nanoseconds.
    pub nanoseconds: u64,
    pub grid_word: GridWord,
    pub fault: Option<Box<Fault>>,
    /// The region that each instruction last accessed.
    pub found: Vec<u32>,
    /// The bytes of shared memory around the last access that have no gap between variables.
    pub without_gaps: (u64, u64),
    /// The region of the running access, if all lanes access one region of global memory.
    pub region: u32,
    /// The regions that no store of the kernel addresses; empty if they are not known.
    pub only_read: Vec<bool>,
    /// The offsets of static shared memory that the kernel can use.
    pub shared: Range<u64>,
    /// The addresses of the running access.
    pub addresses: [u64; 32],
    pub pattern: Pattern,
    /// Set if race detection is on.
    pub chains: Chains,
    pub pointers: [*mut u8; 32],
    /// The lanes whose pointers are in local memory.
    pub local_lanes: u32,
    /// Whether a thread has waited for the prerequisite grids.
    pub waited: bool,
    pub recorder: Recorder,
    pub shapes: Shapes,
    pub misuses: Misuses,
    /// The undefined values, once the launch has met one.
    pub undefined: Option<Box<Undefined>>,
    /// The ranges of unwritten memory that were read by instructions that do not follow undefined values.
    pub unwritten_reads: Vec<(u64, u64)>,
    /// Whether the instruction is executed a second time, on the registers with other values in place of undefined ones.
    pub repeats: bool,
    /// The blocks of the heap that the launch has freed: the address, and the address after the last byte.
    pub freed: BTreeMap<u64, u64>,
    /// As `freed`: the blocks that the launch has allocated. Nothing has written them before.
    pub allocated: BTreeMap<u64, u64>,
    /// The last error of the device runtime of each thread that has one: its block and its number there.
    pub last_errors: BTreeMap<(u64, u32), u32>,
    /// The bytes that a read outside of all regions gives, if the launch goes on behind it.
    pub poison: [u64; 8],
    /// The last bytes of each lane's access whose values nothing uses.
    pub unused: u32,
    pub races: Races,
    /// The search for races of a kernel whose threads synchronize through memory, in place of the usual one.
    pub causality: Option<Box<Causality>>,
    pub turns: Turns,
    pub polls: Polls,
    pub search: Search,
    /// The number of blocks of the launch that have ended.
    pub finished: &'p AtomicU64,
    /// The number of ended blocks that `finished` does not have yet.
    pub ended: u64,
    /// The clusters that the worker has taken and not started.
    pub taken: Range<u64>,
    /// Where blocks come from that begin in place of ended ones, and the executed instructions from which on the worker takes them.
    pub supply: Option<(&'p Supply, u64)>,
    /// The copy whose accesses are recorded.
    pub copying: Copying,
    /// The generated code; nothing while it runs.
    pub native: Option<Box<Native>>,
    /// The accesses that generated code has made, and that are not recorded yet.
    #[cfg(target_arch = "x86_64")]
    pub journal: Journal,
    /// The warps that take turns within generated code.
    #[cfg(target_arch = "x86_64")]
    pub cohort: Cohort,
    /// The warps that begin and end within generated code.
    #[cfg(target_arch = "x86_64")]
    pub following: Following,
    /// The payload of a panic in a function that generated code has called.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
    pub panic: Option<Box<dyn Any + Send>>,
    pub launch: &'p Launch<'p>,
    pub program: &'p Program,
}

impl Machine<'_> {
    /// Returns the slots of a register or constant.
    ///
    /// # Safety
    /// The operand belongs to the running instruction, and its slots have this type.
    #[inline(always)]
    pub(crate) unsafe fn slots<T>(&self, operand: u32) -> *mut T {
        // SAFETY: an operand's offset is in the frame or in the constants, as its highest bit tells.
        unsafe { self.bases[(operand >> 31) as usize].add((operand & 0x7fff_ffff) as usize).cast() }
    }

    /// Reads a predicate as a mask.
    ///
    /// # Safety
    /// The operand is a predicate of the running instruction.
    #[inline(always)]
    pub(crate) unsafe fn predicate(&self, operand: u32) -> u32 {
        // SAFETY: this function's contract.
        unsafe { *self.slots::<u32>(operand) }
    }

    /// Sets a predicate in the lanes that execute the instruction.
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

    /// Returns an operand beyond those in the instruction's own fields, by its `index`.
    #[inline(always)]
    pub(crate) fn extra(&self, instruction: &Instruction, index: usize) -> u32 {
        self.program.operands[instruction.extra as usize + index]
    }

    /// Ends the launch with a fault.
    #[cold]
    pub(crate) fn fail(&mut self, kind: FaultKind, lane: u32, address: u64, size: u32, write: bool) -> Flow {
        let thread = self.thread_of(lane);
        let pc = self.pc.saturating_sub(1);
        let block = self.block.index;
        let (waiting, progress) = Default::default();
        self.fault = Some(Box::new(Fault { kind, pc, block, thread, address, size, write, waiting, progress }));
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
        if self.undefined.is_some() {
            self.warp.write_deferred();
            if self.has_undefined() {
                return self.follow();
            }
        }
        #[cfg(target_arch = "x86_64")]
        if processor::wide() {
            // SAFETY: the processor has the features, as was just checked.
            unsafe { if self.warp.plain { self.interpret_generated() } else { self.interpret_wide() } };
            return;
        }
        self.steps();
    }

    /// Executes the current fragment by generated code, and by the interpreter where that leaves.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn interpret_generated(&mut self) {
        let program = self.program;
        let code = program.generated.plain(program, self.keeps_shapes());
        loop {
            if self.pc >= self.limit && !self.meet() {
                return;
            }
            // SAFETY: this function's contract: the processor has the features.
            match unsafe { self.run_generated() } {
                Some(Flow::Next) => continue,
                Some(Flow::Stop) => return,
                None => {}
            }
            // SAFETY: as above.
            if self.warp.deferred.is_some() && !unsafe { self.writes_read_rows() } {
                self.warp.write_deferred();
            }
            if self.execute_next(code) == Flow::Stop {
                return;
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn interpret_wide(&mut self) {
        self.steps();
    }

    /// Executes a run of instructions, whose first one was counted already, up to the next instruction at which another fragment waits.
    #[inline(always)]
    fn run(&mut self, code: &[Instruction], length: u32) -> Flow {
        let first = self.pc - 1;
        let count = length.min(self.limit - first);
        (self.mask, self.write) = (self.active, self.active | self.warp.dead);
        self.lanes += u64::from(self.active.count_ones()) * u64::from(count);
        self.executed += u64::from(count) - 1;
        self.pc = first;
        while self.pc < first + count {
            let instruction = &code[self.pc as usize];
            self.pc += 1;
            // SAFETY: as in `steps`.
            if unsafe { (instruction.exec)(self, instruction) } == Flow::Stop {
                let left = u64::from(first + count - self.pc);
                self.lanes -= u64::from(self.active.count_ones()) * left;
                self.executed -= left;
                return Flow::Stop;
            }
        }
        Flow::Next
    }

    #[inline(always)]
    fn steps(&mut self) {
        let code = self.program.code.as_slice();
        loop {
            if self.pc >= self.limit && !self.meet() {
                return;
            }
            if self.execute_next(code) == Flow::Stop {
                return;
            }
        }
    }

    /// Executes an instruction, or a run of instructions.
    #[inline(always)]
    fn execute_next(&mut self, code: &[Instruction]) -> Flow {
        let Some(instruction) = code.get(self.pc as usize) else { return Flow::Stop };
        self.pc += 1;
        self.executed += 1;
        let mut mask = self.active;
        if let Some(length) = instruction.guard.checked_sub(UNGUARDED) {
            if length > 1 {
                return self.run(code, length);
            }
        } else {
            // SAFETY: a guard is a predicate of the frame.
            let predicate = unsafe { self.predicate(instruction.guard >> 1) };
            mask &= predicate ^ (instruction.guard & 1).wrapping_neg();
            if mask == 0 {
                return Flow::Next;
            }
        }
        self.mask = mask;
        self.write = mask | self.warp.dead;
        self.lanes += u64::from(mask.count_ones());
        // SAFETY: the instruction belongs to the running program, and the frame to its function: only calls and
        // returns change `pc` and `frame`, together.
        unsafe { (instruction.exec)(self, instruction) }
    }
}
