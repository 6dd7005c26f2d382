//! Calls on the legacy default stream of a context, without a [`Stream`](super::Stream) object.
//!
//! Driver calls without a stream run in this stream. A `Stream` object for it costs three reference counts and an
//! allocation, which is more than a copy of a few kilobytes costs.
//!
//! Driver API: [default streams](https://docs.nvidia.com/cuda/cuda-driver-api/stream-sync-behavior.html).

use super::{CaptureStatus, Context, call, capture};
use crate::Result;
use cuarray_abi::CU_STREAM_LEGACY;

impl Context {
    /// Queries whether the legacy default stream can be used. This stream never captures.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`: a blocking stream of the context is capturing.
    pub(crate) fn legacy_capture_status(&self) -> Result<CaptureStatus> {
        let _current = self.push()?;
        // SAFETY: every context has a legacy default stream.
        unsafe { capture::status(self.driver(), CU_STREAM_LEGACY) }
    }

    /// Waits until all work in the legacy default stream is done.
    ///
    /// Driver API: [`cuStreamSynchronize`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub(crate) fn synchronize_legacy(&self) -> Result<()> {
        let _current = self.push()?;
        // SAFETY: every context has a legacy default stream.
        unsafe { call!(self.driver(), cuStreamSynchronize(CU_STREAM_LEGACY)) }
    }
}
