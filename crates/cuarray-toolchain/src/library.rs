//! NVIDIA's libraries, opened when they are first needed.

use crate::environment;
use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;

/// Functions of a library, by their names.
pub(crate) trait Symbols: Sized + 'static {
    /// Looks up all functions; `None` if one that is required is missing.
    ///
    /// # Safety
    /// `find` returns the address of a function with the documented signature, or null.
    unsafe fn find(find: &dyn Fn(&str) -> *mut c_void) -> Option<Self>;
}

/// A library that is opened at its first use, and stays open.
pub(crate) struct Library<S> {
    name: &'static str,
    symbols: OnceLock<Option<S>>,
}

impl<S: Symbols> Library<S> {
    pub(crate) const fn new(name: &'static str) -> Library<S> {
        Library { name, symbols: OnceLock::new() }
    }

    /// The functions; `None` if the library is not installed.
    pub(crate) fn get(&self) -> Option<&S> {
        self.symbols.get_or_init(|| self.open()).as_ref()
    }

    fn open(&self) -> Option<S> {
        let path = environment::real_file(self.name)?;
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: a file of NVIDIA's, opened by its path: its name would return this stand-in. It stays open.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return None;
        }
        let find = |name: &str| match CString::new(name) {
            // SAFETY: the library is open.
            Ok(name) => unsafe { libc::dlsym(library, name.as_ptr()) },
            Err(_) => std::ptr::null_mut(),
        };
        // SAFETY: the functions of this library have the documented signatures.
        unsafe { S::find(&find) }
    }
}

/// Defines a structure of the functions of a library, all of them required.
macro_rules! symbols {
    ($(#[$doc:meta])* struct $type:ident { $($field:ident: $symbol:literal ($($arg:ty),*) -> $ret:ty;)* }) => {
        $(#[$doc])*
        struct $type { $($field: unsafe extern "C" fn($($arg),*) -> $ret,)* }

        impl $crate::library::Symbols for $type {
            unsafe fn find(find: &dyn Fn(&str) -> *mut ::std::ffi::c_void) -> Option<$type> {
                $(
                    let address = find($symbol);
                    if address.is_null() {
                        return None;
                    }
                    // SAFETY: this function's contract.
                    let $field = unsafe { ::std::mem::transmute::<*mut ::std::ffi::c_void, unsafe extern "C" fn($($arg),*) -> $ret>(address) };
                )*
                Some($type { $($field),* })
            }
        }
    };
}
pub(crate) use symbols;
