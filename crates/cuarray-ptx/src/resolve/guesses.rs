//! Guessed values: plain loads whose value a compare-and-swap operation on the same address compares.
//!
//! The CUDA programming guide begins a loop of compare-and-swap operations with such a load. The operation itself finds out
//! whether the value is current, so a conflict of the load with other operations has no effect.

use super::draft::{Access, Block, Draft, Next, Operand, Results, reads, writes};
use rustc_hash::{FxHashMap, FxHashSet};

/// An address: operand and offset.
type Address = (Operand, i64);

/// Returns the guessing loads, by block and index in the block.
pub(super) fn guesses(blocks: &[Block]) -> FxHashSet<(usize, usize)> {
    let drafts = || blocks.iter().flat_map(|block| &block.drafts);
    let mut compared: FxHashMap<Address, Vec<u32>> = FxHashMap::default();
    for draft in drafts().filter(|draft| draft.results == Results::CompareAndSwap) {
        if let Operand::Register(value) = draft.b {
            compared.entry((draft.a, draft.imm)).or_default().push(value);
        }
    }
    if compared.is_empty() {
        return FxHashSet::default();
    }
    let mut writers: FxHashMap<u32, Vec<&Draft>> = FxHashMap::default();
    for draft in drafts() {
        writes(draft).for_each(|register| writers.entry(register).or_default().push(draft));
    }
    // A register that is written twice may hold another address at the load.
    compared.retain(|(base, _), _| match base {
        Operand::Register(register) => writers.get(register).is_none_or(|writers| writers.len() < 2),
        _ => true,
    });
    let reaching: FxHashMap<Address, FxHashSet<u32>> =
        compared.into_iter().map(|(address, values)| (address, sources(values, &writers))).collect();
    let is_guess = |draft: &Draft| {
        draft.results == Results::Load
            && reaching
                .get(&(draft.a, draft.imm))
                .is_some_and(|values| writes(draft).any(|value| values.contains(&value)))
    };
    let places = blocks
        .iter()
        .enumerate()
        .flat_map(|(block, all)| all.drafts.iter().enumerate().map(move |(index, draft)| ((block, index), draft)));
    places.filter(|(_, draft)| is_guess(draft)).map(|(place, _)| place).collect()
}

/// The registers from which each lane computes these values.
fn sources(values: Vec<u32>, writers: &FxHashMap<u32, Vec<&Draft>>) -> FxHashSet<u32> {
    let (mut seen, mut open) = (FxHashSet::default(), values);
    while let Some(register) = open.pop() {
        if seen.insert(register) {
            let writers = writers.get(&register).into_iter().flatten();
            let computing =
                writers.filter(|draft| draft.per_lane && draft.access == Access::None && draft.next == Next::On);
            open.extend(computing.flat_map(|draft| reads(draft)));
        }
    }
    seen
}
