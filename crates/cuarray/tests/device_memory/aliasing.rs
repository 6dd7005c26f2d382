//! Live guards over the same memory: several readers, or one writer.

use crate::driver_fixture::{Fixture, streams};
use cuarray::{
    DeviceArray, Driver, Error, Interface, Ix1, Ix2, Layout, RawView, Stream, TypeStr, TypedView, driver::Allocation, s,
};
use cuarray_abi::CU_STREAM_CAPTURE_MODE_RELAXED;
use std::sync::Barrier;

fn conflict<G>(acquired: cuarray::Result<G>) -> Error {
    let Err(error) = acquired else { panic!("conflicting guards over the same memory were acquired") };
    assert!(error.is_already_acquired(), "{error}");
    error
}

fn array(stream: &Stream) -> DeviceArray<f32, Ix2> {
    DeviceArray::zeros([4, 6], stream).unwrap()
}

#[test]
fn clones_conflict_unless_all_guards_read() {
    let fixture = Fixture::new();
    let [one, two] = streams(&fixture.primary());
    let mut array = array(&one);
    let mut clone = array.clone();
    {
        let _writer = array.acquire_mut(&one).unwrap();
        let message = conflict(clone.acquire_mut(&two)).to_string();
        assert!(message.contains("for writing: its elements (shape (4, 6), strides (24, 4), from 0x"), "{message}");
        assert!(message.contains("a live guard for writing (shape (4, 6), strides (24, 4), from 0x"), "{message}");
        conflict(clone.acquire(&two));
    }
    let (reader, other) = (array.acquire(&one).unwrap(), clone.acquire(&two).unwrap());
    let message = conflict(array.clone().acquire_mut(&one)).to_string();
    assert!(message.contains("a live guard for reading"), "{message}");
    drop((reader, other));
    clone.acquire_mut(&two).unwrap().release().unwrap();
}

#[test]
fn views_conflict_only_if_they_share_elements() {
    let fixture = Fixture::new();
    let [stream] = streams(&fixture.primary());
    let array = array(&stream);
    let (mut upper, mut lower) = (array.slice(s![..2, ..]).unwrap(), array.slice(s![2.., ..]).unwrap());
    let (mut even, mut odd) = (array.slice(s![.., ..; 2]).unwrap(), array.slice(s![.., 1..; 2]).unwrap());
    let (mut left, mut right) = (array.slice(s![.., ..3]).unwrap(), array.slice(s![.., 3..]).unwrap());
    for (one, other) in [(&mut upper, &mut lower), (&mut even, &mut odd), (&mut left, &mut right)] {
        let guard = one.acquire_mut(&stream).unwrap();
        other.acquire_mut(&stream).unwrap().release().unwrap();
        conflict(array.acquire(&stream));
        drop(guard);
    }
    let guard = upper.acquire_mut(&stream).unwrap();
    conflict(even.acquire(&stream));
    conflict(array.t().acquire(&stream));
    conflict(array.slice(s![1, ..; -1]).unwrap().acquire(&stream));
    drop(guard);
    assert!(array.broadcast([2, 4, 6]).unwrap().acquire_mut(&stream).unwrap_err().is_unsupported());
}

#[test]
fn a_zero_size_array_conflicts_with_nothing() {
    let fixture = Fixture::new();
    let [stream] = streams(&fixture.primary());
    let mut array = array(&stream);
    let mut empty = array.slice(s![2..2, ..]).unwrap();
    let mut again = empty.clone();
    let writer = array.acquire_mut(&stream).unwrap();
    let (one, two) = (empty.acquire_mut(&stream).unwrap(), again.acquire_mut(&stream).unwrap());
    drop((writer, one, two));
}

#[test]
fn objects_of_two_libraries_over_one_memory_conflict() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [stream] = streams(&context);
    let memory = Allocation::device(&context, 64).unwrap();
    let view = |length: usize, offset: u64| -> TypedView<f32, Ix1> {
        let layout = Layout::c_contiguous(&[length], 4).unwrap();
        let interface = Interface::new(memory.device_ptr() + offset, TypeStr::of::<f32>(), layout).unwrap();
        // SAFETY: the memory lives as long as the view.
        unsafe { RawView::new(&fixture.driver, interface, None) }.unwrap().typed().unwrap()
    };
    let (mut first, mut second, mut third) = (view(16, 0), view(8, 16), view(4, 0));
    let guard = second.acquire_mut(&stream).unwrap();
    conflict(first.acquire_mut(&stream));
    third.acquire_mut(&stream).unwrap().release().unwrap();
    drop(guard);
    first.acquire_mut(&stream).unwrap().release().unwrap();
}

#[test]
fn guards_of_other_threads_conflict() {
    let fixture = Fixture::new();
    let [one, two] = streams(&fixture.primary());
    let array = array(&one);
    let (held, tried) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _entered = fixture.sim.enter();
            let mut clone = array.clone();
            let guard = clone.acquire_mut(&two).unwrap();
            held.wait();
            tried.wait();
            guard.release().unwrap();
        });
        held.wait();
        conflict(array.acquire(&one));
        tried.wait();
    });
    array.acquire(&one).unwrap().release().unwrap();
}

#[test]
fn many_threads_acquire_mut_one_at_a_time() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [home] = streams(&context);
    let array = array(&home);
    let writers = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let _entered = fixture.sim.enter();
                let [stream] = streams(&context);
                let mut clone = array.clone();
                for _ in 0..200 {
                    match clone.acquire_mut(&stream) {
                        Ok(guard) => {
                            assert_eq!(writers.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                            writers.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                            guard.release().unwrap();
                        }
                        Err(error) => assert!(error.is_already_acquired(), "{error}"),
                    }
                }
            });
        }
    });
}

#[test]
fn a_leaked_guard_keeps_its_memory_acquired() {
    let fixture = Fixture::new();
    let [stream] = streams(&fixture.primary());
    let mut array = array(&stream);
    std::mem::forget(array.acquire_mut(&stream).unwrap());
    conflict(array.acquire(&stream));
}

#[test]
fn failed_acquire_in_a_capture_leaves_no_guard_entry() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let _current = context.push().unwrap();
    let [home, capturing] = streams(&context);
    let mut array = array(&home);
    // SAFETY: the stream is alive.
    unsafe { capture(&fixture.driver, &capturing) };
    assert!(array.acquire_mut(&capturing).unwrap_err().is_unsupported());
    array.acquire_mut(&home).unwrap().release().unwrap();
}

/// Begins a capture that the test never ends.
unsafe fn capture(driver: &Driver, stream: &Stream) {
    let begin = driver.api().cuStreamBeginCapture_v2.unwrap();
    let raw = cuarray_abi::CUstream(stream.handle());
    // SAFETY: this function's contract.
    assert!(unsafe { begin(raw, CU_STREAM_CAPTURE_MODE_RELAXED) }.is_success());
}
