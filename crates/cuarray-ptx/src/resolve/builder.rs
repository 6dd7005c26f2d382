//! The builder of a function: its registers, variables, constants and blocks.

use super::atomic_operation::Atomic;
use super::draft::{Access, Block, Constants, Draft, Next, Operand, Results, reads};
use super::in_place::Place;
use super::symbols::Symbols;
use crate::Error;
use crate::grammar::ast::{Function, Instruction, Prototype, Statement, Variable};
use crate::grammar::types::{Space, Type, Width};
use crate::machine::program::{self, Constant, Exec, HandOver, Location};
use crate::machine::undefined::Way;
use rustc_hash::{FxHashMap, FxHashSet};

/// A variable of a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Local {
    /// A variable in local memory, of the space `.local` or `.param`: its offset in the frame, its size, and the size of its
    /// elements.
    Memory { space: Space, offset: u32, size: u32, element: u32 },
    /// A parameter of a kernel.
    Parameter { offset: u32, size: u32 },
    /// A variable of the program that only this function names.
    Program(u32),
}

/// A scope: the declarations between braces.
#[derive(Default)]
struct Scope<'a> {
    registers: FxHashMap<&'a str, (u32, Type)>,
    /// `%r<5>`: the type and the count.
    families: FxHashMap<&'a str, (Type, u64)>,
    /// `.v2` registers: the registers of their components.
    vectors: FxHashMap<&'a str, Vec<(u32, Type)>>,
    variables: FxHashMap<&'a str, Local>,
    labels: FxHashMap<&'a str, usize>,
    targets: FxHashMap<&'a str, (Vec<&'a str>, u32)>,
    prototypes: FxHashMap<&'a str, &'a Prototype<'a>>,
    /// `.calltargets`: the first function of each list.
    call_targets: FxHashMap<&'a str, &'a str>,
}

/// A resolved function before register allocation.
pub(super) struct Built {
    pub blocks: Vec<Block>,
    pub widths: Vec<Width>,
    pub constants: Vec<(Constant, Width)>,
    /// The variables that the function declares and that outlive its calls. Their numbers follow those of the modules' variables
    /// until the encoder adds them to the program.
    pub variables: Vec<program::Variable>,
    /// The number of the first of them.
    pub first_variable: u32,
    pub local: u32,
    pub local_variables: u32,
    pub shared: Vec<u32>,
    /// Whether the code reads where the reserved shared memory is.
    pub reserves: bool,
    pub calls: Vec<u32>,
    pub calls_address: bool,
    pub ordered: bool,
    pub grid_wide: bool,
    /// Whether the code releases to threads of other launches, as a fence does.
    pub publishes: bool,
    /// Whether the code can acquire from threads of other launches: it reads by strong accesses or atomic operations.
    pub observes: bool,
    /// Whether the code waits for the prerequisite grids.
    pub waits: bool,
    /// Whether the code writes for the host, which may poll: by accesses or fences of the whole system.
    pub publishes_to_host: bool,
    /// The means by which threads of the launch synchronize through memory.
    pub hand_over: HandOver,
    /// Whether an instruction other than a plain store or an atomic operation on a single word may write global memory.
    pub writes_otherwise: bool,
    /// The places of these atomic operations.
    pub atomics: FxHashSet<Place>,
}

/// A function that is being resolved.
pub(super) struct Builder<'s, 'a> {
    pub symbols: &'s Symbols<'a>,
    pub module: usize,
    pub function: &'a Function<'a>,
    constants: Constants,
    scopes: Vec<Scope<'a>>,
    pub widths: Vec<Width>,
    blocks: Vec<Block>,
    /// The block that receives instructions.
    current: usize,
    pub location: Location,
    /// The outermost call, by the file and line of the code that was inlined there.
    inlined: FxHashMap<(u64, u64), (u32, u32)>,
    /// Whether the instruction that is resolved computes per lane; see [`Draft::per_lane`].
    pub per_lane: bool,
    /// The [`Draft::way`] of its drafts.
    pub way: Way,
    guard: Option<(u32, bool)>,
    /// The register of the carry flag.
    carry: Option<u32>,
    /// The register with the start of the frame's local memory.
    frame_base: Option<u32>,
    /// The sizes of the elements of [`Built::variables`] in bytes.
    elements: Vec<u32>,
    /// The atomic operations with one address and one value.
    atomics: Vec<Atomic>,
    built: Built,
}

impl<'s, 'a> Builder<'s, 'a> {
    pub(super) fn new(symbols: &'s Symbols<'a>, module: usize, function: &'a Function<'a>) -> Builder<'s, 'a> {
        let built = Built {
            blocks: Vec::new(),
            widths: Vec::new(),
            constants: Vec::new(),
            variables: Vec::new(),
            first_variable: symbols.variables.len() as u32,
            local: 0,
            local_variables: 0,
            shared: Vec::new(),
            reserves: false,
            calls: Vec::new(),
            calls_address: false,
            ordered: false,
            grid_wide: false,
            publishes: false,
            observes: false,
            publishes_to_host: false,
            waits: false,
            hand_over: HandOver::default(),
            writes_otherwise: false,
            atomics: FxHashSet::default(),
        };
        Builder {
            symbols,
            module,
            function,
            constants: Constants::default(),
            scopes: vec![Scope::default()],
            widths: Vec::new(),
            blocks: vec![Block::default()],
            current: 0,
            location: Location::default(),
            inlined: FxHashMap::default(),
            per_lane: false,
            way: Way::Uses,
            guard: None,
            carry: None,
            frame_base: None,
            elements: Vec::new(),
            atomics: Vec::new(),
            built,
        }
    }

    pub(super) fn wrong(&self, token: &str, message: &str) -> Error {
        Error::new(self.location.line, token, message)
    }

    pub(super) fn unsupported(&self, token: &str, message: &str) -> Error {
        Error::unsupported(self.location.line, token, message)
    }

    /// Resolves the statements of the function's body.
    pub(super) fn body(&mut self, statements: &'a [Statement<'a>]) -> Result<(), Error> {
        self.location.line = self.function.line;
        self.parameters()?;
        self.statements(statements)?;
        // Falling off the end of the code returns.
        self.location.line = self.function.line;
        self.leave_function()
    }

    /// Assigns offsets to parameters and results, as `symbols::describe` does.
    fn parameters(&mut self) -> Result<(), Error> {
        let mut place = 0_u64;
        let entry = self.function.entry;
        for variable in self.function.results.iter().chain(&self.function.parameters) {
            let align = if entry { variable.align } else { variable.align.max(8) };
            let offset = place.next_multiple_of(align);
            place = offset + if entry { variable.size() } else { variable.size().next_multiple_of(8) };
            let (offset, size) = (offset as u32, variable.size() as u32);
            let element = variable.ty.size() as u32;
            let local = match entry {
                true => Local::Parameter { offset, size },
                false => Local::Memory { space: Space::Param, offset, size, element },
            };
            if variable.space != Space::Param {
                // A parameter in a register is loaded when the function begins.
                let register = self.register(variable.ty.width());
                self.scopes[0].registers.insert(variable.name, (register, variable.ty));
                let is_result = self.function.results.iter().any(|result| result.name == variable.name);
                if !is_result {
                    self.load_local(register, variable.ty, offset);
                }
                continue;
            }
            self.scopes[0].variables.insert(variable.name, local);
        }
        if !entry {
            self.built.local = place.next_multiple_of(16) as u32;
        }
        Ok(())
    }

    fn statements(&mut self, statements: &'a [Statement<'a>]) -> Result<(), Error> {
        // Labels and tables are collected first, because they may be used before their declaration.
        for statement in statements {
            match statement {
                Statement::Label(name, line) => {
                    let block = self.blocks.len();
                    self.blocks.push(Block::default());
                    if self.scope().labels.insert(name, block).is_some() {
                        return Err(Error::new(*line, name, "the label is defined twice"));
                    }
                }
                Statement::BranchTargets { name, labels, line } => {
                    self.scope().targets.insert(name, (labels.clone(), *line));
                }
                Statement::CallTargets { name, function } => drop(self.scope().call_targets.insert(name, function)),
                Statement::Prototype(prototype) => drop(self.scope().prototypes.insert(prototype.name, prototype)),
                _ => {}
            }
        }
        for statement in statements {
            match statement {
                Statement::Block(statements) => {
                    self.scopes.push(Scope::default());
                    self.statements(statements)?;
                    self.scopes.pop();
                }
                Statement::Label(name, _) => {
                    let block = self.scope().labels[name];
                    self.go_on_in(block);
                }
                Statement::Registers { ty, vector, names, line } => self.declare(*ty, *vector, names, *line)?,
                Statement::Variable(variable) => self.variable(variable)?,
                Statement::Location { file, line, inlined_at } => {
                    self.location.file = *file as u32;
                    self.location.source_line = *line as u32;
                    self.location.inlined_at = self.outermost_call((*file, *line), *inlined_at);
                }
                Statement::BranchTargets { .. } | Statement::CallTargets { .. } | Statement::Prototype(_) => {}
                Statement::Instruction(instruction) => self.guarded(instruction)?,
            }
        }
        Ok(())
    }

    /// The call in the outermost function, if the code at a place was inlined at a call that may be in an inlined function too.
    fn outermost_call(&mut self, place: (u64, u64), inlined_at: Option<(u64, u64)>) -> (u32, u32) {
        let Some(call) = inlined_at else {
            self.inlined.remove(&place);
            return (0, 0);
        };
        let outermost = self.inlined.get(&call).copied().unwrap_or((call.0 as u32, call.1 as u32));
        self.inlined.insert(place, outermost);
        outermost
    }

    /// Ends the current block, and continues in `block`.
    fn go_on_in(&mut self, block: usize) {
        self.jump(block);
        self.current = block;
    }

    /// Adds an unconditional jump to a block; the encoder may omit it.
    fn jump(&mut self, block: usize) {
        let mut draft = self.draft(crate::machine::branching::branch);
        draft.next = Next::Jump { to: block, always: true };
        self.blocks[self.current].drafts.push(draft);
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    fn declare(&mut self, ty: Type, vector: u32, names: &[(&'a str, Option<u64>)], line: u32) -> Result<(), Error> {
        for (name, count) in names {
            let taken = match count {
                Some(count) => self.scope().families.insert(name, (ty, *count)).is_some(),
                None if vector > 1 => {
                    let registers = (0..vector).map(|_| (self.register(ty.width()), ty)).collect();
                    self.scope().vectors.insert(name, registers).is_some()
                }
                None => {
                    let register = self.register(ty.width());
                    self.scope().registers.insert(name, (register, ty)).is_some()
                }
            };
            if taken {
                return Err(Error::new(line, name, "the register is declared twice"));
            }
        }
        Ok(())
    }

    fn variable(&mut self, variable: &'a Variable<'a>) -> Result<(), Error> {
        let local = match variable.space {
            Space::Local | Space::Param | Space::Generic => {
                if !variable.initializer.is_empty() {
                    return Err(Error::new(variable.line, variable.name, "local memory cannot have an initializer"));
                }
                let offset = self.allocate(variable.size(), variable.align)?;
                if variable.space == Space::Local {
                    self.built.local_variables += variable.size() as u32;
                }
                let space = if variable.space == Space::Param { Space::Param } else { Space::Local };
                Local::Memory { space, offset, size: variable.size() as u32, element: variable.ty.size() as u32 }
            }
            Space::Shared | Space::Global | Space::Const => {
                self.built.variables.push(self.symbols.inside(self.module, variable)?);
                self.elements.push(variable.ty.size() as u32);
                Local::Program(self.built.first_variable + self.elements.len() as u32 - 1)
            }
        };
        self.scope().variables.insert(variable.name, local);
        Ok(())
    }

    /// Reserves local memory of the frame.
    pub(super) fn allocate(&mut self, size: u64, align: u64) -> Result<u32, Error> {
        let offset = u64::from(self.built.local).next_multiple_of(align.max(8));
        let end = offset + size.next_multiple_of(8);
        if end > 512 << 10 {
            return Err(self.wrong("", "the function needs more local memory than a thread can have (512 KiB)"));
        }
        self.built.local = end as u32;
        Ok(offset as u32)
    }

    fn guarded(&mut self, instruction: &'a Instruction<'a>) -> Result<(), Error> {
        self.location.line = instruction.line;
        if let Some((name, negated)) = instruction.guard {
            match self.find_register(name) {
                Some((register, Type::Pred)) => self.guard = Some((register, negated)),
                _ => return Err(self.wrong(name, "a predicate is expected")),
            }
        }
        let done = self.instruction(instruction);
        self.guard = None;
        done
    }

    pub(super) fn guard(&self) -> Option<(u32, bool)> {
        self.guard
    }

    /// Creates a register.
    pub(super) fn register(&mut self, width: Width) -> u32 {
        self.widths.push(width);
        self.widths.len() as u32 - 1
    }

    /// Returns the register of the carry flag.
    pub(super) fn carry(&mut self) -> u32 {
        match self.carry {
            Some(register) => register,
            None => {
                let register = self.register(Width::Predicate);
                self.carry = Some(register);
                register
            }
        }
    }

    /// Looks up a register and its declared type.
    pub(super) fn find_register(&mut self, name: &'a str) -> Option<(u32, Type)> {
        for index in (0..self.scopes.len()).rev() {
            if let Some(found) = self.scopes[index].registers.get(name) {
                return Some(*found);
            }
            let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            // The name of a family may itself end in a digit.
            for split in (1..=digits).map(|count| name.len() - count) {
                let Some((ty, count)) = self.scopes[index].families.get(&name[..split]).copied() else { continue };
                let number = &name[split..];
                let plain = number == "0" || !number.starts_with('0');
                if plain && number.parse::<u64>().is_ok_and(|number| number < count) {
                    let register = self.register(ty.width());
                    self.scopes[index].registers.insert(name, (register, ty));
                    return Some((register, ty));
                }
            }
        }
        None
    }

    /// Looks up a component of a vector register.
    pub(super) fn find_component(&self, name: &str, component: &str) -> Option<(u32, Type)> {
        let index = match component {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => return None,
        };
        self.find_vector(name)?.get(index).copied()
    }

    pub(super) fn find_vector(&self, name: &str) -> Option<&[(u32, Type)]> {
        self.scopes.iter().rev().find_map(|scope| scope.vectors.get(name)).map(Vec::as_slice)
    }

    pub(super) fn find_variable(&self, name: &str) -> Option<Local> {
        self.scopes.iter().rev().find_map(|scope| scope.variables.get(name)).copied()
    }

    /// The variable of the program with a number.
    pub(super) fn program_variable(&self, number: u32) -> &program::Variable {
        match number.checked_sub(self.built.first_variable) {
            Some(own) => &self.built.variables[own as usize],
            None => &self.symbols.variables[number as usize],
        }
    }

    /// The number and size of each variable in constant memory that the function may name.
    pub(super) fn constant_variables(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let all = self.symbols.variables.iter().chain(&self.built.variables);
        let numbered = all.enumerate().filter(|(_, variable)| variable.space == Space::Const);
        numbered.map(|(number, variable)| (number as u32, variable.size))
    }

    /// The size of the elements of a variable of the program in bytes.
    pub(super) fn element_size(&self, number: u32) -> u32 {
        match number.checked_sub(self.built.first_variable) {
            Some(own) => self.elements[own as usize],
            None => self.symbols.element(number),
        }
    }

    pub(super) fn find_label(&self, name: &str) -> Result<usize, Error> {
        let label = self.scopes.iter().rev().find_map(|scope| scope.labels.get(name)).copied();
        label.ok_or_else(|| self.wrong(name, "the label is not defined"))
    }

    pub(super) fn find_targets(&self, name: &str) -> Option<&Vec<&'a str>> {
        self.scopes.iter().rev().find_map(|scope| scope.targets.get(name)).map(|(labels, _)| labels)
    }

    fn find_prototype(&self, name: &str) -> Option<&'a Prototype<'a>> {
        self.scopes.iter().rev().find_map(|scope| scope.prototypes.get(name)).copied()
    }

    /// Looks up the signature of an indirect call: a prototype, a list of targets, or an array of functions.
    pub(super) fn find_signature(&self, name: &str) -> Option<(&'a [Variable<'a>], &'a [Variable<'a>])> {
        if let Some(prototype) = self.find_prototype(name) {
            return Some((&prototype.results, &prototype.parameters));
        }
        let target = self.scopes.iter().rev().find_map(|scope| scope.call_targets.get(name));
        let shape = match target {
            Some(function) => self.symbols.shape(self.module, function),
            None => self.symbols.first_target(self.module, name),
        };
        shape.map(|shape| (shape.results.as_slice(), shape.parameters.as_slice()))
    }

    pub(super) fn constant(&mut self, constant: Constant, width: Width) -> Operand {
        Operand::Constant(self.constants.index(constant, width))
    }

    /// Creates a draft without operands, under the guard of the instruction.
    pub(super) fn draft(&self, exec: Exec) -> Draft {
        Draft {
            exec,
            d: Operand::Nothing,
            a: Operand::Nothing,
            b: Operand::Nothing,
            c: Operand::Nothing,
            extra: Vec::new(),
            written: 0,
            imm: 0,
            guard: self.guard,
            next: Next::On,
            location: self.location,
            results: Results::Any,
            access: Access::None,
            per_lane: self.per_lane,
            exchange: false,
            signed: false,
            linear: None,
            arithmetic: None,
            update: None,
            way: self.way,
        }
    }

    pub(super) fn push(&mut self, draft: Draft) {
        let ends = draft.next != Next::On;
        self.blocks[self.current].drafts.push(draft);
        if ends {
            // The following instructions form a new block.
            let block = self.blocks.len();
            self.blocks.push(Block::default());
            let falls = match self.blocks[self.current].drafts.last() {
                Some(Draft { next: Next::Jump { always, .. }, .. }) => !always,
                Some(Draft { next: Next::End, guard, .. }) => guard.is_some(),
                Some(Draft { next: Next::Indexed(_), guard, .. }) => guard.is_some(),
                _ => true,
            };
            if falls {
                let mut jump = self.draft(crate::machine::branching::branch);
                jump.guard = None;
                jump.next = Next::Jump { to: block, always: true };
                self.blocks[self.current].drafts.push(jump);
            }
            self.current = block;
        }
    }

    /// Adds an atomic operation, whose place is set here.
    pub(super) fn push_atomic(&mut self, draft: Draft, atomic: Atomic) {
        let place = (self.current, self.blocks[self.current].drafts.len());
        self.atomics.push(Atomic { place, ..atomic });
        self.push(draft);
    }

    /// The instruction at a place.
    pub(super) fn draft_at(&mut self, (block, at): Place) -> &mut Draft {
        &mut self.blocks[block].drafts[at]
    }

    /// The registers that instructions of the function read.
    pub(super) fn read_registers(&self) -> FxHashSet<u32> {
        self.blocks.iter().flat_map(|block| block.drafts.iter().flat_map(reads)).collect()
    }

    /// Changes the last instruction of the current block.
    pub(super) fn change_last(&mut self, change: impl FnOnce(&mut Draft)) {
        if let Some(last) = self.blocks[self.current].drafts.last_mut() {
            change(last);
        }
    }

    /// Lets the last instruction write another register, if it writes this one always. Returns whether it does.
    pub(super) fn retarget(&mut self, from: Operand, to: Operand) -> bool {
        match self.blocks[self.current].drafts.last_mut() {
            Some(last) if self.guard.is_none() && last.guard.is_none() && last.d == from => {
                last.d = to;
                true
            }
            _ => false,
        }
    }

    /// Adds an instruction with up to three sources.
    pub(super) fn emit(&mut self, exec: Exec, d: Operand, sources: [Operand; 3]) {
        let [a, b, c] = sources;
        let draft = Draft { d, a, b, c, ..self.draft(exec) };
        self.push(draft);
    }

    pub(super) fn built(&mut self) -> &mut Built {
        &mut self.built
    }

    /// Returns the register with the start of the frame's local memory.
    pub(super) fn frame_base(&mut self) -> u32 {
        match self.frame_base {
            Some(register) => register,
            None => {
                let register = self.register(Width::W64);
                self.frame_base = Some(register);
                register
            }
        }
    }

    pub(super) fn finish(mut self) -> Built {
        let atomics = std::mem::take(&mut self.atomics);
        if !atomics.is_empty() {
            self.note_atomics(&atomics);
        }
        if let Some(register) = self.frame_base {
            let exec = crate::machine::memory::local_address::<u64>;
            let draft = Draft { d: Operand::Register(register), ..self.draft(exec) };
            self.blocks[0].drafts.insert(0, draft);
        }
        let moved = usize::from(self.frame_base.is_some());
        let place = |atomic: &Atomic| (atomic.place.0, atomic.place.1 + if atomic.place.0 == 0 { moved } else { 0 });
        let atomics = atomics.iter().map(place).collect();
        let local = self.built.local.next_multiple_of(16);
        Built { atomics, blocks: self.blocks, widths: self.widths, constants: self.constants.list, local, ..self.built }
    }
}
