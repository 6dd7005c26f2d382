//! [`Deferred`]: a resource of a context whose release is deferred until the work that uses it is done, without a wait.
//!
//! Memory is one such resource. A module is another, because kernels run its code. Either may be dropped in any thread, at any time. The
//! driver call that releases it may fail there, or wait for unrelated work; [`Memory`](super::Memory) has the details.

use super::{Access, Mark, Pending, capture};
use crate::{
    Error, Result,
    driver::{CUresult, Context, DeferredRelease, Stream},
    interpreter,
};
use std::{fmt, mem::ManuallyDrop, sync::Arc};

/// A resource that is released to the driver once. Dropping it releases it immediately, even while work uses it.
pub(crate) trait Resource: fmt::Debug + Send + 'static {
    /// The context of the resource.
    fn context(&self) -> &Context;

    /// Whether there is nothing to release, or it has been released.
    fn is_gone(&self) -> bool;

    /// Releases the resource. No pending work uses it.
    fn release(&mut self) -> Result<()>;
}

/// A resource and the work that is pending on it. A drop releases it after that work, without a wait.
#[derive(Debug)]
pub(crate) struct Deferred<R: Resource>(ManuallyDrop<Release<R>>);

impl<R: Resource> Deferred<R> {
    pub(crate) fn new(resource: R) -> Deferred<R> {
        Deferred::after(resource, Arc::default())
    }

    /// Like `new`, with an existing list of pending work.
    pub(crate) fn after(resource: R, pending: Arc<Pending>) -> Deferred<R> {
        Deferred(ManuallyDrop::new(Release { resource, pending }))
    }

    pub(crate) fn resource(&self) -> &R {
        &self.0.resource
    }

    pub(crate) fn pending(&self) -> &Arc<Pending> {
        &self.0.pending
    }

    /// As [`Memory::add_home`](super::Memory::add_home).
    pub(crate) fn add_home(&self, home: &Stream) {
        self.0.pending.add_home(home);
    }

    /// Orders the release after all work now in `stream`.
    pub(crate) fn used_in(&self, stream: &Stream) -> Result<()> {
        if stream.is_owned() {
            // No event per use: the drop records the stream's work.
            self.add_home(stream);
            return Ok(());
        }
        self.0.pending.remember(&Mark::new(stream), Access::Write)
    }
}

impl<R: Resource> Drop for Deferred<R> {
    fn drop(&mut self) {
        // SAFETY: taken once, here, where `self` ends.
        let release = unsafe { ManuallyDrop::take(&mut self.0) };
        interpreter::detached(|| release.attempt(false));
    }
}

/// A dropped resource, whose earlier work may be pending.
#[derive(Debug)]
struct Release<R: Resource> {
    resource: R,
    pending: Arc<Pending>,
}

impl<R: Resource> Release<R> {
    /// Releases the resource, or defers its release. Waits for the work only if `wait` is set.
    fn attempt(mut self, wait: bool) {
        if self.resource.is_gone() {
            return;
        }
        let driver = self.resource.context().driver().clone();
        match self.try_release(wait) {
            Ok(true) => {}
            Ok(false) => driver.defer(Box::new(self)),
            Err(error) if is_for_later(&error) => driver.defer(Box::new(self)),
            // A stream is broken or destroyed, or the driver cannot record an event.
            Err(error) => {
                if !self.resource.is_gone() {
                    let _ = self.resource.context().synchronize();
                }
                driver.dropped(Err(error));
            }
        }
    }

    /// Releases the resource if its work is done. Returns whether it did.
    fn try_release(&mut self, wait: bool) -> Result<bool> {
        if !self.pending.record_homes()? {
            return Ok(false);
        }
        let legacy = Stream::legacy_default(self.resource.context());
        capture::of(&legacy)?;
        if wait {
            self.pending.synchronize(Access::Write)?;
        } else if !self.pending.is_done()? || !legacy.is_done()? {
            return Ok(false);
        }
        let driver = self.resource.context().driver().clone();
        let _relaxed = driver.relaxed();
        self.resource.release()?;
        Ok(true)
    }
}

impl<R: Resource> DeferredRelease for Release<R> {
    fn attempt(self: Box<Self>, wait: bool) {
        Release::attempt(*self, wait);
    }
}

/// Whether a later attempt can succeed: host functions permit no driver call, and captures forbid some.
pub(super) fn is_for_later(error: &Error) -> bool {
    error.is_unsupported() || error.driver_code() == Some(CUresult::CUDA_ERROR_NOT_PERMITTED)
}
