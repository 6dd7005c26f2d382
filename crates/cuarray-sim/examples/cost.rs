//! The cost of the simulated driver per operation, with and without findings: time and memory for programs of growing
//! length.
//!
//! ```text
//! cargo run --release -p cuarray-sim --example cost
//! ```
//!
//! The program has 64 streams and 10,000 allocations. Each stream fills its own memory, and sometimes copies from another
//! stream's. An edge before the copy and one after it prevent races. Every 1,000 operations the host waits for one of the
//! streams. Each line is measured in a separate process: processor time and wall time per operation, and peak memory.

use cuarray_abi::*;
use cuarray_sim::{Config, Sim};
use std::process::{Command, ExitCode};
use std::time::Instant;

const STREAMS: usize = 64;
const ALLOCATIONS: usize = 10_000;
const BYTES: usize = 256;

/// Calls an entry point that must succeed.
macro_rules! ok {
    ($api:expr, $symbol:ident($($arg:expr),*)) => {
        // SAFETY: the arguments are those that the driver's manual requires.
        assert!(unsafe { $api.$symbol.unwrap()($($arg),*) }.is_success(), stringify!($symbol))
    };
}

/// A reproducible sequence of pseudorandom numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Runs the program; returns processor time and wall time per operation in nanoseconds.
fn run(operations: usize, findings: bool) -> [f64; 2] {
    let sim = Sim::new(Config { findings, ..Config::default() });
    let (api, _entered) = (sim.api(), sim.enter());
    let mut context = CUcontext::NULL;
    ok!(api, cuInit(0));
    ok!(api, cuCtxCreate_v2(&mut context, 0, 0));
    let mut streams = [CUstream::NULL; STREAMS];
    let mut events = [CUevent::NULL; STREAMS];
    for (stream, event) in streams.iter_mut().zip(&mut events) {
        ok!(api, cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
        ok!(api, cuEventCreate(event, CU_EVENT_DISABLE_TIMING));
    }
    // Stream s owns every 64th allocation, starting with allocation s.
    let mut memory = vec![0; ALLOCATIONS];
    for address in &mut memory {
        ok!(api, cuMemAlloc_v2(address, BYTES));
        ok!(api, cuMemsetD8_v2(*address, 0, BYTES));
    }
    ok!(api, cuCtxSynchronize());
    let mut numbers = Numbers(1);
    let (mut done, mut waits) = (0, 0);
    let (start, used) = (Instant::now(), processor_time());
    while done < operations {
        let own = numbers.below(STREAMS);
        let mut any = |of: usize| memory[of + STREAMS * numbers.below(ALLOCATIONS / STREAMS)];
        let target = any(own);
        if done % 10 < 5 {
            ok!(api, cuMemsetD8Async(target, 1, BYTES, streams[own]));
            done += 1;
        } else {
            let other = (own + 1 + done % (STREAMS - 1)) % STREAMS;
            let source = any(other);
            ok!(api, cuEventRecord(events[other], streams[other]));
            ok!(api, cuStreamWaitEvent(streams[own], events[other], 0));
            ok!(api, cuMemcpyDtoDAsync_v2(target, source, BYTES, streams[own]));
            ok!(api, cuEventRecord(events[own], streams[own]));
            ok!(api, cuStreamWaitEvent(streams[other], events[own], 0));
            done += 5;
        }
        if done / 1000 > waits {
            ok!(api, cuStreamSynchronize(streams[waits % STREAMS]));
            waits += 1;
        }
    }
    ok!(api, cuCtxSynchronize());
    let seconds = [processor_time() - used, start.elapsed().as_secs_f64()];
    let report = sim.report();
    assert!(report.findings.is_empty(), "{}", report.text(false));
    seconds.map(|seconds| 1e9 * seconds / operations as f64)
}

/// The processor time of this process in seconds.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local variable.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The peak memory of this process in MB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).map_or(0, |kilobytes| kilobytes / 1024)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, operations, findings] = &arguments[..] {
        let [used, passed] = run(operations.parse().unwrap(), findings == "on");
        println!("{operations:>10}  {findings:>8}  {used:>12.0} ns  {passed:>8.0} ns  {:>6} MB", peak());
        return ExitCode::SUCCESS;
    }
    println!("operations  findings   processor time        clock     memory");
    for operations in ["10000", "100000", "1000000"] {
        for findings in ["off", "on"] {
            let status = Command::new(&arguments[0]).args([operations, findings]).status();
            if !status.is_ok_and(|status| status.success()) {
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
