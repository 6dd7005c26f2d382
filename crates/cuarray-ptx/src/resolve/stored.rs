//! The parameters of a kernel from which the addresses of its stores derive.
//!
//! A store should reach only the allocations that these parameters point to. So race detection leaves out reads of other
//! allocations, which are most accesses of many kernels, and a store that reaches such an allocation is out of bounds. The
//! analysis ignores the order of instructions: a register derives from everything that any instruction puts into it. An
//! address from memory, of an atomic operation, or in a call has an unknown source.

use super::builder::Built;
use super::draft::{Access, Draft, Operand, reads, writes};
use super::in_place::{Place, drafts as drafts_of};
use crate::grammar::types::Width;
use crate::machine::access_mode::{GENERIC, GLOBAL, space};
use rustc_hash::FxHashMap;

/// The bit of an unknown source. The other bits are words of the parameter buffer, of 8 bytes.
const UNKNOWN: u64 = 1 << 63;

/// Returns, for each store to global memory, a bit for each word of the parameter buffer from which its address derives; `None`
/// if an address may have another source.
pub(super) fn sources_of_stores(built: &Built) -> Option<FxHashMap<Place, u64>> {
    if built.writes_otherwise || !built.calls.is_empty() || built.calls_address {
        return None;
    }
    let drafts = || built.blocks.iter().flat_map(|block| &block.drafts);
    let mut sources = vec![0_u64; built.widths.len()];
    loop {
        let mut changed = false;
        for draft in drafts() {
            let from = source(draft, &sources);
            // A predicate selects among addresses, and holds none.
            for register in writes(draft).filter(|register| built.widths[*register as usize] != Width::Predicate) {
                let known = &mut sources[register as usize];
                changed |= from & !*known != 0;
                *known |= from;
            }
        }
        if !changed {
            break;
        }
    }
    let mut stores = FxHashMap::default();
    for (place, draft) in drafts_of(&built.blocks) {
        if matches!(draft.access, Access::Store(_)) && is_in_global(draft) {
            let Operand::Register(register) = draft.a else { return None };
            let words = sources[register as usize];
            if words & UNKNOWN != 0 {
                return None;
            }
            stores.insert(place, words);
        }
    }
    Some(stores)
}

/// The sources of the values that an instruction writes to registers.
fn source(draft: &Draft, sources: &[u64]) -> u64 {
    match draft.access {
        Access::Parameter(_) => 1_u64.checked_shl(draft.imm as u32 / 8).unwrap_or(UNKNOWN),
        Access::None if draft.per_lane => reads(draft).fold(0, |all, register| all | sources[register as usize]),
        Access::None | Access::Load(_) | Access::Store(_) => UNKNOWN,
    }
}

/// Whether a store may access global memory.
fn is_in_global(store: &Draft) -> bool {
    !matches!(store.c, Operand::Number(mode) if !matches!(space(mode), GENERIC | GLOBAL))
}
