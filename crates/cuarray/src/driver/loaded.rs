//! [`Driver`]: a loaded driver with its entry points and contexts.

use super::{
    call,
    context_state::{BorrowedData, ContextState},
    current::{self, Remembered},
    lock,
    table::Table,
};
use crate::{Error, Result, lock::Lock};
use cuarray_abi::Api;
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// A loaded driver. A clone is the same driver. The library stays loaded until the process ends.
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
pub struct Driver(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) table: Arc<Table>,
    /// All live contexts. The objects of one context share its event pool and its retain count.
    pub(super) contexts: Lock<Vec<Weak<ContextState>>>,
    /// Device 0's primary context, once it was used as the default context.
    pub(super) default: Lock<Option<Arc<ContextState>>>,
    /// The data of borrowed contexts.
    pub(super) borrowed: BorrowedData,
}

impl Driver {
    pub(super) fn new(api: Api, path: Option<PathBuf>) -> Driver {
        static MADE_FROM_TABLES: AtomicUsize = AtomicUsize::new(0);
        let address_space = if path.is_some() { 0 } else { 1 + MADE_FROM_TABLES.fetch_add(1, Relaxed) };
        let (drop_error, pools) = (Lock::default(), OnceLock::new());
        let table = Arc::new(Table { api, path, drop_error, pools, address_space });
        let borrowed = BorrowedData::new(table.clone());
        Driver(Arc::new(Inner { table, contexts: Lock::default(), default: Lock::default(), borrowed }))
    }

    /// The table of entry points, for calls that this crate does not wrap.
    pub fn api(&self) -> &Api {
        &self.0.table.api
    }

    /// The file that the driver was loaded from; `None` for a driver made [from a table](Driver::from_api).
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

    /// Returns the first error of a drop since the last call, and clears it.
    pub fn take_drop_error(&self) -> Option<Error> {
        lock(&self.0.table.drop_error).take()
    }

    /// Records the result of a destructor's call; see the [module](super).
    pub(crate) fn dropped(&self, result: Result<()>) {
        self.0.table.dropped(result);
    }

    /// The driver's address space, in which equal addresses mean the same memory. Drivers loaded from files share one.
    #[inline]
    pub(crate) fn address_space(&self) -> usize {
        self.0.table.address_space
    }

    /// Refuses an object of another driver: its handle means another object here, or none.
    ///
    /// # Errors
    /// A wrong argument.
    #[inline]
    pub(crate) fn check_same(&self, other: &Driver, object: &str) -> Result<()> {
        if self == other || self.library() == other.library() { Ok(()) } else { Err(of_another_driver(object)) }
    }

    /// Caches this thread's current context until the guard is dropped. Use it in an operation of several calls, during
    /// which this thread runs only this crate's code. Drop guards, including [`Current`](super::Current)s, in the reverse
    /// order of their creation.
    pub(crate) fn remember_current(&self) -> Remembered {
        current::cache(self.table())
    }

    pub(super) fn table(&self) -> &Arc<Table> {
        &self.0.table
    }
}

#[cold]
pub(crate) fn of_another_driver(object: &str) -> Error {
    Error::argument(format!("the {object} belongs to another driver, where its handle means another object"))
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
