//! The parameters of a kernel from which the addresses of its stores derive.
//!
//! Memory that no store addresses is only read, and reads do not race. Race detection leaves these reads out, which are most
//! accesses of many kernels. The analysis ignores the order of instructions: a register derives from everything that
//! any instruction puts into it. An address from memory, of an atomic operation, or in a call has an unknown source.

use super::builder::Built;
use super::draft::{Access, Draft, Operand};
use super::registers::{reads, writes};
use crate::grammar::types::Width;

/// The bit of an unknown source. The other bits are words of the parameter buffer, of 8 bytes.
const UNKNOWN: u64 = 1 << 63;

/// Returns a bit for each word of the parameter buffer from which the address of a store derives; `None` if an address may
/// have another source.
pub(super) fn stored_words(built: &Built) -> Option<u64> {
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
    let mut all = 0;
    for draft in drafts().filter(|draft| matches!(draft.access, Access::Store(_)) && is_in_global(draft)) {
        all |= match draft.a {
            Operand::Register(register) => sources[register as usize],
            _ => UNKNOWN,
        };
    }
    (all & UNKNOWN == 0).then_some(all)
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
    // The mode's low bits are the state space: generic or global.
    !matches!(store.c, Operand::Number(mode) if mode & 7 > 1)
}
