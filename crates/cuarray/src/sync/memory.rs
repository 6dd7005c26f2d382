//! [`Memory`]: memory that is freed when the work on it is done, while nobody waits for that.
//!
//! A destructor may run in any thread, at any time; one that frees memory too early destroys data, and one that waits stalls
//! whoever happened to drop the last reference. The driver's free may wait for everything that the device is doing, strangers'
//! work included. So memory is freed where it is dropped only if the work on it is known to be done, and the default stream
//! has none either, which stands for all streams that wait for each other. All else is *put by*, and tried again by
//! [`Driver::reclaim`](crate::Driver::reclaim): when memory is allocated, where a program synchronizes anyway, at its end; and an allocation that finds
//! no room waits for it.
//!
//! That is also what happens to memory that dies inside a host function, where the driver permits no call at all, or while a
//! capture forbids asking: nothing is lost, and the capture goes on.
//!
//! Driver API: [`cuMemFree`, `cuMemFreeHost`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).

use super::{
    Pending,
    release::{Deferred, Resource},
};
use crate::{
    Result,
    driver::{Allocation, CUresult, Context, Stream},
};
use std::sync::Arc;

/// An [`Allocation`] and the work that is pending on it; given back when dropped, after that work and without waiting.
///
/// ```
/// # use cuarray::{Driver, Stream, driver::{Allocation, fill}, sync::{Access, Memory, SyncState}};
/// # cuarray::__simulated!(driver);
/// let context = driver.default_context()?;
/// let stream = Stream::non_blocking(&context)?;
/// let memory = Memory::new(&context, || Allocation::device(&context, 4))?;
/// // SAFETY: the memory has 4 bytes.
/// unsafe { fill::fill_bytes(&context, memory.allocation().device_ptr(), &[7], 4, Some(&stream))? };
/// SyncState::new(None, memory.pending().clone()).record(&stream, Access::Write)?;
/// drop(memory); // freed after the fill, which nobody waits for
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Debug)]
pub struct Memory(Deferred<Allocation>);

impl Memory {
    /// What `allocate` gives. What was put by is given back first; where there is no room, also by waiting for it.
    ///
    /// # Errors
    /// Those of `allocate`.
    pub fn new(context: &Context, allocate: impl Fn() -> Result<Allocation>) -> Result<Memory> {
        let driver = context.driver();
        let _relaxed = driver.relaxed();
        driver.reclaim(false);
        let allocation = match allocate() {
            Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY) && driver.reclaim(true) => {
                allocate()
            }
            allocated => allocated,
        }?;
        Ok(Memory(Deferred::new(allocation)))
    }

    /// The memory itself.
    pub fn allocation(&self) -> &Allocation {
        self.0.resource()
    }

    /// The work that is pending on the memory, to be shared by all arrays over it.
    pub fn pending(&self) -> &Arc<Pending> {
        self.0.pending()
    }

    /// Has the memory freed after the work in `home` as well, whatever that is when the memory is dropped.
    ///
    /// Only a stream that is [ours](Stream::is_owned) is kept for that long. Somebody else's may be gone by then, and to ask a
    /// stream that is gone is undefined: of those, the work itself has to be [recorded](super::SyncState::record).
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

    fn give_back(&mut self) -> Result<()> {
        self.free()
    }
}
