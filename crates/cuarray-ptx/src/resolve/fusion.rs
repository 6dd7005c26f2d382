//! Loads that a multiply-add directly follows; see `machine::fused`.

use super::draft::{Access, Block, Draft, Operand, Results, reads};
use crate::machine::access_mode::{has_slot, is_kept, slot};
use crate::machine::program::{CONTINUED, FIRST_USED, InnerProduct, SECOND_USED, SUM_USED};

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

/// If an inner product begins here, returns it. `shapes` are the bits of the access modes.
pub(super) fn inner_product(drafts: &[Draft], shapes: &[u32], counts: &[u32]) -> Option<InnerProduct> {
    let mut offsets = Vec::new();
    loop {
        let at = 3 * offsets.len();
        let (step, bits) = (drafts.get(at..)?, shapes.get(at..)?);
        let used = multiply_add(step, bits, counts)?;
        let shares = |load: usize| at == 0 || is_kept(bits[load]) && slot(bits[load]) == slot(shapes[load]);
        if used & (FIRST_USED | SECOND_USED) != 0 || !shares(0) || !shares(1) {
            return None;
        }
        offsets.push([step[0].imm, step[1].imm]);
        if used & SUM_USED != 0 {
            break;
        }
    }
    let extreme = |choose: fn(i64, i64) -> i64| {
        [0, 1].map(|load| offsets.iter().map(|step| step[load]).reduce(choose).unwrap_or(0))
    };
    let (least, greatest) = (extreme(i64::min), extreme(i64::max));
    let aligned = offsets.iter().flatten().all(|offset| offset % 4 == 0);
    (aligned && offsets.len() > 1).then_some(InnerProduct { offsets, least, greatest })
}

/// If two loads through shapes in slots and the multiply-add of their values begin here, returns the registers with the values.
fn factors(drafts: &[Draft], shapes: &[u32]) -> Option<[u32; 2]> {
    let [first, second, sum, ..] = drafts else { return None };
    let (a, b) = (loaded(first)?, loaded(second)?);
    let factors =
        [sum.a, sum.b].map(|operand| if let Operand::Register(register) = operand { register } else { u32::MAX });
    let fits = sum.results == Results::MultiplyAdd
        && sum.guard.is_none()
        && shapes[..2].iter().all(|bits| has_slot(*bits))
        && a != b
        // The address of the second load is known before the first one.
        && second.a != Operand::Register(a)
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
