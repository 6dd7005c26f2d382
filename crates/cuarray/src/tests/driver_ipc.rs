//! Memory of another process: a second driver in its own thread stands for that process.

use super::driver_fixture::{Alive, Fixture, calls};
use crate::driver::{Allocation, IpcMemHandle, copy::copy_device_to_host, fill::fill_bytes};
use crate::{Context, Stream};
use cuarray_abi::CUresult;

/// Runs `f` with another driver, and asserts that it leaks nothing.
fn in_other_process(f: impl FnOnce(&Fixture, &Context) + Send) {
    let run = || {
        let fixture = Fixture::new();
        {
            let context = fixture.primary();
            f(&fixture, &context);
        }
        assert_eq!(Alive::of(&fixture.sim).allocations, 0);
        assert_eq!(fixture.current(), 0);
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap());
}

fn read(context: &Context, ptr: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    // SAFETY: the tests pass live memory of at least 16 bytes.
    unsafe { copy_device_to_host(context, bytes.as_mut_ptr(), ptr, 16, None) }.unwrap();
    bytes
}

#[test]
fn another_process_can_open_and_close_memory() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 16).unwrap();
    // SAFETY: the memory has that many bytes.
    unsafe { fill_bytes(&context, memory.device_ptr(), &[5], 16, None) }.unwrap();
    let handle = IpcMemHandle::of(&context, memory.device_ptr() + 3).unwrap();
    assert_eq!(IpcMemHandle::of(&context, memory.device_ptr()).unwrap(), handle);
    assert_eq!(fixture.current(), 0);
    context.synchronize().unwrap();

    let bytes = *handle.as_bytes();
    in_other_process(|other, context| {
        let handle = IpcMemHandle::from_bytes(bytes);
        let opened = handle.open(context).unwrap();
        let again = handle.open(context).unwrap();
        assert_eq!((opened.device_ptr(), opened.context()), (again.device_ptr(), context));
        drop(again);
        assert_eq!(read(context, opened.device_ptr()), [5; 16]);
        // SAFETY: the memory has that many bytes.
        unsafe {
            let stream = Stream::non_blocking(context).unwrap();
            fill_bytes(context, opened.device_ptr(), &[6], 16, Some(&stream)).unwrap();
        }
        drop(opened);
        assert_eq!(calls(&other.sim, "cuIpcCloseMemHandle"), 2);
        assert!(other.driver.take_drop_error().is_none());
    });
    assert_eq!(read(&context, memory.device_ptr()), [6; 16], "closing waited for the work");
}

#[test]
fn unshareable_memory_and_stale_handles_are_driver_errors() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let managed = Allocation::managed(&context, 16).unwrap();
    let stream = Stream::new(&context).unwrap();
    let pooled = Allocation::stream_ordered(&stream, 16).unwrap();
    for ptr in [managed.device_ptr(), pooled.device_ptr(), 0, 4096] {
        let error = IpcMemHandle::of(&context, ptr).unwrap_err();
        let call_and_code = (error.driver_call(), error.driver_code());
        assert_eq!(call_and_code, (Some("cuIpcGetMemHandle"), Some(CUresult::CUDA_ERROR_INVALID_VALUE)));
    }
    let memory = Allocation::device(&context, 16).unwrap();
    let handle = IpcMemHandle::of(&context, memory.device_ptr()).unwrap();
    assert_eq!(handle.open(&context).unwrap_err().driver_code(), Some(CUresult::CUDA_ERROR_INVALID_CONTEXT));
    drop(memory);
    in_other_process(|_, context| {
        let error = handle.open(context).unwrap_err();
        assert_eq!(error.driver_code(), Some(CUresult::CUDA_ERROR_INVALID_HANDLE));
        let nonsense = IpcMemHandle::from_bytes([7; IpcMemHandle::LEN]).open(context).unwrap_err();
        assert_eq!(nonsense.driver_code(), Some(CUresult::CUDA_ERROR_INVALID_HANDLE));
    });
}

#[test]
fn failed_close_is_reported_by_take_drop_error() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 16).unwrap();
    let handle = IpcMemHandle::of(&context, memory.device_ptr()).unwrap();
    std::thread::scope(|scope| {
        let run = || {
            let other = Fixture::new();
            let opened = handle.open(&other.primary()).unwrap();
            other.sim.fail_next("cuIpcCloseMemHandle", CUresult::CUDA_ERROR_LAUNCH_FAILED).unwrap();
            drop(opened);
            let error = other.driver.take_drop_error().unwrap();
            assert_eq!(error.driver_call(), Some("cuIpcCloseMemHandle"));
        };
        scope.spawn(run).join().unwrap();
    });
}

#[test]
fn memory_stays_open_if_its_work_cannot_be_waited_for_and_is_closed_later() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 16).unwrap();
    let handle = IpcMemHandle::of(&context, memory.device_ptr()).unwrap();
    context.synchronize().unwrap();
    let bytes = *handle.as_bytes();
    in_other_process(|other, context| {
        let opened = IpcMemHandle::from_bytes(bytes).open(context).unwrap();
        other.sim.fail_next("cuCtxSynchronize", CUresult::CUDA_ERROR_UNKNOWN).unwrap();
        drop(opened);
        let error = other.driver.take_drop_error().unwrap();
        assert_eq!(
            (error.driver_call(), error.driver_code()),
            (Some("cuCtxSynchronize"), Some(CUresult::CUDA_ERROR_UNKNOWN))
        );
        assert_eq!(calls(&other.sim, "cuIpcCloseMemHandle"), 0);
        other.driver.reclaim(false);
        assert_eq!(calls(&other.sim, "cuIpcCloseMemHandle"), 0, "closed without a wait");
        other.driver.reclaim(true);
        assert_eq!(calls(&other.sim, "cuIpcCloseMemHandle"), 1);
        assert!(other.driver.take_drop_error().is_none());
    });
}
