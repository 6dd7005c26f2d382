//! Finding the driver.
//!
//! The order is: the file that `CUARRAY_DRIVER` names; a `libcuda.so.1` that the process has loaded already, from
//! wherever (whoever loaded it chose it for the whole process, and two drivers in one process share no handles); what
//! the system's loader finds under that name. A named file that fails ends the search: falling back from it would run a
//! program on a driver that nobody asked for. `libcuda.so`, without the version, is never tried: on machines with the
//! CUDA toolkit it may be the stub that programs are linked against, which loads and then fails every call.
//!
//! A driver is never unloaded. It runs threads of its own and registers work for the process's end, other libraries may
//! have it through the same handle, and memory it handed out is mapped by it: unloading it under any of them is a
//! crash.

use super::{Driver, call, process_end};
use crate::{Error, Result};
use cuarray_abi::{Api, CUresult};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::{
    env,
    error::Error as StdError,
    ffi::{CStr, OsStr, OsString, c_void},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
};

/// The variable that names a driver's file.
const VARIABLE: &str = "CUARRAY_DRIVER";
/// The driver's name for the loader.
const SONAME: &str = "libcuda.so.1";

impl Driver {
    /// Loads the process's driver: the file that `CUARRAY_DRIVER` names, or else a `libcuda.so.1` that the process has
    /// loaded already, or else the one that the system's loader finds. Initializes it.
    ///
    /// # Errors
    /// [`Error::is_no_driver`] where none could be loaded and initialized; the message says what was tried. A driver
    /// that finds no GPU is no such error but its own: `cuInit: CUDA_ERROR_NO_DEVICE`.
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
    /// [`Error::is_no_driver`] if the file is no library or no CUDA driver; what `cuInit` answers.
    ///
    /// # Safety
    /// Loading a library runs its code. If it exports the driver's symbols, they behave as the driver's manual says.
    pub unsafe fn open(path: &Path) -> Result<Driver> {
        // SAFETY: this function's contract.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let (api, file) = library
            .map_err(|error| reason(&error))
            .and_then(table_of)
            .map_err(|why| Error::no_driver(vec![format!("{}: {why}", path.display())]))?;
        initialize(Driver::new(api, file.or_else(|| Some(path.to_owned()))))
    }

    /// A driver that is in the process already, as a table; initializes it.
    ///
    /// # Errors
    /// What `cuInit` answers.
    ///
    /// # Safety
    /// Each function of the table behaves as the driver's manual says of it, for as long as the process lives.
    pub unsafe fn from_api(api: Api) -> Result<Driver> {
        initialize(Driver::new(api, None))
    }
}

/// One step of the search. `Ok(None)`: it found nothing, and `tried` says why. An error ends the search: the driver is
/// there, but the machine has no device for it.
fn attempt_load(attempt: String, name: &OsStr, flags: i32, tried: &mut Vec<String>) -> Result<Option<Driver>> {
    // SAFETY: the library is the CUDA driver by its name, or by the word of whoever set the variable; a process that is
    // given a hostile library under either is lost already.
    let library = unsafe { Library::open(Some(name), flags) };
    let not_loaded = |error: libloading::Error| {
        // With RTLD_NOLOAD there may be no message: that nothing is loaded is no error to the loader.
        if flags & libc::RTLD_NOLOAD != 0 { "none".to_owned() } else { reason(&error) }
    };
    let why = match library.map_err(not_loaded).and_then(table_of) {
        Ok((api, file)) => {
            let file = file.unwrap_or_else(|| PathBuf::from(name));
            match initialize(Driver::new(api, Some(file))) {
                Ok(driver) => return Ok(Some(driver)),
                Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_NO_DEVICE) => return Err(error),
                Err(error) => error.to_string(),
            }
        }
        Err(why) => why,
    };
    tried.push(format!("{attempt}: {why}"));
    Ok(None)
}

/// The loader's own words, which the error has behind its own.
fn reason(error: &libloading::Error) -> String {
    StdError::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn initialize(driver: Driver) -> Result<Driver> {
    // SAFETY: cuInit takes no pointers; its only defined flags are 0.
    unsafe { call!(driver, cuInit(0)) }?;
    process_end::watch();
    Ok(driver)
}

/// The library's table and the file that it came from. The library stays loaded; see the [module](self).
fn table_of(library: Library) -> Result<(Api, Option<PathBuf>), String> {
    let mut init = ptr::null();
    let mut resolve = |symbol: &CStr| {
        // SAFETY: nothing is called; the symbol's address is only taken, and null stands for one that is missing.
        let address = unsafe { library.get::<*const c_void>(symbol) }
            .map_or(ptr::null(), |found| found.as_raw_ptr() as *const c_void);
        if symbol == c"cuInit" {
            init = address;
        }
        address
    };
    // SAFETY: whoever chose the library says that its exports are the driver's, and it is not unloaded below.
    let api = unsafe { Api::resolve_with(&mut resolve) };
    if init.is_null() {
        // Not a driver, so nothing of it is kept and it may go.
        return Err("not a CUDA driver: it exports no cuInit".to_owned());
    }
    std::mem::forget(library);
    Ok((api, file_of(init)))
}

/// The file that the code at `address` was loaded from.
fn file_of(address: *const c_void) -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr takes any address and writes the structure only where it answers non-zero.
    if unsafe { libc::dladdr(address, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: all-zero is a valid Dl_info (null pointers), and dladdr has filled it.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name is a nul-terminated string that lives as long as the library, which is never unloaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}
