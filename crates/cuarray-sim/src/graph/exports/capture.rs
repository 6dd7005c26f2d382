//! Stream capture.
//!
//! Driver API: [stream management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html). The rules
//! are in `capture`.

use crate::capture::{self, Target};
use crate::driver::Call;
use crate::execution::outside;
use crate::graph::exports::graph::edge_list;
use crate::objects::capturing::{Capturing, Recapture};
use crate::objects::graph_data::EdgeOrder;
use crate::parameters::{In, InOut, Out};
use crate::stream::lookup::stream;
use crate::thread;
use cuarray_abi::*;
use std::ffi::{c_uint, c_void};

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Captures in the global mode, as drivers before CUDA 10.1 did.
pub(crate) fn cuStreamBeginCapture(call: &Call<'_>, stream: CUstream) -> Result<(), CUresult> {
    cuStreamBeginCapture_v2(call, stream, CU_STREAM_CAPTURE_MODE_GLOBAL)
}

pub(crate) fn cuStreamBeginCapture_v2(
    call: &Call<'_>,
    stream: CUstream,
    mode: CUstreamCaptureMode,
) -> Result<(), CUresult> {
    let (mut state, handle) = self::stream(call, stream)?;
    capture::begin_capture(&mut state, handle, call.thread, mode, Target::New)
}

pub(crate) fn cuStreamBeginCaptureToGraph(
    call: &Call<'_>,
    stream: CUstream,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    dependency_data: In<'_, CUgraphEdgeData>,
    num_dependencies: usize,
    mode: CUstreamCaptureMode,
) -> Result<(), CUresult> {
    // SAFETY: the manual gives the lists this length.
    let after = unsafe { edge_list(dependencies, dependency_data, num_dependencies)? };
    let (mut state, handle) = self::stream(call, stream)?;
    capture::begin_capture(&mut state, handle, call.thread, mode, Target::Existing(graph, after))
}

/// Begins a capture of the nodes that a graph has already.
pub(crate) fn cuStreamBeginRecaptureToGraph(
    call: &Call<'_>,
    stream: CUstream,
    mode: CUstreamCaptureMode,
    graph: CUgraph,
    callback_func: CUgraphRecaptureCallback,
    user_data: *mut c_void,
) -> Result<(), CUresult> {
    let (mut state, handle) = self::stream(call, stream)?;
    let progress = Recapture { done: 0, callback: callback_func, data: user_data };
    let begun = capture::begin_capture(&mut state, handle, call.thread, mode, Target::Again(graph, progress));
    drop(outside::bury(call.driver, state));
    begun
}

/// Ends a failed capture too, without a graph.
pub(crate) fn cuStreamEndCapture(call: &Call<'_>, stream: CUstream, p_graph: Out<'_, CUgraph>) -> Result<(), CUresult> {
    let (mut state, handle) = self::stream(call, stream)?;
    // The program has the handle of a graph that it gave itself.
    let capture = capture::capture_of(&state, handle).and_then(|id| state.captures.get(&id));
    if capture.is_some_and(|capture| capture.owns_graph) {
        p_graph.present()?;
    }
    let ended = capture::end_capture(&mut state, handle, call.thread);
    drop(outside::bury(call.driver, state));
    if !p_graph.is_null() {
        p_graph.put(*ended.as_ref().unwrap_or(&CUgraph::NULL))?;
    }
    ended.map(|_| ())
}

/// The properties of a stream's capture that a program may query.
struct Info {
    status: CUstreamCaptureStatus,
    id: u64,
    /// Whether an edge from the dependencies has data.
    has_data: bool,
    graph: CUgraph,
    dependencies: (*const CUgraphNode, *const CUgraphEdgeData, usize),
}

fn info(call: &Call<'_>, stream: CUstream) -> Result<Info, CUresult> {
    let (mut state, handle) = self::stream(call, stream)?;
    // A query does not invalidate the capture.
    if capture::legacy_is_blocked(&state, handle) {
        return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    let state = &mut *state;
    let capturing = state.streams.get_mut(&handle).and_then(|stream| stream.capturing.as_mut());
    let found = capturing.and_then(|capturing| Some((state.captures.get(&capturing.id)?, capturing)));
    let none = (std::ptr::null(), std::ptr::null(), 0);
    Ok(match found {
        None => {
            let status = CU_STREAM_CAPTURE_STATUS_NONE;
            Info { status, id: 0, has_data: false, graph: CUgraph::NULL, dependencies: none }
        }
        Some((capture, Capturing { id, .. })) if capture.invalidated => {
            let status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
            Info { status, id: *id, has_data: false, graph: CUgraph::NULL, dependencies: none }
        }
        Some((capture, Capturing { id, after, listed, .. })) => {
            *listed = after.iter().map(|edge| (edge.from, edge.data)).unzip();
            let dependencies = (listed.0.as_ptr(), listed.1.as_ptr(), after.len());
            let has_data = after.iter().any(|edge| edge.order() != EdgeOrder::Full);
            let (status, graph) = (CU_STREAM_CAPTURE_STATUS_ACTIVE, capture.graph);
            Info { status, id: *id, has_data, graph, dependencies }
        }
    })
}

pub(crate) fn cuStreamIsCapturing(
    call: &Call<'_>,
    stream: CUstream,
    capture_status: Out<'_, CUstreamCaptureStatus>,
) -> Result<(), CUresult> {
    capture_status.present()?;
    capture_status.put(info(call, stream)?.status)
}

pub(crate) fn cuStreamGetCaptureInfo(
    call: &Call<'_>,
    stream: CUstream,
    capture_status_out: Out<'_, CUstreamCaptureStatus>,
    id_out: Out<'_, u64>,
) -> Result<(), CUresult> {
    cuStreamGetCaptureInfo_v2(call, stream, capture_status_out, id_out, Out::NULL, Out::NULL, Out::NULL)
}

pub(crate) fn cuStreamGetCaptureInfo_v2(
    call: &Call<'_>,
    stream: CUstream,
    capture_status_out: Out<'_, CUstreamCaptureStatus>,
    id_out: Out<'_, u64>,
    graph_out: Out<'_, CUgraph>,
    dependencies_out: Out<'_, *const CUgraphNode>,
    num_dependencies_out: Out<'_, usize>,
) -> Result<(), CUresult> {
    cuStreamGetCaptureInfo_v3(
        call,
        stream,
        capture_status_out,
        id_out,
        graph_out,
        dependencies_out,
        Out::NULL,
        num_dependencies_out,
    )
}

/// Writes only the status of a stream that does not capture, as the manual defines. The arrays belong to the stream.
pub(crate) fn cuStreamGetCaptureInfo_v3(
    call: &Call<'_>,
    stream: CUstream,
    capture_status_out: Out<'_, CUstreamCaptureStatus>,
    id_out: Out<'_, u64>,
    graph_out: Out<'_, CUgraph>,
    dependencies_out: Out<'_, *const CUgraphNode>,
    edge_data_out: Out<'_, *const CUgraphEdgeData>,
    num_dependencies_out: Out<'_, usize>,
) -> Result<(), CUresult> {
    capture_status_out.present()?;
    if !edge_data_out.is_null() && dependencies_out.is_null() {
        return Err(INVALID_VALUE);
    }
    let info = info(call, stream)?;
    let active = info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if info.has_data && !dependencies_out.is_null() && edge_data_out.is_null() {
        return Err(CUresult::CUDA_ERROR_LOSSY_QUERY);
    }
    capture_status_out.put(info.status)?;
    if active {
        id_out.put_if_present(info.id);
        graph_out.put_if_present(info.graph);
        dependencies_out.put_if_present(info.dependencies.0);
        edge_data_out.put_if_present(info.dependencies.1);
        num_dependencies_out.put_if_present(info.dependencies.2);
    }
    Ok(())
}

pub(crate) fn cuStreamUpdateCaptureDependencies(
    call: &Call<'_>,
    stream: CUstream,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    flags: c_uint,
) -> Result<(), CUresult> {
    cuStreamUpdateCaptureDependencies_v2(call, stream, dependencies, In::NULL, num_dependencies, flags)
}

/// Adds to the dependencies of the stream's next node, or replaces them.
pub(crate) fn cuStreamUpdateCaptureDependencies_v2(
    call: &Call<'_>,
    stream: CUstream,
    dependencies: In<'_, CUgraphNode>,
    dependency_data: In<'_, CUgraphEdgeData>,
    num_dependencies: usize,
    flags: c_uint,
) -> Result<(), CUresult> {
    if flags & !CU_STREAM_SET_CAPTURE_DEPENDENCIES != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the manual gives the lists this length.
    let edges = unsafe { edge_list(dependencies, dependency_data, num_dependencies)? };
    let (mut state, handle) = self::stream(call, stream)?;
    let id = capture::capture_of(&state, handle).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
    if !capture::captures(&mut state, handle)? {
        return Err(CUresult::CUDA_ERROR_ILLEGAL_STATE);
    }
    let graph = state.captures.get(&id).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?.graph;
    capture::check_dependencies(&state, graph, &edges)?;
    if flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES
        && let Some(capturing) = state.streams.get_mut(&handle).and_then(|stream| stream.capturing.as_mut())
    {
        capturing.after.clear();
    }
    capture::add_dependencies(&mut state, handle, edges);
    Ok(())
}

pub(crate) fn cuThreadExchangeStreamCaptureMode(
    _: &Call<'_>,
    mode: InOut<'_, CUstreamCaptureMode>,
) -> Result<(), CUresult> {
    let wanted = mode.read()?;
    if wanted > CU_STREAM_CAPTURE_MODE_RELAXED {
        return Err(INVALID_VALUE);
    }
    let before = thread::with(|thread| thread.capture_mode.replace(wanted));
    mode.put(before.ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?)
}
