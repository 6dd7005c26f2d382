//! The parameters of allocation nodes.

use super::INVALID_VALUE;
use crate::objects::graph_data::{Action, AllocateNode};
use crate::parameters::{In, Received};
use crate::pool::accounting::checked_access;
use crate::state::State;
use cuarray_abi::*;

/// An allocation node with these parameters, which has no address yet.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for more access descriptions than devices, and for a description of no device.
///
/// # Safety
/// The parameters are the program's: their list has the length that they state.
pub(crate) unsafe fn allocate_action(state: &State, params: &CUDA_MEM_ALLOC_NODE_PARAMS) -> Result<Action, CUresult> {
    let &CUDA_MEM_ALLOC_NODE_PARAMS { poolProps, accessDescs, accessDescCount, bytesize, .. } = params;
    if accessDescCount > state.devices.len() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: this function's contract.
    let access = unsafe { In::received(accessDescs).list(accessDescCount) };
    let access = access.and_then(|access| checked_access(state, access));
    let access = access.map_err(|_| INVALID_VALUE)?.into_iter().collect();
    Ok(Action::Allocate(Box::new(AllocateNode::new(poolProps, &access, bytesize as u64))))
}
