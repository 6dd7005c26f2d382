//! Checks of the bytes that copy and fill nodes touch.

use crate::objects::allocation::Declared;
use crate::objects::copy::{End, Transfer};
use crate::objects::graph::FillNode;
use crate::objects::graph::INVALID_VALUE;
use crate::state::State;
use cuarray_abi::*;

impl State {
    /// Checks the accesses of a memcpy node.
    pub(crate) fn check_copy(&self, transfer: &Transfer) -> Result<(), CUresult> {
        if transfer.extent.is_empty() {
            return Err(INVALID_VALUE);
        }
        for End { declared, place } in [transfer.target, transfer.source] {
            self.side_of_node(place.address, place.span(transfer.extent)?, declared)?;
        }
        Ok(())
    }

    /// Checks the accesses of a memset node.
    pub(crate) fn check_fill(&self, node: &FillNode) -> Result<(), CUresult> {
        let fill = node.fill()?;
        self.side_of_node(fill.target.address, fill.target.span(fill.extent)?, Declared::Device)?;
        Ok(())
    }
}
