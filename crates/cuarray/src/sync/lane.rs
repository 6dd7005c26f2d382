//! [`Lane`]: a stream's identity, which stays valid after the stream is destroyed.

use crate::{
    Result,
    driver::{CUcontext, Stream},
};
use std::thread::{self, ThreadId};

/// A stream's identity. Handles do not identify streams: the driver reuses them, and those of the default streams mean another
/// stream in each context, or in each thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lane {
    Legacy(CUcontext),
    PerThread(CUcontext, ThreadId),
    Numbered(u64),
    /// A stream that cannot be identified, because the driver has no stream ids.
    Unknown,
}

impl Lane {
    pub(super) fn of(stream: &Stream) -> Result<Lane> {
        Ok(match stream.handle() {
            1 => Lane::Legacy(stream.work_context()?.handle()),
            2 => Lane::PerThread(stream.work_context()?.handle(), thread::current().id()),
            _ => stream.id()?.map_or(Lane::Unknown, Lane::Numbered),
        })
    }

    /// Whether both are certainly one stream.
    pub(super) fn is(&self, other: &Lane) -> bool {
        match (self, other) {
            (Lane::Legacy(one), Lane::Legacy(two)) => one == two,
            (Lane::PerThread(one, thread), Lane::PerThread(two, other)) => one == two && thread == other,
            (Lane::Numbered(one), Lane::Numbered(two)) => one == two,
            _ => false,
        }
    }
}

/// Whether two live streams are the same.
pub(super) fn is_same(first: &Stream, second: &Stream) -> Result<bool> {
    if first.handle() != second.handle() {
        return Ok(false);
    }
    Ok(first.handle() > 2 || first.work_context()? == second.work_context()?)
}

/// Whether the driver itself orders work in `then` after work in `first`. It does so from the legacy default stream to every
/// blocking stream of its context. (The opposite order exists only for work that is enqueued in the legacy default stream.
/// The manual does not promise it to a consumer that only synchronizes with that stream.)
///
/// Driver API: [default streams](https://docs.nvidia.com/cuda/cuda-driver-api/stream-sync-behavior.html).
pub(super) fn is_ordered(first: &Stream, then: &Stream) -> Result<bool> {
    Ok(first.handle() == 1 && first.work_context()? == then.work_context()? && then.is_blocking()?)
}
