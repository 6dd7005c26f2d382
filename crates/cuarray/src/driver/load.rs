//! The search for the driver.
//!
//! There are three places, in this order:
//! 1. the file in `CUARRAY_DRIVER`;
//! 2. a `libcuda.so.1` already loaded in the process: its loader chose it for all libraries, and two drivers share no handles;
//! 3. the system loader's `libcuda.so.1`.
//!
//! If the named file fails, the search ends: a fallback would run the program on a driver that the user did not choose. The name
//! `libcuda.so`, without the version, is never tried. On machines with the CUDA toolkit it may be the link-time stub, which loads
//! and then fails every call.
//!
//! A driver is never unloaded. It runs its own threads, registers exit functions, and maps the memory it allocated; other libraries
//! may use it too. Unloading it would crash them.

use super::{Driver, call, process_end};
use crate::{Error, Result, error::WITHOUT_GPU, lock};
use cuarray_abi::Api;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::{
    env,
    error::Error as StdError,
    ffi::{CStr, OsStr, OsString, c_void},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
};

/// The environment variable with the driver's file.
const VARIABLE: &str = "CUARRAY_DRIVER";
/// The driver's name for the system loader.
const SONAME: &str = "libcuda.so.1";

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
                if let Some(driver) = attempt_load(attempt, &path, RTLD_NOW | RTLD_LOCAL, &mut tried)? {
                    return Ok(driver);
                }
            }
            _ => {
                let soname = OsString::from(SONAME);
                let loaded = format!("{SONAME} among the libraries that the process has loaded");
                if let Some(driver) = attempt_load(loaded, &soname, RTLD_NOW | libc::RTLD_NOLOAD, &mut tried)? {
                    return Ok(driver);
                }
                let searched = format!("{SONAME} by the system's loader");
                if let Some(driver) = attempt_load(searched, &soname, RTLD_NOW | RTLD_LOCAL, &mut tried)? {
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
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let (api, file) = library
            .map_err(|error| reason(&error))
            .and_then(table_of)
            .map_err(|why| Error::no_driver(vec![format!("{}: {why}", path.display())]))?;
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
fn attempt_load(attempt: String, name: &OsStr, flags: i32, tried: &mut Vec<String>) -> Result<Option<Driver>> {
    // SAFETY: the library is the CUDA driver by its name or by the user's choice. A process that loads a hostile library under
    // either cannot be protected here.
    let library = unsafe { Library::open(Some(name), flags) };
    let not_loaded = |error: libloading::Error| {
        // With RTLD_NOLOAD there may be no message: a library that is not loaded is no error to the loader.
        if flags & libc::RTLD_NOLOAD != 0 { "none".to_owned() } else { reason(&error) }
    };
    let why = match library.map_err(not_loaded).and_then(table_of) {
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

/// The loader's own message, which is the source of the error.
fn reason(error: &libloading::Error) -> String {
    StdError::source(error).map_or_else(|| error.to_string(), ToString::to_string)
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
    Ok((api, file_of(init)))
}

/// The file that the code at `address` was loaded from.
fn file_of(address: *const c_void) -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr accepts any address, and writes the structure only if it returns non-zero.
    if unsafe { libc::dladdr(address, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: an all-zero Dl_info is valid (null pointers), and dladdr has filled it.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name is a nul-terminated string that lives as long as the library, which is never unloaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}
