//! [`EventPool`]: events that are used for a moment and used again.
//!
//! SyncState one stream after another takes an event for the time of two calls: recorded on the one, waited for on the
//! other, done with. The driver allows that, for a wait keeps what the event stood for when it was asked. Making and
//! destroying an event each time would cost more than the ordering, so each context keeps some. They are made without
//! timing, which makes them cheaper to record. What is kept is bounded: a burst is served, and then destroyed.

use super::{Context, Event};
use crate::Result;
use std::{fmt, ops::Deref};

/// A context's pool of events without timing; from [`Context::event_pool`].
///
/// ```
/// # use cuarray::{Driver, Stream};
/// # cuarray::__simulated!(driver);
/// let context = driver.device(0)?.primary_context()?;
/// let (producer, consumer) = (Stream::new(&context)?, Stream::new(&context)?);
/// let event = context.event_pool().take()?;
/// event.record(&producer)?;
/// consumer.wait(&event)?;
/// drop(event); // back in the pool; the wait stands
/// assert_eq!(context.event_pool().idle(), 1);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EventPool<'a> {
    context: &'a Context,
}

impl Context {
    /// The context's pool of events, shared by all who hold the context.
    #[doc(hidden)]
    pub fn event_pool(&self) -> EventPool<'_> {
        EventPool { context: self }
    }
}

impl EventPool<'_> {
    /// An event from the pool, or a new one. It goes back when it is dropped.
    pub fn take(&self) -> Result<PooledEvent> {
        let event = match self.context.idle_events().take() {
            Some(raw) => Event::pooled(self.context, raw),
            None => Event::new(self.context, false)?.into_pooled(),
        };
        Ok(PooledEvent(event))
    }

    /// How many events lie in the pool.
    pub fn idle(&self) -> usize {
        self.context.idle_events().len()
    }
}

/// An [`Event`] that goes back to its pool when it is dropped.
///
/// ```
/// # use cuarray::{Driver, Stream};
/// # cuarray::__simulated!(driver);
/// let context = driver.default_context()?;
/// let (stream, pool) = (Stream::new(&context)?, context.event_pool());
/// let event = pool.take()?;
/// event.record(&stream)?;
/// event.synchronize()?;
/// drop(event); // it lies in the pool, for whoever takes one next
/// assert_eq!(pool.idle(), 1);
/// # Ok::<(), cuarray::Error>(())
/// ```
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
