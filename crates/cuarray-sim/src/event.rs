//! Events: names for points of streams.
//!
//! Recording an event makes it mean the recording operation, whatever it meant before; whoever waits for it waits for
//! what it meant at the time of that call. The time is taken when the recording operation is *executed*.

use crate::capture::Captured;
use crate::schedule::Point;
use cuarray_abi::*;
use cuarray_races::Clock;

/// One event.
pub(crate) struct Event {
    pub context: CUcontext,
    pub flags: u32,
    /// The operation that recorded it last.
    pub recorded: Option<Point>,
    /// What it means instead, if it was last recorded in a stream that captured.
    pub captured: Option<Captured>,
    /// When that operation was executed, in nanoseconds since the driver started.
    pub time: Option<u64>,
    /// What that operation knows: whoever waits for the event knows it too.
    pub clock: Option<Clock>,
}

impl Event {
    /// Makes it mean an operation that is about to be enqueued.
    pub(crate) fn meet(&mut self, point: Option<Point>) {
        (self.recorded, self.captured, self.time, self.clock) = (point, None, None, None);
    }

    pub(crate) fn timed(&self) -> bool {
        self.flags & CU_EVENT_DISABLE_TIMING == 0
    }
}
