//! Whether a stream records a graph, and which capture it takes part in.
//!
//! Driver API: [stream management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).

use super::{Driver, call};
use crate::Result;
use cuarray_abi::{CU_STREAM_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_NONE, CUstream};
use std::ptr;

/// What a stream does with what it is given; from [`Stream::capture_status`](super::Stream::capture_status).
///
/// ```
/// # use cuarray::{Driver, Stream, driver::CaptureStatus};
/// # cuarray::__simulated!(driver);
/// let stream = Stream::new(&driver.default_context()?)?;
/// assert_eq!(stream.capture_status()?, CaptureStatus::None); // what it is given runs
/// assert_eq!(stream.capture_id()?, None);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureStatus {
    /// It runs it.
    None,
    /// It records it into a graph.
    Active,
    /// It was recording, but an error has spoiled the graph; the capture is still to be ended.
    Invalidated,
}

/// What [`Stream::capture_status`](super::Stream::capture_status) asks, in the current context.
///
/// # Safety
/// The stream is alive.
pub(super) unsafe fn status(driver: &Driver, raw: CUstream) -> Result<CaptureStatus> {
    if driver.api().cuStreamIsCapturing.is_none() {
        // The query came with captures, in CUDA 10.0: before it, nothing captures.
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

/// What [`Stream::capture_id`](super::Stream::capture_id) asks, in the current context.
///
/// # Safety
/// The stream is alive.
pub(super) unsafe fn id(driver: &Driver, raw: CUstream) -> Result<Option<u64>> {
    let (mut status, mut id) = (CU_STREAM_CAPTURE_STATUS_NONE, 0u64);
    let (graph, nodes, count) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    match (driver.api().cuStreamGetCaptureInfo_v3, driver.api().cuStreamGetCaptureInfo_v2) {
        (Some(_), _) => {
            let edges = ptr::null_mut();
            // SAFETY: this function's contract; the driver writes an int and a number, which outlive the call, and null asks
            // for nothing.
            unsafe { call!(driver, cuStreamGetCaptureInfo_v3(raw, &mut status, &mut id, graph, nodes, edges, count)) }
        }
        (None, Some(_)) => {
            // SAFETY: as above.
            unsafe { call!(driver, cuStreamGetCaptureInfo_v2(raw, &mut status, &mut id, graph, nodes, count)) }
        }
        (None, None) => Ok(()),
    }?;
    Ok((status == CU_STREAM_CAPTURE_STATUS_ACTIVE).then_some(id))
}
