//! Executable graphs: instantiation, changes, and launches.

use super::passed_on;
use crate::driver::cu;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_uint, c_ulonglong};

passed_on! {
    fn cudaGraphInstantiate(p_graph_exec: *mut cudaGraphExec_t, graph: cudaGraph_t, flags: c_ulonglong)
        needs p_graph_exec => cuGraphInstantiateWithFlags;
    fn cudaGraphInstantiateWithParams(p_graph_exec: *mut cudaGraphExec_t, graph: cudaGraph_t, instantiate_params: *mut cudaGraphInstantiateParams)
        needs p_graph_exec instantiate_params => cuGraphInstantiateWithParams;
    fn cudaGraphExecGetFlags(graph_exec: cudaGraphExec_t, flags: *mut c_ulonglong) needs flags => cuGraphExecGetFlags;
    fn cudaGraphExecGetId(h_graph_exec: cudaGraphExec_t, graph_id: *mut c_uint) needs graph_id => cuGraphExecGetId;
    fn cudaGraphExecHostNodeSetParams(h_graph_exec: cudaGraphExec_t, node: cudaGraphNode_t, p_node_params: *const cudaHostNodeParams)
        needs p_node_params => cuGraphExecHostNodeSetParams;
    fn cudaGraphExecChildGraphNodeSetParams(h_graph_exec: cudaGraphExec_t, node: cudaGraphNode_t, child_graph: cudaGraph_t)
        => cuGraphExecChildGraphNodeSetParams;
    fn cudaGraphExecEventRecordNodeSetEvent(h_graph_exec: cudaGraphExec_t, h_node: cudaGraphNode_t, event: cudaEvent_t)
        => cuGraphExecEventRecordNodeSetEvent;
    fn cudaGraphExecEventWaitNodeSetEvent(h_graph_exec: cudaGraphExec_t, h_node: cudaGraphNode_t, event: cudaEvent_t)
        => cuGraphExecEventWaitNodeSetEvent;
    fn cudaGraphNodeSetEnabled(h_graph_exec: cudaGraphExec_t, h_node: cudaGraphNode_t, is_enabled: c_uint)
        => cuGraphNodeSetEnabled;
    fn cudaGraphNodeGetEnabled(h_graph_exec: cudaGraphExec_t, h_node: cudaGraphNode_t, is_enabled: *mut c_uint)
        needs is_enabled => cuGraphNodeGetEnabled;
    fn cudaGraphExecUpdate(h_graph_exec: cudaGraphExec_t, h_graph: cudaGraph_t, result_info: *mut cudaGraphExecUpdateResultInfo)
        needs result_info => cuGraphExecUpdate_v2;
    fn cudaGraphUpload(graph_exec: cudaGraphExec_t, stream: cudaStream_t) => cuGraphUpload;
    fn cudaGraphLaunch(graph_exec: cudaGraphExec_t, stream: cudaStream_t) => cuGraphLaunch;
    fn cudaGraphExecDestroy(graph_exec: cudaGraphExec_t) => cuGraphExecDestroy;
}

pub(crate) use cudaGraphInstantiate as cudaGraphInstantiateWithFlags;
