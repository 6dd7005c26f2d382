//! Events: names for points of streams.
//!
//! Recording an event makes it mean the recording operation, whatever it meant before; whoever waits for it waits for
//! what it meant at the time of that call. The time is taken when the recording operation is *executed*.

use crate::schedule::Point;
use cuarray_abi::*;

/// One event.
pub(crate) struct Event {
    pub context: CUcontext,
    pub flags: u32,
    /// The operation that recorded it last.
    pub recorded: Option<Point>,
    /// When that operation was executed, in nanoseconds since the driver started.
    pub time: Option<u64>,
}

impl Event {
    pub(crate) fn timed(&self) -> bool {
        self.flags & CU_EVENT_DISABLE_TIMING == 0
    }
}
