//! The symbols of modules, and their visibility.

use super::sampler;
use crate::Error;
use crate::grammar::ast::{Function, Linkage, Module, Value, Variable as Declared};
use crate::grammar::types::Space;
use crate::machine::device_runtime::ALLOCATE;
use crate::machine::program::{self, Constant, Parameter, Program, RESERVED_SHARED, Variable};
use crate::machine::services::PROVIDED;
use rustc_hash::FxHashMap;

/// The meaning of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Symbol {
    /// A variable, by its number.
    Variable(u32),
    Function(u32),
    /// A provided function.
    Provided(usize),
}

/// A function of the program.
pub(super) struct Definition<'a> {
    /// The module and the text of the definition; `None` without a definition.
    pub body: Option<(usize, &'a Function<'a>)>,
    /// A declaration with the function's signature.
    pub shape: &'a Function<'a>,
}

/// The symbols of all linked modules.
pub(super) struct Symbols<'a> {
    /// The private names of each module.
    private: Vec<FxHashMap<&'a str, Symbol>>,
    visible: FxHashMap<&'a str, Symbol>,
    pub definitions: Vec<Definition<'a>>,
    pub variables: Vec<Variable>,
    /// The module and the declaration of each variable.
    declared: Vec<(usize, &'a Declared<'a>)>,
    /// Whether other modules are linked later, which define extern names.
    pub relocatable: bool,
    /// The version of each module, and its target.
    headers: Vec<((u32, u32), &'a str)>,
}

impl<'a> Symbols<'a> {
    pub(super) fn collect(modules: &'a [Module<'a>], relocatable: bool) -> Result<Symbols<'a>, Error> {
        let mut symbols = Symbols {
            private: vec![FxHashMap::default(); modules.len()],
            visible: FxHashMap::default(),
            definitions: Vec::new(),
            variables: Vec::new(),
            declared: Vec::new(),
            relocatable,
            headers: modules.iter().map(|module| (module.version, *module.target.first().unwrap_or(&""))).collect(),
        };
        for (index, module) in modules.iter().enumerate() {
            for variable in &module.variables {
                symbols.add_variable(index, variable)?;
            }
            for function in &module.functions {
                symbols.add_function(index, function)?;
            }
        }
        for (index, module) in modules.iter().enumerate() {
            for (alias, function, line) in &module.aliases {
                symbols.add_alias(index, alias, function, *line)?;
            }
            for variable in module.variables.iter().filter(|variable| variable.linkage == Linkage::Extern) {
                if symbols.lookup(index, variable.name).is_none() {
                    let message = "no module defines the variable";
                    return Err(Error::undefined(variable.line, variable.name, message).in_module(module.name));
                }
            }
        }
        Ok(symbols)
    }

    /// The version and the target of a module.
    pub(super) fn header(&self, module: usize) -> ((u32, u32), &'a str) {
        self.headers[module]
    }

    /// Looks up a name in a module.
    pub(super) fn lookup(&self, module: usize, name: &str) -> Option<Symbol> {
        self.private[module].get(name).or_else(|| self.visible.get(name)).copied()
    }

    /// The size of the elements of a variable in bytes.
    pub(super) fn element(&self, number: u32) -> u32 {
        self.declared[number as usize].1.ty.size() as u32
    }

    fn add_variable(&mut self, module: usize, variable: &'a Declared<'a>) -> Result<(), Error> {
        if variable.linkage == Linkage::Extern && variable.space != Space::Shared && !self.relocatable {
            return Ok(());
        }
        let number = self.variables.len() as u32;
        if variable.linkage == Linkage::Private || variable.linkage == Linkage::Extern {
            let before = self.private[module].insert(variable.name, Symbol::Variable(number));
            if variable.linkage == Linkage::Private && before.is_some() {
                return Err(Error::new(variable.line, variable.name, "the variable is defined twice"));
            }
        } else if let Some(Symbol::Variable(other)) = self.visible.get(variable.name) {
            let (_, first) = self.declared[*other as usize];
            let other = &mut self.variables[*other as usize];
            match (first.linkage, variable.linkage) {
                (Linkage::Common | Linkage::Weak, Linkage::Common | Linkage::Weak) => {
                    other.size = other.size.max(variable.size());
                    return Ok(());
                }
                (_, Linkage::Common | Linkage::Weak) => return Ok(()),
                (Linkage::Common | Linkage::Weak, _) => {
                    self.visible.insert(variable.name, Symbol::Variable(number));
                }
                _ => return Err(Error::new(variable.line, variable.name, "the variable is defined twice")),
            }
        } else {
            self.visible.insert(variable.name, Symbol::Variable(number));
        }
        self.push(module, variable)
    }

    fn push(&mut self, module: usize, variable: &'a Declared<'a>) -> Result<(), Error> {
        self.variables.push(without_contents(variable)?);
        self.declared.push((module, variable));
        Ok(())
    }

    /// Describes a variable that a function of a module declares, and that outlives its calls.
    pub(super) fn inside(&self, module: usize, declared: &Declared<'_>) -> Result<Variable, Error> {
        let mut variable = without_contents(declared)?;
        self.initialize(&mut variable, module, declared)?;
        Ok(variable)
    }

    fn add_function(&mut self, module: usize, function: &'a Function<'a>) -> Result<(), Error> {
        let private = function.linkage == Linkage::Private && !function.entry;
        let names = if private { &mut self.private[module] } else { &mut self.visible };
        let body = function.body.is_some().then_some((module, function));
        match names.get(function.name) {
            Some(Symbol::Function(number)) => {
                let definition = &mut self.definitions[*number as usize];
                let weak = |function: &Function<'_>| function.linkage == Linkage::Weak;
                match (definition.body, body) {
                    (Some((_, first)), Some(_)) if weak(first) && !weak(function) => definition.body = body,
                    (Some((_, first)), Some(_)) if weak(first) || weak(function) => {}
                    (Some(_), Some(_)) => {
                        return Err(Error::new(function.line, function.name, "the function is defined twice"));
                    }
                    (None, Some(_)) => *definition = Definition { body, shape: function },
                    _ => {}
                }
            }
            Some(Symbol::Variable(_)) => {
                return Err(Error::new(function.line, function.name, "the name is also a variable"));
            }
            // Every module declares the provided functions that it calls.
            Some(Symbol::Provided(_)) if body.is_none() => {}
            // A module may define a provided function, even after another one has declared it.
            Some(Symbol::Provided(_)) | None => {
                let provided = PROVIDED.iter().position(|provided| provided.name == function.name);
                let symbol = match provided {
                    Some(provided) if body.is_none() => Symbol::Provided(provided),
                    _ => {
                        self.definitions.push(Definition { body, shape: function });
                        Symbol::Function(self.definitions.len() as u32 - 1)
                    }
                };
                names.insert(function.name, symbol);
            }
        }
        Ok(())
    }

    /// Binds a further name to a function. The name is declared, and the function is defined, before.
    fn add_alias(&mut self, module: usize, alias: &'a str, function: &str, line: u32) -> Result<(), Error> {
        let symbol = self.lookup(module, function);
        let defined = |number: u32| self.definitions[number as usize].body.is_some_and(|(_, function)| !function.entry);
        let Some(symbol @ Symbol::Function(number)) = symbol else {
            return Err(Error::new(line, function, "the function of an alias is not declared"));
        };
        if !defined(number) {
            return Err(Error::new(line, function, "the function of an alias is not defined in this module"));
        }
        match self.lookup(module, alias) {
            Some(Symbol::Function(number)) if self.definitions[number as usize].body.is_none() => {}
            _ => return Err(Error::new(line, alias, "an alias must be declared as a function without a body")),
        }
        let names =
            if self.private[module].contains_key(alias) { &mut self.private[module] } else { &mut self.visible };
        names.insert(alias, symbol);
        Ok(())
    }

    /// The number of the function that a body defines; `None` if another module's definition takes precedence.
    pub(super) fn number(&self, module: usize, function: &Function<'_>) -> Option<usize> {
        let Some(Symbol::Function(number)) = self.lookup(module, function.name) else { return None };
        let (_, defined) = self.definitions[number as usize].body?;
        std::ptr::addr_eq(defined, function).then_some(number as usize)
    }

    /// The function whose address is the first element of a variable.
    pub(super) fn first_target(&self, module: usize, name: &str) -> Option<&'a Function<'a>> {
        let Some(Symbol::Variable(number)) = self.lookup(module, name) else { return None };
        let (_, declared) = self.declared[number as usize];
        match declared.initializer.first() {
            Some(Value::Address { name, .. }) => self.shape(module, name),
            _ => None,
        }
    }

    /// The declaration of a function.
    pub(super) fn shape(&self, module: usize, name: &str) -> Option<&'a Function<'a>> {
        match self.lookup(module, name)? {
            Symbol::Function(number) => Some(self.definitions[number as usize].shape),
            _ => None,
        }
    }

    /// Creates a program with variables and functions, without code.
    pub(super) fn program(&self, modules: &[Module<'_>]) -> Result<Program, Error> {
        let mut program = Program {
            code: Vec::new(),
            locations: Vec::new(),
            operands_of: Default::default(),
            operands: Vec::new(),
            by_lanes: Vec::new(),
            patterns: Vec::new(),
            generated: Default::default(),
            constants: Vec::new(),
            variables: self.variables.clone(),
            functions: Vec::new(),
            kernels: Default::default(),
            files: Default::default(),
            sources: Default::default(),
            is_of_nvvm: modules.iter().any(|module| module.is_of_nvvm),
            shared: 0,
            reserves: false,
            reserved: 0,
            shared_gaps: Vec::new(),
            version: 0,
            target: 0,
            allocates: false,
            prints: false,
            max_registers: 0,
            updates: Default::default(),
            reached: Default::default(),
            store_words: Default::default(),
            shared_elements: Default::default(),
            direct: true,
            follows: false,
        };
        for module in modules {
            program.version = program.version.max(module.version.0 * 10 + module.version.1);
            let target = module.target.first().and_then(|name| name.strip_prefix("sm_"));
            let digits = target.map(|target| target.trim_end_matches(|c: char| !c.is_ascii_digit()));
            let number = digits.and_then(|digits| digits.parse().ok());
            program.target = program.target.max(number.unwrap_or(0));
            for (number, name) in &module.files {
                program.files.insert(*number as u32, (*name).to_owned());
            }
        }
        let declares = |name| modules.iter().flat_map(|module| &module.functions).any(|function| function.name == name);
        (program.allocates, program.prints) = (declares("malloc") || declares(ALLOCATE), declares("vprintf"));
        for (number, definition) in self.definitions.iter().enumerate() {
            let shape = definition.shape;
            if shape.entry && definition.body.is_some() {
                program.kernels.insert(shape.name.to_owned(), number as u32);
            }
            program.functions.push(describe(shape, definition.body.map(|(_, function)| function))?);
        }
        for (number, (module, declared)) in self.declared.iter().enumerate() {
            self.initialize(&mut program.variables[number], *module, declared)?;
        }
        Ok(program)
    }

    fn initialize(&self, variable: &mut Variable, module: usize, declared: &Declared<'_>) -> Result<(), Error> {
        let size = declared.ty.size();
        for (index, value) in declared.initializer.iter().enumerate() {
            let bits = match value {
                Value::Bits(bits) => *bits,
                Value::Single(bits) if size == 8 => f64::from(f32::from_bits(*bits)).to_bits(),
                Value::Single(bits) => u64::from(*bits),
                Value::Double(bits) if size == 4 => u64::from((f64::from_bits(*bits) as f32).to_bits()),
                Value::Double(bits) => *bits,
                Value::Address { name, offset, shift, .. } => {
                    let constant = match self.lookup(module, name) {
                        Some(Symbol::Variable(number)) => Constant::Variable(number, *offset),
                        Some(Symbol::Function(number)) => {
                            Constant::Bits(program::FUNCTION_WINDOW + u64::from(number) * 16)
                        }
                        _ => return Err(Error::new(declared.line, name, "the name is not defined")),
                    };
                    variable.addresses.push((index as u64 * size, size as u32, *shift, constant));
                    0
                }
            };
            variable.contents.extend_from_slice(&bits.to_le_bytes()[..size.min(8) as usize]);
            if size == 16 {
                variable.contents.extend_from_slice(&[0; 8]);
            }
        }
        Ok(())
    }
}

/// Describes a variable, without the contents of its initializer.
fn without_contents(declared: &Declared<'_>) -> Result<Variable, Error> {
    Ok(Variable {
        name: declared.name.to_owned(),
        space: declared.space,
        size: declared.size(),
        align: declared.align,
        contents: Vec::new(),
        addresses: Vec::new(),
        opaque: sampler::opaque(declared)?,
        managed: declared.managed,
        offset: 0,
    })
}

/// Describes a function by its signature.
fn describe(shape: &Function<'_>, body: Option<&Function<'_>>) -> Result<program::Function, Error> {
    let mut place = 0_u64;
    let mut lay = |variable: &Declared<'_>| {
        // In local memory, every parameter starts at a multiple of 8 bytes.
        let align = if shape.entry { variable.align } else { variable.align.max(8) };
        let offset = place.next_multiple_of(align);
        place = offset + if shape.entry { variable.size() } else { variable.size().next_multiple_of(8) };
        if place > 1 << 16 {
            return Err(Error::new(variable.line, variable.name, "the parameters are too large"));
        }
        Ok(Parameter { offset: offset as u32, size: variable.size() as u32 })
    };
    let results = shape.results.iter().map(&mut lay).collect::<Result<_, _>>()?;
    let parameters = shape.parameters.iter().map(&mut lay).collect::<Result<_, _>>()?;
    Ok(program::Function {
        name: shape.name.to_owned(),
        entry: shape.entry,
        start: 0,
        end: 0,
        frame: 0,
        cleared: Vec::new(),
        local: if shape.entry { 0 } else { place.next_multiple_of(16) as u32 },
        local_variables: 0,
        parameters,
        results,
        max_threads: body.and_then(|body| body.max_threads),
        cluster: body.map(|body| body.cluster).unwrap_or_default(),
        registers: 0,
        max_registers: body.map_or(0, |body| body.max_registers),
        min_blocks: body.map_or(0, |body| body.min_blocks),
        shared: Vec::new(),
        calls: Vec::new(),
        calls_address: false,
        ordered: false,
        grid_wide: false,
        publishes: false,
        observes: false,
        publishes_to_host: false,
        stored: None,
        loads_addresses: true,
        hand_over: program::HandOver::default(),
        waits: false,
    })
}

/// Assigns offsets to shared variables; the reserved area and arrays of open size start after all others. Between two variables are bytes of
/// neither, so that an index that is a little too large is found.
pub(super) fn place_shared(program: &mut Program) {
    let (mut end, mut last) = (0_u64, 0);
    let shared = |variable: &&mut Variable| variable.space == Space::Shared;
    for variable in program.variables.iter_mut().filter(shared).filter(|variable| variable.size > 0) {
        variable.offset = (end + shared_gap(last)).next_multiple_of(variable.align);
        if last > 0 {
            program.shared_gaps.push((end, variable.offset));
        }
        (end, last) = (variable.offset + variable.size, variable.size);
    }
    if program.reserves {
        program.reserved = (end + shared_gap(last)).next_multiple_of(16);
        if last > 0 {
            program.shared_gaps.push((end, program.reserved));
        }
        (end, last) = (program.reserved + RESERVED_SHARED, 0);
    }
    let open = |variable: &&mut Variable| variable.size == 0;
    let align = program.variables.iter_mut().filter(shared).filter(open).map(|variable| variable.align).max();
    if let Some(align) = align.filter(|_| last > 0) {
        let start = (end + shared_gap(last)).next_multiple_of(align.max(16));
        program.shared_gaps.push((end, start));
        end = start;
    }
    end = end.next_multiple_of(align.unwrap_or(1).max(16));
    program.variables.iter_mut().filter(shared).filter(open).for_each(|variable| variable.offset = end);
    program.shared = end;
}

/// The least number of bytes between a shared variable of `size` bytes and the next one. Each block has them, so they are few.
fn shared_gap(size: u64) -> u64 {
    if size == 0 { 0 } else { size.clamp(16, 256) }
}
