//! Elements of arrays as operands: `name[4]`, `name[%r1]`.
//!
//! PTX manual: [arrays as
//! operands](https://docs.nvidia.com/cuda/parallel-thread-execution/#operands-arrays-as-operands). `mov` takes the
//! address of the element, loads and stores access the element. NVIDIA's assembler computes the offset of a register
//! index in 32 bits.

use super::builder::{Builder, Local};
use super::draft::Operand;
use super::symbols::Symbol;
use crate::Error;
use crate::grammar::types::{Space, Type, Width};
use crate::machine::lanes::{map1, map2};

impl<'a> Builder<'_, 'a> {
    /// Resolves the address of an element as a value of a type.
    pub(super) fn element(
        &mut self,
        name: &'a str,
        register: Option<&'a str>,
        index: i64,
        ty: Type,
    ) -> Result<Operand, Error> {
        let (size, _) = self.array(name)?;
        let Some(register) = register else {
            return self.address_of(name, index.wrapping_mul(size), ty);
        };
        let offset = self.element_offset(register, index, size)?;
        let base = self.address_of(name, 0, ty)?;
        let sum = Operand::Register(self.register(ty.width()));
        let exec = match ty.width() {
            Width::W64 => map2(|base: u64, offset: u32| base.wrapping_add(u64::from(offset))),
            _ => map2(|base: u32, offset: u32| base.wrapping_add(offset)),
        };
        self.emit_always(exec, sum, [base, offset, Operand::Nothing]);
        Ok(sum)
    }

    /// Returns the size of an array's elements, and the space of the array's addresses.
    pub(super) fn array(&self, name: &str) -> Result<(i64, Option<Space>), Error> {
        let (size, space) = match self.find_variable(name) {
            Some(Local::Memory { element, .. }) => (element, Some(Space::Local)),
            Some(Local::Program(number)) => (self.element_size(number), self.shared_space(number)),
            Some(Local::Parameter { .. }) => return Err(self.wrong(name, "a parameter has no elements")),
            None => match self.symbols.lookup(self.module, name) {
                Some(Symbol::Variable(number)) => (self.element_size(number), self.shared_space(number)),
                _ => return Err(self.wrong(name, "the array is not declared")),
            },
        };
        Ok((i64::from(size), space))
    }

    /// Shared memory, if a variable is there: its name is an address there even without a space.
    fn shared_space(&self, number: u32) -> Option<Space> {
        Some(self.program_variable(number).space).filter(|space| *space == Space::Shared)
    }

    fn element_offset(&mut self, register: &'a str, index: i64, size: i64) -> Result<Operand, Error> {
        let Some((number, declared)) = self.find_register(register) else {
            return Err(self.wrong(register, "the register is not declared"));
        };
        let exec = match declared.width() {
            Width::W64 => map1(|a: u64| a as u32),
            Width::W32 if matches!(declared, Type::S16) => map1(|a: u32| i32::from(a as i16) as u32),
            Width::W32 => map1(|a: u32| a),
            _ => return Err(self.wrong(register, "the register cannot be an index")),
        };
        let narrow = Operand::Register(self.register(Width::W32));
        self.emit_always(exec, narrow, [Operand::Register(number), Operand::Nothing, Operand::Nothing]);
        let (index, size) = (self.bits(Type::U32, index as u64), self.bits(Type::U32, size as u64));
        let sum = Operand::Register(self.register(Width::W32));
        self.emit_always(map2(|a: u32, b: u32| a.wrapping_add(b)), sum, [narrow, index, Operand::Nothing]);
        let offset = Operand::Register(self.register(Width::W32));
        self.emit_always(map2(|a: u32, b: u32| a.wrapping_mul(b)), offset, [sum, size, Operand::Nothing]);
        Ok(offset)
    }
}
