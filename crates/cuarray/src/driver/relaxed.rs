//! [`Relaxed`]: calls that a capture elsewhere has nothing to do with.
//!
//! While any thread captures in the global mode, the driver prohibits *every* thread's calls that a graph would not repeat:
//! allocating, freeing, asking an event whether it is done. Such a call fails and spoils the capture, although it has nothing
//! to do with it. What this library does on its own behalf has not: it allocates for itself, frees its own memory, asks its own
//! events. So the thread's mode is relaxed around it. Calls that a program makes through this library are its own affair.
//!
//! Driver API: [`cuThreadExchangeStreamCaptureMode`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).

use super::{Driver, call};
use cuarray_abi::{CU_STREAM_CAPTURE_MODE_RELAXED, CUstreamCaptureMode};
use std::marker::PhantomData;

/// While this lives, the captures of other threads keep this one from nothing, and the other way round.
#[must_use = "the mode is set back when this is dropped"]
pub(crate) struct Relaxed<'a> {
    driver: &'a Driver,
    before: Option<CUstreamCaptureMode>,
    /// A thread's mode is its own: the guard must be dropped where it was made.
    of_this_thread: PhantomData<*const ()>,
}

impl Driver {
    /// Relaxes this thread's mode. A driver without modes, or a place where no call is permitted, has none to relax.
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
