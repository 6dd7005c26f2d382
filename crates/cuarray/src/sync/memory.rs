//! [`Memory`]: memory whose release is deferred until the work on it is done, without a wait.
//!
//! A destructor may run in any thread, at any time. Freeing memory too early destroys data. Waiting stalls
//! the thread that drops the last reference. The driver's free may even wait for all work on the device. So a drop
//! frees memory only if the work on it is known to be done, and the legacy default stream, which stands for all blocking
//! streams, is idle. Every other release is *deferred*. [`Driver::reclaim`](crate::Driver::reclaim) retries deferred releases
//! when memory is allocated, when the program synchronizes, and at its end. An allocation that runs out of memory waits for them.
//!
//! A release is also deferred if the memory is dropped inside a host function, where the driver permits no call, or while a
//! capture forbids the query. No memory is lost, and the capture stays intact.
//!
//! Driver API: [`cuMemFree`, `cuMemFreeHost`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).

use super::{
    Access, Mark, Pending, capture,
    release::{Deferred, Resource, wait_for_context},
};
use crate::{
    Result,
    driver::{Allocation, CUresult, Context, Stream, never_release},
};
use std::sync::Arc;

/// An [`Allocation`] and the work that is pending on it. A drop frees it after that work, without a wait.
#[derive(Debug)]
pub struct Memory(Deferred<Allocation>);

impl Memory {
    /// Allocates memory by calling `allocate`. Retries deferred releases first, and waits for them if memory runs out.
    ///
    /// # Errors
    /// Errors of `allocate`.
    pub fn new(context: &Context, allocate: impl Fn() -> Result<Allocation>) -> Result<Memory> {
        let driver = context.driver();
        let _relaxed = driver.relaxed()?;
        driver.reclaim(false);
        let allocation = match allocate() {
            Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY) && driver.reclaim(true) => {
                allocate()
            }
            allocated => allocated,
        }?;
        let memory = Memory(Deferred::new(allocation));
        // The allocation is its stream's first work on the memory: other streams have to wait for it.
        match memory.allocation().stream() {
            Some(stream) if stream.is_owned() => memory.add_home(stream),
            Some(stream) => memory.pending().remember(&Mark::new(stream), Access::Write)?,
            None => {}
        }
        Ok(memory)
    }

    /// Frees temporary memory after the work that uses it: that now in `stream`, or in the legacy default stream. Does not wait.
    ///
    /// # Errors
    /// Errors of the driver. The memory is never freed under work.
    #[cfg(feature = "python")]
    pub(crate) fn free_later(mut allocation: Allocation, stream: Option<&Stream>) -> Result<()> {
        if allocation.stream().is_some() {
            return allocation.free();
        }
        let memory = Memory(Deferred::new(allocation));
        let Some(stream) = stream else { return Ok(()) };
        memory.0.used_in(stream).inspect_err(|_| memory.free_without_record(stream))
    }

    /// Enqueues `work`, which uses the memory in `stream`, and records its end in [`Memory::pending`]. After an error the memory is freed
    /// after the work.
    ///
    /// # Errors
    /// Unsupported: the stream captures a graph, which would use the memory at each launch. Those of `work`, and of the driver.
    pub(crate) fn used_by(self, stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<Memory> {
        let end = Mark::new(stream);
        if end.capture()?.is_some() {
            return Err(capture::cannot_wait(stream));
        }
        let done = work();
        match self.pending().remember(&end, Access::Write) {
            Ok(()) => done.map(|()| self),
            Err(error) => {
                self.free_without_record(stream);
                done.and(Err(error))
            }
        }
    }

    /// Frees memory after a wait, because no event records its work.
    #[cold]
    fn free_without_record(self, stream: &Stream) {
        if super::synchronize(stream).is_err() && !wait_for_context(self.allocation().context()) {
            never_release(Box::new(self));
        }
    }

    /// The allocation.
    pub fn allocation(&self) -> &Allocation {
        self.0.resource()
    }

    /// The work that is pending on the memory. All arrays over the memory share it.
    pub fn pending(&self) -> &Arc<Pending> {
        self.0.pending()
    }

    /// Orders the release after the work that `home` has when the memory is dropped.
    ///
    /// Only a stream that [is owned](Stream::is_owned) is kept for that long. Another library may have destroyed its stream by then,
    /// and a query of a destroyed stream is undefined. [Record](super::SyncState::record) the work in such a stream instead.
    pub fn add_home(&self, home: &Stream) {
        self.0.add_home(home);
    }
}

impl Resource for Allocation {
    fn context(&self) -> &Context {
        Allocation::context(self)
    }

    fn is_gone(&self) -> bool {
        self.is_null()
    }

    fn release(&mut self) -> Result<()> {
        self.free()
    }
}
