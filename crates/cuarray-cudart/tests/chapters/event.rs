use crate::driver::{ok, open};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use std::ptr;

#[test]
fn unfinished_work_is_not_ready_and_leaves_no_last_error() {
    open();
    unsafe {
        let (mut stream, mut event, mut memory) = (cudaStream_t::default(), cudaEvent_t::default(), ptr::null_mut());
        ok(cudaStreamCreate(&mut stream));
        ok(cudaEventCreate(&mut event));
        ok(cudaMalloc(&mut memory, 64));
        ok(cudaMemsetAsync(memory, 1, 64, stream));
        ok(cudaEventRecord(event, stream));
        assert_eq!(cudaEventQuery(event), cudaError_t::cudaErrorNotReady);
        ok(cudaPeekAtLastError());
        ok(cudaEventSynchronize(event));
        ok(cudaEventQuery(event));
        ok(cudaFree(memory));
        ok(cudaEventDestroy(event));
        ok(cudaStreamDestroy(stream));
    }
}

#[test]
fn time_between_events_is_not_negative() {
    open();
    unsafe {
        let (mut start, mut end, mut time) = (cudaEvent_t::default(), cudaEvent_t::default(), -1.0);
        ok(cudaEventCreateWithFlags(&mut start, 0));
        ok(cudaEventCreate(&mut end));
        ok(cudaEventRecord(start, cudaStream_t::default()));
        ok(cudaEventRecord(end, cudaStream_t::default()));
        ok(cudaEventSynchronize(end));
        ok(cudaEventElapsedTime(&mut time, start, end));
        assert!(time >= 0.0);
        assert_eq!(cudaEventElapsedTime(ptr::null_mut(), start, end), cudaError_t::cudaErrorInvalidValue);
        ok(cudaEventDestroy(start));
        ok(cudaEventDestroy(end));
        assert_eq!(cudaEventDestroy(end), cudaError_t::cudaErrorInvalidResourceHandle);
        assert_eq!(cudaGetLastError(), cudaError_t::cudaErrorInvalidResourceHandle);
    }
}
