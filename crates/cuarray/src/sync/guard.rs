//! [`SyncGuard`]: ordered work in one stream on the data of several arrays, with edges before and after it.

use super::{Access, SyncState, lane, mark::Mark};
use crate::{Result, driver::Stream};
use smallvec::SmallVec;
use std::thread::{self, ThreadId};

/// The right to work on data in a stream. Work enqueued in the stream during the guard's life is ordered after earlier work on
/// the data, and before later work.
///
/// The guard ends when it is dropped; [`SyncGuard::end`] ends it too and returns errors. The host does not wait, with one
/// exception: a guard that involves a per-thread default stream ends in another thread, where that stream cannot be named.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once orders nothing"]
pub struct SyncGuard {
    data: SmallVec<[(SyncState, Access); 2]>,
    stream: Stream,
    /// The thread whose per-thread default stream is involved, if one is.
    thread: Option<ThreadId>,
    ended: bool,
}

impl SyncGuard {
    /// Orders later work in `stream` after the earlier work on all of `data`.
    ///
    /// # Errors
    /// [`Error::is_unsupported`](crate::Error::is_unsupported): one stream captures and another does not take part. The capture
    /// stays intact. Errors of the driver.
    pub fn begin(data: impl IntoIterator<Item = (SyncState, Access)>, stream: &Stream) -> Result<SyncGuard> {
        let data: SmallVec<[(SyncState, Access); 2]> = data.into_iter().collect();
        let thread = begin(each(&data), stream)?;
        Ok(SyncGuard { data, stream: stream.clone(), thread, ended: false })
    }

    /// The stream of the ordered work.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Orders later work on the data after the work now in the stream.
    ///
    /// # Errors
    /// As [`SyncGuard::begin`]. After an error the other edges are in place, and the host has waited for the stream.
    pub fn end(mut self) -> Result<()> {
        self.finish()
    }

    /// Waits on the host until the work is done, so that no edge is needed: the alternative that clause S3 allows.
    pub fn wait(mut self) -> Result<()> {
        self.ended = true;
        super::synchronize(&self.stream)
    }

    fn finish(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        end(each(&self.data), &self.stream, self.thread)
    }
}

fn each(data: &[(SyncState, Access)]) -> impl Iterator<Item = (&SyncState, Access)> + Clone {
    data.iter().map(|(data, access)| (data, *access))
}

/// Orders later work in `stream` after the earlier work on the data: the first half of a [`SyncGuard`], for callers that
/// hold the data themselves. Pass the result to [`end`].
pub(crate) fn begin<'a>(
    data: impl Iterator<Item = (&'a SyncState, Access)> + Clone,
    stream: &Stream,
) -> Result<Option<ThreadId>> {
    let _remembered = stream.driver().remember_current();
    let per_thread = |stream: &Stream| stream.is_per_thread_default();
    let mut involved = per_thread(stream);
    for (index, (data_of_one, access)) in data.clone().enumerate() {
        match data.clone().take(index).any(|(earlier, _)| has_same_home(earlier, data_of_one)) {
            true => data_of_one.before_behind_home(stream, access)?,
            false => data_of_one.before(stream, access)?,
        }
        involved |= data_of_one.home.as_ref().is_some_and(per_thread);
    }
    Ok(involved.then(|| thread::current().id()))
}

/// Orders later work on the data after the work now in `stream`: the second half of a [`SyncGuard`]. If an edge fails, the host
/// waits for the stream, so the order holds all the same, and the error is returned.
pub(crate) fn end<'a>(
    data: impl Iterator<Item = (&'a SyncState, Access)> + Clone,
    stream: &Stream,
    thread: Option<ThreadId>,
) -> Result<()> {
    let _remembered = stream.driver().remember_current();
    if thread.is_some_and(|thread| thread != thread::current().id()) {
        // Clause S3 allows a host wait in place of the edge, which cannot be made from this thread.
        return match stream.is_per_thread_default() {
            true => stream.work_context()?.synchronize(),
            false => super::synchronize(stream),
        };
    }
    let mark = Mark::new(stream);
    let mut ended = Ok(());
    for (index, (data_of_one, access)) in data.clone().enumerate() {
        if !data.clone().take(index).any(|(earlier, _)| has_same_home(earlier, data_of_one)) {
            ended = ended.and(data_of_one.after(&mark, access));
        }
    }
    if ended.is_err() {
        // A failure here repeats `ended`, or says that the stream captures, in which case none of its work runs.
        let _ = super::synchronize(stream);
    }
    ended
}

/// Whether an edge to the home stream of `one` is an edge to that of `other`.
fn has_same_home(one: &SyncState, other: &SyncState) -> bool {
    match (&one.home, &other.home) {
        // For a per-thread default stream, each piece of data has to record the thread.
        (Some(first), Some(second))
            if one.event.is_none() && other.event.is_none() && !first.is_per_thread_default() =>
        {
            lane::is_same(first, second).unwrap_or(false)
        }
        _ => false,
    }
}

impl Drop for SyncGuard {
    fn drop(&mut self) {
        let finished = self.finish();
        self.stream.driver().dropped(finished);
    }
}
