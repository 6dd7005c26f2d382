//! Loads that a multiply-add directly follows; see `machine::fused`.

use super::draft::{Access, Block, Draft, Operand, Results};
use super::registers::reads;
use crate::machine::program::{FIRST_USED, SECOND_USED};

/// The number of reads of each register by the instructions of a function.
pub(super) fn read_counts(blocks: &[Block], registers: usize) -> Vec<u32> {
    let mut counts = vec![0; registers];
    let drafts = blocks.iter().flat_map(|block| &block.drafts);
    drafts.flat_map(reads).for_each(|register| counts[register as usize] += 1);
    counts
}

/// If two loads and the multiply-add of their values begin here, returns which of the values other instructions use.
pub(super) fn multiply_add(drafts: &[Draft], counts: &[u32]) -> Option<u32> {
    let [first, second, sum, ..] = drafts else { return None };
    let (a, b) = (loaded(first)?, loaded(second)?);
    let factors =
        [sum.a, sum.b].map(|operand| if let Operand::Register(register) = operand { register } else { u32::MAX });
    let fits = sum.results == Results::MultiplyAdd
        && sum.guard.is_none()
        && a != b
        && (factors == [a, b] || factors == [b, a])
        && ![Operand::Register(a), Operand::Register(b)].contains(&sum.c);
    let used = |register: u32, bit: u32| if counts[register as usize] > 1 { bit } else { 0 };
    fits.then(|| used(a, FIRST_USED) | used(b, SECOND_USED))
}

/// The register that a plain load of 32 bits writes.
fn loaded(draft: &Draft) -> Option<u32> {
    match draft.d {
        Operand::Register(register)
            if draft.access == Access::Load(4)
                && draft.results == Results::Load
                && draft.extra.is_empty()
                && draft.guard.is_none() =>
        {
            Some(register)
        }
        _ => None,
    }
}
