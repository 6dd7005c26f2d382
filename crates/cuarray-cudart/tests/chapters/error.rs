use crate::driver::{ok, open};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::v13::*;
use std::ffi::CStr;
use std::ptr;

#[test]
fn last_error_is_returned_once() {
    open();
    unsafe {
        assert_eq!(cudaSetDevice(99), cudaError_t::cudaErrorInvalidDevice);
        ok(cudaSetDevice(0));
        assert_eq!(cudaPeekAtLastError(), cudaError_t::cudaErrorInvalidDevice);
        assert_eq!(cudaGetLastError(), cudaError_t::cudaErrorInvalidDevice);
        ok(cudaGetLastError());
    }
}

#[test]
fn last_error_of_another_thread_is_not_seen() {
    open();
    unsafe {
        assert_eq!(cudaSetDevice(99), cudaError_t::cudaErrorInvalidDevice);
        std::thread::spawn(|| ok(cudaPeekAtLastError())).join().unwrap();
        assert_eq!(cudaGetLastError(), cudaError_t::cudaErrorInvalidDevice);
    }
}

#[test]
fn names_and_texts_are_those_of_the_runtime() {
    unsafe {
        let name = |code| CStr::from_ptr(cudaGetErrorName(cudaError_t(code))).to_str().unwrap();
        let text = |code| CStr::from_ptr(cudaGetErrorString(cudaError_t(code))).to_str().unwrap();
        assert_eq!((name(0), text(0)), ("cudaSuccess", "no error"));
        assert_eq!((name(2), text(2)), ("cudaErrorMemoryAllocation", "out of memory"));
        assert_eq!(name(98), "cudaErrorInvalidDeviceFunction");
        assert_eq!((name(12345), text(12345)), ("unrecognized error code", "unrecognized error code"));
    }
}

#[test]
fn refused_function_answers_not_supported_and_is_counted() {
    unsafe {
        assert_eq!(cudaGLSetGLDevice(), cudaError_t::cudaErrorNotSupported);
        assert_eq!(cudaGetLastError(), cudaError_t::cudaErrorNotSupported);
        assert_eq!(cudaGetExportTable(ptr::null_mut(), ptr::null()), cudaError_t::cudaErrorNotSupported);
    }
    let refusals = cuarray_cudart::refusals();
    assert!(refusals.iter().any(|(name, calls)| *name == "cudaGLSetGLDevice" && *calls == 1), "{refusals:?}");
}
