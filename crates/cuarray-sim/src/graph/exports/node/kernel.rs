//! Kernel nodes of graphs.
//!
//! Driver API: [graph management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html). Arguments are
//! read when the node is added or changed, as for a launch in a stream. Queries return pointers into the node's own
//! copies.

use super::{INVALID_VALUE, add_and_return, change, context_of};
use crate::driver::Call;
use crate::graph::update;
use crate::launch::exports::{Arguments, Shape, prepare};
use crate::objects::graph_data::Action;
use crate::objects::launch::Launch;
use crate::parameters::{In, Out};
use crate::state::State;
use cuarray_abi::*;

/// The action of a kernel node with these parameters.
///
/// # Safety
/// The parameters are the program's: their lists are those of the kernel.
pub(crate) unsafe fn launch_action(
    state: &mut State,
    call: &Call<'_>,
    params: &CUDA_KERNEL_NODE_PARAMS,
) -> Result<Action, CUresult> {
    let CUDA_KERNEL_NODE_PARAMS { v1, kern, ctx } = *params;
    let (function, ctx) = if v1.func.is_null() { (CUfunction(kern.0), ctx) } else { (v1.func, CUcontext::NULL) };
    let own = state.code.functions.get(&function).and_then(|function| state.code.modules.get(&function.module));
    let context = match own {
        Some(module) => module.context,
        None => context_of(state, call, ctx)?,
    };
    let shape = Shape {
        grid: [v1.gridDimX, v1.gridDimY, v1.gridDimZ],
        threads: [v1.blockDimX, v1.blockDimY, v1.blockDimZ],
        shared: v1.sharedMemBytes,
        ..Shape::default()
    };
    // SAFETY: this function's contract.
    let lists = unsafe { Arguments::of(v1.kernelParams, v1.extra) };
    prepare(call, state, context, function, &shape, lists).map(Action::Launch)
}

/// The parameters of a kernel node.
pub(crate) fn launch_params(launch: &Launch) -> CUDA_KERNEL_NODE_PARAMS {
    let v1 = CUDA_KERNEL_NODE_PARAMS_v1 {
        func: launch.function,
        gridDimX: launch.grid[0],
        gridDimY: launch.grid[1],
        gridDimZ: launch.grid[2],
        blockDimX: launch.threads[0],
        blockDimY: launch.threads[1],
        blockDimZ: launch.threads[2],
        sharedMemBytes: launch.dynamic_shared,
        kernelParams: launch.argument_pointers(),
        extra: std::ptr::null_mut(),
    };
    CUDA_KERNEL_NODE_PARAMS { v1, kern: CUkernel::NULL, ctx: launch.context }
}

/// The parameters of a node, if it is a kernel node.
fn params_of(state: &State, node: CUgraphNode) -> Result<CUDA_KERNEL_NODE_PARAMS, CUresult> {
    match &state.node(node)?.action {
        Action::Launch(launch) => Ok(launch_params(launch)),
        _ => Err(INVALID_VALUE),
    }
}

/// Converts parameters of CUDA 10 to the current ones.
fn from_version_10(params: In<'_, CUDA_KERNEL_NODE_PARAMS_v1>) -> Result<CUDA_KERNEL_NODE_PARAMS, CUresult> {
    let v1 = params.read()?;
    Ok(CUDA_KERNEL_NODE_PARAMS { v1, kern: CUkernel::NULL, ctx: CUcontext::NULL })
}

pub(crate) fn cuGraphAddKernelNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    node_params: In<'_, CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Result<(), CUresult> {
    let params = from_version_10(node_params)?;
    cuGraphAddKernelNode_v2(call, p_node, graph, dependencies, num_dependencies, In::of(&params))
}

pub(crate) fn cuGraphAddKernelNode_v2(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    node_params: In<'_, CUDA_KERNEL_NODE_PARAMS>,
) -> Result<(), CUresult> {
    node_params.present()?;
    // SAFETY: the parameters are the program's.
    let action = |state: &mut State| unsafe { launch_action(state, call, &node_params.read()?) };
    // SAFETY: the manual gives the list this length.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), action) }
}

pub(crate) fn cuGraphKernelNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: Out<'_, CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Result<(), CUresult> {
    node_params.put(params_of(&call.lock(), node)?.v1)
}

pub(crate) fn cuGraphKernelNodeGetParams_v2(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: Out<'_, CUDA_KERNEL_NODE_PARAMS>,
) -> Result<(), CUresult> {
    node_params.put(params_of(&call.lock(), node)?)
}

pub(crate) fn cuGraphKernelNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: In<'_, CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Result<(), CUresult> {
    cuGraphKernelNodeSetParams_v2(call, node, In::of(&from_version_10(node_params)?))
}

pub(crate) fn cuGraphKernelNodeSetParams_v2(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: In<'_, CUDA_KERNEL_NODE_PARAMS>,
) -> Result<(), CUresult> {
    node_params.present()?;
    let mut state = call.lock();
    // SAFETY: the parameters are the program's.
    let action = unsafe { launch_action(&mut state, call, &node_params.read()?)? };
    change(&mut state, node, action)
}

pub(crate) fn cuGraphExecKernelNodeSetParams(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    node_params: In<'_, CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Result<(), CUresult> {
    cuGraphExecKernelNodeSetParams_v2(call, exec, node, In::of(&from_version_10(node_params)?))
}

pub(crate) fn cuGraphExecKernelNodeSetParams_v2(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    node_params: In<'_, CUDA_KERNEL_NODE_PARAMS>,
) -> Result<(), CUresult> {
    node_params.present()?;
    let mut state = call.lock();
    // SAFETY: the parameters are the program's.
    let action = unsafe { launch_action(&mut state, call, &node_params.read()?)? };
    update::update_node(&mut state, exec, node, action)
}
