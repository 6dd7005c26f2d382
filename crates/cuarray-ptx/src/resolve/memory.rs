//! Loads, stores and prefetches.
//!
//! PTX manual: [data
//! movement](https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions). Cache
//! hints change no result. Volatile and synchronizing accesses of global memory can reveal the order of blocks, so
//! kernels with them run their blocks in order.

use super::address::Address;
use super::atomic_operation::Ordering;
use super::builder::Builder;
use super::draft::{Access, Draft, Operand, Results};
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type, Width};
use crate::machine::Strength;
use crate::machine::access_mode::{Mode, Scope};
use crate::machine::branching::nothing;
use crate::machine::linear::Operation;
use crate::machine::memory::{Cell, load, load_parameter, load_vector, store, store_vector};
use crate::machine::program::Exec;
use crate::machine::undefined::Way;

/// The access of a load or store. Other threads may wait for a strong one, so it is not plain.
fn plain_access(stores: bool, strong: bool, bytes: u64) -> Access {
    match (stores, strong) {
        (_, true) => Access::None,
        (true, false) => Access::Store(bytes as u32),
        (false, false) => Access::Load(bytes as u32),
    }
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn memory(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let opcode = instruction.opcode;
        if opcode == "st" && words.rest().contains(&"async") {
            self.built().writes_otherwise = true;
            return self.asynchronous_store(instruction, words);
        }
        if opcode == "st" && words.rest().contains(&"bulk") {
            self.built().writes_otherwise = true;
            return self.fill(instruction, words);
        }
        if !matches!(opcode, "ld" | "ldu" | "st") {
            self.cache_hint(words);
            return Ok(());
        }
        let ordering = self.ordering(words);
        let Ordering { strong, releases, strength, .. } = ordering;
        let read_only = words.take("nc");
        for hint in ["ca", "cg", "cs", "lu", "cv", "wb", "wt"] {
            words.take(hint);
        }
        words.drop_hints(&["L1", "L2", "level", "unified"]);
        let qualifier = words.rest().iter().copied().find(|word| word.starts_with("param::"));
        let space = words.space().unwrap_or(Space::Generic);
        let vector = words.one_of(&["v2", "v4", "v8"]).map(|index| 2_usize << index);
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        if ty == Type::Pred {
            return self.refuse(instruction);
        }
        let operands = &instruction.operands;
        // A third operand is a cache policy.
        self.count(instruction, &[2, 3])?;
        let stores = opcode == "st";
        let (value, address) = if stores { (&operands[1], &operands[0]) } else { (&operands[0], &operands[1]) };
        let written = address;
        let mut address = self.address(written, space)?;
        self.check_access(written, (space, qualifier), stores, &mut address)?;
        (address.mode.strong, address.mode.releases) = (strong, releases);
        (address.mode.acquires, address.mode.scope) = (ordering.acquires, ordering.scope);
        address.mode.read_only = read_only && !stores;
        self.built().writes_otherwise |= stores && strong;
        if strong && !matches!(address.mode.space, Space::Param | Space::Local) {
            let narrow = address.mode.space != Space::Shared && ordering.scope < Scope::Device;
            let hand_over = &mut self.built().hand_over;
            hand_over.strong |= !stores || narrow;
            hand_over.stores |= stores;
        }
        if strong && matches!(address.mode.space, Space::Global | Space::Generic) {
            address.mode.strength = strength;
            self.built().ordered = true;
            self.built().publishes_to_host |= stores && strength == Strength::System;
            self.note_ordering(releases, !stores, strength);
        }
        let values: Vec<&'a Written<'a>> = match (value, vector) {
            (Written::Vector(values), vector) if values.len() == vector.unwrap_or(1) => values.iter().collect(),
            (Written::Name(name), Some(count)) if self.find_vector(name).is_some_and(|found| found.len() == count) => {
                return self.vector_register(instruction, ty, stores, name, address);
            }
            (Written::Vector(_), _) | (_, Some(_)) => {
                return Err(self.wrong(opcode, "the vector and the instruction differ in the number of elements"));
            }
            (value, None) => vec![value],
        };
        if ty == Type::B128 {
            if vector.is_some() {
                return self.refuse(instruction);
            }
            return self.whole128(stores, values[0], address);
        }
        let (registers, wide) = self.registers(opcode, ty, stores, values)?;
        if vector.is_none() {
            return self.one_moved(opcode, (ty, wide), stores, registers[0], address);
        }
        self.moved(ty, wide, stores, registers, &mut address)
    }

    /// The registers of the elements, and whether they have 64 bits.
    fn registers(
        &mut self,
        opcode: &str,
        ty: Type,
        stores: bool,
        values: Vec<&'a Written<'a>>,
    ) -> Result<(Vec<Operand>, bool), Error> {
        let mut registers = Vec::new();
        let mut width = None;
        for value in values {
            if *value == Written::Nothing {
                registers.push(Operand::Nothing);
                continue;
            }
            let (register, declared) = if stores { self.wide_source(value, ty)? } else { self.wide_target(value, ty)? };
            if width.is_some_and(|width| width != declared.width()) {
                return Err(self.wrong(opcode, "the registers of the vector differ in width"));
            }
            width = Some(declared.width());
            // A register of 16 bits keeps no sign beyond them.
            registers.push(register);
        }
        Ok((registers, width == Some(Width::W64)))
    }

    /// A cache hint, which accesses no memory.
    fn cache_hint(&mut self, words: &mut Modifiers<'a>) {
        words.space();
        words.drop_hints(&["L1", "L2", "evict", "tensormap"]);
        let draft = self.draft(nothing);
        self.push(draft);
    }

    /// Moves one element.
    fn one_moved(
        &mut self,
        opcode: &str,
        (ty, wide): (Type, bool),
        stores: bool,
        register: Operand,
        address: Address,
    ) -> Result<(), Error> {
        let strong = address.mode.strong;
        if !stores && let Some((place, left)) = address.parameter {
            if u64::from(left) < ty.size() || u64::from(place) % ty.size() != 0 {
                return Err(self.wrong(opcode, "the access is larger than the parameter, or misaligned"));
            }
            let exec = cell(ty, wide, PARAMETER);
            let (d, access) = (register, Access::Parameter(ty.size() as u32));
            let linear = Some(Operation::Parameter);
            let draft = Draft { d, imm: place.into(), access, linear, way: Way::Computes, ..self.draft(exec) };
            self.push(draft);
            return Ok(());
        }
        let exec = cell(ty, wide, if stores { STORE } else { LOAD });
        let (d, b) = if stores { (Operand::Nothing, register) } else { (register, Operand::Nothing) };
        let (a, c) = (address.base, Operand::Number(address.mode.code()));
        let results = if stores || strong { Results::Any } else { Results::Load };
        let access = plain_access(stores, strong, ty.size());
        let (signed, way) = (!stores && ty.is_signed(), Way::Accesses);
        let draft = Draft { d, a, b, c, imm: address.offset, results, access, signed, way, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    fn vector_register(
        &mut self,
        instruction: &'a Instruction<'a>,
        ty: Type,
        stores: bool,
        name: &'a str,
        mut address: Address,
    ) -> Result<(), Error> {
        let found = self.find_vector(name).map(<[(u32, Type)]>::to_vec).unwrap_or_default();
        if found.iter().any(|(_, declared)| declared.bits() < ty.bits() || ty == Type::B128) {
            return self.refuse(instruction);
        }
        let wide = found.iter().any(|(_, declared)| declared.width() == Width::W64);
        let registers = found.iter().map(|(register, _)| Operand::Register(*register)).collect();
        self.moved(ty, wide, stores, registers, &mut address)
    }

    fn moved(
        &mut self,
        ty: Type,
        wide: bool,
        stores: bool,
        registers: Vec<Operand>,
        address: &mut Address,
    ) -> Result<(), Error> {
        address.mode.count = registers.len() as u32;
        let exec = cell(ty, wide, if stores { STORE_VECTOR } else { LOAD_VECTOR });
        let written = if stores { 0 } else { registers.len() };
        let (a, c) = (address.base, Operand::Number(address.mode.code()));
        let results = if stores { Results::Any } else { Results::Vector };
        let access = plain_access(stores, address.mode.strong, ty.size() * registers.len() as u64);
        let draft = Draft {
            a,
            c,
            extra: registers,
            written,
            imm: address.offset,
            results,
            access,
            way: Way::Accesses,
            ..self.draft(exec)
        };
        self.push(draft);
        Ok(())
    }

    /// `ld.b128` and `st.b128`: two halves at once.
    fn whole128(&mut self, stores: bool, value: &'a Written<'a>, mut address: Address) -> Result<(), Error> {
        let halves = [Operand::Register(self.register(Width::W64)), Operand::Register(self.register(Width::W64))];
        let [low, high] = halves;
        if stores {
            let source = self.source(value, Type::B128)?;
            self.split128(source, low, high);
            return self.moved(Type::B64, true, true, halves.to_vec(), &mut address);
        }
        let target = self.target(value, Type::B128)?;
        self.moved(Type::B64, true, false, halves.to_vec(), &mut address)?;
        self.join128(target, low, high);
        Ok(())
    }

    /// Loads a function's register parameter when the function begins.
    pub(super) fn load_local(&mut self, register: u32, ty: Type, place: u32) {
        let exec = cell(ty, ty.width() == Width::W64, LOAD);
        let a = Operand::Register(self.frame_base());
        let c = Operand::Number(Mode::new(Space::Local, true).code());
        let draft =
            Draft { d: Operand::Register(register), a, c, imm: place.into(), way: Way::Accesses, ..self.draft(exec) };
        self.push(draft);
    }

    /// Stores a register into a variable of the function.
    pub(super) fn store_local(&mut self, source: Operand, ty: Type, place: u32) {
        let exec = cell(ty, ty.width() == Width::W64, STORE);
        let a = Operand::Register(self.frame_base());
        let c = Operand::Number(Mode::new(Space::Local, true).code());
        let draft = Draft { a, b: source, c, imm: place.into(), way: Way::Accesses, ..self.draft(exec) };
        self.push(draft);
    }
}

const LOAD: usize = 0;
const STORE: usize = 1;
const LOAD_VECTOR: usize = 2;
const STORE_VECTOR: usize = 3;
const PARAMETER: usize = 4;

fn of<M: Cell + 'static>(wide: bool, what: usize) -> Exec {
    match (what, wide) {
        (LOAD, false) => load::<M, u32>(),
        (LOAD, true) => load::<M, u64>(),
        (STORE, false) => store::<M, u32>(),
        (STORE, true) => store::<M, u64>(),
        (LOAD_VECTOR, false) => load_vector::<M, u32>(),
        (LOAD_VECTOR, true) => load_vector::<M, u64>(),
        (STORE_VECTOR, false) => store_vector::<M, u32>(),
        (STORE_VECTOR, true) => store_vector::<M, u64>(),
        (_, false) => load_parameter::<M, u32>(),
        (_, true) => load_parameter::<M, u64>(),
    }
}

/// The function that moves values of a type between memory and registers.
fn cell(ty: Type, wide: bool, what: usize) -> Exec {
    match ty {
        Type::S8 => of::<i8>(wide, what),
        Type::S16 => of::<i16>(wide, what),
        Type::S32 => of::<i32>(wide, what),
        _ => match ty.size() {
            1 => of::<u8>(wide, what),
            2 => of::<u16>(wide, what),
            4 => of::<u32>(wide, what),
            _ => of::<u64>(wide, what),
        },
    }
}
