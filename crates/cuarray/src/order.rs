//! Which work waits for which: the only file that decides.
//!
//! A stream's work runs in order; two streams' work does not, unless something says so. There are two ways to say it. A
//! *host wait* stops the calling thread until a stream is done. An *edge* stops nobody: an event is recorded where the
//! first stream's work ends, and the second stream waits for it before what is enqueued there next. Neither is ever made
//! where it is not needed: between a stream and itself there is nothing to order.
//!
//! An array's work is ordered in one stream, its *home*. Work on it elsewhere is a visit: an edge from the home stream before
//! it, and one back after it. An array without a home has to remember where it was visited ([`Pending`]), so that whoever
//! comes next, a consumer in another library among them, can be ordered after that.

use crate::{
    Result,
    driver::{Context, PooledEvent, Stream},
};
use cuarray_abi::CU_STREAM_PER_THREAD;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Whether the two are one stream. Handles 1 and 2 are one stream in each context; every other handle is unique.
fn is_same(first: &Stream, second: &Stream) -> Result<bool> {
    if first.handle() != second.handle() {
        return Ok(false);
    }
    Ok(first.handle() > 2 || first.context()? == second.context()?)
}

/// Lets work that is enqueued in `then` from now on wait for all that is in `first` now; the host does not wait.
///
/// Clause S3 (as the backward edge), P2 (as the join). Driver calls: `cuEventRecord`, `cuStreamWaitEvent`.
pub fn edge(first: &Stream, then: &Stream) -> Result<()> {
    if is_same(first, then)? {
        return Ok(());
    }
    then.wait(&*mark(first)?)
}

/// An event behind all that is in `stream` now.
fn mark(stream: &Stream) -> Result<PooledEvent> {
    let context: Context = match stream.context()? {
        Some(context) => context,
        None => stream.driver().default_context()?,
    };
    let event = context.event_pool().take()?;
    event.record(stream)?;
    Ok(event)
}

/// Work on data that no *home* stream remembers: an event behind the latest of it in each stream that had some.
///
/// Events, and not the streams themselves, for a stream may be gone when somebody asks: its maker may destroy it as soon as
/// its work is done.
#[derive(Debug, Default)]
pub struct Pending(Mutex<PendingWork>);

#[derive(Debug, Default)]
struct PendingWork {
    /// With the handle of the stream, whose next work takes the place of this.
    events: Vec<(usize, PooledEvent)>,
    /// What was exported; it lives as long as the data (clause L4).
    joined: Option<Stream>,
}

impl Pending {
    /// What is not done yet; the rest is forgotten.
    fn unfinished(&self) -> MutexGuard<'_, PendingWork> {
        let mut work = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work.events.retain(|(_, event)| !matches!(event.is_done(), Ok(true)));
        work
    }

    /// Remembers the work that is in `stream` now.
    fn remember(&self, stream: &Stream) -> Result<()> {
        let event = mark(stream)?;
        let mut work = self.unfinished();
        // The per-thread default streams of all threads have one handle.
        if stream.handle() != CU_STREAM_PER_THREAD.0 {
            work.events.retain(|(handle, _)| *handle != stream.handle());
        }
        work.events.push((stream.handle(), event));
        Ok(())
    }

    /// Whether nothing has been remembered that could still be pending; asks no driver and waits for nobody.
    pub fn is_idle(&self) -> bool {
        match self.0.try_lock() {
            Ok(work) => work.events.is_empty(),
            Err(TryLockError::Poisoned(work)) => work.into_inner().events.is_empty(),
            Err(TryLockError::WouldBlock) => false,
        }
    }

    /// A stream in which all pending work is ordered, to be exported; `None` if there is none (clauses P1 to P3).
    pub fn join(&self) -> Result<Option<Stream>> {
        let mut work = self.unfinished();
        let Some((_, event)) = work.events.first() else { return Ok(None) };
        let stream = match &work.joined {
            Some(stream) => stream.clone(),
            None => Stream::non_blocking(event.context())?,
        };
        work.events.iter().try_for_each(|(_, event)| stream.wait(event))?;
        work.joined = Some(stream.clone());
        Ok(Some(stream))
    }

    /// Lets what is enqueued in `stream` from now on wait for all pending work; the host does not wait.
    pub fn before(&self, stream: &Stream) -> Result<()> {
        self.unfinished().events.iter().try_for_each(|(_, event)| stream.wait(event))
    }

    /// Waits for all pending work.
    pub fn synchronize(&self) -> Result<()> {
        let work = std::mem::take(&mut self.unfinished().events);
        work.iter().try_for_each(|(_, event)| event.synchronize())
    }
}

/// What orders work on one array's data: its home stream where it has one, else what is pending.
pub struct Ordering<'a> {
    /// The stream that all work on the data is ordered in, before and after work elsewhere.
    pub home: Option<Stream>,
    /// Where there is no home stream: what else has work.
    pub pending: &'a Pending,
}

impl Ordering<'_> {
    /// Lets what is enqueued in `stream` from now on wait for all that is enqueued on the data.
    pub fn before(&self, stream: &Stream) -> Result<()> {
        match &self.home {
            Some(home) => edge(home, stream),
            None => self.pending.before(stream),
        }
    }

    /// Waits for all that is enqueued on the data.
    pub fn synchronize(&self) -> Result<()> {
        match &self.home {
            Some(home) => home.synchronize(),
            None => self.pending.synchronize(),
        }
    }

    /// After work in `stream`: the home stream waits for it, or it is remembered.
    fn leave(&self, stream: &Stream) -> Result<()> {
        match &self.home {
            Some(home) => edge(stream, home),
            None => self.pending.remember(stream),
        }
    }
}

/// Runs `work` in `stream` on the data of several arrays: after all that is enqueued on them, and before what comes next.
///
/// They are left also where `work` fails, for part of it may have been enqueued.
pub fn visit<T>(data: &[Ordering<'_>], stream: &Stream, work: impl FnOnce() -> Result<T>) -> Result<T> {
    data.iter().try_for_each(|data| data.before(stream))?;
    let done = work();
    let mut left = Ok(());
    for data in data {
        left = left.and(data.leave(stream));
    }
    let done = done?;
    left?;
    Ok(done)
}
