//! The rules of synchronization on the simulated driver, which runs work as late as allowed: unordered reads see stale data.

use super::driver_fixture::{Fixture, calls, streams};
use crate::{
    Context, Stream,
    driver::{Allocation, copy, fill},
    sync::{self, Access, Home, Memory, SyncGuard, SyncState},
};
use cuarray_abi::CUresult;
use std::sync::Arc;

/// Every call that orders work.
const ORDERING: [&str; 6] = [
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "cuCtxSynchronize",
    "cuEventQuery",
];

struct Counts([usize; 6]);

impl Counts {
    fn of(fixture: &Fixture) -> Counts {
        Counts(ORDERING.map(|symbol| calls(&fixture.sim, symbol)))
    }

    /// The numbers of records, waits, and host waits since the counts were taken.
    fn since(&self, fixture: &Fixture) -> (usize, usize, usize) {
        let now = Counts::of(fixture).0;
        let made = |index: usize| now[index] - self.0[index];
        (made(0), made(1), made(2) + made(3) + made(4))
    }
}

struct Data {
    memory: Memory,
    context: Context,
}

impl Data {
    fn new(fixture: &Fixture) -> Data {
        let context = fixture.primary();
        let memory = Memory::new(&context, || Allocation::device(&context, 4)).unwrap();
        let data = Data { memory, context };
        data.fill(1, None);
        data
    }

    fn sync_state(&self, home: Option<&Stream>) -> SyncState {
        SyncState::new(home.cloned().map(Home::lasting), self.memory.pending().clone())
    }

    fn fill(&self, value: u8, stream: Option<&Stream>) {
        let ptr = self.memory.allocation().device_ptr();
        // SAFETY: the memory has 4 bytes.
        unsafe { fill::fill_bytes(&self.context, ptr, &[value], 4, stream) }.unwrap();
    }

    /// The first byte that a copy in the stream reads; synchronizes the stream.
    fn read(&self, stream: &Stream) -> u8 {
        let mut bytes = [0; 4];
        let ptr = self.memory.allocation().device_ptr();
        // SAFETY: the memory has 4 bytes; the host's bytes are read after the stream is synchronized.
        unsafe { copy::copy_device_to_host(&self.context, bytes.as_mut_ptr(), ptr, 4, Some(stream)) }.unwrap();
        stream.synchronize().unwrap();
        bytes[0]
    }
}

#[test]
fn edge_takes_two_calls_and_none_within_one_stream() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [first, then] = streams(&data.context);
    data.fill(2, Some(&first));
    let counts = Counts::of(&fixture);
    sync::edge(&first, &then).unwrap();
    assert_eq!(counts.since(&fixture), (1, 1, 0));
    assert_eq!(data.read(&then), 2);
    let counts = Counts::of(&fixture);
    sync::edge(&first, &first).unwrap();
    assert_eq!(counts.since(&fixture), (0, 0, 0));
}

#[test]
fn edges_that_the_driver_guarantees_take_no_calls() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let legacy = Stream::legacy_default(&data.context);
    let blocking = Stream::new(&data.context).unwrap();
    let [free] = streams(&data.context);
    let per_thread = Stream::per_thread_default(&data.context);
    for (then, made) in [(&blocking, 0), (&per_thread, 0), (&free, 1)] {
        data.fill(3, Some(&legacy));
        let counts = Counts::of(&fixture);
        sync::edge(&legacy, then).unwrap();
        assert_eq!(counts.since(&fixture), (made, made, 0), "{then:?}");
        assert_eq!(data.read(then), 3, "{then:?}");
    }
    // The default streams of two contexts are two streams.
    let other = fixture.driver.device(0).unwrap().primary_context().unwrap();
    assert_eq!(Stream::legacy_default(&other), legacy);
}

#[test]
fn guard_orders_in_both_directions() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [home, consumer] = streams(&data.context);
    data.fill(2, Some(&home));
    let counts = Counts::of(&fixture);
    let guard = SyncGuard::begin([(data.sync_state(Some(&home)), Access::Write)], &consumer).unwrap();
    assert_eq!(counts.since(&fixture), (1, 1, 0));
    data.fill(3, Some(&consumer));
    guard.end().unwrap();
    assert_eq!(counts.since(&fixture), (2, 2, 0));
    assert_eq!(data.read(&home), 3);
}

#[test]
fn dropped_guard_orders_work_and_home_stream_guard_makes_no_calls() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [home, consumer] = streams(&data.context);
    let guard = SyncGuard::begin([(data.sync_state(Some(&home)), Access::Write)], &consumer).unwrap();
    data.fill(4, Some(&consumer));
    drop(guard);
    assert_eq!(data.read(&home), 4);
    let counts = Counts::of(&fixture);
    SyncGuard::begin([(data.sync_state(Some(&home)), Access::Write)], &home).unwrap().end().unwrap();
    assert_eq!(counts.since(&fixture), (0, 0, 0));
}

#[test]
fn several_arrays_of_one_stream_share_an_edge() {
    let fixture = Fixture::new();
    let (one, two) = (Data::new(&fixture), Data::new(&fixture));
    let [home, other, consumer] = streams(&one.context);
    let both = |first: &Stream, second: &Stream| {
        [(one.sync_state(Some(first)), Access::Write), (two.sync_state(Some(second)), Access::Read)]
    };
    let counts = Counts::of(&fixture);
    SyncGuard::begin(both(&home, &home), &consumer).unwrap().end().unwrap();
    assert_eq!(counts.since(&fixture), (2, 2, 0));
    // With two home streams: an event in each before, and one event after, which both wait for.
    let counts = Counts::of(&fixture);
    SyncGuard::begin(both(&home, &other), &consumer).unwrap().end().unwrap();
    assert_eq!(counts.since(&fixture), (3, 4, 0));
}

#[test]
fn readers_do_not_wait_for_readers() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [first, second, third] = streams(&data.context);
    let acquire = |stream: &Stream, access| {
        let counts = Counts::of(&fixture);
        let guard = SyncGuard::begin([(data.sync_state(None), access)], stream).unwrap();
        match access {
            Access::Write => data.fill(9, Some(stream)),
            Access::Read => data.fill(1, Some(&first)), // pending work, so that its event is not done
        }
        guard.end().unwrap();
        counts.since(&fixture)
    };
    data.fill(1, Some(&first));
    assert_eq!(acquire(&first, Access::Read), (1, 0, 0));
    data.fill(1, Some(&second));
    assert_eq!(acquire(&second, Access::Read), (1, 0, 0), "both read");
    assert_eq!(acquire(&third, Access::Write), (1, 2, 0), "a writer comes after both");
}

#[test]
fn example_of_the_interface_text_joins_three_streams_into_a_fourth() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [seven, nine, fifteen, three] = streams(&data.context);
    let state = data.sync_state(Some(&three));
    let counts = Counts::of(&fixture);
    for (value, stream) in [(7, &seven), (9, &nine), (15, &fifteen)] {
        data.fill(value, Some(stream));
        state.record(stream, Access::Write).unwrap();
    }
    assert_eq!(counts.since(&fixture), (3, 3, 0));
    assert_eq!(state.export(Access::Write).unwrap(), Some(three.clone()));
    assert_eq!(counts.since(&fixture), (3, 3, 0));
    three.synchronize().unwrap();
    assert!([seven, nine, fifteen].iter().all(|stream| stream.is_done().unwrap()));
}

#[test]
fn export_without_a_home_stream_joins_pending_work_once() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [seven, nine] = streams(&data.context);
    let state = data.sync_state(None);
    assert_eq!(state.export(Access::Write).unwrap(), None, "nothing is pending");
    for stream in [&seven, &nine] {
        data.fill(5, Some(stream));
        state.record(stream, Access::Write).unwrap();
    }
    let counts = Counts::of(&fixture);
    let exported = state.export(Access::Write).unwrap().unwrap();
    assert_eq!(counts.since(&fixture), (0, 2, 0));
    assert_eq!(state.export(Access::Write).unwrap().as_ref(), Some(&exported), "the work is still pending");
    assert_eq!(counts.since(&fixture), (0, 2, 0));
    exported.synchronize().unwrap();
    assert!(seven.is_done().unwrap() && nine.is_done().unwrap());
    assert_eq!(state.export(Access::Write).unwrap(), None);
    // A consumer continues in the exported stream; later work in another stream is ordered after it.
    data.fill(6, Some(&exported));
    let guard = SyncGuard::begin([(state, Access::Read)], &seven).unwrap();
    assert_eq!(data.read(&seven), 6);
    guard.end().unwrap();
}

#[test]
fn exporting_for_reading_does_not_join_readers() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [reader] = streams(&data.context);
    data.fill(1, Some(&reader));
    data.sync_state(None).record(&reader, Access::Read).unwrap();
    assert_eq!(data.sync_state(None).export(Access::Read).unwrap(), None);
    assert!(data.sync_state(None).export(Access::Write).unwrap().is_some());
}

#[test]
fn later_work_in_a_stream_replaces_earlier_work() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [busy, then] = streams(&data.context);
    for value in 0..5 {
        data.fill(value, Some(&busy));
        // The last access only reads; the earlier writes still count.
        let access = if value < 4 { Access::Write } else { Access::Read };
        data.sync_state(None).record(&busy, access).unwrap();
    }
    let counts = Counts::of(&fixture);
    data.sync_state(None).before(&busy, Access::Write).unwrap();
    assert_eq!(counts.since(&fixture), (0, 0, 0), "a stream is ordered by itself");
    data.sync_state(None).before(&then, Access::Read).unwrap();
    assert_eq!(counts.since(&fixture), (0, 1, 0));
    assert_eq!(data.read(&then), 4);
}

#[test]
fn transitively_ordered_work_is_not_waited_for_again() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [producer, reader, writer, last, home] = streams(&data.context);
    let waits = |state: &SyncState, stream: &Stream, access: Access, value: Option<u8>| {
        let counts = Counts::of(&fixture);
        let guard = SyncGuard::begin([(state.clone(), access)], stream).unwrap();
        let waits = counts.since(&fixture).1;
        if let Some(value) = value {
            data.fill(value, Some(stream));
        }
        guard.end().unwrap();
        waits
    };
    let state = data.sync_state(None);
    assert_eq!(waits(&state, &producer, Access::Write, Some(2)), 0);
    assert_eq!(waits(&state, &reader, Access::Read, None), 1);
    assert_eq!(waits(&state, &reader, Access::Read, None), 0, "the stream waits already");
    assert_eq!(waits(&state, &writer, Access::Write, Some(3)), 1, "the reader is ordered after the producer");
    assert_eq!(waits(&state, &last, Access::Write, Some(4)), 1, "the writer is ordered after both");
    // An unordered access beside it needs its own wait.
    let beside = data.sync_state(None);
    beside.record(&home, Access::Read).unwrap();
    assert_eq!(waits(&state, &writer, Access::Write, Some(5)), 2);
    // An edge from the home stream covers all work that is recorded in it.
    let outliving = SyncState::new(Some(Home::outlived(writer.clone())), data.memory.pending().clone());
    outliving.record(&writer, Access::Write).unwrap();
    assert_eq!(waits(&outliving, &reader, Access::Write, Some(6)), 1);
    assert_eq!(data.read(&reader), 6);
}

#[test]
fn home_stream_that_is_no_per_thread_stream_belongs_to_every_thread() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [home, then] = streams(&data.context);
    data.fill(2, Some(&home));
    let other = std::thread::spawn(|| std::thread::current().id()).join().unwrap();
    let counts = Counts::of(&fixture);
    SyncState::in_home(Home::named(home, Some(other))).before(&then, Access::Write).unwrap();
    assert_eq!(counts.since(&fixture), (1, 1, 0), "an edge, and no wait on the host");
    assert_eq!(data.read(&then), 2);
}

#[test]
fn unrecorded_state_adds_no_pending_work() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [consumer] = streams(&data.context);
    let per_thread = Stream::per_thread_default(&data.context);
    // Without a home stream, work is recorded unless the state is unrecorded. With the per-thread stream as home stream, there
    // is a backward edge, and a record for other threads.
    for (home, recorded, unrecorded) in [(None, (1, 0, 0), (0, 0, 0)), (Some(&per_thread), (2, 1, 0), (1, 1, 0))] {
        for (state, made) in [(data.sync_state(home), recorded), (data.sync_state(home).unrecorded(), unrecorded)] {
            let guard = SyncGuard::begin([(state, Access::Write)], &consumer).unwrap();
            data.fill(1, Some(&consumer));
            let counts = Counts::of(&fixture);
            guard.end().unwrap();
            assert_eq!(counts.since(&fixture), made, "{home:?}");
            data.memory.pending().synchronize(Access::Write).unwrap();
        }
    }
}

#[test]
fn completed_work_is_not_waited_for() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let [busy, then] = streams(&data.context);
    data.fill(2, Some(&busy));
    data.sync_state(None).record(&busy, Access::Write).unwrap();
    busy.synchronize().unwrap();
    let counts = Counts::of(&fixture);
    data.sync_state(None).before(&then, Access::Write).unwrap();
    data.sync_state(None).synchronize(Access::Write).unwrap();
    assert_eq!(counts.since(&fixture), (0, 0, 0));
    assert!(data.memory.pending().is_idle(None));
}

#[test]
fn per_thread_streams_of_two_threads_are_different_streams() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let per_thread = Stream::per_thread_default(&data.context);
    let work = |value: u8| {
        let guard = SyncGuard::begin([(data.sync_state(Some(&per_thread)), Access::Write)], &per_thread).unwrap();
        data.fill(value, Some(&per_thread));
        guard.end().unwrap();
    };
    std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            let _entered = fixture.sim.enter();
            work(8);
        });
        there.join().unwrap();
    });
    let exported = data.sync_state(Some(&per_thread)).export(Access::Write).unwrap().unwrap();
    assert_eq!(exported.handle(), 2);
    assert_eq!(data.read(&exported), 8, "this thread's per-thread stream waits for the other thread's");
}

#[test]
fn guard_in_a_per_thread_stream_that_ends_in_another_thread_waits() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let (per_thread, [home]) = (Stream::per_thread_default(&data.context), streams(&data.context));
    let guard = SyncGuard::begin([(data.sync_state(Some(&home)), Access::Write)], &per_thread).unwrap();
    data.fill(6, Some(&per_thread));
    let sim = fixture.sim.clone();
    std::thread::spawn(move || {
        let _entered = sim.enter();
        guard.end().unwrap();
    })
    .join()
    .unwrap();
    assert_eq!(data.read(&home), 6);
}

#[test]
fn failed_edge_of_one_array_does_not_affect_the_others() {
    let fixture = Fixture::new();
    let (one, two) = (Data::new(&fixture), Data::new(&fixture));
    let [home, other, consumer] = streams(&one.context);
    let data = [(one.sync_state(Some(&home)), Access::Write), (two.sync_state(Some(&other)), Access::Write)];
    let guard = SyncGuard::begin(data, &consumer).unwrap();
    two.fill(5, Some(&consumer));
    fixture.sim.fail_next("cuStreamWaitEvent", CUresult::CUDA_ERROR_LAUNCH_FAILED).unwrap();
    assert_eq!(guard.end().unwrap_err().driver_call(), Some("cuStreamWaitEvent"));
    assert_eq!(two.read(&other), 5);
    // A drop cannot return the error, so the driver keeps it.
    let guard = SyncGuard::begin([(one.sync_state(Some(&home)), Access::Write)], &consumer).unwrap();
    fixture.sim.fail_next("cuEventRecord", CUresult::CUDA_ERROR_LAUNCH_FAILED).unwrap();
    drop(guard);
    assert_eq!(fixture.driver.take_drop_error().unwrap().driver_call(), Some("cuEventRecord"));
}

#[test]
fn memory_is_freed_after_its_work_without_waiting() {
    let fixture = Fixture::new();
    for home in [false, true] {
        let data = Data::new(&fixture);
        let context = data.context.clone();
        let stream = Stream::non_blocking(&context).unwrap();
        data.fill(2, Some(&stream));
        match home {
            true => data.memory.add_home(&stream),
            false => data.sync_state(None).record(&stream, Access::Write).unwrap(),
        }
        let counts = Counts::of(&fixture);
        drop(data);
        assert_eq!(counts.since(&fixture).2, 0, "the host does not wait");
        assert_eq!((fixture.alive().allocations, calls(&fixture.sim, "cuMemFree_v2")), (1, usize::from(home)));
        fixture.driver.reclaim(false);
        // In the simulator, a query that finds unfinished work runs some of it.
        fixture.driver.reclaim(true);
        assert_eq!(fixture.alive().allocations, 0);
        assert!(stream.is_done().unwrap());
        assert!(fixture.driver.take_drop_error().is_none());
    }
}

#[test]
fn failed_allocation_frees_deferred_memory_and_retries() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let context = data.context.clone();
    let [stream] = streams(&context);
    data.fill(2, Some(&stream));
    data.sync_state(None).record(&stream, Access::Write).unwrap();
    drop(data);
    assert_eq!(fixture.alive().allocations, 1);
    // The first attempt finds no room, so the allocation waits once.
    let attempts = std::cell::Cell::new(0);
    let memory = Memory::new(&context, || {
        attempts.set(attempts.get() + 1);
        if attempts.get() == 1 {
            fixture.sim.fail_next("cuMemAlloc_v2", CUresult::CUDA_ERROR_OUT_OF_MEMORY).unwrap();
        }
        Allocation::device(&context, 8)
    });
    assert_eq!(memory.unwrap().allocation().len(), 8);
    assert_eq!(fixture.alive().allocations, 0);
}

#[test]
fn memory_without_work_is_freed_at_once_for_every_kind() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    for allocate in [Allocation::device, Allocation::pinned, Allocation::mapped, Allocation::managed] {
        for len in [0, 16] {
            let memory = Memory::new(&context, || allocate(&context, len)).unwrap();
            drop(memory);
            assert_eq!(fixture.alive().allocations, 0);
        }
    }
    assert!(!fixture.driver.reclaim(true), "nothing was deferred");
}

#[test]
fn memory_dropped_in_a_host_function_is_deferred() {
    let fixture = Fixture::new();
    let data = Data::new(&fixture);
    let context = data.context.clone();
    let [stream] = streams(&context);
    type Last = std::sync::Mutex<Option<Memory>>;
    let last: Arc<Last> = Arc::new(std::sync::Mutex::new(Some(data.memory)));
    unsafe extern "C" fn drop_it(data: *mut std::ffi::c_void) {
        // SAFETY: the pointer comes from `Arc::into_raw`, for this call only.
        let last = unsafe { Arc::from_raw(data.cast::<Last>()) };
        drop(last.lock().unwrap().take());
    }
    let argument = Arc::into_raw(last.clone()).cast_mut().cast();
    {
        let _current = context.push().unwrap();
        let launch = fixture.driver.api().cuLaunchHostFunc.unwrap();
        // SAFETY: the function has the type of its argument.
        assert!(unsafe { launch(cuarray_abi::CUstream(stream.handle()), Some(drop_it), argument) }.is_success());
    }
    context.synchronize().unwrap();
    assert!(last.lock().unwrap().is_none());
    assert_eq!(fixture.alive().allocations, 1);
    assert!(fixture.driver.take_drop_error().is_none());
    assert!(fixture.driver.reclaim(false));
    assert_eq!(fixture.alive().allocations, 0);
}
