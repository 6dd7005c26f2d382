//! Captures of streams into graphs.

use crate::call::present;
use crate::driver::cu;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_uint, c_ulonglong};
use std::ptr;

pub(crate) unsafe fn cudaStreamBeginCapture(api: &Api, stream: cudaStream_t, mode: cudaStreamCaptureMode) -> Result {
    cu!(api.cuStreamBeginCapture_v2(stream, mode))
}

pub(crate) unsafe fn cudaStreamBeginCaptureToGraph(
    api: &Api,
    stream: cudaStream_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_data: *const cudaGraphEdgeData,
    num_dependencies: usize,
    mode: cudaStreamCaptureMode,
) -> Result {
    cu!(api.cuStreamBeginCaptureToGraph(stream, graph, dependencies, dependency_data, num_dependencies, mode))
}

pub(crate) unsafe fn cudaThreadExchangeStreamCaptureMode(api: &Api, mode: *mut cudaStreamCaptureMode) -> Result {
    present(mode)?;
    cu!(api.cuThreadExchangeStreamCaptureMode(mode))
}

pub(crate) unsafe fn cudaStreamEndCapture(api: &Api, stream: cudaStream_t, p_graph: *mut cudaGraph_t) -> Result {
    cu!(api.cuStreamEndCapture(stream, p_graph))
}

pub(crate) unsafe fn cudaStreamIsCapturing(
    api: &Api,
    stream: cudaStream_t,
    p_capture_status: *mut cudaStreamCaptureStatus,
) -> Result {
    present(p_capture_status)?;
    cu!(api.cuStreamIsCapturing(stream, p_capture_status))
}

/// The state of a capture, without the graph.
pub(crate) unsafe fn cudaStreamGetCaptureInfo_v1(
    api: &Api,
    stream: cudaStream_t,
    capture_status_out: *mut cudaStreamCaptureStatus,
    id_out: *mut c_ulonglong,
) -> Result {
    // SAFETY: by the contract of this function; the other outputs are optional.
    unsafe {
        cudaStreamGetCaptureInfo_v2(
            api,
            stream,
            capture_status_out,
            id_out,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
        )
    }
}

/// The state of a capture, without the data of edges.
pub(crate) unsafe fn cudaStreamGetCaptureInfo_v2(
    api: &Api,
    stream: cudaStream_t,
    capture_status_out: *mut cudaStreamCaptureStatus,
    id_out: *mut c_ulonglong,
    graph_out: *mut cudaGraph_t,
    dependencies_out: *mut *const cudaGraphNode_t,
    num_dependencies_out: *mut usize,
) -> Result {
    present(capture_status_out)?;
    cu!(api.cuStreamGetCaptureInfo_v2(
        stream,
        capture_status_out,
        id_out,
        graph_out,
        dependencies_out,
        num_dependencies_out
    ))
}

pub(crate) unsafe fn cudaStreamGetCaptureInfo_v3(
    api: &Api,
    stream: cudaStream_t,
    capture_status_out: *mut cudaStreamCaptureStatus,
    id_out: *mut c_ulonglong,
    graph_out: *mut cudaGraph_t,
    dependencies_out: *mut *const cudaGraphNode_t,
    edge_data_out: *mut *const cudaGraphEdgeData,
    num_dependencies_out: *mut usize,
) -> Result {
    present(capture_status_out)?;
    let (status, id, graph, nodes) = (capture_status_out, id_out, graph_out, dependencies_out);
    cu!(api.cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edge_data_out, num_dependencies_out))
}

pub(crate) use cudaStreamGetCaptureInfo_v3 as cudaStreamGetCaptureInfo;

/// Changes the dependencies of the next captured operation, without data of edges.
pub(crate) unsafe fn cudaStreamUpdateCaptureDependencies_v1(
    api: &Api,
    stream: cudaStream_t,
    dependencies: *mut cudaGraphNode_t,
    num_dependencies: usize,
    flags: c_uint,
) -> Result {
    cu!(api.cuStreamUpdateCaptureDependencies(stream, dependencies, num_dependencies, flags))
}

pub(crate) unsafe fn cudaStreamUpdateCaptureDependencies_v2(
    api: &Api,
    stream: cudaStream_t,
    dependencies: *mut cudaGraphNode_t,
    dependency_data: *const cudaGraphEdgeData,
    num_dependencies: usize,
    flags: c_uint,
) -> Result {
    cu!(api.cuStreamUpdateCaptureDependencies_v2(stream, dependencies, dependency_data, num_dependencies, flags))
}

pub(crate) use cudaStreamUpdateCaptureDependencies_v2 as cudaStreamUpdateCaptureDependencies;
