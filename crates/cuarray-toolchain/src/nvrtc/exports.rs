//! The C functions of NVRTC. The shared libraries export them by [`nvrtc_exports!`](crate::nvrtc_exports).

use super::options::wants_lines;
use super::programs;
use super::virtual_architecture;
use crate::library::{Library, Symbols};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::Once;
use std::{mem, ptr};

const INVALID_INPUT: c_int = 3;
/// The result of functions that NVIDIA's library does not have, and of all functions if it is not installed.
const INTERNAL_ERROR: c_int = 11;

/// `nvrtcProgram`
pub type Program = *mut c_void;
/// An array of strings.
pub type Strings = *const *const c_char;
/// The callback of `nvrtcSetFlowCallback`.
pub type Callback = Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int>;

/// The addresses of the functions that NVIDIA's library has.
struct Functions(HashMap<&'static str, usize>);

static LIBRARIES: [Library<Functions>; 2] = [Library::new("libnvrtc.so.12"), Library::new("libnvrtc.so.13")];

/// The address of a function of NVIDIA's library; `None` if it is not installed, or lacks the function.
fn find(major: u32, name: &str) -> Option<*const c_void> {
    let library = LIBRARIES[usize::from(major >= 13)].get();
    if library.is_none() {
        static MISSING: Once = Once::new();
        MISSING.call_once(|| {
            eprintln!(
                "cuarray-sim: NVIDIA's libnvrtc.so.{major} was not found, so nothing can be compiled: install nvidia-cuda-nvrtc"
            );
        });
    }
    library?.0.get(name).map(|address| ptr::with_exposed_provenance(*address))
}

/// Defines functions that only call NVIDIA's, and the list of all names.
macro_rules! forward {
    (; $($name:ident($($arg:ident: $ty:ty),*) $(as $own:ident)?;)*) => {
        impl Symbols for Functions {
            unsafe fn find(find: &dyn Fn(&str) -> *mut c_void) -> Option<Functions> {
                let all = [$((stringify!($name), find(stringify!($name)).expose_provenance())),*, (ERROR_STRING, find(ERROR_STRING).expose_provenance())];
                Some(Functions(all.into_iter().filter(|(_, address)| *address != 0).collect()))
            }
        }

        $(forward!(@$($own)? $name($($arg: $ty),*));)*
    };
    (@own $name:ident $args:tt) => {};
    (@$name:ident($($arg:ident: $ty:ty),*)) => {
        #[doc = concat!("`", stringify!($name), "` of NVIDIA's library.")]
        /// # Safety
        /// As the manual of NVRTC says.
        pub unsafe fn $name(major: u32, $($arg: $ty),*) -> c_int {
            let Some(function) = find(major, stringify!($name)) else { return INTERNAL_ERROR };
            // SAFETY: NVIDIA's function has the documented signature; the contract is that of this function.
            unsafe { mem::transmute::<*const c_void, unsafe extern "C" fn($($ty),*) -> c_int>(function)($($arg),*) }
        }
    };
}

/// Passes the list of functions to a macro: `__nvrtc_functions!([macro] tokens)` calls `macro!(tokens; list)`.
///
/// `as own` marks functions that do more than call NVIDIA's.
#[doc(hidden)]
#[macro_export]
macro_rules! __nvrtc_functions {
    ([$($then:tt)*] $($tokens:tt)*) => {
        $($then)*! { $($tokens)*;
            nvrtcVersion(major_out: *mut c_int, minor: *mut c_int);
            nvrtcGetNumSupportedArchs(count: *mut c_int);
            nvrtcGetSupportedArchs(architectures: *mut c_int);
            nvrtcCreateProgram(program: *mut Program, source: *const c_char, name: *const c_char, headers: c_int, texts: Strings, names: Strings) as own;
            nvrtcDestroyProgram(program: *mut Program) as own;
            nvrtcCompileProgram(program: Program, count: c_int, options: Strings) as own;
            nvrtcGetPTXSize(program: Program, size: *mut usize);
            nvrtcGetPTX(program: Program, ptx: *mut c_char);
            nvrtcGetCUBINSize(program: Program, size: *mut usize) as own;
            nvrtcGetCUBIN(program: Program, cubin: *mut c_char) as own;
            nvrtcGetLTOIRSize(program: Program, size: *mut usize);
            nvrtcGetLTOIR(program: Program, ltoir: *mut c_char);
            nvrtcGetOptiXIRSize(program: Program, size: *mut usize);
            nvrtcGetOptiXIR(program: Program, optixir: *mut c_char);
            nvrtcGetTileIRSize(program: Program, size: *mut usize);
            nvrtcGetTileIR(program: Program, tileir: *mut c_char);
            nvrtcGetProgramLogSize(program: Program, size: *mut usize);
            nvrtcGetProgramLog(program: Program, log: *mut c_char);
            nvrtcAddNameExpression(program: Program, name: *const c_char);
            nvrtcGetLoweredName(program: Program, name: *const c_char, lowered: *mut *const c_char);
            nvrtcGetPCHHeapSize(size: *mut usize);
            nvrtcSetPCHHeapSize(size: usize);
            nvrtcGetPCHCreateStatus(program: Program);
            nvrtcGetPCHHeapSizeRequired(program: Program, size: *mut usize);
            nvrtcSetFlowCallback(program: Program, callback: Callback, payload: *mut c_void);
            nvrtcInstallBundledHeaders(path: *const c_char, flags: c_uint, log: *mut *const c_char);
            nvrtcGetBundledHeadersInfo(info: *mut c_void, log: *mut *const c_char);
            nvrtcRemoveBundledHeaders(path: *const c_char, log: *mut *const c_char);
        }
    };
}

const ERROR_STRING: &str = "nvrtcGetErrorString";

crate::__nvrtc_functions!([forward]);

/// `nvrtcGetErrorString` of NVIDIA's library.
pub fn nvrtcGetErrorString(major: u32, result: c_int) -> *const c_char {
    let Some(function) = find(major, ERROR_STRING) else { return c"NVRTC_ERROR_INTERNAL_ERROR".as_ptr() };
    // SAFETY: NVIDIA's function has the documented signature, and accepts each number.
    unsafe { mem::transmute::<*const c_void, unsafe extern "C" fn(c_int) -> *const c_char>(function)(result) }
}

/// `nvrtcCompileProgram`, with a virtual architecture in place of a device's.
///
/// # Safety
/// As the manual of NVRTC says.
pub unsafe fn nvrtcCompileProgram(major: u32, program: Program, count: c_int, options: Strings) -> c_int {
    let Some(function) = find(major, "nvrtcCompileProgram") else { return INTERNAL_ERROR };
    // SAFETY: NVIDIA's function has the documented signature.
    let compile =
        unsafe { mem::transmute::<*const c_void, unsafe extern "C" fn(Program, c_int, Strings) -> c_int>(function) };
    programs::begin_compilation(program.addr());
    let count_given = usize::try_from(count).unwrap_or(0);
    let mut given = Vec::new();
    if !options.is_null() {
        for index in 0..count_given {
            // SAFETY: the array has `count` strings, by the contract of this function.
            let option = unsafe { options.add(index).read_unaligned() };
            if option.is_null() {
                return INVALID_INPUT;
            }
            // SAFETY: as above.
            given.push(unsafe { CStr::from_ptr(option) });
        }
    }
    // Options that are not UTF-8, such as paths, are passed on as they are.
    let texts = given.iter().map(|option| option.to_string_lossy().into_owned()).collect::<Vec<_>>();
    let Some(replaced) = virtual_architecture(&texts) else {
        // SAFETY: the contract of this function.
        return unsafe { compile(program, count, options) };
    };
    static USED: Once = Once::new();
    USED.call_once(|| cuarray_stand_in::report_use(&format!("libnvrtc.so.{major}")));
    let changed = replaced.iter().zip(&texts).zip(&given).map(|((new, old), given)| match new == old {
        true => (*given).to_owned(),
        false => CString::new(new.as_str()).unwrap_or_default(),
    });
    let changed = changed.collect::<Vec<_>>();
    let pointers = changed.iter().map(|option| option.as_ptr()).collect::<Vec<_>>();
    // SAFETY: the contract of this function; the strings live during the call.
    let result = unsafe { compile(program, count, pointers.as_ptr()) };
    if result == 0 {
        programs::compiled_to_ptx(program.addr(), wants_lines(&texts));
    }
    result
}

/// `nvrtcCreateProgram`, whose source is kept for programs with lines.
///
/// # Safety
/// As the manual of NVRTC says.
pub unsafe fn nvrtcCreateProgram(
    major: u32,
    program: *mut Program,
    source: *const c_char,
    name: *const c_char,
    headers: c_int,
    texts: Strings,
    names: Strings,
) -> c_int {
    type Create = unsafe extern "C" fn(*mut Program, *const c_char, *const c_char, c_int, Strings, Strings) -> c_int;
    let Some(function) = find(major, "nvrtcCreateProgram") else { return INTERNAL_ERROR };
    // SAFETY: NVIDIA's function has the documented signature; the contract is that of this function.
    let result =
        unsafe { mem::transmute::<*const c_void, Create>(function)(program, source, name, headers, texts, names) };
    if result == 0 && !program.is_null() && !source.is_null() && !name.is_null() {
        // SAFETY: the call has succeeded, so the program is written, and both are strings, by the contract of this function.
        let (program, source, name) =
            unsafe { (program.read_unaligned(), CStr::from_ptr(source), CStr::from_ptr(name)) };
        programs::keep(program.addr(), name, source);
    }
    result
}

/// `nvrtcGetCUBINSize`: the size of the PTX for a program that was compiled to PTX.
///
/// # Safety
/// As the manual of NVRTC says.
pub unsafe fn nvrtcGetCUBINSize(major: u32, program: Program, size: *mut usize) -> c_int {
    if let Some(appended) = programs::appended(program.addr()) {
        // SAFETY: the contract of this function.
        let result = unsafe { nvrtcGetPTXSize(major, program, size) };
        if result == 0 && !size.is_null() {
            // SAFETY: the call has written the size.
            unsafe { size.write_unaligned(size.read_unaligned() + appended.len()) };
        }
        return result;
    }
    let Some(function) = find(major, "nvrtcGetCUBINSize") else { return INTERNAL_ERROR };
    // SAFETY: NVIDIA's function has the documented signature; the contract is that of this function.
    unsafe {
        mem::transmute::<*const c_void, unsafe extern "C" fn(Program, *mut usize) -> c_int>(function)(program, size)
    }
}

/// `nvrtcGetCUBIN`: the PTX, with its nul, for a program that was compiled to PTX.
///
/// # Safety
/// As the manual of NVRTC says.
pub unsafe fn nvrtcGetCUBIN(major: u32, program: Program, cubin: *mut c_char) -> c_int {
    if let Some(source) = programs::appended(program.addr()) {
        let mut size = 0_usize;
        // SAFETY: the size is writable, and the contract of this function.
        let result = unsafe { nvrtcGetPTXSize(major, program, &raw mut size) };
        if result != 0 {
            return result;
        }
        // SAFETY: the contract of this function.
        let result = unsafe { nvrtcGetPTX(major, program, cubin) };
        if result == 0 && size > 0 && !source.is_empty() {
            // SAFETY: the buffer has the size that `nvrtcGetCUBINSize` states: that of the PTX, and of the source. The nul of the
            // PTX moves to the end.
            unsafe {
                let end = cubin.add(size - 1);
                ptr::copy_nonoverlapping(source.as_ptr().cast(), end, source.len());
                end.add(source.len()).write(0);
            }
        }
        return result;
    }
    let Some(function) = find(major, "nvrtcGetCUBIN") else { return INTERNAL_ERROR };
    // SAFETY: NVIDIA's function has the documented signature; the contract is that of this function.
    unsafe {
        mem::transmute::<*const c_void, unsafe extern "C" fn(Program, *mut c_char) -> c_int>(function)(program, cubin)
    }
}

/// `nvrtcDestroyProgram`
///
/// # Safety
/// As the manual of NVRTC says.
pub unsafe fn nvrtcDestroyProgram(major: u32, program: *mut Program) -> c_int {
    let Some(function) = find(major, "nvrtcDestroyProgram") else { return INTERNAL_ERROR };
    if !program.is_null() {
        // SAFETY: the pointer is readable, by the contract of this function.
        let handle = unsafe { program.read_unaligned() };
        programs::forget(handle.addr());
    }
    // SAFETY: NVIDIA's function has the documented signature; the contract is that of this function.
    unsafe { mem::transmute::<*const c_void, unsafe extern "C" fn(*mut Program) -> c_int>(function)(program) }
}

/// Exports the functions of a major version: `nvrtc_exports!(13 "libnvrtc.so.13")`.
///
/// With the cfg `versioned`, each name gets the version node.
#[macro_export]
macro_rules! nvrtc_exports {
    ($major:literal $node:literal) => {
        mod exported {
            use ::std::ffi::{c_char, c_int, c_uint, c_void};
            use $crate::nvrtc::exports::{Callback, Program, Strings};

            #[unsafe(no_mangle)]
            extern "C" fn nvrtcGetErrorString(result: c_int) -> *const c_char {
                $crate::nvrtc::exports::nvrtcGetErrorString($major, result)
            }
            #[cfg(versioned)]
            ::std::arch::global_asm!(concat!(".symver nvrtcGetErrorString, nvrtcGetErrorString@@", $node));

            $crate::__nvrtc_functions!([$crate::__nvrtc_exports] $major $node);
        }
    };
}

/// The functions of [`nvrtc_exports!`](crate::nvrtc_exports).
#[doc(hidden)]
#[macro_export]
macro_rules! __nvrtc_exports {
    ($major:literal $node:literal; $($name:ident $args:tt $(as $own:ident)?;)*) => {
        $($crate::__nvrtc_export! { $major $node $name $args })*
    };
}

/// One function of [`nvrtc_exports!`](crate::nvrtc_exports).
#[doc(hidden)]
#[macro_export]
macro_rules! __nvrtc_export {
    ($major:literal $node:literal $name:ident($($arg:ident: $ty:ty),*)) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> c_int {
            // SAFETY: the contract is that of the function.
            unsafe { $crate::nvrtc::exports::$name($major, $($arg),*) }
        }
        #[cfg(versioned)]
        ::std::arch::global_asm!(concat!(".symver ", stringify!($name), ", ", stringify!($name), "@@", $node));
    };
}
