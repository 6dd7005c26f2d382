//! The vector registers of the processor as a cache of a warp's registers, within a basic block.
//!
//! A register of a warp is a row in the frame, or a linear value. The value of its first lane is kept among the *scalars*. Sixteen vector
//! registers hold parts of rows, and scalars repeated in all lanes. The last two are free for single instructions. If not all lanes take
//! part, a part of a row replaces only the lanes that may be written when it leaves the cache.

use super::context::{KEPT_LANES, KEPT_WIDE_LANES, LEFT_OUT_LANES, LEFT_OUT_WIDE_LANES};
use super::emitter::Emitter;
use super::flow::Set;
use super::value::{EQUAL, Kind, Steps};
use crate::machine::program::CONSTANT;
use iced_x86::IcedError;
use iced_x86::code_asm::*;

pub(super) const Y: [AsmRegisterYmm; 16] =
    [ymm0, ymm1, ymm2, ymm3, ymm4, ymm5, ymm6, ymm7, ymm8, ymm9, ymm10, ymm11, ymm12, ymm13, ymm14, ymm15];
pub(super) const X: [AsmRegisterXmm; 16] =
    [xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13, xmm14, xmm15];

/// The vector registers that hold values over several instructions.
pub(super) const HOLDING: usize = 14;
/// The part that means a value repeated in all lanes.
pub(super) const REPEATED: u8 = u8::MAX;

pub(super) type Emitted<T = ()> = Result<T, IcedError>;

/// The content of a vector register: an operand's part, of 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pub operand: u32,
    pub part: u8,
    pub wide: bool,
    /// Whether the frame, or the scalars, do not have the value yet.
    pub dirty: bool,
    /// Whether its NaNs may be others than the one of the GPU. They are replaced before anything but floating-point arithmetic reads them.
    pub noisy: bool,
    /// When it was last used.
    pub used: u32,
}

impl Held {
    /// Whether the value is the same part of the same operand.
    pub(super) fn is_same(self, other: Held) -> bool {
        (self.operand, self.part) == (other.operand, other.part)
    }
}

/// The contents of the vector registers.
#[derive(Clone, Copy, Default)]
pub(super) struct Cache {
    pub held: [Option<Held>; HOLDING],
    /// The registers that the emitted instruction uses, as bits.
    locked: u32,
    clock: u32,
}

impl Cache {
    fn find(&mut self, operand: u32, part: u8) -> Option<usize> {
        let is_same = |held: &Option<Held>| held.is_some_and(|held| (held.operand, held.part) == (operand, part));
        let at = self.held.iter().position(is_same)?;
        self.use_now(at);
        Some(at)
    }

    fn use_now(&mut self, at: usize) {
        self.clock += 1;
        self.locked |= 1 << at;
        if let Some(held) = &mut self.held[at] {
            held.used = self.clock;
        }
    }

    /// Keeps a register for the emitted instruction.
    pub(super) fn lock(&mut self, at: usize) {
        self.locked |= 1 << at;
    }

    /// Lets the registers be used for other values.
    pub(super) fn unlock(&mut self) {
        self.locked = 0;
    }

    /// Forgets all values.
    pub(super) fn clear(&mut self) {
        self.held = [None; HOLDING];
        self.locked = 0;
    }

    /// Forgets the parts of an operand for which `is_stale` holds.
    fn forget(&mut self, operand: u32, is_stale: impl Fn(u8) -> bool) {
        for held in &mut self.held {
            if held.is_some_and(|held| held.operand == operand && is_stale(held.part)) {
                *held = None;
            }
        }
    }
}

impl Emitter<'_> {
    /// The place of a part of a row, in the frame or among the constants.
    pub(super) fn row_place(operand: u32, part: u8) -> AsmMemoryOperand {
        let at = (operand & !CONSTANT) as i32 + 32 * i32::from(part);
        if operand & CONSTANT != 0 { ymmword_ptr(r14 + at) } else { ymmword_ptr(r15 + at) }
    }

    /// The offset of a register's first lane among the scalars.
    pub(super) fn scalar(&self, operand: u32) -> i32 {
        self.known.flow.register(operand).map_or(0, |register| register as i32 * 8)
    }

    /// Takes a vector register whose content may be lost.
    pub(super) fn take(&mut self) -> Emitted<usize> {
        let cache = &self.cache;
        let free = (0..HOLDING).filter(|at| cache.locked >> at & 1 == 0);
        let at = free.min_by_key(|at| cache.held[*at].map_or(0, |held| held.used + 1)).unwrap_or(0);
        if let Some(held) = self.cache.held[at].take().filter(|held| held.dirty && self.is_live(held.operand)) {
            self.write_back(at, held)?;
        }
        self.cache.locked |= 1 << at;
        Ok(at)
    }

    /// Whether the value of a register is read behind the emitted instruction, or by it.
    fn is_live(&self, operand: u32) -> bool {
        self.known
            .flow
            .register(operand)
            .is_none_or(|register| self.live.has(register) || self.live_behind.has(register))
    }

    fn hold(&mut self, at: usize, operand: u32, part: u8, wide: bool, dirty: bool) {
        self.cache.held[at] = Some(Held { operand, part, wide, dirty, noisy: false, used: 0 });
        self.cache.use_now(at);
    }

    /// Replaces the NaNs that a vector register may hold.
    fn calm(&mut self, at: usize) -> Emitted<usize> {
        if let Some(held) = self.cache.held[at].filter(|held| held.noisy) {
            self.quiet(at, held.wide)?;
            self.cache.held[at] = Some(Held { noisy: false, ..held });
        }
        Ok(at)
    }

    /// Writes a part to the frame, or the first lane to the scalars.
    pub(super) fn write_back(&mut self, at: usize, held: Held) -> Emitted {
        if held.noisy {
            self.quiet(at, held.wide)?;
        }
        if held.part == REPEATED {
            let place = self.scalar(held.operand);
            return self.asm.vmovq(qword_ptr(rbp + place), X[at]);
        }
        let place = Self::row_place(held.operand, held.part);
        if !self.known.whole {
            let kept = match (self.masks(), held.wide) {
                (false, false) => KEPT_LANES,
                (false, true) => KEPT_WIDE_LANES,
                (true, false) => LEFT_OUT_LANES,
                (true, true) => LEFT_OUT_WIDE_LANES,
            } + 32 * i32::from(held.part);
            self.asm.vmovdqu(ymm15, ymmword_ptr(r12 + kept))?;
            self.asm.vblendvps(ymm15, Y[at], place, ymm15)?;
            return self.asm.vmovdqu(place, ymm15);
        }
        self.asm.vmovdqu(place, Y[at])
    }

    /// Writes back what is read later, according to `live`.
    pub(super) fn flush(&mut self, live: &Set) -> Emitted {
        for at in 0..HOLDING {
            let Some(held) = self.cache.held[at].filter(|held| held.dirty) else { continue };
            let register = self.known.flow.register(held.operand);
            if register.is_none_or(|register| live.has(register)) {
                self.write_back(at, held)?;
                self.cache.held[at] = Some(Held { dirty: false, noisy: false, ..held });
            }
        }
        Ok(())
    }

    /// The value of an operand's first lane, in all lanes.
    pub(super) fn repeated(&mut self, operand: u32, wide: bool) -> Emitted<usize> {
        let at = self.noisy_repeated(operand, wide)?;
        self.calm(at)
    }

    /// A part of an operand's row.
    pub(super) fn part(&mut self, operand: u32, part: u8, wide: bool) -> Emitted<usize> {
        let at = self.noisy_part(operand, part, wide)?;
        self.calm(at)
    }

    /// As [`Emitter::repeated`], for floating-point arithmetic.
    pub(super) fn noisy_repeated(&mut self, operand: u32, wide: bool) -> Emitted<usize> {
        if let Some(at) = self.cache.find(operand, REPEATED) {
            return Ok(at);
        }
        let at = self.take()?;
        let constant = operand & CONSTANT != 0;
        let place = if constant { (operand & !CONSTANT) as i32 } else { self.scalar(operand) };
        match (constant, wide) {
            (true, true) => self.asm.vpbroadcastq(Y[at], qword_ptr(r14 + place))?,
            (true, false) => self.asm.vpbroadcastd(Y[at], dword_ptr(r14 + place))?,
            (false, true) => self.asm.vpbroadcastq(Y[at], qword_ptr(rbp + place))?,
            (false, false) => self.asm.vpbroadcastd(Y[at], dword_ptr(rbp + place))?,
        }
        self.hold(at, operand, REPEATED, wide, false);
        Ok(at)
    }

    /// As [`Emitter::part`], for floating-point arithmetic.
    pub(super) fn noisy_part(&mut self, operand: u32, part: u8, wide: bool) -> Emitted<usize> {
        match self.known.kind(&self.kinds, operand) {
            Kind::Linear(EQUAL) => self.noisy_repeated(operand, wide),
            Kind::Linear(steps) => {
                if let Some(at) = self.cache.find(operand, part) {
                    return Ok(at);
                }
                let base = self.repeated(operand, wide)?;
                let at = self.take()?;
                let offsets = self.pooled(offsets(steps, part, wide));
                if wide {
                    self.asm.vpaddq(Y[at], Y[base], ymmword_ptr(offsets))?;
                } else {
                    self.asm.vpaddd(Y[at], Y[base], ymmword_ptr(offsets))?;
                }
                self.hold(at, operand, part, wide, false);
                Ok(at)
            }
            Kind::Row => {
                if let Some(at) = self.cache.find(operand, part) {
                    return Ok(at);
                }
                let at = self.take()?;
                self.asm.vmovdqu(Y[at], Self::row_place(operand, part))?;
                self.hold(at, operand, part, wide, false);
                Ok(at)
            }
        }
    }

    /// Lets a vector register hold a new part of a register.
    pub(super) fn define(&mut self, at: usize, operand: u32, part: u8, wide: bool) {
        self.cache.forget(operand, |other| other == part);
        self.hold(at, operand, part, wide, true);
        if let Some(held) = &mut self.cache.held[at] {
            held.noisy = self.noise && self.guard.is_none();
        }
    }

    /// Sets the kind of a register that has been defined, and forgets its old values.
    pub(super) fn set_kind(&mut self, operand: u32, kind: Kind) {
        let kind = if self.masks() { Kind::Row } else { kind };
        let is_row = kind == Kind::Row;
        self.cache.forget(operand, |part| (part == REPEATED) == is_row);
        if let Some(register) = self.known.flow.register(operand) {
            self.kinds[register] = kind;
        }
    }

    /// Writes the row of a register whose value is linear. Where lanes skip the block, it is linear in all lanes.
    pub(super) fn write_row(&mut self, operand: u32, wide: bool) -> Emitted {
        for part in 0..if wide { 8 } else { 4 } {
            self.cache.unlock();
            let at = self.part(operand, part, wide)?;
            let whole = self.known.whole;
            self.known.whole |= self.masks();
            self.write_back(at, Held { operand, part, wide, dirty: false, noisy: false, used: 0 })?;
            self.known.whole = whole;
        }
        self.cache.unlock();
        Ok(())
    }
}

/// The difference of a lane from the first lane of the warp.
pub(super) fn distance(steps: Steps, lane: usize) -> i64 {
    (0..5).filter(|bit| lane >> bit & 1 == 1).map(|bit| steps[bit]).fold(0_i64, i64::wrapping_add)
}

/// The differences of the lanes of a part from the first lane of the warp.
pub(super) fn offsets(steps: Steps, part: u8, wide: bool) -> [u32; 8] {
    let of_lane = |lane: usize| distance(steps, lane);
    std::array::from_fn(|word| match wide {
        true => (of_lane(4 * usize::from(part) + word / 2) as u64 >> (32 * (word % 2))) as u32,
        false => of_lane(8 * usize::from(part) + word) as u32,
    })
}
