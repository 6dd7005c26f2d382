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
mod state;

pub(crate) use capture::of as capture_of;
#[cfg(feature = "python")]
pub(crate) use capture::of_legacy as may_wait_in_no_stream;
pub(crate) use guard::{Begun, NotEnded, SyncGuard, begin, end, end_later};
pub(crate) use memory::Memory;
pub(crate) use pending::Pending;
pub(crate) use release::{Deferred, Resource};
pub(crate) use state::{EventOf, Home, SyncState};

use crate::{Result, driver::Stream};
use mark::Mark;

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

/// Checks that the host can wait for the stream: it does not capture.
pub(crate) fn may_wait(stream: &Stream) -> Result<()> {
    match capture::of(stream)? {
        None => Ok(()),
        Some(_) => Err(capture::cannot_wait(stream)),
    }
}
