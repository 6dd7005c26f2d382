//! Checks of the bytes that copy and fill nodes touch.

use crate::graph_structure::node_access::{self, Refused};
use crate::objects::allocation::Declared;
use crate::objects::copy::End;
use crate::objects::graph_data::{CopyNode, FillNode, INVALID_VALUE};
use crate::state::State;
use cuarray_races::finding::AccessKind;

/// Checks the accesses of a memcpy node.
pub(crate) fn check_copy(state: &State, node: &CopyNode) -> Result<(), Refused> {
    let CopyNode { transfer, context, .. } = node;
    if transfer.extent.is_empty() {
        return Err(INVALID_VALUE.into());
    }
    for (end, access) in [(transfer.target, AccessKind::Write), (transfer.source, AccessKind::Read)] {
        node_access::check(state, *context, end, transfer.extent, access)?;
    }
    Ok(())
}

/// Checks the accesses of a memset node.
pub(crate) fn check_fill(state: &State, node: &FillNode) -> Result<(), Refused> {
    let fill = node.fill()?;
    let end = End::new(Declared::Device, fill.target);
    node_access::check(state, node.context, end, fill.extent, AccessKind::Write)
}
