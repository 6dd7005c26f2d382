//! Synchronization: decides which work waits for which. No other module does.
//!
//! Work in one stream runs in order; work in two streams does not, unless it is ordered explicitly. There are two ways to order them. A
//! *host wait* blocks the calling thread until a stream is done. An *edge* blocks no thread: an event is recorded at the end of
//! the first stream's work, and later work in the second stream waits for it. Neither is made where it is not needed:
//! within one stream, from the legacy default stream to work in a blocking stream, and for work that is known to be done.
//!
//! Work on an array is ordered in one stream, its *home stream*. Work in another stream takes a guard: an edge from the
//! home stream before the work, and an edge back after it. An array without a home stream records the streams that worked on it,
//! so that later work, in this library or in a consumer's, can be ordered after them. Two reads need no order
//! between them.
//!
//! A stream that *captures* records work into a graph and does not run it. Recorded work and running work cannot be ordered, and
//! the driver invalidates a capture when a program tries. So this module first asks the driver whether each stream captures
//! (`cuStreamIsCapturing`). It returns an error before it makes any other call, and the capture stays intact. Within one capture, events order work as usual and
//! become edges of the graph.
//!
//! Memory is freed when the work on it is done. The host does not wait for that.
//!
//! | | driver calls |
//! |---|---|
//! | an edge | `cuStreamIsCapturing` of both, `cuEventRecord`, `cuStreamWaitEvent` |
//! | several edges from one stream | one `cuEventRecord`, a `cuStreamWaitEvent` each |
//! | a host wait | `cuStreamIsCapturing`, `cuStreamSynchronize` |
//! | work pending without a home stream | one `cuEventRecord`; later one `cuEventQuery`, and if it is not done, `cuStreamWaitEvent` |
//!
//! ```
//! # use cuarray::Driver;
//! # cuarray::__simulated!(driver);
//! use cuarray::{DeviceArray, Ix1, Stream, sync};
//!
//! let context = driver.default_context()?;
//! let [one, two, three] = [(); 3].map(|()| Stream::non_blocking(&context).unwrap());
//! let mut array = DeviceArray::<f32, _>::empty([100], &one)?; // `one` is its home stream
//! array.acquire_mut(&two)?.copy_from_host(&[1.0; 100])?; // an edge to `two`, and an edge back
//! sync::edge(&one, &three)?; // later work in `three` is ordered after the copy
//! sync::synchronize(&three)?;
//! # Ok::<(), cuarray::Error>(())
//! ```

mod capture;
mod edges_back;
mod guard;
mod lane;
mod mark;
mod memory;
mod pending;
#[cfg(all(test, loom))]
mod pending_model;
mod release;

pub(crate) use guard::{Begun, NotEnded, SyncGuard, begin, end, end_later};
pub(crate) use memory::Memory;
pub(crate) use pending::Pending;
pub(crate) use release::{Deferred, Resource};

use crate::{
    Result,
    driver::{Event, Stream},
};
use mark::Mark;
use std::{
    sync::Arc,
    thread::{self, ThreadId},
};

/// The access of some work to data.
///
/// ```
/// # use cuarray::Driver;
/// # cuarray::__simulated!(driver);
/// use cuarray::{DeviceArray, Stream, sync::Access};
///
/// let context = driver.default_context()?;
/// let (home, elsewhere) = (Stream::non_blocking(&context)?, Stream::non_blocking(&context)?);
/// let array = DeviceArray::<f32, _>::empty([100], &home)?;
/// // ... enqueue another library's kernel, which writes the array, in `elsewhere` ...
/// array.record_stream(&elsewhere, Access::Write)?;
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Reads. Ordered after earlier writes, and before later ones.
    Read,
    /// Reads and writes. Ordered after all earlier work, and before all later work.
    Write,
}

/// Orders later work in `then` after all work now in `first`; the host does not wait.
///
/// The driver orders work in a blocking stream after the legacy default stream, so that edge needs no call. A host wait for `then`
/// without later work there does not wait for `first` in this case.
///
/// Clause S3 (as the backward edge), P2 (as the join). Driver calls: `cuEventRecord`, `cuStreamWaitEvent`.
///
/// # Errors
/// [`Error::is_unsupported`](crate::Error::is_unsupported): one stream captures and the other does not take part. The capture
/// stays intact.
pub fn edge(first: &Stream, then: &Stream) -> Result<()> {
    let _remembered = first.driver().remember_current();
    Mark::new(first).wait_in(then)
}

/// Waits until all work in `stream` is done (clauses S2 and N1).
///
/// # Errors
/// [`Error::is_unsupported`](crate::Error::is_unsupported): the stream captures, or it is the legacy default stream and a
/// blocking stream of its context captures. The capture stays intact.
pub fn synchronize(stream: &Stream) -> Result<()> {
    let _remembered = stream.driver().remember_current();
    let context = stream.work_context()?;
    let _current = context.push()?;
    may_wait(stream)?;
    let _relaxed = stream.driver().relaxed()?;
    stream.synchronize()
}

/// Waits on the host for the work in the per-thread default streams of all threads, in the context of `one`, which is one of these
/// streams. A thread cannot name another thread's stream.
///
/// Per-thread default streams are blocking streams, so an event in the legacy default stream comes after their work. A wait for the
/// whole context would invalidate captures.
///
/// # Errors
/// Unsupported: a blocking stream of the context captures. The capture stays intact.
#[cold]
fn wait_for_all_threads(one: &Stream) -> Result<()> {
    let _remembered = one.driver().remember_current();
    let context = one.work_context()?;
    let legacy = Stream::legacy_default(&context);
    may_wait(&legacy)?;
    let _relaxed = one.driver().relaxed()?;
    let event = context.event_pool().take()?;
    event.record(&legacy)?;
    event.synchronize()
}

/// The id of the capture that a stream takes part in; `None` if the stream runs its work.
///
/// # Errors
/// Unsupported: the capture has been invalidated, or the stream is the legacy default stream and another stream's capture makes it
/// unusable.
pub(crate) fn capture_of(stream: &Stream) -> Result<Option<u64>> {
    capture::of(stream)
}

/// Checks that the host can wait for the stream: it does not capture.
pub(crate) fn may_wait(stream: &Stream) -> Result<()> {
    match capture::of(stream)? {
        None => Ok(()),
        Some(_) => Err(capture::cannot_wait(stream)),
    }
}

/// As [`may_wait`], for work without a stream, which runs in the legacy default stream of `context`.
#[cfg(feature = "python")]
pub(crate) fn may_wait_in_no_stream(context: &crate::driver::Context) -> Result<()> {
    capture::of_legacy(context)
}

/// The synchronization state of one array's data: its home stream, if it has one, and the work pending in other streams. A clone
/// is the state of the same data.
#[derive(Clone, Debug)]
pub(crate) struct SyncState {
    home: Option<Stream>,
    /// The thread whose per-thread default stream the home stream is, if another library's interface named it. Other threads cannot
    /// name that stream.
    home_thread: Option<ThreadId>,
    /// `None` if the home stream alone orders the work, and no other array shares the memory.
    pending: Option<Arc<Pending>>,
    /// The event to wait for in place of the home stream (clause X2).
    event: Option<Arc<Event>>,
    /// Whether the event was recorded after all earlier work, that of earlier guards included.
    is_event_latest: bool,
    /// Whether work in the home stream is recorded too, as the stream may be destroyed first.
    outlives_home: bool,
    /// Whether work of guards is not recorded in `pending`, because no later guard reads it.
    unrecorded: bool,
    /// Whether a guard's stream is added to the home streams in `pending`, if that stream stays alive.
    adds_homes: bool,
}

impl SyncState {
    /// The state of data with the home stream `home`, or with none. All arrays over the same memory share `pending`.
    pub fn new(home: Option<Stream>, pending: Arc<Pending>) -> SyncState {
        SyncState {
            home,
            home_thread: None,
            pending: Some(pending),
            event: None,
            is_event_latest: false,
            outlives_home: false,
            unrecorded: false,
            adds_homes: false,
        }
    }

    /// The state of another library's data, all of whose work is ordered in `home`. No work on it is recorded. A per-thread default
    /// stream is the stream of the thread `home_thread`.
    pub(crate) fn in_home(home: Stream, home_thread: Option<ThreadId>) -> SyncState {
        SyncState {
            home: Some(home),
            home_thread,
            pending: None,
            event: None,
            is_event_latest: false,
            outlives_home: false,
            unrecorded: true,
            adds_homes: false,
        }
    }

    /// The state of another library's data for which no stream is known. A guard's stream that stays alive becomes a home stream, so
    /// its work needs no record. All other work is recorded.
    pub(crate) fn without_home() -> SyncState {
        SyncState { adds_homes: true, ..SyncState::new(None, Arc::default()) }
    }

    /// The recorded work, if no stream was known for the data.
    pub(crate) fn pending_without_home(&self) -> Option<&Arc<Pending>> {
        self.pending.as_ref().filter(|_| self.adds_homes)
    }

    /// Sets the thread whose per-thread default stream the home stream is.
    #[cfg(feature = "python")]
    #[must_use]
    pub(crate) fn in_thread(self, home_thread: Option<ThreadId>) -> SyncState {
        SyncState { home_thread, ..self }
    }

    /// Sets an event that was recorded after all work to wait for (clause X2). The home stream still orders later work.
    #[must_use]
    pub fn with_event(self, event: Arc<Event>) -> SyncState {
        SyncState { event: Some(event), ..self }
    }

    /// As [`SyncState::with_event`]. The caller promises that the event was recorded after the work of all earlier guards too.
    #[cfg(feature = "python")]
    #[must_use]
    pub(crate) fn with_latest_event(self, event: Arc<Event>) -> SyncState {
        SyncState { is_event_latest: true, ..self.with_event(event) }
    }

    /// The event, if it covers all work on the data: no guard of this process has made an edge into the home stream since its record.
    fn event_for(&self, home: &Stream) -> Option<&Arc<Event>> {
        self.event.as_ref().filter(|_| self.is_event_latest || !edges_back::may_contain(home))
    }

    /// Records work in the home stream like work in other streams, because the data may outlive that stream. [`Memory`] may
    /// outlive a stream that another library owns.
    #[must_use]
    pub fn outliving_home(self) -> SyncState {
        SyncState { outlives_home: true, ..self }
    }

    /// Stops recording work in `pending`, for an array that is made for one guard: no later guard reads the record. The home
    /// stream, if there is one, still orders the work.
    #[must_use]
    pub fn unrecorded(self) -> SyncState {
        SyncState { unrecorded: true, ..self }
    }

    /// Records that code outside of this crate knows the address of the data.
    pub(crate) fn expose(&self) {
        self.pending.iter().for_each(|pending| pending.expose());
    }

    /// Whether code outside of this crate may know the address of the data.
    #[inline]
    pub(crate) fn is_exposed(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.is_exposed())
    }

    /// The home stream, in which all work on the data is ordered.
    pub fn home_stream(&self) -> Option<&Stream> {
        self.home.as_ref()
    }

    /// Whether work in `stream` is already ordered and need not be recorded. Makes no driver call.
    pub(crate) fn is_at_home(&self, stream: &Stream) -> bool {
        // The handle of a default stream means another stream in each context.
        stream.handle() > 2
            && self.event.is_none()
            && !self.outlives_home
            && match (&self.home, &self.pending) {
                (Some(home), pending) => {
                    home.handle() == stream.handle()
                        && pending
                            .as_ref()
                            .is_none_or(|pending| pending.is_idle(Some(home)) && !self.records_home(pending, home))
                }
                (None, Some(pending)) => self.adds_homes && pending.is_only_home(stream),
                (None, None) => false,
            }
    }

    /// Whether `stream` is the home stream, and orders all work on the data without recorded work or an event. A default stream does not
    /// count: its handle means another stream in each context.
    #[inline]
    pub(crate) fn is_home_alone(&self, stream: &Stream) -> bool {
        self.pending.is_none()
            && self.event.is_none()
            && stream.handle() > 2
            && self.home.as_ref().is_some_and(|home| home.handle() == stream.handle())
    }

    /// Orders later work in `stream`, which accesses the data as `access` says, after the earlier work that it depends on.
    pub fn before(&self, stream: &Stream, access: Access) -> Result<()> {
        let _remembered = stream.driver().remember_current();
        self.before_mark(&Mark::new(stream), access)
    }

    /// As [`SyncState::before`], for the mark's stream.
    fn before_mark(&self, then: &Mark<'_>, access: Access) -> Result<()> {
        match &self.home {
            Some(home) if self.is_home_of_another_thread() => wait_for_all_threads(home)?,
            Some(home) => match self.event_for(home) {
                Some(event) => mark::wait_for(event, Some(home), then)?,
                None => {
                    self.event.iter().try_for_each(|event| mark::wait_for(event, Some(home), then))?;
                    Mark::new(home).wait_at(then)?;
                    return self.before_except_home(then, access);
                }
            },
            None => self.event.iter().try_for_each(|event| mark::wait_for(event, None, then))?,
        }
        let Some(pending) = &self.pending else { return Ok(()) };
        pending.before_except(then, access, None)?;
        if self.adds_homes {
            pending.add_home(then.stream());
        }
        Ok(())
    }

    /// As [`SyncState::before`], for a mark whose stream already waits for the home stream.
    fn before_except_home(&self, then: &Mark<'_>, access: Access) -> Result<()> {
        let Some(pending) = &self.pending else { return Ok(()) };
        pending.before_except(then, access, self.home.as_ref())
    }

    /// Whether the home stream is the per-thread default stream of another thread than the calling one.
    fn is_home_of_another_thread(&self) -> bool {
        self.home_thread.is_some_and(|thread| thread != thread::current().id())
    }

    /// Waits on the host for all enqueued work that `access` depends on.
    pub fn synchronize(&self, access: Access) -> Result<()> {
        match &self.home {
            Some(home) if self.is_home_of_another_thread() => wait_for_all_threads(home)?,
            Some(home) => match self.event_for(home) {
                Some(event) => event.synchronize()?,
                None => synchronize(home)?,
            },
            None => self.event.iter().try_for_each(|event| event.synchronize())?,
        }
        self.pending.as_ref().map_or(Ok(()), |pending| pending.synchronize_except(access, self.home.as_ref()))
    }

    /// The stream to export to a consumer: it orders all work that `access` depends on. `None` if there is no such work (clauses P1
    /// to P3).
    pub fn export(&self, access: Access) -> Result<Option<Stream>> {
        if let Some(home) = self.home.as_ref().filter(|_| self.is_home_of_another_thread()) {
            // The exported handle means the stream of this thread, which cannot wait for the other one.
            wait_for_all_threads(home)?;
        }
        match (&self.home, &self.pending) {
            (Some(home), Some(pending)) => pending.before(home, access).map(|()| Some(home.clone())),
            (None, Some(pending)) => pending.join(access),
            (home, None) => Ok(home.clone()),
        }
    }

    /// Records the work enqueued in `stream` so far. Later work on the data is ordered after it.
    pub fn record(&self, stream: &Stream, access: Access) -> Result<()> {
        let _remembered = stream.driver().remember_current();
        self.after(&Mark::new(stream), access)
    }

    /// Whether [`SyncState::after`] records work in `stream`.
    fn records_work_in(&self, stream: &Stream) -> bool {
        let Some(pending) = self.pending.as_ref().filter(|_| !self.unrecorded) else { return false };
        match &self.home {
            Some(home) if self.outlives_home || self.records_home(pending, home) => true,
            // Other threads than `home_thread` wait on the host for the work in its stream, so they need no record.
            Some(home) => home.is_per_thread_default() && self.home_thread.is_none(),
            None => !(self.adds_homes && stream.is_owned()),
        }
    }

    /// Whether work is recorded for arrays over the same memory that have another home stream.
    fn records_home(&self, pending: &Pending, home: &Stream) -> bool {
        pending.records_homes() && !home.is_owned()
    }

    /// Records the work in the home stream, for an array that is being dropped.
    #[inline]
    pub(crate) fn record_home(&self) {
        if let (true, Some(home), Some(pending)) = (self.outlives_home, &self.home, &self.pending)
            // A default stream needs no record: memory is freed only when the default streams of its context are idle.
            && home.handle() > 2
        {
            pending.record_home(home);
        }
    }

    /// Orders later work on the data after the mark, which is the end of a stream's work.
    fn after(&self, mark: &Mark<'_>, access: Access) -> Result<()> {
        if let Some(home) = &self.home {
            if self.is_home_of_another_thread() {
                // Clause S3 allows a host wait in place of the edge, which only the other thread could make. The work is done then.
                synchronize(mark.stream())?;
                edges_back::record(home);
                return Ok(());
            }
            // The edge must also order a host wait: the producer may wait for its stream on the host, and then free the memory.
            mark.wait_in_for_host(home)?;
            // Own work in the home stream is not recorded in the filter: the event that an array of this library exports covers it.
            let is_own_work = self.outlives_home || home.is_owned();
            if !(is_own_work && mark.stream().handle() == home.handle()) {
                edges_back::record(home);
            }
        }
        let Some(pending) = self.pending.as_ref().filter(|_| self.records_work_in(mark.stream())) else {
            return Ok(());
        };
        let Some(home) = &self.home else { return pending.remember(mark, access) };
        // In another thread, the handle of the per-thread default stream means another stream.
        match lane::is_same(mark.stream(), home)? {
            true => pending.remember(mark, access),
            false => pending.remember(&Mark::new(home), access),
        }
    }
}
