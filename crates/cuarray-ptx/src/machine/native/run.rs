//! Entering generated code, and what follows when it leaves.

use super::compiled::{Compiled, Entry, Generated, Variant};
use super::context::{Context, WAITING};
use super::journal::Journal;
use super::leaving::Exit;
use super::linear_rows::write_lanes;
use super::value::ThreadShape;
use super::written::{Sites, forget_shared, generation};
use crate::grammar::types::Width;
use crate::machine::launch::{Code, Launch};
use crate::machine::program::UNGUARDED;
use crate::machine::special::{REGISTERS, Read};
use crate::machine::warp::{Frame, TURN, Waiting, Warp};
use crate::machine::{Flow, Machine, processor, undefined};
use std::panic::resume_unwind;
use std::ptr::NonNull;
use std::sync::Arc;

/// A function of generated code, which returns the number of an exit.
type Function = unsafe extern "C" fn(*mut Machine<'static>, *mut Context, *const u8) -> u32;

/// The code of a function, with the memory that its accesses have found in this launch.
struct Loaded {
    compiled: Arc<Compiled>,
    sites: Sites,
    /// The block that has run the code last.
    block: u64,
    /// The special registers that differ between the warps of a block, once they are needed.
    rows: Option<Vec<u64>>,
}

/// The generated code that a machine runs.
pub(crate) struct Native {
    /// Whether warps that start, or take a turn, run generated code.
    pub(in crate::machine) on: bool,
    /// The executed instructions from which on they do.
    pub(in crate::machine) from: u64,
    shape: ThreadShape,
    context: Box<Context>,
    /// For each function and variant; the inner option is empty if code cannot be generated.
    loaded: Vec<Option<Option<Box<Loaded>>>>,
}

impl Native {
    pub(in crate::machine) fn new(launch: &Launch<'_>) -> Native {
        let possible = processor::wide() && !launch.program.follows;
        let (program, kernel) = (launch.program, launch.kernel);
        let pays = || Generated::pays(program, kernel, launch.record || launch.races, Journal::new(launch).on);
        let from = match launch.code {
            Code::Generated if possible => 0,
            Code::GeneratedIfWorth if possible && pays() => program.generated.worth(program, kernel),
            _ => u64::MAX,
        };
        Native {
            on: from == 0,
            from,
            shape: ThreadShape::of(launch.threads),
            context: Box::new(Context::NEW),
            loaded: Vec::new(),
        }
    }
}

impl Machine<'_> {
    /// Lets the running warp run generated code: all values come into their rows.
    pub(in crate::machine) fn begin_generated(&mut self) {
        let native_on = self.native.as_mut().is_some_and(|native| {
            native.on |= self.executed >= native.from;
            native.on
        });
        // A second set of registers, with other values in place of undefined ones, stays in its form.
        if !native_on || self.warp.plain || self.warp.frames.iter().any(|frame| frame.twin.is_some()) {
            return;
        }
        self.warp.plain = true;
        let program = self.program;
        for number in 0..self.warp.frames.len() {
            let frame = &mut self.warp.frames[number];
            if frame.uses == 0 {
                continue;
            }
            self.bases[0] = frame.registers.as_mut_ptr().cast();
            let function = &program.functions[frame.function as usize];
            for pc in function.start..function.end {
                let written = program.operands_of.written(pc as usize);
                for register in written.iter().filter(|register| register.has_head()) {
                    // SAFETY: the base is that of a frame of the function, and the register has a head.
                    unsafe { self.complete_register(register.place(), register.width() == Width::W64) };
                }
            }
        }
    }

    /// Runs generated code from the current instruction on. Returns `None` if the interpreter has to execute that instruction.
    ///
    /// # Safety
    /// The processor has the features.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    pub(in crate::machine) unsafe fn run_generated(&mut self) -> Option<Flow> {
        if self.polls.live || !self.may_journal() {
            return None;
        }
        let mut native = self.native.take()?;
        // SAFETY: this function's contract.
        let flow = unsafe { self.run_in(&mut native) };
        self.native = Some(native);
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
        flow
    }

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn run_in(&mut self, native: &mut Native) -> Option<Flow> {
        let function = self.warp.frames[self.frame as usize].function;
        let whole = self.active == u32::MAX;
        let is_here = |deferred: &Deferred| whole && deferred.frame == self.frame;
        if !self.warp.deferred.as_ref().is_none_or(is_here) {
            self.warp.write_deferred();
        }
        for expects in [true, false] {
            let Native { shape, context, loaded, .. } = native;
            let loaded = load(
                loaded,
                self,
                function,
                Variant { shape: *shape, whole, expects, recorded: self.shapes.recorded, journal: self.journal.on },
            )?;
            let compiled = &*loaded.compiled;
            let index = *compiled.starting.get((self.pc - compiled.start) as usize)?;
            let entry = compiled.entries.get(index as usize)?;
            if entry.foreign || self.limit < entry.end {
                return None;
            }
            compiled.fit(&mut self.warp.scalars);
            if self.warp.known != Some(function) {
                // The scalars of this function may lie where another one, which has called it, has special registers.
                self.warp.known = entry.specials.then_some(function);
                if entry.specials {
                    self.read_specials(compiled, false);
                }
            }
            // SAFETY: the frame is one of the function.
            if unsafe { self.take_scalars(compiled, entry, index) } {
                if compiled.follows {
                    let rows = loaded.rows.get_or_insert_with(|| self.special_rows(compiled));
                    context.rows = rows.as_ptr() as u64;
                }
                self.describe(compiled, context);
                let sites = loaded.sites.start();
                if loaded.block != self.block.number {
                    // SAFETY: the code runs later.
                    unsafe { forget_shared(compiled, sites) };
                    loaded.block = self.block.number;
                }
                context.sites = sites as u64;
                context.scalars = self.warp.scalars.as_mut_ptr() as u64;
                // SAFETY: the context describes the machine, and the values are as the block expects them.
                return unsafe { self.enter_generated(compiled, context, index) };
            }
        }
        None
    }

    /// Takes the first lanes' values of the registers that an entry expects to be linear, or keeps those that are there. Returns whether all
    /// are as expected. All other values are in their rows then.
    ///
    /// # Safety
    /// The entry is one of the function of the frame, and the processor has the features.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    unsafe fn take_scalars(&mut self, compiled: &Compiled, entry: &Entry, index: u32) -> bool {
        // SAFETY: the exit is one of the program's code, which is kept as long as the program.
        let deferred = self.warp.deferred.as_ref().map(|deferred| unsafe { deferred.exit.as_ref() });
        let resumes = |deferred: &Deferred| compiled.resumes(deferred.exit) == Some(index);
        if self.active == u32::MAX && self.warp.deferred.as_ref().is_some_and(resumes) {
            self.warp.deferred = None;
            return true;
        }
        let mut kept = deferred.map_or(&[][..], |exit| &exit.linear);
        for register in &entry.linear {
            while let Some((first, rest)) = kept.split_first().filter(|(first, _)| first.number < register.number) {
                // SAFETY: this function's contract: the register is in the frame.
                unsafe { first.write(self.slots(first.place), self.warp.scalars[first.number as usize], u32::MAX) };
                kept = rest;
            }
            if let Some((first, rest)) = kept.split_first().filter(|(first, _)| first.number == register.number) {
                kept = rest;
                if first.is_same(register) {
                    continue;
                }
                // SAFETY: this function's contract: the exit is one of the frame's function, so the register is in the frame.
                unsafe { first.write(self.slots(first.place), self.warp.scalars[first.number as usize], u32::MAX) };
            }
            // SAFETY: this function's contract: the register is in the frame. A fragment has lanes.
            let base = unsafe { register.read(self.slots::<u8>(register.place), self.active) };
            let Some(base) = base else {
                // The values that were kept have not changed, so all can be written.
                self.warp.write_deferred();
                return false;
            };
            self.warp.scalars[register.number as usize] = base;
        }
        for register in kept {
            // SAFETY: this function's contract: the exit is one of the frame's function, so the register is in the frame.
            unsafe {
                register.write(self.slots(register.place), self.warp.scalars[register.number as usize], u32::MAX)
            };
        }
        self.warp.deferred = None;
        true
    }

    /// Writes the deferred rows that the next instruction reads, if it is alone, unconditional, and writes none of the deferred registers.
    /// Otherwise, returns `false`.
    ///
    /// # Safety
    /// The processor has the features.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    pub(in crate::machine) unsafe fn writes_read_rows(&mut self) -> bool {
        let (pc, program) = (self.pc as usize, self.program);
        let alone = program.code.get(pc).is_some_and(|instruction| instruction.guard == UNGUARDED);
        let Some(deferred) = self.warp.deferred.as_ref().filter(|deferred| alone && deferred.frame == self.frame)
        else {
            return false;
        };
        let (read, written) = (program.operands_of.read(pc), program.operands_of.written(pc));
        // SAFETY: the exit is one of the program's code, which is kept as long as the program.
        let linear = unsafe { &deferred.exit.as_ref().linear };
        let has = |places: &[undefined::Register], place: u32| places.iter().any(|register| register.place() == place);
        if !written.is_empty() && linear.iter().any(|register| has(written, register.place)) {
            return false;
        }
        if !read.is_empty() {
            for register in linear.iter().filter(|register| has(read, register.place)) {
                // SAFETY: the register is in the frame.
                unsafe {
                    register.write(self.slots(register.place), self.warp.scalars[register.number as usize], u32::MAX);
                }
            }
        }
        true
    }

    /// Puts the special registers that the code of a function reads behind the scalars: they do not change while the warp runs. If the block is
    /// `known`, puts those that differ between its warps.
    pub(super) fn read_specials(&mut self, compiled: &Compiled, known: bool) {
        for (index, number) in compiled.specials.iter().enumerate() {
            if !known || !matches!(REGISTERS[*number as usize].1, Read::Block(_)) {
                self.warp.scalars[compiled.registers + index] = self.special(*number);
            }
        }
    }

    /// A special register of the first lane, or zero if it changes while the warp runs.
    #[inline]
    pub(super) fn special(&self, number: i64) -> u64 {
        match REGISTERS[number as usize].1 {
            Read::Block(value) | Read::Warp(value) => value(self),
            Read::Thread(axis) => self.thread_of(0)[axis].into(),
            Read::Lane(value) => value(0),
            Read::Time(_) => 0,
        }
    }

    /// Fills in what generated code reads.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn describe(&mut self, compiled: &Compiled, context: &mut Context) {
        (self.mask, self.write) = (self.active, self.active | self.warp.dead);
        context.frame = self.bases[0] as u64;
        context.constants = self.bases[1] as u64;
        context.parameters = self.launch.parameters.as_ptr() as u64;
        self.describe_block(context);
        if compiled.journal {
            self.journal.open(compiled);
        }
        let fragments = &self.warp.fragments;
        let moves = |waiting: Waiting| matches!(waiting, Waiting::Warp(_));
        context.stable =
            u32::from(fragments.is_empty() || !self.rotated && !fragments.iter().any(|other| moves(other.waiting)));
        context.limit = self.limit;
        if !fragments.is_empty() && context.stable == 1 {
            let limit = self.limit;
            self.find_limit();
            context.limit = std::mem::replace(&mut self.limit, limit);
        }
        (context.number, context.compiled) = (self.frame, compiled);
        context.due = self.round.end.min(self.search.tick);
        (context.longest, context.longest_turn) = (self.round.longest, self.round.longest.min(TURN));
        self.find_following(compiled, context);
        if self.active != u32::MAX && context.lanes != (self.active, self.write) {
            context.lanes = (self.active, self.write);
            write_lanes(!self.write, &mut context.kept, &mut context.kept_wide);
            write_lanes(!self.active, &mut context.left_out, &mut context.left_out_wide);
        }
    }

    /// As [`Machine::describe`], for the values that all warps of a block have.
    #[inline]
    pub(super) fn describe_block(&mut self, context: &mut Context) {
        context.shared = self.block.shared_base() as u64;
        context.shared_bytes = self.block.shared_bytes();
        context.generation = generation(self.block.number);
    }

    /// Runs generated code from a block on.
    ///
    /// # Safety
    /// The context describes the machine, and the values of registers are as the block expects them.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn enter_generated(&mut self, compiled: &Compiled, context: &mut Context, index: u32) -> Option<Flow> {
        let (before, entered, active) = (self.executed, self.pc, self.active);
        let block = compiled.memory.at(compiled.entries[index as usize].offset);
        let context = &raw mut *context;
        // SAFETY: the memory has code that begins with such a function, as `Emitter::begin` emits it.
        let code: Function = unsafe { std::mem::transmute(compiled.memory.at(0)) };
        let machine = std::ptr::from_mut(self).cast();
        // SAFETY: this function's contract. The code accesses the machine by the pointer only, while this reference is not used.
        let exit = unsafe { code(machine, context, block) };
        self.end_turns();
        self.settle_journal();
        let exit = &compiled.exits[exit as usize];
        // SAFETY: the code has returned.
        let frame = unsafe { (*context).number };
        self.executed += u64::from(exit.count);
        // The lanes that wait for other blocks have not executed this one.
        let mut waiting: [u32; WAITING] = [0; WAITING];
        if exit.waits.is_some() {
            // SAFETY: the code has returned.
            waiting = std::mem::replace(unsafe { &mut (*context).waiting }, waiting);
        }
        let others = waiting.iter().fold(0, |all, lanes| all | lanes);
        self.lanes = self.lanes.wrapping_sub(u64::from(exit.count) * u64::from(others.count_ones()));
        self.lanes = self.lanes.wrapping_add((self.executed - before) * u64::from(active.count_ones()));
        if let Some(pc) = exit.pc {
            self.pc = pc;
        }
        if !exit.linear.is_empty() || exit.resumes.is_some() && active == u32::MAX {
            // The rows are written when something reads them.
            self.warp.deferred = Some(Deferred { exit: exit.into(), frame });
            if active != u32::MAX {
                self.write_deferred_lanes(exit, frame, active);
            }
        }
        if others != 0 && self.fault.is_none() {
            // The function of an instruction has stopped the lanes that execute the block.
            let pcs = exit.waits.as_deref().unwrap_or_default();
            // SAFETY: the code has returned.
            let since = unsafe { (*context).since };
            for ((pc, lanes), since) in pcs.iter().zip(waiting).zip(since).filter(|((_, lanes), _)| *lanes != 0) {
                self.part(*pc, lanes, Waiting::Nothing);
                self.warp.fragments.last_mut().into_iter().for_each(|fragment| fragment.ran = since);
            }
            self.find_limit();
        }
        if exit.stops {
            return Some(Flow::Stop);
        }
        // Without progress, the interpreter executes the instruction.
        (self.executed != before || self.pc != entered).then_some(Flow::Next)
    }
}

impl Machine<'_> {
    /// Writes the rows behind an exit in the lanes that have taken part.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    fn write_deferred_lanes(&mut self, exit: &Exit, frame: u32, active: u32) {
        self.warp.deferred = None;
        let Warp { frames, scalars, dead, .. } = &mut *self.warp;
        // SAFETY: the exit is one of the code of the frame's function.
        unsafe { write_rows(&mut frames[frame as usize], exit, scalars, active | *dead) };
    }
}

/// Writes the rows behind an exit in the lanes of a mask, also among the registers with other values in place of undefined ones.
///
/// # Safety
/// The exit is one of the code of the frame's function. The processor has the features.
unsafe fn write_rows(frame: &mut Frame, exit: &Exit, scalars: &[u64], mask: u32) {
    let twin = frame.twin.as_mut().map(|twin| twin.registers.as_mut_ptr().cast::<u8>());
    for base in [Some(frame.registers.as_mut_ptr().cast::<u8>()), twin].into_iter().flatten() {
        for register in &exit.linear {
            // SAFETY: this function's contract: the function has the register, and both sets have its places.
            unsafe { register.write(base.add(register.place as usize), scalars[register.number as usize], mask) };
        }
    }
}

/// Registers with linear values whose rows are not written yet, behind an exit that all lanes have taken.
pub(crate) struct Deferred {
    /// An exit of the program's code, which is kept as long as the program.
    pub(super) exit: NonNull<Exit>,
    pub(super) frame: u32,
}

impl Warp {
    /// Writes the rows of registers whose values are only known as linear ones.
    pub(in crate::machine) fn write_deferred(&mut self) {
        let Some(Deferred { exit, frame }) = self.deferred.take() else { return };
        // SAFETY: the exit is kept as long as the program, and belongs to the function of the frame. Only a processor with vectors defers.
        unsafe { write_rows(&mut self.frames[frame as usize], exit.as_ref(), &self.scalars, u32::MAX) };
    }
}

/// The place of the code of a function among [`Native::loaded`].
fn place(function: u32, facts: [bool; 3]) -> usize {
    facts.into_iter().fold(function as usize, |place, fact| 2 * place + usize::from(fact))
}

/// The code of a function, if it can be generated.
fn load<'l>(
    loaded: &'l mut Vec<Option<Option<Box<Loaded>>>>,
    machine: &Machine<'_>,
    function: u32,
    variant: Variant,
) -> Option<&'l mut Loaded> {
    let place = place(function, [variant.whole, variant.expects, variant.journal]);
    if loaded.len() <= place {
        loaded.resize_with(place + 1, || None);
    }
    let code = loaded[place].get_or_insert_with(|| {
        let compiled = machine.program.generated.compiled(machine.program, function, variant)?;
        let sites = Sites::new(&compiled);
        Some(Box::new(Loaded { compiled, sites, block: u64::MAX, rows: None }))
    });
    code.as_deref_mut()
}
