//! Cases that need their own process: another driver or none, faults, fork, and exit.

use crate::driver::{ok, open};
use crate::execution::{ONE, PTX, register};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::{v12, v13::*};
use std::process::Command;
use std::ptr;

/// Runs an ignored test in a process with these variables, and returns its standard error.
#[track_caller]
pub(crate) fn child(test: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", test]);
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
    stderr.into_owned()
}

#[test]
fn missing_driver_is_an_insufficient_driver() {
    let folder = std::env::temp_dir().join(format!("cuarray-cudart-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // A file that is no library ends the search.
    std::fs::write(folder.join("libcuda.so.1"), "garbage ".repeat(99)).unwrap();
    child("process::without_a_driver", &[("LD_LIBRARY_PATH", folder.to_str().unwrap())]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[ignore = "missing_driver_is_an_insufficient_driver runs it"]
fn without_a_driver() {
    let expected = cudaError_t::cudaErrorInsufficientDriver;
    let (mut number, mut memory) = (7, ptr::null_mut());
    unsafe {
        assert_eq!(cudaGetDeviceCount(&mut number), expected);
        assert_eq!(cudaGetLastError(), expected);
        assert_eq!(cudaMalloc(&mut memory, 8), expected);
        assert_eq!(cudaSetDevice(0), expected);
        ok(cudaDriverGetVersion(&mut number));
        assert_eq!(number, 0);
    }
}

#[test]
fn older_driver_is_insufficient_for_the_newer_major() {
    child("process::with_a_driver_of_cuda_12", &[("CUARRAY_SIM_DRIVER_VERSION", "12080")]);
}

#[test]
#[ignore = "older_driver_is_insufficient_for_the_newer_major runs it"]
fn with_a_driver_of_cuda_12() {
    open();
    let mut count = 0;
    unsafe {
        assert_eq!(cudaGetDeviceCount(&mut count), cudaError_t::cudaErrorInsufficientDriver);
        ok(v12::cudaGetDeviceCount(&mut count));
    }
    assert_eq!(count, 2);
}

#[test]
fn machine_without_a_device_is_no_device() {
    child("process::without_a_device", &[("CUDA_VISIBLE_DEVICES", "")]);
}

#[test]
#[ignore = "machine_without_a_device_is_no_device runs it"]
fn without_a_device() {
    open();
    let mut count = 0;
    unsafe { assert_eq!(cudaGetDeviceCount(&mut count), cudaError_t::cudaErrorNoDevice) };
}

#[test]
fn driver_s_refusals_become_errors_of_the_runtime() {
    let symbols = ["cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemAlloc_v2"];
    for symbol in symbols {
        child("process::with_one_fault", &[("CUARRAY_SIM_FAULTS", &format!("{symbol}:1:CUDA_ERROR_OUT_OF_MEMORY"))]);
    }
}

#[test]
#[ignore = "driver_s_refusals_become_errors_of_the_runtime runs it"]
fn with_one_fault() {
    open();
    let mut memory = ptr::null_mut();
    unsafe {
        assert_eq!(cudaMalloc(&mut memory, 8), cudaError_t::cudaErrorMemoryAllocation);
        assert_eq!(cudaGetLastError(), cudaError_t::cudaErrorMemoryAllocation);
        assert!(memory.is_null());
        // The next call succeeds, so nothing of the failed one is left.
        ok(cudaMalloc(&mut memory, 8));
        ok(cudaFree(memory));
    }
}

#[test]
fn lost_context_is_bound_again() {
    child("process::after_the_context_was_taken_away", &[]);
}

#[test]
#[ignore = "lost_context_is_bound_again runs it"]
fn after_the_context_was_taken_away() {
    open();
    let (mut memory, mut set_current) = (ptr::null_mut(), ptr::null_mut());
    unsafe {
        ok(cudaMalloc(&mut memory, 8));
        ok(cudaGetDriverEntryPoint(c"cuCtxSetCurrent".as_ptr(), &mut set_current, 0, ptr::null_mut()));
        let set_current: extern "C" fn(usize) -> u32 = std::mem::transmute(set_current);
        assert_eq!(set_current(0), 0);
        ok(cudaMalloc(&mut memory, 8));
        // A reset ends the context of every thread; the next call makes a new one.
        ok(cudaDeviceReset());
        ok(cudaMalloc(&mut memory, 8));
        ok(cudaMemset(memory, 0, 8));
        ok(cudaDeviceSynchronize());
    }
}

#[test]
fn child_of_a_fork_is_not_initialized() {
    child("process::use_in_a_child_of_fork", &[]);
}

#[test]
#[ignore = "child_of_a_fork_is_not_initialized runs it"]
fn use_in_a_child_of_fork() {
    open();
    let mut memory = ptr::null_mut();
    unsafe {
        ok(cudaMalloc(&mut memory, 8));
        static HOST: u8 = 0;
        let handle = register(PTX, (&raw const HOST).cast(), c"write");
        let pid = libc::fork();
        if pid == 0 {
            // As at exit; the image is the parent's.
            __cudaUnregisterFatBinary(handle);
            let error = cudaMalloc(&mut memory, 8);
            libc::_exit(error.0 as i32);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
        assert_eq!(libc::WEXITSTATUS(status), cudaError_t::cudaErrorInitializationError.0 as i32);
        ok(cudaFree(memory));
    }
}

#[test]
fn refusals_are_traced_once_and_counted_at_exit() {
    let stderr = child("process::calls_of_a_refused_function", &[("CUARRAY_CUDART_TRACE", "refusals")]);
    assert_eq!(
        stderr.matches("cuarray-cudart: cudaGLSetGLDevice is not supported: cudaErrorNotSupported").count(),
        1,
        "{stderr}"
    );
    assert!(stderr.contains("cuarray-cudart: cudaGLSetGLDevice: 3 calls refused"), "{stderr}");
}

#[test]
#[ignore = "refusals_are_traced_once_and_counted_at_exit runs it"]
fn calls_of_a_refused_function() {
    for _ in 0..3 {
        unsafe { assert_eq!(cudaGLSetGLDevice(), cudaError_t::cudaErrorNotSupported) };
    }
}

#[test]
fn failed_kernel_is_the_error_of_every_later_call() {
    child("process::after_a_kernel_failed", &[]);
}

#[test]
#[ignore = "failed_kernel_is_the_error_of_every_later_call runs it"]
fn after_a_kernel_failed() {
    open();
    let expected = cudaError_t::cudaErrorIllegalAddress;
    unsafe {
        let mut memory = ptr::null_mut();
        ok(cudaMalloc(&mut memory, 8));
        static HOST: u8 = 0;
        let host = (&raw const HOST).cast();
        register(PTX, host, c"write");
        let mut wild = 64_u64;
        let mut args = [(&raw mut wild).cast()];
        ok(cudaLaunchKernel(host, ONE, ONE, args.as_mut_ptr(), 0, Default::default()));
        assert_eq!(cudaDeviceSynchronize(), expected);
        assert_eq!(cudaMemset(memory, 0, 8), expected);
        assert_eq!(cudaGetLastError(), expected);
        // The error stays, since no call can succeed until the process ends.
        assert_eq!(cudaGetLastError(), expected);
        assert_eq!(cudaDeviceReset(), expected);
    }
}
