//! [`Stream`]: a queue of work on a device.
//!
//! A stream is one of three things: ours, made here and destroyed with the last clone; a default one, which exists in
//! every context (the legacy default stream, the number 1, and each thread's own, the number 2); or somebody else's,
//! known by its handle and kept alive by an [`Owner`]. The null handle is never kept: it means the one default stream
//! or the other by how a program was compiled, so it is taken at the door as the legacy one, which is what it means in
//! the driver's own interface.
//!
//! A default stream's number says nothing of its context: the driver takes the current one. So each call pushes the
//! stream's context, or for a default stream that came without one, the driver's [default](Driver::default_context).
//! The context of somebody else's stream is asked for when it is first needed; it never changes.
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
/// event.record(&first)?; // what `first` has been given so far
/// second.wait(&event)?; // comes before what `second` is given from now on
/// second.synchronize()?;
/// assert!(first.is_done()?);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone)]
pub struct Stream(Arc<Inner>);

struct Inner {
    driver: Driver,
    raw: CUstream,
    /// The context to push, once it is known; it stays unknown for a default stream that came without one.
    context: OnceLock<Context>,
    keep: Keep,
}

enum Keep {
    Owned,
    Default,
    External(#[allow(dead_code)] Option<Owner>),
}

impl Stream {
    /// A new stream, which waits for the legacy default stream and is waited for by it.
    ///
    /// Driver API: [`cuStreamCreate`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub fn new(context: &Context) -> Result<Stream> {
        Stream::create(context, CU_STREAM_DEFAULT)
    }

    /// A new stream that is independent of the legacy default stream.
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

    /// The context's legacy default stream, the handle 1.
    pub fn legacy_default(context: &Context) -> Stream {
        Stream::with(context, CU_STREAM_LEGACY, Keep::Default)
    }

    /// The default stream, in that context, of whichever thread uses it: the handle 2.
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

    /// A stream that somebody else made, in whichever context. It is not destroyed here; `owner` is held as long as it
    /// is.
    ///
    /// The handle 0 is taken as the legacy default stream, whose handle here is 1.
    ///
    /// # Safety
    /// `handle` is 0, 1, 2 or a stream of that driver's, and it lives for as long as this does and all clones: on its own or
    /// because of `owner`. A view of an array that names no stream keeps a clone of the first that it is acquired in.
    pub unsafe fn from_raw(driver: &Driver, handle: usize, owner: Option<Owner>) -> Stream {
        let raw = if handle == 0 { CU_STREAM_LEGACY } else { CUstream(handle) };
        Stream(Arc::new(Inner { driver: driver.clone(), raw, context: OnceLock::new(), keep: Keep::External(owner) }))
    }

    /// The driver's handle, never 0.
    pub fn handle(&self) -> usize {
        self.0.raw.0
    }

    /// The driver that the stream belongs to.
    #[doc(hidden)]
    pub fn driver(&self) -> &Driver {
        &self.0.driver
    }

    /// Whether the stream was made here and is destroyed with its last clone.
    #[doc(hidden)]
    pub fn is_owned(&self) -> bool {
        matches!(self.0.keep, Keep::Owned)
    }

    /// Waits until the stream has done all that it was given.
    ///
    /// Driver API: [`cuStreamSynchronize`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream is alive by this type's invariant.
        self.in_context(|| unsafe { call!(self.driver(), cuStreamSynchronize(self.raw())) })
    }

    /// Whether the stream has done all that it was given.
    ///
    /// Driver API: [`cuStreamQuery`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub fn is_done(&self) -> Result<bool> {
        // SAFETY: the stream is alive by this type's invariant.
        is_ready(self.in_context(|| unsafe { call!(self.driver(), cuStreamQuery(self.raw())) }))
    }

    /// Lets what the stream is given from now on wait for what `event` was last recorded after. The host does not wait.
    ///
    /// Driver API: [`cuStreamWaitEvent`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    pub fn wait(&self, event: &Event) -> Result<()> {
        // SAFETY: the stream and the event are alive by their types' invariants.
        let waited = self.in_context(|| unsafe { call!(self.driver(), cuStreamWaitEvent(self.raw(), event.raw(), 0)) });
        event.spoiled_by(waited)
    }

    /// Whether the stream is recording a graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for the legacy default stream while a stream that waits for it is
    /// capturing.
    ///
    /// Driver API: [`cuStreamIsCapturing`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    #[doc(hidden)]
    pub fn capture_status(&self) -> Result<CaptureStatus> {
        // SAFETY: the stream is alive by this type's invariant.
        self.in_context(|| unsafe { capture::status(self.driver(), self.raw()) })
    }

    /// The number of the capture that the stream takes part in, different for all captures of the process; `None` if it takes
    /// part in none, or the driver cannot say (before CUDA 10.1).
    ///
    /// # Errors
    /// As [`Stream::capture_status`].
    ///
    /// Driver API: [`cuStreamGetCaptureInfo`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    #[doc(hidden)]
    pub fn capture_id(&self) -> Result<Option<u64>> {
        // SAFETY: the stream is alive by this type's invariant.
        self.in_context(|| unsafe { capture::id(self.driver(), self.raw()) })
    }

    /// A number that no other stream of the process has or had, which a handle is not: it may be used again once its stream is
    /// destroyed. Of a per-thread default stream, it is the calling thread's. `None` if the driver has none (before CUDA 12.0).
    ///
    /// Driver API: [`cuStreamGetId`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    #[doc(hidden)]
    pub fn id(&self) -> Result<Option<u64>> {
        if self.driver().api().cuStreamGetId.is_none() {
            return Ok(None);
        }
        let mut id = 0u64;
        // SAFETY: the stream is alive by this type's invariant; the driver writes one number, which outlives the call.
        self.in_context(|| unsafe { call!(self.driver(), cuStreamGetId(self.raw(), &mut id)) })?;
        Ok(Some(id))
    }

    /// Whether the stream waits for the legacy default stream of its context, and that for it.
    ///
    /// Driver API: [`cuStreamGetFlags`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    #[doc(hidden)]
    pub fn is_blocking(&self) -> Result<bool> {
        match self.raw() {
            CU_STREAM_LEGACY => return Ok(false),
            CU_STREAM_PER_THREAD => return Ok(true),
            _ => {}
        }
        let mut flags = CU_STREAM_DEFAULT;
        // SAFETY: the stream is alive by this type's invariant; the driver writes one int, which outlives the call.
        self.in_context(|| unsafe { call!(self.driver(), cuStreamGetFlags(self.raw(), &mut flags)) })?;
        Ok(flags & CU_STREAM_NON_BLOCKING == 0)
    }

    /// The stream's context; for a default stream that came without one, the current context, `None` if there is none.
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
        let mut ask = || unsafe { call!(self.driver(), cuStreamGetCtx(self.raw(), &mut raw)) };
        match ask() {
            // The manual says that a handle is enough. A driver that wants some context current, whichever, gets one.
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

    pub(crate) fn raw(&self) -> CUstream {
        self.0.raw
    }

    /// Whether it is the stream that means another one in each thread.
    pub(crate) fn is_per_thread_default(&self) -> bool {
        self.raw() == CU_STREAM_PER_THREAD
    }

    fn is_default(&self) -> bool {
        matches!(self.0.raw, CU_STREAM_LEGACY | CU_STREAM_PER_THREAD)
    }

    /// The stream's own context; `None` for a default stream that came without one, which is any context's.
    pub(crate) fn known_context(&self) -> Result<Option<Context>> {
        match self.0.context.get() {
            Some(context) => Ok(Some(context.clone())),
            None if self.is_default() => Ok(None),
            None => self.context(),
        }
    }

    /// The context that work in the stream goes to: its own; for a default stream that came without one, as by its handle, the
    /// current context or else the [default](Driver::default_context).
    ///
    /// # Errors
    /// Whatever the driver answers.
    #[doc(hidden)]
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

    /// Runs `work` with the stream's context current, or `context` as long as the stream's is not known.
    pub(super) fn in_context_or(&self, context: &Context, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let _current = self.0.context.get().unwrap_or(context).push()?;
        work()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let (Keep::Owned, Some(context)) = (&self.keep, self.context.get()) {
            let destroyed = context.push().and_then(|_current| {
                // SAFETY: the stream came from cuStreamCreate and this is the last that holds it.
                unsafe { call!(self.driver, cuStreamDestroy_v2(self.raw)) }
            });
            self.driver.table().dropped(destroyed);
        }
    }
}

impl PartialEq for Stream {
    /// The same handle, and for a default stream the same context, in the same driver.
    fn eq(&self, other: &Stream) -> bool {
        self.driver() == other.driver()
            && self.raw() == other.raw()
            && (!self.is_default() || self.0.context.get() == other.0.context.get())
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keep = match (&self.0.keep, self.raw()) {
            (Keep::Owned, _) => "owned",
            (_, CU_STREAM_LEGACY) => "legacy default",
            (_, CU_STREAM_PER_THREAD) => "per-thread default",
            _ => "external",
        };
        write!(f, "Stream({:#x}, {keep})", self.handle())
    }
}
