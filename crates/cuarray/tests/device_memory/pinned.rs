//! Asynchronous copies with pinned arrays: order, waits, release, and errors.

use crate::driver_fixture::{Fixture, calls, streams};
use cuarray::{DeviceArray, Ix1, PinnedArray, Stream, s};
use cuarray_abi::{CU_STREAM_CAPTURE_MODE_RELAXED, CUresult, CUstream};
use cuarray_sim::{Config, Sim};
use std::mem;

/// The calls that wait on the host.
fn waits(sim: &Sim) -> usize {
    ["cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"].iter().map(|symbol| calls(sim, symbol)).sum()
}

fn counted(stream: &Stream) -> DeviceArray<u32, Ix1> {
    DeviceArray::from_host(&[1, 2, 3, 4], [4], stream).unwrap()
}

#[test]
fn copies_in_both_directions_are_ordered_and_do_not_wait() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [home, other] = streams(&context);
    let mut array = DeviceArray::<u32, _>::zeros([2, 3], &home).unwrap();
    let before = waits(&fixture.sim);
    let host = PinnedArray::from_slice(&[1, 2, 3, 4, 5, 6], &context).unwrap();
    let sent = array.with_mut(&other, |guard| guard.copy_from_pinned(host)).unwrap();
    let columns = array.t();
    let target = PinnedArray::zeros(6, &context).unwrap();
    let received = columns.with(&home, |guard| guard.copy_to_pinned(target)).unwrap();
    assert_eq!(waits(&fixture.sim), before);
    assert_eq!(*received.wait().unwrap(), [1, 4, 2, 5, 3, 6]);
    assert!(sent.is_done().unwrap());
    assert_eq!(*sent.wait().unwrap(), [1, 2, 3, 4, 5, 6]);
    assert!(fixture.sim.report().findings.is_empty());
}

#[test]
fn wait_ends_with_the_copy_and_not_with_later_work() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [stream] = streams(&context);
    let mut array = counted(&stream);
    let target = PinnedArray::zeros(4, &context).unwrap();
    let received = array.with(&stream, |guard| guard.copy_to_pinned(target)).unwrap();
    let later = PinnedArray::from_slice(&[9; 4], &context).unwrap();
    let later = array.with_mut(&stream, |guard| guard.copy_from_pinned(later)).unwrap();
    let count = || ["cuEventSynchronize", "cuStreamSynchronize"].map(|symbol| calls(&fixture.sim, symbol));
    let [events, whole_streams] = count();
    assert_eq!(*received.wait().unwrap(), [1, 2, 3, 4]);
    assert_eq!(count(), [events + 1, whole_streams]);
    later.wait().unwrap();
    assert_eq!(array.to_host().unwrap(), [9; 4]);
}

#[test]
fn dropped_copy_frees_its_memory_after_the_work() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [stream] = streams(&context);
    let array = counted(&stream);
    stream.synchronize().unwrap();
    let before = (fixture.alive().allocations, waits(&fixture.sim));
    let target = PinnedArray::zeros(4, &context).unwrap();
    drop(array.with(&stream, |guard| guard.copy_to_pinned(target)).unwrap());
    assert_eq!((fixture.alive().allocations, waits(&fixture.sim)), (before.0 + 1, before.1));
    fixture.driver.reclaim(true);
    assert_eq!(fixture.alive().allocations, before.0);
    assert!(fixture.sim.report().findings.is_empty());
}

#[test]
fn leaked_copy_and_leaked_guard_leave_memory_valid() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [home, other] = streams(&context);
    let mut array = counted(&home);
    let host = PinnedArray::from_slice(&[5; 4], &context).unwrap();
    let mut guard = array.acquire_mut(&other).unwrap();
    mem::forget(guard.copy_from_pinned(host).unwrap());
    mem::forget(guard);
    drop(array);
    fixture.driver.reclaim(true);
    assert_eq!(fixture.alive().allocations, 1); // the leaked array
    assert!(fixture.sim.report().findings.iter().all(|finding| finding.kind.name() == "leak"));
}

#[test]
fn pinned_array_is_a_slice_of_zeros_at_first() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let mut array = PinnedArray::<u16>::zeros(3, &context).unwrap();
    assert_eq!(format!("{array:?}"), "PinnedArray([0, 0, 0])");
    array[1] = 7;
    assert_eq!(array.iter().sum::<u16>(), 7);
    assert!(PinnedArray::<f64>::zeros(0, &context).unwrap().is_empty());
    assert!(PinnedArray::<f64>::zeros(usize::MAX / 4, &context).unwrap_err().is_invalid_argument());
}

#[test]
fn elements_with_padding_are_sent_with_zeros_there() {
    cuarray::element! {
        #[derive(Debug, PartialEq)]
        struct Padded {
            small: u8,
            large: u32,
        }
    }
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [stream] = streams(&context);
    let mut host = PinnedArray::<Padded>::zeros(1, &context).unwrap();
    // SAFETY: the array has 8 bytes.
    unsafe { host.as_mut_ptr().cast::<u8>().write_bytes(0xff, 8) };
    let mut array = DeviceArray::<Padded, _>::empty([1], &stream).unwrap();
    array.with_mut(&stream, |guard| guard.copy_from_pinned(host)).unwrap().wait().unwrap();
    let mut bytes = [0u8; 8];
    let address = array.interface().data();
    // SAFETY: both sides have 8 bytes, and the call waits for the copy.
    unsafe { cuarray::driver::copy::copy_device_to_host(&context, bytes.as_mut_ptr(), address, 8, None) }.unwrap();
    assert_eq!(bytes, [0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
}

#[test]
fn wrong_length_other_driver_and_captures_are_errors() {
    let (fixture, others) = (Fixture::new(), Sim::new(Config { quiet: true, ..Config::default() }));
    let context = fixture.primary();
    let [home] = streams(&context);
    let array = counted(&home);
    let copied = |host: PinnedArray<u32>, stream: &Stream| array.with(stream, |guard| guard.copy_to_pinned(host));
    let error = copied(PinnedArray::zeros(3, &context).unwrap(), &home).unwrap_err();
    assert!(error.is_invalid_argument() && error.to_string().contains("3 elements"), "{error}");
    {
        let _entered = others.enter();
        // SAFETY: the simulator behaves as a driver.
        let driver = unsafe { cuarray::Driver::from_api(others.api()) }.unwrap();
        let host = PinnedArray::zeros(4, &driver.default_context().unwrap()).unwrap();
        assert!(copied(host, &home).unwrap_err().is_invalid_argument());
    }
    let host = PinnedArray::zeros(4, &context).unwrap();
    let begin = fixture.driver.api().cuStreamBeginCapture_v2.unwrap();
    let _current = context.push().unwrap();
    // SAFETY: the stream is alive.
    assert_eq!(unsafe { begin(CUstream(home.handle()), CU_STREAM_CAPTURE_MODE_RELAXED) }, CUresult::CUDA_SUCCESS);
    assert!(copied(host, &home).unwrap_err().is_unsupported());
}

#[test]
fn failed_copy_of_several_boxes_frees_the_array_after_the_others() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [stream] = streams(&context);
    let array = DeviceArray::<u8, _>::zeros([3, 3], &stream).unwrap();
    let reversed = array.slice(s![.., ..;-1]).unwrap();
    let before = fixture.alive().allocations;
    fixture.sim.fail_nth("cuMemcpy3DAsync_v2", 2, CUresult::CUDA_ERROR_UNKNOWN).unwrap();
    let target = PinnedArray::zeros(9, &context).unwrap();
    assert!(reversed.with(&stream, |guard| guard.copy_to_pinned(target)).is_err());
    assert_eq!(fixture.alive().allocations, before + 1);
    fixture.driver.reclaim(true);
    assert_eq!(fixture.alive().allocations, before);
    assert!(fixture.sim.report().findings.is_empty());
}
