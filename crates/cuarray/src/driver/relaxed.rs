//! [`Relaxed`]: driver calls that must not disturb captures in other threads.
//!
//! While a thread captures in the global mode, the driver forbids *every* thread the calls that a graph cannot repeat: allocation,
//! release, event queries. Such a call fails and invalidates the capture, even if it is unrelated. This library's own
//! allocations, releases and event queries are always unrelated, so it relaxes the thread's mode around them. It does not relax
//! the calls that a program makes through it.
//!
//! Driver API: [`cuThreadExchangeStreamCaptureMode`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).

use super::{Driver, call};
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
    pub(crate) fn relaxed(&self) -> Relaxed<'_> {
        let mut mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the driver reads and writes one int, which outlives the call.
        let exchanged = unsafe { call!(self, cuThreadExchangeStreamCaptureMode(&mut mode)) };
        Relaxed { driver: self, before: exchanged.is_ok().then_some(mode), of_this_thread: PhantomData }
    }
}

impl Drop for Relaxed<'_> {
    fn drop(&mut self) {
        if let Some(mut mode) = self.before {
            // SAFETY: as above.
            let exchanged = unsafe { call!(self.driver, cuThreadExchangeStreamCaptureMode(&mut mode)) };
            self.driver.dropped(exchanged);
        }
    }
}
