//! Planted bugs: small programs with one known mistake each, and the same programs without it.
//!
//! A pair is one program with a flag that makes it correct. The wrong program must have exactly the finding in its
//! table, with exactly these calls in these streams. The correct program must have none. Both must hold under every
//! schedule. The other files of this folder are the tables, one for each theme.

mod between_devices;
mod between_launches;
mod bounds;
mod copy_engines;
mod default_streams;
mod dependent_launches;
mod device_heap;
mod devices;
mod events;
mod frees;
mod graphs;
mod handles;
mod host_functions;
mod host_memory;
mod kernel_races;
mod kernels;
mod leaks;
mod mappings;
mod message_passing;
mod module_variables;
mod polling_hosts;
mod pools;
mod refusals;
mod small_kernels;
mod streams;
mod strong_accesses;
mod thread_values;
mod threads;
mod uninitialized;

use crate::program::*;
use cuarray_sim::HostOrder;
use cuarray_sim::finding::{Finding, Kind, Lane, LaneKind, Report};

/// A program with a mistake, and without it.
struct Pair {
    name: &'static str,
    /// The kind of finding that the mistake causes.
    kind: Kind,
    /// The operations of the finding, such as `cuMemsetD8Async on stream 1` or `host read on host`.
    sides: &'static [&'static str],
    /// The settings that the program needs.
    settings: fn(&mut Config),
    /// The program; it makes its mistake if the flag is false.
    run: fn(&Program, bool),
}

/// Defines the pairs of a file: a name, a kind, the sides, optional settings, and the program.
macro_rules! pairs {
    ($($name:ident: $kind:ident $sides:tt $(with $settings:expr)?, |$program:ident, $right:ident| $run:block)*) => {
        pub const PAIRS: &[$crate::planted::Pair] = &[$($crate::planted::Pair {
            name: concat!(module_path!(), "::", stringify!($name)),
            kind: Kind::$kind,
            sides: &$sides,
            settings: pairs!(@settings $($settings)?),
            run: |$program, $right| $run,
        }),*];
    };
    (@settings) => { |_| () };
    (@settings $settings:expr) => { $settings };
}
use pairs;

const ALL: [&[Pair]; 28] = [
    between_devices::PAIRS,
    between_launches::PAIRS,
    bounds::PAIRS,
    copy_engines::PAIRS,
    default_streams::PAIRS,
    dependent_launches::PAIRS,
    device_heap::PAIRS,
    devices::PAIRS,
    events::PAIRS,
    frees::PAIRS,
    graphs::PAIRS,
    handles::PAIRS,
    host_functions::PAIRS,
    host_memory::PAIRS,
    kernel_races::PAIRS,
    kernels::PAIRS,
    leaks::PAIRS,
    mappings::PAIRS,
    message_passing::PAIRS,
    module_variables::PAIRS,
    polling_hosts::PAIRS,
    pools::PAIRS,
    refusals::PAIRS,
    streams::PAIRS,
    strong_accesses::PAIRS,
    thread_values::PAIRS,
    threads::PAIRS,
    uninitialized::PAIRS,
];

/// The schedules under which each program runs.
fn schedules() -> Vec<Schedule> {
    let random = [1, 20, 300].map(Schedule::Random);
    [Schedule::Lazy, Schedule::Eager].into_iter().chain(random).collect()
}

/// A finding without the parts that differ between runs.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    kind: Kind,
    sides: Vec<String>,
    offset: Option<u64>,
    count: u64,
}

/// Runs a program once; returns its findings and the report.
fn findings(pair: &Pair, schedule: &Schedule, right: bool) -> (Vec<Found>, String) {
    let mut config = Config { schedule: schedule.clone(), leaks: Some(pair.kind == Kind::Leak), ..Config::default() };
    (pair.settings)(&mut config);
    let program = Program::with(config);
    (pair.run)(&program, right);
    let report = program.sim.report_with_leaks();
    let sides = |finding: &Finding| {
        finding.sides.iter().map(|side| format!("{} on {}", side.call, lane(&report, side.lane))).collect()
    };
    let found = report.findings.iter().map(|finding| {
        let Finding { kind, offset, count, .. } = *finding;
        Found { kind, sides: sides(finding), offset, count }
    });
    (found.collect(), report.text(false))
}

/// The name of a lane in the tables.
fn lane(report: &Report, number: u32) -> String {
    let Lane { kind, name, .. } = report.lanes.iter().find(|lane| lane.number == number).unwrap();
    match kind {
        LaneKind::Host => "host".to_owned(),
        LaneKind::Legacy => "legacy".to_owned(),
        LaneKind::PerThread => "per-thread".to_owned(),
        LaneKind::Internal => "branch".to_owned(),
        LaneKind::Request => "request".to_owned(),
        LaneKind::Blocking | LaneKind::NonBlocking => name.split(" (").next().unwrap().to_owned(),
    }
}

/// Runs a table, and counts the mistakes, the mistakes found, and the false findings.
fn check(pairs: &[Pair]) {
    let (mut missed, mut false_findings, mut runs) = (Vec::new(), Vec::new(), 0);
    for pair in pairs {
        let mut first = None;
        for schedule in schedules() {
            runs += 2;
            let (found, text) = findings(pair, &schedule, false);
            let sides: Vec<String> = pair.sides.iter().map(|side| (*side).to_owned()).collect();
            let is_it = found.len() == 1 && found[0].kind == pair.kind && found[0].sides == sides;
            let same = first.get_or_insert_with(|| found.clone()) == &found;
            if !is_it || !same {
                let (name, kind) = (pair.name, pair.kind);
                missed.push(format!("{name} under {schedule}: expected {kind:?} {sides:?}, found {found:?}\n{text}"));
            }
            let (found, text) = findings(pair, &schedule, true);
            if !found.is_empty() {
                false_findings.push(format!("{} under {schedule}\n{text}", pair.name));
            }
        }
    }
    let (count, schedules) = (pairs.len(), schedules().len());
    println!(
        "{count} pairs under {schedules} schedules, {runs} runs: {} mistakes missed, {} false findings",
        missed.len(),
        false_findings.len()
    );
    assert!(
        missed.is_empty() && false_findings.is_empty(),
        "missed: {}\nfalse findings: {}",
        missed.join("\n"),
        false_findings.join("\n")
    );
}

#[test]
fn every_planted_bug_is_found_without_false_findings() {
    let all: Vec<&Pair> = ALL.iter().copied().flatten().collect();
    let mut names: Vec<&str> = all.iter().map(|pair| pair.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len(), "two pairs have the same name");
    assert!(all.len() >= 60, "{} pairs", all.len());
    println!("{} planted bugs", all.len());
}

macro_rules! themes {
    ($($theme:ident)*) => {$(
        #[test]
        fn $theme() {
            check($theme::PAIRS);
        }
    )*};
}
themes! {
    between_devices between_launches bounds copy_engines default_streams dependent_launches device_heap devices events frees graphs handles host_functions host_memory kernel_races kernels leaks mappings message_passing module_variables polling_hosts pools streams strong_accesses
    thread_values threads    uninitialized
}

const NON_BLOCKING: u32 = CU_STREAM_NON_BLOCKING;

impl Program {
    /// Allocates device memory, writes it and waits for the write.
    fn written(&self, size: usize) -> CUdeviceptr {
        let memory = self.alloc(size);
        ok!(self, cuMemsetD8_v2(memory, 0, size));
        ok!(self, cuCtxSynchronize());
        memory
    }

    fn copy(&self, to: CUdeviceptr, from: CUdeviceptr, size: usize, stream: CUstream) {
        ok!(self, cuMemcpyDtoDAsync_v2(to, from, size, stream));
    }

    /// Orders one stream after another.
    fn order(&self, from: CUstream, to: CUstream) {
        let event = self.event();
        ok!(self, cuEventRecord(event, from));
        ok!(self, cuStreamWaitEvent(to, event, 0));
    }

    fn managed(&self, size: usize) -> CUdeviceptr {
        let mut address = 0;
        ok!(self, cuMemAllocManaged(&mut address, size, CU_MEM_ATTACH_GLOBAL));
        address
    }

    fn pool_memory(&self, size: usize, stream: CUstream) -> CUdeviceptr {
        let mut address = 0;
        ok!(self, cuMemAllocAsync(&mut address, size, stream));
        address
    }
}
