//! Integer arithmetic with the carry flag.
//!
//! The flag of a subtraction is the carry of `a + !b + flag`, so it is 0 after a borrow. NVIDIA's compilers combine
//! `sub.cc` with `addc`, which reads that carry.
//!
//! PTX manual: [extended-precision integer
//! arithmetic](https://docs.nvidia.com/cuda/parallel-thread-execution/#extended-precision-integer-arithmetic-instructions).

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::integer_operations::{high_product, low_product};
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::Instruction;
use crate::grammar::types::Type;
use crate::machine::program::{Exec, Instruction as Code};
use crate::machine::{Flow, Machine};

impl<'a> Builder<'_, 'a> {
    /// Resolves arithmetic with the carry flag.
    pub(super) fn carried(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let sets = words.take("cc");
        let half = words.one_of(&["lo", "hi"]);
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        let opcode = instruction.opcode;
        let (takes, subtracts) = (opcode.ends_with('c'), opcode.starts_with("sub"));
        let product = opcode.starts_with("mad");
        self.count(instruction, &[if product { 4 } else { 3 }])?;
        let operands = &instruction.operands;
        let mut a = self.source(&operands[1], ty)?;
        let mut b = self.source(&operands[2], ty)?;
        if product {
            let exec = if half == Some(1) { high_product(ty) } else { low_product(ty) };
            let exec = self.needed(instruction, exec)?;
            let register = Operand::Register(self.register(ty.width()));
            self.emit_always(exec, register, [a, b, Operand::Nothing]);
            a = register;
            b = self.source(&operands[3], ty)?;
        }
        let d = self.target(&operands[0], ty)?;
        let exec: Exec = match (ty, subtracts) {
            (Type::U32 | Type::S32 | Type::B32, false) => carry32::<false>,
            (Type::U32 | Type::S32 | Type::B32, true) => carry32::<true>,
            (Type::U64 | Type::S64 | Type::B64, false) => carry64::<false>,
            (Type::U64 | Type::S64 | Type::B64, true) => carry64::<true>,
            _ => return self.refuse(instruction),
        };
        let carry = Operand::Register(self.carry());
        // The carry flag before and after the sum.
        let spare = Operand::Register(self.register(Type::Pred.width()));
        let out = if sets { carry } else { spare };
        let draft =
            Draft { d, a, b, c: carry, extra: vec![out], written: 1, imm: i64::from(takes), ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }
}

macro_rules! carry {
    ($name:ident, $ty:ty) => {
        /// `d = a + b + flag`, or `d = a + !b + flag`. `c` is the flag if `imm` is 1; else the flag is 0, and 1 in a
        /// subtraction. The further operand receives the new flag.
        unsafe fn $name<const SUBTRACTS: bool>(machine: &mut Machine<'_>, instruction: &Code) -> Flow {
            // SAFETY: the operands are registers or constants of these types, which the resolver checked.
            unsafe {
                let a = machine.slots::<[$ty; 32]>(instruction.a).read();
                let b = machine.slots::<[$ty; 32]>(instruction.b).read();
                let without = if SUBTRACTS { u32::MAX } else { 0 };
                let flag = if instruction.imm == 1 { machine.predicate(instruction.c) } else { without };
                let (d, mask, mut out) = (machine.slots::<[$ty; 32]>(instruction.d), machine.mask, 0_u32);
                let mut results = d.read();
                for lane in 0..32 {
                    let carry = (flag >> lane & 1) as $ty;
                    let other = if SUBTRACTS { !b[lane] } else { b[lane] };
                    let (first, one) = a[lane].overflowing_add(other);
                    let (result, two) = first.overflowing_add(carry);
                    results[lane] = if mask >> lane & 1 == 1 { result } else { results[lane] };
                    out |= u32::from(one | two) << lane;
                }
                d.write(results);
                let target = machine.extra(instruction, 0);
                machine.set_predicate(target, out);
            }
            Flow::Next
        }
    };
}
carry!(carry32, u32);
carry!(carry64, u64);
