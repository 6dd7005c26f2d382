//! [`Event`]: a point in a stream's work that another stream or the host can wait for.
//!
//! Driver API: [event management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html).

use super::{Context, Stream, call, is_ready};
use crate::Result;
use cuarray_abi::{CU_EVENT_DEFAULT, CU_EVENT_DISABLE_TIMING, CUevent, CUresult};
use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
};

/// An event, destroyed when dropped.
///
/// An event that was never recorded counts as done. An event can be recorded again at once: a wait keeps the record that it was
/// enqueued after.
///
/// ```
/// # use cuarray::{Driver, Event, Stream};
/// # cuarray::__simulated!(driver);
/// let context = driver.default_context()?;
/// let (first, second) = (Stream::new(&context)?, Stream::new(&context)?);
/// let (start, end) = (Event::new(&context, true)?, Event::new(&context, true)?);
/// start.record(&first)?;
/// end.record(&first)?;
/// second.wait(&end)?; // later work in `second` waits for `end`, and the host does not
/// end.synchronize()?; // now the host waits
/// assert!(end.is_done()? && start.elapsed_time(&end)? >= 0.0);
/// # Ok::<(), cuarray::Error>(())
/// ```
pub struct Event {
    context: Context,
    raw: CUevent,
    keep: Keep,
    /// Whether a call failed with the event, so that it must not return to the pool.
    spoiled: AtomicBool,
}

/// The treatment of an event when it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Owned,
    /// Returned to the context's pool.
    Pooled,
    /// Owned by another library.
    External,
}

impl Event {
    /// Creates an event. With `timing`, [`Event::elapsed_time`] can be asked, at a small cost for each record.
    ///
    /// Driver API: [`cuEventCreate`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html).
    pub fn new(context: &Context, timing: bool) -> Result<Event> {
        let _current = context.push()?;
        let mut raw = CUevent::NULL;
        let flags = if timing { CU_EVENT_DEFAULT } else { CU_EVENT_DISABLE_TIMING };
        // SAFETY: the driver writes one handle, which outlives the call.
        unsafe { call!(context.driver(), cuEventCreate(&mut raw, flags)) }?;
        Ok(Event { context: context.clone(), raw, keep: Keep::Owned, spoiled: AtomicBool::new(false) })
    }

    /// Borrows another library's event, which is not destroyed here. The calls are made in `context`, which may differ from the
    /// event's own.
    ///
    /// # Safety
    /// `handle` is an event of the context's driver, and outlives this object.
    pub unsafe fn from_raw(context: &Context, handle: usize) -> Event {
        let raw = CUevent(handle);
        Event { context: context.clone(), raw, keep: Keep::External, spoiled: AtomicBool::new(false) }
    }

    /// Records the event after all work enqueued in `stream` so far. The stream belongs to the event's context; a default stream
    /// without a context is taken as that context's.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE`: the stream belongs to another context. [`Error::is_invalid_argument`](crate::Error::is_invalid_argument):
    /// it belongs to another driver.
    ///
    /// Driver API: [`cuEventRecord`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html).
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.context.driver().check_same(stream.driver(), "stream")?;
        // SAFETY: the event and the stream are alive by their types' invariants, and belong to one driver.
        let record = || unsafe { call!(self.context.driver(), cuEventRecord(self.raw, stream.cu_stream())) };
        self.spoiled_by(stream.in_context_or(&self.context, record))
    }

    /// Waits on the host until the work before the record is done.
    ///
    /// Driver API: [`cuEventSynchronize`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html).
    pub fn synchronize(&self) -> Result<()> {
        let _current = self.context.push()?;
        // SAFETY: the event is alive by this type's invariant.
        unsafe { call!(self.context.driver(), cuEventSynchronize(self.raw)) }
    }

    /// Whether the work before the record is done.
    ///
    /// Driver API: [`cuEventQuery`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html).
    pub fn is_done(&self) -> Result<bool> {
        let _current = self.context.push()?;
        // SAFETY: the event is alive by this type's invariant.
        is_ready(unsafe { call!(self.context.driver(), cuEventQuery(self.raw)) })
    }

    /// The time from this event to `end`, in milliseconds.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE`: an event was created without timing or never recorded. `CUDA_ERROR_NOT_READY`: an event is not
    /// done. [`Error::is_invalid_argument`](crate::Error::is_invalid_argument): `end` belongs to another driver.
    ///
    /// Driver API: [`cuEventElapsedTime`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html).
    pub fn elapsed_time(&self, end: &Event) -> Result<f32> {
        self.context.driver().check_same(end.context.driver(), "event")?;
        let _current = self.context.push()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events are alive by this type's invariant, and belong to one driver. It writes one float, which outlives the call.
        unsafe {
            call!(
                self.context.driver(),
                cuEventElapsedTime_v2 | cuEventElapsedTime(&mut milliseconds, self.raw, end.raw)
            )
        }?;
        Ok(milliseconds)
    }

    /// The driver's handle.
    pub fn handle(&self) -> usize {
        self.raw.0
    }

    /// The event's context.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// An event with a handle, which returns to the context's pool.
    pub(super) fn pooled(context: &Context, raw: CUevent) -> Event {
        Event { context: context.clone(), raw, keep: Keep::Pooled, spoiled: AtomicBool::new(false) }
    }

    pub(super) fn into_pooled(mut self) -> Event {
        self.keep = Keep::Pooled;
        self
    }

    /// The handle in the driver's type.
    pub(super) fn cu_event(&self) -> CUevent {
        self.raw
    }

    /// Returns a call's result; after a failure, the event is not reused. (A device reset may have destroyed the event with its
    /// context, and such a handle stays invalid.)
    pub(super) fn spoiled_by(&self, result: Result<()>) -> Result<()> {
        if result.is_err() {
            self.spoiled.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let spoiled = *self.spoiled.get_mut();
        if self.keep == Keep::External {
            return;
        }
        if self.keep == Keep::Pooled && !spoiled && self.context.idle_events().put(self.raw).is_ok() {
            return;
        }
        let destroyed = self.context.push_to_release().and_then(|_current| {
            // SAFETY: the event came from cuEventCreate, and no other object holds it.
            unsafe { call!(self.context.driver(), cuEventDestroy_v2(self.raw)) }
        });
        match destroyed {
            // The call that marked the event as spoiled has already reported the invalid handle.
            Err(error) if spoiled && error.driver_code() == Some(CUresult::CUDA_ERROR_INVALID_HANDLE) => {}
            destroyed => self.context.driver().table().dropped(destroyed),
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:#x})", self.handle())
    }
}
