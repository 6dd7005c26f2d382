//! Moves of scalars, vectors and values of 128 bits.
//!
//! PTX manual:
//! [mov](https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions-mov).

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Type, Width};
use crate::machine::lanes::{map1, map2, map3, masks};
use crate::machine::linear::Operation;
use crate::machine::program::{Exec, Instruction as Code};
use crate::machine::{Flow, Machine};

const NOTHING: Operand = Operand::Nothing;

impl<'a> Builder<'_, 'a> {
    pub(super) fn mov(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        self.count(instruction, &[2])?;
        let (target, source) = (&instruction.operands[0], &instruction.operands[1]);
        // `mov.v2.u32` of vector registers.
        let vector = words.one_of(&["v2", "v4"]);
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        if vector.is_some() {
            if let Written::Name(name) = source
                && name.starts_with('%')
                && self.find_vector(name).is_none()
            {
                return self.special_vector(instruction, ty, target, name);
            }
            let (Written::Name(target), Written::Name(source)) = (target, source) else {
                return self.refuse(instruction);
            };
            let pairs = self.find_vector(target).zip(self.find_vector(source));
            let pairs = pairs.map(|(d, a)| d.iter().zip(a).map(|(d, a)| (d.0, a.0)).collect::<Vec<_>>());
            for (d, a) in self.needed(instruction, pairs)? {
                self.copy(ty, Operand::Register(d), Operand::Register(a));
            }
            return Ok(());
        }
        match (target, source) {
            (Written::Vector(targets), source) => self.unpack(instruction, ty, targets, source),
            (target, Written::Vector(sources)) => self.join(instruction, ty, target, sources),
            (Written::Name(target), source) if ty == Type::Pred => {
                let a = self.predicate(source)?;
                let d = self.predicate_target(target)?;
                self.emit(masks(|a, _| a), d, [a, a, NOTHING]);
                Ok(())
            }
            (target, source) => {
                let registers = self.widths.len();
                let a = self.source(source, ty)?;
                let d = self.target(target, ty)?;
                // The value of a special register needs no copy.
                let is_new = matches!(a, Operand::Register(register) if register as usize >= registers);
                if !(is_new && ty.bits() >= 32 && self.retarget(a, d)) {
                    self.copy(ty, d, a);
                }
                Ok(())
            }
        }
    }

    /// `mov.v4.u32 d, %tid`: the components of a special register.
    fn special_vector(
        &mut self,
        instruction: &'a Instruction<'a>,
        ty: Type,
        target: &'a Written<'a>,
        name: &str,
    ) -> Result<(), Error> {
        let targets = match target {
            Written::Vector(targets) if targets.len() == 4 => {
                targets.iter().map(|target| self.target(target, ty)).collect::<Result<Vec<_>, _>>()?
            }
            Written::Name(target) => {
                let found = self.find_vector(target).map(|found| found.iter().map(|one| Operand::Register(one.0)));
                self.needed(instruction, found.map(Iterator::collect))?
            }
            _ => return self.refuse(instruction),
        };
        for (d, component) in targets.into_iter().zip(["x", "y", "z", "w"]) {
            let value = match component {
                "w" => self.bits(ty, 0),
                _ => self.special(&format!("{name}.{component}"), ty)?,
            };
            self.copy(ty, d, value);
        }
        Ok(())
    }

    pub(super) fn copy(&mut self, ty: Type, d: Operand, a: Operand) {
        let exec = match ty.width() {
            Width::W64 => map1(|a: u64| a),
            Width::W128 => copy128,
            _ => map1(|a: u32| a),
        };
        let linear = (ty.width() != Width::W128).then_some(Operation::Copy);
        let draft = Draft { d, a, linear, ..self.draft(exec) };
        self.push(draft);
    }

    /// `mov.b64 {lo, hi}, a`: parts of a value into registers.
    fn unpack(
        &mut self,
        instruction: &'a Instruction<'a>,
        ty: Type,
        targets: &'a [Written<'a>],
        source: &'a Written<'a>,
    ) -> Result<(), Error> {
        let a = self.source(source, ty)?;
        let part = self.needed(instruction, part(ty, targets.len()))?;
        // A source that is also a target must be written after all reads.
        let mut parts = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            if *target == Written::Nothing {
                continue;
            }
            let d = self.target(target, part)?;
            let spare = Operand::Register(self.register(part.width()));
            let by = self.bits(Type::U32, index as u64 * u64::from(part.bits()));
            let exec: Exec = match (ty.width(), part.bits()) {
                (Width::W128, _) => half128,
                (Width::W64, 32) => map2(|a: u64, by: u32| (a >> by) as u32),
                (Width::W64, 16) => map2(|a: u64, by: u32| (a >> by) as u32 & 0xffff),
                (Width::W64, 8) => map2(|a: u64, by: u32| (a >> by) as u32 & 0xff),
                (_, 16) => map2(|a: u32, by: u32| a >> by & 0xffff),
                (_, 8) => map2(|a: u32, by: u32| a >> by & 0xff),
                _ => return self.refuse(instruction),
            };
            let draft = Draft { d: spare, a, b: by, imm: index as i64, ..self.draft(exec) };
            self.push(draft);
            parts.push((d, spare));
        }
        for (d, spare) in parts {
            self.copy(part, d, spare);
        }
        Ok(())
    }

    /// `mov.b64 d, {lo, hi}`: registers as parts of a value.
    fn join(
        &mut self,
        instruction: &'a Instruction<'a>,
        ty: Type,
        target: &'a Written<'a>,
        sources: &'a [Written<'a>],
    ) -> Result<(), Error> {
        let part = self.needed(instruction, part(ty, sources.len()))?;
        let d = self.target(target, ty)?;
        if ty.width() == Width::W128 {
            let (a, b) = (self.source(&sources[0], part)?, self.source(&sources[1], part)?);
            self.emit(join128, d, [a, b, NOTHING]);
            return Ok(());
        }
        let mut all = None;
        for (index, source) in sources.iter().enumerate() {
            let a = self.source(source, part)?;
            let by = self.bits(Type::U32, index as u64 * u64::from(part.bits()));
            let next = Operand::Register(self.register(ty.width()));
            let before = match all {
                Some(before) => before,
                None => self.bits(ty, 0),
            };
            let exec: Exec = match (ty.width(), part.bits()) {
                (Width::W64, 32) => map3(|before: u64, a: u32, by: u32| before | u64::from(a) << by),
                (Width::W64, 16) => map3(|before: u64, a: u16, by: u32| before | u64::from(a) << by),
                (Width::W64, 8) => map3(|before: u64, a: u8, by: u32| before | u64::from(a) << by),
                (_, 16) => map3(|before: u32, a: u16, by: u32| before | u32::from(a) << by),
                (_, 8) => map3(|before: u32, a: u8, by: u32| before | u32::from(a) << by),
                _ => return self.refuse(instruction),
            };
            self.emit_always(exec, next, [before, a, by]);
            all = Some(next);
        }
        let all = self.needed(instruction, all)?;
        self.copy(ty, d, all);
        Ok(())
    }

    /// Splits a value of 128 bits into two registers.
    pub(super) fn split128(&mut self, source: Operand, low: Operand, high: Operand) {
        for (d, imm) in [(low, 0), (high, 1)] {
            let draft = Draft { d, a: source, imm, ..self.draft(half128) };
            self.push(draft);
        }
    }

    pub(super) fn join128(&mut self, d: Operand, low: Operand, high: Operand) {
        self.emit(join128, d, [low, high, NOTHING]);
    }
}

/// The type of one of `parts` parts of a value.
fn part(ty: Type, parts: usize) -> Option<Type> {
    Some(match ty.bits().checked_div(parts as u32)? {
        _ if !matches!(parts, 2 | 4 | 8) => return None,
        64 => Type::B64,
        32 => Type::B32,
        16 => Type::B16,
        8 => Type::B8,
        _ => return None,
    })
}

/// # Safety
/// The operands are registers of 128 bits.
unsafe fn copy128(machine: &mut Machine<'_>, instruction: &Code) -> Flow {
    // SAFETY: this function's contract: two rows of 64-bit slots.
    unsafe {
        let (d, a) = (machine.slots::<u64>(instruction.d), machine.slots::<u64>(instruction.a));
        for lane in (0..64).filter(|lane| machine.mask >> (lane % 32) & 1 == 1) {
            d.add(lane).write(a.add(lane).read());
        }
    }
    Flow::Next
}

/// # Safety
/// `a` is a register of 128 bits, `d` one of 64.
unsafe fn half128(machine: &mut Machine<'_>, instruction: &Code) -> Flow {
    // SAFETY: this function's contract.
    unsafe {
        let (d, a) = (machine.slots::<u64>(instruction.d), machine.slots::<u64>(instruction.a));
        for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
            d.add(lane).write(a.add(lane + 32 * (instruction.imm as usize & 1)).read());
        }
    }
    Flow::Next
}

/// # Safety
/// `d` is a register of 128 bits, `a` and `b` are of 64.
unsafe fn join128(machine: &mut Machine<'_>, instruction: &Code) -> Flow {
    // SAFETY: this function's contract.
    unsafe {
        let d = machine.slots::<u64>(instruction.d);
        let (a, b) = (machine.slots::<u64>(instruction.a), machine.slots::<u64>(instruction.b));
        for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
            d.add(lane).write(a.add(lane).read());
            d.add(lane + 32).write(b.add(lane).read());
        }
    }
    Flow::Next
}
