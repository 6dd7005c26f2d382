//! The driver that a call uses: one that its thread has entered, or the driver of the process.

use crate::config::Config;
use crate::driver::Driver;
use crate::effects;
use crate::process::exit;
use crate::thread;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// The driver that a call uses. The process's driver is never dropped, so its calls need no shared ownership.
pub(crate) enum CurrentDriver {
    Process(&'static Arc<Driver>),
    Entered(Arc<Driver>),
}

impl Deref for CurrentDriver {
    type Target = Arc<Driver>;

    fn deref(&self) -> &Arc<Driver> {
        match self {
            CurrentDriver::Process(driver) => driver,
            CurrentDriver::Entered(driver) => driver,
        }
    }
}

static PROCESS_DRIVER: OnceLock<Arc<Driver>> = OnceLock::new();

/// The driver that the calling thread's calls use; `None` after the thread's end.
pub(crate) fn driver() -> Option<CurrentDriver> {
    let entered = thread::with(|thread| thread.entered.borrow().last().cloned())?;
    let entered = entered.and_then(|driver| driver.downcast::<Driver>().ok());
    let process = || CurrentDriver::Process(PROCESS_DRIVER.get_or_init(from_environment));
    Some(entered.map_or_else(process, CurrentDriver::Entered))
}

/// Creates the process's driver from its environment.
fn from_environment() -> Arc<Driver> {
    let driver = Driver::new(Config::from_env(), effects::execute);
    exit::print_seed(&driver);
    exit::watch(&driver);
    driver
}

/// The process's driver, if it exists.
pub(crate) fn of_process() -> Option<&'static Arc<Driver>> {
    PROCESS_DRIVER.get()
}
