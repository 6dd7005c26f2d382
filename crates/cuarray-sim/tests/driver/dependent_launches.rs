//! Dependent launches: the attribute of programmatic stream serialization, and `griddepcontrol.wait`.

use crate::program::dependent_kernels::KERNELS;
use crate::program::*;
use cuarray_sim::finding::{AccessKind, Finding, Kind};
use std::ffi::CStr;

const THREADS: u32 = 64;
const BYTES: usize = THREADS as usize * 4;

struct Fixture {
    program: Program,
    module: CUmodule,
    one: CUdeviceptr,
    two: CUdeviceptr,
    stream: CUstream,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::with(Config::default())
    }

    /// Two filled arrays, which the host has waited for.
    fn with(config: Config) -> Fixture {
        let program = Program::with(config);
        let mut module = CUmodule::NULL;
        ok!(program, cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()));
        let (one, two) = (program.alloc(BYTES), program.alloc(BYTES));
        ok!(program, cuMemsetD8_v2(one, 7, BYTES));
        ok!(program, cuMemsetD8_v2(two, 9, BYTES));
        let stream = program.stream(CU_STREAM_NON_BLOCKING);
        ok!(program, cuCtxSynchronize());
        Fixture { program, module, one, two, stream }
    }

    fn launch_in(&self, stream: CUstream, name: &CStr, dependent: bool, arrays: [CUdeviceptr; 2]) {
        let program = &self.program;
        let mut function = CUfunction::NULL;
        ok!(program, cuModuleGetFunction(&mut function, self.module, name.as_ptr()));
        program.launch_after(function, stream, THREADS, dependent, arrays);
    }

    /// Launches a kernel over both arrays.
    fn launch(&self, name: &CStr, dependent: bool) {
        self.launch_in(self.stream, name, dependent, [self.one, self.two]);
    }

    fn findings(&self) -> Vec<Finding> {
        ok!(self.program, cuCtxSynchronize());
        self.program.sim.report().findings
    }

    /// Asserts that there is one race, between accesses of these kinds, with this offset and length.
    fn has_race(&self, kinds: [AccessKind; 2], offset: u64, length: u64) {
        let findings = self.findings();
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(finding.kind, Kind::DataRace);
        assert_eq!([finding.sides[0].access, finding.sides[1].access], kinds);
        assert_eq!(finding.sides[0].lane, finding.sides[1].lane);
        assert_eq!((finding.offset, finding.bytes.map(|bytes| bytes.length)), (Some(offset), Some(length)));
        let missing = finding.missing.as_deref().unwrap();
        assert!(missing.contains("cudaGridDependencySynchronize"), "{missing}");
    }

    fn has_no_findings(&self) {
        assert_eq!(self.findings(), []);
    }
}

#[test]
fn missing_wait_is_a_race_with_the_previous_kernel() {
    let fixture = Fixture::new();
    fixture.launch(c"write", false);
    fixture.launch(c"read", true);
    fixture.has_race([AccessKind::Write, AccessKind::Read], 0, 256);
}

#[test]
fn launch_without_the_attribute_is_ordered() {
    let fixture = Fixture::new();
    fixture.launch(c"write", false);
    fixture.launch(c"read", false);
    fixture.has_no_findings();
}

#[test]
fn wait_orders_the_accesses_after_it() {
    for name in [c"late", c"barrier", c"prologue"] {
        let fixture = Fixture::new();
        fixture.launch(c"write", false);
        fixture.launch(name, true);
        fixture.has_no_findings();
    }
}

#[test]
fn threads_that_do_not_wait_race() {
    let fixture = Fixture::new();
    fixture.launch(c"write", false);
    fixture.launch(c"some", true);
    fixture.has_race([AccessKind::Write, AccessKind::Read], 128, 128);
}

#[test]
fn write_before_the_wait_races_with_reads_of_the_previous_kernel() {
    let fixture = Fixture::new();
    fixture.launch(c"read", false);
    fixture.launch(c"write", true);
    fixture.has_race([AccessKind::Read, AccessKind::Write], 0, 256);
}

#[test]
fn accesses_to_other_memory_before_the_wait_do_not_race() {
    let fixture = Fixture::new();
    let other = fixture.program.alloc(BYTES);
    ok!(fixture.program, cuMemsetD8_v2(other, 0, BYTES));
    ok!(fixture.program, cuCtxSynchronize());
    fixture.launch(c"write", false);
    fixture.launch_in(fixture.stream, c"read", true, [fixture.two, other]);
    fixture.has_no_findings();
}

#[test]
fn work_before_the_previous_kernel_is_ordered() {
    let fixture = Fixture::new();
    fixture.program.fill(fixture.one, 1, BYTES, fixture.stream);
    fixture.launch(c"idle", false);
    fixture.launch(c"read", true);
    fixture.has_no_findings();
}

#[test]
fn dependent_launch_after_other_work_is_ordered() {
    let fixture = Fixture::new();
    fixture.program.fill(fixture.one, 1, BYTES, fixture.stream);
    fixture.launch(c"read", true);
    fixture.launch(c"write", false);
    let event = fixture.program.event();
    ok!(fixture.program, cuEventRecord(event, fixture.stream));
    fixture.launch(c"read", true);
    fixture.has_no_findings();
}

#[test]
fn wait_of_the_host_orders_a_dependent_launch() {
    let fixture = Fixture::new();
    fixture.launch(c"write", false);
    ok!(fixture.program, cuStreamSynchronize(fixture.stream));
    fixture.launch(c"read", true);
    fixture.has_no_findings();
}

#[test]
fn work_after_a_dependent_launch_is_ordered_after_all_of_it() {
    let fixture = Fixture::new();
    fixture.launch(c"idle", false);
    fixture.launch(c"read", true);
    fixture.program.fill(fixture.one, 1, BYTES, fixture.stream);
    fixture.program.fill(fixture.two, 1, BYTES, fixture.stream);
    let (event, other) = (fixture.program.event(), fixture.program.stream(CU_STREAM_NON_BLOCKING));
    fixture.launch(c"idle", false);
    fixture.launch(c"write", true);
    ok!(fixture.program, cuEventRecord(event, fixture.stream));
    ok!(fixture.program, cuStreamWaitEvent(other, event, 0));
    fixture.program.fill(fixture.one, 1, BYTES, other);
    fixture.has_no_findings();
}

#[test]
fn launch_that_does_not_wait_lets_the_next_one_overlap_with_the_previous_one() {
    let fixture = Fixture::new();
    fixture.launch(c"write", false);
    fixture.launch(c"idle", true);
    fixture.launch(c"read", true);
    fixture.has_race([AccessKind::Write, AccessKind::Read], 0, 256);
}

#[test]
fn launch_that_waits_orders_the_next_one_after_the_previous_one() {
    let fixture = Fixture::new();
    fixture.launch(c"write", false);
    fixture.launch(c"waits", true);
    fixture.launch(c"read", true);
    fixture.has_no_findings();
}

#[test]
fn dependent_launches_race_with_each_other() {
    let fixture = Fixture::new();
    fixture.launch(c"idle", false);
    fixture.launch(c"write", true);
    fixture.launch(c"read", true);
    fixture.has_race([AccessKind::Write, AccessKind::Read], 0, 256);
}

#[test]
fn race_with_another_stream_names_the_missing_event() {
    let fixture = Fixture::new();
    let other = fixture.program.stream(CU_STREAM_NON_BLOCKING);
    fixture.program.fill(fixture.one, 1, BYTES, other);
    fixture.launch(c"idle", false);
    fixture.launch(c"read", true);
    let findings = fixture.findings();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert!(finding.missing.as_deref().unwrap().starts_with("record an event"), "{finding:?}");
}

#[test]
fn event_of_another_stream_orders_the_previous_kernel_and_the_dependent_launch() {
    let fixture = Fixture::new();
    let (event, other) = (fixture.program.event(), fixture.program.stream(CU_STREAM_NON_BLOCKING));
    fixture.program.fill(fixture.one, 1, BYTES, other);
    ok!(fixture.program, cuEventRecord(event, other));
    ok!(fixture.program, cuStreamWaitEvent(fixture.stream, event, 0));
    fixture.launch(c"idle", false);
    fixture.launch(c"read", true);
    fixture.has_no_findings();
}

#[test]
fn legacy_default_stream_orders_a_dependent_launch() {
    let fixture = Fixture::new();
    let blocking = fixture.program.stream(CU_STREAM_DEFAULT);
    let arrays = [fixture.one, fixture.two];
    fixture.launch_in(blocking, c"idle", false, arrays);
    fixture.program.fill(fixture.one, 1, BYTES, CUstream::NULL);
    fixture.launch_in(blocking, c"read", true, arrays);
    fixture.has_no_findings();
}

#[test]
fn devices_before_compute_capability_9_run_dependent_launches_in_order() {
    let old = KERNELS.to_str().unwrap().replace("sm_90", "sm_80").replace("griddepcontrol.launch_dependents;", "");
    let old = old.split(".visible .entry late").next().unwrap().to_owned() + "\0";
    let program = Program::with(Config { compute_capability: (8, 0), ..Config::default() });
    let mut module = CUmodule::NULL;
    ok!(program, cuModuleLoadData(&mut module, old.as_ptr().cast()));
    let (one, two) = (program.alloc(BYTES), program.alloc(BYTES));
    let stream = program.stream(CU_STREAM_NON_BLOCKING);
    let fixture = Fixture { program, module, one, two, stream };
    fixture.launch(c"write", false);
    fixture.launch(c"read", true);
    fixture.has_no_findings();
}

#[test]
fn search_without_races_of_threads_orders_dependent_launches() {
    let fixture = Fixture::with(Config { kernel_races: false, ..Config::default() });
    fixture.launch(c"write", false);
    fixture.launch(c"read", true);
    fixture.has_no_findings();
}

/// Captures the launches of `work` and launches the graph twice.
fn in_graph(fixture: &Fixture, work: impl FnOnce()) {
    let (program, mut graph, mut exec) = (&fixture.program, CUgraph::NULL, CUgraphExec::NULL);
    ok!(program, cuStreamBeginCapture_v2(fixture.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    work();
    ok!(program, cuStreamEndCapture(fixture.stream, &mut graph));
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    for _ in 0..2 {
        ok!(program, cuGraphLaunch(exec, fixture.stream));
    }
}

#[test]
fn captured_launches_race_without_a_wait() {
    let fixture = Fixture::new();
    in_graph(&fixture, || {
        fixture.launch(c"write", false);
        fixture.launch(c"read", true);
    });
    fixture.has_race([AccessKind::Write, AccessKind::Read], 0, 256);
}

#[test]
fn captured_launches_with_a_wait_have_no_findings() {
    let fixture = Fixture::new();
    in_graph(&fixture, || {
        fixture.launch(c"read", true);
        fixture.launch(c"waits", false);
        fixture.launch(c"write", true);
        fixture.launch(c"late", true);
    });
    fixture.has_no_findings();
}

#[test]
fn captured_launch_races_on_another_branch_of_the_graph() {
    let fixture = Fixture::new();
    let (event, joined) = (fixture.program.event(), fixture.program.event());
    let other = fixture.program.stream(CU_STREAM_NON_BLOCKING);
    let third = fixture.program.alloc(BYTES);
    in_graph(&fixture, || {
        fixture.launch(c"write", false);
        ok!(fixture.program, cuEventRecord(event, fixture.stream));
        ok!(fixture.program, cuStreamWaitEvent(other, event, 0));
        // The other stream has captured no launch before, so this one is ordered, and it takes the lane of the first launch.
        fixture.launch_in(other, c"read", true, [fixture.one, third]);
        ok!(fixture.program, cuEventRecord(joined, other));
        fixture.launch(c"read", true);
        ok!(fixture.program, cuStreamWaitEvent(fixture.stream, joined, 0));
        fixture.launch(c"read", true);
    });
    let findings = fixture.findings();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert!(finding.missing.as_deref().unwrap().contains("cudaGridDependencySynchronize"), "{finding:?}");
    assert_eq!((finding.kind, finding.count), (Kind::DataRace, 2));
}
