//! [`Lane`]: which stream some work was in, known also when the stream is gone.

use crate::{
    Result,
    driver::{CUcontext, Stream},
};
use std::thread::{self, ThreadId};

/// A stream's identity. A handle is none: it may come again when its stream is destroyed, the default streams' mean another
/// stream in each context, and that of the per-thread default stream one in each thread as well.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lane {
    Legacy(CUcontext),
    PerThread(CUcontext, ThreadId),
    Numbered(u64),
    /// The driver numbers no streams, so this may be any.
    Unknown,
}

impl Lane {
    pub(super) fn of(stream: &Stream) -> Result<Lane> {
        Ok(match stream.handle() {
            1 => Lane::Legacy(stream.work_context()?.raw()),
            2 => Lane::PerThread(stream.work_context()?.raw(), thread::current().id()),
            _ => stream.id()?.map_or(Lane::Unknown, Lane::Numbered),
        })
    }

    /// Whether both are certainly the same stream.
    pub(super) fn is(&self, other: &Lane) -> bool {
        match (self, other) {
            (Lane::Legacy(one), Lane::Legacy(two)) => one == two,
            (Lane::PerThread(one, thread), Lane::PerThread(two, other)) => one == two && thread == other,
            (Lane::Numbered(one), Lane::Numbered(two)) => one == two,
            _ => false,
        }
    }
}

/// Whether two streams, both alive, are one.
pub(super) fn is_same(first: &Stream, second: &Stream) -> Result<bool> {
    if first.handle() != second.handle() {
        return Ok(false);
    }
    Ok(first.handle() > 2 || first.work_context()? == second.work_context()?)
}

/// Whether the driver itself lets work in `then` wait for what is in `first`: it does between the legacy default stream and
/// every blocking stream of its context. (It does so the other way round as well, but only when the legacy default stream is
/// given work; a consumer that does nothing but synchronize with it is not covered by the manual's words.)
///
/// Driver API: [default streams](https://docs.nvidia.com/cuda/cuda-driver-api/stream-sync-behavior.html).
pub(super) fn is_ordered(first: &Stream, then: &Stream) -> Result<bool> {
    Ok(first.handle() == 1 && first.work_context()? == then.work_context()? && then.is_blocking()?)
}
