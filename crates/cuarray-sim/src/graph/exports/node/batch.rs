//! Batch memory operation nodes, which wait for words of memory and write them.

use super::{INVALID_VALUE, add_and_return, change, context_of};
use crate::driver::Call;
use crate::graph::update;
use crate::memory_operations::work::{User, batch, check};
use crate::objects::graph_data::Action;
use crate::objects::memory_operation::Batch;
use crate::parameters::{In, Out, Received};
use crate::state::State;
use cuarray_abi::*;

/// The action of a batch memory operation node with these parameters.
///
/// # Errors
/// Those of [`batch`] and [`check`]; `CUDA_ERROR_INVALID_VALUE` for flags, as the manual has none.
///
/// # Safety
/// The parameters are the program's: their list has the length that they state.
pub(crate) unsafe fn batch_action(
    state: &mut State,
    call: &Call<'_>,
    params: CUDA_BATCH_MEM_OP_NODE_PARAMS,
) -> Result<Action, CUresult> {
    let CUDA_BATCH_MEM_OP_NODE_PARAMS { ctx, count, paramArray: list, flags } = params;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let context = context_of(state, call, ctx)?;
    // SAFETY: this function's contract.
    let (operations, params) = unsafe { batch(In::received(list), count, false)? };
    check(state, context, &operations, User::Node)?;
    Ok(Action::Memory(Box::new(Batch { context, flags, params, operations })))
}

/// The parameters of a node. The list is the node's own, and valid until the node changes.
pub(super) fn batch_params(batch: &Batch) -> CUDA_BATCH_MEM_OP_NODE_PARAMS {
    let (list, count) = (batch.params.as_ptr().cast_mut().cast(), batch.params.len() as u32);
    CUDA_BATCH_MEM_OP_NODE_PARAMS { ctx: batch.context, count, paramArray: list, flags: batch.flags }
}

pub(crate) fn cuGraphAddBatchMemOpNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    node_params: In<'_, CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Result<(), CUresult> {
    // SAFETY: the parameters are the program's.
    let action = |state: &mut State| unsafe { batch_action(state, call, node_params.read()?) };
    // SAFETY: the manual gives the list this length.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), action) }
}

pub(crate) fn cuGraphBatchMemOpNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params_out: Out<'_, CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Result<(), CUresult> {
    match &call.lock().node(node)?.action {
        Action::Memory(batch) => node_params_out.put(batch_params(batch)),
        _ => Err(INVALID_VALUE),
    }
}

pub(crate) fn cuGraphBatchMemOpNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: In<'_, CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    // SAFETY: the parameters are the program's.
    let action = unsafe { batch_action(&mut state, call, node_params.read()?)? };
    change(&mut state, node, action)
}

/// Changes the words and the values of a node; the operations stay of their kinds.
pub(crate) fn cuGraphExecBatchMemOpNodeSetParams(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    node_params: In<'_, CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    // SAFETY: the parameters are the program's.
    let action = unsafe { batch_action(&mut state, call, node_params.read()?)? };
    update::update_node(&mut state, exec, node, action)
}
