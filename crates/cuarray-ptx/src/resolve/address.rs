//! Addresses of accesses: registers, variables, parameters and elements of arrays.
//!
//! PTX manual: [addresses as operands](https://docs.nvidia.com/cuda/parallel-thread-execution/#using-addresses-arrays-and-vectors).

use super::builder::{Builder, Local};
use super::draft::Operand;
use super::symbols::Symbol;
use crate::Error;
use crate::grammar::ast::Operand as Written;
use crate::grammar::types::{Space, Type, Width};
use crate::machine::access_mode::Mode;
use crate::machine::lanes::{compare, map2, masks};
use crate::machine::program::Constant;

/// An address: a register or constant, an offset, and the access mode.
pub(super) struct Address {
    pub base: Operand,
    pub offset: i64,
    pub mode: Mode,
    /// The offset and size of a kernel's parameter, if the address is one.
    pub parameter: Option<(u32, u32)>,
}

impl<'a> Builder<'_, 'a> {
    /// Resolves an address with its access mode.
    pub(super) fn address(&mut self, operand: &'a Written<'a>, space: Space) -> Result<Address, Error> {
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
        let mode = |space, wide| Mode::new(space, wide);
        // The parameters of a function are in local memory.
        let by_register = if space == Space::Param && !self.function.entry { Space::Local } else { space };
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
            let base = Operand::Register(register);
            if matches!(space, Space::Generic | Space::Global) && !wide {
                return Err(self.wrong(name, "the register has 32 bits, and an address in this space has 64"));
            }
            if space == Space::Const && !wide {
                let base = self.wide_constant_address(base);
                return Ok(Address { base, offset, mode: mode(space, true), parameter: None });
            }
            return Ok(Address { base, offset, mode: mode(by_register, wide), parameter: None });
        }
        match self.find_variable(name) {
            Some(Local::Memory { space: own, offset: place, .. }) => {
                self.match_space(name, own, space)?;
                let base = Operand::Register(self.frame_base());
                let offset = offset.wrapping_add(i64::from(place));
                return Ok(Address { base, offset, mode: mode(Space::Local, true), parameter: None });
            }
            Some(Local::Parameter { offset: place, size }) => {
                self.match_space(name, Space::Param, space)?;
                let inside = u32::try_from(offset).ok().filter(|offset| *offset <= size);
                let inside = inside.ok_or_else(|| self.wrong(name, "this offset is outside of the parameter"))?;
                let base = self.constant(Constant::Bits(0), Width::W64);
                let offset = i64::from(place + inside);
                let parameter = Some((place + inside, size - inside));
                return Ok(Address { base, offset, mode: mode(Space::Param, true), parameter });
            }
            Some(Local::Program(number)) => return self.of_variable(number, offset, space),
            None => {}
        }
        match self.symbols.lookup(self.module, name) {
            Some(Symbol::Variable(number)) => self.of_variable(number, offset, space),
            _ => Err(self.wrong(name, "this name is not declared")),
        }
    }

    /// Whether an address is in a register of 32 bits.
    pub(super) fn has_narrow_base(&mut self, operand: &Written<'a>) -> bool {
        let Written::Address { base: Some(name), .. } = operand else { return false };
        self.find_register(name).is_some_and(|(_, declared)| declared.width() == Width::W32)
    }

    /// Resolves an address: base, offset, and the code of its mode.
    pub(super) fn place(&mut self, operand: &'a Written<'a>, space: Space) -> Result<(Operand, i64, u32), Error> {
        let address = self.address(operand, space)?;
        Ok((address.base, address.offset, address.mode.code()))
    }

    fn of_variable(&mut self, number: u32, offset: i64, space: Space) -> Result<Address, Error> {
        let variable = self.program_variable(number);
        let own = variable.space;
        self.match_space(&variable.name, own, space)?;
        let constant = self.variable_address(number, 0);
        let base = self.constant(constant, Width::W64);
        // Without a space, the name of a shared variable is still an address in shared memory.
        let space = if own == Space::Shared { Space::Shared } else { space };
        Ok(Address { base, offset, mode: Mode::new(space, true), parameter: None })
    }

    /// The space of a variable or parameter; `None` for other names.
    pub(super) fn space_of(&mut self, name: &'a str) -> Option<Space> {
        if self.find_register(name).is_some() {
            return None;
        }
        match self.find_variable(name) {
            Some(Local::Memory { space, .. }) => Some(space),
            Some(Local::Parameter { .. }) => Some(Space::Param),
            Some(Local::Program(number)) => Some(self.program_variable(number).space),
            None => match self.symbols.lookup(self.module, name) {
                Some(Symbol::Variable(number)) => Some(self.program_variable(number).space),
                _ => None,
            },
        }
    }

    /// Checks that an instruction of a space may name a variable of another space.
    pub(super) fn match_space(&self, name: &str, own: Space, space: Space) -> Result<(), Error> {
        // A generic access may name a variable whose space the assembler then uses.
        let generic = space == Space::Generic && matches!(own, Space::Global | Space::Shared | Space::Local);
        if own == space || generic {
            return Ok(());
        }
        let message = format!("the variable is in {}, and the instruction accesses {}", own.words(), space.words());
        Err(self.wrong(name, &message))
    }

    /// Checks that a load or store may access its space. Without a qualifier of `.param`, a register has the address of a
    /// parameter of the kernel in a kernel, and of the function in a function.
    pub(super) fn check_access(
        &mut self,
        operand: &'a Written<'a>,
        (space, qualifier): (Space, Option<&str>),
        stores: bool,
        address: &mut Address,
    ) -> Result<(), Error> {
        let register = match operand {
            Written::Address { base: Some(name), .. } => self.find_register(name),
            _ => None,
        };
        if stores && space == Space::Const {
            return Err(self.wrong("", "constant memory cannot be written"));
        }
        if space != Space::Param {
            return Ok(());
        }
        let of_kernel = match qualifier {
            Some(qualifier) => qualifier == "param::entry",
            None => address.parameter.is_some() || register.is_some() && self.function.entry,
        };
        let exists = match register {
            Some(_) => of_kernel || !self.function.entry,
            None => of_kernel == address.parameter.is_some(),
        };
        if !exists || of_kernel && stores {
            let message =
                if exists { "a kernel's parameters cannot be written" } else { "there is no such parameter here" };
            return Err(self.wrong("", message));
        }
        if of_kernel {
            address.mode.space = Space::Param;
        }
        Ok(())
    }

    /// The 64-bit address in constant memory whose low 32 bits a register has. The constant variables of a program lie
    /// together.
    fn wide_constant_address(&mut self, low: Operand) -> Operand {
        let first = self.constant_variables().next();
        let near = first.map_or(Constant::Bits(0), |(number, _)| Constant::Variable(number, 0));
        let near = self.constant(near, Width::W64);
        let wide = Operand::Register(self.register(Width::W64));
        let exec =
            map2(|low: u32, near: u64| near.wrapping_add_signed(i64::from(low.wrapping_sub(near as u32) as i32)));
        self.emit_always(exec, wide, [low, near, Operand::Nothing]);
        wide
    }

    /// The predicate that holds where a 64-bit register is an address in constant memory.
    pub(super) fn is_constant_address(&mut self, address: Operand) -> Operand {
        let mut any = self.bits(Type::Pred, 0);
        for (number, size) in self.constant_variables().collect::<Vec<_>>() {
            let start = self.constant(Constant::Variable(number, 0), Width::W64);
            let end = self.constant(Constant::Variable(number, size as i64), Width::W64);
            let [from, to, next] = [(); 3].map(|()| Operand::Register(self.register(Width::Predicate)));
            self.emit_always(compare(|a: u64, start: u64| a >= start), from, [address, start, Operand::Nothing]);
            self.emit_always(compare(|a: u64, end: u64| a < end), to, [address, end, Operand::Nothing]);
            self.emit_always(masks(|from, to| from & to), next, [from, to, Operand::Nothing]);
            let joined = Operand::Register(self.register(Width::Predicate));
            self.emit_always(masks(|any, next| any | next), joined, [any, next, Operand::Nothing]);
            any = joined;
        }
        any
    }
}
