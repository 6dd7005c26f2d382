//! New allocations.

use crate::objects::allocation::{Advice, Allocation, Kind};
use crate::state::State;
use cuarray_abi::CUcontext;

/// Adds a new allocation to the table.
pub(crate) fn add(
    state: &mut State,
    (address, size, taken): (u64, u64, u64),
    kind: Kind,
    context: CUcontext,
    device: usize,
) {
    match &kind {
        Kind::Library(_) => {}
        Kind::Registered { .. } => state.host_access.add_registered(address, size),
        kind => state.host_access.add(address, size, kind.guardable()),
    }
    let id = crate::handle::fresh() as u64;
    let (sync_memops, freed, advice) = (false, false, Advice::default());
    let allocation = Allocation { address, size, taken, kind, context, device, id, sync_memops, freed, advice };
    state.memory.insert(allocation);
}
