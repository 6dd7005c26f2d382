//! Functions of the interpreter, by name, in the libraries of the process.

use std::ffi::{CStr, c_void};

/// The address of a function that some library of the process exports.
#[cfg(unix)]
pub(crate) fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a nul byte. The call searches the libraries of the process, and runs none of their code.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// The address of a function that some library of the process exports. Windows has no search over all libraries, so each is asked.
#[cfg(windows)]
pub(crate) fn find(name: &CStr) -> Option<*mut c_void> {
    modules().into_iter().find_map(|module| {
        // SAFETY: the module is loaded, and the name ends with a nul byte. The call runs no code of the module.
        let found = unsafe { GetProcAddress(module, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    })
}

#[cfg(windows)]
#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetCurrentProcess() -> *mut c_void;
    fn GetProcAddress(module: *mut c_void, name: *const std::ffi::c_char) -> *mut c_void;
    fn K32EnumProcessModules(process: *mut c_void, modules: *mut *mut c_void, size: u32, needed: *mut u32) -> i32;
}

/// The libraries that the process has loaded; none if the system does not list them.
#[cfg(windows)]
fn modules() -> Vec<*mut c_void> {
    const ENTRY: usize = size_of::<*mut c_void>();
    let mut found: Vec<*mut c_void> = vec![std::ptr::null_mut(); 256];
    loop {
        let (size, mut needed) = ((found.len() * ENTRY) as u32, 0);
        // SAFETY: the buffer has the stated size, and the handle of the current process is always valid.
        if unsafe { K32EnumProcessModules(GetCurrentProcess(), found.as_mut_ptr(), size, &raw mut needed) } == 0 {
            return Vec::new();
        }
        let count = needed as usize / ENTRY;
        if count <= found.len() {
            found.truncate(count);
            return found;
        }
        // Another thread may load a library meanwhile, so the list is asked for again.
        found.resize(count + 16, std::ptr::null_mut());
    }
}
