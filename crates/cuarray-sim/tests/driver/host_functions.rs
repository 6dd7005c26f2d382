//! Host functions: they run in stream order, outside the driver's lock, and always eventually.

use crate::program::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

extern "C" fn count(data: *mut c_void) {
    // SAFETY: the tests pass a counter that outlives the stream's work.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::SeqCst);
}

fn counter(value: &AtomicU32) -> *mut c_void {
    (&raw const *value).cast_mut().cast()
}

#[test]
fn host_function_runs_when_its_stream_is_forced_and_not_before() {
    let (program, calls) = (Program::new(), AtomicU32::new(0));
    let stream = program.stream(0);
    ok!(program, cuLaunchHostFunc(stream, Some(count), counter(&calls)));
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    fails!(program, INVALID_VALUE, cuLaunchHostFunc(stream, None, std::ptr::null_mut()));
}

#[test]
fn host_function_runs_without_further_driver_calls() {
    let (program, calls) = (Program::new(), AtomicU32::new(0));
    ok!(program, cuLaunchHostFunc(program.stream(0), Some(count), counter(&calls)));
    let start = Instant::now();
    while calls.load(Ordering::SeqCst) == 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "the host function did not run");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The limit of [`wait_for_flag`]. An emulated processor of a machine with other work takes minutes for what a test does meanwhile.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Waits until the flag in its data is set, with a time limit.
extern "C" fn wait_for_flag(data: *mut c_void) {
    // SAFETY: the test passes a flag that outlives the stream's work.
    let flag = unsafe { &*data.cast::<AtomicU32>() };
    let start = Instant::now();
    while flag.load(Ordering::SeqCst) == 0 && start.elapsed() < LONGEST_WAIT {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn full_queue_does_not_wait_for_a_host_function() {
    let (program, flag) = (Program::new(), AtomicU32::new(0));
    let (stream, other) = (program.stream(0), program.stream(0));
    let [byte, late] = [program.alloc(1), program.alloc(1)];
    ok!(program, cuLaunchHostFunc(stream, Some(wait_for_flag), counter(&flag)));
    let start = Instant::now();
    for _ in 0..70_000 {
        program.fill(byte, 1, 1, stream);
        program.fill(late, 2, 1, other);
    }
    assert!(start.elapsed() < LONGEST_WAIT / 2, "a fill waited for the host function");
    assert_ne!(program.peek(byte), 1, "a fill ran before the host function had returned");
    assert_eq!(program.peek(late), 2, "the other stream does not go on");
    flag.store(1, Ordering::SeqCst);
    ok!(program, cuCtxSynchronize());
    assert_eq!(program.peek(byte), 1);
}

#[test]
fn query_does_not_wait_for_a_host_function() {
    let (program, flag) = (Program::new(), AtomicU32::new(0));
    let stream = program.stream(0);
    ok!(program, cuLaunchHostFunc(stream, Some(wait_for_flag), counter(&flag)));
    let start = Instant::now();
    for _ in 0..3 {
        fails!(program, NOT_READY, cuStreamQuery(stream));
    }
    assert!(start.elapsed() < Duration::from_secs(10), "a query waited for the host function");
    flag.store(1, Ordering::SeqCst);
    ok!(program, cuStreamSynchronize(stream));
}

#[test]
fn polling_a_stream_runs_its_host_function() {
    let (program, calls) = (Program::new(), AtomicU32::new(0));
    let stream = program.stream(0);
    ok!(program, cuLaunchHostFunc(stream, Some(count), counter(&calls)));
    let start = Instant::now();
    // SAFETY: the stream belongs to this program.
    while unsafe { program.api.cuStreamQuery.unwrap()(stream) } == CUresult::CUDA_ERROR_NOT_READY {
        assert!(start.elapsed() < Duration::from_secs(20), "polling does not end");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

/// The arguments that a callback received.
static SEEN: Mutex<Vec<(usize, u32, u32)>> = Mutex::new(Vec::new());

extern "C" fn remember(stream: CUstream, status: CUresult, data: *mut c_void) {
    // SAFETY: the test passes the address of a word that outlives the stream's work.
    let value = unsafe { data.cast::<u32>().read() };
    SEEN.lock().unwrap().push((stream.0, status.0, value));
}

#[test]
fn callback_receives_the_stream_handle_the_status_and_the_data() {
    let (program, mut value) = (Program::new(), 42_u32);
    let stream = program.stream(0);
    let data = (&raw mut value).cast();
    ok!(program, cuStreamAddCallback(stream, Some(remember), data, 0));
    ok!(program, cuStreamAddCallback(CUstream::NULL, Some(remember), data, 0));
    ok!(program, cuCtxSynchronize());
    assert_eq!(*SEEN.lock().unwrap(), [(stream.0, 0, 42), (0, 0, 42)]);
    fails!(program, INVALID_VALUE, cuStreamAddCallback(stream, Some(remember), data, 1));
}

extern "C" fn call_the_driver(data: *mut c_void) {
    // SAFETY: the test passes the table and a place for the result, which outlive the stream's work.
    unsafe {
        let (api, result) = &*data.cast::<(Api, AtomicU32)>();
        result.store(api.cuCtxSynchronize.unwrap()().0, Ordering::SeqCst);
    }
}

#[test]
fn driver_calls_inside_a_host_function_fail() {
    let program = Program::new();
    let data = (program.api, AtomicU32::new(0));
    ok!(program, cuLaunchHostFunc(CUstream::NULL, Some(call_the_driver), (&raw const data).cast_mut().cast()));
    ok!(program, cuStreamSynchronize(CUstream::NULL));
    assert_eq!(CUresult(data.1.load(Ordering::SeqCst)), CUresult::CUDA_ERROR_NOT_PERMITTED);
    ok!(program, cuCtxSynchronize());
}

/// A meeting point of two threads inside a host function.
struct Meeting {
    entered: AtomicU32,
    leave: AtomicU32,
}

extern "C" fn meet(data: *mut c_void) {
    // SAFETY: the test passes a meeting that outlives the stream's work.
    let meeting = unsafe { &*data.cast::<Meeting>() };
    meeting.entered.store(1, Ordering::SeqCst);
    while meeting.leave.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn other_threads_use_the_driver_while_a_host_function_runs() {
    let program = Program::new();
    let meeting = Meeting { entered: AtomicU32::new(0), leave: AtomicU32::new(0) };
    let (stream, device) = (program.stream(0), program.alloc(1));
    ok!(program, cuLaunchHostFunc(stream, Some(meet), (&raw const meeting).cast_mut().cast()));
    program.fill(device, 7, 1, stream);
    let meeting = &meeting;
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| program_thread(&program.sim, program.context, stream));
        while meeting.entered.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        // The lock is free and the stream is busy.
        assert_eq!(call!(program, cuStreamQuery(stream)), CUresult::CUDA_ERROR_NOT_READY);
        let other = program.alloc(1);
        let waiting = scope.spawn(|| program_thread(&program.sim, program.context, stream));
        meeting.leave.store(1, Ordering::SeqCst);
        inside.join().unwrap();
        waiting.join().unwrap();
        ok!(program, cuMemFree_v2(other));
    });
    assert_eq!(program.peek(device), 7);
}

fn program_thread(sim: &Sim, context: CUcontext, stream: CUstream) {
    struct Entering {
        api: Api,
    }
    let _entered = sim.enter();
    let program = Entering { api: sim.api() };
    ok!(program, cuCtxSetCurrent(context));
    ok!(program, cuStreamSynchronize(stream));
}
