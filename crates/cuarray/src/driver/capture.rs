//! Capture state: whether a stream records a graph, and the capture it takes part in.
//!
//! Driver API: [stream management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).

use super::{Driver, call};
use crate::Result;
use cuarray_abi::{CU_STREAM_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_NONE, CUgraph, CUstream};
use std::ptr;

/// The capture status of a stream, from [`Stream::capture_status`](super::Stream::capture_status).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureStatus {
    /// The stream runs its work.
    None,
    /// The stream records its work into a graph.
    Active,
    /// The stream was recording, and an error has invalidated the graph. The program must still end the capture.
    Invalidated,
}

/// [`Stream::capture_status`](super::Stream::capture_status) of a handle, in the current context.
///
/// # Safety
/// The stream is alive.
pub(super) unsafe fn status(driver: &Driver, raw: CUstream) -> Result<CaptureStatus> {
    if driver.api().cuStreamIsCapturing.is_none() {
        // Captures and this query both came with CUDA 10.0: an older driver never captures.
        return Ok(CaptureStatus::None);
    }
    let mut status = CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: this function's contract; the driver writes one int, which outlives the call.
    unsafe { call!(driver, cuStreamIsCapturing(raw, &mut status)) }?;
    Ok(match status {
        CU_STREAM_CAPTURE_STATUS_NONE => CaptureStatus::None,
        CU_STREAM_CAPTURE_STATUS_ACTIVE => CaptureStatus::Active,
        _ => CaptureStatus::Invalidated,
    })
}

/// [`Stream::capture_id`](super::Stream::capture_id) of a handle, in the current context.
///
/// # Safety
/// The stream is alive.
pub(super) unsafe fn id(driver: &Driver, raw: CUstream) -> Result<Option<u64>> {
    // SAFETY: this function's contract.
    Ok(unsafe { info(driver, raw) }?.map(|(id, _)| id))
}

/// The graph that a stream captures; `None` if there is no capture, or the driver does not report it. Works in the current context.
///
/// # Safety
/// The stream is alive.
pub(super) unsafe fn graph(driver: &Driver, raw: CUstream) -> Result<Option<CUgraph>> {
    // SAFETY: this function's contract.
    Ok(unsafe { info(driver, raw) }?.map(|(_, graph)| graph))
}

/// # Safety
/// The stream is alive.
unsafe fn info(driver: &Driver, raw: CUstream) -> Result<Option<(u64, CUgraph)>> {
    let (mut status, mut id, mut graph) = (CU_STREAM_CAPTURE_STATUS_NONE, 0u64, CUgraph::NULL);
    let (nodes, count) = (ptr::null_mut(), ptr::null_mut());
    match (driver.api().cuStreamGetCaptureInfo_v3, driver.api().cuStreamGetCaptureInfo_v2) {
        (Some(_), _) => {
            let edges = ptr::null_mut();
            // SAFETY: this function's contract; the driver writes an int, a number and a handle, which outlive the call. A null pointer
            // requests no value.
            unsafe {
                call!(driver, cuStreamGetCaptureInfo_v3(raw, &mut status, &mut id, &mut graph, nodes, edges, count))
            }
        }
        (None, Some(_)) => {
            // SAFETY: this function's contract; the driver writes an int, a number and a handle, which outlive the call. A null pointer
            // requests no value.
            unsafe { call!(driver, cuStreamGetCaptureInfo_v2(raw, &mut status, &mut id, &mut graph, nodes, count)) }
        }
        (None, None) => Ok(()),
    }?;
    Ok((status == CU_STREAM_CAPTURE_STATUS_ACTIVE).then_some((id, graph)))
}
