//! Accumulators in registers.
//!
//! PTX manual: [matrix
//! fragments](https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions-for-mma). Four
//! lanes, a *group*, hold a row of the accumulators: two neighbouring columns in each lane. Eight groups hold eight
//! rows, and further registers hold the next eight.

use super::super::Machine;
use super::element::half;
use crate::float::{F16, F64, Rounding, convert};
use crate::machine::program::LEFT_OUT;

/// The format of accumulators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Sum {
    F16,
    F32,
    F64,
    S32,
}

impl Sum {
    pub(crate) const ALL: [Sum; 4] = [Sum::F16, Sum::F32, Sum::F64, Sum::S32];

    pub(crate) fn named(name: &str) -> Option<Sum> {
        ["f16", "f32", "f64", "s32"].iter().position(|known| *known == name).map(|index| Sum::ALL[index])
    }

    /// The bits of an accumulator.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Sum::F16 => 16,
            Sum::F32 | Sum::S32 => 32,
            Sum::F64 => 64,
        }
    }
}

/// Rounds to `f16`; the result is a bit pattern.
#[inline(always)]
pub(super) fn to_half(value: f64) -> u32 {
    convert(F64, F16, value.to_bits(), Rounding::Near) as u32
}

/// Rounds to `f32`; NaN becomes the one that these instructions return.
#[inline(always)]
pub(super) fn to_single(value: f64) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { (value as f32).to_bits() }
}

/// NaN becomes the one that these instructions return.
fn to_double(value: f64) -> u64 {
    if value.is_nan() { F64.nan } else { value.to_bits() }
}

/// Accumulators of 16 rows and 8 columns.
pub(super) type Tile<T> = [[T; 8]; 16];

impl Machine<'_> {
    /// Reads the accumulators of `rows` rows, from the further operands from `first` on.
    ///
    /// # Safety
    /// The operands are registers or constants of this format, as many as the fragment has.
    #[inline(always)]
    pub(super) unsafe fn floating_tile(&self, operands: &[u32], format: Sum, rows: usize) -> Tile<f64> {
        let mut tile = [[0.0; 8]; 16];
        for (index, operand) in operands.iter().enumerate() {
            for lane in 0..32 {
                // SAFETY: this function's contract.
                unsafe {
                    if format == Sum::F16 {
                        let word = self.slots::<u32>(*operand).add(lane).read();
                        let row = &mut tile[(lane / 4 + index * 8).min(rows - 1)];
                        (row[lane % 4 * 2], row[lane % 4 * 2 + 1]) = (half(word & 0xffff), half(word >> 16));
                        continue;
                    }
                    let value = match format {
                        Sum::F64 => f64::from_bits(self.slots::<u64>(*operand).add(lane).read()),
                        _ => f64::from(f32::from_bits(self.slots::<u32>(*operand).add(lane).read())),
                    };
                    tile[(lane / 4 + index / 2 * 8).min(rows - 1)][lane % 4 * 2 + index % 2] = value;
                }
            }
        }
        tile
    }

    /// Writes accumulators, as [`Machine::floating_tile`] reads them.
    ///
    /// # Safety
    /// As for [`Machine::floating_tile`]; the operands are registers or left out.
    #[inline(always)]
    pub(super) unsafe fn set_floating_tile(&mut self, operands: &[u32], format: Sum, tile: &Tile<f64>) {
        for (index, operand) in operands.iter().enumerate().filter(|(_, operand)| **operand != LEFT_OUT) {
            for lane in (0..32).filter(|lane| self.mask >> lane & 1 == 1) {
                let (group, column) = (lane / 4, lane % 4 * 2);
                // SAFETY: this function's contract.
                unsafe {
                    match format {
                        Sum::F16 => {
                            let row = &tile[(group + index * 8) & 15];
                            let word = to_half(row[column]) | to_half(row[column + 1]) << 16;
                            self.slots::<u32>(*operand).add(lane).write(word);
                        }
                        Sum::F64 => {
                            let value = tile[(group + index / 2 * 8) & 15][column + index % 2];
                            self.slots::<u64>(*operand).add(lane).write(to_double(value));
                        }
                        _ => {
                            let value = tile[(group + index / 2 * 8) & 15][column + index % 2];
                            self.slots::<u32>(*operand).add(lane).write(to_single(value));
                        }
                    }
                }
            }
        }
    }

    /// Adds the accumulators `from` to the sums and writes them. Without `saturates`, an overflow wraps.
    ///
    /// # Safety
    /// As for [`Machine::set_floating_tile`], for registers of 32 bits.
    #[inline(always)]
    pub(super) unsafe fn set_integer_tile(&mut self, to: &[u32], from: &[u32], tile: &Tile<i32>, saturates: bool) {
        for (index, (to, from)) in to.iter().zip(from).enumerate() {
            for lane in (0..32).filter(|lane| self.mask >> lane & 1 == 1 && *to != LEFT_OUT) {
                // SAFETY: this function's contract.
                unsafe {
                    let sum = tile[(lane / 4 + index / 2 * 8) & 15][lane % 4 * 2 + index % 2];
                    let old = self.slots::<i32>(*from).add(lane).read();
                    let new = if saturates { old.saturating_add(sum) } else { old.wrapping_add(sum) };
                    self.slots::<i32>(*to).add(lane).write(new);
                }
            }
        }
    }
}
