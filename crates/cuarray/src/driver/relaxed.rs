//! [`Relaxed`]: driver calls that must not disturb captures in other threads.
//!
//! While a thread captures in the global mode, the driver forbids *every* thread the calls that a graph cannot repeat: allocation,
//! release, event queries. Such a call fails and invalidates the capture, even if it is unrelated. This library's own
//! allocations, releases and event queries are always unrelated, so it relaxes the thread's mode around them. It does not relax
//! the calls that a program makes through it.
//!
//! Driver API: [`cuThreadExchangeStreamCaptureMode`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).

use super::{CUresult, Driver, call};
use crate::Result;
use cuarray_abi::{CU_STREAM_CAPTURE_MODE_RELAXED, CUstreamCaptureMode};
use std::marker::PhantomData;

/// A guard that exempts this thread's calls from other threads' captures, and their calls from its own.
#[must_use = "the mode is set back when this is dropped"]
pub(crate) struct Relaxed<'a> {
    driver: &'a Driver,
    before: Option<CUstreamCaptureMode>,
    /// Each thread has its own mode: the guard must be dropped in the thread that made it.
    of_this_thread: PhantomData<*const ()>,
}

impl Driver {
    /// Relaxes this thread's mode. Does nothing if the driver has no modes, or permits no call here.
    ///
    /// # Errors
    /// Other errors of the driver: without the relaxed mode, the calls that follow could invalidate a capture.
    pub(crate) fn relaxed(&self) -> Result<Relaxed<'_>> {
        let before = match self.exchange_capture_mode(CU_STREAM_CAPTURE_MODE_RELAXED) {
            Ok(mode) => Some(mode),
            Err(error) => match error.driver_code() {
                None | Some(CUresult::CUDA_ERROR_NOT_PERMITTED) => None,
                Some(_) => return Err(error),
            },
        };
        Ok(Relaxed { driver: self, before, of_this_thread: PhantomData })
    }

    /// Sets this thread's mode and returns the one before.
    fn exchange_capture_mode(&self, mode: CUstreamCaptureMode) -> Result<CUstreamCaptureMode> {
        let mut mode = mode;
        // SAFETY: the driver reads and writes one int, which outlives the call.
        unsafe { call!(self, cuThreadExchangeStreamCaptureMode(&mut mode)) }?;
        Ok(mode)
    }
}

impl Drop for Relaxed<'_> {
    fn drop(&mut self) {
        if let Some(mode) = self.before {
            // A second attempt does no harm, and a thread left in the relaxed mode would disturb its later captures.
            let restore = || self.driver.exchange_capture_mode(mode).map(drop);
            self.driver.dropped(restore().or_else(|_| restore()));
        }
    }
}
