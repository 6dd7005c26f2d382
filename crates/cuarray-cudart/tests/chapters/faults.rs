//! A driver that refuses a call: each function of the runtime returns the driver's error, and succeeds when it is called again.

use crate::driver::{ok, open};
use crate::process::child;
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use std::ptr;

/// A function of the driver, with a call of the runtime that needs it.
type Case = (&'static str, Box<dyn Fn() -> cudaError_t>);

fn cases() -> Vec<Case> {
    macro_rules! case {
        ($symbol:literal, $call:expr) => {
            ($symbol, Box::new(move || unsafe { $call }) as Box<dyn Fn() -> cudaError_t>)
        };
    }
    let (mut stream, mut event, mut memory) = (cudaStream_t::default(), cudaEvent_t::default(), ptr::null_mut());
    unsafe {
        ok(cudaStreamCreateWithFlags(&mut stream, 1));
        ok(cudaEventCreateWithFlags(&mut event, 2));
        ok(cudaHostAlloc(&mut memory, 64, 0));
    }
    vec![
        case!("cuDeviceGetAttribute", cudaDeviceGetAttribute(&mut 0, 1, 0)),
        case!("cuDeviceGetName", cudaGetDeviceProperties([0_u64; 126].as_mut_ptr().cast(), 0)),
        case!("cuDeviceCanAccessPeer", cudaDeviceCanAccessPeer(&mut 0, 0, 1)),
        case!("cuCtxSynchronize", cudaDeviceSynchronize()),
        case!("cuCtxGetLimit", cudaDeviceGetLimit(&mut 0, 0)),
        case!("cuCtxGetStreamPriorityRange", cudaDeviceGetStreamPriorityRange(&mut 0, &mut 0)),
        case!("cuStreamCreateWithPriority", cudaStreamCreateWithPriority(&mut cudaStream_t::default(), 1, 0)),
        case!("cuStreamSynchronize", cudaStreamSynchronize(stream)),
        case!("cuStreamQuery", cudaStreamQuery(stream)),
        case!("cuStreamWaitEvent", cudaStreamWaitEvent(stream, event, 0)),
        case!("cuStreamGetFlags", cudaStreamGetFlags(stream, &mut 0)),
        case!("cuStreamIsCapturing", cudaStreamIsCapturing(stream, &mut 0)),
        case!("cuEventRecord", cudaEventRecord(event, stream)),
        case!("cuEventSynchronize", cudaEventSynchronize(event)),
        case!("cuEventQuery", cudaEventQuery(event)),
        case!("cuMemGetInfo_v2", cudaMemGetInfo(&mut 0, &mut 0)),
        case!("cuMemHostGetDevicePointer_v2", cudaHostGetDevicePointer(&mut ptr::null_mut(), memory, 0)),
        case!("cuPointerGetAttributes", cudaPointerGetAttributes([0_u64; 11].as_mut_ptr().cast(), memory)),
        case!(
            "cuGetProcAddress_v2",
            cudaGetDriverEntryPoint(c"cuInit".as_ptr(), &mut ptr::null_mut(), 0, ptr::null_mut())
        ),
        case!("cuProfilerStart", cudaProfilerStart()),
        case!("cuStreamDestroy_v2", cudaStreamDestroy(stream)),
        case!("cuEventDestroy_v2", cudaEventDestroy(event)),
        case!("cuMemFreeHost", cudaFreeHost(memory)),
    ]
}

#[test]
fn refused_call_of_the_driver_is_the_error_of_the_runtime_s_call() {
    open();
    let faults: Vec<_> = cases().iter().map(|(symbol, _)| format!("{symbol}:1:CUDA_ERROR_OUT_OF_MEMORY")).collect();
    child("faults::each_case_fails_once", &[("CUARRAY_SIM_FAULTS", &faults.join(","))]);
}

#[test]
#[ignore = "refused_call_of_the_driver_is_the_error_of_the_runtime_s_call runs it"]
fn each_case_fails_once() {
    open();
    for (symbol, call) in cases() {
        assert_eq!(call(), cudaError_t::cudaErrorMemoryAllocation, "{symbol}");
        assert_eq!(unsafe { cudaGetLastError() }, cudaError_t::cudaErrorMemoryAllocation, "{symbol}");
        assert_eq!(call(), cudaError_t::cudaSuccess, "{symbol}, called again");
        ok(unsafe { cudaPeekAtLastError() });
    }
}
