//! Loads that a multiply-add directly follows; see `machine::fused`.

use super::draft::{Access, Block, Draft, Operand, Results};
use super::registers::reads;
use crate::machine::access_mode::is_kept;
use crate::machine::program::{CONTINUED, FIRST_USED, SECOND_USED, SUM_USED};

/// The number of reads of each register by the instructions of a function.
pub(super) fn read_counts(blocks: &[Block], registers: usize) -> Vec<u32> {
    let mut counts = vec![0; registers];
    let drafts = blocks.iter().flat_map(|block| &block.drafts);
    drafts.flat_map(reads).for_each(|register| counts[register as usize] += 1);
    counts
}

/// If two loads and the multiply-add of their values begin here, returns which of the values other instructions use, and whether
/// further ones add to the sum. `shapes` are the bits of the access modes.
pub(super) fn multiply_add(drafts: &[Draft], shapes: &[u32], counts: &[u32]) -> Option<u32> {
    let used = factors(drafts, shapes)?;
    let continued = factors(drafts.get(3..)?, shapes.get(3..)?).is_some() && drafts[5].c == drafts[2].d;
    let used = |(index, bit): (usize, u32)| if counts[used[index] as usize] > 1 { bit } else { 0 };
    let is_read_once = matches!(drafts[2].d, Operand::Register(sum) if counts[sum as usize] == 1);
    let sum = if continued { CONTINUED } else { 0 } | if continued && is_read_once { 0 } else { SUM_USED };
    Some(used((0, FIRST_USED)) | used((1, SECOND_USED)) | sum)
}

/// If two loads through held shapes and the multiply-add of their values begin here, returns the registers with the values.
fn factors(drafts: &[Draft], shapes: &[u32]) -> Option<[u32; 2]> {
    let [first, second, sum, ..] = drafts else { return None };
    let (a, b) = (loaded(first)?, loaded(second)?);
    let factors =
        [sum.a, sum.b].map(|operand| if let Operand::Register(register) = operand { register } else { u32::MAX });
    let fits = sum.results == Results::MultiplyAdd
        && sum.guard.is_none()
        && shapes[..2].iter().all(|bits| is_kept(*bits))
        && a != b
        && (factors == [a, b] || factors == [b, a])
        && ![Operand::Register(a), Operand::Register(b)].contains(&sum.c);
    fits.then_some([a, b])
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
