//! Libraries of Windows. NVIDIA's driver installs `nvcuda.dll` into the folder of the system.

use super::reason;
use libloading::os::windows::{LOAD_LIBRARY_SEARCH_SYSTEM32, Library};
use std::{
    ffi::{OsStr, OsString, c_void},
    os::windows::ffi::OsStringExt,
    path::PathBuf,
    ptr,
};

/// The driver's name for the system loader.
pub(in crate::driver) const SONAME: &str = "nvcuda.dll";

/// The library of an address is wanted, and its count of uses stays: the flags `FROM_ADDRESS` and `UNCHANGED_REFCOUNT`.
const OF_ADDRESS: u32 = 0x4 | 0x2;
/// The longest path of Windows, in units of 16 bits.
const LONGEST_PATH: usize = 1 << 15;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetModuleHandleExW(flags: u32, address: *const c_void, module: *mut *mut c_void) -> i32;
    fn GetModuleFileNameW(module: *mut c_void, name: *mut u16, size: u32) -> u32;
}

/// Loads the library at a path.
///
/// # Safety
/// Loading a library runs its code.
pub(in crate::driver) unsafe fn at(path: &OsStr) -> Result<Library, String> {
    // SAFETY: this function's contract.
    unsafe { Library::new(path) }.map_err(|error| reason(&error))
}

/// Loads the library of this name in the folder of the system. A file beside the program has no part in the search.
///
/// # Safety
/// Loading a library runs its code.
pub(in crate::driver) unsafe fn searched(name: &OsStr) -> Result<Library, String> {
    // SAFETY: this function's contract.
    unsafe { Library::load_with_flags(name, LOAD_LIBRARY_SEARCH_SYSTEM32) }.map_err(|error| reason(&error))
}

/// The library of this name that the process has loaded.
pub(in crate::driver) fn already_loaded(name: &OsStr) -> Result<Library, String> {
    Library::open_already_loaded(name).map_err(|_| "none".to_owned())
}

/// The file that the code at `address` was loaded from.
pub(in crate::driver) fn file_of(address: *const c_void) -> Option<PathBuf> {
    let mut module = ptr::null_mut();
    // SAFETY: with FROM_ADDRESS the function takes any address, and writes the handle only.
    if unsafe { GetModuleHandleExW(OF_ADDRESS, address, &raw mut module) } == 0 {
        return None;
    }
    let mut name = vec![0_u16; LONGEST_PATH];
    // SAFETY: the module is loaded, because its code has the address, and the buffer has the stated size.
    let length = unsafe { GetModuleFileNameW(module, name.as_mut_ptr(), LONGEST_PATH as u32) } as usize;
    (1..LONGEST_PATH).contains(&length).then(|| PathBuf::from(OsString::from_wide(&name[..length])))
}
