//! NVIDIA's nvJitLink, which compiles LTO-IR to PTX, and NVIDIA's NVRTC, which compiles CUDA C++ to LTO-IR.

use super::{Failure, Input, Result};
use crate::library::{Library, symbols};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;

symbols! {
    /// The functions of NVIDIA's library.
    struct Api {
        create: "nvJitLinkCreate" (*mut *mut c_void, u32, *const *const c_char) -> c_int;
        destroy: "nvJitLinkDestroy" (*mut *mut c_void) -> c_int;
        add: "nvJitLinkAddData" (*mut c_void, c_int, *const c_void, usize, *const c_char) -> c_int;
        complete: "nvJitLinkComplete" (*mut c_void) -> c_int;
        ptx_size: "nvJitLinkGetLinkedPtxSize" (*mut c_void, *mut usize) -> c_int;
        ptx: "nvJitLinkGetLinkedPtx" (*mut c_void, *mut c_char) -> c_int;
        error_size: "nvJitLinkGetErrorLogSize" (*mut c_void, *mut usize) -> c_int;
        error: "nvJitLinkGetErrorLog" (*mut c_void, *mut c_char) -> c_int;
        version: "nvJitLinkVersion" (*mut c_uint, *mut c_uint) -> c_int;
    }
}

symbols! {
    /// The functions of NVRTC.
    struct Compiler {
        create: "nvrtcCreateProgram" (*mut *mut c_void, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char) -> c_int;
        destroy: "nvrtcDestroyProgram" (*mut *mut c_void) -> c_int;
        compile: "nvrtcCompileProgram" (*mut c_void, c_int, *const *const c_char) -> c_int;
        size: "nvrtcGetLTOIRSize" (*mut c_void, *mut usize) -> c_int;
        read: "nvrtcGetLTOIR" (*mut c_void, *mut c_char) -> c_int;
    }
}

static COMPILERS: [Library<Compiler>; 2] = [Library::new("libnvrtc.so.12"), Library::new("libnvrtc.so.13")];
static LIBRARIES: [Library<Api>; 2] = [Library::new("libnvJitLink.so.12"), Library::new("libnvJitLink.so.13")];

/// The library of a major version; `None` if it is not installed.
fn library(major: u32) -> Option<&'static Api> {
    LIBRARIES[usize::from(major >= 13)].get()
}

/// The version of the installed library.
pub(super) fn version(major: u32) -> Option<(c_uint, c_uint)> {
    let (mut found, mut minor) = (0, 0);
    // SAFETY: the documented signature; both places are writable.
    let code = unsafe { (library(major)?.version)(&raw mut found, &raw mut minor) };
    (code == 0).then_some((found, minor))
}

/// Compiles LTO-IR to PTX.
///
/// # Errors
/// The library's error, or one that says that it is not installed.
pub(super) fn ptx_of(inputs: &[Input], options: &[String], major: u32) -> Result<String> {
    let Some(api) = library(major) else {
        let name = inputs.first().map(|input| input.name.as_str()).unwrap_or_default();
        let text = format!(
            "ERROR NVJITLINK_ERROR_NVVM_COMPILE: {name} is LTO-IR, which NVIDIA's libnvJitLink.so.{major} compiles to PTX; it was \
             not found: install nvidia-nvjitlink, or pass PTX"
        );
        return Err(Failure::new(Failure::NVVM_COMPILE, text));
    };
    let options = options.iter().map(|option| text(option)).collect::<Vec<_>>();
    let pointers = options.iter().map(|option| option.as_ptr()).collect::<Vec<_>>();
    let mut link = Link { api, handle: ptr::null_mut() };
    // SAFETY: the documented signatures. The strings and inputs live during the calls.
    unsafe {
        let code = (api.create)(&raw mut link.handle, pointers.len() as u32, pointers.as_ptr());
        link.check(code)?;
        for input in inputs {
            let name = text(&input.name);
            let code = (api.add)(link.handle, input.kind, input.data.as_ptr().cast(), input.data.len(), name.as_ptr());
            link.check(code)?;
        }
        link.check((api.complete)(link.handle))?;
        let ptx = link.text(api.ptx_size, api.ptx);
        ptx.ok_or_else(|| Failure::new(Failure::INTERNAL, "ERROR NVJITLINK_ERROR_INTERNAL: no linked PTX".to_owned()))
    }
}

/// Compiles CUDA C++ to LTO-IR for an architecture; `None` without NVRTC, or if NVRTC refuses the source.
pub(super) fn ltoir_of(source: &str, architecture: &str, major: u32) -> Option<Vec<u8>> {
    let api = COMPILERS[usize::from(major >= 13)].get()?;
    let source = text(source);
    let options = [text(architecture), text("-dlto"), text("-rdc=true")];
    let pointers = options.each_ref().map(|option| option.as_ptr());
    let mut program = ptr::null_mut();
    // SAFETY: the documented signatures. The strings live during the calls, and the buffer has the size that NVRTC states.
    unsafe {
        if (api.create)(&raw mut program, source.as_ptr(), c"kept.cu".as_ptr(), 0, ptr::null(), ptr::null()) != 0 {
            return None;
        }
        let mut size = 0;
        let mut is_compiled = (api.compile)(program, pointers.len() as c_int, pointers.as_ptr()) == 0
            && (api.size)(program, &raw mut size) == 0;
        let mut bytes = vec![0_u8; size];
        is_compiled = is_compiled && (api.read)(program, bytes.as_mut_ptr().cast()) == 0;
        (api.destroy)(&raw mut program);
        is_compiled.then_some(bytes)
    }
}

fn text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// A link of NVIDIA's library.
struct Link {
    api: &'static Api,
    handle: *mut c_void,
}

impl Link {
    /// Returns the library's error log if a call failed.
    fn check(&self, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the functions are those of the error log.
        let log = unsafe { self.text(self.api.error_size, self.api.error) };
        Err(Failure::new(code, log.unwrap_or_default().trim_end().to_owned()))
    }

    /// Reads a text by the two functions for its size and for the text.
    ///
    /// # Safety
    /// The functions have the documented signatures and belong together.
    unsafe fn text(
        &self,
        size: unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int,
        read: unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int,
    ) -> Option<String> {
        let mut length = 0;
        // SAFETY: this function's contract; the buffer has the stated size and a byte more.
        unsafe {
            if (size)(self.handle, &raw mut length) != 0 {
                return None;
            }
            let mut bytes = vec![0_u8; length + 1];
            if (read)(self.handle, bytes.as_mut_ptr().cast()) != 0 {
                return None;
            }
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(length);
            Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is live, and is not used again.
            unsafe { (self.api.destroy)(&raw mut self.handle) };
        }
    }
}
