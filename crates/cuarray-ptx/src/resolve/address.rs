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
}
