//! Launches that wait forever, that run too long, and that a signal ends.

#[macro_use]
mod program;
use program::*;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// `wait` polls a flag until it has a value. `count` adds 1 to a number until the word behind it has a value.
const LOOPS: &CStr = c"
.version 8.0
.target sm_90
.address_size 64
.visible .entry wait(.param .u64 flag, .param .u32 wanted)
{
    .reg .pred %p; .reg .b32 %v, %w; .reg .b64 %f;
    ld.param.u64 %f, [flag]; ld.param.u32 %w, [wanted];
    POLL: ld.volatile.global.u32 %v, [%f]; setp.ne.u32 %p, %v, %w; @%p bra POLL;
    ret;
}
.visible .entry count(.param .u64 numbers, .param .u32 wanted)
{
    .reg .pred %p; .reg .b32 %v, %w; .reg .b64 %f;
    ld.param.u64 %f, [numbers]; ld.param.u32 %w, [wanted];
    NEXT: red.global.add.u32 [%f], 1; ld.volatile.global.u32 %v, [%f+4]; setp.ne.u32 %p, %v, %w; @%p bra NEXT;
    ret;
}
";

/// Enqueues a kernel of 1 block.
fn launch(program: &Program, name: &CStr, stream: CUstream, data: u64, n: u32) {
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(program, cuModuleLoadData(&mut module, LOOPS.as_ptr().cast()));
    ok!(program, cuModuleGetFunction(&mut function, module, name.as_ptr()));
    let (mut data, mut n) = (data, n);
    let mut params = [(&raw mut data).cast::<c_void>(), (&raw mut n).cast()];
    let none = std::ptr::null_mut();
    ok!(program, cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, params.as_mut_ptr(), none));
}

fn zeros(program: &Program) -> u64 {
    let device = program.alloc(8);
    ok!(program, cuMemsetD8_v2(device, 0, 8));
    device
}

#[test]
fn deadlock_is_a_finding_with_the_polled_bytes_and_their_writer() {
    let program = Program::new();
    let flag = zeros(&program);
    launch(&program, c"wait", CUstream::NULL, flag, 0);
    ok!(program, cuCtxSynchronize());
    launch(&program, c"wait", CUstream::NULL, flag, 1);
    fails!(program, LAUNCH_TIMEOUT, cuCtxSynchronize());
    let findings = program.sim.report().findings;
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(finding.kind.name(), "deadlock");
    assert_eq!(finding.bytes.map(|bytes| (bytes.address, bytes.length)), Some((flag, 4)));
    let calls: Vec<_> = finding.sides.iter().map(|side| (side.call, side.place.is_some())).collect();
    assert_eq!(calls, [("cuLaunchKernel", true), ("cuMemsetD8_v2", false)]);
    let waits = finding.sides[0].place.as_ref().and_then(|place| place.waits.as_deref()).unwrap_or_default();
    assert!(waits.starts_with("64 threads of 1 block read the 4 bytes at"), "{waits}");
}

#[test]
fn deadlock_fails_the_context_while_findings_are_off() {
    let program = Program::with(Config { findings: false, ..Config::default() });
    launch(&program, c"wait", CUstream::NULL, zeros(&program), 1);
    fails!(program, LAUNCH_TIMEOUT, cuCtxSynchronize());
}

#[test]
fn launch_ends_after_its_limit_of_time() {
    let program = Program::with(Config { launch_seconds: Duration::from_millis(200), ..Config::default() });
    launch(&program, c"count", CUstream::NULL, zeros(&program), 1);
    let started = Instant::now();
    fails!(program, LAUNCH_TIMEOUT, cuCtxSynchronize());
    assert!(started.elapsed() >= Duration::from_millis(200));
}

#[test]
fn kernel_sees_the_flag_that_another_thread_of_the_host_sets() {
    for findings in [false, true] {
        let program = Program::with(Config { findings, ..Config::default() });
        let mut flag = std::ptr::null_mut();
        ok!(program, cuMemHostAlloc(&mut flag, 4, 0));
        // SAFETY: the memory has 4 bytes, and both threads access them atomically.
        let word = unsafe { AtomicU32::from_ptr(flag.cast()) };
        word.store(0, Ordering::SeqCst);
        launch(&program, c"wait", CUstream::NULL, flag as u64, 1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                word.store(1, Ordering::SeqCst);
            });
            ok!(program, cuCtxSynchronize());
        });
    }
}

#[test]
fn wait_for_the_host_that_does_not_write_is_a_deadlock_after_its_limit() {
    let memory_wait = Duration::from_millis(300);
    let program = Program::with(Config { memory_wait, ..Config::default() });
    let mut flag = std::ptr::null_mut();
    ok!(program, cuMemHostAlloc(&mut flag, 4, 0));
    // SAFETY: the memory has 4 bytes.
    unsafe { flag.cast::<u32>().write(0) };
    launch(&program, c"wait", CUstream::NULL, flag as u64, 1);
    let started = Instant::now();
    fails!(program, LAUNCH_TIMEOUT, cuCtxSynchronize());
    assert!(started.elapsed() >= memory_wait);
    assert_eq!(program.sim.report().findings[0].kind.name(), "deadlock");
}

#[test]
fn wait_for_work_of_another_stream_fails_without_a_finding() {
    let program = Program::new();
    let flag = zeros(&program);
    let [one, other] = [(); 2].map(|()| program.stream(CU_STREAM_NON_BLOCKING));
    launch(&program, c"wait", one, flag, 0x0101_0101);
    ok!(program, cuMemsetD8Async(program.alloc(8), 1, 8, other));
    fails!(program, LAUNCH_TIMEOUT, cuStreamSynchronize(one));
    let findings = program.sim.report().findings;
    assert!(findings.iter().all(|finding| finding.kind.name() != "deadlock"), "{findings:?}");
}

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn handled(_: i32) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn handled_signal_ends_the_launch_and_the_handler_stays() {
    let handler = handled as extern "C" fn(i32) as libc::sighandler_t;
    // SAFETY: the handler only counts.
    unsafe { libc::signal(libc::SIGALRM, handler) };
    for interrupts in [false, true] {
        let launch_seconds = Duration::from_secs(if interrupts { 1000 } else { 2 });
        let program = Program::with(Config { interrupts, launch_seconds, ..Config::default() });
        launch(&program, c"count", CUstream::NULL, zeros(&program), 1);
        let (before, started) = (HANDLED.load(Ordering::SeqCst), Instant::now());
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(300));
                    // SAFETY: the process handles the signal.
                    unsafe { libc::kill(libc::getpid(), libc::SIGALRM) };
                }
            });
            fails!(program, LAUNCH_TIMEOUT, cuCtxSynchronize());
            ended.store(true, Ordering::SeqCst);
        });
        assert!(HANDLED.load(Ordering::SeqCst) > before);
        let elapsed = started.elapsed();
        assert!(if interrupts { elapsed < launch_seconds } else { elapsed >= launch_seconds }, "{elapsed:?}");
    }
    // A signal may still be on its way to another thread. The default action would end the process.
    // SAFETY: the handler is the test's own.
    assert_eq!(unsafe { libc::signal(libc::SIGALRM, libc::SIG_IGN) }, handler);
}
