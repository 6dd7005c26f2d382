//! Which work waits for which: the only file that decides.
//!
//! A stream's work runs in order; two streams' work does not, unless something says so. There are two ways to say it. A
//! *host wait* stops the calling thread until a stream is done. An *edge* stops nobody: an event is recorded where the
//! first stream's work ends, and the second stream waits for it before what is enqueued there next. Neither is ever made
//! where it is not needed: between a stream and itself there is nothing to order.

use crate::{
    Result,
    driver::{Context, Stream},
};

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
    let context: Context = match first.context()? {
        Some(context) => context,
        None => first.driver().default_context()?,
    };
    let event = context.event_pool().take()?;
    event.record(first)?;
    then.wait(&event)
}

/// Runs `work` in `stream` on data that `home` is the stream of: after what `home` holds now, and before what it gets next.
///
/// The backward edge is made also where `work` fails, for part of it may have been enqueued.
pub fn visit<T>(home: Option<&Stream>, stream: &Stream, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(home) = home else { return work() };
    edge(home, stream)?;
    let done = work();
    let back = edge(stream, home);
    let done = done?;
    back?;
    Ok(done)
}
