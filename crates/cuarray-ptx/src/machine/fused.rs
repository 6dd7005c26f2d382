//! Two loads and the multiply-add of their values in one step, as in the inner loop of a matrix product.
//!
//! The resolver puts [`loads_and_multiply_add`] in the place of the first load. The other two instructions follow it, and are
//! executed as usual if the step is not possible.

use super::direct::{broadcast_or_read, is_possible, shape};
use super::memory::load;
use super::{Flow, Machine, processor};
use crate::machine::program::{Exec, FIRST_USED, Instruction, SECOND_USED};
use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_blendv_epi8, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmpgt_epi32,
    _mm256_fmadd_ps, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_storeu_si256,
};

/// Returns the function for a load of 32 bits, the first of two before a multiply-add.
pub(crate) fn loads_and_multiply_add(alone: Exec) -> Exec {
    if processor::wide() { wide } else { alone }
}

#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn wide(machine: &mut Machine<'_>, first: &Instruction) -> Flow {
    let next = machine.pc as usize;
    let code = machine.program.code.as_slice();
    // SAFETY: the resolver checked that two loads of 32 bits and a multiply-add follow each other.
    unsafe {
        if let Some([second, sum, ..]) = code.get(next..machine.run_end as usize)
            && is_possible(machine)
            && step(machine, first, second, sum)
        {
            machine.pc += 2;
            return Flow::Next;
        }
        load::<u32, u32>()(machine, first)
    }
}

/// Executes the three instructions, unless an address has to be resolved for each lane.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn step(machine: &mut Machine<'_>, first: &Instruction, second: &Instruction, sum: &Instruction) -> bool {
    // SAFETY: the instructions are the running one and those after it. A register has 32 slots. The shapes are valid for
    // the elements of their lanes.
    unsafe {
        let Some(a) = shape(machine, first, 4, false).copied() else { return false };
        machine.pc += 1;
        let b = shape(machine, second, 4, false).copied();
        machine.pc -= 1;
        let Some(b) = b else { return false };
        let [a_target, b_target] = [first.d, second.d].map(|operand| machine.slots::<__m256i>(operand));
        let [c, d] = [sum.c, sum.d].map(|operand| machine.slots::<__m256i>(operand));
        for group in 0..4 {
            let a = broadcast_or_read(&a, group, first.imm);
            let b = broadcast_or_read(&b, group, second.imm);
            if first.extra & FIRST_USED != 0 {
                _mm256_storeu_si256(a_target.add(group), a);
            }
            if first.extra & SECOND_USED != 0 {
                _mm256_storeu_si256(b_target.add(group), b);
            }
            let c = _mm256_loadu_si256(c.add(group));
            let result = _mm256_fmadd_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(c));
            _mm256_storeu_si256(d.add(group), quiet(_mm256_castps_si256(result)));
        }
    }
    true
}

/// Replaces each NaN by the one of the GPU.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn quiet(bits: __m256i) -> __m256i {
    let nan = _mm256_set1_epi32(0x7fff_ffff);
    let above = _mm256_cmpgt_epi32(_mm256_and_si256(bits, nan), _mm256_set1_epi32(0x7f80_0000));
    _mm256_blendv_epi8(bits, nan, above)
}
