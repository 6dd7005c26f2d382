//! Events: names for points of streams.
//!
//! Recording an event makes it mean the recording operation. A wait waits for the meaning at the time of the wait. The
//! timestamp is taken when the recording operation is *executed*.

use crate::objects::capturing::Captured;
use crate::objects::work::Point;
use cuarray_abi::*;
use cuarray_races::Clock;

/// One event.
pub(crate) struct Event {
    pub context: CUcontext,
    pub flags: u32,
    /// The operation that recorded it last.
    pub recorded: Option<Point>,
    /// Its meaning instead of `recorded`, if it was last recorded in a capturing stream.
    pub captured: Option<Captured>,
    /// The time of execution, in nanoseconds of the devices.
    pub time: Option<u64>,
    /// The clock of that operation, which waiters join.
    pub clock: Option<Clock>,
}

impl Event {
    /// Sets the event to an operation that is about to be enqueued, or to none.
    pub(crate) fn set_point(&mut self, point: Option<Point>) {
        (self.recorded, self.captured, self.time, self.clock) = (point, None, None, None);
    }

    pub(crate) fn timed(&self) -> bool {
        self.flags & CU_EVENT_DISABLE_TIMING == 0
    }
}
