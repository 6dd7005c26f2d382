use crate::driver::{ok, open};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::v13::*;
use std::ptr;

#[test]
fn device_of_a_thread_is_its_own() {
    open();
    unsafe {
        let (mut count, mut device) = (0, -1);
        ok(cudaGetDeviceCount(&mut count));
        assert_eq!(count, 2);
        ok(cudaSetDevice(1));
        ok(cudaGetDevice(&mut device));
        assert_eq!(device, 1);
        let other = std::thread::spawn(|| {
            let mut device = -1;
            ok(cudaGetDevice(&mut device));
            device
        });
        assert_eq!(other.join().unwrap(), 0);
    }
}

#[test]
fn null_output_is_an_invalid_value() {
    open();
    unsafe {
        assert_eq!(cudaGetDeviceCount(ptr::null_mut()), cudaError_t::cudaErrorInvalidValue);
        assert_eq!(cudaGetDevice(ptr::null_mut()), cudaError_t::cudaErrorInvalidValue);
    }
}
