//! [`EventPool`]: events that are used for a moment and used again.
//!
//! Ordering one stream after another takes an event for the time of two calls: recorded on the one, waited for on the
//! other, done with. The driver allows that, for a wait keeps what the event stood for when it was asked. Making and
//! destroying an event each time would cost more than the ordering, so each context keeps some. They are made without
//! timing, which makes them cheaper to record. What is kept is bounded: a burst is served, and then destroyed.

use super::{Context, Event};
use crate::Result;
use std::{fmt, ops::Deref};

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
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// let pool = context.event_pool();
    /// assert_eq!(pool.idle(), 0);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn event_pool(&self) -> EventPool<'_> {
        EventPool { context: self }
    }
}

impl EventPool<'_> {
    /// An event from the pool, or a new one. It goes back when it is dropped.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// let event = context.event_pool().take()?;
    /// event.record(&stream)?;
    /// event.synchronize()?;
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn take(&self) -> Result<PooledEvent> {
        let event = match self.context.idle_events().take() {
            Some(raw) => Event::pooled(self.context, raw),
            None => Event::new(self.context, false)?.into_pooled(),
        };
        Ok(PooledEvent(event))
    }

    /// How many events lie in the pool.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// let pool = context.event_pool();
    /// let (one, other) = (pool.take()?, pool.take()?);
    /// drop((one, other));
    /// assert_eq!(pool.idle(), 2);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn idle(&self) -> usize {
        self.context.idle_events().len()
    }
}

/// An [`Event`] that goes back to its pool when it is dropped.
///
/// ```
/// # use cuarray::{Driver, Stream};
/// # fn work(driver: &Driver) -> cuarray::Result<()> {
/// let context = driver.default_context()?;
/// let (stream, pool) = (Stream::new(&context)?, context.event_pool());
/// let event = pool.take()?;
/// event.record(&stream)?;
/// event.synchronize()?;
/// drop(event); // it lies in the pool, for whoever takes one next
/// assert_eq!(pool.idle(), 1);
/// # Ok(()) }
/// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
/// # let _entered = sim.enter();
/// # // SAFETY: the simulator is a driver.
/// # work(&unsafe { Driver::from_api(sim.api()) }?)?;
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
