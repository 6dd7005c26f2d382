//! [`EventPool`]: events for short use, which are reused.
//!
//! An edge between two streams needs an event for two calls: a record in one stream, and a wait in the other. The
//! event can be reused at once, because the driver's wait refers to the record that preceded it. Creating and
//! destroying an event for each edge would cost more than the edge, so each context keeps some events. They have no
//! timing, which makes them cheaper to record. The pool is bounded: events beyond its capacity are destroyed.

use super::{Context, Event};
use crate::Result;
use std::{fmt, ops::Deref};

/// A context's pool of events without timing; from [`Context::event_pool`].
#[derive(Clone, Copy, Debug)]
pub struct EventPool<'a> {
    context: &'a Context,
}

impl Context {
    /// The context's pool of events, shared by all objects of the context.
    pub(crate) fn event_pool(&self) -> EventPool<'_> {
        EventPool { context: self }
    }
}

impl EventPool<'_> {
    /// Takes an event from the pool, or creates one. The event returns to the pool when dropped.
    pub fn take(&self) -> Result<PooledEvent> {
        let event = match self.context.idle_events().take() {
            Some(raw) => Event::pooled(self.context, raw),
            None => Event::new(self.context, false)?.into_pooled(),
        };
        Ok(PooledEvent(event))
    }

    /// The number of events in the pool.
    #[cfg(test)]
    pub fn idle(&self) -> usize {
        self.context.idle_events().len()
    }
}

/// An [`Event`] that returns to its pool when dropped.
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
