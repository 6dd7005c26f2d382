//! The inner product of a tiled matrix product: steps of two loads and a multiply-add, with sums in vector registers.
//!
//! `fused` executes such a step at a time. Here, the bounds of all steps are compared first. Then a step is two loads and a multiply-add of the
//! processor for each group of lanes. The sums are those of the single instructions, bit by bit, since the order of the additions is kept.

use super::Machine;
use super::access_mode::slot;
use super::direct::{GROUP, GROUPS, Shape, finds_shape};
use crate::machine::program::Instruction;
use std::arch::asm;
use std::arch::x86_64::{
    __m256, _CMP_UNORD_Q, _mm256_blendv_ps, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_fmadd_ps, _mm256_loadu_ps,
    _mm256_set1_epi32, _mm256_setzero_ps, _mm256_storeu_ps,
};

/// The bits of all groups.
const ALL_ROWS: u32 = (1 << GROUPS) - 1;

/// Executes the steps of an inner product whose first load is the running instruction. Returns `false` if not even the first step was
/// executed.
///
/// # Safety
/// `first` is that load, of 32 bits. Two loads and a multiply-add follow each other there.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) unsafe fn inner_product(machine: &mut Machine<'_>, first: &Instruction) -> bool {
    let Some(product) = machine.program.inner_products.get(first.b as usize) else { return false };
    let code = machine.program.code.as_slice();
    let Some([second, sum, ..]) = code.get(machine.pc as usize..machine.run_end as usize) else { return false };
    // SAFETY: this function's contract.
    if !unsafe { find_shapes(machine, first, second) } {
        return false;
    }
    let (a, b) = (machine.shapes.slots[slot(first.c)], machine.shapes.slots[slot(second.c)]);
    let inside =
        |shape: &Shape, load: usize| shape.least <= product.least[load] && product.greatest[load] <= shape.greatest;
    let is_simple = matches!((a.rows, b.rows), (ALL_ROWS, 0 | ALL_ROWS) | (0, ALL_ROWS));
    if !is_simple || !inside(&a, 0) || !inside(&b, 1) {
        return false;
    }
    let start = machine.pc - 1;
    let most = (machine.run_end - start) as usize / 3;
    let mut steps = &product.offsets[..product.offsets.len().min(most)];
    if machine.shapes.recorded {
        // A read that is recorded here, and again by the general way, is recorded as one.
        let together = machine.record_products([first, second], product, (start, steps.len()));
        let mut loads = (start..).step_by(3);
        let mut record = |at: u32| machine.record_read(&code[at as usize], at, 4);
        let recorded =
            steps.iter().take_while(|_| together || loads.next().is_some_and(|at| record(at) && record(at + 1)));
        steps = &steps[..recorded.count()];
    }
    let Some(last) = steps.len().checked_sub(1).map(|before| &code[start as usize + 3 * before + 2]) else {
        return false;
    };
    // SAFETY: a register has 32 slots. All offsets are inside of the memory of the shapes, and aligned like the elements.
    unsafe {
        let source = machine.slots::<f32>(sum.c);
        let mut sums = [_mm256_setzero_ps(); GROUPS];
        for (group, sum) in sums.iter_mut().enumerate() {
            *sum = _mm256_loadu_ps(source.add(group * GROUP));
        }
        match (a.rows, b.rows) {
            (ALL_ROWS, 0) => add_products::<true>(&a.pointers, &b.pointers, steps, [0, 1], &mut sums),
            (0, _) => add_products::<true>(&b.pointers, &a.pointers, steps, [1, 0], &mut sums),
            _ => add_products::<false>(&a.pointers, &b.pointers, steps, [0, 1], &mut sums),
        }
        write_sums(machine.slots(last.d), &mut sums);
    }
    machine.pc = start + 3 * steps.len() as u32;
    true
}

/// Adds products of rows with further rows, or with values that are equal in the lanes of a group if `EQUAL`. `places` are those of
/// both offsets in a step.
///
/// # Safety
/// The elements of a group are readable at all offsets from the pointers.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn add_products<const EQUAL: bool>(
    rows: &[u64; GROUPS],
    others: &[u64; GROUPS],
    steps: &[[i64; 2]],
    places: [usize; 2],
    sums: &mut [__m256; GROUPS],
) {
    let mut totals = *sums;
    for offsets in steps {
        let [row, other] = [offsets[places[0]], offsets[places[1]]];
        for group in 0..GROUPS {
            // SAFETY: this function's contract.
            unsafe {
                let factor = read_at(rows[group], row);
                let other = if EQUAL { repeat_at(others[group], other) } else { read_at(others[group], other) };
                totals[group] = _mm256_fmadd_ps(factor, other, totals[group]);
            }
        }
    }
    *sums = totals;
}

/// Reads the elements of a group that other threads may access.
///
/// # Safety
/// They are readable.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn read_at(base: u64, offset: i64) -> __m256 {
    let value;
    // SAFETY: this function's contract.
    unsafe {
        asm!("vmovups {value}, ymmword ptr [{base} + {offset}]", value = out(ymm_reg) value, base = in(reg) base,
            offset = in(reg) offset, options(nostack, readonly, preserves_flags));
    }
    value
}

/// Reads an element that other threads may access, for all lanes of a group.
///
/// # Safety
/// It is readable.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn repeat_at(base: u64, offset: i64) -> __m256 {
    let value;
    // SAFETY: this function's contract.
    unsafe {
        asm!("vbroadcastss {value}, dword ptr [{base} + {offset}]", value = out(ymm_reg) value, base = in(reg) base,
            offset = in(reg) offset, options(nostack, readonly, preserves_flags));
    }
    value
}

/// Whether both loads, the running instruction and the next one, find the shapes of their addresses.
///
/// # Safety
/// The instructions are loads of 32 bits.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) unsafe fn find_shapes(machine: &mut Machine<'_>, first: &Instruction, second: &Instruction) -> bool {
    // SAFETY: this function's contract.
    unsafe {
        if !finds_shape(machine, first, 4, false) {
            return false;
        }
        machine.pc += 1;
        let found = finds_shape(machine, second, 4, false);
        machine.pc -= 1;
        found
    }
}

/// Writes sums to their register, and replaces each NaN by the one of the GPU.
///
/// # Safety
/// The register has 32 slots of 32 bits.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) unsafe fn write_sums(target: *mut f32, sums: &mut [__m256; GROUPS]) {
    for (group, sum) in sums.iter_mut().enumerate() {
        *sum = quiet(*sum);
        // SAFETY: this function's contract.
        unsafe { _mm256_storeu_ps(target.add(group * GROUP), *sum) };
    }
}

/// Replaces each NaN by the one of the GPU.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn quiet(values: __m256) -> __m256 {
    let nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fff_ffff));
    _mm256_blendv_ps(values, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(values, values))
}
