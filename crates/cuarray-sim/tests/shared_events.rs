//! Events that processes share: records, waits and queries in both directions, and processes that end.
//!
//! Each driver of a test counts as a process, so most tests run in one process. The last tests run this program in
//! child processes, with handles in the environment.

#[macro_use]
mod program;
use program::*;
use std::ffi::c_char;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SHARED: u32 = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
const NOT_READY: CUresult = CUresult::CUDA_ERROR_NOT_READY;

fn shared_event(program: &Program) -> CUevent {
    let mut event = CUevent::NULL;
    ok!(program, cuEventCreate(&mut event, SHARED));
    event
}

fn handle(program: &Program, event: CUevent) -> CUipcEventHandle {
    let mut handle = CUipcEventHandle { reserved: [0; 64] };
    ok!(program, cuIpcGetEventHandle(&mut handle, event));
    handle
}

fn open(program: &Program, handle: CUipcEventHandle) -> CUevent {
    let mut event = CUevent::NULL;
    ok!(program, cuIpcOpenEventHandle(&mut event, handle));
    event
}

/// Runs `f` with another driver, which represents another process.
fn in_other_process<R: Send>(f: impl FnOnce(&Program) -> R + Send) -> R {
    in_process_with(Config::default(), f)
}

fn in_process_with<R: Send>(config: Config, f: impl FnOnce(&Program) -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(|| f(&Program::with(config))).join().unwrap())
}

fn clean(program: &Program) {
    assert_eq!(program.sim.report().text(false), "");
}

/// Pending work in a stream, and pinned memory that shows whether it has run.
fn pending(program: &Program, value: u8) -> (CUstream, usize) {
    let (stream, host, device) = (program.stream(CU_STREAM_NON_BLOCKING), program.pinned(1), program.alloc(1));
    program.fill(device, value, 1, stream);
    ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, 1, stream));
    (stream, host as usize)
}

/// Reads pinned memory of [`pending`].
fn seen(host: usize) -> u8 {
    read(host as *const u8)
}

#[test]
fn device_claims_interprocess_events() {
    let (program, mut value) = (Program::new(), 0);
    ok!(program, cuDeviceGetAttribute(&mut value, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0));
    assert_eq!(value, 1);
}

#[test]
fn wrong_flags_and_handles_are_refused() {
    let (program, mut event) = (Program::new(), CUevent::NULL);
    fails!(program, INVALID_VALUE, cuEventCreate(&mut event, CU_EVENT_INTERPROCESS));
    let mut handle = CUipcEventHandle { reserved: [0; 64] };
    fails!(program, INVALID_HANDLE, cuIpcGetEventHandle(&mut handle, program.event()));
    fails!(program, INVALID_VALUE, cuIpcGetEventHandle(std::ptr::null_mut(), program.event()));
    fails!(program, INVALID_HANDLE, cuIpcGetEventHandle(&mut handle, CUevent(5)));
    fails!(program, INVALID_HANDLE, cuIpcOpenEventHandle(&mut event, handle));
    fails!(program, INVALID_VALUE, cuIpcOpenEventHandle(std::ptr::null_mut(), handle));
    let shared = shared_event(&program);
    let handle = self::handle(&program, shared);
    fails!(program, INVALID_CONTEXT, cuIpcOpenEventHandle(&mut event, handle));
    ok!(program, cuEventDestroy_v2(shared));
    in_other_process(|other| {
        let mut event = CUevent::NULL;
        fails!(other, INVALID_HANDLE, cuIpcOpenEventHandle(&mut event, handle));
    });
    fails!(program, INVALID_HANDLE, cuEventElapsedTime(&mut 0.0, shared_event(&program), shared_event(&program)));
}

#[test]
fn shared_event_works_like_any_other_in_its_own_process() {
    let program = Program::new();
    let event = shared_event(&program);
    ok!(program, cuEventQuery(event));
    ok!(program, cuEventSynchronize(event));
    let (stream, host) = pending(&program, 5);
    ok!(program, cuEventRecord(event, stream));
    let other = program.stream(CU_STREAM_NON_BLOCKING);
    ok!(program, cuStreamWaitEvent(other, event, 0));
    ok!(program, cuStreamSynchronize(other));
    assert_eq!(seen(host), 5);
    ok!(program, cuEventQuery(event));
    clean(&program);
}

#[test]
fn host_of_another_process_waits_for_the_recorded_work() {
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random(3)] {
        let exporter = Program::with(Config { schedule: schedule.clone(), ..Config::default() });
        let event = shared_event(&exporter);
        let handle = handle(&exporter, event);
        let (stream, host) = pending(&exporter, 5);
        ok!(exporter, cuEventRecord(event, stream));
        in_process_with(Config { schedule, ..Config::default() }, |importer| {
            let event = open(importer, handle);
            ok!(importer, cuEventSynchronize(event));
            ok!(importer, cuEventQuery(event));
            ok!(importer, cuEventDestroy_v2(event));
            clean(importer);
        });
        assert_eq!(seen(host), 5);
    }
}

#[test]
fn work_is_not_run_before_another_process_wants_it() {
    let exporter = Program::new();
    let event = shared_event(&exporter);
    let handle = handle(&exporter, event);
    let (stream, host) = pending(&exporter, 5);
    ok!(exporter, cuEventRecord(event, stream));
    in_other_process(|importer| {
        let event = open(importer, handle);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(seen(host), 0);
        assert_eq!(call!(importer, cuEventQuery(event)), NOT_READY);
        while call!(importer, cuEventQuery(event)) == NOT_READY {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(seen(host), 5);
    });
}

#[test]
fn stream_of_another_process_waits_for_the_recorded_work() {
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random(5), Schedule::Random(6)] {
        let exporter = Program::new();
        let event = shared_event(&exporter);
        let handle = handle(&exporter, event);
        let (stream, host) = pending(&exporter, 5);
        ok!(exporter, cuEventRecord(event, stream));
        in_process_with(Config { schedule, ..Config::default() }, |importer| {
            let event = open(importer, handle);
            let waiting = importer.stream(CU_STREAM_NON_BLOCKING);
            ok!(importer, cuStreamWaitEvent(waiting, event, 0));
            let (copied, device) = (importer.pinned(1), importer.alloc(1));
            ok!(importer, cuMemsetD8Async(device, 9, 1, waiting));
            ok!(importer, cuMemcpyDtoHAsync_v2(copied.cast(), device, 1, waiting));
            let (unordered, own) = pending(importer, 4);
            ok!(importer, cuStreamSynchronize(unordered));
            assert_eq!(seen(own), 4);
            ok!(importer, cuStreamSynchronize(waiting));
            assert_eq!((read(copied), seen(host)), (9, 5));
        });
    }
}

#[test]
fn query_of_a_stream_that_waits_for_another_process_does_not_block() {
    let exporter = Program::new();
    let event = shared_event(&exporter);
    let handle = handle(&exporter, event);
    let (stream, _) = pending(&exporter, 5);
    ok!(exporter, cuEventRecord(event, stream));
    in_other_process(|importer| {
        let waiting = importer.stream(CU_STREAM_NON_BLOCKING);
        ok!(importer, cuStreamWaitEvent(waiting, open(importer, handle), 0));
        let begin = Instant::now();
        while call!(importer, cuStreamQuery(waiting)) == NOT_READY {
            assert!(begin.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

#[test]
fn importer_records_and_exporter_waits() {
    let exporter = Program::new();
    let event = shared_event(&exporter);
    let handle = handle(&exporter, event);
    let importer = Sim::new(Config { quiet: true, ..Config::default() });
    let (sim, host) = (importer.clone(), std::sync::Mutex::new(0_usize));
    std::thread::scope(|scope| {
        let recorded = scope.spawn(|| {
            let importer = Program::over(&sim);
            let event = open(&importer, handle);
            let (stream, pinned) = pending(&importer, 7);
            ok!(importer, cuEventRecord(event, stream));
            *host.lock().unwrap() = pinned;
        });
        recorded.join().unwrap();
    });
    let pinned = *host.lock().unwrap();
    assert_eq!(seen(pinned), 0);
    let stream = exporter.stream(CU_STREAM_NON_BLOCKING);
    ok!(exporter, cuStreamWaitEvent(stream, event, 0));
    ok!(exporter, cuCtxSynchronize());
    assert_eq!(seen(pinned), 7);
    // The exporter's own next record is again the latest.
    let (stream, own) = pending(&exporter, 8);
    ok!(exporter, cuEventRecord(event, stream));
    ok!(exporter, cuEventSynchronize(event));
    assert_eq!(seen(own), 8);
    drop(importer);
}

#[test]
fn wait_means_the_record_at_its_time() {
    let exporter = Program::new();
    let event = shared_event(&exporter);
    let handle = handle(&exporter, event);
    let (first, one) = pending(&exporter, 1);
    let (second, two) = pending(&exporter, 2);
    ok!(exporter, cuEventRecord(event, first));
    let importer = Sim::new(Config { quiet: true, ..Config::default() });
    std::thread::scope(|scope| {
        let work = || {
            let importer = Program::over(&importer);
            let stream = importer.stream(CU_STREAM_NON_BLOCKING);
            ok!(importer, cuStreamWaitEvent(stream, open(&importer, handle), 0));
            stream.0
        };
        let stream = CUstream(scope.spawn(work).join().unwrap());
        ok!(exporter, cuEventRecord(event, second));
        let sim = &importer;
        let wait = move || {
            let importer = Program::over(sim);
            ok!(importer, cuStreamSynchronize(stream));
        };
        scope.spawn(wait).join().unwrap();
    });
    assert_eq!((seen(one), seen(two)), (1, 0));
}

/// Two processes each wait for the other's earlier work, and each only then for its own.
#[test]
fn processes_that_wait_for_each_other_get_on() {
    for schedule in [Schedule::Lazy, Schedule::Random(1)] {
        let config = || Config { schedule: schedule.clone(), ..Config::default() };
        let first = Program::with(config());
        let [ping, pong] = [0, 1].map(|_| shared_event(&first));
        let (handles, barrier) = ([ping, pong].map(|event| handle(&first, event)), std::sync::Barrier::new(2));
        let (stream, host) = pending(&first, 3);
        ok!(first, cuEventRecord(ping, stream));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let second = Program::with(config());
                let [ping, pong] = handles.map(|handle| open(&second, handle));
                let (stream, host) = pending(&second, 4);
                ok!(second, cuStreamWaitEvent(stream, ping, 0));
                ok!(second, cuEventRecord(pong, stream));
                barrier.wait();
                ok!(second, cuStreamSynchronize(stream));
                assert_eq!(seen(host), 4);
            });
            barrier.wait();
            let waiting = first.stream(CU_STREAM_NON_BLOCKING);
            ok!(first, cuStreamWaitEvent(waiting, pong, 0));
            ok!(first, cuStreamSynchronize(waiting));
            assert_eq!(seen(host), 3);
            other.join().unwrap();
        });
    }
}

extern "C" fn set(byte: *mut c_void) {
    write(byte.cast(), 1);
}

#[test]
fn host_function_before_a_record_runs_for_another_process() {
    let exporter = Program::new();
    let event = shared_event(&exporter);
    let (handle, byte, stream) =
        (handle(&exporter, event), exporter.pinned(1), exporter.stream(CU_STREAM_NON_BLOCKING));
    ok!(exporter, cuLaunchHostFunc(stream, Some(set), byte.cast()));
    ok!(exporter, cuEventRecord(event, stream));
    in_other_process(|importer| ok!(importer, cuEventSynchronize(open(importer, handle))));
    assert_eq!(read(byte), 1);
}

#[test]
fn graph_records_and_waits_for_shared_events() {
    let exporter = Program::new();
    let event = shared_event(&exporter);
    let handle = handle(&exporter, event);
    let (stream, host) = pending(&exporter, 5);
    let (mut graph, mut exec, mut node) = (CUgraph::NULL, CUgraphExec::NULL, CUgraphNode::NULL);
    ok!(exporter, cuGraphCreate(&mut graph, 0));
    ok!(exporter, cuGraphAddEventRecordNode(&mut node, graph, std::ptr::null(), 0, event));
    ok!(exporter, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(exporter, cuGraphLaunch(exec, stream));
    in_other_process(|importer| {
        let event = open(importer, handle);
        let (mut graph, mut exec, mut node) = (CUgraph::NULL, CUgraphExec::NULL, CUgraphNode::NULL);
        ok!(importer, cuGraphCreate(&mut graph, 0));
        ok!(importer, cuGraphAddEventWaitNode(&mut node, graph, std::ptr::null(), 0, event));
        ok!(importer, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        let stream = importer.stream(CU_STREAM_NON_BLOCKING);
        ok!(importer, cuGraphLaunch(exec, stream));
        ok!(importer, cuStreamSynchronize(stream));
    });
    assert_eq!(seen(host), 5);
}

#[test]
fn importer_outlives_the_exporters_event() {
    let exporter = Program::new();
    let event = shared_event(&exporter);
    let handle = handle(&exporter, event);
    let (stream, host) = pending(&exporter, 5);
    ok!(exporter, cuEventRecord(event, stream));
    let opened = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let importer = Program::new();
            let event = open(&importer, handle);
            opened.wait();
            opened.wait();
            ok!(importer, cuEventSynchronize(event));
        });
        opened.wait();
        ok!(exporter, cuEventDestroy_v2(event));
        opened.wait();
        other.join().unwrap();
    });
    assert_eq!(seen(host), 5);
}

const HANDLE: &str = "CUARRAY_TEST_EVENT";
const MODE: &str = "CUARRAY_TEST_MODE";

/// Not a test: the program of the child process.
#[test]
fn child_that_uses_an_event() {
    let Ok(mode) = std::env::var(MODE) else { return };
    let program = Program::new();
    if mode == "wait" {
        let text = std::env::var(HANDLE).unwrap();
        ok!(program, cuEventSynchronize(open(&program, from_hexadecimal(&text))));
        println!("waited");
        return;
    }
    // Records work that never runs, and waits to be killed.
    let event = shared_event(&program);
    let (stream, _) = pending(&program, 5);
    ok!(program, cuEventRecord(event, stream));
    println!("handle {}", hexadecimal(handle(&program, event)));
    let _ = std::io::stdin().read(&mut [0]);
    if mode == "exit" {
        std::process::exit(0);
    }
    std::thread::sleep(Duration::from_secs(100));
}

fn hexadecimal(handle: CUipcEventHandle) -> String {
    handle.reserved.iter().map(|byte| format!("{:02x}", byte.to_ne_bytes()[0])).collect()
}

fn from_hexadecimal(text: &str) -> CUipcEventHandle {
    let byte = |index: usize| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap();
    CUipcEventHandle { reserved: std::array::from_fn(|index| c_char::from_ne_bytes([byte(index)])) }
}

fn child(mode: &str, handle: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child_that_uses_an_event", "--exact", "--nocapture"]).env(MODE, mode).env(HANDLE, handle);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn child_process_waits_for_the_work_of_its_parent() {
    let program = Program::new();
    let event = shared_event(&program);
    let (stream, host) = pending(&program, 5);
    ok!(program, cuEventRecord(event, stream));
    let output = child("wait", &hexadecimal(handle(&program, event))).wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("waited"));
    assert_eq!(seen(host), 5);
}

#[test]
fn wait_ends_with_the_process_that_recorded() {
    for mode in ["exit", "kill"] {
        let mut child = child(mode, "");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find_map(|line| Some(line.split_once("handle ")?.1.to_owned())).unwrap();
        let program = Program::new();
        let event = open(&program, from_hexadecimal(&line));
        let stream = program.stream(CU_STREAM_NON_BLOCKING);
        ok!(program, cuStreamWaitEvent(stream, event, 0));
        // The child is not waited for: it stays in the table of processes.
        match mode {
            "exit" => drop(child.stdin.take()),
            _ => child.kill().unwrap(),
        }
        ok!(program, cuEventSynchronize(event));
        ok!(program, cuStreamSynchronize(stream));
        child.wait().unwrap();
        let mut event = CUevent::NULL;
        fails!(program, INVALID_HANDLE, cuIpcOpenEventHandle(&mut event, from_hexadecimal(&line)));
    }
}
