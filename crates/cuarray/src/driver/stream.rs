//! [`Stream`]: a queue of work on a device.
//!
//! There are three kinds of stream. An owned stream is created here and destroyed with its last clone. A default stream exists in
//! every context: the legacy default stream (handle 1), and one for each thread (handle 2). An external stream belongs to another
//! library; an [`Owner`] keeps it alive. The null handle is never kept, as its meaning depends on how a program was compiled. It is
//! converted to the legacy default stream, its meaning in the driver API.
//!
//! A default stream's handle does not identify its context: the driver uses the current one. So each call pushes the stream's
//! context. For a default stream without a context, it pushes the driver's [default context](Driver::default_context). The context of
//! an external stream never changes; the driver is asked for it at first use.
//!
//! Driver API: [stream management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html),
//! [default streams](https://docs.nvidia.com/cuda/cuda-driver-api/stream-sync-behavior.html).

use super::{
    Context, Driver, Event, call,
    capture::{self, CaptureStatus},
    is_ready,
};
use crate::{Owner, Result};
use cuarray_abi::{
    CU_STREAM_DEFAULT, CU_STREAM_LEGACY, CU_STREAM_NON_BLOCKING, CU_STREAM_PER_THREAD, CUcontext, CUresult, CUstream,
};
use std::{
    ffi::c_uint,
    fmt,
    sync::{Arc, OnceLock},
};

/// A stream. A clone is the same stream.
///
/// ```
/// # use cuarray::{Driver, Event, Stream};
/// # cuarray::__simulated!(driver);
/// let context = driver.device(0)?.primary_context()?;
/// let (first, second) = (Stream::new(&context)?, Stream::new(&context)?);
/// let event = Event::new(&context, false)?;
/// event.record(&first)?; // after all work in `first` so far
/// second.wait(&event)?; // later work in `second` waits
/// second.synchronize()?;
/// assert!(first.is_done()?);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone)]
pub struct Stream(Arc<Inner>);

struct Inner {
    driver: Driver,
    raw: CUstream,
    /// The context to push, once known. Never set for a default stream without a context.
    context: OnceLock<Context>,
    keep: Keep,
}

enum Keep {
    Owned,
    Default,
    External(#[allow(dead_code)] Option<Owner>),
}

impl Stream {
    /// Creates a blocking stream: the legacy default stream's work is ordered with its work, in both directions.
    ///
    /// Driver API: [`cuStreamCreate`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub fn new(context: &Context) -> Result<Stream> {
        Stream::create(context, CU_STREAM_DEFAULT)
    }

    /// Creates a stream that is independent of the legacy default stream.
    ///
    /// Driver API: [`cuStreamCreate`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub fn non_blocking(context: &Context) -> Result<Stream> {
        Stream::create(context, CU_STREAM_NON_BLOCKING)
    }

    fn create(context: &Context, flags: c_uint) -> Result<Stream> {
        let _current = context.push()?;
        let mut raw = CUstream::NULL;
        // SAFETY: the driver writes one handle, which outlives the call.
        unsafe { call!(context.driver(), cuStreamCreate(&mut raw, flags)) }?;
        Ok(Stream::with(context, raw, Keep::Owned))
    }

    /// The context's legacy default stream, with the handle 1.
    pub fn legacy_default(context: &Context) -> Stream {
        Stream::with(context, CU_STREAM_LEGACY, Keep::Default)
    }

    /// The context's per-thread default stream, with the handle 2: each thread that uses it means its own stream.
    pub fn per_thread_default(context: &Context) -> Stream {
        Stream::with(context, CU_STREAM_PER_THREAD, Keep::Default)
    }

    fn with(context: &Context, raw: CUstream, keep: Keep) -> Stream {
        Stream(Arc::new(Inner {
            driver: context.driver().clone(),
            raw,
            context: OnceLock::from(context.clone()),
            keep,
        }))
    }

    /// Borrows another library's stream, of any context. It is not destroyed here; `owner` is held until the last clone is dropped.
    ///
    /// The handle 0 is converted to 1, the legacy default stream.
    ///
    /// # Safety
    /// `handle` is 0, 1, 2 or a stream of this driver, and outlives this object and all clones, by itself or through `owner`. Arrays
    /// keep clones of their home streams. A leaked guard keeps a clone until its array or view is dropped.
    pub unsafe fn from_raw(driver: &Driver, handle: usize, owner: Option<Owner>) -> Stream {
        let raw = if handle == 0 { CU_STREAM_LEGACY } else { CUstream(handle) };
        Stream(Arc::new(Inner { driver: driver.clone(), raw, context: OnceLock::new(), keep: Keep::External(owner) }))
    }

    /// The driver's handle, never 0.
    pub fn handle(&self) -> usize {
        self.0.raw.0
    }

    /// The driver that the stream belongs to.
    pub fn driver(&self) -> &Driver {
        &self.0.driver
    }

    /// Whether the stream was created here and is destroyed with its last clone.
    pub(crate) fn is_owned(&self) -> bool {
        matches!(self.0.keep, Keep::Owned)
    }

    /// Whether this is the only clone.
    pub(crate) fn is_unique(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// Waits until all work in the stream is done.
    ///
    /// Driver API: [`cuStreamSynchronize`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream is alive by this type's invariant.
        self.in_context(|| unsafe { call!(self.driver(), cuStreamSynchronize(self.cu_stream())) })
    }

    /// Whether all work in the stream is done.
    ///
    /// Driver API: [`cuStreamQuery`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub fn is_done(&self) -> Result<bool> {
        // SAFETY: the stream is alive by this type's invariant.
        is_ready(self.in_context(|| unsafe { call!(self.driver(), cuStreamQuery(self.cu_stream())) }))
    }

    /// Orders later work in this stream after the last record of `event`. The host does not wait.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`](crate::Error::is_invalid_argument): the event belongs to another driver. Errors of the driver.
    ///
    /// Driver API: [`cuStreamWaitEvent`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.driver().check_same(event.context().driver(), "event")?;
        // SAFETY: the stream and the event are alive by their types' invariants, and belong to one driver.
        let waited = self
            .in_context(|| unsafe { call!(self.driver(), cuStreamWaitEvent(self.cu_stream(), event.cu_event(), 0)) });
        event.spoiled_by(waited)
    }

    /// Whether the stream is recording a graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`: this is the legacy default stream, and a blocking stream of its context is
    /// capturing.
    ///
    /// Driver API: [`cuStreamIsCapturing`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub(crate) fn capture_status(&self) -> Result<CaptureStatus> {
        // SAFETY: the stream is alive by this type's invariant.
        self.in_context(|| unsafe { capture::status(self.driver(), self.cu_stream()) })
    }

    /// The id of the capture that the stream takes part in, unique among all captures of the process. `None` if there is no capture,
    /// or the driver has no ids (before CUDA 10.1).
    ///
    /// # Errors
    /// As [`Stream::capture_status`].
    ///
    /// Driver API: [`cuStreamGetCaptureInfo`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub(crate) fn capture_id(&self) -> Result<Option<u64>> {
        // SAFETY: the stream is alive by this type's invariant.
        self.in_context(|| unsafe { capture::id(self.driver(), self.cu_stream()) })
    }

    /// A number that is unique among all streams of the process, past and present. Handles are not: the driver reuses them. For a
    /// per-thread default stream, the number of the calling thread's. `None` if the driver has no ids (before CUDA 12.0).
    ///
    /// Driver API: [`cuStreamGetId`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub(crate) fn id(&self) -> Result<Option<u64>> {
        if self.driver().api().cuStreamGetId.is_none() {
            return Ok(None);
        }
        let mut id = 0u64;
        // SAFETY: the stream is alive by this type's invariant; the driver writes one number, which outlives the call.
        self.in_context(|| unsafe { call!(self.driver(), cuStreamGetId(self.cu_stream(), &mut id)) })?;
        Ok(Some(id))
    }

    /// Whether the stream is ordered with the legacy default stream of its context, in both directions.
    ///
    /// Driver API: [`cuStreamGetFlags`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub(crate) fn is_blocking(&self) -> Result<bool> {
        match self.cu_stream() {
            CU_STREAM_LEGACY => return Ok(false),
            CU_STREAM_PER_THREAD => return Ok(true),
            _ => {}
        }
        let mut flags = CU_STREAM_DEFAULT;
        // SAFETY: the stream is alive by this type's invariant; the driver writes one int, which outlives the call.
        self.in_context(|| unsafe { call!(self.driver(), cuStreamGetFlags(self.cu_stream(), &mut flags)) })?;
        Ok(flags & CU_STREAM_NON_BLOCKING == 0)
    }

    /// The stream's context. For a default stream without one, the current context, or `None` if there is none.
    ///
    /// Driver API: [`cuStreamGetCtx`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub fn context(&self) -> Result<Option<Context>> {
        if let Some(context) = self.0.context.get() {
            return Ok(Some(context.clone()));
        }
        if self.is_default() {
            return self.driver().current_context();
        }
        let mut raw = CUcontext::NULL;
        // SAFETY: the stream is alive by this type's invariant; the driver writes one handle, which outlives the call.
        let mut ask = || unsafe { call!(self.driver(), cuStreamGetCtx(self.cu_stream(), &mut raw)) };
        match ask() {
            // The manual requires no current context here. If a driver does, any context will do.
            Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_INVALID_CONTEXT) => {
                let context = self.driver().default_context()?;
                let _current = context.push()?;
                ask()
            }
            answer => answer,
        }
        .map_err(|error| error.with_log(format!("the stream is {:#x}", self.handle())))?;
        Ok((!raw.is_null()).then(|| self.0.context.get_or_init(|| self.driver().borrow_context(raw)).clone()))
    }

    /// The handle in the driver's type.
    pub(crate) fn cu_stream(&self) -> CUstream {
        self.0.raw
    }

    /// Whether this is the per-thread default stream, which means another stream in each thread.
    pub(crate) fn is_per_thread_default(&self) -> bool {
        self.cu_stream() == CU_STREAM_PER_THREAD
    }

    /// Whether this is a default stream without a context, so that its handle means another stream in each context.
    pub(crate) fn lacks_context(&self) -> bool {
        self.is_default() && self.0.context.get().is_none()
    }

    /// Returns this stream, or, if it is a default stream without a context, the default stream of `context`.
    pub(crate) fn resolve_in(&self, context: &Context) -> Stream {
        match self.lacks_context() {
            true => Stream::with(context, self.0.raw, Keep::Default),
            false => self.clone(),
        }
    }

    /// Whether this is a default stream. Every context has one of each kind.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self.0.raw, CU_STREAM_LEGACY | CU_STREAM_PER_THREAD)
    }

    /// The stream's own context; `None` for a default stream without one, which exists in every context.
    pub(crate) fn known_context(&self) -> Result<Option<Context>> {
        match self.0.context.get() {
            Some(context) => Ok(Some(context.clone())),
            None if self.is_default() => Ok(None),
            None => self.context(),
        }
    }

    /// The context that the stream's work goes to: its own. For a default stream without one, the current context, or else the
    /// [default context](Driver::default_context).
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn work_context(&self) -> Result<Context> {
        match self.context()? {
            Some(context) => Ok(context),
            None => self.driver().default_context(),
        }
    }

    /// Runs `work` with the stream's context current; see the [module](self).
    fn in_context<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        match self.0.context.get() {
            Some(context) => {
                let _current = context.push()?;
                work()
            }
            None => {
                let context = self.work_context()?;
                let _current = context.push()?;
                work()
            }
        }
    }

    /// Runs `work` with the stream's context current, or `context` if the stream's is not known.
    pub(super) fn in_context_or(&self, context: &Context, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let _current = self.0.context.get().unwrap_or(context).push()?;
        work()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let (Keep::Owned, Some(context)) = (&self.keep, self.context.get()) {
            let destroyed = context.push_to_release().and_then(|_current| {
                // SAFETY: the stream came from cuStreamCreate, and this is the last object that holds it.
                unsafe { call!(self.driver, cuStreamDestroy_v2(self.raw)) }
            });
            self.driver.table().dropped(destroyed);
        }
    }
}

impl PartialEq for Stream {
    /// Compares the drivers and the handles, and for default streams the contexts.
    fn eq(&self, other: &Stream) -> bool {
        self.driver() == other.driver()
            && self.cu_stream() == other.cu_stream()
            && (!self.is_default() || self.0.context.get() == other.0.context.get())
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keep = match (&self.0.keep, self.cu_stream()) {
            (Keep::Owned, _) => "owned",
            (_, CU_STREAM_LEGACY) => "legacy default",
            (_, CU_STREAM_PER_THREAD) => "per-thread default",
            _ => "external",
        };
        write!(f, "Stream({:#x}, {keep})", self.handle())
    }
}
