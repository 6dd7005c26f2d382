//! Events: names for points of streams.
//!
//! Recording an event makes it mean the recording operation. A wait waits for the meaning at the time of the wait. The
//! timestamp is taken when the recording operation is *executed*.

use crate::objects::capturing::Captured;
use crate::objects::point::Point;
use crate::pages::shared_event::SharedEvent;
use cuarray_abi::*;
use cuarray_races::Clock;
use std::sync::Arc;

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
    /// For `CU_EVENT_INTERPROCESS`: the records of all processes, and the generation of the last record by this handle.
    pub shared: Option<Arc<SharedEvent>>,
    pub generation: u64,
    /// Whether another process created the event.
    pub imported: bool,
}

/// A record of a shared event that another handle or another process has made.
#[derive(Clone)]
pub(crate) struct Remote {
    pub event: Arc<SharedEvent>,
    pub generation: u64,
}

impl Remote {
    pub(crate) fn is_done(&self) -> bool {
        self.event.is_done(self.generation)
    }
}

/// A record of a shared event by this process that has not happened yet.
pub(crate) struct Published {
    pub event: Arc<SharedEvent>,
    pub generation: u64,
    pub point: Point,
}

impl Event {
    /// An event without records by this handle.
    pub(crate) fn new(context: CUcontext, flags: u32, shared: Option<SharedEvent>) -> Event {
        Event {
            context,
            flags,
            recorded: None,
            captured: None,
            time: None,
            clock: None,
            shared: shared.map(Arc::new),
            generation: 0,
            imported: false,
        }
    }

    /// Sets the event to an operation that is about to be enqueued, or to none.
    pub(crate) fn set_point(&mut self, point: Option<Point>) {
        (self.recorded, self.captured, self.time, self.clock) = (point, None, None, None);
    }

    /// The latest record, if this handle did not make it.
    pub(crate) fn remote(&self) -> Option<Remote> {
        let event = self.shared.as_ref()?;
        let generation = event.latest();
        (generation != self.generation).then(|| Remote { event: event.clone(), generation })
    }

    pub(crate) fn timed(&self) -> bool {
        self.flags & CU_EVENT_DISABLE_TIMING == 0
    }
}
