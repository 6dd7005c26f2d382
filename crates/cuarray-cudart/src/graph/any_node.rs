//! Functions for nodes of any kind.
//!
//! Their parameters have the driver's layout, except those of kernels, copies and fills. CUDA 12 has the same structures
//! without the members at the end, which it requires to be zero.

use super::{copy, kernel};
use crate::call::{present, put};
use crate::driver::cu;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::{
    Api, CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY,
    CU_GRAPH_NODE_TYPE_MEMSET, CUDA_CONDITIONAL_NODE_PARAMS, CUDA_MEMCPY_NODE_PARAMS, CUcontext,
};
use std::ffi::c_uint;
use std::ptr;

/// The parameters of a node as structure `T`.
fn part<T: Copy>(node: &cudaGraphNodeParams) -> T {
    const { assert!(size_of::<T>() <= size_of::<[u64; 29]>() && align_of::<T>() <= align_of::<u64>()) };
    // SAFETY: the parameters have room for `T`, whose fields are integers and pointers.
    unsafe { node.params.as_ptr().cast::<T>().read() }
}

/// Replaces the parameters of a node, and clears the rest of their room.
fn set_part<T: Copy>(node: &mut cudaGraphNodeParams, part: T) {
    const { assert!(size_of::<T>() <= size_of::<[u64; 29]>() && align_of::<T>() <= align_of::<u64>()) };
    node.params = [0; 29];
    // SAFETY: the parameters have room for `T`; padding is not read as a value.
    unsafe {
        ptr::copy_nonoverlapping(ptr::from_ref(&part).cast::<u8>(), node.params.as_mut_ptr().cast(), size_of::<T>())
    };
}

/// Reads the parameters of a node in the driver's form.
unsafe fn to_driver(api: &Api, params: *const cudaGraphNodeParams) -> Result<cudaGraphNodeParams> {
    // SAFETY: by the contract of this function.
    let mut node = unsafe { super::read(params)? };
    match node.kind {
        CU_GRAPH_NODE_TYPE_KERNEL => {
            let part = kernel::to_driver(api, &part(&node))?;
            set_part(&mut node, part);
        }
        CU_GRAPH_NODE_TYPE_MEMCPY => {
            let part: cudaMemcpyNodeParams = part(&node);
            let copy = CUDA_MEMCPY_NODE_PARAMS {
                flags: part.flags,
                reserved: part.reserved,
                copyCtx: part.ctx,
                copyParams: copy::to_driver(api, &part.copyParams)?,
            };
            set_part(&mut node, copy);
        }
        CU_GRAPH_NODE_TYPE_HOST => {
            // The driver's host nodes have no context, so the one that is given is only checked.
            let (given, mut device) = (part::<cudaHostNodeParamsV2>(&node).ctx, 0);
            if !given.is_null() {
                cu!(api.cuCtxGetDevice_v2(&raw mut device, given))?;
            }
        }
        CU_GRAPH_NODE_TYPE_CONDITIONAL => {
            // The execution context is at the place of the driver's context.
            let part: CUDA_CONDITIONAL_NODE_PARAMS = part(&node);
            set_part(&mut node, CUDA_CONDITIONAL_NODE_PARAMS { ctx: super::context_of(api, part.ctx)?, ..part });
        }
        _ => {}
    }
    Ok(node)
}

/// Converts the parameters of a node from the driver's form.
fn from_driver(api: &Api, node: &mut cudaGraphNodeParams) {
    match node.kind {
        CU_GRAPH_NODE_TYPE_KERNEL => {
            let part = kernel::from_driver(api, &part(node));
            set_part(node, part);
        }
        CU_GRAPH_NODE_TYPE_MEMCPY => {
            let part: CUDA_MEMCPY_NODE_PARAMS = part(node);
            let copy = cudaMemcpyNodeParams {
                flags: part.flags,
                reserved: part.reserved,
                ctx: cudaExecutionContext_t::NULL,
                copyParams: copy::from_driver(api, &part.copyParams),
            };
            set_part(node, copy);
        }
        CU_GRAPH_NODE_TYPE_MEMSET => {
            let part: cudaMemsetParamsV2 = part(node);
            set_part(node, cudaMemsetParamsV2 { ctx: cudaExecutionContext_t::NULL, ..part });
        }
        CU_GRAPH_NODE_TYPE_CONDITIONAL => {
            let part: CUDA_CONDITIONAL_NODE_PARAMS = part(node);
            set_part(node, CUDA_CONDITIONAL_NODE_PARAMS { ctx: CUcontext::NULL, ..part });
        }
        _ => {}
    }
}

/// Writes the outputs that the driver has left in the parameters of a new node.
unsafe fn write_outputs(api: &Api, params: *mut cudaGraphNodeParams, mut node: cudaGraphNodeParams) -> Result {
    match node.kind {
        // These have inputs only, which the driver has in another form.
        CU_GRAPH_NODE_TYPE_KERNEL | CU_GRAPH_NODE_TYPE_MEMCPY | CU_GRAPH_NODE_TYPE_MEMSET => Ok(()),
        _ => {
            from_driver(api, &mut node);
            // SAFETY: by the contract of this function.
            unsafe { put(params, node) }
        }
    }
}

pub(crate) unsafe fn cudaGraphAddNode(
    api: &Api,
    p_graph_node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    p_dependencies: *const cudaGraphNode_t,
    dependency_data: *const cudaGraphEdgeData,
    num_dependencies: usize,
    node_params: *mut cudaGraphNodeParams,
) -> Result {
    present(p_graph_node)?;
    // SAFETY: by the contract of this function.
    let mut node = unsafe { to_driver(api, node_params)? };
    let driver = &raw mut node;
    cu!(api.cuGraphAddNode_v2(p_graph_node, graph, p_dependencies, dependency_data, num_dependencies, driver))?;
    // SAFETY: by the contract of this function.
    unsafe { write_outputs(api, node_params, node) }
}

pub(crate) use cudaGraphAddNode as cudaGraphAddNode_v2;

/// The function of CUDA 12 without edge data.
pub(crate) unsafe fn cudaGraphAddNode_v1(
    api: &Api,
    p_graph_node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    p_dependencies: *const cudaGraphNode_t,
    num_dependencies: usize,
    node_params: *mut cudaGraphNodeParams,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaGraphAddNode(api, p_graph_node, graph, p_dependencies, ptr::null(), num_dependencies, node_params) }
}

pub(crate) unsafe fn cudaGraphNodeSetParams(
    api: &Api,
    node: cudaGraphNode_t,
    node_params: *mut cudaGraphNodeParams,
) -> Result {
    // SAFETY: by the contract of this function.
    let mut params = unsafe { to_driver(api, node_params)? };
    cu!(api.cuGraphNodeSetParams(node, &raw mut params))
}

pub(crate) unsafe fn cudaGraphNodeGetParams(
    api: &Api,
    node: cudaGraphNode_t,
    node_params: *mut cudaGraphNodeParams,
) -> Result {
    present(node_params)?;
    let mut params = cudaGraphNodeParams { kind: 0, reserved0: [0; 3], params: [0; 29], reserved2: 0 };
    cu!(api.cuGraphNodeGetParams(node, &raw mut params))?;
    from_driver(api, &mut params);
    // SAFETY: by the contract of this function.
    unsafe { put(node_params, params) }
}

pub(crate) unsafe fn cudaGraphExecNodeSetParams(
    api: &Api,
    graph_exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    node_params: *mut cudaGraphNodeParams,
) -> Result {
    // SAFETY: by the contract of this function.
    let mut params = unsafe { to_driver(api, node_params)? };
    cu!(api.cuGraphExecNodeSetParams(graph_exec, node, &raw mut params))
}

pub(crate) unsafe fn cudaGraphConditionalHandleCreate(
    api: &Api,
    p_handle_out: *mut cudaGraphConditionalHandle,
    graph: cudaGraph_t,
    default_launch_value: c_uint,
    flags: c_uint,
) -> Result {
    let ctx = cudaExecutionContext_t::NULL;
    // SAFETY: by the contract of this function.
    unsafe { cudaGraphConditionalHandleCreate_v2(api, p_handle_out, graph, ctx, default_launch_value, flags) }
}

pub(crate) unsafe fn cudaGraphConditionalHandleCreate_v2(
    api: &Api,
    p_handle_out: *mut cudaGraphConditionalHandle,
    graph: cudaGraph_t,
    ctx: cudaExecutionContext_t,
    default_launch_value: c_uint,
    flags: c_uint,
) -> Result {
    present(p_handle_out)?;
    let context = super::context_of(api, ctx)?;
    cu!(api.cuGraphConditionalHandleCreate(p_handle_out, graph, context, default_launch_value, flags))
}
