//! Executable graphs: instantiation, launch and update.
//!
//! Driver API: [graph management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

use super::node::{copy_action, fill_action, host_action, node_action};
use crate::capture;
use crate::driver::{Call, Guard};
use crate::execution::{self, outside, progress, service};
use crate::graph::exec::{self, NotInstantiated};
use crate::graph::update;
use crate::graph_structure::{self, conditions};
use crate::objects::graph_data::{Action, Owner};
use crate::objects::work::Work;
use crate::parameters::{In, InOut, Out, unsupported};
use crate::schedule::mode::Mode;
use crate::stream::lookup::stream;
use cuarray_abi::*;
use std::ffi::{c_char, c_uint};

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(crate) fn cuGraphInstantiate(
    call: &Call<'_>,
    p_exec: Out<'_, CUgraphExec>,
    graph: CUgraph,
    p_error_node: Out<'_, CUgraphNode>,
    log_buffer: Out<'_, c_char>,
    buffer_size: usize,
) -> Result<(), CUresult> {
    cuGraphInstantiate_v2(call, p_exec, graph, p_error_node, log_buffer, buffer_size)
}

/// Instantiates a graph; the error log has the reason if its structure is wrong.
fn instantiate(call: &Call<'_>, graph: CUgraph, flags: u64) -> Result<CUgraphExec, NotInstantiated> {
    let made = exec::instantiate(&mut call.lock(), graph, flags);
    made.inspect_err(|refusal| {
        if let Some(text) = refusal.text() {
            call.driver.explain_refusal("the instantiation of a graph", text);
        }
    })
}

/// Writes a sentence about the result to the log.
pub(crate) fn cuGraphInstantiate_v2(
    call: &Call<'_>,
    p_exec: Out<'_, CUgraphExec>,
    graph: CUgraph,
    p_error_node: Out<'_, CUgraphNode>,
    log_buffer: Out<'_, c_char>,
    buffer_size: usize,
) -> Result<(), CUresult> {
    p_exec.present()?;
    let made = instantiate(call, graph, 0);
    let text = match &made {
        Ok(_) => "",
        Err(refusal) => refusal.text().or_else(|| refusal.code().name()).unwrap_or_default(),
    };
    p_error_node.put_if_present(made.as_ref().err().map_or(CUgraphNode::NULL, NotInstantiated::node));
    if !log_buffer.is_null() && buffer_size > 0 {
        // SAFETY: by the manual, the buffer has this size.
        unsafe { log_buffer.put_text(text, buffer_size)? };
    }
    p_exec.put(made.map_err(|refusal| refusal.code())?)
}

pub(crate) fn cuGraphInstantiateWithFlags(
    call: &Call<'_>,
    p_exec: Out<'_, CUgraphExec>,
    graph: CUgraph,
    flags: u64,
) -> Result<(), CUresult> {
    p_exec.present()?;
    // Uploading needs a stream.
    if flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD != 0 {
        return Err(INVALID_VALUE);
    }
    let exec = instantiate(call, graph, flags).map_err(|refusal| refusal.code())?;
    p_exec.put(exec)
}

pub(crate) fn cuGraphInstantiateWithParams(
    call: &Call<'_>,
    p_exec: Out<'_, CUgraphExec>,
    graph: CUgraph,
    instantiate_params: InOut<'_, CUDA_GRAPH_INSTANTIATE_PARAMS>,
) -> Result<(), CUresult> {
    p_exec.present()?;
    let mut params = instantiate_params.read()?;
    let made = instantiate(call, graph, params.flags);
    let refusal = made.as_ref().err();
    params.result_out = refusal.map_or(CUDA_GRAPH_INSTANTIATE_SUCCESS, NotInstantiated::result);
    params.hErrNode_out = refusal.map_or(CUgraphNode::NULL, NotInstantiated::node);
    instantiate_params.put(params)?;
    let exec = made.map_err(|refusal| refusal.code())?;
    if params.flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD != 0 {
        cuGraphUpload(call, exec, params.hUploadStream)?;
    }
    p_exec.put(exec)
}

pub(crate) fn cuGraphExecGetFlags(call: &Call<'_>, exec: CUgraphExec, flags: Out<'_, u64>) -> Result<(), CUresult> {
    flags.put(call.lock().exec(exec)?.flags)
}

pub(crate) fn cuGraphExecGetId(call: &Call<'_>, exec: CUgraphExec, graph_id: Out<'_, c_uint>) -> Result<(), CUresult> {
    graph_id.put(call.lock().exec(exec)?.id)
}

/// Enqueues an operation without effect: a simulated graph needs no upload.
pub(crate) fn cuGraphUpload(call: &Call<'_>, exec: CUgraphExec, stream: CUstream) -> Result<(), CUresult> {
    let (mut state, handle) = self::stream(call, stream)?;
    state.exec(exec)?;
    capture::forbid_in_capture(&mut state, handle)?;
    drop(execution::submit(call, state, handle, Work::Wait, Vec::new())?);
    Ok(())
}

/// Launches a graph; in a capturing stream, adds it as a child graph node.
pub(crate) fn cuGraphLaunch(call: &Call<'_>, exec: CUgraphExec, stream: CUstream) -> Result<(), CUresult> {
    let (mut state, handle) = self::stream(call, stream)?;
    let graph = state.exec(exec)?.graph;
    if capture::captures(&mut state, handle)? {
        let conditional = !conditions::handles_of(&state, graph).is_empty();
        if conditional || graph_structure::has_memory_nodes(&state, graph) {
            return unsupported();
        }
        let child = graph_structure::clone_graph(&mut state, graph, Owner::Program)?;
        return capture::capture_node(&mut state, handle, Action::Child(child))
            .map(|_| ())
            .inspect_err(|_| graph_structure::remove_graph(&mut state, child));
    }
    let end = exec::launch(&mut state, exec, handle)?;
    progress::watch(call.driver, &mut state);
    service::watch(call.driver, &mut state);
    if matches!(state.mode, Mode::Eager) {
        drop(execution::run_eagerly(call.driver, state, end));
    }
    Ok(())
}

pub(crate) fn cuGraphExecDestroy(call: &Call<'_>, exec: CUgraphExec) -> Result<(), CUresult> {
    let mut state = call.lock();
    exec::destroy_exec(&mut state, exec)?;
    drop(outside::bury(call.driver, state));
    Ok(())
}

pub(crate) fn cuGraphExecUpdate(
    call: &Call<'_>,
    exec: CUgraphExec,
    graph: CUgraph,
    error_node_out: Out<'_, CUgraphNode>,
    update_result_out: Out<'_, CUgraphExecUpdateResult>,
) -> Result<(), CUresult> {
    error_node_out.present()?;
    update_result_out.present()?;
    let mut info = CUgraphExecUpdateResultInfo::default();
    let updated = cuGraphExecUpdate_v2(call, exec, graph, Out::of(&mut info));
    error_node_out.put(info.errorNode)?;
    update_result_out.put(info.result)?;
    updated
}

pub(crate) fn cuGraphExecUpdate_v2(
    call: &Call<'_>,
    exec: CUgraphExec,
    graph: CUgraph,
    result_info: Out<'_, CUgraphExecUpdateResultInfo>,
) -> Result<(), CUresult> {
    result_info.present()?;
    let mut state = call.lock();
    state.exec(exec)?;
    state.graph(graph)?;
    let updated = update::update_exec(&mut state, exec, graph);
    drop(outside::bury(call.driver, state));
    let info = match &updated {
        Ok(()) => CUgraphExecUpdateResultInfo::default(),
        Err(refusal) => {
            let (result, node, from) = (refusal.result, refusal.node, refusal.from);
            CUgraphExecUpdateResultInfo { result, errorNode: node, errorFromNode: from }
        }
    };
    result_info.put(info)?;
    updated.map_err(|_| CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
}

/// Changes a node if `action` has the kind of the node.
fn update(mut state: Guard<'_>, exec: CUgraphExec, node: CUgraphNode, action: Action) -> Result<(), CUresult> {
    update::update_node(&mut state, exec, node, action)
}

pub(crate) fn cuGraphExecNodeSetParams(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    node_params: In<'_, CUgraphNodeParams>,
) -> Result<(), CUresult> {
    let params = node_params.read()?;
    let mut state = call.lock();
    // SAFETY: the parameters are the program's.
    match unsafe { node_action(&mut state, call, &params)? } {
        Action::Child(child) => {
            drop(state);
            cuGraphExecChildGraphNodeSetParams(call, exec, node, child)
        }
        Action::Allocate(_) | Action::Free(_) | Action::Empty => unsupported(),
        action => update(state, exec, node, action),
    }
}

pub(crate) fn cuGraphExecMemcpyNodeSetParams(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    copy_params: In<'_, CUDA_MEMCPY3D>,
    ctx: CUcontext,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let action = copy_action(&mut state, call, &copy_params.read()?, ctx)?;
    update(state, exec, node, action)
}

pub(crate) fn cuGraphExecMemsetNodeSetParams(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    memset_params: In<'_, CUDA_MEMSET_NODE_PARAMS>,
    ctx: CUcontext,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let action = fill_action(&mut state, call, memset_params.read()?, ctx)?;
    update(state, exec, node, action)
}

pub(crate) fn cuGraphExecHostNodeSetParams(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    node_params: In<'_, CUDA_HOST_NODE_PARAMS>,
) -> Result<(), CUresult> {
    let action = host_action(node_params.read()?)?;
    update(call.lock(), exec, node, action)
}

pub(crate) fn cuGraphExecChildGraphNodeSetParams(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    child_graph: CUgraph,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    state.graph(child_graph)?;
    update::update_child(&mut state, exec, node, child_graph)
}

pub(crate) fn cuGraphExecEventRecordNodeSetEvent(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    event: CUevent,
) -> Result<(), CUresult> {
    let state = call.lock();
    state.event(event)?;
    update(state, exec, node, Action::Record(event))
}

pub(crate) fn cuGraphExecEventWaitNodeSetEvent(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    event: CUevent,
) -> Result<(), CUresult> {
    let state = call.lock();
    state.event(event)?;
    update(state, exec, node, Action::Wait(event))
}

/// The node of an executable graph, if its kind can be disabled.
fn switchable(state: &Guard<'_>, exec: CUgraphExec, node: CUgraphNode) -> Result<CUgraphNode, CUresult> {
    let own = exec::node_of_exec(state, exec, node)?;
    match state.node(own)?.action {
        Action::Copy(_) | Action::Fill(_) | Action::Launch(_) => Ok(own),
        _ => Err(INVALID_VALUE),
    }
}

pub(crate) fn cuGraphNodeSetEnabled(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    is_enabled: c_uint,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let own = switchable(&state, exec, node)?;
    let exec = state.exec_mut(exec)?;
    match is_enabled {
        0 => exec.disabled.insert(own),
        _ => exec.disabled.remove(&own),
    };
    Ok(())
}

pub(crate) fn cuGraphNodeGetEnabled(
    call: &Call<'_>,
    exec: CUgraphExec,
    node: CUgraphNode,
    is_enabled: Out<'_, c_uint>,
) -> Result<(), CUresult> {
    let state = call.lock();
    let own = switchable(&state, exec, node)?;
    is_enabled.put(c_uint::from(!state.exec(exec)?.disabled.contains(&own)))
}
