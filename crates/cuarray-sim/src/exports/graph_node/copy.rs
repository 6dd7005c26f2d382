//! Copy nodes and fill nodes.

use super::super::*;
use super::{INVALID_VALUE, add_and_return, change, context_of};
use crate::exports::transfer::transfer_of;
use crate::graph_structure::checks;
use crate::objects::graph_data::{Action, CopyNode, FillNode, Given};
use crate::state::State;

/// The action of a memcpy node with these parameters.
///
/// # Safety
/// `params` is null or readable.
pub(in crate::exports) unsafe fn copy_action(
    state: &mut State,
    call: &Call<'_>,
    params: *const CUDA_MEMCPY3D,
    ctx: CUcontext,
) -> Result<Action, CUresult> {
    present(params)?;
    // SAFETY: by this function's contract; the parameters may be unaligned.
    let params = unsafe { params.read_unaligned() };
    let transfer = transfer_of(state, &params)?;
    let context = context_of(state, call, ctx)?;
    let node = CopyNode { params: Given(params), transfer, context };
    checks::check_copy(state, &node).map_err(|refused| refused.report(state))?;
    Ok(Action::Copy(Box::new(node)))
}

/// The action of a memset node with these parameters.
///
/// # Safety
/// `params` is null or readable.
pub(in crate::exports) unsafe fn fill_action(
    state: &mut State,
    call: &Call<'_>,
    params: *const CUDA_MEMSET_NODE_PARAMS,
    ctx: CUcontext,
) -> Result<Action, CUresult> {
    present(params)?;
    // SAFETY: by this function's contract; the parameters may be unaligned.
    let params = unsafe { params.read_unaligned() };
    let node = FillNode { params, context: context_of(state, call, ctx)? };
    checks::check_fill(state, &node).map_err(|refused| refused.report(state))?;
    Ok(Action::Fill(node))
}

pub(in crate::exports) unsafe fn cuGraphAddMemcpyNode(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    copy_params: *const CUDA_MEMCPY3D,
    ctx: CUcontext,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe {
        let action = |state: &mut State| copy_action(state, call, copy_params, ctx);
        add_and_return(call, p_node, graph, (dependencies, num_dependencies), action)
    }
}

pub(in crate::exports) unsafe fn cuGraphMemcpyNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *mut CUDA_MEMCPY3D,
) -> Result<(), CUresult> {
    match &call.lock().node(node)?.action {
        // SAFETY: the caller's pointer, by the driver's contract.
        Action::Copy(copy) => unsafe { put(node_params, copy.params.0) },
        _ => Err(INVALID_VALUE),
    }
}

pub(in crate::exports) unsafe fn cuGraphMemcpyNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *const CUDA_MEMCPY3D,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let context = match &state.node(node)?.action {
        Action::Copy(copy) => copy.context,
        _ => return Err(INVALID_VALUE),
    };
    // SAFETY: the caller's parameters, by the driver's contract.
    let action = unsafe { copy_action(&mut state, call, node_params, context)? };
    change(&mut state, node, action)
}

pub(in crate::exports) unsafe fn cuGraphAddMemsetNode(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    memset_params: *const CUDA_MEMSET_NODE_PARAMS,
    ctx: CUcontext,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe {
        let action = |state: &mut State| fill_action(state, call, memset_params, ctx);
        add_and_return(call, p_node, graph, (dependencies, num_dependencies), action)
    }
}

pub(in crate::exports) unsafe fn cuGraphMemsetNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *mut CUDA_MEMSET_NODE_PARAMS,
) -> Result<(), CUresult> {
    match &call.lock().node(node)?.action {
        // SAFETY: the caller's pointer, by the driver's contract.
        Action::Fill(fill) => unsafe { put(node_params, fill.params) },
        _ => Err(INVALID_VALUE),
    }
}

pub(in crate::exports) unsafe fn cuGraphMemsetNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *const CUDA_MEMSET_NODE_PARAMS,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let Action::Fill(FillNode { context, .. }) = state.node(node)?.action else { return Err(INVALID_VALUE) };
    // SAFETY: the caller's parameters, by the driver's contract.
    let action = unsafe { fill_action(&mut state, call, node_params, context)? };
    change(&mut state, node, action)
}
