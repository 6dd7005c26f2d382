//! `mma.m8n8k4` of `f16`: four products at once.
//!
//! The lanes `q`, `q + 1`, `q + 2`, `q + 3` and those 16 further on compute one product, for `q` of 0, 4, 8 and 12.

use super::super::{Flow, Machine};
use super::element::half;
use super::fragment::{Sum, to_half, to_single};
use crate::machine::program::{Instruction, LEFT_OUT};

/// The bits of the form.
pub(crate) const A_BY_COLUMNS: i64 = 1;
pub(crate) const B_BY_ROWS: i64 = 2;
pub(crate) const C_SINGLE: i64 = 4;
pub(crate) const D_SINGLE: i64 = 8;

/// The row and column of element `index` of the accumulators of a member of the eight lanes.
fn place(format: Sum, member: usize, index: usize) -> (usize, usize) {
    match format {
        Sum::F16 => (member, index),
        _ => ((member & 1) + (index & 2) + (member & 4), (index & 4) + (member & 2) + (index & 1)),
    }
}

/// The further operands are the registers of `D`, `C`, `A` and `B`, and the mask of all lanes; `imm` is the form.
pub(crate) unsafe fn quads(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let has = |bit: i64| instruction.imm & bit != 0;
    let format = |single: bool| if single { (Sum::F32, 8) } else { (Sum::F16, 4) };
    let ((c_format, c_count), (d_format, d_count)) = (format(has(C_SINGLE)), format(has(D_SINGLE)));
    let operands = &machine.program.operands[instruction.extra as usize..];
    let (d, rest) = operands.split_at(d_count);
    let (c, rest) = rest.split_at(c_count);
    // SAFETY: the resolver checked the number and the widths of the operands.
    unsafe {
        if !machine.whole_warp(rest[4], true) {
            return Flow::Stop;
        }
        let word = |operand: u32, lane: usize| machine.slots::<u32>(operand).add(lane).read();
        let pair = |operands: &[u32], lane: usize, index: usize| {
            half(word(operands[index / 2], lane) >> (index % 2 * 16) & 0xffff)
        };
        for first in [0, 4, 8, 12] {
            let lane = |member: usize| first + member % 4 + member / 4 * 16;
            let (mut a, mut b, mut sums) = ([[0.0; 4]; 8], [[0.0; 8]; 4], [[0.0; 8]; 8]);
            for member in 0..8 {
                for index in 0..4 {
                    let (row, depth) =
                        if has(A_BY_COLUMNS) { (member / 4 * 4 + index, member % 4) } else { (member, index) };
                    a[row][depth] = pair(&rest[..2], lane(member), index);
                    let (depth, column) =
                        if has(B_BY_ROWS) { (member % 4, member / 4 * 4 + index) } else { (index, member) };
                    b[depth][column] = pair(&rest[2..4], lane(member), index);
                }
                for index in 0..8 {
                    let (row, column) = place(c_format, member, index);
                    sums[row][column] = match c_format {
                        Sum::F16 => pair(c, lane(member), index),
                        _ => f64::from(f32::from_bits(word(c[index], lane(member)))),
                    };
                }
            }
            for (sums, a) in sums.iter_mut().zip(&a) {
                for (a, b) in a.iter().zip(&b) {
                    (0..8).for_each(|column| sums[column] += a * b[column]);
                }
            }
            for member in (0..8).filter(|member| machine.mask >> lane(*member) & 1 == 1) {
                let value = |index: usize| {
                    let (row, column) = place(d_format, member, index);
                    sums[row][column]
                };
                for (register, operand) in d.iter().enumerate().filter(|(_, operand)| **operand != LEFT_OUT) {
                    let word = match d_format {
                        Sum::F16 => to_half(value(register * 2)) | to_half(value(register * 2 + 1)) << 16,
                        _ => to_single(value(register)),
                    };
                    machine.slots::<u32>(*operand).add(lane(member)).write(word);
                }
            }
        }
    }
    Flow::Next
}
