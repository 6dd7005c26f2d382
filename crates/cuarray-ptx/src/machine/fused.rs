//! Two loads and the multiply-add of their values in one step, as in the inner loop of a matrix product.
//!
//! The resolver puts [`loads_and_multiply_add`] in place of the first load. The other two instructions follow it, and are
//! executed as usual if the step is not possible. In an unrolled loop, a step continues with the next one that adds to its sum.

use super::access_mode::slot;
use super::direct::{GROUP, GROUPS, broadcast_or_read, is_possible};
use super::inner_product::{find_shapes, inner_product, write_sums};
use super::memory::load;
use super::{Flow, Machine, processor};
use crate::machine::program::{CONTINUED, Exec, FIRST_USED, Instruction, SECOND_USED, SUM_USED};
use std::arch::x86_64::{
    __m256i, _mm256_castsi256_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_setzero_ps, _mm256_storeu_si256,
};

/// Returns the function for a load of 32 bits, the first of two before a multiply-add.
pub(crate) fn loads_and_multiply_add(alone: Exec) -> Exec {
    if processor::wide() { wide } else { alone }
}

#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn wide(machine: &mut Machine<'_>, first: &Instruction) -> Flow {
    // SAFETY: this function's contract.
    unsafe {
        if is_possible(machine) && (inner_product(machine, first) || steps(machine, first)) {
            Flow::Next
        } else {
            load::<u32, u32>()(machine, first)
        }
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
        let (mut sums, mut any) = ([_mm256_setzero_ps(); GROUPS], false);
        // The register of sums that are not written yet.
        let mut target = None;
        while let Some([second, sum, rest @ ..]) = code.get(machine.pc as usize..machine.run_end as usize) {
            if !are_ready(machine, first, second) {
                break;
            }
            let (a, b) = (&machine.shapes.slots[slot(first.c)], &machine.shapes.slots[slot(second.c)]);
            let (a_target, b_target) = (machine.slots::<__m256i>(first.d), machine.slots::<__m256i>(second.d));
            let (c, d) = (machine.slots::<f32>(sum.c), machine.slots::<f32>(sum.d));
            for (group, now) in sums.iter_mut().enumerate() {
                if !any {
                    *now = _mm256_loadu_ps(c.add(group * GROUP));
                }
                let a = broadcast_or_read(a, group, first.imm);
                let b = broadcast_or_read(b, group, second.imm);
                if first.extra & FIRST_USED != 0 {
                    _mm256_storeu_si256(a_target.add(group), a);
                }
                if first.extra & SECOND_USED != 0 {
                    _mm256_storeu_si256(b_target.add(group), b);
                }
                *now = _mm256_fmadd_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), *now);
            }
            any = true;
            target = Some(d);
            if first.extra & SUM_USED != 0 {
                write_sums(d, &mut sums);
                target = None;
            }
            machine.pc += 2;
            let Some(next) = rest.first().filter(|_| first.extra & CONTINUED != 0) else { break };
            (machine.pc, first) = (machine.pc + 1, next);
        }
        if let Some(target) = target {
            write_sums(target, &mut sums);
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
    // A read that is recorded here, and again by the general way, is recorded as one.
    let pc = machine.pc - 1;
    // SAFETY: the instructions are loads of 32 bits.
    let found = unsafe { find_shapes(machine, first, second) };
    found && (!machine.shapes.recorded || machine.record_read(first, pc, 4) && machine.record_read(second, pc + 1, 4))
}
