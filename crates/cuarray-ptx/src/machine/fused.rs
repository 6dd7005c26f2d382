//! Two loads and the multiply-add of their values in one step, as in the inner loop of a matrix product.
//!
//! The resolver puts [`loads_and_multiply_add`] in the place of the first load. The other two instructions follow it, and are
//! executed as usual if the step is not possible. In an unrolled loop, a step continues with the next one that adds to its sum.

use super::access_mode::slot;
use super::direct::{broadcast_or_read, finds_shape, is_possible};
use super::memory::load;
use super::{Flow, Machine, processor};
use crate::machine::program::{CONTINUED, Exec, FIRST_USED, Instruction, SECOND_USED, SUM_USED};
use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_blendv_epi8, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmpgt_epi32,
    _mm256_fmadd_ps, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_storeu_si256,
};

/// Returns the function for a load of 32 bits, the first of two before a multiply-add.
pub(crate) fn loads_and_multiply_add(alone: Exec) -> Exec {
    if processor::wide() { wide } else { alone }
}

#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn wide(machine: &mut Machine<'_>, first: &Instruction) -> Flow {
    // SAFETY: this function's contract.
    unsafe {
        if is_possible(machine) && steps(machine, first) { Flow::Next } else { load::<u32, u32>()(machine, first) }
    }
}

/// Executes the three instructions, and those that continue them with their sum. The sums stay in vector registers meanwhile. Sums
/// that only the next step reads are not written. A NaN stays one in the next sums, so it is replaced when sums are written.
/// Returns `false` if not even the first three were executed, because an address has to be resolved for each lane.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn steps(machine: &mut Machine<'_>, first: &Instruction) -> bool {
    let code = machine.program.code.as_slice();
    // SAFETY: the resolver checked that two loads of 32 bits and a multiply-add follow each other, here and where they
    // continue. A register has 32 slots. The shapes are valid for the elements of their lanes.
    unsafe {
        let (start, mut first) = (machine.pc, first);
        // Array methods with closures would not be compiled for these vectors.
        let (mut sums, mut any) = ([_mm256_setzero_si256(); 4], false);
        // The register of sums that are not written yet.
        let mut target = None;
        while let Some([second, sum, rest @ ..]) = code.get(machine.pc as usize..machine.run_end as usize) {
            if !are_ready(machine, first, second) {
                break;
            }
            let (a, b) = (&machine.shapes.slots[slot(first.c)], &machine.shapes.slots[slot(second.c)]);
            let (a_target, b_target) = (machine.slots::<__m256i>(first.d), machine.slots::<__m256i>(second.d));
            let (c, d) = (machine.slots::<__m256i>(sum.c), machine.slots::<__m256i>(sum.d));
            for (group, now) in sums.iter_mut().enumerate() {
                if !any {
                    *now = _mm256_loadu_si256(c.add(group));
                }
                let a = broadcast_or_read(a, group, first.imm);
                let b = broadcast_or_read(b, group, second.imm);
                if first.extra & FIRST_USED != 0 {
                    _mm256_storeu_si256(a_target.add(group), a);
                }
                if first.extra & SECOND_USED != 0 {
                    _mm256_storeu_si256(b_target.add(group), b);
                }
                let result = _mm256_fmadd_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(*now));
                *now = _mm256_castps_si256(result);
            }
            any = true;
            target = Some(d);
            if first.extra & SUM_USED != 0 {
                write(d, &mut sums);
                target = None;
            }
            machine.pc += 2;
            let Some(next) = rest.first().filter(|_| first.extra & CONTINUED != 0) else { break };
            (machine.pc, first) = (machine.pc + 1, next);
        }
        if let Some(target) = target {
            write(target, &mut sums);
        }
        // The next instruction is the first load of a step that was not executed.
        machine.pc -= u32::from(any && (machine.pc - start).is_multiple_of(3));
        any
    }
}

/// Whether both loads, the running instruction and the next one, can be direct. If so, they are recorded.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn are_ready(machine: &mut Machine<'_>, first: &Instruction, second: &Instruction) -> bool {
    // SAFETY: the instructions are loads of 32 bits.
    unsafe {
        if !finds_shape(machine, first, 4, false) {
            return false;
        }
        machine.pc += 1;
        let found = finds_shape(machine, second, 4, false);
        machine.pc -= 1;
        // A read that is recorded here, and again by the general way, is recorded as one.
        let pc = machine.pc - 1;
        found
            && (!machine.shapes.recorded || machine.record_read(first, pc, 4) && machine.record_read(second, pc + 1, 4))
    }
}

/// Writes sums to their register, and replaces each NaN by the one of the GPU.
///
/// # Safety
/// The register has 32 slots of 32 bits.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn write(target: *mut __m256i, sums: &mut [__m256i; 4]) {
    for (group, sum) in sums.iter_mut().enumerate() {
        *sum = quiet(*sum);
        // SAFETY: this function's contract.
        unsafe { _mm256_storeu_si256(target.add(group), *sum) };
    }
}

/// Replaces each NaN by the one of the GPU.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn quiet(bits: __m256i) -> __m256i {
    let nan = _mm256_set1_epi32(0x7fff_ffff);
    let above = _mm256_cmpgt_epi32(_mm256_and_si256(bits, nan), _mm256_set1_epi32(0x7f80_0000));
    _mm256_blendv_epi8(bits, nan, above)
}
