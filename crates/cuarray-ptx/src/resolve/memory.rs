//! Loads, stores, prefetches and atomics.
//!
//! PTX manual: [data
//! movement](https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions). Cache
//! hints change no result. Volatile and synchronizing accesses of global memory can reveal the order of blocks, so
//! kernels with them run their blocks in order.

use super::builder::{Builder, Local};
use super::draft::{Access, Draft, Operand, Results};
use super::floating::{quiet32, quiet64};
use super::operand::Modifiers;
use super::symbols::Symbol;
use super::wide_atomic::Vectored;
use crate::Error;
use crate::float::{self, BF16, F16, Format, Rounding};
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type, Width};
use crate::machine::Strength;
use crate::machine::access_mode::{ACQUIRES, COMPARES, Mode, RELEASES, Scope, scope_bits, strength_bits};
use crate::machine::atomic::atomic;
use crate::machine::branching::nothing;
use crate::machine::linear::Operation;
use crate::machine::memory::{Cell, load, load_parameter, load_vector, store, store_vector};
use crate::machine::program::{Constant, Exec};

/// An address: a register or constant, an offset, and the access mode.
struct Address {
    base: Operand,
    offset: i64,
    mode: Mode,
    /// The offset and size of a kernel's parameter, if the address is one.
    parameter: Option<(u32, u32)>,
}

/// The order and the scope that an access states.
pub(super) struct Ordering {
    /// Whether the access synchronizes, and so can reveal the order of blocks. Atomic operations are strong without this.
    pub strong: bool,
    pub releases: bool,
    pub acquires: bool,
    pub scope: Scope,
    /// Its strength for other launches, if it is strong or atomic.
    pub strength: Strength,
}

impl Ordering {
    /// The bits of an atomic operation's mode.
    pub(super) fn bits(&self) -> u32 {
        let order = if self.acquires { ACQUIRES } else { 0 } | if self.releases { RELEASES } else { 0 };
        order | scope_bits(self.scope) | strength_bits(self.strength)
    }
}

/// The access of a load or store. Other threads may wait for a strong one, so it is not plain.
fn plain_access(stores: bool, strong: bool, bytes: u64) -> Access {
    match (stores, strong) {
        (_, true) => Access::None,
        (true, false) => Access::Store(bytes as u32),
        (false, false) => Access::Load(bytes as u32),
    }
}

impl<'a> Builder<'_, 'a> {
    fn address(&mut self, operand: &'a Written<'a>, space: Space) -> Result<Address, Error> {
        let (base, offset) = match operand {
            Written::Address { base, offset } => (*base, *offset),
            Written::Element { name, register: None, index } => {
                let (size, _) = self.array(name)?;
                (Some(*name), index.wrapping_mul(size))
            }
            Written::Element { name, register, index } => {
                let (_, own) = self.array(name)?;
                let base = self.element(name, *register, *index, Type::U64)?;
                return Ok(Address { base, offset: 0, mode: Mode::new(own.unwrap_or(space), true), parameter: None });
            }
            _ => return Err(self.wrong("", "an address in brackets is expected")),
        };
        // Registers hold addresses of parameters as generic ones.
        let by_register = if space == Space::Param { Space::Generic } else { space };
        let mode = |space, wide| Mode::new(space, wide);
        let Some(name) = base else {
            let base = self.constant(Constant::Bits(0), Width::W64);
            return Ok(Address { base, offset, mode: mode(by_register, true), parameter: None });
        };
        if let Some((register, declared)) = self.find_register(name) {
            let wide = match declared.width() {
                Width::W64 => true,
                Width::W32 if declared.bits() == 32 => false,
                _ => return Err(self.wrong(name, "this register cannot hold an address")),
            };
            return Ok(Address {
                base: Operand::Register(register),
                offset,
                mode: mode(by_register, wide),
                parameter: None,
            });
        }
        match self.find_variable(name) {
            Some(Local::Memory { offset: place, .. }) => {
                let base = Operand::Register(self.frame_base());
                let offset = offset.wrapping_add(i64::from(place));
                return Ok(Address { base, offset, mode: mode(Space::Local, true), parameter: None });
            }
            Some(Local::Parameter { offset: place, size }) => {
                let inside = u32::try_from(offset).ok().filter(|offset| *offset <= size);
                let inside = inside.ok_or_else(|| self.wrong(name, "this offset is outside of the parameter"))?;
                let base = self.constant(Constant::Bits(0), Width::W64);
                let offset = i64::from(place + inside);
                let parameter = Some((place + inside, size - inside));
                return Ok(Address { base, offset, mode: mode(Space::Param, true), parameter });
            }
            Some(Local::Program(number)) => return Ok(self.of_variable(number, offset, space)),
            None => {}
        }
        match self.symbols.lookup(self.module, name) {
            Some(Symbol::Variable(number)) => Ok(self.of_variable(number, offset, space)),
            _ => Err(self.wrong(name, "this name is not declared")),
        }
    }

    /// Resolves an address: base, offset, and the code of its mode.
    pub(super) fn place(&mut self, operand: &'a Written<'a>, space: Space) -> Result<(Operand, i64, u32), Error> {
        let address = self.address(operand, space)?;
        Ok((address.base, address.offset, address.mode.code()))
    }

    fn of_variable(&mut self, number: u32, offset: i64, space: Space) -> Address {
        let own = self.program_variable(number).space;
        let constant = self.variable_address(number, 0);
        let base = self.constant(constant, Width::W64);
        // Without a space, the name of a shared variable is still an address in shared memory.
        let space = if own == Space::Shared { Space::Shared } else { space };
        Address { base, offset, mode: Mode::new(space, true), parameter: None }
    }

    /// Takes the order and scope.
    pub(super) fn ordering(&mut self, words: &mut Modifiers<'a>) -> Ordering {
        let releases = words.one_of(&["release", "acq_rel", "seq_cst"]);
        // A volatile access is a relaxed one of the whole system.
        let volatile = words.one_of(&["volatile", "mmio"]).is_some();
        let order = words.one_of(&["relaxed", "acquire"]);
        let strong = order.is_some() || releases.is_some() || volatile;
        words.take("weak");
        words.take("mmio");
        let (strength, scope) = match words.one_of(&["sys", "gpu", "cluster", "cta"]) {
            _ if volatile => (Strength::System, Scope::System),
            Some(0) => (Strength::System, Scope::System),
            Some(1) | None => (Strength::Device, Scope::Device),
            Some(2) => (Strength::Weak, Scope::Cluster),
            Some(_) => (Strength::Weak, Scope::Block),
        };
        let acquires = order == Some(1) || releases.is_some_and(|order| order > 0);
        Ordering { strong, releases: releases.is_some(), acquires, scope, strength }
    }

    /// Notes that an access releases or acquires for threads of other launches.
    fn note_ordering(&mut self, releases: bool, acquires: bool, strength: Strength) {
        if strength != Strength::Weak {
            let built = self.built();
            built.publishes |= releases;
            built.observes |= acquires;
        }
    }

    /// Notes an atomic operation, for the choice of the search for races.
    pub(super) fn note_hand_over(&mut self, shared: bool, ordering: &Ordering, has_result: bool) {
        let narrow = !shared && ordering.scope < Scope::Device;
        let hand_over = &mut self.built().hand_over;
        hand_over.strong |= narrow || ordering.acquires || ordering.releases;
        hand_over.results |= has_result;
    }

    /// Notes an atomic operation in global memory.
    pub(super) fn note_atomic(&mut self, releases: bool, has_result: bool, strength: Strength) {
        self.built().publishes_to_host |= strength == Strength::System;
        self.note_ordering(releases, has_result, strength);
    }

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
            // Cache hints access no memory.
            words.space();
            words.drop_hints(&["L1", "L2", "evict", "tensormap"]);
            let draft = self.draft(nothing);
            self.push(draft);
            return Ok(());
        }
        let ordering = self.ordering(words);
        let Ordering { strong, releases, strength, .. } = ordering;
        let read_only = words.take("nc");
        for hint in ["ca", "cg", "cs", "lu", "cv", "wb", "wt"] {
            words.take(hint);
        }
        words.drop_hints(&["L1", "L2", "level", "unified"]);
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
        let mut address = self.address(address, space)?;
        (address.mode.strong, address.mode.releases) = (strong, releases);
        (address.mode.acquires, address.mode.scope) = (ordering.acquires, ordering.scope);
        address.mode.read_only = read_only && !stores;
        self.built().writes_otherwise |= stores && strong;
        self.built().hand_over.strong |= strong && !matches!(address.mode.space, Space::Param | Space::Local);
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
        let wide = width == Some(Width::W64);
        if vector.is_none() {
            if !stores && let Some((place, left)) = address.parameter {
                if u64::from(left) < ty.size() || u64::from(place) % ty.size() != 0 {
                    return Err(self.wrong(opcode, "the access is larger than the parameter, or misaligned"));
                }
                let exec = cell(ty, wide, PARAMETER);
                let (d, access) = (registers[0], Access::Parameter(ty.size() as u32));
                let linear = Some(Operation::Parameter);
                let draft = Draft { d, imm: place.into(), access, linear, ..self.draft(exec) };
                self.push(draft);
                return Ok(());
            }
            let exec = cell(ty, wide, if stores { STORE } else { LOAD });
            let (d, b) = if stores { (Operand::Nothing, registers[0]) } else { (registers[0], Operand::Nothing) };
            let (a, c) = (address.base, Operand::Number(address.mode.code()));
            let results = if stores || strong { Results::Any } else { Results::Load };
            let access = plain_access(stores, strong, ty.size());
            let draft = Draft { d, a, b, c, imm: address.offset, results, access, ..self.draft(exec) };
            self.push(draft);
            return Ok(());
        }
        self.moved(ty, wide, stores, registers, &mut address)
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
        let draft = Draft { a, c, extra: registers, written, imm: address.offset, results, access, ..self.draft(exec) };
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

    pub(super) fn atomic(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        if words.rest().contains(&"async") {
            return self.asynchronous_store(instruction, words);
        }
        let ordering = self.ordering(words);
        let Ordering { releases, strength, .. } = ordering;
        words.drop_hints(&["L1", "L2", "level", "noftz"]);
        let space = words.space().unwrap_or(Space::Generic);
        let operation = words.one_of(&["and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max"]);
        let operation = self.needed(instruction, operation)?;
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        let reduces = instruction.opcode == "red";
        let compares = operation == 3;
        if let Some(count) = words.one_of(&["v2", "v4", "v8"]).map(|index| 2_usize << index) {
            let what = match operation {
                5 => Vectored::Add,
                8 => Vectored::Min,
                9 => Vectored::Max,
                _ => return self.refuse(instruction),
            };
            return self.atomic_vector(instruction, space, what, count, ty, &ordering);
        }
        if ty == Type::B128 && !reduces && (compares || operation == 4) {
            return self.atomic128(instruction, space, compares, &ordering);
        }
        if reduces && (compares || operation == 4) {
            return self.refuse(instruction);
        }
        let exec = operations(operation, ty);
        let exec = self.needed(instruction, exec)?;
        let operands = &instruction.operands;
        let wanted = usize::from(!reduces) + 2 + usize::from(compares);
        self.count(instruction, &[wanted, wanted + 1])?;
        let mut rest = operands.iter();
        let mut d = Operand::Nothing;
        if !reduces
            && let Some(target) = rest.next()
            && *target != Written::Nothing
        {
            d = self.target(target, ty)?;
        }
        let (Some(address), Some(value)) = (rest.next(), rest.next()) else { return self.refuse(instruction) };
        let mut address = self.address(address, space)?;
        // An exchange does not depend on the old contents.
        (address.mode.releases, address.mode.updates) = (releases, operation != 4);
        address.mode.strength = strength;
        (address.mode.acquires, address.mode.scope) = (ordering.acquires, ordering.scope);
        if !matches!(address.mode.space, Space::Global | Space::Generic | Space::Shared) {
            return self.refuse(instruction);
        }
        let b = self.source(value, ty)?;
        let other = match rest.next() {
            Some(other) if compares => self.source(other, ty)?,
            _ => Operand::Nothing,
        };
        // Only exact operations without a result commute.
        let commutes = d == Operand::Nothing && !compares && operation != 4 && (!ty.is_float() || operation > 7);
        self.note_hand_over(address.mode.space == Space::Shared, &ordering, d != Operand::Nothing);
        if address.mode.space != Space::Shared {
            self.built().ordered |= !commutes;
            self.note_atomic(releases, d != Operand::Nothing, strength);
        }
        let swaps = if compares { COMPARES } else { 0 };
        let (a, c) = (address.base, Operand::Number(address.mode.code() | swaps));
        let results = if compares { Results::CompareAndSwap } else { Results::Any };
        let draft = Draft { d, a, b, c, extra: vec![other], imm: address.offset, results, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    /// Loads a function's register parameter when the function begins.
    pub(super) fn load_local(&mut self, register: u32, ty: Type, place: u32) {
        let exec = cell(ty, ty.width() == Width::W64, LOAD);
        let a = Operand::Register(self.frame_base());
        let c = Operand::Number(Mode::new(Space::Local, true).code());
        let draft = Draft { d: Operand::Register(register), a, c, imm: place.into(), ..self.draft(exec) };
        self.push(draft);
    }

    /// Stores a register into a variable of the function.
    pub(super) fn store_local(&mut self, source: Operand, ty: Type, place: u32) {
        let exec = cell(ty, ty.width() == Width::W64, STORE);
        let a = Operand::Register(self.frame_base());
        let c = Operand::Number(Mode::new(Space::Local, true).code());
        let draft = Draft { a, b: source, c, imm: place.into(), ..self.draft(exec) };
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

fn operations(operation: usize, ty: Type) -> Option<Exec> {
    use Type::{B16, B32, B64, F32, F64, S32, S64, U32, U64};
    Some(match (operation, ty) {
        (0, B32) => atomic(|old: u32, b, _| old & b),
        (0, B64) => atomic(|old: u64, b, _| old & b),
        (1, B32) => atomic(|old: u32, b, _| old | b),
        (1, B64) => atomic(|old: u64, b, _| old | b),
        (2, B32) => atomic(|old: u32, b, _| old ^ b),
        (2, B64) => atomic(|old: u64, b, _| old ^ b),
        (3, B16) => atomic(|old: u16, b, c| if old == b { c } else { old }),
        (3, B32 | U32 | S32) => atomic(|old: u32, b, c| if old == b { c } else { old }),
        (3, B64 | U64 | S64) => atomic(|old: u64, b, c| if old == b { c } else { old }),
        (4, B32 | U32 | S32) => atomic(|_: u32, b, _| b),
        (4, B64 | U64 | S64) => atomic(|_: u64, b, _| b),
        (5, U32 | S32) => atomic(|old: u32, b, _| old.wrapping_add(b)),
        (5, U64 | S64) => atomic(|old: u64, b, _| old.wrapping_add(b)),
        (5, F32) => atomic(|old: f32, b: f32, _| quiet32(old + b)),
        (5, F64) => atomic(|old: f64, b: f64, _| quiet64(old + b)),
        (5, Type::F16) => atomic(|old: u16, b: u16, _| sum(F16, old.into(), b.into()) as u16),
        (5, Type::BF16) => atomic(|old: u16, b: u16, _| sum(BF16, old.into(), b.into()) as u16),
        (5, Type::F16x2) => atomic(|old: u32, b: u32, _| sums(F16, old, b)),
        (5, Type::BF16x2) => atomic(|old: u32, b: u32, _| sums(BF16, old, b)),
        (6, U32) => atomic(|old: u32, b, _| if old >= b { 0 } else { old + 1 }),
        (7, U32) => atomic(|old: u32, b, _| if old == 0 || old > b { b } else { old - 1 }),
        (8, U32) => atomic(|old: u32, b: u32, _| old.min(b)),
        (8, S32) => atomic(|old: i32, b: i32, _| old.min(b)),
        (8, U64) => atomic(|old: u64, b: u64, _| old.min(b)),
        (8, S64) => atomic(|old: i64, b: i64, _| old.min(b)),
        (9, U32) => atomic(|old: u32, b: u32, _| old.max(b)),
        (9, S32) => atomic(|old: i32, b: i32, _| old.max(b)),
        (9, U64) => atomic(|old: u64, b: u64, _| old.max(b)),
        (9, S64) => atomic(|old: i64, b: i64, _| old.max(b)),
        _ => return None,
    })
}

fn sum(format: Format, a: u64, b: u64) -> u64 {
    float::add(format, a, b, Rounding::Near)
}

fn sums(format: Format, a: u32, b: u32) -> u32 {
    let half = |shift: u32| {
        let part = |value: u32| u64::from(value >> shift & 0xffff);
        (sum(format, part(a), part(b)) as u32) << shift
    };
    half(0) | half(16)
}
