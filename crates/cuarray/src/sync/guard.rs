//! [`SyncGuard`]: ordered work in one stream on the data of several arrays, with edges before and after it.

use super::{
    Access, SyncState,
    capture::{self, KnownCapture},
    mark::Mark,
    release::{is_for_later, wait_for_context},
};
use crate::{
    Error, Result,
    driver::{DeferredRelease, Stream},
};
use smallvec::SmallVec;
use std::thread::{self, ThreadId};

/// The right to work on data in a stream. Work enqueued in the stream during the guard's life is ordered after earlier work on
/// the data, and before later work.
///
/// The guard ends when it is dropped, or by a method that returns errors. The host does not wait, with one exception: a guard that
/// involves a per-thread default stream, and that ends in another thread. No handle names the stream there.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once orders nothing"]
pub struct SyncGuard {
    /// `None` after the end.
    edges: Option<Edges>,
}

impl SyncGuard {
    /// Orders later work in `stream` after the earlier work on all of `data`.
    ///
    /// # Errors
    /// [`Error::is_unsupported`](crate::Error::is_unsupported): one stream captures and another does not take part. The capture
    /// stays intact. Errors of the driver.
    pub fn begin(data: impl IntoIterator<Item = (SyncState, Access)>, stream: &Stream) -> Result<SyncGuard> {
        let data: SmallVec<[(SyncState, Access); 2]> = data.into_iter().collect();
        let begun = begin(each(&data), stream)?;
        Ok(SyncGuard { edges: Some(Edges { data, stream: stream.clone(), begun, waits: false }) })
    }

    /// As `end_and_keep`, with nothing to keep.
    #[cfg(test)]
    pub fn end(mut self) -> Result<()> {
        self.finish(|| ())
    }

    /// Orders later work on the data after the work now in the stream. `keep` returns a value that must live until deferred edges are
    /// made.
    ///
    /// # Errors
    /// As [`SyncGuard::begin`]. After an error the other edges are in place, and the host has waited for the stream. If the stream captures
    /// a graph, or cannot be waited for, the edges are made later.
    #[cfg(feature = "python")]
    pub(crate) fn end_and_keep<K: Send + 'static>(mut self, keep: impl FnOnce() -> K) -> Result<()> {
        self.finish(keep)
    }

    /// The capture that the stream takes part in. The driver is asked only if the begin of the guard did not ask.
    #[cfg(feature = "python")]
    pub(crate) fn capture(&self) -> Result<Option<u64>> {
        match &self.edges {
            Some(edges) => edges.begun.capture.or_ask(&edges.stream),
            None => Ok(None),
        }
    }

    /// Makes the end of the guard wait on the host for the work, in place of edges, as clause S3 allows. It does not wait for captured
    /// work, which does not run.
    #[cfg(feature = "python")]
    pub(crate) fn waiting(self, waits: bool) -> SyncGuard {
        let mut guard = self;
        if let Some(edges) = &mut guard.edges {
            edges.waits = waits;
        }
        guard
    }

    #[inline]
    fn finish<K: Send + 'static>(&mut self, keep: impl FnOnce() -> K) -> Result<()> {
        let Some(edges) = self.edges.take() else { return Ok(()) };
        edges.end().map_err(|NotEnded { error, is_ordered }| {
            if !is_ordered {
                edges.defer(keep());
            }
            error
        })
    }
}

/// The edges that end a guard.
#[derive(Debug)]
struct Edges {
    data: SmallVec<[(SyncState, Access); 2]>,
    stream: Stream,
    begun: Begun,
    /// Whether the host waits in place of edges.
    waits: bool,
}

impl Edges {
    fn end(&self) -> Result<(), NotEnded> {
        match self.waits {
            false => end(each(&self.data), &self.stream, self.begun),
            true => match (self.begun.capture, capture::of(&self.stream)?) {
                (KnownCapture::Capture(_), _) | (KnownCapture::NotAsked, Some(_)) => Ok(()),
                (KnownCapture::NoCapture, Some(_)) => Err(capture::began_since(&self.stream).into()),
                (KnownCapture::NoCapture | KnownCapture::NotAsked, None) => Ok(super::synchronize(&self.stream)?),
            },
        }
    }

    /// Ends the guard later.
    #[cold]
    fn defer<K: Send + 'static>(self, kept: K) {
        let driver = self.stream.driver().clone();
        driver.defer(Box::new(Unreleased { edges: self, kept }));
    }
}

fn each(data: &[(SyncState, Access)]) -> impl Iterator<Item = (&SyncState, Access)> + Clone {
    data.iter().map(|(data, access)| (data, *access))
}

/// The state that the begin of a guard passes to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Begun {
    /// The thread whose per-thread default stream is involved, if one is.
    thread: Option<ThreadId>,
    /// The capture that the stream took part in.
    capture: KnownCapture,
}

impl Begun {
    /// Whether no per-thread default stream is involved, or only the one of this thread.
    pub(crate) fn is_in_this_thread(&self) -> bool {
        self.thread.is_none_or(|thread| thread == thread::current().id())
    }

    /// Checks that the guard orders work in `stream` if the stream takes part in the capture `now`.
    pub(crate) fn check_capture(&self, stream: &Stream, now: Option<u64>) -> Result<()> {
        match self.capture {
            KnownCapture::NotAsked => Ok(()),
            then if then == now.into() => Ok(()),
            then => Err(capture::differs(stream, then == KnownCapture::NoCapture)),
        }
    }
}

/// Orders later work in `stream` after the earlier work on the data: the first half of a [`SyncGuard`], for callers that
/// hold the data themselves. Pass the result to [`end`].
pub(crate) fn begin<'a>(data: impl Iterator<Item = (&'a SyncState, Access)> + Clone, stream: &Stream) -> Result<Begun> {
    let _remembered = stream.driver().remember_current();
    let mut involved = stream.is_per_thread_default();
    let then = Mark::new(stream);
    for (index, (data_of_one, access)) in data.clone().enumerate() {
        match data.clone().take(index).any(|(earlier, _)| earlier.has_same_home(data_of_one)) {
            true => data_of_one.before_except_home(&then, access)?,
            false => data_of_one.before_mark(&then, access)?,
        }
        involved |= data_of_one.home_stream().is_some_and(Stream::is_per_thread_default);
    }
    // If the end of the guard records work, it has to know whether a capture has begun since.
    if data.clone().any(|(data, _)| data.record_for(stream).is_some()) {
        then.capture()?;
    }
    Ok(Begun { thread: involved.then(|| thread::current().id()), capture: then.known_capture() })
}

/// Orders later work on the data after the work now in `stream`: the second half of a [`SyncGuard`]. If an edge fails, the host
/// waits for the stream, so the work is ordered nevertheless, and the error is returned.
pub(crate) fn end<'a>(
    data: impl Iterator<Item = (&'a SyncState, Access)> + Clone,
    stream: &Stream,
    begun: Begun,
) -> Result<(), NotEnded> {
    let _remembered = stream.driver().remember_current();
    if !begun.is_in_this_thread() {
        // Clause S3 allows a host wait in place of the edge, which cannot be made from this thread.
        return Ok(match stream.is_per_thread_default() {
            true => super::wait_for_all_threads(stream),
            false => super::synchronize(stream),
        }?);
    }
    let mark = Mark::new(stream);
    match begun.capture {
        // Work of a capture that has ended does not run, so there is nothing to order.
        KnownCapture::Capture(then) if mark.capture()? != Some(then) => return Ok(()),
        // An event recorded now would be part of the graph, and would not follow the guard's work, which runs outside of it.
        KnownCapture::NoCapture if mark.capture()?.is_some() => return Err(capture::began_since(stream).into()),
        _ => {}
    }
    let mut ended = Ok(());
    for (index, (data_of_one, access)) in data.clone().enumerate() {
        if !data.clone().take(index).any(|(earlier, _)| earlier.has_same_home(data_of_one)) {
            ended = ended.and(data_of_one.after(&mark, access));
        }
    }
    ended.map_err(|error| {
        // The error of this wait is dropped: it repeats the first error, or says that the stream captures a graph.
        let is_ordered = super::synchronize(stream).is_ok();
        NotEnded { error, is_ordered }
    })
}

/// A guard whose end failed.
pub(crate) struct NotEnded {
    pub(crate) error: Error,
    /// Whether the work is ordered nevertheless, because the host has waited for it.
    pub(crate) is_ordered: bool,
}

impl From<Error> for NotEnded {
    fn from(error: Error) -> NotEnded {
        NotEnded { error, is_ordered: false }
    }
}

/// A guard whose end is deferred: no edge could be made, and the host could not wait. The usual reason is a capture that has begun
/// in the stream. The driver stores this object until an edge can be made. `kept` holds the memory, and the registry entries that
/// refuse other guards.
struct Unreleased<K> {
    edges: Edges,
    kept: K,
}

/// Defers the end of a guard.
#[cold]
pub(crate) fn end_later<'a>(
    data: impl Iterator<Item = (&'a SyncState, Access)>,
    stream: &Stream,
    begun: Begun,
    kept: impl Send + 'static,
) {
    let data = data.map(|(data, access)| (data.clone(), access)).collect();
    Edges { data, stream: stream.clone(), begun, waits: false }.defer(kept);
}

impl<K: Send + 'static> DeferredRelease for Unreleased<K> {
    fn attempt(self: Box<Self>, wait: bool) {
        let driver = self.edges.stream.driver().clone();
        match self.edges.end() {
            Ok(()) => drop(self.kept),
            Err(NotEnded { is_ordered: false, error }) if !wait || is_for_later(&error) => driver.defer(self),
            Err(NotEnded { is_ordered, error }) => {
                driver.dropped(Err(error));
                // The stream may be broken or destroyed.
                let context = self.edges.stream.work_context();
                if !is_ordered && context.is_ok_and(|context| !wait_for_context(&context)) {
                    driver.defer(self);
                }
            }
        }
    }
}

impl Drop for SyncGuard {
    fn drop(&mut self) {
        let Some(edges) = &self.edges else { return };
        let driver = edges.stream.driver().clone();
        driver.dropped(self.finish(|| ()));
    }
}
