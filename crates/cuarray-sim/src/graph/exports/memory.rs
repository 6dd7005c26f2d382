//! Graph memory: the nodes that allocate and free it, and its accounting on each device.
//!
//! Driver API: [graph management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

use super::node::{add_and_return, allocate_action};
use crate::driver::Call;
use crate::objects::graph_data::Action;
use crate::parameters::{In, InOut, Out};
use crate::state::State;
use cuarray_abi::*;
use std::ffi::c_void;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Adds the node and writes the address of its memory into the parameters.
pub(crate) fn cuGraphAddMemAllocNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    node_params: InOut<'_, CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> Result<(), CUresult> {
    let params = node_params.read()?;
    p_node.present()?;
    // SAFETY: the parameters are the program's.
    let action = |state: &mut State| unsafe { allocate_action(state, &params) };
    let mut node = CUgraphNode::NULL;
    // SAFETY: the manual gives the list this length.
    unsafe { add_and_return(call, Out::of(&mut node), graph, (dependencies, num_dependencies), action)? };
    // By the header, only the address is an output.
    let mut added = params;
    cuGraphMemAllocNodeGetParams(call, node, Out::of(&mut added))?;
    node_params.put(CUDA_MEM_ALLOC_NODE_PARAMS { dptr: added.dptr, ..params })?;
    p_node.put(node)
}

pub(crate) fn cuGraphMemAllocNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    params_out: Out<'_, CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> Result<(), CUresult> {
    match &call.lock().node(node)?.action {
        Action::Allocate(node) => params_out.put(node.params()),
        _ => Err(INVALID_VALUE),
    }
}

pub(crate) fn cuGraphAddMemFreeNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    dptr: CUdeviceptr,
) -> Result<(), CUresult> {
    // SAFETY: the manual gives the list this length.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), |_| Ok(Action::Free(dptr))) }
}

pub(crate) fn cuGraphMemFreeNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    dptr_out: Out<'_, CUdeviceptr>,
) -> Result<(), CUresult> {
    match call.lock().node(node)?.action {
        Action::Free(address) => dptr_out.put(address),
        _ => Err(INVALID_VALUE),
    }
}

/// Releases reserved memory that is not in use.
pub(crate) fn cuDeviceGraphMemTrim(call: &Call<'_>, device: CUdevice) -> Result<(), CUresult> {
    let mut state = call.lock();
    state.device_mut(device)?.graph_memory.trim();
    Ok(())
}

pub(crate) fn cuDeviceGetGraphMemAttribute(
    call: &Call<'_>,
    device: CUdevice,
    attr: CUgraphMem_attribute,
    value: Out<'_, c_void>,
) -> Result<(), CUresult> {
    value.present()?;
    let memory = call.lock().device(device)?.graph_memory;
    let result = match attr {
        CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT => memory.used,
        CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => memory.used_high,
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT => memory.reserved,
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => memory.reserved_high,
        _ => return Err(INVALID_VALUE),
    };
    // SAFETY: by the manual, each value has 64 bits.
    unsafe { value.cast::<u64>() }.put(result)
}

/// Resets a high watermark; zero is the only valid value.
pub(crate) fn cuDeviceSetGraphMemAttribute(
    call: &Call<'_>,
    device: CUdevice,
    attr: CUgraphMem_attribute,
    value: In<'_, c_void>,
) -> Result<(), CUresult> {
    // SAFETY: by the manual, each value has 64 bits.
    let wanted = unsafe { value.cast::<u64>() }.read()?;
    let mut state = call.lock();
    let memory = &mut state.device_mut(device)?.graph_memory;
    match (attr, wanted) {
        (CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, 0) => memory.used_high = memory.used,
        (CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, 0) => memory.reserved_high = memory.reserved,
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}
