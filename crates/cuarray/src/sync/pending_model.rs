//! Model tests of pending work, under every interleaving of a few threads. `make loom` runs them.
//!
//! The driver is the simulated one, which reports unordered accesses and early frees. The model switches threads at each lock of the
//! pending work and at each driver call that orders work. It switches a running thread for another at most twice, which keeps the number of
//! interleavings small.

use super::{Access, Home, Memory, SyncGuard, SyncState};
use crate::{
    Context, Stream,
    driver::{Allocation, copy::copy_device_to_device, fill::fill_bytes},
};
use cuarray_abi::{Api, CU_STREAM_CAPTURE_MODE_RELAXED, CUevent, CUgraph, CUresult, CUstream};
use cuarray_sim::Config;
use driver_fixture::{Fixture, streams};
use loom::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
};
use std::{
    ffi::c_uint,
    sync::{Arc, OnceLock},
};

#[path = "../../tests/driver_fixture/mod.rs"]
mod driver_fixture;

const BYTES: usize = 4;

loom::lazy_static! {
    static ref CALLS: AtomicUsize = AtomicUsize::new(0);
}

/// The simulator's functions.
static SIMULATED: OnceLock<Api> = OnceLock::new();

/// Lets the model switch threads before a driver call.
fn simulated() -> &'static Api {
    CALLS.fetch_add(1, SeqCst);
    SIMULATED.get().unwrap()
}

unsafe extern "C" fn record(event: CUevent, stream: CUstream) -> CUresult {
    // SAFETY: the caller's contract.
    unsafe { simulated().cuEventRecord.unwrap()(event, stream) }
}

unsafe extern "C" fn wait(stream: CUstream, event: CUevent, flags: c_uint) -> CUresult {
    // SAFETY: the caller's contract.
    unsafe { simulated().cuStreamWaitEvent.unwrap()(stream, event, flags) }
}

unsafe extern "C" fn query(stream: CUstream) -> CUresult {
    // SAFETY: the caller's contract.
    unsafe { simulated().cuStreamQuery.unwrap()(stream) }
}

/// Data in device memory, without a home stream.
struct Data {
    memory: Memory,
    context: Context,
    /// Memory of readers.
    copies: [Allocation; 2],
    /// Stands for the registry of guards: a writer excludes others.
    exclusive: Mutex<()>,
}

impl Data {
    fn state(&self, home: Option<&Stream>) -> SyncState {
        SyncState::new(home.cloned().map(Home::lasting), self.memory.pending().clone())
    }

    /// Writes in a stream without a guard.
    fn fill(&self, stream: &Stream) {
        // SAFETY: the memory has that many bytes.
        unsafe { fill_bytes(&self.context, self.memory.allocation().device_ptr(), &[1], BYTES, Some(stream)) }.unwrap();
    }

    /// Reads in a stream without a guard.
    fn copy(&self, reader: usize, stream: &Stream) {
        let (source, target) = (self.memory.allocation().device_ptr(), self.copies[reader].device_ptr());
        // SAFETY: both sides have that many bytes, and live until the work is done.
        unsafe { copy_device_to_device(&self.context, target, source, BYTES, Some(stream)) }.unwrap();
    }

    fn write(&self, home: Option<&Stream>, stream: &Stream) {
        let _exclusive = self.exclusive.lock().unwrap();
        let guard = SyncGuard::begin([(self.state(home), Access::Write)], stream).unwrap();
        self.fill(stream);
        guard.end().unwrap();
    }

    fn read(&self, reader: usize, stream: &Stream) {
        let guard = SyncGuard::begin([(self.state(None), Access::Read)], stream).unwrap();
        self.copy(reader, stream);
        guard.end().unwrap();
    }
}

/// Starts a thread whose stack is large enough for the simulator, in words.
fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    thread::Builder::new().stack_size(1 << 17).spawn(work).unwrap()
}

/// Runs `test` under every interleaving. No work may race, and the memory is freed after all of it.
fn check<const N: usize>(test: impl Fn(&Fixture, &Arc<Data>, [Stream; N]) + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    let test = Arc::new(test);
    model.check(move || {
        let test = test.clone();
        spawn(move || run(&*test)).join().unwrap();
    });
}

fn run<const N: usize>(test: &impl Fn(&Fixture, &Arc<Data>, [Stream; N])) {
    let config = Config { free_synchronizes: false, ..Config::default() };
    let fixture = Fixture::altered(config, |api| {
        let original = *api;
        api.cuEventRecord = Some(record);
        api.cuStreamWaitEvent = Some(wait);
        api.cuStreamQuery = Some(query);
        SIMULATED.get_or_init(|| original);
    });
    let context = fixture.primary();
    // The threads of the model are one thread of the system. So the context stays current, and cached, in all of them.
    let _remembered = fixture.driver.remember_current();
    let current = context.push().unwrap();
    let memory = Memory::new(&context, || Allocation::device(&context, BYTES)).unwrap();
    let copies = std::array::from_fn(|_| Allocation::device(&context, BYTES).unwrap());
    let data = Arc::new(Data { memory, context: context.clone(), copies, exclusive: Mutex::new(()) });
    let streams = streams(&context);
    data.fill(&streams[0]);
    data.state(None).record(&streams[0], Access::Write).unwrap();
    test(&fixture, &data, streams);
    let data = Arc::into_inner(data).unwrap();
    let copies = data.copies;
    drop(data.memory);
    fixture.driver.reclaim(true);
    context.synchronize().unwrap();
    drop((copies, data.context));
    let report = fixture.sim.report();
    assert_eq!(report.findings.len(), 0, "{}", report.text(false));
    assert!(fixture.driver.take_drop_error().is_none());
    drop(current);
}

#[test]
fn writer_waits_for_all_readers() {
    check(|_, data, [first, second, third]| {
        let readers = [first, second].into_iter().enumerate().map(|(reader, stream)| {
            let data = data.clone();
            spawn(move || data.read(reader, &stream))
        });
        readers.collect::<Vec<_>>().into_iter().for_each(|reader| reader.join().unwrap());
        data.write(None, &third);
    });
}

#[test]
fn arrays_with_different_home_streams_wait_for_each_other() {
    check(|_, data, homes: [Stream; 2]| {
        let writers = homes.map(|home| {
            let data = data.clone();
            spawn(move || {
                data.memory.add_home(&home);
                data.write(Some(&home), &home);
            })
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

#[test]
fn work_in_a_home_stream_is_never_forgotten_while_it_becomes_a_record() {
    check(|_, data, [home, other]| {
        data.memory.add_home(&home);
        data.write(Some(&home), &home);
        drop(home);
        let writer = {
            let data = data.clone();
            spawn(move || data.write(None, &other))
        };
        data.memory.pending().record_homes().unwrap();
        writer.join().unwrap();
    });
}

#[test]
fn exports_in_two_threads_cover_all_recorded_work() {
    check(|_, data, [first, second]: [Stream; 2]| {
        data.write(None, &second);
        let exports = [first.clone(), second].into_iter().enumerate().map(|(reader, own)| {
            let data = data.clone();
            spawn(move || {
                // A consumer need not wait for data that is exported without a stream.
                let exported = data.state(None).export(Access::Write).unwrap();
                data.copy(reader, exported.as_ref().unwrap_or(&own));
                exported.map(|stream| stream.handle())
            })
        });
        let exports = exports.collect::<Vec<_>>().into_iter().map(|export| export.join().unwrap()).collect::<Vec<_>>();
        assert_eq!(exports[0], exports[1], "all consumers wait for one stream");
        data.write(None, &first);
    });
}

#[test]
fn guard_that_ends_while_a_capture_ends_is_ordered() {
    check(|fixture, data, [captured, other]: [Stream; 2]| {
        let guard = SyncGuard::begin([(data.state(None), Access::Write)], &captured).unwrap();
        data.fill(&captured);
        let (api, handle) = (fixture.driver.api(), CUstream(captured.handle()));
        // SAFETY: the stream is alive.
        assert!(unsafe { api.cuStreamBeginCapture_v2.unwrap()(handle, CU_STREAM_CAPTURE_MODE_RELAXED) }.is_success());
        let ending = spawn(move || guard.end().is_ok());
        let mut graph = CUgraph::NULL;
        CALLS.fetch_add(1, SeqCst);
        // SAFETY: the stream is alive; the driver writes one handle.
        assert!(unsafe { api.cuStreamEndCapture.unwrap()(handle, &mut graph) }.is_success());
        fixture.driver.reclaim(false);
        let has_ended = ending.join().unwrap();
        assert!(fixture.driver.reclaim(false) <= !has_ended, "an end is deferred at most once");
        data.write(None, &other);
        // SAFETY: the graph has not been destroyed.
        assert!(unsafe { api.cuGraphDestroy.unwrap()(graph) }.is_success());
    });
}
