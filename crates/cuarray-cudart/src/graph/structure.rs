//! The structure of graphs: nodes, edges, and copies of whole graphs.

use super::passed_on;
use crate::driver::cu;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_char, c_uint, c_ulonglong};

passed_on! {
    fn cudaGraphCreate(p_graph: *mut cudaGraph_t, flags: c_uint) needs p_graph => cuGraphCreate;
    fn cudaGraphDestroy(graph: cudaGraph_t) => cuGraphDestroy;
    fn cudaGraphDestroyNode(node: cudaGraphNode_t) => cuGraphDestroyNode;
    fn cudaGraphClone(p_graph_clone: *mut cudaGraph_t, original_graph: cudaGraph_t) needs p_graph_clone => cuGraphClone;
    fn cudaGraphNodeFindInClone(p_node: *mut cudaGraphNode_t, original_node: cudaGraphNode_t, cloned_graph: cudaGraph_t)
        needs p_node => cuGraphNodeFindInClone;
    // The kinds of nodes have the numbers of the driver's.
    fn cudaGraphNodeGetType(node: cudaGraphNode_t, p_type: *mut cudaGraphNodeType) needs p_type => cuGraphNodeGetType;
    fn cudaGraphNodeGetContainingGraph(h_node: cudaGraphNode_t, ph_graph: *mut cudaGraph_t)
        needs ph_graph => cuGraphNodeGetContainingGraph;
    fn cudaGraphNodeGetLocalId(h_node: cudaGraphNode_t, node_id: *mut c_uint) needs node_id => cuGraphNodeGetLocalId;
    fn cudaGraphNodeGetToolsId(h_node: cudaGraphNode_t, tools_node_id: *mut c_ulonglong)
        needs tools_node_id => cuGraphNodeGetToolsId;
    fn cudaGraphGetId(h_graph: cudaGraph_t, graph_id: *mut c_uint) needs graph_id => cuGraphGetId;
    fn cudaGraphGetNodes(graph: cudaGraph_t, nodes: *mut cudaGraphNode_t, num_nodes: *mut usize)
        needs num_nodes => cuGraphGetNodes;
    fn cudaGraphGetRootNodes(graph: cudaGraph_t, p_root_nodes: *mut cudaGraphNode_t, p_num_root_nodes: *mut usize)
        needs p_num_root_nodes => cuGraphGetRootNodes;
    fn cudaGraphGetEdges(graph: cudaGraph_t, from: *mut cudaGraphNode_t, to: *mut cudaGraphNode_t, edge_data: *mut cudaGraphEdgeData, num_edges: *mut usize)
        needs num_edges => cuGraphGetEdges_v2;
    fn cudaGraphGetEdges_v1(graph: cudaGraph_t, from: *mut cudaGraphNode_t, to: *mut cudaGraphNode_t, num_edges: *mut usize)
        needs num_edges => cuGraphGetEdges;
    fn cudaGraphNodeGetDependencies(node: cudaGraphNode_t, p_dependencies: *mut cudaGraphNode_t, edge_data: *mut cudaGraphEdgeData, p_num_dependencies: *mut usize)
        needs p_num_dependencies => cuGraphNodeGetDependencies_v2;
    fn cudaGraphNodeGetDependencies_v1(node: cudaGraphNode_t, p_dependencies: *mut cudaGraphNode_t, p_num_dependencies: *mut usize)
        needs p_num_dependencies => cuGraphNodeGetDependencies;
    fn cudaGraphNodeGetDependentNodes(node: cudaGraphNode_t, p_dependent_nodes: *mut cudaGraphNode_t, edge_data: *mut cudaGraphEdgeData, p_num_dependent_nodes: *mut usize)
        needs p_num_dependent_nodes => cuGraphNodeGetDependentNodes_v2;
    fn cudaGraphNodeGetDependentNodes_v1(node: cudaGraphNode_t, p_dependent_nodes: *mut cudaGraphNode_t, p_num_dependent_nodes: *mut usize)
        needs p_num_dependent_nodes => cuGraphNodeGetDependentNodes;
    fn cudaGraphAddDependencies(graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t, edge_data: *const cudaGraphEdgeData, num_dependencies: usize)
        => cuGraphAddDependencies_v2;
    fn cudaGraphAddDependencies_v1(graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t, num_dependencies: usize)
        => cuGraphAddDependencies;
    fn cudaGraphRemoveDependencies(graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t, edge_data: *const cudaGraphEdgeData, num_dependencies: usize)
        => cuGraphRemoveDependencies_v2;
    fn cudaGraphRemoveDependencies_v1(graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t, num_dependencies: usize)
        => cuGraphRemoveDependencies;
    // The flags have the numbers of the driver's.
    fn cudaGraphDebugDotPrint(graph: cudaGraph_t, path: *const c_char, flags: c_uint) needs path => cuGraphDebugDotPrint;
}

pub(crate) use {
    cudaGraphAddDependencies as cudaGraphAddDependencies_v2, cudaGraphGetEdges as cudaGraphGetEdges_v2,
    cudaGraphNodeGetDependencies as cudaGraphNodeGetDependencies_v2,
    cudaGraphNodeGetDependentNodes as cudaGraphNodeGetDependentNodes_v2,
    cudaGraphRemoveDependencies as cudaGraphRemoveDependencies_v2,
};
