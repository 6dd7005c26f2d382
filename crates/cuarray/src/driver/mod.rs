//! The CUDA driver: loaded at run time, called through a table, one function here per call there.
//!
//! **Why the driver and not the runtime.** The driver API is what every CUDA library in a process shares, whatever
//! runtime each was built with; handles and addresses of one are good for all. It is loaded, never linked: a program
//! that uses this crate starts on a machine without a GPU, and says so only when it asks for one.
//!
//! **What is safe.** An object here owns its handle or says that it borrows it; it holds its [`Context`], which holds
//! the [`Driver`], so nothing outlives what it needs. Contexts are pushed for a call and popped after it, never left
//! set: other libraries of the process keep the current context that they chose. What takes raw addresses ([`copy`], [`fill`]) is
//! `unsafe`, for no type can know whether an address is still good; and so is the launch of a kernel, for no type knows what a
//! kernel does.
//!
//! **What goes wrong.** Each result is an [`Error`] with the name that the driver's manual gives the call, and the
//! code. An entry point that the driver lacks is an error of its own, unless an older call does the same. Nothing
//! panics.
//!
//! **Drops.** A destructor cannot return an error. What belonged to a destroyed context is gone already, and once the driver has
//! gone, everything is: both are as good as success. Any other failure of a drop is kept, and [`Driver::take_drop_error`]
//! gives the first.
//!
//! **The end.** When a process exits, the driver goes, and what is dropped later makes no call: each is answered
//! `CUDA_ERROR_DEINITIALIZED` here.
//!
//! ```
//! use cuarray::{Driver, Stream, driver::Allocation};
//!
//! # cuarray::__simulated!(driver);
//! let context = driver.default_context()?; // the thread's current one, or the first device's
//! let stream = Stream::non_blocking(&context)?;
//! let memory = Allocation::device(&context, 1 << 20)?;
//! assert!(stream.is_done()? && memory.device_ptr() != 0);
//! // All of them go when they are dropped, and the thread has the context it had.
//! # Ok::<(), cuarray::Error>(())
//! ```
//!
//! Driver API: [the manual](https://docs.nvidia.com/cuda/cuda-driver-api/index.html).

mod capture;
pub(crate) mod context;
pub mod copy;
mod current;
mod deferred;
pub(crate) mod device;
pub(crate) mod event;
mod event_pool;
pub mod fill;
mod idle_events;
mod ipc;
#[cfg(feature = "python")]
mod legacy;
mod load;
pub(crate) mod loaded;
mod memory;
mod pointer;
pub(crate) mod process_end;
mod relaxed;
mod shared_pool;
pub(crate) mod stream;

#[doc(hidden)]
pub use capture::CaptureStatus;
pub(crate) use context::Context;
pub use cuarray_abi::{Api, CUcontext, CUdevice_attribute, CUresult, CUuuid};
#[doc(hidden)]
pub use current::Current;
pub(crate) use device::Device;
pub(crate) use event::Event;
#[doc(hidden)]
pub use event_pool::{EventPool, PooledEvent};
#[doc(hidden)]
pub use ipc::{IpcMemHandle, IpcMemory};
pub use memory::{Allocation, MemoryKind};
pub use pointer::{MemoryType, PointerAttributes};
pub(crate) use shared_pool::SharedPools;
pub(crate) use stream::Stream;

pub(crate) use loaded::Driver;
use loaded::Table;

use crate::{Error, Result};
pub(crate) use deferred::DeferredRelease;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Calls an entry point of a table: `call!(driver, cuMemAlloc_v2(&mut address, len))`.
///
/// `a | b (…)` calls `b` where the driver lacks `a`; the two take the same arguments. To be used inside `unsafe`.
macro_rules! call {
    ($driver:expr, $newer:ident | $older:ident ($($argument:expr),* $(,)?)) => {
        if $driver.api().$newer.is_some() {
            call!($driver, $newer($($argument),*))
        } else {
            call!($driver, $older($($argument),*))
        }
    };
    ($driver:expr, $symbol:ident ($($argument:expr),* $(,)?)) => {
        match $driver.api().$symbol {
            Some(function) => $crate::driver::check(
                const { $crate::driver::manual_name(stringify!($symbol)) },
                if $crate::driver::process_end::has_come() {
                    $crate::driver::CUresult::CUDA_ERROR_DEINITIALIZED
                } else {
                    function($($argument),*)
                },
            ),
            None => Err($crate::Error::missing_symbol(stringify!($symbol))),
        }
    };
}
pub(crate) use call;

/// The name under which the manual has a symbol: `cuMemAlloc` for `cuMemAlloc_v2`.
pub(crate) const fn manual_name(symbol: &'static str) -> &'static str {
    let bytes = symbol.as_bytes();
    match bytes {
        [name @ .., b'_', b'v', b'1'..=b'9'] => symbol.split_at(name.len()).0,
        _ => symbol,
    }
}

pub(crate) fn check(call: &'static str, code: CUresult) -> Result<()> {
    if code.is_success() { Ok(()) } else { Err(Error::driver(call, code)) }
}

/// What a query answers: done, not yet, or an error.
fn is_ready(result: Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_NOT_READY) => Ok(false),
        Err(error) => Err(error),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What [`idle_events`] is locked with.
mod sync {
    pub(super) use std::sync::{Mutex, PoisonError};
}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Driver>();
    shareable::<Device>();
    shareable::<Context>();
    shareable::<Stream>();
    shareable::<Event>();
    shareable::<PooledEvent>();
    shareable::<Allocation>();
    shareable::<IpcMemory>();
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_calls_as_the_manual_does() {
        assert_eq!(manual_name("cuMemAlloc_v2"), "cuMemAlloc");
        assert_eq!(manual_name("cuStreamWaitEvent"), "cuStreamWaitEvent");
        assert_eq!(manual_name("cuMemcpy3D_v2"), "cuMemcpy3D");
    }
}
