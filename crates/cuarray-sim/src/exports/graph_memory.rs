//! Graph memory: the nodes that allocate and free it, and its accounting on each device.
//!
//! Driver API: [graph management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

use super::graph_node::add_and_return;
use super::*;
use crate::objects::graph_data::{Action, AllocateNode};
use crate::state::State;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// An allocation node with these parameters, which has no address yet.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for more access descriptions than devices, and for a description of no device.
///
/// # Safety
/// The access descriptions are null, or as many as the parameters say.
pub(super) unsafe fn allocate_action(state: &State, params: &CUDA_MEM_ALLOC_NODE_PARAMS) -> Result<Action, CUresult> {
    let &CUDA_MEM_ALLOC_NODE_PARAMS { poolProps, accessDescs, accessDescCount, bytesize, .. } = params;
    if accessDescCount > state.devices.len() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: by this function's contract.
    let access = unsafe { super::pool::descriptions(state, accessDescs, accessDescCount) };
    let access = access.map_err(|_| INVALID_VALUE)?.into_iter().collect();
    Ok(Action::Allocate(Box::new(AllocateNode::new(poolProps, &access, bytesize as u64))))
}

/// Adds the node and writes the address of its memory into the parameters.
pub(super) unsafe fn cuGraphAddMemAllocNode(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    node_params: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> Result<(), CUresult> {
    present(node_params)?;
    // SAFETY: the caller's parameters, by the driver's contract; they may be unaligned.
    let params = unsafe { node_params.read_unaligned() };
    let mut node = CUgraphNode::NULL;
    // SAFETY: as above; `node` is a local variable.
    unsafe {
        let action = |state: &mut State| allocate_action(state, &params);
        present(p_node)?;
        add_and_return(call, &mut node, graph, (dependencies, num_dependencies), action)?;
        // By the header, only the address is an output.
        let mut added = params;
        cuGraphMemAllocNodeGetParams(call, node, &mut added)?;
        put(node_params, CUDA_MEM_ALLOC_NODE_PARAMS { dptr: added.dptr, ..params })?;
        put(p_node, node)
    }
}

pub(super) unsafe fn cuGraphMemAllocNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    params_out: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> Result<(), CUresult> {
    match &call.lock().node(node)?.action {
        // SAFETY: the caller's pointer, by the driver's contract.
        Action::Allocate(node) => unsafe { put(params_out, node.params()) },
        _ => Err(INVALID_VALUE),
    }
}

pub(super) unsafe fn cuGraphAddMemFreeNode(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    dptr: CUdeviceptr,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), |_| Ok(Action::Free(dptr))) }
}

pub(super) unsafe fn cuGraphMemFreeNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    dptr_out: *mut CUdeviceptr,
) -> Result<(), CUresult> {
    match call.lock().node(node)?.action {
        // SAFETY: the caller's pointer, by the driver's contract.
        Action::Free(address) => unsafe { put(dptr_out, address) },
        _ => Err(INVALID_VALUE),
    }
}

/// Releases reserved memory that is not in use.
pub(super) unsafe fn cuDeviceGraphMemTrim(call: &Call<'_>, device: CUdevice) -> Result<(), CUresult> {
    let mut state = call.lock();
    state.device_mut(device)?.graph_memory.trim();
    Ok(())
}

pub(super) unsafe fn cuDeviceGetGraphMemAttribute(
    call: &Call<'_>,
    device: CUdevice,
    attr: CUgraphMem_attribute,
    value: *mut c_void,
) -> Result<(), CUresult> {
    present(value)?;
    let memory = call.lock().device(device)?.graph_memory;
    let result = match attr {
        CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT => memory.used,
        CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => memory.used_high,
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT => memory.reserved,
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => memory.reserved_high,
        _ => return Err(INVALID_VALUE),
    };
    // SAFETY: the caller's pointer to 64 bits, by the driver's contract.
    unsafe { put(value.cast::<u64>(), result) }
}

/// Resets a high watermark; zero is the only valid value.
pub(super) unsafe fn cuDeviceSetGraphMemAttribute(
    call: &Call<'_>,
    device: CUdevice,
    attr: CUgraphMem_attribute,
    value: *mut c_void,
) -> Result<(), CUresult> {
    present(value)?;
    // SAFETY: the caller's pointer to 64 bits, by the driver's contract; it may be unaligned.
    let wanted = unsafe { value.cast::<u64>().read_unaligned() };
    let mut state = call.lock();
    let memory = &mut state.device_mut(device)?.graph_memory;
    match (attr, wanted) {
        (CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, 0) => memory.used_high = memory.used,
        (CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, 0) => memory.reserved_high = memory.reserved,
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}
