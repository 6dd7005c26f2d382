//! Kernel nodes of graphs.
//!
//! Driver API: [graph management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html). Arguments are
//! read when the node is added or changed, as for a launch in a stream. Queries return pointers into the node's own
//! copies.

use super::super::*;
use super::{INVALID_VALUE, add_and_return, change, context_of};
use crate::graph_launch::update;
use crate::launch::exports::{Shape, prepare};
use crate::objects::graph_data::Action;
use crate::objects::launch::Launch;
use crate::state::State;

/// The action of a kernel node with these parameters.
///
/// # Safety
/// The lists of arguments are as the driver's manual defines.
pub(in crate::exports) unsafe fn launch_action(
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
    // SAFETY: by this function's contract.
    unsafe { prepare(call, state, context, function, &shape, (v1.kernelParams, v1.extra)).map(Action::Launch) }
}

/// The parameters of a kernel node.
pub(in crate::exports) fn launch_params(launch: &Launch) -> CUDA_KERNEL_NODE_PARAMS {
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
///
/// # Safety
/// `params` is null or readable.
unsafe fn from_version_10(params: *const CUDA_KERNEL_NODE_PARAMS_v1) -> Result<CUDA_KERNEL_NODE_PARAMS, CUresult> {
    present(params)?;
    // SAFETY: by this function's contract; the parameters may be unaligned.
    let v1 = unsafe { params.read_unaligned() };
    Ok(CUDA_KERNEL_NODE_PARAMS { v1, kern: CUkernel::NULL, ctx: CUcontext::NULL })
}

pub(in crate::exports) unsafe fn cuGraphAddKernelNode(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    node_params: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract.
    unsafe {
        cuGraphAddKernelNode_v2(call, p_node, graph, dependencies, num_dependencies, &from_version_10(node_params)?)
    }
}

pub(in crate::exports) unsafe fn cuGraphAddKernelNode_v2(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    node_params: *const CUDA_KERNEL_NODE_PARAMS,
) -> Result<(), CUresult> {
    present(node_params)?;
    // SAFETY: the caller's pointers, by the driver's contract; they may be unaligned.
    unsafe {
        let action = |state: &mut State| launch_action(state, call, &node_params.read_unaligned());
        add_and_return(call, p_node, graph, (dependencies, num_dependencies), action)
    }
}

pub(in crate::exports) unsafe fn cuGraphKernelNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *mut CUDA_KERNEL_NODE_PARAMS_v1,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(node_params, params_of(&call.lock(), node)?.v1) }
}

pub(in crate::exports) unsafe fn cuGraphKernelNodeGetParams_v2(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *mut CUDA_KERNEL_NODE_PARAMS,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(node_params, params_of(&call.lock(), node)?) }
}

pub(in crate::exports) unsafe fn cuGraphKernelNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract.
    unsafe { cuGraphKernelNodeSetParams_v2(call, node, &from_version_10(node_params)?) }
}

pub(in crate::exports) unsafe fn cuGraphKernelNodeSetParams_v2(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *const CUDA_KERNEL_NODE_PARAMS,
) -> Result<(), CUresult> {
    present(node_params)?;
    let mut state = call.lock();
    // SAFETY: the caller's parameters, by the driver's contract; they may be unaligned.
    let action = unsafe { launch_action(&mut state, call, &node_params.read_unaligned())? };
    change(&mut state, node, action)
}

pub(in crate::exports) unsafe fn cuGraphExecKernelNodeSetParams(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    node_params: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract.
    unsafe { cuGraphExecKernelNodeSetParams_v2(call, exec, node, &from_version_10(node_params)?) }
}

pub(in crate::exports) unsafe fn cuGraphExecKernelNodeSetParams_v2(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    node_params: *const CUDA_KERNEL_NODE_PARAMS,
) -> Result<(), CUresult> {
    present(node_params)?;
    let mut state = call.lock();
    // SAFETY: the caller's parameters, by the driver's contract; they may be unaligned.
    let action = unsafe { launch_action(&mut state, call, &node_params.read_unaligned())? };
    update::update_node(&mut state, exec, node, action)
}
