//! [`Deferred`]: what belongs to a context and goes when the work that uses it is done, while nobody waits for that.
//!
//! Memory is one such thing, a module another: its kernels run from it. Both are dropped in any thread, at any time, and the
//! driver's call that gives them back may fail there, or wait for strangers. See [`Memory`](super::Memory) for what that means.

use super::{Access, Mark, Pending, capture};
use crate::{
    Error, Result,
    driver::{CUresult, Context, DeferredRelease, Stream},
};
use std::{
    fmt,
    mem::ManuallyDrop,
    sync::{Arc, Mutex, PoisonError},
};

/// What is to be given back to the driver, once. Dropping it gives it back at once.
pub(crate) trait Resource: fmt::Debug + Send + 'static {
    /// The context that it belongs to.
    fn context(&self) -> &Context;

    /// Whether there is nothing to give back, or it has been given back.
    fn is_gone(&self) -> bool;

    /// Gives it back. Nothing that uses it is pending.
    fn give_back(&mut self) -> Result<()>;
}

/// A resource and the work that is pending on it; given back when dropped, after that work and without waiting.
#[derive(Debug)]
pub(crate) struct Deferred<R: Resource>(ManuallyDrop<Release<R>>);

impl<R: Resource> Deferred<R> {
    pub(crate) fn new(resource: R) -> Deferred<R> {
        Deferred::after(resource, Arc::default())
    }

    /// Of which work is pending already, or is to be remembered by others.
    pub(crate) fn after(resource: R, pending: Arc<Pending>) -> Deferred<R> {
        Deferred(ManuallyDrop::new(Release { resource, pending, homes: Mutex::default() }))
    }

    pub(crate) fn resource(&self) -> &R {
        &self.0.resource
    }

    pub(crate) fn pending(&self) -> &Arc<Pending> {
        &self.0.pending
    }

    /// As [`Memory::add_home`](super::Memory::add_home).
    pub(crate) fn add_home(&self, home: &Stream) {
        let mut homes = self.0.homes.lock().unwrap_or_else(PoisonError::into_inner);
        if home.is_owned() && !homes.contains(home) {
            homes.push(home.clone());
        }
    }

    /// Has it given back after all that is in `stream` now; whatever comes there later may come before that or not.
    pub(crate) fn used_in(&self, stream: &Stream) -> Result<()> {
        if stream.is_owned() {
            // No event for each use: what the stream has by then is marked when it is dropped.
            self.add_home(stream);
            return Ok(());
        }
        self.0.pending.remember(&Mark::new(stream), Access::Write)
    }
}

impl<R: Resource> Drop for Deferred<R> {
    fn drop(&mut self) {
        // SAFETY: taken once, here, where `self` ends.
        unsafe { ManuallyDrop::take(&mut self.0) }.attempt(false);
    }
}

/// What nobody uses any more, but work that was enqueued before.
#[derive(Debug)]
struct Release<R: Resource> {
    resource: R,
    pending: Arc<Pending>,
    /// Streams that may have work on it, until that is among what is pending.
    homes: Mutex<Vec<Stream>>,
}

impl<R: Resource> Release<R> {
    /// Gives it back, unless `wait` is set without waiting; what cannot go now is put by.
    fn attempt(mut self, wait: bool) {
        if self.resource.is_gone() {
            return;
        }
        let driver = self.resource.context().driver().clone();
        match self.give_back(wait) {
            Ok(true) => {}
            Ok(false) => driver.defer(Box::new(self)),
            Err(error) if is_for_later(&error) => driver.defer(Box::new(self)),
            // The streams are broken or gone. The resource's own drop waits for what is left of the work, if anything is.
            Err(error) => driver.dropped(Err(error)),
        }
    }

    /// Whether it is done.
    fn give_back(&mut self, wait: bool) -> Result<bool> {
        let homes = self.homes.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut busy = false;
        while let Some(home) = homes.last() {
            // An event would not be done yet, even where there is nothing in front of it.
            if capture::of(home)?.is_some() || !home.is_done()? {
                self.pending.remember(&Mark::new(home), Access::Write)?;
                busy = true;
            }
            homes.pop();
        }
        if busy && !wait {
            return Ok(false);
        }
        let others = Stream::legacy_default(self.resource.context());
        capture::of(&others)?;
        if wait {
            self.pending.synchronize(Access::Write)?;
        } else if !self.pending.is_done()? || !others.is_done()? {
            return Ok(false);
        }
        let driver = self.resource.context().driver().clone();
        let _relaxed = driver.relaxed();
        self.resource.give_back()?;
        Ok(true)
    }
}

impl<R: Resource> DeferredRelease for Release<R> {
    fn attempt(self: Box<Self>, wait: bool) {
        Release::attempt(*self, wait);
    }
}

/// Whether something was refused that will be possible: in a host function every call is, and in a capture some.
fn is_for_later(error: &Error) -> bool {
    error.is_unsupported() || error.driver_code() == Some(CUresult::CUDA_ERROR_NOT_PERMITTED)
}
