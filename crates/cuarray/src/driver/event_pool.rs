//! [`EventPool`]: events that are used for a moment and used again.
//!
//! Ordering one stream after another takes an event for the time of two calls: recorded on the one, waited for on the
//! other, done with. The driver allows that, for a wait keeps what the event stood for when it was asked. Making and
//! destroying an event each time would cost more than the ordering, so each context keeps some. They are made without
//! timing, which makes them cheaper to record. What is kept is bounded: a burst is served, and then destroyed.

use super::{Context, Event, lock};
use crate::Result;
use cuarray_abi::CUevent;
use std::{fmt, mem, ops::Deref, sync::Mutex};

/// How many idle events a context keeps: an exchange of arrays needs one per stream that it joins, and few need more
/// than this.
const CAPACITY: usize = 64;

/// A context's pool of events without timing; from [`Context::event_pool`].
///
/// ```
/// # use cuarray::{Driver, driver::Stream};
/// # fn work(driver: &Driver) -> cuarray::Result<()> {
/// let context = driver.device(0)?.primary_context()?;
/// let (producer, consumer) = (Stream::new(&context)?, Stream::new(&context)?);
/// let event = context.event_pool().take()?;
/// event.record(&producer)?;
/// consumer.wait(&event)?;
/// drop(event); // back in the pool; the wait stands
/// assert_eq!(context.event_pool().idle(), 1);
/// # Ok(()) }
/// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
/// # let _entered = sim.enter();
/// # // SAFETY: the simulator is a driver.
/// # work(&unsafe { Driver::from_api(sim.api()) }?)?;
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EventPool<'a> {
    context: &'a Context,
}

impl Context {
    /// The context's pool of events, shared by all who hold the context.
    pub fn event_pool(&self) -> EventPool<'_> {
        EventPool { context: self }
    }
}

impl EventPool<'_> {
    /// An event from the pool, or a new one. It goes back when it is dropped.
    pub fn take(&self) -> Result<PooledEvent> {
        let event = match self.context.free_events().take() {
            Some(raw) => Event::pooled(self.context, raw),
            None => Event::new(self.context, false)?.into_pooled(),
        };
        Ok(PooledEvent(event))
    }

    /// How many events lie in the pool.
    pub fn idle(&self) -> usize {
        self.context.free_events().len()
    }
}

/// An [`Event`] that goes back to its pool when it is dropped.
pub struct PooledEvent(Event);

impl Deref for PooledEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.0
    }
}

impl fmt::Debug for PooledEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The idle events' handles. They are owned here: the context's state destroys them when it goes.
#[derive(Default)]
pub(super) struct FreeEvents(Mutex<Vec<CUevent>>);

impl FreeEvents {
    pub(super) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    fn take(&self) -> Option<CUevent> {
        lock(&self.0).pop()
    }

    /// Whether there was room; if not, the event is still the caller's.
    pub(super) fn put(&self, event: CUevent) -> bool {
        let mut free = lock(&self.0);
        let room = free.len() < CAPACITY;
        if room {
            free.push(event);
        }
        room
    }

    pub(super) fn drain(&self) -> Vec<CUevent> {
        mem::take(&mut lock(&self.0))
    }
}
