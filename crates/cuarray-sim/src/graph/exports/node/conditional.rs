//! Conditional nodes and their handles.
//!
//! Driver API: [`cuGraphConditionalHandleCreate`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

use super::{INVALID_VALUE, context_of, member};
use crate::driver::Call;
use crate::graph_structure::conditions;
use crate::objects::graph_data::Action;
use crate::parameters::Out;
use crate::state::State;
use cuarray_abi::*;
use std::ffi::c_uint;

/// The action of a conditional node in `graph` with these parameters, without its bodies.
pub(super) fn conditional_action(
    state: &State,
    graph: CUgraph,
    params: &CUgraphNodeParams,
) -> Result<Action, CUresult> {
    if params.reserved0 != [0; 3] || params.reserved2 != 0 {
        return Err(INVALID_VALUE);
    }
    let node = conditions::new_node(state, graph, &member(params))?;
    Ok(Action::Conditional(Box::new(node)))
}

/// A null context stands for the current one.
pub(crate) fn cuGraphConditionalHandleCreate(
    call: &Call<'_>,
    p_handle_out: Out<'_, CUgraphConditionalHandle>,
    graph: CUgraph,
    ctx: CUcontext,
    default_launch_value: c_uint,
    flags: c_uint,
) -> Result<(), CUresult> {
    p_handle_out.present()?;
    let mut state = call.lock();
    let ctx = context_of(&state, call, ctx).map_err(|_| INVALID_VALUE)?;
    let handle = conditions::create(&mut state, graph, ctx, default_launch_value, flags)?;
    conditions::made(&mut state, handle, ctx);
    drop(state);
    p_handle_out.put(handle)
}
