//! [`Deferred`]: a resource of a context whose release is deferred until the work that uses it is done, without a wait.
//!
//! Memory is one such resource. A module is another, because kernels run its code. Either may be dropped in any thread, at any time. The
//! driver call that releases it may fail there, or wait for unrelated work; [`Memory`](super::Memory) has the details.

use super::{Access, Mark, Pending, capture, pending::Homes};
use crate::{
    Error, Result,
    driver::{CUresult, Context, DeferredRelease, Driver, Stream},
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
        // Before the attempt, which may defer this release.
        release.resource.context().driver().reclaim_some();
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
            Err(error) => {
                driver.dropped(Err(error));
                if !self.resource.is_gone() {
                    self.attempt_after_error(&driver, wait);
                }
            }
        }
    }

    /// Releases the resource after a wait for the context: a stream is broken or destroyed, or the driver cannot record an event.
    /// Does not wait during a drop, because that would invalidate captures.
    #[cold]
    fn attempt_after_error(self, driver: &Driver, wait: bool) {
        if !wait {
            return driver.defer(Box::new(self));
        }
        match wait_for_context(self.resource.context()) {
            true => drop(self),
            false => driver.defer(Box::new(self)),
        }
    }

    /// Releases the resource if its work is done. Returns whether it did.
    fn try_release(&mut self, wait: bool) -> Result<bool> {
        match self.pending.record_homes()? {
            Homes::Idle => {}
            Homes::Busy if wait => {}
            Homes::Busy | Homes::Capturing => return Ok(false),
        }
        let legacy = Stream::legacy_default(self.resource.context());
        capture::of(&legacy)?;
        if wait {
            self.pending.synchronize(Access::Write)?;
            // Work without a stream is not in the list: a call that failed may have left some.
            if !legacy.is_done()? {
                super::synchronize(&legacy)?;
            }
        } else if !self.pending.is_done()? || !legacy.is_done()? {
            return Ok(false);
        }
        let driver = self.resource.context().driver().clone();
        let _relaxed = driver.relaxed()?;
        match self.resource.release() {
            Err(error) if is_for_later(&error) => Err(error),
            // The work is done, so the drop of the resource may try again.
            released => {
                driver.dropped(released);
                Ok(true)
            }
        }
    }
}

impl<R: Resource> DeferredRelease for Release<R> {
    fn attempt(self: Box<Self>, wait: bool) {
        Release::attempt(*self, wait);
    }
}

/// Waits for all work in a context, after a wait for a stream or an event has failed. Returns `false` if work may still run.
pub(super) fn wait_for_context(context: &Context) -> bool {
    let Err(error) = context.synchronize() else { return true };
    // The context is gone, or one of its kernels has failed.
    matches!(
        error.driver_code(),
        Some(
            CUresult::CUDA_ERROR_DEINITIALIZED
                | CUresult::CUDA_ERROR_INVALID_CONTEXT
                | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
                | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
                | CUresult::CUDA_ERROR_LAUNCH_FAILED
                | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
                | CUresult::CUDA_ERROR_ASSERT
                | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
                | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
                | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
                | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
                | CUresult::CUDA_ERROR_INVALID_PC
                | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
        )
    )
}

/// Whether a later attempt can succeed: host functions permit no driver call, and captures forbid some.
pub(super) fn is_for_later(error: &Error) -> bool {
    error.is_unsupported() || error.driver_code() == Some(CUresult::CUDA_ERROR_NOT_PERMITTED)
}
