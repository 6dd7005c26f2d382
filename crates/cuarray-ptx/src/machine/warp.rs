//! A warp: its fragments, and the frames of its calls.
//!
//! A fragment is a set of threads at one instruction, in one frame. A frame holds the registers of one call. Threads
//! that diverge inside of a function share its frame, since each lane has its own part of every register. The fragment
//! that is deepest in calls runs, then the one that is furthest behind in the code. Turns are limited, so that a
//! thread that waits for another one does not starve it.

use super::Machine;
use super::barrier_use::Apart;
use super::members::Together;
use super::native::Deferred;
use super::polls::Poll;
use super::special::TimeReads;
use super::undefined::{Shadow, Twin, Written};
use crate::machine::program::Function;

/// The reason why a fragment waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiting {
    Nothing,
    /// A barrier of the block. `turn` counts how often the barrier had been passed when the fragment arrived.
    Barrier {
        number: u8,
        turn: u32,
        result: bool,
    },
    /// Threads of its warp that arrive at the same instruction, or at one of its kind with the same member mask. The mask is 0 where
    /// several are stated.
    Warp(u32),
    /// The barrier of the grid, with the number of times that it had been passed.
    Grid(u32),
    /// The barrier of the cluster, with the number of times that it had been passed.
    Cluster(u32),
}

impl Waiting {
    /// A number for the reason, whatever had been passed before.
    pub(super) fn code(self) -> u64 {
        match self {
            Waiting::Nothing => 0,
            Waiting::Warp(_) => 1,
            Waiting::Grid(_) => 2,
            Waiting::Cluster(_) => 3,
            Waiting::Barrier { number, result, .. } => 4 + u64::from(number) * 2 + u64::from(result),
        }
    }
}

/// Threads at one instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    pub pc: u32,
    pub mask: u32,
    pub frame: u32,
    pub waiting: Waiting,
    /// The time of its last turn.
    pub ran: u64,
}

impl Fragment {
    /// The lanes of a warp that starts.
    pub(super) fn start(function: &Function, mask: u32, frame: u32) -> Fragment {
        Fragment { pc: function.start, mask, frame, waiting: Waiting::Nothing, ran: 0 }
    }
}

/// A cache line of registers.
#[derive(Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Line([u64; 8]);

/// A call of a function.
#[derive(Default)]
pub(crate) struct Frame {
    pub registers: Vec<Line>,
    /// The instruction to return to; unused for a kernel.
    pub return_pc: u32,
    pub parent: u32,
    pub depth: u32,
    /// The start of its local memory, in bytes of a thread.
    pub local_base: u32,
    pub local_end: u32,
    /// The ends of the lanes' local memory, once one of them has used `alloca`.
    pub tops: Option<Box<[u32; 32]>>,
    /// The number of fragments in the frame, or in calls from it.
    pub uses: u32,
    /// The number of the function.
    pub function: u32,
    pub results: u32,
    /// The cache lines of its registers.
    lines: u32,
    /// The registers with other values in place of undefined ones, once the launch has met one.
    pub twin: Option<Box<Twin>>,
}

impl Frame {
    /// Adds the registers to a list. The twin does not decide what the threads do, so it is no part of their state.
    pub(super) fn write_registers(&self, state: &mut Vec<u64>) {
        self.registers[..self.lines as usize].iter().for_each(|line| state.extend(line.0));
    }
}

/// A warp of a block.
#[derive(Default)]
pub(crate) struct Warp {
    pub number: u32,
    /// Whether all values are in rows, so that generated code can run.
    pub plain: bool,
    /// The first lanes' values of linear registers, and the registers whose rows do not have them yet; see `native`.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
    pub scalars: Vec<u64>,
    pub deferred: Option<Deferred>,
    /// The function whose special registers are behind its scalars.
    pub known: Option<u32>,
    /// The fragments that are not running.
    pub fragments: Vec<Fragment>,
    pub frames: Vec<Frame>,
    free: Vec<u32>,
    /// Local memory: for each word of 64 bits of a thread, the words of 32 lanes.
    pub local: Vec<u64>,
    /// The bytes of it that the threads have written.
    pub written: Written,
    /// The undefined bits of local memory that the threads have written.
    pub undefined: Shadow,
    /// Lanes that have exited, or never existed.
    pub dead: u32,
    /// Lanes that never existed.
    pub absent: u32,
    /// Lanes that have arrived at a barrier of the cluster, and have not waited for it.
    pub cluster_arrived: u32,
    /// Lanes whose last such barrier has an odd number.
    pub cluster_odd: u32,
    /// Lanes that have waited for the prerequisite grids, or are ordered after such a wait.
    pub waited: u32,
    /// The cycles for which the warp has slept.
    pub slept: u64,
    pub time_reads: TimeReads,
    pub poll: Poll,
    /// The lanes that execute an instruction together at several places.
    pub together: Vec<Together>,
    /// Lanes that have executed an aligned instruction without the others, which may follow.
    pub apart: Vec<Apart>,
}

/// Instructions in a fragment's turn while others of its warp could run.
pub(super) const TURN: u64 = 20_000;
/// The deepest nesting of calls.
const DEPTH: u32 = 20_000;
/// The most local memory of a thread.
pub(crate) const LOCAL: u32 = 512 << 10;

impl Warp {
    /// Starts a block: all lanes but the absent ones are at the start of the kernel.
    pub(crate) fn start(&mut self, number: u32, threads: u32, function: &Function, number_of: u32) {
        self.plain = false;
        self.begin(number, threads, function);
        self.free.clear();
        for frame in 0..self.frames.len() as u32 {
            self.frames[frame as usize].uses = 0;
            self.free.push(frame);
        }
        let frame = self.open(function, number_of, u32::MAX, u32::MAX, 0, 0);
        self.fragments.push(Fragment::start(function, !self.absent, frame));
    }

    /// Becomes another warp with threads in all lanes, in the frame of the kernel.
    pub(super) fn restart(&mut self, number: u32, frame: usize, function: &Function) {
        self.begin(number, 32, function);
        self.frames[frame].clear(function);
    }

    /// A warp whose threads have all exited.
    pub(super) fn ended() -> Box<Warp> {
        Box::new(Warp { dead: u32::MAX, ..Warp::default() })
    }

    pub(super) fn begin(&mut self, number: u32, threads: u32, function: &Function) {
        (self.number, self.deferred, self.known) = (number, None, None);
        self.absent = if threads >= 32 { 0 } else { u32::MAX << threads };
        self.dead = self.absent;
        (self.cluster_arrived, self.cluster_odd, self.waited, self.slept) = (0, 0, 0, 0);
        (self.poll, self.time_reads) = (Poll::default(), TimeReads::default());
        self.together.clear();
        self.apart.clear();
        self.fragments.clear();
        self.begin_local(function.local);
        self.undefined.clear();
    }

    /// Opens a frame for a call.
    fn open(&mut self, function: &Function, number: u32, return_pc: u32, parent: u32, depth: u32, local: u32) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.frames.push(Frame::default());
            self.frames.len() as u32 - 1
        });
        self.frames[index as usize].begin(function, number, return_pc, parent, depth, local);
        index
    }
}

impl Frame {
    fn begin(&mut self, function: &Function, number: u32, return_pc: u32, parent: u32, depth: u32, local: u32) {
        let lines = (function.frame as usize).div_ceil(64);
        if self.registers.len() < lines {
            self.registers.resize(lines, Line([0; 8]));
        }
        (self.return_pc, self.parent, self.depth, self.results) = (return_pc, parent, depth, 0);
        self.local_base = local;
        (self.uses, self.function, self.lines) = (1, number, lines as u32);
        self.twin = None;
        self.clear(function);
    }

    /// Clears what a call finds cleared: registers that may be read before they are written, and the use of `alloca`.
    fn clear(&mut self, function: &Function) {
        for (place, bytes) in &function.cleared {
            // Registers are at multiples of four bytes.
            let base = self.registers.as_mut_ptr().cast::<u8>();
            // SAFETY: the resolver places registers within `function.frame`, which the lines cover.
            unsafe { base.add(*place as usize).write_bytes(0, *bytes as usize) };
        }
        self.local_end = self.local_base + function.local;
        self.tops = None;
    }
}

/// The reason why a warp stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    /// All its threads have exited.
    Done,
    /// All its fragments wait for other warps.
    Blocked,
    /// Its turn is over.
    Turn,
    Failed,
}

impl Machine<'_> {
    /// Executes the warp until it pauses, for at most `turn` instructions.
    pub(crate) fn run_warp(&mut self, turn: u64) -> Pause {
        self.warp_end = self.executed + turn;
        self.begin_generated();
        self.begin_polls();
        self.active = 0;
        loop {
            if self.active == 0 && !self.choose() {
                return if self.warp.fragments.is_empty() { Pause::Done } else { Pause::Blocked };
            }
            self.interpret();
            if self.fault.is_some() {
                return Pause::Failed;
            }
            if self.executed >= self.warp_end {
                self.leave(Waiting::Nothing);
                return if self.warp.fragments.is_empty() { Pause::Done } else { Pause::Turn };
            }
            if self.active != 0 && self.executed >= self.turn_end {
                if self.warp.fragments.is_empty() {
                    self.turn_end = (self.executed + TURN).min(self.warp_end);
                } else {
                    self.rotate();
                }
            }
        }
    }

    /// Chooses a fragment that can run; returns `false` if there is none.
    pub(crate) fn choose(&mut self) -> bool {
        if let [fragment] = self.warp.fragments.as_slice()
            && !matches!(fragment.waiting, Waiting::Warp(_))
        {
            if !self.can_run(fragment) {
                return false;
            }
            self.take_up_alone();
            return true;
        }
        self.wake();
        let mut best: Option<(usize, (u32, u32))> = None;
        for (index, fragment) in self.warp.fragments.iter().enumerate() {
            if !self.can_run(fragment) {
                continue;
            }
            let depth = self.warp.frames[fragment.frame as usize].depth;
            let key = (u32::MAX - depth, fragment.pc);
            if best.is_none_or(|(_, best)| key < best) {
                best = Some((index, key));
            }
        }
        self.rotated = false;
        let Some((index, _)) = best else { return self.force() };
        self.take_up(index);
        true
    }

    /// Releases fragments whose wait is over, and merges those at one instruction.
    pub(super) fn wake(&mut self) {
        let mut index = 0;
        while index < self.warp.fragments.len() {
            let fragment = self.warp.fragments[index];
            let kept =
                matches!(fragment.waiting, Waiting::Nothing | Waiting::Warp(_) | Waiting::Barrier { result: true, .. });
            if kept || !self.can_run(&fragment) {
                index += 1;
                continue;
            }
            self.warp.fragments.swap_remove(index);
            let together = self.warp.fragments.iter_mut().find(|other| {
                other.pc == fragment.pc && other.frame == fragment.frame && other.waiting == Waiting::Nothing
            });
            match together {
                Some(other) => {
                    other.mask |= fragment.mask;
                    self.warp.frames[fragment.frame as usize].uses -= 1;
                }
                None => self.warp.fragments.push(Fragment { waiting: Waiting::Nothing, ..fragment }),
            }
            index = 0;
        }
    }

    /// Chooses the fragment that has waited longest for a turn; returns `false` if none can run.
    pub(super) fn choose_longest_waiting(&mut self) -> bool {
        let ready = self.warp.fragments.iter().enumerate().filter(|(_, fragment)| self.can_run(fragment));
        let Some((index, _)) = ready.min_by_key(|(_, fragment)| fragment.ran) else { return self.force() };
        self.rotated = true;
        self.take_up(index);
        true
    }

    /// If all fragments wait for threads of the warp, which then cannot arrive, lets the first fragment continue.
    fn force(&mut self) -> bool {
        let all_wait = self.warp.fragments.iter().all(|fragment| matches!(fragment.waiting, Waiting::Warp(_)));
        let first = self.warp.fragments.iter().enumerate().min_by_key(|(_, fragment)| fragment.pc);
        let Some((index, _)) = first.filter(|_| all_wait) else { return false };
        self.take_up(index);
        self.forced = true;
        true
    }

    #[inline]
    pub(super) fn can_run(&self, fragment: &Fragment) -> bool {
        match fragment.waiting {
            Waiting::Nothing => true,
            Waiting::Barrier { number, turn, .. } => self.block.barriers[usize::from(number)].turn != turn,
            Waiting::Warp(_) => false,
            Waiting::Grid(turn) => self.grid.turn != turn,
            Waiting::Cluster(turn) => self.cluster().barrier.turn != turn,
        }
    }

    /// Makes the only fragment of the warp, which can run, the running one.
    #[inline]
    pub(super) fn take_up_alone(&mut self) {
        self.rotated = false;
        self.take_up(0);
    }

    /// Makes a fragment the running one.
    #[inline]
    fn take_up(&mut self, index: usize) {
        let fragment = self.warp.fragments.swap_remove(index);
        self.begin_fragment(&fragment);
    }

    /// Makes a fragment the running one that is not among those of the warp.
    #[inline]
    pub(super) fn begin_fragment(&mut self, fragment: &Fragment) {
        self.pc = fragment.pc;
        self.active = fragment.mask;
        self.resumed = matches!(fragment.waiting, Waiting::Barrier { result: true, .. });
        self.forced = false;
        self.enter(fragment.frame);
        self.turn_end = (self.executed + TURN).min(self.warp_end);
    }

    /// Makes a frame the current one.
    #[inline]
    pub(crate) fn enter(&mut self, frame: u32) {
        self.frame = frame;
        self.shapes.forget();
        let frame = &mut self.warp.frames[frame as usize];
        self.bases[0] = frame.registers.as_mut_ptr().cast();
        self.local_base = frame.local_base;
        self.find_limit();
    }

    /// Finds the next instruction at which the running fragment may meet another one.
    #[inline]
    pub(crate) fn find_limit(&mut self) {
        let (frame, pc, rotated) = (self.frame, self.pc, self.rotated);
        let near = self.warp.fragments.iter().filter(|fragment| {
            fragment.frame == frame
                && match fragment.waiting {
                    Waiting::Nothing => !rotated || fragment.pc >= pc,
                    Waiting::Warp(_) => fragment.pc >= pc,
                    _ => false,
                }
        });
        self.limit = near.map(|fragment| fragment.pc).min().unwrap_or(u32::MAX);
    }

    /// Merges the running fragment with those at its instruction, or yields to one that is further behind. Returns
    /// `false` if none can run.
    #[cold]
    pub(crate) fn meet(&mut self) -> bool {
        if self.limit == 0 && self.turns.is_random() && self.executed >= self.turn_end {
            // The turn ends behind a strong access.
            return false;
        }
        let (pc, frame) = (self.pc, self.frame);
        let mut index = 0;
        while index < self.warp.fragments.len() {
            let other = self.warp.fragments[index];
            let together = other.pc == pc
                && other.frame == frame
                && matches!(other.waiting, Waiting::Nothing | Waiting::Warp(_))
                && !self.resumed;
            if together {
                self.active |= other.mask;
                self.warp.frames[frame as usize].uses -= 1;
                self.warp.fragments.swap_remove(index);
            } else {
                index += 1;
            }
        }
        self.find_limit();
        if self.limit >= pc {
            // All fragments at this instruction were merged, so the next one is further on.
            if self.limit == pc {
                self.limit = u32::MAX;
            }
            return true;
        }
        self.leave(Waiting::Nothing);
        self.choose()
    }

    /// Suspends the running fragment.
    #[inline]
    pub(crate) fn leave(&mut self, waiting: Waiting) {
        if self.active == 0 {
            return;
        }
        if matches!(waiting, Waiting::Nothing | Waiting::Warp(_)) {
            self.part(self.pc, self.active, waiting);
            self.release(self.frame);
        } else {
            // Fragments that wait for other warps do not merge, so the use of the frame passes on.
            let Machine { pc, active: mask, frame, executed: ran, .. } = *self;
            self.warp.fragments.push(Fragment { pc, mask, frame, waiting, ran });
        }
        self.active = 0;
    }

    /// Suspends lanes of the running fragment, at an instruction of its frame.
    pub(crate) fn part(&mut self, pc: u32, mask: u32, waiting: Waiting) {
        let (frame, ran) = (self.frame, self.executed);
        let together = self.warp.fragments.iter_mut().find(|other| {
            let alike = match waiting {
                Waiting::Warp(_) => matches!(other.waiting, Waiting::Warp(_)),
                _ => other.waiting == waiting && waiting == Waiting::Nothing,
            };
            other.pc == pc && other.frame == frame && alike
        });
        if let Some(other) = together {
            other.mask |= mask;
            // Threads that waited for others check again.
            other.waiting = Waiting::Nothing;
            return;
        }
        self.warp.frames[frame as usize].uses += 1;
        self.warp.fragments.push(Fragment { pc, mask, frame, waiting, ran });
    }

    /// Yields to the fragment that has waited longest for a turn.
    pub(crate) fn rotate(&mut self) {
        self.leave(Waiting::Nothing);
        self.choose_longest_waiting();
    }

    /// Starts a call for all lanes of the running fragment. Returns `false` if there is no memory for it.
    pub(crate) fn call(&mut self, number: u32, results: u32) -> bool {
        let function = &self.program.functions[number as usize];
        let (depth, local) = {
            let frame = &self.warp.frames[self.frame as usize];
            (frame.depth + 1, frame.local_end)
        };
        let end = local.saturating_add(function.local);
        if depth > DEPTH || end > LOCAL {
            return false;
        }
        self.warp.grow_local(end);
        self.warp.written.forget(self.mask, (local, end));
        let frame = self.warp.open(function, number, self.pc, self.frame, depth, local);
        // The fragment is in the callee now, which keeps the caller's frame in use.
        self.warp.frames[frame as usize].results = results;
        self.pc = function.start;
        self.enter(frame);
        true
    }

    /// Ends a call for the lanes of the instruction; other lanes stay in it. Returns whether the fragment continues at
    /// once: fragments that are deeper in calls go first.
    pub(crate) fn finish_call(&mut self) -> bool {
        let (frame, mask) = (self.frame, self.mask);
        let rest = self.active & !mask;
        if rest != 0 {
            self.part(self.pc, rest, Waiting::Nothing);
        }
        let Frame { parent, return_pc, .. } = self.warp.frames[frame as usize];
        self.active = mask;
        self.warp.frames[parent as usize].uses += 1;
        self.release(frame);
        self.pc = return_pc;
        self.enter(parent);
        let depth = self.warp.frames[parent as usize].depth;
        let frames = &self.warp.frames;
        let deeper = |other: &Fragment| frames[other.frame as usize].depth > depth && self.can_run(other);
        if self.warp.fragments.iter().any(deeper) {
            self.leave(Waiting::Nothing);
            return false;
        }
        true
    }

    /// Removes a fragment from a frame, and frees frames without fragments.
    pub(crate) fn release(&mut self, mut frame: u32) {
        while let Some(used) = self.warp.frames.get_mut(frame as usize) {
            used.uses -= 1;
            if used.uses > 0 {
                return;
            }
            let parent = used.parent;
            self.warp.free.push(frame);
            frame = parent;
        }
    }

    /// Ends the lanes of the instruction.
    pub(crate) fn exit(&mut self) {
        self.warp.dead |= self.mask;
        self.active &= !self.mask;
        if self.active == 0 {
            self.release(self.frame);
        }
        // Fragments that waited for these threads check again.
        for fragment in &mut self.warp.fragments {
            if matches!(fragment.waiting, Waiting::Warp(_)) {
                fragment.waiting = Waiting::Nothing;
            }
        }
        self.find_limit();
        self.note_early_accesses(self.mask);
        self.threads_end();
    }

    /// Records at the barriers that the lanes of the instruction have exited.
    pub(super) fn threads_end(&mut self) {
        let ended = self.mask.count_ones();
        self.block.threads_ended(ended, (self.warp.number, self.warp.dead));
        self.grid.threads_ended(ended);
        self.cluster_threads_ended(self.mask);
    }
}
