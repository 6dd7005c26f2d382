//! The code of floating-point arithmetic, rounded to nearest, in `f32` and `f64`.

use super::cache::{Emitted, REPEATED, X, Y};
use super::emitter::Emitter;
use super::rows::{LESS, UNORDERED, all};
use super::value::{Computed, Kind};
use crate::float::{F32, F64};
use crate::machine::program::Instruction;
use crate::machine::template::Arithmetic;
use iced_x86::code_asm::*;

impl Emitter<'_> {
    /// Arithmetic whose NaN results are replaced.
    pub(super) fn float(
        &mut self,
        arithmetic: Arithmetic,
        instruction: &Instruction,
        wide: bool,
        computed: Computed,
    ) -> Emitted<bool> {
        let Instruction { d, a, b, c, .. } = *instruction;
        let in_place = c == d
            && self.guard.is_none()
            && computed == Computed::Rows
            && self.known.kind(&self.kinds, c) == Kind::Row;
        let one = if wide { 1_f64.to_bits() } else { 1_f32.to_bits().into() };
        let one = self.pooled(all(one, wide));
        let parts_of = |emitter: &mut Self, part: u8| -> Emitted<usize> {
            match arithmetic {
                Arithmetic::FloatWiden => emitter.widen(a, part),
                Arithmetic::FloatNarrow => emitter.narrow(a, part),
                Arithmetic::FloatFused => emitter.fused([a, b, c], part, wide, in_place),
                Arithmetic::FloatMinimum | Arithmetic::FloatMaximum => {
                    let (x, y) = (emitter.noisy(a, part, wide)?, emitter.noisy(b, part, wide)?);
                    emitter.float_extreme(x, y, arithmetic == Arithmetic::FloatMaximum)
                }
                _ => {
                    let x = emitter.noisy(a, part, wide)?;
                    let two = !matches!(arithmetic, Arithmetic::FloatRoot | Arithmetic::FloatReciprocal);
                    let y = if two { emitter.noisy(b, part, wide)? } else { x };
                    let at = emitter.take()?;
                    let (asm, d, x, y) = (&mut emitter.asm, Y[at], Y[x], Y[y]);
                    match (arithmetic, wide) {
                        (Arithmetic::FloatAdd, false) => asm.vaddps(d, x, y)?,
                        (Arithmetic::FloatAdd, true) => asm.vaddpd(d, x, y)?,
                        (Arithmetic::FloatSubtract, false) => asm.vsubps(d, x, y)?,
                        (Arithmetic::FloatSubtract, true) => asm.vsubpd(d, x, y)?,
                        (Arithmetic::FloatMultiply, false) => asm.vmulps(d, x, y)?,
                        (Arithmetic::FloatMultiply, true) => asm.vmulpd(d, x, y)?,
                        (Arithmetic::FloatDivide, false) => asm.vdivps(d, x, y)?,
                        (Arithmetic::FloatDivide, true) => asm.vdivpd(d, x, y)?,
                        (Arithmetic::FloatRoot, false) => asm.vsqrtps(d, x)?,
                        (Arithmetic::FloatRoot, true) => asm.vsqrtpd(d, x)?,
                        (_, false) => {
                            asm.vmovups(d, ymmword_ptr(one))?;
                            asm.vdivps(d, d, x)?;
                        }
                        (_, true) => {
                            asm.vmovups(d, ymmword_ptr(one))?;
                            asm.vdivpd(d, d, x)?;
                        }
                    }
                    Ok(at)
                }
            }
        };
        self.noise = true;
        let emitted = self.each((d, wide), computed, parts_of);
        self.noise = false;
        emitted
    }

    /// A part of an operand of arithmetic, or its first lane.
    fn noisy(&mut self, operand: u32, part: u8, wide: bool) -> Emitted<usize> {
        if part == REPEATED { self.noisy_repeated(operand, wide) } else { self.noisy_part(operand, part, wide) }
    }

    /// Replaces each NaN by the one of the GPU.
    pub(super) fn quiet(&mut self, at: usize, wide: bool) -> Emitted {
        let nan = if wide { F64.nan } else { F32.nan };
        let nan = self.pooled(all(nan, wide));
        if wide {
            self.asm.vcmppd(ymm15, Y[at], Y[at], UNORDERED)?;
            self.asm.vblendvpd(Y[at], Y[at], ymmword_ptr(nan), ymm15)
        } else {
            self.asm.vcmpps(ymm15, Y[at], Y[at], UNORDERED)?;
            self.asm.vblendvps(Y[at], Y[at], ymmword_ptr(nan), ymm15)
        }
    }

    /// `a * b + c`, rounded once. `in_place` states that the sum takes the place of `c`.
    fn fused(&mut self, [a, b, c]: [u32; 3], part: u8, wide: bool, in_place: bool) -> Emitted<usize> {
        let (x, y, z) = (self.noisy(a, part, wide)?, self.noisy(b, part, wide)?, self.noisy(c, part, wide)?);
        let at = if in_place { z } else { self.take()? };
        if at != z {
            self.asm.vmovaps(Y[at], Y[z])?;
        }
        if wide {
            self.asm.vfmadd231pd(Y[at], Y[x], Y[y])?
        } else {
            self.asm.vfmadd231ps(Y[at], Y[x], Y[y])?
        }
        Ok(at)
    }

    fn widen(&mut self, a: u32, part: u8) -> Emitted<usize> {
        let at = self.take()?;
        let x = self.half(a, part, 15)?;
        self.asm.vcvtps2pd(Y[at], x)?;
        Ok(at)
    }

    fn narrow(&mut self, a: u32, part: u8) -> Emitted<usize> {
        if part == REPEATED {
            let x = self.repeated(a, true)?;
            let at = self.take()?;
            self.asm.vcvtpd2ps(xmm15, Y[x])?;
            self.asm.vbroadcastss(Y[at], xmm15)?;
            return Ok(at);
        }
        let (low, high) = (self.part(a, 2 * part, true)?, self.part(a, 2 * part + 1, true)?);
        let at = self.take()?;
        self.asm.vcvtpd2ps(xmm15, Y[high])?;
        self.asm.vcvtpd2ps(X[at], Y[low])?;
        self.asm.vinsertf128(Y[at], Y[at], xmm15, 1)?;
        Ok(at)
    }

    /// The least or greatest of two numbers of 32 bits: a number is preferred to a NaN, and zeros have an order.
    fn float_extreme(&mut self, x: usize, y: usize, greatest: bool) -> Emitted<usize> {
        let at = self.take()?;
        let (asm, d, x, y) = (&mut self.asm, Y[at], Y[x], Y[y]);
        if greatest {
            asm.vandps(d, x, y)?
        } else {
            asm.vorps(d, x, y)?
        }
        for (first, second) in [(y, x), (x, y)] {
            // Where the first number wins.
            let (low, high) = if greatest { (second, first) } else { (first, second) };
            asm.vcmpps(ymm15, low, high, LESS)?;
            asm.vcmpps(ymm14, second, second, UNORDERED)?;
            asm.vorps(ymm15, ymm15, ymm14)?;
            asm.vblendvps(d, d, first, ymm15)?;
        }
        Ok(at)
    }
}
