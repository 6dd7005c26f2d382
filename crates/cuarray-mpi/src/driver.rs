//! The two functions of the simulated driver that take reports of the host's accesses.

use crate::layout::Rows;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

type Begins = unsafe extern "C" fn(*const c_char, c_int, u64, usize, usize, usize, *mut u64) -> c_int;
type Ends = unsafe extern "C" fn(*const c_char, u64) -> c_int;

/// A function of the driver.
struct Function(AtomicPtr<c_void>);

static BEGINS: Function = Function(AtomicPtr::new(ptr::null_mut()));
static ENDS: Function = Function(AtomicPtr::new(ptr::null_mut()));
/// Whether the loaded driver is another one, which lacks the functions.
static ANOTHER: AtomicBool = AtomicBool::new(false);

impl Function {
    fn get(&self, name: &CStr) -> Option<*mut c_void> {
        let known = self.0.load(Ordering::Relaxed);
        if !known.is_null() || ANOTHER.load(Ordering::Relaxed) {
            return (!known.is_null()).then_some(known);
        }
        // The program may load its driver later, so a failure is not remembered.
        // SAFETY: the name is a string; the driver is not loaded if it is not loaded yet, and stays loaded.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        if library.is_null() {
            return None;
        }
        // SAFETY: the library is loaded, and the name is a string.
        let found = unsafe { libc::dlsym(library, name.as_ptr()) };
        ANOTHER.store(found.is_null(), Ordering::Relaxed);
        self.0.store(found, Ordering::Relaxed);
        (!found.is_null()).then_some(found)
    }
}

/// Whether accesses are worth a report: the simulated driver is loaded.
pub(crate) fn is_loaded() -> bool {
    BEGINS.get(c"cuarraySimHostAccess").is_some()
}

/// Reports an access in a function. Returns the number of an access that lasts, if the driver watches it.
pub(crate) fn begins(name: &CStr, writes: bool, rows: Rows, lasts: bool) -> Option<u64> {
    let function = BEGINS.get(c"cuarraySimHostAccess")?;
    // SAFETY: the function of this name has these parameters.
    let function: Begins = unsafe { std::mem::transmute(function) };
    let mut number = 0;
    let lasting = if lasts { &raw mut number } else { ptr::null_mut() };
    let Rows { address, width, pitch, height } = rows;
    // SAFETY: the name is a string, and the number lives during the call.
    unsafe { function(name.as_ptr(), writes.into(), address as u64, width, pitch, height, lasting) };
    (number != 0).then_some(number)
}

/// Reports that the program has waited for an access.
pub(crate) fn ends(name: &CStr, number: u64) {
    if let Some(function) = ENDS.get(c"cuarraySimHostAccessEnds") {
        // SAFETY: the function of this name has these parameters.
        let function: Ends = unsafe { std::mem::transmute(function) };
        // SAFETY: the name is a string.
        unsafe { function(name.as_ptr(), number) };
    }
}
