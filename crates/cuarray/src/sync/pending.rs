//! [`Pending`]: recorded work on data outside of its home stream.

use super::{Access, capture, lane::Lane, mark::Mark};
use crate::{
    Result,
    driver::{Context, PooledEvent, Stream},
};
#[cfg(not(all(test, loom)))]
use crate::{interpreter::Locked, lock::Lock};
use smallvec::SmallVec;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
#[cfg(all(test, loom))]
use {crate::lock::model::Lock, loom::sync::MutexGuard as Locked};

/// Recorded work on data outside of its *home stream*: for each stream, an event after its latest work.
///
/// Events are kept, and not streams, because the owner of a stream may destroy it once its work is done. An event that is done is
/// dropped, and no work waits for it.
#[derive(Debug, Default)]
pub struct Pending {
    work: Lock<Work>,
    /// Whether code outside of this crate may know the address of the data.
    exposed: AtomicBool,
    /// Whether arrays with different home streams share the data, and another library may own one of the streams.
    records_homes: AtomicBool,
}

#[derive(Debug, Default)]
struct Work {
    entries: Vec<Entry>,
    /// The home streams of all arrays over the data that keep their stream alive. Work there is not recorded in an entry. Usually one.
    homes: SmallVec<[Stream; 1]>,
    /// The exported stream. It lives as long as the data (clause L4). Consumers may have enqueued work there, or edges to it, so
    /// the data has pending work until the stream is done.
    exported: Option<Stream>,
    /// The event exported beside each stream. It lives as long as the data. Each export records it again, which covers all work
    /// that an earlier record did.
    exported_events: Vec<(Lane, PooledEvent)>,
}

/// The end of one stream's work on the data.
#[derive(Debug)]
struct Entry {
    lane: Lane,
    event: Arc<PooledEvent>,
    access: Access,
    /// The capture that the event was recorded in. Such work does not run, and concerns that capture alone.
    capture: Option<u64>,
    /// The streams that wait for the event: all later work in them is ordered after this entry.
    waiting: SmallVec<[Lane; 2]>,
    /// Whether a later entry is ordered after this one, so that a wait for all entries can leave this one out.
    followed: bool,
}

impl Entry {
    /// Whether `access` has to wait for this entry, given that it waits for all other entries.
    fn concerns(&self, access: Access) -> bool {
        match access {
            Access::Write => !self.followed,
            Access::Read => self.access == Access::Write,
        }
    }

    /// Whether all later work in a stream is ordered after this entry.
    fn is_before(&self, lane: &Lane, capture: Option<u64>) -> bool {
        self.capture == capture && (self.lane.is(lane) || self.waiting.iter().any(|waiting| waiting.is(lane)))
    }
}

impl Work {
    /// Whether all work is in the stream `home`.
    fn is_only_in(&self, home: Option<&Stream>) -> bool {
        self.entries.is_empty() && self.exported.is_none() && self.homes.iter().all(|known| Some(known) == home)
    }

    /// The home streams other than `except` that have work, each with the capture that it takes part in. A capturing stream counts as busy,
    /// because a query would invalidate its capture. Idle streams that only this list keeps move to `dropped`.
    fn busy_homes(&mut self, except: [Option<&Stream>; 2], dropped: &mut Streams) -> Result<SmallVec<[Home; 1]>> {
        let mut busy = SmallVec::new();
        let mut idle = Streams::new();
        for known in self.homes.iter().filter(|known| !except.contains(&Some(*known))) {
            match capture::of(known)? {
                None if known.is_done()? => idle.extend(known.is_unique().then(|| known.clone())),
                capture => busy.push(Home { stream: known.clone(), capture }),
            }
        }
        self.homes.retain(|known| !idle.contains(known));
        dropped.append(&mut idle);
        Ok(busy)
    }

    /// Drops the entries whose work is done.
    fn forget_done(&mut self) {
        let Some(first) = self.entries.iter().find(|entry| entry.capture.is_none()).map(|entry| entry.event.clone())
        else {
            return;
        };
        // Entries that remain are only waited for again.
        let Ok(_relaxed) = first.context().driver().relaxed() else { return };
        self.entries.retain(|entry| entry.capture.is_some() || !matches!(entry.event.is_done(), Ok(true)));
    }

    /// The exported stream, if it has work.
    fn exported_and_busy(&self) -> Result<Option<&Stream>> {
        let Some(stream) = &self.exported else { return Ok(None) };
        // A consumer may have made the stream take part in a capture, which `is_done` would invalidate.
        let done = capture::of(stream)?.is_none() && stream.is_done()?;
        Ok((!done).then_some(stream))
    }
}

type Streams = SmallVec<[Stream; 1]>;

/// A home stream that has work, or takes part in a capture.
struct Home {
    stream: Stream,
    capture: Option<u64>,
}

impl Home {
    fn mark(&self) -> Mark<'_> {
        Mark::in_capture(&self.stream, self.capture)
    }
}

/// The state of the home streams of data that no array uses any more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Homes {
    Idle,
    /// A home stream has work, and an event was recorded after that work.
    Busy,
    /// A home stream captures a graph, so whether its earlier work is done is unknown.
    Capturing,
}

impl Pending {
    #[cfg(not(all(test, loom)))]
    fn lock(&self) -> Locked<'_, Work> {
        crate::interpreter::lock(&self.work)
    }

    #[cfg(all(test, loom))]
    fn lock(&self) -> Locked<'_, Work> {
        self.work.lock()
    }

    /// Records the work now in the mark's stream. Drops earlier entries of that stream, which the new event covers.
    pub(super) fn remember(&self, mark: &Mark<'_>, access: Access) -> Result<()> {
        let (lane, capture) = (Lane::of(mark.stream())?, mark.capture()?);
        let event = mark.event()?;
        let mut work = self.lock();
        let mut entry = Entry { lane, event, access, capture, waiting: SmallVec::new(), followed: false };
        work.entries.retain_mut(|known| {
            let behind = known.is_before(&lane, capture);
            // Reads need not wait for each other. So a write stays recorded beside the reads that follow it.
            let replaced = behind && (access == Access::Write || known.lane.is(&lane));
            known.followed |= behind;
            if replaced && known.access == Access::Write {
                entry.access = Access::Write;
            }
            // Entries of another capture are dropped: that capture has ended, or is unrelated.
            !replaced && (capture.is_none() || known.capture.is_none() || known.capture == capture)
        });
        work.forget_done();
        work.entries.push(entry);
        Ok(())
    }

    /// Orders later work in `stream`, which accesses the data as `access` says, after the pending work that it depends on. The
    /// host does not wait.
    ///
    /// # Errors
    /// Unsupported: the stream captures, and some pending work is not part of the capture. The capture stays intact.
    pub fn before(&self, stream: &Stream, access: Access) -> Result<()> {
        self.before_except(&Mark::new(stream), access, None)
    }

    /// As [`Pending::before`], for a mark whose stream already waits for the work in `home`.
    pub(super) fn before_except(&self, then: &Mark<'_>, access: Access, home: Option<&Stream>) -> Result<()> {
        // The streams are destroyed after the lock is released.
        let mut dropped = Streams::new();
        let mut work = self.lock();
        if work.is_only_in(home) {
            return Ok(());
        }
        let stream = then.stream();
        let (lane, capture) = (Lane::of(stream)?, then.capture()?);
        let behind = home.map(Lane::of).transpose()?;
        work.forget_done();
        let due = |entry: &Entry| entry.concerns(access) && !entry.lane.is(&lane);
        if capture.is_some() && work.entries.iter().any(|entry| due(entry) && entry.capture.is_none()) {
            return Err(capture::still_pending(stream));
        }
        if let Some(exported) = work.exported_and_busy()? {
            Mark::new(exported).wait_at(then)?;
        }
        let homes = work.busy_homes([home, Some(stream)], &mut dropped)?;
        if capture.is_some() && homes.iter().any(|home| home.capture.is_none()) {
            return Err(capture::still_pending(stream));
        }
        homes.iter().try_for_each(|home| home.mark().wait_at(then))?;
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

    /// A stream to export, ordered after all pending work that `access` depends on; `None` if there is no such work (clauses P1 to
    /// P3).
    pub fn join(&self, access: Access) -> Result<Option<Stream>> {
        // The streams are destroyed after the lock is released.
        let mut dropped = Streams::new();
        let mut work = self.lock();
        if work.is_only_in(None) {
            return Ok(None);
        }
        work.forget_done();
        let due = |entry: &Entry| entry.capture.is_none() && entry.concerns(access);
        let homes = work.busy_homes([None; 2], &mut dropped)?;
        let context = match (work.entries.iter().find(|entry| due(entry)), homes.first()) {
            (Some(entry), _) => entry.event.context().clone(),
            (None, Some(home)) => home.stream.work_context()?,
            (None, None) => return Ok(work.exported_and_busy()?.cloned()),
        };
        let _remembered = context.driver().remember_current();
        let stream = match &work.exported {
            Some(stream) => stream.clone(),
            None => Stream::non_blocking(&context)?,
        };
        let then = Mark::new(&stream);
        if then.capture()?.is_some() {
            return Err(capture::still_pending(&stream));
        }
        homes.iter().try_for_each(|home| home.mark().wait_at(&then))?;
        work.entries.iter().filter(|entry| due(entry)).try_for_each(|entry| stream.wait(&entry.event))?;
        // The exported stream now stands for the joined entries.
        let joined =
            |entry: &Entry| entry.capture.is_none() && (access == Access::Write || entry.access == Access::Write);
        work.entries.retain(|entry| !joined(entry));
        work.exported = Some(stream.clone());
        Ok(Some(stream))
    }

    /// The handle of an event after all work now in `stream`, to export beside the stream (clause X2). `None` if the stream captures:
    /// the event would be meaningless outside of the graph.
    pub fn export_event(&self, stream: &Stream) -> Result<Option<usize>> {
        if capture::of(stream)?.is_some() {
            return Ok(None);
        }
        let lane = Lane::of(stream)?;
        let mut work = self.lock();
        let index = match work.exported_events.iter().position(|(known, _)| known.is(&lane)) {
            Some(index) => index,
            None => {
                let event = stream.work_context()?.event_pool().take()?;
                work.exported_events.push((lane, event));
                work.exported_events.len() - 1
            }
        };
        let event = &work.exported_events[index].1;
        event.record(stream)?;
        Ok(Some(event.handle()))
    }

    /// Keeps the home stream of an array over the data, unless another library owns the stream and may destroy it. Drops home streams
    /// without work that only this list keeps. Otherwise, a long-lived module would keep every stream that it was launched in.
    pub(crate) fn add_home(&self, home: &Stream) {
        if !home.is_owned() {
            return;
        }
        let mut idle = SmallVec::<[Stream; 1]>::new();
        let mut work = self.lock();
        if work.homes.contains(home) {
            return;
        }
        work.homes.retain(|known| {
            let is_idle = known.is_unique() && is_idle(known);
            if is_idle {
                idle.push(known.clone());
            }
            !is_idle
        });
        work.homes.push(home.clone());
        // The streams are destroyed after the lock is released.
        drop(work);
    }

    /// Records the work in the home stream of an array that is being dropped, if another library may destroy the stream afterwards.
    /// Consumers of the array's interface have ordered their work there.
    pub(super) fn record_home(&self, home: &Stream) {
        if is_idle(home) {
            return;
        }
        let recorded = match capture::of(home) {
            Ok(None) => self.remember(&Mark::new(home), Access::Write).or_else(|_| super::synchronize(home)).is_ok(),
            _ => false,
        };
        let mut work = self.lock();
        if !recorded && !work.homes.contains(home) {
            // The work could not be recorded, so the stream is kept and queried later.
            work.homes.push(home.clone());
        }
    }

    /// Replaces each home stream by an event after its work. Called when no array uses the data any more.
    pub(super) fn record_homes(&self) -> Result<Homes> {
        let mut homes = Homes::Idle;
        loop {
            let Some(home) = self.lock().homes.last().cloned() else { return Ok(homes) };
            if capture::of(&home)?.is_some() {
                return Ok(Homes::Capturing);
            }
            // A new event would not be done yet, even if the stream is idle.
            if !home.is_done()? {
                self.remember(&Mark::new(&home), Access::Write)?;
                homes = Homes::Busy;
            }
            self.lock().homes.retain(|known| *known != home);
        }
    }

    /// Whether all pending work is done, apart from that of home streams. Never waits.
    pub(crate) fn is_done(&self) -> Result<bool> {
        let mut work = self.lock();
        work.forget_done();
        Ok(work.entries.iter().all(|entry| entry.capture.is_some()) && work.exported_and_busy()?.is_none())
    }

    /// Waits on the host for the pending work that `access` depends on.
    pub fn synchronize(&self, access: Access) -> Result<()> {
        self.synchronize_except(access, None)
    }

    /// As [`Pending::synchronize`], for a host that has already waited for the work in `home`.
    pub(super) fn synchronize_except(&self, access: Access, home: Option<&Stream>) -> Result<()> {
        // The streams are destroyed after the lock is released.
        let mut dropped = Streams::new();
        let (events, exported, homes) = {
            let mut work = self.lock();
            if work.is_only_in(home) {
                return Ok(());
            }
            work.forget_done();
            let due = work.entries.iter().filter(|entry| entry.capture.is_none() && entry.concerns(access));
            let events = due.map(|entry| entry.event.clone()).collect::<Vec<_>>();
            let homes = work.busy_homes([home, None], &mut dropped)?;
            (events, work.exported_and_busy()?.cloned(), homes)
        };
        if let Some(event) = events.first() {
            let _relaxed = event.context().driver().relaxed()?;
            events.iter().try_for_each(|event| event.synchronize())?;
        }
        exported.iter().chain(homes.iter().map(|home| &home.stream)).try_for_each(super::synchronize)
    }

    /// Records that code outside of this crate knows the address of the data.
    pub(super) fn expose(&self) {
        self.exposed.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_exposed(&self) -> bool {
        self.exposed.load(Ordering::Relaxed)
    }

    /// Records the work of later guards in home streams that this list does not keep.
    #[cfg(feature = "python")]
    pub(crate) fn set_records_homes(&self) {
        self.records_homes.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn records_homes(&self) -> bool {
        self.records_homes.load(Ordering::Relaxed)
    }

    /// Whether `stream` is the one home stream, and no other work can be pending. Makes no driver call and waits for no lock.
    pub(super) fn is_only_home(&self, stream: &Stream) -> bool {
        self.work.try_lock().is_some_and(|work| !work.homes.is_empty() && work.is_only_in(Some(stream)))
    }

    /// A context of the pending work; `None` if there is none.
    pub(crate) fn context(&self) -> Result<Option<Context>> {
        let work = self.lock();
        match (work.entries.first(), work.homes.first()) {
            (Some(entry), _) => Ok(Some(entry.event.context().clone())),
            (None, Some(home)) => home.work_context().map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Whether no work can be pending outside of the stream `home`. Makes no driver call and waits for no lock.
    pub fn is_idle(&self, home: Option<&Stream>) -> bool {
        self.work.try_lock().is_some_and(|work| work.is_only_in(home))
    }
}

/// Whether a stream is known to have no work.
fn is_idle(stream: &Stream) -> bool {
    let Ok(_relaxed) = stream.driver().relaxed() else { return false };
    matches!(capture::of(stream), Ok(None)) && matches!(stream.is_done(), Ok(true))
}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Pending>();
};
