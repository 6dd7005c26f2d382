//! Which work waits for which: the only place that decides.
//!
//! A stream's work runs in order; two streams' work does not, unless something says so. There are two ways to say it. A
//! *host wait* stops the calling thread until a stream is done. An *edge* stops nobody: an event is recorded where the
//! first stream's work ends, and the second stream waits for it before what is enqueued there next. Neither is ever made
//! where it is not needed: between a stream and itself there is nothing to order, nor from the legacy default stream to a
//! stream that waits for it anyway; and what is known to be done is not waited for.
//!
//! An array's work is ordered in one stream, its *home*. Work on it elsewhere is a visit, a [`SyncGuard`]: an edge from the home
//! stream before it, and one back after it. An array without a home has to remember where it was visited ([`Pending`]), so
//! that whoever comes next, a consumer in another library among them, can be ordered after that. Two visits that only read
//! need no order between them.
//!
//! A stream that *captures* records work into a graph instead of running it. Work that is recorded and work that runs
//! cannot be ordered, and the driver spoils a capture in which somebody tries. So both streams are asked first
//! (`cuStreamIsCapturing`), and a refusal here makes no other call: the capture goes on. Work in one and the same capture is
//! ordered as ever, by events, which then are edges of the graph.
//!
//! Memory goes when the work on it is done, and nobody waits for that either: see [`Memory`].
//!
//! | | driver calls |
//! |---|---|
//! | an edge | `cuStreamIsCapturing` of both, `cuEventRecord`, `cuStreamWaitEvent` |
//! | several edges from one stream | one `cuEventRecord`, a `cuStreamWaitEvent` each |
//! | a host wait | `cuStreamIsCapturing`, `cuStreamSynchronize` |
//! | work pending without a home | one `cuEventRecord`; later one `cuEventQuery`, and if it is not done, `cuStreamWaitEvent` |
//!
//! ```
//! # use cuarray::Driver;
//! # cuarray::__simulated!(driver);
//! use cuarray::{DeviceArray, Ix1, Stream, sync};
//!
//! let context = driver.default_context()?;
//! let [one, two, three] = [(); 3].map(|()| Stream::non_blocking(&context).unwrap());
//! let mut array = DeviceArray::<f32, _>::empty([100], &one)?; // its home is the first
//! array.acquire_mut(&two)?.copy_from_host(&[1.0; 100])?; // a visit: an edge there, and one back
//! sync::edge(&one, &three)?; // whatever is enqueued in the third comes after all of that
//! sync::synchronize(&three)?;
//! # Ok::<(), cuarray::Error>(())
//! ```

mod capture;
mod guard;
mod lane;
mod mark;
mod memory;
mod pending;
mod release;

#[doc(hidden)]
pub use guard::SyncGuard;
pub(crate) use guard::{begin, end};
#[doc(hidden)]
pub use memory::Memory;
#[doc(hidden)]
pub use pending::Pending;
pub(crate) use release::{Deferred, Resource};

use crate::{
    Result,
    driver::{Event, Stream},
};
use mark::Mark;
use std::sync::Arc;

/// What work does to data.
///
/// ```
/// # use cuarray::Driver;
/// # cuarray::__simulated!(driver);
/// use cuarray::{DeviceArray, Stream, sync::Access};
///
/// let context = driver.default_context()?;
/// let (home, elsewhere) = (Stream::non_blocking(&context)?, Stream::non_blocking(&context)?);
/// let array = DeviceArray::<f32, _>::empty([100], &home)?;
/// // ... somebody's kernel, enqueued in `elsewhere`, that writes the array ...
/// array.record_stream(&elsewhere, Access::Write)?;
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads: it comes after what was written, and before what is written next.
    Read,
    /// It reads and writes: it comes after everything before, and before everything after.
    Write,
}

/// Lets work that is enqueued in `then` from now on wait for all that is in `first` now; the host does not wait.
///
/// Clause S3 (as the backward edge), P2 (as the join). Driver calls: `cuEventRecord`, `cuStreamWaitEvent`.
///
/// # Errors
/// [`Error::is_unsupported`](crate::Error::is_unsupported) where one of the two captures and the other does not take part;
/// the capture is not harmed.
pub fn edge(first: &Stream, then: &Stream) -> Result<()> {
    let _remembered = first.driver().remember_current();
    Mark::new(first).wait_in(then)
}

/// Waits until all work in `stream` is done (clauses S2 and N1).
///
/// # Errors
/// [`Error::is_unsupported`](crate::Error::is_unsupported) where the stream captures, or where it is the legacy default stream
/// and one that waits for it does; the capture is not harmed.
pub fn synchronize(stream: &Stream) -> Result<()> {
    let _remembered = stream.driver().remember_current();
    let context = stream.work_context()?;
    let _current = context.push()?;
    may_wait(stream)?;
    let _relaxed = stream.driver().relaxed();
    stream.synchronize()
}

/// Refuses what the host cannot wait for: a stream that captures.
pub(crate) fn may_wait(stream: &Stream) -> Result<()> {
    match capture::of(stream)? {
        None => Ok(()),
        Some(_) => Err(capture::cannot_wait(stream)),
    }
}

/// The same of work in no stream, which goes to the legacy default stream of `context`.
#[cfg(feature = "python")]
pub(crate) fn may_wait_in_no_stream(context: &crate::driver::Context) -> Result<()> {
    capture::of_legacy(context)
}

/// What orders work on one array's data: its home stream where it has one, and what is pending elsewhere. A clone means the
/// same data.
///
/// ```
/// # use cuarray::{Driver, Stream, sync::{Access, SyncState, Pending}};
/// # use std::sync::Arc;
/// # cuarray::__simulated!(driver);
/// let context = driver.default_context()?;
/// let [home, other] = [(); 2].map(|()| Stream::non_blocking(&context).unwrap());
/// let data = SyncState::new(Some(home.clone()), Arc::new(Pending::default()));
/// data.before(&other, Access::Write)?; // `other` waits for `home`
/// // ... enqueue work on the data in `other` ...
/// data.record(&other, Access::Write)?; // `home` waits for `other`
/// assert_eq!(data.export(Access::Read)?, Some(home)); // the stream to name to a consumer
/// # Ok::<(), cuarray::Error>(())
/// ```
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct SyncState {
    home: Option<Stream>,
    /// `None` where the home stream alone orders the work, and nobody else knows of it.
    pending: Option<Arc<Pending>>,
    /// What to wait for in place of the home stream (clause X2).
    event: Option<Arc<Event>>,
    /// Whether work in the home stream is to be remembered as well, for the time when the stream may be gone.
    outlives_home: bool,
    /// Whether nobody looks at what is pending after this visit.
    forgotten: bool,
}

impl SyncState {
    /// Data whose work is ordered in `home`, or that has no such stream. All arrays over the same memory share `pending`.
    pub fn new(home: Option<Stream>, pending: Arc<Pending>) -> SyncState {
        SyncState { home, pending: Some(pending), event: None, outlives_home: false, forgotten: false }
    }

    /// Somebody else's data, all of whose work is ordered in `home`: nothing of it is remembered here.
    pub(crate) fn in_home(home: Stream) -> SyncState {
        SyncState { home: Some(home), pending: None, event: None, outlives_home: false, forgotten: true }
    }

    /// The same data, of which `event` stands behind all the work that has to be waited for (clause X2). Work that comes
    /// after is ordered in the home stream as ever.
    #[must_use]
    pub fn with_event(self, event: Arc<Event>) -> SyncState {
        SyncState { event: Some(event), ..self }
    }

    /// The same data, which may outlive its home stream, as [`Memory`] may a stream that somebody else keeps: what is done there is
    /// remembered like work elsewhere.
    #[must_use]
    pub fn outliving_home(self) -> SyncState {
        SyncState { outlives_home: true, ..self }
    }

    /// The same data, which nobody knows by this `pending` once the visit is over: an array that was made for it. Then work is
    /// ordered in the home stream, if there is one, and not remembered.
    #[must_use]
    pub fn forgotten(self) -> SyncState {
        SyncState { forgotten: true, ..self }
    }

    /// The stream that all work on the data is ordered in, before and after work elsewhere.
    pub fn home_stream(&self) -> Option<&Stream> {
        self.home.as_ref()
    }

    /// Whether work in `stream` is in order as it is, and nobody has to remember it: known without asking the driver.
    pub(crate) fn is_at_home(&self, stream: &Stream) -> bool {
        // The default streams' handles mean another stream in each context.
        stream.handle() > 2
            && self.event.is_none()
            && !self.outlives_home
            && self.home.as_ref().is_some_and(|home| home.handle() == stream.handle())
            && self.pending.as_ref().is_none_or(|pending| pending.is_idle())
    }

    /// Lets what is enqueued in `stream` from now on, which does `access` to the data, wait for what it has to.
    pub fn before(&self, stream: &Stream, access: Access) -> Result<()> {
        let _remembered = stream.driver().remember_current();
        match (&self.event, &self.home) {
            (Some(event), home) => mark::wait_for(event, home.as_ref(), stream)?,
            (None, Some(home)) => {
                edge(home, stream)?;
                return self.before_behind_home(stream, access);
            }
            (None, None) => {}
        }
        self.pending.as_ref().map_or(Ok(()), |pending| pending.before(stream, access))
    }

    /// As [`SyncState::before`], where `stream` waits already for what is in the home stream.
    fn before_behind_home(&self, stream: &Stream, access: Access) -> Result<()> {
        let Some(pending) = &self.pending else { return Ok(()) };
        pending.before_and_behind(stream, access, self.home.as_ref())
    }

    /// Waits on the host for all that is enqueued on the data and that `access` has to come after.
    pub fn synchronize(&self, access: Access) -> Result<()> {
        match (&self.event, &self.home) {
            (Some(event), _) => event.synchronize()?,
            (None, Some(home)) => synchronize(home)?,
            (None, None) => {}
        }
        self.pending.as_ref().map_or(Ok(()), |pending| pending.synchronize(access))
    }

    /// The stream to name to a consumer, in which all work is ordered that it has to wait for; `None` if there is none
    /// (clauses P1 to P3).
    pub fn export(&self, access: Access) -> Result<Option<Stream>> {
        match (&self.home, &self.pending) {
            (Some(home), Some(pending)) => pending.before(home, access).map(|()| Some(home.clone())),
            (None, Some(pending)) => pending.join(access),
            (home, None) => Ok(home.clone()),
        }
    }

    /// Remembers the work that somebody else has enqueued in `stream` by now: what comes next on the data comes after it.
    pub fn record(&self, stream: &Stream, access: Access) -> Result<()> {
        let _remembered = stream.driver().remember_current();
        self.after(&Mark::new(stream), access)
    }

    /// What comes next comes after the work that `mark` stands behind.
    fn after(&self, mark: &Mark<'_>, access: Access) -> Result<()> {
        if let Some(home) = &self.home {
            mark.wait_in(home)?;
        }
        let Some(pending) = self.pending.as_ref().filter(|_| !self.forgotten) else { return Ok(()) };
        let Some(home) = &self.home else { return pending.remember(mark, access) };
        // Another thread means another stream by the number of the per-thread default stream.
        if !self.outlives_home && !home.is_per_thread_default() {
            return Ok(());
        }
        match lane::is_same(mark.stream(), home)? {
            true => pending.remember(mark, access),
            false => pending.remember(&Mark::new(home), access),
        }
    }
}
