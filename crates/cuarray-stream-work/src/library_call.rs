//! The name that the simulated driver gives to calls of the driver.

use crate::driver::driver;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;

type Names = unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_uint;

/// The function of the simulated driver; `None` for another driver.
fn names() -> Option<Names> {
    static NAMES: OnceLock<Option<Names>> = OnceLock::new();
    *NAMES.get_or_init(|| {
        let found = driver().ok()?.find(c"cuarraySimLibraryCall");
        // SAFETY: zero is `None`; the function of this name has this type.
        unsafe { std::mem::transmute::<*mut std::ffi::c_void, Option<Names>>(found) }
    })
}

thread_local! {
    /// The library's function that this thread is in.
    static CURRENT: Cell<Option<&'static CStr>> = const { Cell::new(None) };
}

/// A call of a function of the library, from [`LibraryCall::begin`] until it is dropped in the same thread.
#[derive(Debug)]
pub struct LibraryCall {
    /// Whether a call of the same thread contains this one. That call has the name.
    is_inner: bool,
    of_this_thread: PhantomData<*const ()>,
}

impl LibraryCall {
    /// Begins a call of the library's function `function`.
    pub fn begin(function: &'static CStr) -> LibraryCall {
        let is_inner = CURRENT.get().is_some();
        if !is_inner {
            CURRENT.set(Some(function));
            name(Some(function), None, false);
        }
        LibraryCall { is_inner, of_this_thread: PhantomData }
    }

    /// Names the function of this thread again, after it has called a function of another library, which ends with no name.
    pub fn resume() {
        accesses(None, false);
    }

    /// The name of the library's function that this thread is in.
    pub fn current() -> Option<&'static CStr> {
        CURRENT.get()
    }
}

impl Drop for LibraryCall {
    fn drop(&mut self) {
        if !self.is_inner {
            CURRENT.set(None);
            name(None, None, false);
        }
    }
}

/// Names the argument that the next calls of the driver access. If the function may ignore it, unwritten bytes are no finding.
pub(crate) fn accesses(argument: Option<&CStr>, may_ignore: bool) {
    if let Some(function) = CURRENT.get() {
        name(Some(function), argument, may_ignore);
    }
}

fn name(function: Option<&CStr>, argument: Option<&CStr>, may_ignore: bool) {
    if let Some(names) = names() {
        let text = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: both are null or strings that live during the call.
        unsafe { names(text(function), text(argument), may_ignore.into()) };
    }
}
