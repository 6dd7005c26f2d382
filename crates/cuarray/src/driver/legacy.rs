//! What work in no stream has to do with: the legacy default stream of a context, without a [`Stream`](super::Stream) for it.
//!
//! The driver's calls that take no stream run in this one. A copy of a few kilobytes takes less than the three reference counts
//! and the allocation that an object for the stream would cost.
//!
//! Driver API: [default streams](https://docs.nvidia.com/cuda/cuda-driver-api/stream-sync-behavior.html).

use super::{CaptureStatus, Context, call, capture};
use crate::Result;
use cuarray_abi::CU_STREAM_LEGACY;

impl Context {
    /// Whether the legacy default stream captures, which it never does; what this answers is whether it can be used.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` while a stream that waits for it is capturing.
    pub(crate) fn legacy_capture_status(&self) -> Result<CaptureStatus> {
        let _current = self.push()?;
        // SAFETY: every context has that stream.
        unsafe { capture::status(self.driver(), CU_STREAM_LEGACY) }
    }

    /// Waits until the legacy default stream has done all that it was given.
    ///
    /// Driver API: [`cuStreamSynchronize`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub(crate) fn synchronize_legacy(&self) -> Result<()> {
        let _current = self.push()?;
        // SAFETY: every context has that stream.
        unsafe { call!(self.driver(), cuStreamSynchronize(CU_STREAM_LEGACY)) }
    }
}
