//! The search for the driver.
//!
//! There are three places, in this order:
//! 1. the file in `CUARRAY_DRIVER`;
//! 2. a `libcuda.so.1` already loaded in the process: its loader chose it for all libraries, and two drivers share no handles;
//! 3. the system loader's `libcuda.so.1`.
//!
//! On Windows the name is `nvcuda.dll`, and the loader searches the folder of the system only.
//!
//! If the named file fails, the search ends: a fallback would run the program on a driver that the user did not choose. The name
//! `libcuda.so`, without the version, is never tried. On machines with the CUDA toolkit it may be the link-time stub, which loads
//! and then fails every call.
//!
//! A driver is never unloaded. It runs its own threads, registers exit functions, and maps the memory it allocated; other libraries
//! may use it too. Unloading it would crash them.

use super::{
    Driver, call,
    library::{self, Library, SONAME},
    process_end,
};
use crate::{Error, Result, error::WITHOUT_GPU, lock};
use cuarray_abi::Api;
use std::{
    env,
    ffi::{CStr, OsStr, c_void},
    path::{Path, PathBuf},
    ptr,
};

/// The environment variable with the driver's file.
const VARIABLE: &str = "CUARRAY_DRIVER";

impl Driver {
    /// Loads and initializes the process's driver: the file in `CUARRAY_DRIVER`, or else a `libcuda.so.1` already loaded in the
    /// process, or else the one that the system loader finds.
    ///
    /// # Errors
    /// [`Error::is_no_driver`]: no driver was found; the message lists the attempts. If the driver cannot be initialized, the error is
    /// its own, such as `cuInit: CUDA_ERROR_NO_DEVICE`, and the search ends.
    ///
    /// Driver API: [`cuInit`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__INITIALIZE.html).
    pub fn load() -> Result<Driver> {
        let mut tried = Vec::new();
        match env::var_os(VARIABLE) {
            Some(path) if !path.is_empty() => {
                let attempt = format!("{VARIABLE}={}", Path::new(&path).display());
                // SAFETY: the library is the CUDA driver by the user's choice. A process that loads a hostile library under it cannot
                // be protected here.
                let library = unsafe { library::at(&path) };
                if let Some(driver) = attempt_load(attempt, &path, library, &mut tried)? {
                    return Ok(driver);
                }
            }
            _ => {
                let soname = OsStr::new(SONAME);
                let loaded = format!("{SONAME} among the libraries that the process has loaded");
                if let Some(driver) = attempt_load(loaded, soname, library::already_loaded(soname), &mut tried)? {
                    return Ok(driver);
                }
                let by_loader = format!("{SONAME} by the system's loader");
                // SAFETY: the library is the CUDA driver by its name. A process that loads a hostile library under it cannot be
                // protected here.
                let library = unsafe { library::searched(soname) };
                if let Some(driver) = attempt_load(by_loader, soname, library, &mut tried)? {
                    return Ok(driver);
                }
            }
        }
        Err(Error::no_driver(tried))
    }

    /// Loads the driver in the file `path` and initializes it.
    ///
    /// # Errors
    /// [`Error::is_no_driver`]: the file is no library or no CUDA driver. Errors of `cuInit`.
    ///
    /// # Safety
    /// Loading a library runs its code. If it exports the driver's symbols, they behave as the driver's manual specifies.
    pub unsafe fn open(path: &Path) -> Result<Driver> {
        // SAFETY: this function's contract.
        let library = unsafe { library::at(path.as_os_str()) };
        let (api, file) =
            library.and_then(table_of).map_err(|why| Error::no_driver(vec![format!("{}: {why}", path.display())]))?;
        initialize(Driver::new(api, file.or_else(|| Some(path.to_owned()))))
    }

    /// Initializes a driver that is given as a table of entry points.
    ///
    /// # Errors
    /// Errors of `cuInit`.
    ///
    /// # Safety
    /// Each function of the table behaves as the driver's manual specifies, until the process exits.
    pub unsafe fn from_api(api: Api) -> Result<Driver> {
        initialize(Driver::new(api, None))
    }
}

/// One step of the search. `Ok(None)`: no driver was found, and `tried` has the reason. An error ends the search: the driver
/// exists, but cannot be initialized.
fn attempt_load(
    attempt: String,
    name: &OsStr,
    library: Result<Library, String>,
    tried: &mut Vec<String>,
) -> Result<Option<Driver>> {
    let why = match library.and_then(table_of) {
        Ok((api, file)) => {
            let file = file.unwrap_or_else(|| PathBuf::from(name));
            let shown = file.display().to_string();
            match initialize(Driver::new(api, Some(file))) {
                Ok(driver) => return Ok(Some(driver)),
                Err(error) => return Err(error.with_log(format!("the driver is {shown}; {WITHOUT_GPU}"))),
            }
        }
        Err(why) => why,
    };
    tried.push(format!("{attempt}: {why}"));
    Ok(None)
}

fn initialize(driver: Driver) -> Result<Driver> {
    // SAFETY: cuInit takes no pointers, and 0 is its only defined flag value.
    unsafe { call!(driver, cuInit(0)) }?;
    process_end::watch();
    lock::watch_forks();
    Ok(driver)
}

/// The library's table and its file. The library stays loaded; see the [module](self).
fn table_of(library: Library) -> Result<(Api, Option<PathBuf>), String> {
    let mut init = ptr::null();
    let mut resolve = |symbol: &CStr| {
        // SAFETY: the symbol's address is taken, and nothing is called; null stands for a missing symbol.
        let address = unsafe { library.get::<*const c_void>(symbol) }
            .map_or(ptr::null(), |found| found.as_raw_ptr() as *const c_void);
        if symbol == c"cuInit" {
            init = address;
        }
        address
    };
    // SAFETY: the library was chosen as the driver, so its exports are the driver's; it stays loaded after success.
    let api = unsafe { Api::resolve_with(&mut resolve) };
    if init.is_null() {
        // Not a driver: the library may be unloaded, as none of its addresses are kept.
        return Err("not a CUDA driver: it exports no cuInit".to_owned());
    }
    std::mem::forget(library);
    Ok((api, library::file_of(init)))
}
