//! Memory of a foreign owner: the owner is dropped once, after the pending work, and may panic or call the library.

use crate::driver_fixture::{Fixture, streams};
use cuarray::{
    Context, DeviceArray, Driver, Interface, Layout, Owner, RawDeviceArray, Stream, TypeStr,
    driver::{Allocation, fill::fill_bytes},
    sync::Access,
};
use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

const LEN: usize = 16;

/// An allocation of a foreign library that counts its drop and then runs a function.
struct Slab {
    /// Shared with the test, because freeing the memory would wait for all work.
    memory: Arc<Allocation>,
    gone: Arc<AtomicUsize>,
    at_the_end: fn(&Context),
}

impl Drop for Slab {
    fn drop(&mut self) {
        self.gone.fetch_add(1, SeqCst);
        (self.at_the_end)(self.memory.context());
    }
}

fn array(
    memory: &Arc<Allocation>,
    home: Option<&Stream>,
    gone: &Arc<AtomicUsize>,
    at_the_end: fn(&Context),
) -> RawDeviceArray {
    let slab = Slab { memory: memory.clone(), gone: gone.clone(), at_the_end };
    let context = memory.context();
    of(context, slab.memory.device_ptr(), Arc::new(slab), home).unwrap()
}

fn of(
    context: &Context,
    address: u64,
    owner: Arc<dyn Any + Send + Sync>,
    home: Option<&Stream>,
) -> cuarray::Result<RawDeviceArray> {
    let interface = Interface::new(address, TypeStr::of::<u8>(), Layout::c_contiguous(&[LEN], 1)?)?;
    // SAFETY: the owner holds the memory.
    unsafe { RawDeviceArray::from_owner(context, interface, Owner::new(owner), home) }
}

/// Leaves work on the array in a stream and drops it. The simulator runs one operation at each query.
fn drop_busy(array: RawDeviceArray, stream: &Stream) {
    let context = stream.work_context().unwrap();
    for _ in 0..100 {
        // SAFETY: the array has that many bytes.
        unsafe { fill_bytes(&context, array.interface().data(), &[7], LEN, Some(stream)) }.unwrap();
    }
    array.record_stream(stream, Access::Write).unwrap();
}

fn dropped(driver: &Driver) -> String {
    driver.take_drop_error().map_or_else(String::new, |error| error.to_string())
}

#[test]
fn panic_of_an_owner_is_reported_and_other_owners_are_dropped_after_their_work() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [one, two] = streams(&context);
    let (memory, gone) = (Arc::new(Allocation::device(&context, LEN).unwrap()), Arc::new(AtomicUsize::new(0)));
    drop_busy(array(&memory, None, &gone, |_| panic!("as owners do")), &one);
    drop_busy(array(&memory, None, &gone, |_| ()), &two);
    drop_busy(array(&memory, Some(&two), &gone, |_| panic!("with a home")), &two);
    assert_eq!((gone.load(SeqCst), dropped(&fixture.driver)), (0, String::new()));

    // The work in stream `one` is done, so an unrelated allocation drops the owner of its array.
    one.synchronize().unwrap();
    let unrelated = DeviceArray::<u8, _>::empty([4], &one).unwrap();
    assert_eq!(gone.load(SeqCst), 1);
    assert!(dropped(&fixture.driver).contains("panicked"));

    assert!(fixture.driver.reclaim(true));
    assert_eq!(gone.load(SeqCst), 3);
    assert!(dropped(&fixture.driver).contains("panicked"));
    assert!(!fixture.driver.reclaim(true), "nothing is deferred any more");
    drop(unrelated);
}

/// As a function that a program calls with the arrays of another library, and that allocates nothing.
#[test]
fn owners_of_received_arrays_are_dropped_by_later_calls() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [stream, foreign] = streams(&context);
    let (memory, gone) = (Arc::new(Allocation::device(&context, LEN).unwrap()), Arc::new(AtomicUsize::new(0)));
    for call in 0..200 {
        let mut received = array(&memory, [None, Some(&foreign)][call % 2], &gone, |_| ());
        let guard = received.acquire_mut(&stream).unwrap();
        // SAFETY: the array has that many bytes, and the guard orders the fill.
        unsafe { fill_bytes(&context, memory.device_ptr(), &[1], LEN, Some(&stream)) }.unwrap();
        drop(guard);
        drop(received);
        stream.synchronize().unwrap();
        foreign.synchronize().unwrap();
        assert!(gone.load(SeqCst) + 2 > call, "call {call}: {} of the arrays are gone", gone.load(SeqCst));
    }
    // Many that became pending at once are dropped too, without a wait.
    for _ in 0..50 {
        drop_busy(array(&memory, None, &gone, |_| ()), &stream);
    }
    stream.synchronize().unwrap();
    for _ in 0..26 {
        drop(array(&memory, None, &gone, |_| ()));
    }
    assert_eq!(gone.load(SeqCst), 276);
}

#[test]
fn owner_may_use_the_library_while_it_is_dropped() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [stream] = streams(&context);
    let (memory, gone) = (Arc::new(Allocation::device(&context, LEN).unwrap()), Arc::new(AtomicUsize::new(0)));
    let reenter: fn(&Context) = |context| {
        let stream = Stream::non_blocking(context).unwrap();
        let array = DeviceArray::from_host(&[1u8, 2], [2], &stream).unwrap();
        assert_eq!(array.acquire(&stream).unwrap().copy_to_host().unwrap(), [1, 2]);
        context.driver().reclaim(true);
    };
    drop_busy(array(&memory, None, &gone, reenter), &stream);
    drop_busy(array(&memory, None, &gone, reenter), &stream);
    assert_eq!(gone.load(SeqCst), 0);
    fixture.driver.reclaim(true);
    fixture.driver.reclaim(true);
    assert_eq!((gone.load(SeqCst), dropped(&fixture.driver)), (2, String::new()));
}

#[test]
fn home_stream_of_another_context_is_refused() {
    let fixture = Fixture::with(cuarray_sim::Config { devices: 2, ..cuarray_sim::Config::default() });
    let (first, second) = (fixture.primary(), fixture.driver.device(1).unwrap().primary_context().unwrap());
    let memory = Arc::new(Allocation::device(&first, LEN).unwrap());
    let of = |home: &Stream| of(&first, memory.device_ptr(), memory.clone(), Some(home));
    for home in [Stream::non_blocking(&second).unwrap(), Stream::legacy_default(&second)] {
        assert!(of(&home).unwrap_err().to_string().contains("another context"));
    }
    assert_eq!(Arc::strong_count(&memory), 1, "a refused owner is dropped");
    of(&Stream::non_blocking(&first).unwrap()).unwrap();
}

/// Defers the release of an array whose owner runs `at_the_end`, lets its work end, and makes a call that tries the release.
fn release_later(at_the_end: fn(&Context)) {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [stream] = streams(&context);
    let (memory, gone) = (Arc::new(Allocation::device(&context, LEN).unwrap()), Arc::new(AtomicUsize::new(0)));
    drop_busy(array(&memory, None, &gone, at_the_end), &stream);
    stream.synchronize().unwrap();
    drop(array(&memory, None, &gone, |_| ()));
    assert_eq!((gone.load(SeqCst), dropped(&fixture.driver)), (2, String::new()));
}

#[test]
fn thread_that_tries_releases_lets_other_threads_try_theirs() {
    release_later(|_| thread::spawn(|| release_later(|_| ())).join().unwrap());
}
