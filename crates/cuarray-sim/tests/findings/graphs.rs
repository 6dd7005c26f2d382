//! Captures and graphs: their branches, their launches, and what must not be waited for.

use super::*;

/// Captures work that `origin` begins, launches it, and answers the executable graph.
fn launched(program: &Program, origin: CUstream, work: impl FnOnce()) -> CUgraphExec {
    let (mut graph, mut exec) = (CUgraph::NULL, CUgraphExec::NULL);
    ok!(program, cuStreamBeginCapture_v2(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
    work();
    ok!(program, cuStreamEndCapture(origin, &mut graph));
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(program, cuGraphLaunch(exec, origin));
    exec
}

/// Lets a stream come after another.
fn order(program: &Program, from: CUstream, to: CUstream) {
    let event = program.event();
    ok!(program, cuEventRecord(event, from));
    ok!(program, cuStreamWaitEvent(to, event, 0));
}

#[test]
fn branches_of_a_graph_are_ordered_by_its_edges_alone() {
    for ordered in [true, false] {
        under_each_schedule(|program| {
            let (origin, branch) = (program.stream(CU_STREAM_NON_BLOCKING), program.stream(CU_STREAM_NON_BLOCKING));
            let memory = program.alloc(64);
            launched(program, origin, || {
                order(program, origin, branch);
                program.fill(memory, 1, 64, branch);
                if ordered {
                    order(program, branch, origin);
                }
                program.fill(memory, 2, 64, origin);
                program.fill(memory, 3, 64, origin);
                order(program, branch, origin);
                program.fill(memory, 4, 64, origin);
            });
            match ordered {
                true => clean(program),
                false => assert_eq!(kinds(program), [Kind::DataRace]),
            }
        });
    }
}

#[test]
fn a_launch_is_in_its_streams_order_with_all_its_branches() {
    for synchronized in [true, false] {
        under_each_schedule(|program| {
            let [origin, branch, other] = [CU_STREAM_NON_BLOCKING; 3].map(|flags| program.stream(flags));
            let memory = program.alloc(64);
            program.fill(memory, 1, 64, origin);
            launched(program, origin, || {
                order(program, origin, branch);
                program.fill(memory, 1, 64, branch);
                order(program, branch, origin);
            });
            program.fill(memory, 2, 64, origin);
            clean(program);
            if synchronized {
                order(program, origin, other);
            }
            program.fill(memory, 3, 64, other);
            assert_eq!(kinds(program).is_empty(), synchronized);
        });
    }
}

#[test]
fn launches_of_one_executable_graph_come_one_after_the_other() {
    under_each_schedule(|program| {
        let [origin, other] = [CU_STREAM_NON_BLOCKING; 2].map(|flags| program.stream(flags));
        let memory = program.alloc(64);
        let exec = launched(program, origin, || program.fill(memory, 1, 64, origin));
        ok!(program, cuGraphLaunch(exec, other));
        clean(program);
        program.fill(memory, 2, 64, origin);
        assert_eq!(kinds(program), [Kind::DataRace]);
    });
}

#[test]
fn what_is_captured_does_not_happen_and_races_with_nothing() {
    under_each_schedule(|program| {
        let [origin, other] = [CU_STREAM_NON_BLOCKING; 2].map(|flags| program.stream(flags));
        let memory = program.alloc(64);
        program.fill(memory, 1, 64, other);
        let mut graph = CUgraph::NULL;
        ok!(program, cuStreamBeginCapture_v2(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
        program.fill(memory, 1, 64, origin);
        ok!(program, cuStreamEndCapture(origin, &mut graph));
        clean(program);
    });
}

#[test]
fn a_stream_that_captures_is_not_synchronized_with() {
    let program = Program::new();
    let mut graph = CUgraph::NULL;
    for call in ["cuStreamSynchronize", "cuStreamQuery", "cuCtxSynchronize"] {
        program.sim.clear_findings();
        let stream = program.stream(CU_STREAM_NON_BLOCKING);
        ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        match call {
            "cuStreamSynchronize" => fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream)),
            "cuStreamQuery" => fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(stream)),
            _ => fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize()),
        }
        let finding = only(&program);
        assert_eq!((finding.kind, finding.sides[0].call), (Kind::CapturedStreamSynchronized, call));
        fails!(program, STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &mut graph));
    }
    program.sim.clear_findings();
    let (stream, event) = (program.stream(CU_STREAM_NON_BLOCKING), program.event());
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok!(program, cuEventRecord(event, stream));
    fails!(program, CAPTURED_EVENT, cuEventSynchronize(event));
    assert_eq!(only(&program).object.unwrap().handle, event.0 as u64);
}
