//! The code of instructions with templates: the result of a part of a row, or of a value that is computed once.
//!
//! The first lane's value of a linear register is computed like a part of a row. It is repeated in all lanes of a vector register. The results are those of `lanes` and `resolve`, bit by bit.

use super::cache::{Emitted, REPEATED, X, Y};
use super::context::PARAMETERS;
use super::emitter::Emitter;
use super::value::{Computed, EQUAL, Kind};
use crate::machine::linear::Operation;
use crate::machine::program::Instruction;
use crate::machine::template::{Arithmetic, Template};
use iced_x86::code_asm::*;

/// The immediate operands of comparisons.
pub(super) const LESS: u32 = 0x11;
const GREATER_OR_EQUAL: u32 = 0x1d;
const ORDERED: u32 = 7;
pub(super) const UNORDERED: u32 = 3;

/// The number that every lane of 64 bits, or of 32 bits, has.
pub(super) fn all(value: u64, wide: bool) -> [u32; 8] {
    std::array::from_fn(|word| if wide && word % 2 == 1 { (value >> 32) as u32 } else { value as u32 })
}

impl Emitter<'_> {
    /// Emits an instruction with a template. Returns `false` if its function has to execute it.
    pub(super) fn compute(&mut self, pc: u32, computed: Computed) -> Emitted<bool> {
        let program = self.known.program;
        let (instruction, pattern) = (program.code[pc as usize], program.patterns[pc as usize]);
        let wide = pattern.wide;
        match pattern.template {
            Some(Template::Integer(operation)) => self.integer(operation, &instruction, wide, computed),
            Some(Template::Further(arithmetic)) => self.further(arithmetic, &instruction, wide, computed),
            _ => Ok(false),
        }
    }

    /// Computes the register `d` part by part, or once. `f` returns the vector register with a part.
    pub(super) fn each(
        &mut self,
        (d, wide): (u32, bool),
        computed: Computed,
        f: impl Fn(&mut Self, u8) -> Emitted<usize>,
    ) -> Emitted<bool> {
        match computed {
            Computed::Once(steps, _) => {
                let at = f(self, REPEATED)?;
                self.define(at, d, REPEATED, wide);
                self.set_kind(d, Kind::Linear(steps));
            }
            Computed::Rows => {
                for part in 0..if wide { 8 } else { 4 } {
                    self.cache.unlock();
                    let mut at = f(self, part)?;
                    if let Some(guard) = self.guard {
                        if self.noise {
                            // The old values keep their NaNs.
                            self.quiet(at, wide)?;
                        }
                        at = self.keep_unguarded(guard, at, (d, part, wide))?;
                    }
                    self.define(at, d, part, wide);
                }
                self.set_kind(d, Kind::Row);
            }
        }
        Ok(true)
    }

    /// Takes the old values of a part of a register in the lanes whose guard does not hold.
    fn keep_unguarded(
        &mut self,
        (place, negated): (u32, bool),
        new: usize,
        (d, part, wide): (u32, u8, bool),
    ) -> Emitted<usize> {
        let (old, at) = (self.part(d, part, wide)?, self.take()?);
        self.holding(place, part, wide)?;
        if negated {
            self.asm.vblendvps(Y[at], Y[new], Y[old], ymm15)?;
        } else {
            self.asm.vblendvps(Y[at], Y[old], Y[new], ymm15)?;
        }
        Ok(at)
    }

    /// A part of an operand, or its first lane.
    pub(super) fn source(&mut self, operand: u32, part: u8, wide: bool) -> Emitted<usize> {
        if part == REPEATED { self.repeated(operand, wide) } else { self.part(operand, part, wide) }
    }

    /// Four lanes of an operand of 32 bits, for a part of 64 bits. They may be in the vector register `temporary`, until a further one is
    /// taken.
    pub(super) fn half(&mut self, operand: u32, part: u8, temporary: usize) -> Emitted<AsmRegisterXmm> {
        let at = self.source(operand, if part == REPEATED { part } else { part / 2 }, false)?;
        if part == REPEATED || part.is_multiple_of(2) {
            return Ok(X[at]);
        }
        self.asm.vextracti128(X[temporary], Y[at], 1)?;
        Ok(X[temporary])
    }

    /// An operation of two operands, emitted by one instruction.
    fn two(
        &mut self,
        &Instruction { d, a, b, .. }: &Instruction,
        wide: bool,
        computed: Computed,
        f: impl Fn(&mut CodeAssembler, AsmRegisterYmm, AsmRegisterYmm, AsmRegisterYmm) -> Emitted,
    ) -> Emitted<bool> {
        self.each((d, wide), computed, |emitter, part| {
            let (x, y) = (emitter.source(a, part, wide)?, emitter.source(b, part, wide)?);
            let at = emitter.take()?;
            f(&mut emitter.asm, Y[at], Y[x], Y[y])?;
            Ok(at)
        })
    }

    fn one(
        &mut self,
        &Instruction { d, a, .. }: &Instruction,
        wide: bool,
        computed: Computed,
        f: impl Fn(&mut CodeAssembler, AsmRegisterYmm, AsmRegisterYmm) -> Emitted,
    ) -> Emitted<bool> {
        self.each((d, wide), computed, |emitter, part| {
            let x = emitter.source(a, part, wide)?;
            let at = emitter.take()?;
            f(&mut emitter.asm, Y[at], Y[x])?;
            Ok(at)
        })
    }

    fn integer(
        &mut self,
        operation: Operation,
        instruction: &Instruction,
        wide: bool,
        computed: Computed,
    ) -> Emitted<bool> {
        let i = instruction;
        let Instruction { d, a, b, c, .. } = *i;
        match (operation, wide) {
            (Operation::Copy, _) => self.one(i, wide, computed, |asm, d, x| asm.vmovdqa(d, x)),
            (Operation::Add, true) => self.two(i, wide, computed, |asm, d, x, y| asm.vpaddq(d, x, y)),
            (Operation::Add, false) => self.two(i, wide, computed, |asm, d, x, y| asm.vpaddd(d, x, y)),
            (Operation::Subtract, true) => self.two(i, wide, computed, |asm, d, x, y| asm.vpsubq(d, x, y)),
            (Operation::Subtract, false) => self.two(i, wide, computed, |asm, d, x, y| asm.vpsubd(d, x, y)),
            (Operation::And, _) => self.two(i, wide, computed, |asm, d, x, y| asm.vpand(d, x, y)),
            (Operation::Or, _) => self.two(i, wide, computed, |asm, d, x, y| asm.vpor(d, x, y)),
            (Operation::Xor, _) => self.two(i, wide, computed, |asm, d, x, y| asm.vpxor(d, x, y)),
            (Operation::Not, _) => self.one(i, wide, computed, |asm, d, x| {
                asm.vpcmpeqd(ymm15, ymm15, ymm15)?;
                asm.vpxor(d, x, ymm15)
            }),
            (Operation::Negate, _) => self.one(i, wide, computed, |asm, d, x| {
                asm.vpxor(ymm15, ymm15, ymm15)?;
                if wide { asm.vpsubq(d, ymm15, x) } else { asm.vpsubd(d, ymm15, x) }
            }),
            (Operation::Multiply, false) => self.two(i, wide, computed, |asm, d, x, y| asm.vpmulld(d, x, y)),
            (Operation::Multiply, true) => self.two(i, wide, computed, multiply64),
            (Operation::MultiplyAdd, _) => self.each((d, wide), computed, |emitter, part| {
                let (x, y) = (emitter.source(a, part, wide)?, emitter.source(b, part, wide)?);
                let (z, at) = (emitter.source(c, part, wide)?, emitter.take()?);
                if wide {
                    multiply64(&mut emitter.asm, Y[at], Y[x], Y[y])?;
                    emitter.asm.vpaddq(Y[at], Y[at], Y[z])?;
                } else {
                    emitter.asm.vpmulld(Y[at], Y[x], Y[y])?;
                    emitter.asm.vpaddd(Y[at], Y[at], Y[z])?;
                }
                Ok(at)
            }),
            (Operation::MultiplyWide { signed }, _) => {
                self.each((d, true), computed, |emitter, part| emitter.wide_product((a, b), part, signed))
            }
            (Operation::Extend { signed }, _) => self.each((d, true), computed, |emitter, part| {
                let at = emitter.take()?;
                let x = emitter.half(a, part, 15)?;
                if signed {
                    emitter.asm.vpmovsxdq(Y[at], x)?
                } else {
                    emitter.asm.vpmovzxdq(Y[at], x)?
                }
                Ok(at)
            }),
            (Operation::Truncate, _) => self.each((d, false), computed, |emitter, part| {
                let low = emitter.source(a, if part == REPEATED { part } else { 2 * part }, true)?;
                let high = emitter.source(a, if part == REPEATED { part } else { 2 * part + 1 }, true)?;
                let at = emitter.take()?;
                emitter.asm.vshufps(Y[at], Y[low], Y[high], 0x88)?;
                emitter.asm.vpermq(Y[at], Y[at], 0xd8)?;
                Ok(at)
            }),
            (Operation::ShiftLeft, false) => self.two(i, wide, computed, |asm, d, x, y| asm.vpsllvd(d, x, y)),
            (Operation::ShiftRight { signed: true }, false) => {
                self.two(i, wide, computed, |asm, d, x, y| asm.vpsravd(d, x, y))
            }
            (Operation::ShiftRight { signed: false }, false) => {
                self.two(i, wide, computed, |asm, d, x, y| asm.vpsrlvd(d, x, y))
            }
            (Operation::ShiftLeft | Operation::ShiftRight { .. }, true) => self.shift64(operation, i, computed),
            (Operation::Select, _) => self.select(i, wide, computed),
            (Operation::Compare { test, signed }, _) => self.compare(i, wide, test, signed),
            (Operation::Special | Operation::Parameter, _) => self.of_launch(operation, i, wide, computed),
        }
    }

    /// A special register, or a parameter of the kernel.
    fn of_launch(
        &mut self,
        operation: Operation,
        &Instruction { d, imm, .. }: &Instruction,
        wide: bool,
        computed: Computed,
    ) -> Emitted<bool> {
        if computed == Computed::Rows {
            return Ok(false);
        }
        if operation == Operation::Parameter {
            let Ok(offset) = i32::try_from(imm) else { return Ok(false) };
            return self.each((d, wide), computed, |emitter, _| {
                emitter.asm.mov(rax, qword_ptr(r12 + PARAMETERS))?;
                emitter.broadcast(rax + offset, wide)
            });
        }
        let Some(index) = self.known.flow.specials.iter().position(|number| *number == imm) else { return Ok(false) };
        let place = 8 * (self.known.flow.registers.len() + index) as i32;
        self.each((d, wide), computed, |emitter, _| emitter.broadcast(rbp + place, wide))
    }

    fn broadcast(&mut self, place: AsmMemoryOperand, wide: bool) -> Emitted<usize> {
        let at = self.take()?;
        if wide {
            self.asm.vpbroadcastq(Y[at], qword_ptr(place))?;
        } else {
            self.asm.vpbroadcastd(Y[at], dword_ptr(place))?;
        }
        Ok(at)
    }

    /// A part of the product of two operands of 32 bits.
    fn wide_product(&mut self, (a, b): (u32, u32), part: u8, signed: bool) -> Emitted<usize> {
        let at = self.take()?;
        let (x, y) = (self.half(a, part, 14)?, self.half(b, part, 15)?);
        self.asm.vpmovzxdq(ymm14, x)?;
        self.asm.vpmovzxdq(ymm15, y)?;
        if signed {
            self.asm.vpmuldq(Y[at], ymm14, ymm15)?
        } else {
            self.asm.vpmuludq(Y[at], ymm14, ymm15)?
        }
        Ok(at)
    }

    fn shift64(
        &mut self,
        operation: Operation,
        &Instruction { d, a, b, .. }: &Instruction,
        computed: Computed,
    ) -> Emitted<bool> {
        self.each((d, true), computed, |emitter, part| {
            let x = emitter.source(a, part, true)?;
            let at = emitter.take()?;
            let by = emitter.half(b, part, 15)?;
            let asm = &mut emitter.asm;
            asm.vpmovzxdq(ymm15, by)?;
            match operation {
                Operation::ShiftLeft => asm.vpsllvq(Y[at], Y[x], ymm15)?,
                Operation::ShiftRight { signed: true } => {
                    // There is no such shift: the complement of a negative number is shifted.
                    asm.vpxor(ymm14, ymm14, ymm14)?;
                    asm.vpcmpgtq(ymm14, ymm14, Y[x])?;
                    asm.vpxor(Y[at], Y[x], ymm14)?;
                    asm.vpsrlvq(Y[at], Y[at], ymm15)?;
                    asm.vpxor(Y[at], Y[at], ymm14)?;
                }
                _ => asm.vpsrlvq(Y[at], Y[x], ymm15)?,
            }
            Ok(at)
        })
    }

    fn further(
        &mut self,
        arithmetic: Arithmetic,
        instruction: &Instruction,
        wide: bool,
        computed: Computed,
    ) -> Emitted<bool> {
        let Instruction { d, a, b, c, .. } = *instruction;
        match arithmetic {
            Arithmetic::Minimum { signed } => self.extreme(instruction, wide, computed, (false, signed)),
            Arithmetic::Maximum { signed } => self.extreme(instruction, wide, computed, (true, signed)),
            Arithmetic::MultiplyAddWide { signed } => self.each((d, true), computed, |emitter, part| {
                let at = emitter.wide_product((a, b), part, signed)?;
                let z = emitter.source(c, part, true)?;
                emitter.asm.vpaddq(Y[at], Y[at], Y[z])?;
                Ok(at)
            }),
            Arithmetic::FloatNegate => {
                let sign = self.pooled(all(1 << if wide { 63 } else { 31 }, wide));
                self.one(instruction, wide, computed, |asm, d, x| asm.vpxor(d, x, ymmword_ptr(sign)))
            }
            Arithmetic::FloatAbsolute => {
                let rest = self.pooled(all(!(1 << if wide { 63 } else { 31 }), wide));
                self.one(instruction, wide, computed, |asm, d, x| asm.vpand(d, x, ymmword_ptr(rest)))
            }
            Arithmetic::FloatCompare(test) => self.float_compare(instruction, wide, test.into()),
            Arithmetic::MaskAnd | Arithmetic::MaskOr | Arithmetic::MaskXor | Arithmetic::MaskNot => {
                self.asm.mov(edx, Self::predicate(a))?;
                match arithmetic {
                    Arithmetic::MaskAnd => self.asm.and(edx, Self::predicate(b))?,
                    Arithmetic::MaskOr => self.asm.or(edx, Self::predicate(b))?,
                    Arithmetic::MaskXor => self.asm.xor(edx, Self::predicate(b))?,
                    _ => self.asm.not(edx)?,
                }
                self.set_predicate(d)?;
                self.set_kind(d, if computed == Computed::Rows { Kind::Row } else { Kind::Linear(EQUAL) });
                Ok(true)
            }
            Arithmetic::FloatFromSigned if !wide => {
                self.one(instruction, wide, computed, |asm, d, x| asm.vcvtdq2ps(d, x))
            }
            Arithmetic::FloatFromSigned => self.each((d, true), computed, |emitter, part| {
                let at = emitter.take()?;
                let x = emitter.half(a, part, 15)?;
                emitter.asm.vcvtdq2pd(Y[at], x)?;
                Ok(at)
            }),
            Arithmetic::SignedFromFloat => {
                let limit = self.pooled(all(0x4f00_0000, false));
                self.one(instruction, false, computed, |asm, d, x| {
                    asm.vcvttps2dq(d, x)?;
                    // Numbers above the range give the least number, whose complement is the greatest. A NaN gives zero.
                    asm.vcmpps(ymm15, x, ymmword_ptr(limit), GREATER_OR_EQUAL)?;
                    asm.vpxor(d, d, ymm15)?;
                    asm.vcmpps(ymm15, x, x, ORDERED)?;
                    asm.vpand(d, d, ymm15)
                })
            }
            _ => self.float(arithmetic, instruction, wide, computed),
        }
    }

    /// The least or greatest of two integers.
    fn extreme(
        &mut self,
        instruction: &Instruction,
        wide: bool,
        computed: Computed,
        (greatest, signed): (bool, bool),
    ) -> Emitted<bool> {
        let sign = self.pooled(all(1 << 63, true));
        self.two(instruction, wide, computed, |asm, d, x, y| match (wide, greatest, signed) {
            (false, false, false) => asm.vpminud(d, x, y),
            (false, false, true) => asm.vpminsd(d, x, y),
            (false, true, false) => asm.vpmaxud(d, x, y),
            (false, true, true) => asm.vpmaxsd(d, x, y),
            (true, ..) => {
                if signed {
                    asm.vpcmpgtq(ymm15, x, y)?;
                } else {
                    asm.vpxor(ymm14, x, ymmword_ptr(sign))?;
                    asm.vpxor(ymm15, y, ymmword_ptr(sign))?;
                    asm.vpcmpgtq(ymm15, ymm14, ymm15)?;
                }
                if greatest { asm.vblendvpd(d, y, x, ymm15) } else { asm.vblendvpd(d, x, y, ymm15) }
            }
        })
    }
}

/// The lower half of a product of 64 bits.
fn multiply64(asm: &mut CodeAssembler, d: AsmRegisterYmm, x: AsmRegisterYmm, y: AsmRegisterYmm) -> Emitted {
    asm.vpsrlq(ymm14, x, 32)?;
    asm.vpmuludq(ymm14, ymm14, y)?;
    asm.vpsrlq(ymm15, y, 32)?;
    asm.vpmuludq(ymm15, ymm15, x)?;
    asm.vpaddq(ymm14, ymm14, ymm15)?;
    asm.vpsllq(ymm14, ymm14, 32)?;
    asm.vpmuludq(d, x, y)?;
    asm.vpaddq(d, d, ymm14)
}
