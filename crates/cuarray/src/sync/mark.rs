//! [`Mark`]: the end of a stream's work; all streams that wait for it share one event.

use super::{
    capture::{self, KnownCapture},
    lane,
};
use crate::{
    Error, Result,
    driver::{Event, PooledEvent, Stream},
};
use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

/// The end of a stream's work. Its event is recorded at the first wait, and never if there is none.
pub(super) struct Mark<'a> {
    stream: &'a Stream,
    capture: Cell<KnownCapture>,
    event: RefCell<Option<Recorded>>,
}

/// The recorded event. It moves into an `Arc` only when a caller keeps it. Most events are used once, so most exchanges of
/// arrays allocate nothing.
enum Recorded {
    Alone(PooledEvent),
    Shared(Arc<PooledEvent>),
}

impl Recorded {
    fn event(&self) -> &PooledEvent {
        match self {
            Recorded::Alone(event) => event,
            Recorded::Shared(event) => event,
        }
    }

    fn share(self) -> Arc<PooledEvent> {
        match self {
            Recorded::Alone(event) => Arc::new(event),
            Recorded::Shared(event) => event,
        }
    }
}

impl<'a> Mark<'a> {
    pub(super) fn new(stream: &'a Stream) -> Mark<'a> {
        Mark { stream, capture: Cell::default(), event: RefCell::new(None) }
    }

    /// A mark of a stream that is known to take part in the capture `capture`, or in none.
    pub(super) fn in_capture(stream: &'a Stream, capture: Option<u64>) -> Mark<'a> {
        Mark { capture: Cell::new(capture.into()), ..Mark::new(stream) }
    }

    pub(super) fn stream(&self) -> &'a Stream {
        self.stream
    }

    /// The capture that the stream takes part in, if the driver has been asked.
    pub(super) fn known_capture(&self) -> KnownCapture {
        self.capture.get()
    }

    /// The capture that the stream takes part in; the driver is asked once.
    pub(super) fn capture(&self) -> Result<Option<u64>> {
        let capture = self.capture.get().or_ask(self.stream)?;
        self.capture.set(capture.into());
        Ok(capture)
    }

    /// The recorded event, for a caller that keeps it.
    pub(super) fn event(&self) -> Result<Arc<PooledEvent>> {
        let shared = self.recorded()?.share();
        *self.event.borrow_mut() = Some(Recorded::Shared(shared.clone()));
        Ok(shared)
    }

    /// Takes the event out, and records it first if necessary.
    fn recorded(&self) -> Result<Recorded> {
        if let Some(recorded) = self.event.borrow_mut().take() {
            return Ok(recorded);
        }
        let event = self.stream.work_context()?.event_pool().take()?;
        event.record(self.stream)?;
        Ok(Recorded::Alone(event))
    }

    /// Orders later work in `then` after the mark, unless it is ordered already.
    pub(super) fn wait_in(&self, then: &Stream) -> Result<()> {
        self.wait_at(&Mark::new(then))
    }

    /// As [`Mark::wait_in`]. Also makes a host wait for `then` wait for the mark. The driver orders work in a blocking stream after the
    /// legacy default stream, but not a host wait for a blocking stream without work.
    pub(super) fn wait_in_for_host(&self, then: &Stream) -> Result<()> {
        self.wait(&Mark::new(then), false)
    }

    /// As [`Mark::wait_in`], for the stream of another mark, which remembers the stream's capture.
    pub(super) fn wait_at(&self, then: &Mark<'_>) -> Result<()> {
        self.wait(then, true)
    }

    fn wait(&self, then: &Mark<'_>, work_only: bool) -> Result<()> {
        if lane::is_same(self.stream, then.stream)? {
            return Ok(());
        }
        // This is usually the context of `then` too. Pushing it here saves a push in each call below.
        let context = self.stream.work_context()?;
        let _current = context.push()?;
        capture::agree((self.stream, self.capture()?), (then.stream, then.capture()?))?;
        let then = then.stream;
        if work_only && lane::is_ordered(self.stream, then)? {
            return Ok(());
        }
        let recorded = self.recorded()?;
        let waited = then.wait(recorded.event());
        *self.event.borrow_mut() = Some(recorded);
        waited
    }
}

/// Orders later work in `then` after another library's event, which was recorded after the work in `home`.
///
/// The driver does not say whether an event was recorded in a capture. So a capturing stream waits for it only if `home` takes
/// part in the same capture.
pub(super) fn wait_for(event: &Event, home: Option<&Stream>, then: &Mark<'_>) -> Result<()> {
    let (then, capture) = (then.stream, || then.capture());
    if let Some(home) = home
        && lane::is_same(home, then)?
    {
        return Ok(());
    }
    let capture = capture()?;
    match home {
        Some(home) => capture::agree((home, capture::of(home)?), (then, capture))?,
        None if capture.is_some() => {
            return Err(Error::unsupported(
                "the event was recorded in an unknown stream, and a stream that is capturing a graph cannot wait for it; wait \
                 for the event before the capture begins (the capture is unchanged)",
            ));
        }
        None => {}
    }
    then.wait(event)
}
