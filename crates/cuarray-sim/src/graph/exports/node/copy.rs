//! Copy nodes and fill nodes.

use super::{INVALID_VALUE, add_and_return, change, context_of};
use crate::copy::exports::transfer_of;
use crate::driver::Call;
use crate::graph_structure::checks;
use crate::objects::graph_data::{Action, CopyNode, FillNode, Given};
use crate::parameters::{In, Out};
use crate::state::State;
use cuarray_abi::*;

/// The action of a memcpy node with these parameters.
pub(crate) fn copy_action(
    state: &mut State,
    call: &Call<'_>,
    params: &CUDA_MEMCPY3D,
    ctx: CUcontext,
) -> Result<Action, CUresult> {
    let transfer = transfer_of(state, params)?;
    let context = context_of(state, call, ctx)?;
    let node = CopyNode { params: Given(*params), transfer, context };
    checks::check_copy(state, &node).map_err(|refused| refused.report(state))?;
    Ok(Action::Copy(Box::new(node)))
}

/// The action of a memset node with these parameters.
pub(crate) fn fill_action(
    state: &mut State,
    call: &Call<'_>,
    params: CUDA_MEMSET_NODE_PARAMS,
    ctx: CUcontext,
) -> Result<Action, CUresult> {
    let node = FillNode { params, context: context_of(state, call, ctx)? };
    checks::check_fill(state, &node).map_err(|refused| refused.report(state))?;
    Ok(Action::Fill(node))
}

pub(crate) fn cuGraphAddMemcpyNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    copy_params: In<'_, CUDA_MEMCPY3D>,
    ctx: CUcontext,
) -> Result<(), CUresult> {
    let action = |state: &mut State| copy_action(state, call, &copy_params.read()?, ctx);
    // SAFETY: the manual gives the list this length.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), action) }
}

pub(crate) fn cuGraphMemcpyNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: Out<'_, CUDA_MEMCPY3D>,
) -> Result<(), CUresult> {
    match &call.lock().node(node)?.action {
        Action::Copy(copy) => node_params.put(copy.params.0),
        _ => Err(INVALID_VALUE),
    }
}

pub(crate) fn cuGraphMemcpyNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: In<'_, CUDA_MEMCPY3D>,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let context = match &state.node(node)?.action {
        Action::Copy(copy) => copy.context,
        _ => return Err(INVALID_VALUE),
    };
    let action = copy_action(&mut state, call, &node_params.read()?, context)?;
    change(&mut state, node, action)
}

pub(crate) fn cuGraphAddMemsetNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    memset_params: In<'_, CUDA_MEMSET_NODE_PARAMS>,
    ctx: CUcontext,
) -> Result<(), CUresult> {
    let action = |state: &mut State| fill_action(state, call, memset_params.read()?, ctx);
    // SAFETY: the manual gives the list this length.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), action) }
}

pub(crate) fn cuGraphMemsetNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: Out<'_, CUDA_MEMSET_NODE_PARAMS>,
) -> Result<(), CUresult> {
    match &call.lock().node(node)?.action {
        Action::Fill(fill) => node_params.put(fill.params),
        _ => Err(INVALID_VALUE),
    }
}

pub(crate) fn cuGraphMemsetNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: In<'_, CUDA_MEMSET_NODE_PARAMS>,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let Action::Fill(FillNode { context, .. }) = state.node(node)?.action else { return Err(INVALID_VALUE) };
    let action = fill_action(&mut state, call, node_params.read()?, context)?;
    change(&mut state, node, action)
}
