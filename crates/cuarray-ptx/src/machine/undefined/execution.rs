//! The loop that follows undefined values: each instruction is executed on both sets of registers.

use super::registers::{Register, Twin, Way};
use crate::grammar::types::Width;
use crate::machine::misuse::{Origin, Used};
use crate::machine::program::{CONSTANT, Exec, Instruction, UNGUARDED};
use crate::machine::{Flow, Machine};
use crate::races::span::bits;
use rustc_hash::FxHashMap;

/// The undefined values among the operands of an instruction.
struct Sources {
    /// The lanes with an undefined value.
    lanes: u32,
    /// In each lane, the pieces of 16 bits with undefined bits.
    pieces: [u64; 32],
    origin: Option<Origin>,
    /// Whether an operand is a predicate.
    has_predicate: bool,
}

impl<'p> Machine<'p> {
    /// The second set of registers of the current frame.
    pub(super) fn twin(&mut self) -> *mut u8 {
        let frame = &mut self.warp.frames[self.frame as usize];
        let twin = frame.twin.get_or_insert_with(|| {
            // Until now, no value in the frame was undefined.
            Box::new(Twin { registers: frame.registers.clone(), origins: FxHashMap::default() })
        });
        twin.registers.as_mut_ptr().cast()
    }

    fn origins(&mut self) -> Option<&mut FxHashMap<u32, Origin>> {
        self.warp.frames[self.frame as usize].twin.as_mut().map(|twin| &mut twin.origins)
    }

    /// The source of the undefined value in a register.
    pub(super) fn origin_of(&mut self, place: u32) -> Option<Origin> {
        self.warp.frames[self.frame as usize].twin.as_ref()?.origin_of(place)
    }

    /// Sets the source of the undefined value in a register.
    pub(super) fn set_origin(&mut self, place: u32, origin: Origin) {
        if let Some(origins) = self.origins() {
            origins.insert(place, origin);
        }
    }

    /// Whether the warp has undefined values in registers. Drops second sets of registers that have become equal to the first.
    #[cold]
    pub(in crate::machine) fn has_undefined(&mut self) -> bool {
        for frame in &mut self.warp.frames {
            if frame.twin.as_ref().is_some_and(|twin| twin.registers == frame.registers) {
                frame.twin = None;
            }
        }
        let any = self.warp.frames.iter().any(|frame| frame.twin.is_some());
        if let Some(undefined) = self.undefined.as_mut() {
            undefined.follows = any;
        }
        any
    }

    /// Executes the current fragment as [`Machine::interpret`] does, and follows undefined values.
    #[cold]
    pub(in crate::machine) fn follow(&mut self) {
        let program: &'p _ = self.program;
        let code = if self.warp.plain { program.generated.plain(program, self.keeps_shapes()) } else { &program.code };
        loop {
            if self.pc >= self.limit && !self.meet() {
                return;
            }
            let Some(instruction) = code.get(self.pc as usize) else { return };
            self.pc += 1;
            self.executed += 1;
            // SAFETY: the instruction belongs to the running program, and the frame to its function.
            if unsafe { self.execute_twice(instruction) } == Flow::Stop {
                return;
            }
        }
    }

    /// # Safety
    /// As for [`Exec`].
    unsafe fn execute_twice(&mut self, instruction: &Instruction) -> Flow {
        let (program, pc) = (self.program, self.pc as usize - 1);
        let (way, twin) = (program.operands_of.way(pc), self.twin());
        let repeats = matches!(way, Way::Computes | Way::Compares);
        let (mut masks, mut decided_by) = ([self.active; 2], None);
        if instruction.guard < UNGUARDED {
            let (place, negated) = (instruction.guard >> 1, (instruction.guard & 1).wrapping_neg());
            // SAFETY: a guard is a predicate of the frame.
            let held = [self.bases[0], twin].map(|base| unsafe { base.add(place as usize).cast::<u32>().read() });
            masks = held.map(|held| self.active & (held ^ negated));
            if masks[0] != masks[1] {
                decided_by = self.origin_of(place);
                if !repeats {
                    let guard = Register::new(place, Width::Predicate, false);
                    // SAFETY: this function's contract.
                    unsafe { self.use_register(Used::Guard, guard, masks[0] ^ masks[1]) };
                    masks[1] = masks[0];
                }
            }
            if masks == [0; 2] {
                return Flow::Next;
            }
        }
        (self.mask, self.write) = (masks[0], masks[0] | self.warp.dead);
        self.lanes += u64::from(masks[0].count_ones());
        match way {
            // SAFETY: this function's contract.
            Way::Computes | Way::Compares => unsafe { self.repeat(instruction, way, masks, decided_by) },
            Way::Accesses => {
                if instruction.a & CONSTANT == 0
                    && let Some(address) = program.operands_of.read(pc).first()
                {
                    // SAFETY: the first register is that of the address.
                    unsafe { self.use_register(Used::Address, *address, self.mask) };
                }
                // SAFETY: this function's contract.
                unsafe { (instruction.exec)(self, instruction) }
            }
            Way::Branches | Way::Uses | Way::Ends => {
                let used = if way == Way::Branches { Used::Branch } else { Used::Operand };
                for register in program.operands_of.read(pc) {
                    // SAFETY: this function's contract.
                    unsafe { self.use_register(used, *register, self.mask) };
                }
                // SAFETY: this function's contract.
                let flow = unsafe { (instruction.exec)(self, instruction) };
                if flow == Flow::Next {
                    for register in program.operands_of.written(pc) {
                        // SAFETY: this function's contract. Instructions that change the frame write no register.
                        unsafe { self.copy_lanes(*register, self.mask, twin) };
                    }
                }
                flow
            }
        }
    }

    /// Executes an instruction on both sets of registers.
    ///
    /// # Safety
    /// As for [`Exec`]; the instruction depends on its registers only.
    unsafe fn repeat(
        &mut self,
        instruction: &Instruction,
        way: Way,
        mut masks: [u32; 2],
        decided_by: Option<Origin>,
    ) -> Flow {
        let (program, pc) = (self.program, self.pc as usize - 1);
        let (read, written) = (program.operands_of.read(pc), program.operands_of.written(pc));
        // SAFETY: this function's contract.
        unsafe {
            let sources = self.sources(read, masks[0] | masks[1]);
            if masks[0] != 0 && (instruction.exec)(self, instruction) == Flow::Stop {
                return Flow::Stop;
            }
            // Lanes may have parted, to execute the instruction later.
            masks[1] &= self.active;
            self.execute_on_twin(instruction.exec, instruction, masks[1]);
            if way == Way::Compares && sources.lanes != 0 && !sources.has_predicate {
                written.iter().for_each(|register| self.differ(*register, &sources, masks[0] & masks[1]));
            }
            let met = self.undefined.as_mut().and_then(|undefined| undefined.met.take());
            if let Some(origin) = sources.origin.or(met).or(decided_by) {
                written.iter().for_each(|register| self.set_origin(register.place(), origin));
            }
        }
        Flow::Next
    }

    /// Executes an instruction on the second set of registers.
    ///
    /// # Safety
    /// As for [`Exec`]; the instruction depends on its registers only.
    pub(in crate::machine) unsafe fn execute_on_twin(&mut self, exec: Exec, instruction: &Instruction, mask: u32) {
        if mask == 0 {
            return;
        }
        let twin = self.twin();
        let own = std::mem::replace(&mut self.bases[0], twin);
        let (own_mask, own_write) = (self.mask, self.write);
        (self.mask, self.write, self.repeats) = (mask, mask | self.warp.dead, true);
        // SAFETY: this function's contract; the second set has the places of the first.
        unsafe { exec(self, instruction) };
        (self.mask, self.write, self.repeats, self.bases[0]) = (own_mask, own_write, false, own);
    }

    /// Ends an instruction that has met the first undefined value: executes it on the second set of registers, which the usual
    /// loop does not do, and leaves this loop.
    ///
    /// # Safety
    /// As for [`Exec`]; the instruction depends on its registers only.
    pub(in crate::machine) unsafe fn end_first(&mut self, exec: Exec, instruction: &Instruction) -> Flow {
        if self.repeats || self.undefined.as_ref().is_none_or(|undefined| undefined.follows) {
            return Flow::Next;
        }
        let program = self.program;
        // SAFETY: this function's contract.
        unsafe { self.execute_on_twin(exec, instruction, self.mask) };
        if let Some(origin) = self.undefined.as_mut().and_then(|undefined| undefined.met.take()) {
            let written = program.operands_of.written(self.pc as usize - 1);
            written.iter().for_each(|register| self.set_origin(register.place(), origin));
        }
        Flow::Stop
    }

    /// The undefined values of registers in some lanes.
    unsafe fn sources(&mut self, registers: &[Register], mask: u32) -> Sources {
        let mut sources = Sources { lanes: 0, pieces: [0; 32], origin: None, has_predicate: false };
        for register in registers {
            sources.has_predicate |= register.width() == Width::Predicate;
            // SAFETY: this function's contract.
            let differences = unsafe { self.differences(*register) };
            let Some(differences) = differences else { continue };
            let mut any = false;
            for lane in bits(mask).map(|lane| lane as usize).filter(|lane| differences[*lane] != 0) {
                any = true;
                sources.lanes |= 1 << lane;
                let undefined = |piece: &u32| differences[lane] >> piece & 0xffff != 0;
                let pieces = [0, 16, 32, 48].iter().filter(|piece| undefined(piece));
                sources.pieces[lane] |= pieces.fold(0, |all, piece| all | 0xffff << piece);
            }
            if any {
                sources.origin = sources.origin.or_else(|| self.origin_of(register.place()));
            }
        }
        sources
    }

    /// The bits of each lane in which the sets of registers differ.
    ///
    /// # Safety
    /// The register belongs to the running instruction.
    pub(super) unsafe fn differences(&mut self, register: Register) -> Option<[u64; 32]> {
        self.warp.frames[self.frame as usize].twin.as_ref()?;
        let (own, twin, place) = (self.bases[0], self.twin(), register.place());
        // SAFETY: this function's contract: both sets have the register. A head is that of its row.
        unsafe {
            if register.has_head() && !self.warp.plain {
                let wide = register.width() == Width::W64;
                self.complete_register(place, wide);
                self.bases[0] = twin;
                self.complete_register(place, wide);
                self.bases[0] = own;
            }
            let (own, twin) = (own.add(place as usize), twin.add(place as usize));
            let bytes = match register.width() {
                Width::Predicate => 4,
                Width::W32 => 128,
                Width::W64 => 256,
                Width::W128 => 512,
            };
            // Most registers have no undefined bit.
            if std::slice::from_raw_parts(own, bytes) == std::slice::from_raw_parts(twin, bytes) {
                return None;
            }
            let rows64 = |own: *const u8, twin: *const u8| {
                let (a, b) = (own.cast::<[u64; 32]>().read(), twin.cast::<[u64; 32]>().read());
                std::array::from_fn::<u64, 32, _>(|lane| a[lane] ^ b[lane])
            };
            let differences = match register.width() {
                Width::Predicate => {
                    let differ = own.cast::<u32>().read() ^ twin.cast::<u32>().read();
                    std::array::from_fn(|lane| u64::from(differ >> lane & 1))
                }
                Width::W32 => {
                    let (a, b) = (own.cast::<[u32; 32]>().read(), twin.cast::<[u32; 32]>().read());
                    std::array::from_fn(|lane| u64::from(a[lane] ^ b[lane]))
                }
                Width::W64 => rows64(own, twin),
                Width::W128 => {
                    let (low, high) = (rows64(own, twin), rows64(own.add(256), twin.add(256)));
                    std::array::from_fn(|lane| low[lane] | high[lane])
                }
            };
            Some(differences)
        }
    }

    /// Makes the results of a comparison undefined where a compared value is.
    ///
    /// # Safety
    /// The register belongs to the running instruction.
    unsafe fn differ(&mut self, register: Register, sources: &Sources, mask: u32) {
        let (own, twin, place) = (self.bases[0], self.twin(), register.place() as usize);
        // SAFETY: this function's contract: both sets have the register.
        unsafe {
            let (own, twin) = (own.add(place), twin.add(place));
            match register.width() {
                Width::Predicate => {
                    let (holds, lanes) = (own.cast::<u32>().read(), sources.lanes & mask);
                    let other = twin.cast::<u32>();
                    other.write(other.read() & !lanes | !holds & lanes);
                }
                Width::W32 => {
                    for lane in bits(sources.lanes & mask).map(|lane| lane as usize) {
                        let value = own.cast::<u32>().add(lane).read();
                        twin.cast::<u32>().add(lane).write(value ^ sources.pieces[lane] as u32);
                    }
                }
                Width::W64 | Width::W128 => {
                    for lane in bits(sources.lanes & mask).map(|lane| lane as usize) {
                        let value = own.cast::<u64>().add(lane).read();
                        twin.cast::<u64>().add(lane).write(value ^ sources.pieces[lane]);
                    }
                }
            }
        }
    }

    /// Records a use of a register where it is undefined. It counts as defined from then on.
    ///
    /// # Safety
    /// The register belongs to the running instruction.
    unsafe fn use_register(&mut self, used: Used, register: Register, mask: u32) {
        // SAFETY: this function's contract.
        unsafe {
            let Some(differences) = self.differences(register) else { return };
            let lanes = bits(mask).filter(|lane| differences[*lane as usize] != 0);
            let lanes = lanes.fold(0, |lanes, lane| lanes | 1_u32 << lane);
            if lanes == 0 {
                return;
            }
            if let Some(origin) = self.origin_of(register.place()) {
                self.uses_undefined(used, Machine::first(lanes), origin);
            }
            let twin = self.twin();
            self.copy_lanes(register, lanes, twin);
        }
    }

    /// Copies lanes of a register to the second set.
    ///
    /// # Safety
    /// Both sets have the register.
    unsafe fn copy_lanes(&mut self, register: Register, mask: u32, twin: *mut u8) {
        let place = register.place() as usize;
        // SAFETY: this function's contract.
        unsafe {
            let (own, twin) = (self.bases[0].add(place), twin.add(place));
            let row = |own: *const u8, twin: *mut u8, size: usize| {
                for lane in bits(mask).map(|lane| lane as usize) {
                    own.add(lane * size).copy_to_nonoverlapping(twin.add(lane * size), size);
                }
            };
            match register.width() {
                Width::Predicate => {
                    let (own, other) = (own.cast::<u32>().read(), twin.cast::<u32>());
                    other.write(other.read() & !mask | own & mask);
                }
                Width::W32 => row(own, twin, 4),
                Width::W64 => row(own, twin, 8),
                Width::W128 => {
                    row(own, twin, 8);
                    row(own.add(256), twin.add(256), 8);
                }
            }
        }
    }
}
