//! Operands: names and numbers as values of a type.

use super::builder::{Builder, Local};
use super::draft::{Draft, Operand};
use super::symbols::Symbol;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type, Width};
use crate::machine::cluster::is_explicit;
use crate::machine::linear::Operation;
use crate::machine::program::{Constant, FUNCTION_WINDOW, constant_bits};
use crate::machine::undefined::Way;
use crate::machine::{lanes, special};

/// The modifiers after an opcode. Each must be used.
pub(super) struct Modifiers<'a> {
    words: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    pub(super) fn of(instruction: &Instruction<'a>) -> Modifiers<'a> {
        Modifiers { words: instruction.modifiers.clone() }
    }

    /// Takes a word if it is present.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let found = self.words.iter().position(|known| *known == word);
        found.map(|index| self.words.remove(index)).is_some()
    }

    /// Takes the first word that is one of `words`, and returns its index among them.
    pub(super) fn one_of(&mut self, words: &[&str]) -> Option<usize> {
        words.iter().position(|word| self.take(word))
    }

    /// Takes the first type.
    pub(super) fn ty(&mut self) -> Option<Type> {
        let index = self.words.iter().position(|word| Type::named(word).is_some())?;
        Type::named(self.words.remove(index))
    }

    /// Takes the first state space.
    pub(super) fn space(&mut self) -> Option<Space> {
        let index = self.words.iter().position(|word| Space::named(word).is_some())?;
        Space::named(self.words.remove(index))
    }

    /// Takes the first word that is left.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        (!self.words.is_empty()).then(|| self.words.remove(0))
    }

    /// Removes all words that begin with one of `starts`.
    pub(super) fn drop_hints(&mut self, starts: &[&str]) {
        self.words.retain(|word| !starts.iter().any(|start| word.starts_with(start)));
    }

    pub(super) fn rest(&self) -> &[&'a str] {
        &self.words
    }
}

impl<'a> Builder<'_, 'a> {
    /// Adds a bit pattern as a constant of a type.
    pub(super) fn bits(&mut self, ty: Type, value: u64) -> Operand {
        self.constant(Constant::Bits(constant_bits(ty, value)), ty.width())
    }

    /// Returns a part of the instruction, or an error if it is missing.
    pub(super) fn needed<T>(&self, instruction: &Instruction<'_>, found: Option<T>) -> Result<T, Error> {
        found.ok_or_else(|| self.form(instruction, "the type of the instruction is missing or not supported"))
    }

    /// Returns the error for an unsupported form of an instruction.
    pub(super) fn refuse<T>(&self, instruction: &Instruction<'_>) -> Result<T, Error> {
        Err(self.form(instruction, "the instruction is not supported"))
    }

    /// Checks that every modifier was used.
    pub(super) fn all_taken(&self, instruction: &Instruction<'_>, modifiers: &Modifiers<'_>) -> Result<(), Error> {
        match modifiers.rest() {
            [] => Ok(()),
            [word, ..] => Err(self.form(instruction, &format!("the instruction is not supported with .{word}"))),
        }
    }

    /// Checks the number of operands.
    pub(super) fn count(&self, instruction: &Instruction<'_>, counts: &[usize]) -> Result<(), Error> {
        if counts.contains(&instruction.operands.len()) {
            return Ok(());
        }
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        let message =
            format!("{} operands are given, {} are expected", instruction.operands.len(), counts.join(" or "));
        Err(self.wrong(&spelled(instruction), &message))
    }

    fn fits(&self, name: &str, register: u32, declared: Type, ty: Type) -> Result<Operand, Error> {
        // Registers of 8 and 16 bits have slots of 32 bits, with zeros above.
        let same = declared.width() == ty.width()
            && (declared.bits() == ty.bits() || declared.width() != Width::W32 || ty.bits() == 8);
        if same {
            return Ok(Operand::Register(register));
        }
        let message = format!("the register has {} bits, and the instruction takes {}", bits(declared), bits(ty));
        Err(self.wrong(name, &message))
    }

    /// Resolves a register operand: its name, register and type.
    fn named_register(&mut self, operand: &Written<'a>) -> Option<(&'a str, u32, Type)> {
        let (name, found) = match operand {
            Written::Name(name) => (*name, self.find_register(name)),
            Written::Component(name, component) => (*name, self.find_component(name, component)),
            _ => return None,
        };
        found.map(|(register, declared)| (name, register, declared))
    }

    /// Resolves a register that is written.
    pub(super) fn target(&mut self, operand: &Written<'a>, ty: Type) -> Result<Operand, Error> {
        match self.named_register(operand) {
            Some((name, register, declared)) => self.fits(name, register, declared, ty),
            None => Err(self.wrong(&text(operand), "a register that can be written is expected")),
        }
    }

    /// Resolves a register that is written, and may be wider than the type. Returns its type too.
    pub(super) fn wide_target(&mut self, operand: &Written<'a>, ty: Type) -> Result<(Operand, Type), Error> {
        match self.named_register(operand) {
            Some((_, register, declared)) if declared.bits() >= ty.bits() && declared != Type::Pred => {
                Ok((Operand::Register(register), declared))
            }
            Some((_, _, declared)) => {
                let message =
                    format!("the register has {} bits, and the instruction needs {}", bits(declared), bits(ty));
                Err(self.wrong(&text(operand), &message))
            }
            None => Err(self.wrong(&text(operand), "a register that can be written is expected")),
        }
    }

    /// Resolves a value that may come from a register wider than the type.
    pub(super) fn wide_source(&mut self, operand: &Written<'a>, ty: Type) -> Result<(Operand, Type), Error> {
        match self.named_register(operand) {
            Some((_, register, declared)) if declared.bits() >= ty.bits() && declared != Type::Pred => {
                Ok((Operand::Register(register), declared))
            }
            _ => Ok((self.source(operand, ty)?, ty)),
        }
    }

    /// Resolves a value of a type.
    pub(super) fn source(&mut self, operand: &Written<'a>, ty: Type) -> Result<Operand, Error> {
        match operand {
            Written::Name(name) => {
                if let Some((register, declared)) = self.find_register(name) {
                    return self.fits(name, register, declared, ty);
                }
                if name.starts_with('%') {
                    return self.special(name, ty);
                }
                if *name == "WARP_SZ" {
                    return Ok(self.bits(ty, 32));
                }
                self.address_of(name, 0, ty)
            }
            Written::Sum(name, offset) => self.address_of(name, *offset, ty),
            Written::Element { name, register, index } => self.element(name, *register, *index, ty),
            Written::Component(name, component) => {
                if let Some((register, declared)) = self.find_component(name, component) {
                    return self.fits(name, register, declared, ty);
                }
                self.special(&format!("{name}.{component}"), ty)
            }
            Written::Integer(value) if ty.is_float() => {
                // An integer where the manual requires a floating-point constant.
                let value = *value as i64 as f64;
                Ok(self.bits(ty, if ty == Type::F64 { value.to_bits() } else { u64::from((value as f32).to_bits()) }))
            }
            Written::Integer(value) => Ok(self.bits(ty, *value)),
            Written::Single(bits) => {
                let value = if ty == Type::F64 { f64::from(f32::from_bits(*bits)).to_bits() } else { u64::from(*bits) };
                Ok(self.bits(ty, value))
            }
            Written::Double(bits) => {
                let narrow = ty == Type::F32;
                let value = if narrow { u64::from((f64::from_bits(*bits) as f32).to_bits()) } else { *bits };
                Ok(self.bits(ty, value))
            }
            _ => Err(self.wrong(&text(operand), "the operand is not a value")),
        }
    }

    pub(super) fn special(&mut self, name: &str, ty: Type) -> Result<Operand, Error> {
        let zero = name.strip_suffix(".w").is_some_and(|vector| special::VECTORS.contains(&vector));
        let number = match special::number(name) {
            Some(number) => number,
            None if zero => 0,
            None if special::is_refused(name) => {
                return Err(self.unsupported(name, "the simulated driver has no value for this special register"));
            }
            None => return Err(self.wrong(name, "the register is not declared")),
        };
        let special::Form { bits, target, version } = special::form(name);
        self.requires_for(name, name, target, version)?;
        let exec = match ty.width() {
            Width::W32 if bits.contains(&ty.bits()) => special::read::<u32>,
            Width::W64 if bits.contains(&64) => special::read::<u64>,
            _ => {
                let bits: Vec<String> = bits.iter().map(u32::to_string).collect();
                let bits = bits.join(" or ");
                return Err(self.wrong(name, &format!("the special register has {bits} bits, and not the type's")));
            }
        };
        if zero {
            return Ok(self.bits(ty, 0));
        }
        self.built().reserves |= name.starts_with("%reserved_smem_offset_");
        let register = Operand::Register(self.register(ty.width()));
        // The instructions that ran before count for the value of a clock.
        let per_lane = self.per_lane && !special::changes(number);
        let linear = Some(Operation::Special);
        let way = Way::Computes;
        let draft = Draft { d: register, imm: number, guard: None, per_lane, linear, way, ..self.draft(exec) };
        self.push(draft);
        if ty.bits() == 16 {
            let low = Operand::Register(self.register(Width::W32));
            self.emit_always(lanes::map1(|a: u32| a & 0xffff), low, [register, Operand::Nothing, Operand::Nothing]);
            return Ok(low);
        }
        Ok(register)
    }

    /// Resolves the address of a variable, parameter or function in its space. The parameters of a function are in local
    /// memory.
    pub(super) fn address_of(&mut self, name: &str, offset: i64, ty: Type) -> Result<Operand, Error> {
        let width = ty.width();
        if !matches!(width, Width::W32 | Width::W64) {
            return Err(self.wrong(name, "the value does not fit the instruction's type"));
        }
        let base = match self.find_variable(name) {
            Some(Local::Memory { space: Space::Param, .. }) if !self.is_param(name) => {
                return Err(self.wrong(name, "the address of a parameter of a call cannot be taken"));
            }
            Some(Local::Memory { offset: place, .. }) => {
                let base = Operand::Register(self.frame_base());
                let by = self.constant(Constant::Bits(u64::from(place).wrapping_add(offset as u64)), Width::W64);
                let sum = Operand::Register(self.register(Width::W64));
                self.emit_always(lanes::map2(|a: u64, b: u64| a.wrapping_add(b)), sum, [base, by, Operand::Nothing]);
                if width == Width::W64 {
                    return Ok(sum);
                }
                let narrow = Operand::Register(self.register(Width::W32));
                self.emit_always(lanes::map1(|a: u64| a as u32), narrow, [sum, Operand::Nothing, Operand::Nothing]);
                return Ok(narrow);
            }
            Some(Local::Parameter { offset: place, .. }) => {
                Constant::Bits(u64::from(place).wrapping_add(offset as u64))
            }
            Some(Local::Program(number)) => self.address_in(number, offset, width)?,
            None => match self.symbols.lookup(self.module, name) {
                Some(Symbol::Variable(number)) => self.address_in(number, offset, width)?,
                Some(Symbol::Function(number)) => {
                    self.built().calls.push(number);
                    Constant::Bits(FUNCTION_WINDOW + u64::from(number) * 16)
                }
                Some(Symbol::Provided(_)) => {
                    return Err(self.unsupported(name, "the address of a provided function is not supported"));
                }
                None => return Err(self.wrong(name, "the name is not declared")),
            },
        };
        Ok(self.constant(base, width))
    }

    /// The address of a variable as a value; one in global memory needs 64 bits.
    fn address_in(&mut self, number: u32, offset: i64, width: Width) -> Result<Constant, Error> {
        let variable = self.program_variable(number);
        if width == Width::W32 && variable.space == Space::Global {
            return Err(self.wrong(&variable.name.clone(), "an address in global memory has 64 bits"));
        }
        Ok(self.variable_address(number, offset))
    }

    /// Whether a variable of the function is one of its parameters or results.
    pub(super) fn is_param(&self, name: &str) -> bool {
        let parameters = self.function.results.iter().chain(&self.function.parameters);
        parameters.into_iter().any(|parameter| parameter.name == name)
    }

    pub(super) fn variable_address(&mut self, number: u32, offset: i64) -> Constant {
        if self.program_variable(number).space == Space::Shared {
            self.built().shared.push(number);
        }
        Constant::Variable(number, offset)
    }

    /// Adds an instruction without a guard.
    pub(super) fn emit_always(&mut self, exec: crate::machine::program::Exec, d: Operand, [a, b, c]: [Operand; 3]) {
        let draft = Draft { d, a, b, c, guard: None, ..self.draft(exec) };
        self.push(draft);
    }

    /// Resolves a predicate that is written.
    pub(super) fn predicate_target(&mut self, name: &'a str) -> Result<Operand, Error> {
        match self.find_register(name) {
            Some((register, Type::Pred)) => Ok(Operand::Register(register)),
            _ => Err(self.wrong(name, "a predicate is expected")),
        }
    }

    /// Resolves a predicate that is read, and may be negated.
    pub(super) fn predicate(&mut self, operand: &Written<'a>) -> Result<Operand, Error> {
        let (name, negated) = match operand {
            Written::Name(name) => (name, false),
            Written::Not(name) => (name, true),
            Written::Integer(value) => return Ok(self.bits(Type::Pred, u64::from(*value != 0))),
            _ => return Err(self.wrong(&text(operand), "a predicate is expected")),
        };
        let register = if *name == "%is_explicit_cluster" {
            let special::Form { target, version, .. } = special::form(name);
            self.requires_for(name, name, target, version)?;
            let d = Operand::Register(self.register(Width::Predicate));
            let draft = Draft { d, guard: None, ..self.draft(is_explicit) };
            self.push(draft);
            d
        } else {
            self.predicate_target(name)?
        };
        if !negated {
            return Ok(register);
        }
        let other = Operand::Register(self.register(Width::Predicate));
        self.emit_always(lanes::masks(|a, _| !a), other, [register, register, Operand::Nothing]);
        Ok(other)
    }
}

/// The opcode of an instruction with its modifiers.
pub(super) fn spelled(instruction: &Instruction<'_>) -> String {
    let mut text = instruction.opcode.to_owned();
    for word in &instruction.modifiers {
        text.push('.');
        text.push_str(word);
    }
    text
}

fn text(operand: &Written<'_>) -> String {
    match operand {
        Written::Name(name) | Written::Sum(name, _) | Written::Not(name) => (*name).to_owned(),
        Written::Component(name, component) => format!("{name}.{component}"),
        Written::Pair(a, b) => format!("{a}|{b}"),
        Written::Minus(name, _) => format!("-{name}"),
        Written::Integer(value) => value.to_string(),
        Written::Single(bits) => format!("0f{bits:08X}"),
        Written::Double(bits) => format!("0d{bits:016X}"),
        Written::Element { name, .. } => format!("{name}[...]"),
        Written::Address { .. } | Written::Coordinates { .. } => "[...]".to_owned(),
        Written::Vector(_) | Written::Resident(..) => "{...}".to_owned(),
        Written::List(_) => "(...)".to_owned(),
        Written::Nothing => "_".to_owned(),
    }
}

fn bits(ty: Type) -> u32 {
    if ty == Type::Pred { 1 } else { ty.bits() }
}
