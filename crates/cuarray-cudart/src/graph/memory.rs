//! Memory of graphs: nodes that allocate and free, and the memory that a device keeps for them.

use super::passed_on;
use crate::driver::cu;
use crate::memory::address;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_int, c_void};

passed_on! {
    fn cudaGraphAddMemAllocNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, node_params: *mut cudaMemAllocNodeParams)
        needs p_graph_node node_params => cuGraphAddMemAllocNode;
    fn cudaGraphMemAllocNodeGetParams(node: cudaGraphNode_t, params_out: *mut cudaMemAllocNodeParams)
        needs params_out => cuGraphMemAllocNodeGetParams;
    fn cudaDeviceGraphMemTrim(device: c_int) => cuDeviceGraphMemTrim;
    // The attributes have the numbers of the driver's.
    fn cudaDeviceGetGraphMemAttribute(device: c_int, attr: cudaGraphMemAttributeType, value: *mut c_void)
        needs value => cuDeviceGetGraphMemAttribute;
    fn cudaDeviceSetGraphMemAttribute(device: c_int, attr: cudaGraphMemAttributeType, value: *mut c_void)
        needs value => cuDeviceSetGraphMemAttribute;
}

pub(crate) unsafe fn cudaGraphAddMemFreeNode(
    api: &Api,
    p_graph_node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    p_dependencies: *const cudaGraphNode_t,
    num_dependencies: usize,
    dptr: *mut c_void,
) -> Result {
    crate::call::present(p_graph_node)?;
    cu!(api.cuGraphAddMemFreeNode(p_graph_node, graph, p_dependencies, num_dependencies, address(dptr)))
}

pub(crate) unsafe fn cudaGraphMemFreeNodeGetParams(api: &Api, node: cudaGraphNode_t, dptr_out: *mut c_void) -> Result {
    crate::call::present(dptr_out)?;
    cu!(api.cuGraphMemFreeNodeGetParams(node, dptr_out.cast()))
}
