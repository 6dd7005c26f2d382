use crate::driver::{ok, open};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::v13::*;
use std::ptr;

#[test]
fn bytes_come_back_from_the_device() {
    open();
    unsafe {
        let mut memory = ptr::null_mut();
        ok(cudaMalloc(&mut memory, 16));
        ok(cudaMemset(memory, 0x1ff, 16));
        ok(cudaMemcpy(memory, [1_u8, 2, 3, 4].as_ptr().cast(), 4, 1));
        let mut read = [0_u8; 16];
        ok(cudaMemcpy(read.as_mut_ptr().cast(), memory, 16, 4));
        assert_eq!(read, [1, 2, 3, 4, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]);
        ok(cudaFree(memory));
    }
}

#[test]
fn empty_allocation_is_null_and_null_is_freed() {
    open();
    unsafe {
        let mut memory = ptr::dangling_mut();
        ok(cudaMalloc(&mut memory, 0));
        assert!(memory.is_null());
        ok(cudaFree(memory));
        ok(cudaFreeHost(memory));
    }
}

#[test]
fn unknown_direction_of_a_copy_is_refused() {
    open();
    unsafe {
        let error = cudaMemcpy(ptr::null_mut(), ptr::null(), 4, 7);
        assert_eq!(error, cudaError_t::cudaErrorInvalidMemcpyDirection);
    }
}
