//! [`SyncGuard`]: work in one stream on the data of several arrays, from the edges before it to the edges after it.

use super::{Access, SyncState, lane, mark::Mark};
use crate::{Result, driver::Stream};
use smallvec::SmallVec;
use std::thread::{self, ThreadId};

/// The right to work on data in a stream: what is enqueued there while this lives comes after what was there before, and
/// before what comes next.
///
/// It ends when it is dropped; [`SyncGuard::end`] does the same and says what went wrong. The host never waits, but for one case:
/// a guard that involves a per-thread default stream and ends in another thread, where that stream cannot be named.
///
/// ```
/// # use cuarray::{Driver, Stream, sync::{Access, SyncGuard, SyncState, Pending}};
/// # use std::sync::Arc;
/// # cuarray::__simulated!(driver);
/// let context = driver.default_context()?;
/// let (producer, consumer) = (Stream::new(&context)?, Stream::new(&context)?);
/// let data = SyncState::new(Some(producer.clone()), Arc::new(Pending::default()));
/// let guard = SyncGuard::begin([(data, Access::Read)], &consumer)?; // the consumer waits for the producer
/// // ... enqueue kernels in `consumer` ...
/// guard.end()?; // the producer waits for the consumer
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a guard that is dropped at once orders nothing"]
pub struct SyncGuard {
    data: SmallVec<[(SyncState, Access); 2]>,
    stream: Stream,
    /// Where a per-thread default stream is involved: the thread that means it.
    thread: Option<ThreadId>,
    ended: bool,
}

impl SyncGuard {
    /// Lets what is enqueued in `stream` from now on wait for what it has to, of the data of several arrays.
    ///
    /// # Errors
    /// [`Error::is_unsupported`](crate::Error::is_unsupported) where a stream captures and another does not take part: the
    /// capture is not harmed. Whatever the driver refuses.
    pub fn begin(data: impl IntoIterator<Item = (SyncState, Access)>, stream: &Stream) -> Result<SyncGuard> {
        let data: SmallVec<[(SyncState, Access); 2]> = data.into_iter().collect();
        let thread = begin(each(&data), stream)?;
        Ok(SyncGuard { data, stream: stream.clone(), thread, ended: false })
    }

    /// The stream that the work goes to.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Lets what comes next on the data wait for what is in the stream now.
    ///
    /// # Errors
    /// As [`SyncGuard::begin`]. What can be ordered is ordered also where something else cannot; for that, the host has waited.
    pub fn end(mut self) -> Result<()> {
        self.finish()
    }

    /// Waits on the host until the work is done, after which nothing has to wait for it: the other way that clause S3 gives.
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

/// The first half of a [`SyncGuard`], for whoever holds the data: what is enqueued in `stream` from now on waits for what it has to. The
/// answer is for [`end`].
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

/// The second half: what comes next on the data waits for what is in `stream` now. Where that cannot be said to the driver, the host
/// waits for the stream, so that it is true all the same; the error is the answer.
pub(crate) fn end<'a>(
    data: impl Iterator<Item = (&'a SyncState, Access)> + Clone,
    stream: &Stream,
    thread: Option<ThreadId>,
) -> Result<()> {
    let _remembered = stream.driver().remember_current();
    if thread.is_some_and(|thread| thread != thread::current().id()) {
        // Clause S3's other way: nobody gets on before our work is done.
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
        // What this answers is no news: it says the same, or that the stream captures and its work does not run.
        let _ = super::synchronize(stream);
    }
    ended
}

/// Whether an edge to the home of the one is an edge to the home of the other.
fn has_same_home(one: &SyncState, other: &SyncState) -> bool {
    match (&one.home, &other.home) {
        // Of a per-thread default stream each piece of data remembers in which thread it was meant.
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
