//! Streams: queues of work, each in order.
//!
//! A stream counts its operations. Operation *n* is a [`Point`] that other work can wait for; the point has happened
//! when the stream has executed *n* operations. Stream handles are never reused, and a stream is removed only when it
//! is drained. So a point of a removed stream is known to have happened.

use crate::objects::capturing::Capturing;
use crate::objects::launch_attributes::Attributes;
use crate::objects::point::Point;
use crate::objects::work::Operation;
use cuarray_abi::*;
use cuarray_races::{Lane, Past};
use std::collections::VecDeque;

/// The kind of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The context's legacy default stream: a barrier for all blocking streams of the context.
    Legacy,
    /// The per-thread default stream of a host thread.
    PerThread,
    /// The default stream of a green context, which is no barrier: streams of green contexts do not block.
    OfGreen,
    /// A stream that the program created.
    Created,
    /// A private stream: of an executable graph, for branches beside the stream of the launch, or of one call for a context.
    Lane,
}

impl Kind {
    /// Whether a null handle names the stream in all threads.
    pub(crate) fn is_default(self) -> bool {
        matches!(self, Kind::Legacy | Kind::OfGreen)
    }
}

/// One stream.
pub(crate) struct Stream {
    /// The context that owns the stream: for a green context, the primary one.
    pub context: CUcontext,
    pub green: Option<CUgreenCtx>,
    pub kind: Kind,
    pub flags: u32,
    pub priority: i32,
    /// The attributes of `cuStreamSetAttribute` besides the priority.
    pub attributes: Attributes,
    /// `cuStreamGetId`.
    pub id: u64,
    pub queue: VecDeque<Operation>,
    /// The number of operations ever enqueued, and the number executed.
    pub enqueued: u64,
    pub executed: u64,
    /// Whether a thread is executing, without the lock, the operation that left the queue last.
    pub running: bool,
    /// The last operation of the legacy default stream that this stream's work is ordered after.
    pub legacy_seen: u64,
    /// The number of the last point of its context that the stream's work follows.
    pub awaited: u64,
    /// Whether the stream is in its context's list of unordered streams.
    pub unordered: bool,
    /// Whether `cuStreamDestroy` was called; the stream is then removed when drained.
    pub destroyed: bool,
    /// The number of the last host function enqueued.
    pub last_host_function: u64,
    /// The number of the last launch enqueued whose writes the host may poll.
    pub last_polled_launch: u64,
    /// The stream's part in a capture. Its work is then captured instead of executed.
    pub capturing: Option<Capturing>,
    /// The clock of the stream's work, created on first use.
    pub lane: Option<Lane>,
    /// If the last operation is a launch: what happens before it. A dependent launch that comes next follows only this.
    pub past: Option<Past>,
    /// If the next operation is a launch with programmatic edges in a graph: the work that it follows before it waits.
    pub early: Option<Past>,
}

impl Stream {
    pub(crate) fn new(context: CUcontext, kind: Kind, flags: u32, priority: i32) -> Stream {
        Stream {
            context,
            green: None,
            kind,
            flags,
            priority,
            attributes: Attributes::new(),
            id: crate::handle::fresh() as u64,
            queue: VecDeque::new(),
            enqueued: 0,
            executed: 0,
            running: false,
            legacy_seen: 0,
            awaited: 0,
            unordered: false,
            destroyed: false,
            last_host_function: 0,
            last_polled_launch: 0,
            capturing: None,
            lane: None,
            past: None,
            early: None,
        }
    }

    /// Whether the stream and the legacy default stream wait for each other.
    pub(crate) fn blocking(&self) -> bool {
        self.kind != Kind::Legacy && self.flags & CU_STREAM_NON_BLOCKING == 0
    }

    /// The number of operations that have not been executed.
    pub(crate) fn pending(&self) -> u64 {
        self.enqueued - self.executed
    }

    /// The last pending operation that has to run although the program makes no further call; 0 if there is none.
    pub(crate) fn needs_progress_to(&self) -> u64 {
        let last = self.last_host_function.max(self.last_polled_launch);
        if last > self.executed { last } else { 0 }
    }

    /// The point of the last operation; `handle` is the stream's own handle.
    pub(crate) fn last(&self, handle: CUstream) -> Point {
        Point { stream: handle, operation: self.enqueued }
    }

    /// The point of the next operation; `handle` is the stream's own handle.
    pub(crate) fn next(&self, handle: CUstream) -> Point {
        Point { stream: handle, operation: self.enqueued + 1 }
    }
}
