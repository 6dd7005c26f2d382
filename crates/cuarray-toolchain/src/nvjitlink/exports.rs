//! The C functions of nvJitLink. The shared libraries export them by [`nvjitlink_exports!`](crate::nvjitlink_exports).
//!
//! A handle is a number, not an address, so an invalid one is an error.

use super::{Failure, Link, Result, real};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex, Once, PoisonError};

/// `nvJitLinkHandle`
pub type Handle = *mut c_void;

#[derive(Default)]
struct Links {
    last: usize,
    links: HashMap<usize, Arc<Mutex<Link>>>,
}

static LINKS: LazyLock<Mutex<Links>> = LazyLock::new(Mutex::default);

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result code of a step. A panic does not cross the C boundary.
fn code(step: impl FnOnce() -> Result<()>) -> c_int {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => failure.code,
        Err(_) => Failure::INTERNAL,
    }
}

fn null() -> Failure {
    Failure::new(Failure::NULL_INPUT, String::new())
}

fn invalid() -> Failure {
    Failure::new(Failure::INVALID_INPUT, String::new())
}

/// Runs a step with the link of a handle.
fn with(handle: Handle, step: impl FnOnce(&mut Link) -> Result<()>) -> c_int {
    code(|| {
        let link = locked(&LINKS).links.get(&handle.addr()).cloned();
        match link {
            Some(link) => step(&mut locked(&link)),
            None => Err(if handle.is_null() { null() } else { invalid() }),
        }
    })
}

/// The text of a string; empty for null.
///
/// # Safety
/// `text` is null or a string that ends in a nul.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: this function's contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Writes a number.
///
/// # Safety
/// `place` is null or writable.
unsafe fn put<T>(place: *mut T, value: T) -> Result<()> {
    if place.is_null() {
        return Err(null());
    }
    // SAFETY: this function's contract; a careless caller may pass an unaligned pointer.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Writes bytes, and a nul if they are a text.
///
/// # Safety
/// `place` is null or has that many bytes.
unsafe fn copy(place: *mut u8, bytes: &[u8], nul: bool) -> Result<()> {
    if place.is_null() {
        return Err(null());
    }
    // SAFETY: this function's contract.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        if nul {
            place.add(bytes.len()).write(0);
        }
    }
    Ok(())
}

/// The size of a text with its nul; 0 for an empty log, as nvJitLink returns.
fn log_size(log: &str) -> usize {
    if log.is_empty() { 0 } else { log.len() + 1 }
}

/// `nvJitLinkCreate`
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkCreate(major: u32, handle: *mut Handle, count: u32, options: *const *const c_char) -> c_int {
    static USED: Once = Once::new();
    USED.call_once(|| cuarray_stand_in::report_use(&format!("libnvJitLink.so.{major}")));
    code(|| {
        if handle.is_null() || (options.is_null() && count > 0) {
            return Err(null());
        }
        let mut given = Vec::new();
        for index in 0..count as usize {
            // SAFETY: the array has `count` strings, by the contract of the function.
            let option = unsafe { options.add(index).read_unaligned() };
            if option.is_null() {
                return Err(null());
            }
            // SAFETY: as above.
            given.push(unsafe { text(option) });
        }
        let (link, result) = Link::new(given.iter().map(String::as_str), major);
        let mut links = locked(&LINKS);
        links.last += 16;
        let number = links.last;
        links.links.insert(number, Arc::new(Mutex::new(link)));
        // SAFETY: the pointer is writable, by the contract of the function.
        unsafe { put(handle, ptr::without_provenance_mut(number)) }?;
        result
    })
}

/// `nvJitLinkDestroy`
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkDestroy(_: u32, handle: *mut Handle) -> c_int {
    code(|| {
        if handle.is_null() {
            return Err(null());
        }
        // SAFETY: the pointer is readable, by the contract of the function.
        let number = unsafe { handle.read_unaligned() }.addr();
        if number == 0 {
            return Err(null());
        }
        locked(&LINKS).links.remove(&number).ok_or_else(invalid)?;
        // SAFETY: the pointer is writable, by the contract of the function.
        unsafe { put(handle, ptr::null_mut()) }
    })
}

/// `nvJitLinkAddData`
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkAddData(
    _: u32,
    handle: Handle,
    kind: c_int,
    data: *const c_void,
    size: usize,
    name: *const c_char,
) -> c_int {
    with(handle, |link| {
        if data.is_null() || size > isize::MAX as usize {
            return Err(invalid());
        }
        // SAFETY: the program's bytes and its string, by the contract of the function.
        unsafe { link.add(kind, std::slice::from_raw_parts(data.cast(), size), &text(name)) }
    })
}

/// `nvJitLinkAddFile`
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkAddFile(_: u32, handle: Handle, kind: c_int, path: *const c_char) -> c_int {
    with(handle, |link| {
        if path.is_null() {
            return Err(null());
        }
        // SAFETY: a string, by the contract of the function.
        link.add_file(kind, &unsafe { text(path) })
    })
}

/// `nvJitLinkComplete`
///
/// # Safety
/// None is needed.
pub unsafe fn nvJitLinkComplete(_: u32, handle: Handle) -> c_int {
    with(handle, Link::complete)
}

/// `nvJitLinkGetLinkedCubinSize`
///
/// # Safety
/// As the manual of nvJitLink says, as for all functions below.
pub unsafe fn nvJitLinkGetLinkedCubinSize(_: u32, handle: Handle, size: *mut usize) -> c_int {
    // SAFETY: the contract of this function.
    with(handle, |link| unsafe { put(size, link.cubin()?.len()) })
}

/// `nvJitLinkGetLinkedCubin`
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkGetLinkedCubin(_: u32, handle: Handle, cubin: *mut c_void) -> c_int {
    // SAFETY: the contract of this function.
    with(handle, |link| unsafe { copy(cubin.cast(), link.cubin()?, false) })
}

/// `nvJitLinkGetLinkedPtxSize`
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkGetLinkedPtxSize(_: u32, handle: Handle, size: *mut usize) -> c_int {
    // SAFETY: the contract of this function.
    with(handle, |link| unsafe { put(size, link.ptx()?.len() + 1) })
}

/// `nvJitLinkGetLinkedPtx`
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkGetLinkedPtx(_: u32, handle: Handle, ptx: *mut c_char) -> c_int {
    // SAFETY: the contract of this function.
    with(handle, |link| unsafe { copy(ptx.cast(), link.ptx()?.as_bytes(), true) })
}

/// `nvJitLinkGetLinkedLTOIRSize`, which is refused: LTO-IR is never the result.
///
/// # Safety
/// None is needed.
pub unsafe fn nvJitLinkGetLinkedLTOIRSize(_: u32, handle: Handle, _: *mut usize) -> c_int {
    with(handle, |_| Err(invalid()))
}

/// `nvJitLinkGetLinkedLTOIR`, which is refused: LTO-IR is never the result.
///
/// # Safety
/// None is needed.
pub unsafe fn nvJitLinkGetLinkedLTOIR(_: u32, handle: Handle, _: *mut c_void) -> c_int {
    with(handle, |_| Err(invalid()))
}

/// `nvJitLinkGetErrorLogSize`
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkGetErrorLogSize(_: u32, handle: Handle, size: *mut usize) -> c_int {
    // SAFETY: the contract of this function.
    with(handle, |link| unsafe { put(size, log_size(&link.errors)) })
}

/// `nvJitLinkGetErrorLog`
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkGetErrorLog(_: u32, handle: Handle, log: *mut c_char) -> c_int {
    // SAFETY: the contract of this function. An empty log has no byte, so nothing is written.
    with(handle, |link| unsafe { copy(log.cast(), link.errors.as_bytes(), !link.errors.is_empty()) })
}

/// `nvJitLinkGetInfoLogSize`
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkGetInfoLogSize(_: u32, handle: Handle, size: *mut usize) -> c_int {
    // SAFETY: the contract of this function.
    with(handle, |link| unsafe { put(size, log_size(&link.info)) })
}

/// `nvJitLinkGetInfoLog`
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkGetInfoLog(_: u32, handle: Handle, log: *mut c_char) -> c_int {
    // SAFETY: the contract of this function. An empty log has no byte, so nothing is written.
    with(handle, |link| unsafe { copy(log.cast(), link.info.as_bytes(), !link.info.is_empty()) })
}

/// `nvJitLinkVersion`: the version of NVIDIA's library if it is installed, or the one that this library was compared with.
///
/// # Safety
/// As the manual of nvJitLink says.
pub unsafe fn nvJitLinkVersion(version: u32, major: *mut c_uint, minor: *mut c_uint) -> c_int {
    code(|| {
        let own = if version >= 13 { (13, 5) } else { (12, 9) };
        let (first, second) = real::version(version).unwrap_or(own);
        // SAFETY: the contract of this function.
        unsafe {
            put(major, first)?;
            put(minor, second)
        }
    })
}

/// Exports the functions of a major version: `nvjitlink_exports!(13 "libnvJitLink.so.13" [0 1 2])`.
///
/// The header's inline functions call names with a version, such as `__nvJitLinkCreate_13_0`, so each minor version is listed.
/// With the cfg `versioned`, each name gets the version node.
#[macro_export]
macro_rules! nvjitlink_exports {
    ($major:literal $node:literal $minors:tt) => {
        mod exported {
            use ::std::ffi::{c_char, c_int, c_uint, c_void};
            use $crate::nvjitlink::exports::Handle;

            $crate::__nvjitlink_export! { $major $node [] nvJitLinkVersion(major: *mut c_uint, minor: *mut c_uint) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkCreate(handle: *mut Handle, count: u32, options: *const *const c_char) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkDestroy(handle: *mut Handle) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkAddData(handle: Handle, kind: c_int, data: *const c_void, size: usize, name: *const c_char) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkAddFile(handle: Handle, kind: c_int, path: *const c_char) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkComplete(handle: Handle) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkGetLinkedCubinSize(handle: Handle, size: *mut usize) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkGetLinkedCubin(handle: Handle, cubin: *mut c_void) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkGetLinkedPtxSize(handle: Handle, size: *mut usize) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkGetLinkedPtx(handle: Handle, ptx: *mut c_char) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkGetLinkedLTOIRSize(handle: Handle, size: *mut usize) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkGetLinkedLTOIR(handle: Handle, ltoir: *mut c_void) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkGetErrorLogSize(handle: Handle, size: *mut usize) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkGetErrorLog(handle: Handle, log: *mut c_char) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkGetInfoLogSize(handle: Handle, size: *mut usize) }
            $crate::__nvjitlink_export! { $major $node $minors nvJitLinkGetInfoLog(handle: Handle, log: *mut c_char) }
        }
    };
}

/// One function of [`nvjitlink_exports!`](crate::nvjitlink_exports), under its name and its names with a version.
#[doc(hidden)]
#[macro_export]
macro_rules! __nvjitlink_export {
    ($major:literal $node:literal [$($minor:literal)*] $name:ident $args:tt) => {
        $crate::__nvjitlink_export! { @one $major $node (stringify!($name)) $name $args }
        $($crate::__nvjitlink_export! { @one $major $node (concat!("__", stringify!($name), "_", $major, "_", $minor)) $name $args })*
    };
    (@one $major:literal $node:literal ($symbol:expr) $name:ident ($($arg:ident: $ty:ty),*)) => {
        const _: () = {
            #[unsafe(export_name = $symbol)]
            unsafe extern "C" fn exported($($arg: $ty),*) -> c_int {
                // SAFETY: the contract is that of the function.
                unsafe { $crate::nvjitlink::exports::$name($major, $($arg),*) }
            }
        };
        #[cfg(versioned)]
        ::std::arch::global_asm!(concat!(".symver ", $symbol, ", ", $symbol, "@@", $node));
    };
}
