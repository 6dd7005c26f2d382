//! Checks of the bytes that copy and fill nodes touch.

use crate::objects::allocation::Declared;
use crate::objects::copy::{End, Transfer};
use crate::objects::graph_data::FillNode;
use crate::objects::graph_data::INVALID_VALUE;
use crate::state::State;
use crate::work::graph_memory;
use cuarray_abi::*;
use cuarray_races::finding::AccessKind;

/// Checks the accesses of a memcpy node.
pub(crate) fn check_copy(state: &State, transfer: &Transfer) -> Result<(), CUresult> {
    if transfer.extent.is_empty() {
        return Err(INVALID_VALUE);
    }
    for (End { declared, place }, access) in [(transfer.target, AccessKind::Write), (transfer.source, AccessKind::Read)]
    {
        graph_memory::side_of_node(state, place.address, place.span(transfer.extent)?, declared, access)?;
    }
    Ok(())
}

/// Checks the accesses of a memset node.
pub(crate) fn check_fill(state: &State, node: &FillNode) -> Result<(), CUresult> {
    let fill = node.fill()?;
    let span = fill.target.span(fill.extent)?;
    graph_memory::side_of_node(state, fill.target.address, span, Declared::Device, AccessKind::Write)?;
    Ok(())
}
