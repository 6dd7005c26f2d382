use crate::driver::{ok, open};
use cuarray_abi::{CUlogsCallbackHandle, CUstream};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::ptr;

const INVALID: cudaError_t = cudaError_t::cudaErrorInvalidValue;

/// The messages from an iterator on.
fn log(from: &mut cudaLogIterator) -> String {
    let (mut buffer, mut size) = (vec![0_u8; 25_600], 25_600);
    unsafe { ok(cudaLogsDumpToMemory(from, buffer.as_mut_ptr().cast(), &mut size, 0)) };
    String::from_utf8(buffer[..size].to_vec()).unwrap()
}

/// Makes a call that the driver refuses.
fn fail() {
    unsafe { assert_ne!(cudaStreamDestroy(CUstream(0xbad0)), cudaError_t::cudaSuccess) };
}

#[test]
fn error_log_has_the_call_of_the_driver_that_failed() {
    open();
    let mut at = 0;
    unsafe {
        ok(cudaLogsCurrent(&mut at, 0));
        fail();
        let text = log(&mut at);
        assert!(text.contains("cuStreamDestroy_v2(") && text.contains("CUDA_ERROR_INVALID_HANDLE"), "{text}");
        assert_eq!(log(&mut at), "");
        assert_eq!(cudaLogsCurrent(&mut at, 1), INVALID);
        assert_eq!(cudaLogsCurrent(ptr::null_mut(), 0), INVALID);
        let mut size = 0;
        assert_eq!(cudaLogsDumpToMemory(&mut at, ptr::null_mut(), &mut size, 0), INVALID);
        assert_eq!(cudaLogsDumpToMemory(&mut at, (&raw mut size).cast(), ptr::null_mut(), 0), INVALID);
    }
}

#[test]
fn error_log_is_written_to_a_file() {
    open();
    let path = std::env::temp_dir().join(format!("cuarray-cudart-{}.log", std::process::id()));
    let name = CString::new(path.to_str().unwrap()).unwrap();
    let mut at = 0;
    unsafe {
        ok(cudaLogsCurrent(&mut at, 0));
        fail();
        ok(cudaLogsDumpToFile(&mut at, name.as_ptr(), 0));
        assert_eq!(cudaLogsDumpToFile(&mut at, name.as_ptr(), 1), INVALID);
        assert_eq!(cudaLogsDumpToFile(&mut at, ptr::null(), 0), INVALID);
    }
    assert!(std::fs::read_to_string(&path).unwrap().contains("cuStreamDestroy_v2("));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn receiver_of_the_error_log_gets_messages_until_it_is_unregistered() {
    unsafe extern "C" fn receive(data: *mut c_void, _: c_uint, text: *mut c_char, _: usize) {
        // The test passes a vector that outlives the registration, and no other test runs at the same time.
        let received = unsafe { &mut *data.cast::<Vec<String>>() };
        received.push(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    }
    open();
    let mut received: Vec<String> = Vec::new();
    let (data, mut handle) = ((&raw mut received).cast(), CUlogsCallbackHandle::NULL);
    unsafe {
        assert_eq!(cudaLogsRegisterCallback(None, data, &mut handle), INVALID);
        ok(cudaLogsRegisterCallback(Some(receive), data, &mut handle));
        received.clear();
        fail();
        ok(cudaLogsUnregisterCallback(handle));
        assert_eq!(cudaLogsUnregisterCallback(handle), INVALID);
        fail();
    }
    assert_eq!(received.len(), 1, "{received:?}");
    assert!(received[0].contains("cuStreamDestroy_v2("), "{received:?}");
}
