//! Nodes whose parameters have the driver's form: host functions, child graphs, events, memory, and empty nodes.

use super::passed_on;
use crate::driver::cu;
use crate::types::*;
use cuarray_abi::Api;

passed_on! {
    fn cudaGraphAddEmptyNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize)
        needs p_graph_node => cuGraphAddEmptyNode;
    fn cudaGraphAddHostNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, p_node_params: *const cudaHostNodeParams)
        needs p_graph_node p_node_params => cuGraphAddHostNode;
    fn cudaGraphHostNodeGetParams(node: cudaGraphNode_t, p_node_params: *mut cudaHostNodeParams)
        needs p_node_params => cuGraphHostNodeGetParams;
    fn cudaGraphHostNodeSetParams(node: cudaGraphNode_t, p_node_params: *const cudaHostNodeParams)
        needs p_node_params => cuGraphHostNodeSetParams;
    fn cudaGraphAddChildGraphNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, child_graph: cudaGraph_t)
        needs p_graph_node => cuGraphAddChildGraphNode;
    fn cudaGraphChildGraphNodeGetGraph(node: cudaGraphNode_t, p_graph: *mut cudaGraph_t)
        needs p_graph => cuGraphChildGraphNodeGetGraph;
    fn cudaGraphAddEventRecordNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, event: cudaEvent_t)
        needs p_graph_node => cuGraphAddEventRecordNode;
    fn cudaGraphEventRecordNodeGetEvent(node: cudaGraphNode_t, event_out: *mut cudaEvent_t)
        needs event_out => cuGraphEventRecordNodeGetEvent;
    fn cudaGraphEventRecordNodeSetEvent(node: cudaGraphNode_t, event: cudaEvent_t) => cuGraphEventRecordNodeSetEvent;
    fn cudaGraphAddEventWaitNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, event: cudaEvent_t)
        needs p_graph_node => cuGraphAddEventWaitNode;
    fn cudaGraphEventWaitNodeGetEvent(node: cudaGraphNode_t, event_out: *mut cudaEvent_t)
        needs event_out => cuGraphEventWaitNodeGetEvent;
    fn cudaGraphEventWaitNodeSetEvent(node: cudaGraphNode_t, event: cudaEvent_t) => cuGraphEventWaitNodeSetEvent;
}
