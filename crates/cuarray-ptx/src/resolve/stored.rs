//! The parameters of a kernel from which the addresses of its accesses derive.
//!
//! A store, or an atomic operation on a single word, should reach only the allocations that these parameters point to. So race detection leaves out reads of other
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

/// From what the addresses of a function's accesses to global memory derive.
pub(super) struct Sources {
    /// For each store and atomic operation, a bit for each word of the parameter buffer; `None` if an address may have another source.
    pub stores: Option<FxHashMap<Place, u64>>,
    /// Whether the address of a load or store may derive from a loaded value.
    pub loaded: bool,
}

/// Returns the sources of a function's addresses.
pub(super) fn sources_of(built: &Built) -> Sources {
    if built.writes_otherwise || !built.calls.is_empty() || built.calls_address {
        return Sources { stores: None, loaded: true };
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
    let (mut stores, mut loaded) = (Some(FxHashMap::default()), false);
    for (place, draft) in drafts_of(&built.blocks) {
        let is_store = matches!(draft.access, Access::Store(_)) || built.atomics.contains(&place);
        if !(is_store || matches!(draft.access, Access::Load(_))) || !is_in_global(draft) {
            continue;
        }
        let words = match draft.a {
            Operand::Register(register) => Some(sources[register as usize]),
            _ => None,
        };
        loaded |= words.is_some_and(|words| words & UNKNOWN != 0);
        if is_store {
            match (words, &mut stores) {
                (Some(words), Some(stores)) if words & UNKNOWN == 0 => _ = stores.insert(place, words),
                _ => stores = None,
            }
        }
    }
    Sources { stores, loaded }
}

/// The sources of the values that an instruction writes to registers.
fn source(draft: &Draft, sources: &[u64]) -> u64 {
    match draft.access {
        Access::Parameter(_) => 1_u64.checked_shl(draft.imm as u32 / 8).unwrap_or(UNKNOWN),
        Access::None if draft.per_lane => reads(draft).fold(0, |all, register| all | sources[register as usize]),
        Access::None | Access::Load(_) | Access::Store(_) => UNKNOWN,
    }
}

/// Whether an access may reach global memory.
fn is_in_global(access: &Draft) -> bool {
    !matches!(access.c, Operand::Number(mode) if !matches!(space(mode), GENERIC | GLOBAL))
}
