//! Libraries of the dynamic loader.

use super::reason;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::{
    ffi::{CStr, OsStr, c_void},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

/// The driver's name for the system loader.
pub(in crate::driver) const SONAME: &str = "libcuda.so.1";

/// Loads the library at a path.
///
/// # Safety
/// Loading a library runs its code.
pub(in crate::driver) unsafe fn at(path: &OsStr) -> Result<Library, String> {
    // SAFETY: this function's contract.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| reason(&error))
}

/// Loads the library that the loader finds by its name.
///
/// # Safety
/// Loading a library runs its code.
pub(in crate::driver) unsafe fn searched(name: &OsStr) -> Result<Library, String> {
    // SAFETY: this function's contract.
    unsafe { at(name) }
}

/// The library of this name that the process has loaded.
pub(in crate::driver) fn already_loaded(name: &OsStr) -> Result<Library, String> {
    // SAFETY: with RTLD_NOLOAD the loader runs no code.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | libc::RTLD_NOLOAD) };
    // There may be no message: a library that is not loaded is no error to the loader.
    library.map_err(|_| "none".to_owned())
}

/// The file that the code at `address` was loaded from.
pub(in crate::driver) fn file_of(address: *const c_void) -> Option<PathBuf> {
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
