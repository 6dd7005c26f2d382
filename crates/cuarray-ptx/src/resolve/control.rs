//! Branches, calls and barriers.
//!
//! PTX manual: [control flow](https://docs.nvidia.com/cuda/parallel-thread-execution/#control-flow-instructions),
//! [barriers and
//! fences](https://docs.nvidia.com/cuda/parallel-thread-execution/#parallel-synchronization-and-communication-instructions).

use super::builder::{Builder, Local};
use super::draft::{Draft, Next, Operand};
use super::operand::Modifiers;
use super::symbols::Symbol;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written, Variable};
use crate::grammar::types::{Space, Type};
use crate::machine::access_mode::Scope;
use crate::machine::branching::{self, Fence, proxies};
use crate::machine::cluster;
use crate::machine::dependent;
use crate::machine::program::Parameter;
use crate::machine::services::PROVIDED;

/// The effect of a fence on the order of threads; `None` for a fence that orders proxies. `scope` is the index of its scope among
/// `sys`, `gl` and `gpu`, if it has one of these.
fn fence_of(opcode: &str, scope: Option<usize>, words: &mut Modifiers<'_>) -> Option<Fence> {
    if words.rest().contains(&"proxy") {
        return None;
    }
    let scope = match scope {
        Some(0) => Scope::System,
        Some(_) => Scope::Device,
        None if words.take("cluster") => Scope::Cluster,
        None => Scope::Block,
    };
    let kind = words.one_of(&["acquire", "release", "sc"]);
    let total = opcode == "membar" || kind == Some(2);
    let initializations = words.take("mbarrier_init");
    let restricted = words.one_of(&["sync_restrict::shared::cta", "sync_restrict::shared::cluster"]).is_some();
    Some(Fence { acquires: kind != Some(1), releases: kind != Some(0), total, scope, initializations, restricted })
}

/// The code of `fence.proxy.async`, which orders accesses of threads and of bulk copies; 0 for other fences.
fn proxy_fence_of(words: &[&str]) -> i64 {
    if !words.contains(&"proxy") || !words.iter().any(|word| word.starts_with("async")) {
        return 0;
    }
    let global = words.contains(&"global");
    let shared = words.iter().any(|word| word.starts_with("shared"));
    let spaces = match (shared, global) {
        (true, false) => proxies::SHARED,
        (false, true) => proxies::GLOBAL,
        _ => proxies::SHARED | proxies::GLOBAL,
    };
    branching::PROXY_FENCE * i64::from(spaces)
}

impl<'a> Builder<'_, 'a> {
    /// `ret`: in a kernel, the end of the thread.
    pub(super) fn leave_function(&mut self) -> Result<(), Error> {
        if !self.function.entry {
            // Results in registers are stored to local memory.
            for (variable, place) in self.function.results.iter().zip(places(&self.function.results)) {
                if variable.space != Space::Param
                    && let Some((register, ty)) = self.find_register(variable.name)
                {
                    self.store_local(Operand::Register(register), ty, place.offset);
                }
            }
        }
        let exec = if self.function.entry { branching::exit } else { branching::finish };
        let draft = Draft { next: Next::End, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    pub(super) fn control(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        words.take("uni");
        let draft = match instruction.opcode {
            "bra" => self.direct_branch(instruction)?,
            "brx" => self.indexed_branch(instruction, words)?,
            "call" => return self.call(instruction),
            "ret" => return self.leave_function(),
            "exit" => Draft { next: Next::End, ..self.draft(branching::exit) },
            "trap" => Draft { next: Next::End, ..self.draft(branching::trap) },
            "brkpt" => Draft { next: Next::End, ..self.draft(branching::breakpoint) },
            "nanosleep" => {
                words.ty();
                self.count(instruction, &[1])?;
                let a = self.source(&instruction.operands[0], Type::U32)?;
                Draft { a, ..self.draft(branching::sleep) }
            }
            "griddepcontrol" => {
                let action = words.one_of(&["wait", "launch_dependents"]);
                let waits = self.needed(instruction, action)? == 0;
                self.count(instruction, &[0])?;
                self.built().waits |= waits;
                self.draft(if waits { dependent::wait } else { branching::nothing })
            }
            "membar" | "fence" => self.fence(instruction.opcode, words),
            _ => {
                words.drop_hints(&[""]);
                self.draft(branching::nothing)
            }
        };
        self.push(draft);
        Ok(())
    }

    /// `bra`.
    fn direct_branch(&mut self, instruction: &'a Instruction<'a>) -> Result<Draft, Error> {
        self.count(instruction, &[1])?;
        let Written::Name(label) = &instruction.operands[0] else {
            return Err(self.wrong("bra", "the target is not a label"));
        };
        let to = self.find_label(label)?;
        Ok(match self.guard() {
            Some((predicate, negated)) => Draft {
                a: Operand::Register(predicate),
                b: Operand::Number(u32::from(negated)),
                guard: None,
                next: Next::Jump { to, always: false },
                ..self.draft(branching::branch_if)
            },
            None => Draft { next: Next::Jump { to, always: true }, ..self.draft(branching::branch) },
        })
    }

    /// `brx.idx`.
    fn indexed_branch(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<Draft, Error> {
        words.take("idx");
        self.count(instruction, &[2])?;
        let a = self.source(&instruction.operands[0], Type::U32)?;
        let Written::Name(list) = &instruction.operands[1] else {
            return Err(self.wrong("brx", "the targets are not a list"));
        };
        let labels = self.find_targets(list).cloned();
        let labels = labels.ok_or_else(|| self.wrong(list, "the list of targets is not declared"))?;
        let blocks = labels.iter().map(|label| self.find_label(label)).collect::<Result<Vec<_>, _>>()?;
        let imm = blocks.len() as i64;
        Ok(Draft { a, imm, next: Next::Indexed(blocks), ..self.draft(branching::branch_indexed) })
    }

    /// `membar` and `fence`.
    fn fence(&mut self, opcode: &str, words: &mut Modifiers<'a>) -> Draft {
        let mut imm = proxy_fence_of(words.rest());
        let scope = words.one_of(&["sys", "gl", "gpu"]);
        self.built().publishes |= scope.is_some();
        self.built().publishes_to_host |= scope == Some(0);
        if let Some(fence) = fence_of(opcode, scope, words) {
            imm = branching::fence_code(fence);
            self.built().hand_over.fences = true;
        }
        words.drop_hints(&[""]);
        Draft { imm, ..self.draft(branching::fence) }
    }

    /// Returns the offset of an argument in local memory: the offset of its variable, or of a new variable that
    /// receives the value.
    fn argument(&mut self, operand: &'a Written<'a>, wanted: Parameter, ty: Option<Type>) -> Result<u32, Error> {
        if let Written::Name(name) = operand
            && let Some(Local::Memory { offset, size, .. }) = self.find_variable(name)
        {
            if size < wanted.size {
                return Err(self.wrong(name, "the argument is smaller than the parameter"));
            }
            return Ok(offset);
        }
        let size = match wanted.size {
            1 => Type::B8,
            2 => Type::B16,
            4 => Type::B32,
            8 => Type::B64,
            _ => return Err(self.wrong("call", "the argument is not a variable of the function")),
        };
        let ty = ty.unwrap_or(size);
        let place = self.allocate(u64::from(wanted.size), 8)?;
        let value = self.source(operand, ty)?;
        self.store_local(value, ty, place);
        Ok(place)
    }

    /// Returns the offset of a result: the offset of its variable, or of a new variable that is loaded into a
    /// register afterwards.
    fn result(&mut self, operand: &'a Written<'a>, wanted: Parameter) -> Result<(u32, Option<(u32, Type)>), Error> {
        if let Written::Name(name) = operand {
            if let Some(Local::Memory { offset, size, .. }) = self.find_variable(name) {
                if size < wanted.size {
                    return Err(self.wrong(name, "the variable is smaller than the result"));
                }
                return Ok((offset, None));
            }
            if let Some(register) = self.find_register(name) {
                return Ok((self.allocate(u64::from(wanted.size), 8)?, Some(register)));
            }
        }
        if *operand == Written::Nothing {
            return Ok((self.allocate(u64::from(wanted.size), 8)?, None));
        }
        Err(self.wrong("call", "the result is not a variable of the function"))
    }

    /// The offsets of results and parameters in a function, and the types of the parameters.
    fn shape_of_function(&self, name: &str, target: Option<Symbol>) -> Result<Shape, Error> {
        let Some(Symbol::Function(number)) = target else {
            return Err(self.wrong(name, "the function is not declared"));
        };
        let definition = &self.symbols.definitions[number as usize];
        if definition.body.is_none() && !self.symbols.relocatable {
            return Err(self.undefined(name));
        }
        let shape = definition.shape;
        if shape.entry {
            return Err(self.wrong(name, "a kernel cannot be called"));
        }
        Ok(shape_of(&shape.results, &shape.parameters))
    }

    /// As [`Self::shape_of_function`], for a function that is called by its address.
    fn shape_of_prototype(&self, name: &str, prototype: Option<&'a Written<'a>>) -> Result<Shape, Error> {
        let Some(Written::Name(prototype)) = prototype else {
            return Err(self.wrong(name, "a call of an address needs a prototype"));
        };
        let shape = self.find_signature(prototype);
        let (results, parameters) = shape.ok_or_else(|| self.wrong(prototype, "the prototype is not declared"))?;
        Ok(shape_of(results, parameters))
    }

    /// `call (results), function, (arguments), prototype;`
    fn call(&mut self, instruction: &'a Instruction<'a>) -> Result<(), Error> {
        let mut rest = instruction.operands.as_slice();
        let mut list = || match rest {
            [Written::List(list), others @ ..] => {
                rest = others;
                list.as_slice()
            }
            _ => &[],
        };
        let results: &'a [Written<'a>] = list();
        let [Written::Name(name), others @ ..] = rest else {
            return Err(self.wrong("call", "the function has no name"));
        };
        rest = others;
        let arguments: &'a [Written<'a>] = match rest {
            [Written::List(list), others @ ..] => {
                rest = others;
                list
            }
            _ => &[],
        };
        let prototype = rest.first();
        let (address, target) = match self.find_register(name) {
            Some((register, _)) => (Some(Operand::Register(register)), None),
            None => (None, self.symbols.lookup(self.module, name)),
        };
        if let (None, Some(Symbol::Provided(index))) = (address, target) {
            return self.call_provided(index, results, arguments);
        }
        let (wanted_results, wanted_arguments, types) = match address {
            Some(_) => self.shape_of_prototype(name, prototype)?,
            None => self.shape_of_function(name, target)?,
        };
        if arguments.len() != wanted_arguments.len() {
            return Err(self.wrong(name, "the call and the function differ in the number of arguments"));
        }
        // A function may be declared with a result that its definition lacks; the result is then never written.
        let mut extra = vec![Operand::Number(arguments.len() as u32)];
        for ((operand, wanted), ty) in arguments.iter().zip(&wanted_arguments).zip(&types) {
            let place = self.argument(operand, *wanted, *ty)?;
            extra.extend([place, wanted.offset, wanted.size.div_ceil(8)].map(Operand::Number));
        }
        extra.push(Operand::Number(results.len().min(wanted_results.len()) as u32));
        let mut reads = Vec::new();
        for (operand, wanted) in results.iter().zip(&wanted_results) {
            let (place, register) = self.result(operand, *wanted)?;
            extra.extend([wanted.offset, place, wanted.size.div_ceil(8)].map(Operand::Number));
            reads.extend(register.map(|(register, ty)| (register, ty, place)));
        }
        let draft = match (address, target) {
            (Some(a), _) => {
                self.built().calls_address = true;
                let shape = crate::machine::program::shape(&wanted_results, &wanted_arguments);
                Draft { a, extra, imm: shape as i64, ..self.draft(branching::call_address) }
            }
            (None, Some(Symbol::Function(number))) => {
                self.built().calls.push(number);
                Draft { extra, imm: number.into(), ..self.draft(branching::call) }
            }
            _ => return self.refuse(instruction),
        };
        self.push(draft);
        for (register, ty, place) in reads {
            self.load_local(register, ty, place);
        }
        Ok(())
    }

    /// Resolves a call of a provided function.
    fn call_provided(
        &mut self,
        index: usize,
        results: &'a [Written<'a>],
        arguments: &'a [Written<'a>],
    ) -> Result<(), Error> {
        let provided = &PROVIDED[index];
        if arguments.len() != provided.parameters.len() || results.len() > provided.results.len() {
            return Err(
                self.wrong(provided.name, "the call and the function differ in the number of arguments or results")
            );
        }
        let built = self.built();
        built.ordered |= provided.ordered;
        built.grid_wide |= provided.grid_wide;
        let mut extra = Vec::new();
        for (operand, size) in arguments.iter().zip(provided.parameters) {
            let place = self.argument(operand, Parameter { offset: 0, size: *size }, None)?;
            extra.push(Operand::Number(place));
        }
        let mut read = None;
        for (index, size) in provided.results.iter().enumerate() {
            let wanted = Parameter { offset: 0, size: *size };
            let (place, register) = self.result(results.get(index).unwrap_or(&Written::Nothing), wanted)?;
            extra.push(Operand::Number(place));
            read = register.map(|(register, ty)| (register, ty, place));
        }
        let draft = Draft { extra, ..self.draft(provided.exec) };
        self.push(draft);
        if let Some((register, ty, place)) = read {
            self.load_local(register, ty, place);
        }
        Ok(())
    }

    /// Resolves `bar`, `barrier` and `bar.warp`.
    pub(super) fn barrier(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let operands = &instruction.operands;
        words.take("cta");
        let aligned = words.take("aligned") || instruction.opcode == "bar";
        words.take("noncta");
        let form = if aligned { branching::ALIGNED } else { 0 };
        if words.take("cluster") {
            let waits = words.take("wait");
            if waits == words.take("arrive") {
                return self.refuse(instruction);
            }
            words.take(if waits { "acquire" } else { "release" });
            let relaxed = !waits && words.take("relaxed");
            self.count(instruction, &[0])?;
            self.built().hand_over.strong |= relaxed;
            let exec = if waits { cluster::wait } else { cluster::arrive };
            let draft = Draft { imm: i64::from(relaxed) | form, ..self.draft(exec) };
            self.push(draft);
            return Ok(());
        }
        if words.take("warp") {
            words.take("sync");
            self.count(instruction, &[1])?;
            let a = self.source(&operands[0], Type::B32)?;
            let draft = Draft { a, ..self.draft(crate::machine::exchange::warp_barrier) };
            self.push(draft);
            return Ok(());
        }
        let kind = words.one_of(&["sync", "arrive", "red"]);
        let kind = self.needed(instruction, kind)?;
        if kind < 2 {
            self.count(instruction, &[1, 2])?;
            let a = self.source(&operands[0], Type::U32)?;
            let b = operands.get(1).map(|count| self.source(count, Type::U32)).transpose()?.unwrap_or(Operand::Nothing);
            if kind == 1 && b == Operand::Nothing {
                return Err(self.wrong(instruction.opcode, "an arrival must state the number of threads"));
            }
            let draft = Draft { a, b, imm: kind as i64 | form, ..self.draft(branching::barrier) };
            self.push(draft);
            return Ok(());
        }
        let reduction = words.one_of(&["popc", "and", "or"]);
        let reduction = self.needed(instruction, reduction)?;
        let ty = words.ty();
        self.needed(instruction, ty)?;
        self.count(instruction, &[3, 4])?;
        let counts = operands.len() == 4;
        let a = self.source(&operands[1], Type::U32)?;
        let b = if counts { self.source(&operands[2], Type::U32)? } else { Operand::Nothing };
        let c = self.predicate(&operands[2 + usize::from(counts)])?;
        let d = match (&operands[0], reduction) {
            (target, 0) => self.target(target, Type::U32)?,
            (Written::Name(name), _) => self.predicate_target(name)?,
            _ => return Err(self.wrong(instruction.opcode, "the target is not a predicate")),
        };
        let draft = Draft { d, a, b, c, imm: (2 + reduction as i64) | form, ..self.draft(branching::barrier) };
        self.push(draft);
        Ok(())
    }
}

/// The offsets of results or parameters in local memory.
fn places(variables: &[Variable<'_>]) -> Vec<Parameter> {
    let mut end = 0;
    lay(variables, &mut end)
}

fn lay(variables: &[Variable<'_>], end: &mut u64) -> Vec<Parameter> {
    let place = |variable: &Variable<'_>| {
        let offset = end.next_multiple_of(variable.align.max(8));
        *end = offset + variable.size().next_multiple_of(8);
        Parameter { offset: offset as u32, size: variable.size() as u32 }
    };
    variables.iter().map(place).collect()
}

/// The offsets of results and of parameters, and the types of parameters that are registers.
type Shape = (Vec<Parameter>, Vec<Parameter>, Vec<Option<Type>>);

fn shape_of(results: &[Variable<'_>], parameters: &[Variable<'_>]) -> Shape {
    let mut end = 0;
    let results = lay(results, &mut end);
    let types = parameters.iter().map(|parameter| (parameter.elements == 1).then_some(parameter.ty)).collect();
    (results, lay(parameters, &mut end), types)
}
