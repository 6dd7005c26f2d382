//! [`Pending`]: work on data that no home stream remembers.

use super::{Access, capture, edge, lane::Lane, mark::Mark};
use crate::{
    Result,
    driver::{PooledEvent, Stream},
};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Work on data that no *home* stream remembers: an event behind the latest of it in each stream that had some.
///
/// Events, and not the streams themselves, for a stream may be gone when somebody asks: its maker may destroy it as soon as
/// its work is done. Of an event that is done nothing is kept, and nobody waits for it.
///
/// ```
/// # use cuarray::{Driver, Stream, sync::{Access, SyncState, Pending}};
/// # use std::sync::Arc;
/// # cuarray::__simulated!(driver);
/// let context = driver.default_context()?;
/// let [one, two, three] = [(); 3].map(|()| Stream::non_blocking(&context).unwrap());
/// let pending = Arc::new(Pending::default());
/// let data = SyncState::new(None, pending.clone()); // of no home stream
/// data.record(&one, Access::Write)?;
/// data.record(&two, Access::Read)?;
/// pending.before(&three, Access::Write)?; // the third waits for both
/// pending.synchronize(Access::Write)?; // and so does the host
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Pending(Mutex<Work>);

#[derive(Debug, Default)]
struct Work {
    entries: Vec<Entry>,
    /// What was exported. It lives as long as the data (clause L4), and whoever took the data may have put work there, or
    /// let it wait for work elsewhere: so it has work on the data for as long as it is not done.
    exported: Option<Stream>,
    /// The events that were exported beside a stream. They live as long as the data too, and each stays with its stream: recorded
    /// again, it stands behind all that it stood behind before.
    announced: Vec<(Lane, PooledEvent)>,
}

/// Where some stream's work on the data ends.
#[derive(Debug)]
struct Entry {
    lane: Lane,
    event: Arc<PooledEvent>,
    access: Access,
    /// The capture that the event was recorded in. Such work does not run: it concerns the same capture alone.
    capture: Option<u64>,
    /// The streams that wait for the event: all that is put into them comes after this work.
    waiting: SmallVec<[Lane; 2]>,
    /// Whether a later entry stands behind this one too, so that who waits for all need not wait for this.
    followed: bool,
}

impl Entry {
    /// Whether `access` has to come after this, and does not already when it waits for the other entries.
    fn concerns(&self, access: Access) -> bool {
        match access {
            Access::Write => !self.followed,
            Access::Read => self.access == Access::Write,
        }
    }

    /// Whether all that is put into a stream comes after this.
    fn is_before(&self, lane: &Lane, capture: Option<u64>) -> bool {
        self.capture == capture && (self.lane.is(lane) || self.waiting.iter().any(|waiting| waiting.is(lane)))
    }
}

impl Work {
    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.exported.is_none()
    }

    /// Forgets what is done.
    fn forget_done(&mut self) {
        let Some(first) = self.entries.iter().find(|entry| entry.capture.is_none()).map(|entry| entry.event.clone())
        else {
            return;
        };
        let _relaxed = first.context().driver().relaxed();
        self.entries.retain(|entry| entry.capture.is_some() || !matches!(entry.event.is_done(), Ok(true)));
    }

    /// The stream that was exported, if it has work still.
    fn exported_and_busy(&self) -> Result<Option<&Stream>> {
        let Some(stream) = &self.exported else { return Ok(None) };
        // One that a consumer has drawn into a capture must not be asked how far it is.
        let done = capture::of(stream)?.is_none() && stream.is_done()?;
        Ok((!done).then_some(stream))
    }
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the work that is in the mark's stream now, and forgets what was remembered of the same stream, which the
    /// new event stands behind too.
    pub(super) fn remember(&self, mark: &Mark<'_>, access: Access) -> Result<()> {
        let (lane, capture) = (Lane::of(mark.stream())?, mark.capture()?);
        let event = mark.event()?;
        let mut work = self.lock();
        let mut entry = Entry { lane, event, access, capture, waiting: SmallVec::new(), followed: false };
        work.entries.retain_mut(|known| {
            let behind = known.is_before(&lane, capture);
            // Two that read may be waited for one without the other, so of a write that only reads come after both are kept.
            let replaced = behind && (access == Access::Write || known.lane.is(&lane));
            known.followed |= behind;
            if replaced && known.access == Access::Write {
                entry.access = Access::Write;
            }
            // Of captures, the one that goes on counts; an earlier one is over, or has nothing to do with it.
            !replaced && (capture.is_none() || known.capture.is_none() || known.capture == capture)
        });
        work.forget_done();
        work.entries.push(entry);
        Ok(())
    }

    /// Lets what is enqueued in `stream` from now on, which does `access` to the data, wait for the pending work that it has
    /// to; the host does not wait.
    ///
    /// # Errors
    /// Unsupported: the stream captures, and there is pending work that does not belong to the capture, which is not harmed.
    pub fn before(&self, stream: &Stream, access: Access) -> Result<()> {
        self.before_and_behind(stream, access, None)
    }

    /// As [`Pending::before`], where `stream` waits already for what is in `behind`.
    pub(super) fn before_and_behind(&self, stream: &Stream, access: Access, behind: Option<&Stream>) -> Result<()> {
        let mut work = self.lock();
        if work.is_empty() {
            return Ok(());
        }
        let (lane, capture) = (Lane::of(stream)?, capture::of(stream)?);
        let behind = behind.map(Lane::of).transpose()?;
        work.forget_done();
        let due = |entry: &Entry| entry.concerns(access) && !entry.lane.is(&lane);
        if capture.is_some() && work.entries.iter().any(|entry| due(entry) && entry.capture.is_none()) {
            return Err(capture::still_pending(stream));
        }
        if let Some(exported) = work.exported_and_busy()? {
            edge(exported, stream)?;
        }
        for entry in work.entries.iter_mut() {
            if entry.capture != capture || !entry.concerns(access) || entry.is_before(&lane, capture) {
                continue;
            }
            if !behind.is_some_and(|behind| entry.is_before(&behind, capture)) {
                stream.wait(&entry.event)?;
            }
            entry.waiting.push(lane);
        }
        Ok(())
    }

    /// A stream in which the pending work is ordered that `access` has to wait for, to be exported; `None` if there is none
    /// (clauses P1 to P3).
    pub fn join(&self, access: Access) -> Result<Option<Stream>> {
        let mut work = self.lock();
        if work.is_empty() {
            return Ok(None);
        }
        work.forget_done();
        let due = |entry: &Entry| entry.capture.is_none() && entry.concerns(access);
        let Some(first) = work.entries.iter().find(|entry| due(entry)) else {
            return Ok(work.exported_and_busy()?.cloned());
        };
        let _remembered = first.event.context().driver().remember_current();
        let stream = match &work.exported {
            Some(stream) => stream.clone(),
            None => Stream::non_blocking(first.event.context())?,
        };
        if capture::of(&stream)?.is_some() {
            return Err(capture::still_pending(&stream));
        }
        work.entries.iter().filter(|entry| due(entry)).try_for_each(|entry| stream.wait(&entry.event))?;
        // What others stand behind is behind the exported stream with them.
        let joined =
            |entry: &Entry| entry.capture.is_none() && (access == Access::Write || entry.access == Access::Write);
        work.entries.retain(|entry| !joined(entry));
        work.exported = Some(stream.clone());
        Ok(Some(stream))
    }

    /// An event behind all that is in `stream` now, by its handle, to be exported beside the stream (clause X2); `None` where the stream
    /// captures, as the event would mean nothing outside the graph.
    pub fn announce(&self, stream: &Stream) -> Result<Option<usize>> {
        if capture::of(stream)?.is_some() {
            return Ok(None);
        }
        let lane = Lane::of(stream)?;
        let mut work = self.lock();
        let index = match work.announced.iter().position(|(known, _)| known.is(&lane)) {
            Some(index) => index,
            None => {
                let event = stream.work_context()?.event_pool().take()?;
                work.announced.push((lane, event));
                work.announced.len() - 1
            }
        };
        let event = &work.announced[index].1;
        event.record(stream)?;
        Ok(Some(event.handle()))
    }

    /// Whether all pending work is done; never waits.
    pub(super) fn is_done(&self) -> Result<bool> {
        let mut work = self.lock();
        work.forget_done();
        Ok(work.entries.iter().all(|entry| entry.capture.is_some()) && work.exported_and_busy()?.is_none())
    }

    /// Waits on the host for the pending work that `access` has to come after.
    pub fn synchronize(&self, access: Access) -> Result<()> {
        let (events, exported) = {
            let mut work = self.lock();
            if work.is_empty() {
                return Ok(());
            }
            work.forget_done();
            let due = work.entries.iter().filter(|entry| entry.capture.is_none() && entry.concerns(access));
            (due.map(|entry| entry.event.clone()).collect::<Vec<_>>(), work.exported_and_busy()?.cloned())
        };
        if let Some(event) = events.first() {
            let _relaxed = event.context().driver().relaxed();
            events.iter().try_for_each(|event| event.synchronize())?;
        }
        exported.as_ref().map_or(Ok(()), super::synchronize)
    }

    /// Whether nothing has been remembered that could still be pending; asks no driver and waits for nobody.
    pub fn is_idle(&self) -> bool {
        match self.0.try_lock() {
            Ok(work) => work.is_empty(),
            Err(TryLockError::Poisoned(work)) => work.into_inner().is_empty(),
            Err(TryLockError::WouldBlock) => false,
        }
    }
}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Pending>();
};
