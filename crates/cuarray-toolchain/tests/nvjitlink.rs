//! nvJitLink's functions, called as a program in C calls them. Codes and messages were compared with nvJitLink 13.5.

use cuarray_ptx::Image;
use cuarray_toolchain::nvjitlink::exports::*;
use cuarray_toolchain::nvjitlink::kind;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

const KERNEL: &str = ".version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) twice(.param .b32 a);
.visible .entry k() { .reg .b32 x; { .param .b32 p; .param .b32 q; st.param.b32 [p], x; call (q), twice, (p); } ret; }
";
const FUNCTION: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 x; ld.param.b32 x, [a]; add.s32 x, x, x; st.param.b32 [r], x; ret; }
";

/// A link, destroyed when it is dropped.
struct Linking(Handle);

impl Linking {
    fn new(options: &[&str]) -> (Linking, c_int) {
        let options = options.iter().map(|option| CString::new(*option).unwrap()).collect::<Vec<_>>();
        let pointers = options.iter().map(|option| option.as_ptr()).collect::<Vec<_>>();
        let mut handle = ptr::null_mut();
        // SAFETY: live strings, and a place for the handle.
        let code = unsafe { nvJitLinkCreate(13, &raw mut handle, pointers.len() as u32, pointers.as_ptr()) };
        (Linking(handle), code)
    }

    fn add(&self, kind: c_int, data: &[u8], name: &str) -> c_int {
        let name = CString::new(name).unwrap();
        // SAFETY: live bytes and a live string.
        unsafe { nvJitLinkAddData(13, self.0, kind, data.as_ptr().cast(), data.len(), name.as_ptr()) }
    }

    fn complete(&self) -> c_int {
        // SAFETY: a live handle.
        unsafe { nvJitLinkComplete(13, self.0) }
    }

    fn errors(&self) -> String {
        // SAFETY: a live handle; the buffer has the size that the library states.
        unsafe {
            let mut size = 0;
            assert_eq!(nvJitLinkGetErrorLogSize(13, self.0, &raw mut size), 0);
            let mut log = vec![0_u8; size];
            assert_eq!(nvJitLinkGetErrorLog(13, self.0, log.as_mut_ptr().cast()), 0);
            assert_eq!(log.pop().unwrap_or(0), 0);
            String::from_utf8(log).unwrap()
        }
    }

    fn cubin(&self) -> Result<Vec<u8>, c_int> {
        // SAFETY: a live handle; the buffer has the size that the library states.
        unsafe {
            let mut size = 0;
            match nvJitLinkGetLinkedCubinSize(13, self.0, &raw mut size) {
                0 => {}
                code => return Err(code),
            }
            let mut cubin = vec![0_u8; size];
            assert_eq!(nvJitLinkGetLinkedCubin(13, self.0, cubin.as_mut_ptr().cast()), 0);
            Ok(cubin)
        }
    }
}

impl Drop for Linking {
    fn drop(&mut self) {
        // SAFETY: a live handle.
        unsafe {
            assert_eq!(nvJitLinkDestroy(13, &raw mut self.0), 0);
            assert!(self.0.is_null());
            assert_eq!(nvJitLinkDestroy(13, &raw mut self.0), 10);
        }
    }
}

fn linking() -> Linking {
    let (linking, code) = Linking::new(&["-arch=sm_90", "-lineinfo", "-O3", "-maxrregcount=40"]);
    assert_eq!(code, 0);
    linking
}

#[test]
fn ptx_modules_are_linked_to_an_image_that_the_driver_reads() {
    let linking = linking();
    assert_eq!(linking.cubin(), Err(6), "before the link is complete");
    assert_eq!(linking.add(kind::PTX, KERNEL.as_bytes(), "kernel"), 0);
    assert_eq!(linking.add(kind::ANY, format!("{FUNCTION}\0").as_bytes(), "function"), 0);
    assert_eq!(linking.complete(), 0, "{}", linking.errors());
    let image = Image::read(&linking.cubin().unwrap()).unwrap();
    assert_eq!(image.max_registers, 40);
    let names = image.modules.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["kernel", "function"]);
    assert_eq!(cuarray_ptx::load(&image).unwrap().kernels().len(), 1);
    assert_eq!(linking.errors(), "");
}

#[test]
fn linked_image_and_ptx_are_inputs_in_the_place_of_a_cubin() {
    let first = linking();
    assert_eq!(first.add(kind::PTX, FUNCTION.as_bytes(), "function"), 0);
    assert_eq!(first.complete(), 0);
    let second = linking();
    assert_eq!(second.add(kind::CUBIN, &first.cubin().unwrap(), "linked"), 0);
    assert_eq!(second.add(kind::CUBIN, KERNEL.as_bytes(), "kernel"), 0);
    assert_eq!(second.complete(), 0, "{}", second.errors());
}

#[test]
fn undefined_function_is_an_error_of_the_link() {
    let linking = linking();
    assert_eq!(linking.add(kind::PTX, KERNEL.as_bytes(), "kernel"), 0);
    assert_eq!(linking.complete(), 6);
    assert_eq!(linking.errors(), "error   : Undefined reference to 'twice' in 'kernel'\nERROR 9: complete\n");
    assert_eq!(linking.cubin(), Err(6));
}

#[test]
fn inputs_that_are_not_of_their_kind_are_refused() {
    let linking = linking();
    let ptx = FUNCTION.as_bytes();
    let cubin = [b"\x7fELF\x02\x01\x01", &[0; 11][..], &190_u16.to_le_bytes(), &[0; 44][..]].concat();
    for (given, data, code, text) in [
        (kind::LTOIR, ptx, 12, "does not match type NVJITLINK_INPUT_LTOIR: x"),
        (kind::OBJECT, ptx, 12, "does not match type NVJITLINK_INPUT_OBJECT: x"),
        (kind::LIBRARY, ptx, 12, "does not match type NVJITLINK_INPUT_LIBRARY: x"),
        (kind::FATBIN, ptx, 12, "does not match type NVJITLINK_INPUT_FATBIN: x"),
        (kind::NONE, ptx, 12, "unsupported input type: x"),
        (kind::INDEX, ptx, 12, "unsupported input type: x"),
        (kind::PTX, b"", 3, ""),
        (kind::ANY, b"\x01\x02\x03", 8, "unrecognized input type: x"),
        (kind::PTX, b".version 8.0\n.target sm_100\n", 4, "higher than default SM version"),
        (kind::PTX, b".version 8.0\n.target sm_80a\n", 4, "of another family"),
        (kind::PTX, b".version 8.0\n.target sm_80\n.address_size 64\nhello", 4, "JIT the PTX (x)"),
        (kind::CUBIN, &cubin, 3, "x: the image holds machine code only, no PTX"),
        (kind::ANY, b"\xedCN\x7f\x00\x00", 18, "x is LTO-IR, which requires -lto"),
    ] {
        assert_eq!(linking.add(given, data, "x"), code, "{text}");
        let errors = linking.errors();
        assert!(errors.lines().rev().take(2).any(|line| line.contains(text)), "{text}: {errors}");
    }
}

#[test]
fn missing_architecture_and_unknown_options_are_errors_with_a_log() {
    assert_eq!(Linking::new(&[]).1, 2);
    let (linking, code) = Linking::new(&["-arch=sm_90", "-unknown"]);
    assert_eq!((code, linking.errors().as_str()), (1, "unrecognized option: -unknown\n"));
}

#[test]
fn null_and_invalid_handles_are_errors() {
    // SAFETY: null, and a handle that no call returned; handles are not read as addresses.
    unsafe {
        assert_eq!(nvJitLinkComplete(13, ptr::null_mut()), 10);
        assert_eq!(nvJitLinkComplete(13, ptr::without_provenance_mut::<c_void>(7)), 3);
        assert_eq!(nvJitLinkDestroy(13, ptr::null_mut()), 10);
        assert_eq!(nvJitLinkCreate(13, ptr::null_mut(), 0, ptr::null()), 10);
        let mut handle = ptr::null_mut();
        assert_eq!(nvJitLinkCreate(13, &raw mut handle, 1, ptr::null::<*const c_char>()), 10);
    }
    let linking = linking();
    // SAFETY: null is an error.
    unsafe {
        assert_eq!(nvJitLinkAddData(13, linking.0, kind::PTX, ptr::null(), 5, ptr::null()), 3);
        assert_eq!(nvJitLinkAddFile(13, linking.0, kind::PTX, c"/nonexistent".as_ptr()), 3);
        assert_eq!(nvJitLinkGetLinkedPtxSize(13, linking.0, ptr::null_mut()), 3);
    }
    assert_eq!(linking.errors(), "no such file: /nonexistent\n");
}

#[test]
fn link_without_inputs_gives_an_image_without_kernels() {
    let linking = linking();
    assert_eq!(linking.complete(), 0);
    let image = Image::read(&linking.cubin().unwrap()).unwrap();
    assert!(cuarray_ptx::load(&image).unwrap().kernels().is_empty());
}
