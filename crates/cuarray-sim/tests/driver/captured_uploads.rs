//! Captured copies from pageable memory, and changes of that memory by the host.

use crate::program::*;
use cuarray_sim::finding::{AccessKind, Kind};

const BYTES: usize = 4096;

struct Fixture {
    program: Program,
    stream: CUstream,
    device: CUdeviceptr,
    host: Vec<u8>,
    graph: CUgraph,
    exec: CUgraphExec,
}

impl Fixture {
    fn new(schedule: Schedule) -> Fixture {
        let program = Program::with(Config { schedule, ..Config::default() });
        let (stream, device) = (program.stream(CU_STREAM_NON_BLOCKING), program.alloc(BYTES));
        ok!(program, cuMemsetD8_v2(device, 0, BYTES));
        ok!(program, cuCtxSynchronize());
        Fixture { program, stream, device, host: vec![1; BYTES], graph: CUgraph::NULL, exec: CUgraphExec::NULL }
    }

    fn pointer(&mut self) -> *mut c_void {
        self.host.as_mut_ptr().cast()
    }

    /// Captures what `work` enqueues, and instantiates the graph.
    fn capture(&mut self, work: impl FnOnce(&mut Fixture)) {
        ok!(self.program, cuStreamBeginCapture_v2(self.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        work(self);
        ok!(self.program, cuStreamEndCapture(self.stream, &mut self.graph));
        ok!(self.program, cuGraphInstantiateWithFlags(&mut self.exec, self.graph, 0));
    }

    fn upload(&mut self) {
        let pointer = self.pointer();
        ok!(self.program, cuMemcpyHtoDAsync_v2(self.device, pointer, BYTES, self.stream));
    }

    fn download(&mut self) {
        let pointer = self.pointer();
        ok!(self.program, cuMemcpyDtoHAsync_v2(pointer, self.device, BYTES, self.stream));
    }

    fn launch(&self) {
        ok!(self.program, cuGraphLaunch(self.exec, self.stream));
    }

    fn wait(&self) {
        ok!(self.program, cuStreamSynchronize(self.stream));
    }

    fn change(&mut self, index: usize) {
        self.host[index] = self.host[index].wrapping_add(1);
    }

    fn has_no_findings(&self) {
        self.wait();
        assert_eq!(self.program.sim.report().findings, []);
    }
}

fn schedules() -> [Schedule; 4] {
    [Schedule::Lazy, Schedule::Eager, Schedule::Random(1), Schedule::Random(20)]
}

#[test]
fn change_between_the_launch_and_the_wait_is_a_race_under_every_schedule() {
    for schedule in schedules() {
        let mut fixture = Fixture::new(schedule);
        fixture.capture(Fixture::upload);
        fixture.launch();
        fixture.change(7);
        fixture.change(20);
        fixture.wait();
        let findings = fixture.program.sim.report().findings;
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.kind, finding.bytes.map(|bytes| bytes.length)), (Kind::DataRace, Some(14)));
        let sides: Vec<_> = finding.sides.iter().map(|side| (side.call, side.access)).collect();
        assert_eq!(sides, [("cuMemcpyHtoDAsync_v2", AccessKind::Read), ("host write", AccessKind::Write)]);
        let detail = finding.sides[1].detail.as_deref().unwrap();
        assert!(detail.contains("cuStreamSynchronize found it"), "{detail}");
    }
}

#[test]
fn change_before_the_launch_or_after_the_wait_has_no_findings() {
    for schedule in schedules() {
        let mut fixture = Fixture::new(schedule);
        fixture.capture(Fixture::upload);
        fixture.change(0);
        for _ in 0..3 {
            fixture.launch();
            fixture.wait();
            fixture.change(3);
        }
        let event = fixture.program.event();
        fixture.launch();
        ok!(fixture.program, cuEventRecord(event, fixture.stream));
        ok!(fixture.program, cuEventSynchronize(event));
        fixture.change(3);
        fixture.has_no_findings();
    }
}

#[test]
fn change_between_two_launches_without_a_wait_is_a_race() {
    let mut fixture = Fixture::new(Schedule::Lazy);
    fixture.capture(Fixture::upload);
    fixture.launch();
    fixture.change(0);
    fixture.launch();
    fixture.wait();
    assert_eq!(fixture.program.sim.report().findings.len(), 1);
}

#[test]
fn download_of_a_graph_into_the_memory_is_not_a_change_by_the_host() {
    for schedule in schedules() {
        let mut fixture = Fixture::new(schedule);
        fixture.capture(|fixture| {
            fixture.download();
            fixture.upload();
            fixture.program.fill(fixture.device, 9, BYTES, fixture.stream);
            fixture.download();
        });
        fixture.launch();
        fixture.launch();
        fixture.has_no_findings();
        assert_eq!(fixture.host, [9; BYTES]);
    }
}

#[test]
fn download_in_the_stream_after_the_graph_is_not_a_change_by_the_host() {
    let mut fixture = Fixture::new(Schedule::Lazy);
    fixture.capture(|fixture| {
        fixture.upload();
        fixture.program.fill(fixture.device, 9, BYTES, fixture.stream);
    });
    fixture.launch();
    fixture.download();
    fixture.has_no_findings();
    assert_eq!(fixture.host, [9; BYTES]);
}

#[test]
fn change_before_a_download_into_the_memory_is_a_race() {
    let mut fixture = Fixture::new(Schedule::Lazy);
    fixture.capture(Fixture::upload);
    fixture.launch();
    fixture.change(5);
    fixture.download();
    fixture.wait();
    let findings = fixture.program.sim.report().findings;
    assert_eq!(findings.iter().map(|finding| finding.kind).collect::<Vec<_>>(), [Kind::DataRace]);
}

unsafe extern "C" fn increment(data: *mut c_void) {
    // SAFETY: the tests pass live memory of at least one byte.
    unsafe { *data.cast::<u8>() += 1 };
}

#[test]
fn host_function_that_writes_the_memory_before_the_copy_has_no_findings() {
    for schedule in schedules() {
        let mut fixture = Fixture::new(schedule);
        fixture.capture(|fixture| {
            let pointer = fixture.pointer();
            ok!(fixture.program, cuLaunchHostFunc(fixture.stream, Some(increment), pointer));
            fixture.upload();
        });
        fixture.launch();
        fixture.launch();
        fixture.has_no_findings();
        assert_eq!(fixture.host[0], 3);
    }
}

#[test]
fn host_function_after_the_copy_may_write_the_memory() {
    for schedule in schedules() {
        let mut fixture = Fixture::new(schedule);
        fixture.capture(Fixture::upload);
        fixture.launch();
        let pointer = fixture.pointer();
        ok!(fixture.program, cuLaunchHostFunc(fixture.stream, Some(increment), pointer));
        fixture.has_no_findings();
    }
}

#[test]
fn wait_for_other_work_does_not_end_the_search() {
    let mut fixture = Fixture::new(Schedule::Eager);
    fixture.capture(Fixture::upload);
    fixture.launch();
    let other = fixture.program.stream(CU_STREAM_NON_BLOCKING);
    ok!(fixture.program, cuStreamSynchronize(other));
    fixture.change(0);
    fixture.wait();
    assert_eq!(fixture.program.sim.report().findings.len(), 1);
}

#[test]
fn search_is_off_without_the_search_for_host_accesses() {
    let config = Config { host_accesses: false, ..Config::default() };
    let mut fixture = Fixture::new(Schedule::Lazy);
    fixture.program = Program::with(config);
    fixture.stream = fixture.program.stream(CU_STREAM_NON_BLOCKING);
    fixture.device = fixture.program.alloc(BYTES);
    fixture.capture(Fixture::upload);
    fixture.launch();
    fixture.change(0);
    fixture.has_no_findings();
}

/// `polls(flag)` ends when the host has set the flag.
const POLLS: &std::ffi::CStr = c"
.version 8.0
.target sm_90
.address_size 64
.visible .entry polls(.param .u64 flag) {
    .reg .b64 %a; .reg .b32 %v; .reg .pred %p;
    ld.param.u64 %a, [flag];
again: ld.volatile.global.u32 %v, [%a]; setp.eq.u32 %p, %v, 0; @%p bra again; ret; }
";

#[test]
fn kernel_that_waits_for_the_host_before_the_copy_has_no_findings() {
    let mut fixture = Fixture::new(Schedule::Lazy);
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(fixture.program, cuModuleLoadData(&mut module, POLLS.as_ptr().cast()));
    ok!(fixture.program, cuModuleGetFunction(&mut function, module, c"polls".as_ptr()));
    let flag = fixture.program.pinned(4);
    let mut address = flag.expose_provenance() as u64;
    let mut params = [(&raw mut address).cast::<c_void>()];
    fixture.capture(Fixture::upload);
    let none = std::ptr::null_mut();
    let program = &fixture.program;
    ok!(program, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, fixture.stream, params.as_mut_ptr(), none));
    fixture.launch();
    fixture.change(0);
    write(flag, 1);
    fixture.has_no_findings();
}
