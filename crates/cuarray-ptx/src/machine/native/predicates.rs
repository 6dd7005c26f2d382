//! The code of comparisons and selections.
//!
//! A predicate is a word in the frame with a bit for each lane. It is read and written there.

use super::cache::{Emitted, REPEATED, Y};
use super::emitter::{ACTIVE, Emitter};
use super::value::{Computed, EQUAL, Kind};
use crate::machine::linear::Test;
use crate::machine::program::{CONSTANT, Instruction};
use iced_x86::code_asm::*;

impl Emitter<'_> {
    pub(super) fn predicate(operand: u32) -> AsmMemoryOperand {
        let at = (operand & !CONSTANT) as i32;
        if operand & CONSTANT != 0 { dword_ptr(r14 + at) } else { dword_ptr(r15 + at) }
    }

    /// Sets a predicate to the bits in `edx`, in the lanes that take part.
    pub(super) fn set_predicate(&mut self, d: u32) -> Emitted {
        let place = Self::predicate(d);
        if !self.known.whole || self.guard.is_some() {
            self.asm.mov(eax, dword_ptr(rbx + ACTIVE))?;
            if let Some((guard, negated)) = self.guard {
                self.asm.mov(ecx, Self::predicate(guard))?;
                if negated {
                    self.asm.not(ecx)?;
                }
                self.asm.and(eax, ecx)?;
            }
            self.asm.and(edx, eax)?;
            self.asm.andn(ecx, eax, place)?;
            self.asm.or(edx, ecx)?;
        }
        self.asm.mov(place, edx)
    }

    /// Collects the results of comparisons in `edx`. `compare` leaves those of a part in `ymm15`.
    fn collect(
        &mut self,
        &Instruction { d, a, b, .. }: &Instruction,
        wide: bool,
        inverted: bool,
        compare: impl Fn(&mut CodeAssembler, AsmRegisterYmm, AsmRegisterYmm) -> Emitted,
    ) -> Emitted<bool> {
        let is_equal = |operand| self.known.kind(&self.kinds, operand) == Kind::Linear(EQUAL);
        let once = is_equal(a) && is_equal(b);
        if once {
            let (x, y) = (self.repeated(a, wide)?, self.repeated(b, wide)?);
            compare(&mut self.asm, Y[x], Y[y])?;
            self.asm.vpmovmskb(edx, ymm15)?;
        } else {
            let (parts, lanes) = if wide { (8, 4) } else { (4, 8) };
            self.asm.xor(edx, edx)?;
            for part in 0..parts {
                self.cache.unlock();
                let (x, y) = (self.part(a, part, wide)?, self.part(b, part, wide)?);
                compare(&mut self.asm, Y[x], Y[y])?;
                if wide {
                    self.asm.vmovmskpd(ecx, ymm15)?
                } else {
                    self.asm.vmovmskps(ecx, ymm15)?
                }
                if part > 0 {
                    self.asm.shl(ecx, u32::from(part) * lanes)?;
                }
                self.asm.or(edx, ecx)?;
            }
        }
        if inverted {
            self.asm.not(edx)?;
        }
        self.set_predicate(d)?;
        self.set_kind(d, if once && self.guard.is_none() { Kind::Linear(EQUAL) } else { Kind::Row });
        Ok(true)
    }

    pub(super) fn compare(&mut self, i: &Instruction, wide: bool, test: Test, signed: bool) -> Emitted<bool> {
        if matches!(test, Test::Equal | Test::NotEqual) {
            return self.collect(i, wide, test == Test::NotEqual, |asm, x, y| match wide {
                true => asm.vpcmpeqq(ymm15, x, y),
                false => asm.vpcmpeqd(ymm15, x, y),
            });
        }
        // A comparison is "greater", with its operands exchanged or its result inverted.
        let exchanged = matches!(test, Test::Less | Test::GreaterOrEqual);
        let inverted = matches!(test, Test::LessOrEqual | Test::GreaterOrEqual);
        let sign = if wide { [0, 1 << 31, 0, 1 << 31, 0, 1 << 31, 0, 1 << 31] } else { [1 << 31; 8] };
        let sign = self.pooled(sign);
        self.collect(i, wide, inverted, |asm, x, y| {
            let (x, y) = if exchanged { (y, x) } else { (x, y) };
            let (mut high, mut low) = (x, y);
            if !signed {
                // Numbers without a sign have the order of numbers with one whose highest bit is inverted.
                asm.vpxor(ymm14, x, ymmword_ptr(sign))?;
                asm.vpxor(ymm15, y, ymmword_ptr(sign))?;
                (high, low) = (ymm14, ymm15);
            }
            if wide { asm.vpcmpgtq(ymm15, high, low) } else { asm.vpcmpgtd(ymm15, high, low) }
        })
    }

    pub(super) fn float_compare(&mut self, i: &Instruction, wide: bool, test: u32) -> Emitted<bool> {
        self.collect(i, wide, false, |asm, x, y| match wide {
            true => asm.vcmppd(ymm15, x, y, test),
            false => asm.vcmpps(ymm15, x, y, test),
        })
    }

    /// `d = c ? a : b`.
    pub(super) fn select(
        &mut self,
        &Instruction { d, a, b, c, .. }: &Instruction,
        wide: bool,
        computed: Computed,
    ) -> Emitted<bool> {
        if let Computed::Once(steps, _) = computed {
            let (x, y) = (self.repeated(a, wide)?, self.repeated(b, wide)?);
            let at = self.take()?;
            self.asm.mov(edx, Self::predicate(c))?;
            if !self.known.whole {
                self.asm.and(edx, dword_ptr(rbx + ACTIVE))?;
            }
            // All ones if a lane has the predicate, and zero otherwise.
            self.asm.cmp(edx, 1)?;
            self.asm.sbb(edx, edx)?;
            self.asm.not(edx)?;
            self.asm.vmovd(xmm15, edx)?;
            self.asm.vpbroadcastd(ymm15, xmm15)?;
            self.asm.vblendvps(Y[at], Y[y], Y[x], ymm15)?;
            self.define(at, d, REPEATED, wide);
            self.set_kind(d, Kind::Linear(steps));
            return Ok(true);
        }
        self.each((d, wide), computed, |emitter, part| {
            let (x, y) = (emitter.part(a, part, wide)?, emitter.part(b, part, wide)?);
            let at = emitter.take()?;
            emitter.holding(c, part, wide)?;
            emitter.asm.vblendvps(Y[at], Y[y], Y[x], ymm15)?;
            Ok(at)
        })
    }

    /// The lanes of a part for which a predicate holds, in the last vector register.
    pub(super) fn holding(&mut self, predicate: u32, part: u8, wide: bool) -> Emitted {
        let lane = |word: usize| if wide { 4 * usize::from(part) + word / 2 } else { 8 * usize::from(part) + word };
        let bits = self.pooled(std::array::from_fn(|word| 1 << lane(word)));
        self.asm.vpbroadcastd(ymm15, Self::predicate(predicate))?;
        self.asm.vpand(ymm15, ymm15, ymmword_ptr(bits))?;
        self.asm.vpcmpeqd(ymm15, ymm15, ymmword_ptr(bits))
    }
}
