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
mod context;
pub mod copy;
mod current;
mod deferred;
mod device;
mod event;
mod event_pool;
pub mod fill;
mod idle_events;
mod ipc;
#[cfg(feature = "python")]
mod legacy;
mod load;
mod memory;
mod pointer;
pub(crate) mod process_end;
mod relaxed;
mod shared_pool;
mod stream;

pub use capture::CaptureStatus;
pub use context::Context;
pub use cuarray_abi::{Api, CUcontext, CUdevice_attribute, CUresult, CUuuid};
pub use current::Current;
pub use device::Device;
pub use event::Event;
pub use event_pool::{EventPool, PooledEvent};
pub use ipc::{IpcMemHandle, IpcMemory};
pub use memory::{Allocation, MemoryKind};
pub use pointer::{MemoryType, PointerAttributes};
pub(crate) use shared_pool::SharedPools;
pub use stream::Stream;

use crate::{Error, Result};
use context::ContextState;
pub(crate) use deferred::DeferredRelease;
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

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

/// A loaded driver. A clone is the same driver; it stays loaded until the process ends.
///
/// ```no_run
/// use cuarray::Driver;
///
/// let driver = Driver::load()?;
/// for device in driver.devices()? {
///     println!("{} {}", device.ordinal(), device.name()?);
/// }
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone)]
pub struct Driver(Arc<Inner>);

struct Inner {
    table: Arc<Table>,
    /// The contexts that somebody holds, so that all holders of one share its event pool and its retain count.
    contexts: Mutex<Vec<Weak<ContextState>>>,
    /// Device 0's primary context, once it has been the default.
    default: Mutex<Option<Arc<ContextState>>>,
    deferred: Mutex<Vec<Box<dyn DeferredRelease>>>,
    /// Whether releases may be deferred.
    reclaimable: AtomicBool,
}

/// What a context's state needs of the driver; apart from [`Inner`], which keeps such states, so that neither keeps the
/// other for ever.
struct Table {
    api: Api,
    path: Option<PathBuf>,
    drop_error: Mutex<Option<Error>>,
    /// Somebody else's pools of events, where they are used.
    pools: OnceLock<SharedPools>,
    /// See [`Driver::address_space`].
    address_space: usize,
}

impl Table {
    fn api(&self) -> &Api {
        &self.api
    }

    /// Takes what a destructor's call answered; see the [module](self).
    fn dropped(&self, result: Result<()>) {
        let Err(error) = result else { return };
        let gone = matches!(
            error.driver_code(),
            Some(
                CUresult::CUDA_ERROR_DEINITIALIZED
                    | CUresult::CUDA_ERROR_NOT_INITIALIZED
                    | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
                    | CUresult::CUDA_ERROR_INVALID_CONTEXT
            )
        );
        if !gone {
            lock(&self.drop_error).get_or_insert(error);
        }
    }
}

impl Driver {
    fn new(api: Api, path: Option<PathBuf>) -> Driver {
        static MADE_FROM_TABLES: AtomicUsize = AtomicUsize::new(0);
        let address_space = if path.is_some() { 0 } else { 1 + MADE_FROM_TABLES.fetch_add(1, Relaxed) };
        let (drop_error, pools) = (Mutex::new(None), OnceLock::new());
        let table = Arc::new(Table { api, path, drop_error, pools, address_space });
        Driver(Arc::new(Inner {
            table,
            contexts: Mutex::default(),
            default: Mutex::default(),
            deferred: Mutex::default(),
            reclaimable: AtomicBool::new(false),
        }))
    }

    /// The table of entry points, for calls that this crate does not wrap.
    pub fn api(&self) -> &Api {
        &self.0.table.api
    }

    /// The file that the driver was loaded from; `None` for one made [from a table](Driver::from_api).
    pub fn path(&self) -> Option<&Path> {
        self.0.table.path.as_deref()
    }

    /// The newest CUDA version that the driver supports, 1000 × major + 10 × minor: 13000 is 13.0.
    ///
    /// Driver API: [`cuDriverGetVersion`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VERSION.html).
    pub fn version(&self) -> Result<i32> {
        let mut version = 0;
        // SAFETY: the driver writes one int, which outlives the call.
        unsafe { call!(self, cuDriverGetVersion(&mut version)) }?;
        Ok(version)
    }

    /// The first error that a drop met and could not return, if there was one; it is then forgotten.
    pub fn take_drop_error(&self) -> Option<Error> {
        lock(&self.0.table.drop_error).take()
    }

    /// Takes what a destructor's call answered; see the [module](self).
    pub(crate) fn dropped(&self, result: Result<()>) {
        self.0.table.dropped(result);
    }

    /// Within one address space, equal addresses mean the same memory. The drivers that were loaded from a file share one.
    #[inline]
    pub(crate) fn address_space(&self) -> usize {
        self.0.table.address_space
    }

    fn table(&self) -> &Arc<Table> {
        &self.0.table
    }
}

impl PartialEq for Driver {
    fn eq(&self, other: &Driver) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Driver {}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("path", &self.path()).finish_non_exhaustive()
    }
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
