//! Captures and graphs: branches, launches, and forbidden waits.

use super::*;

/// Captures `work`, which begins in `origin`; launches it and returns the executable graph.
fn launched(program: &Program, origin: CUstream, work: impl FnOnce()) -> CUgraphExec {
    let (mut graph, mut exec) = (CUgraph::NULL, CUgraphExec::NULL);
    ok!(program, cuStreamBeginCapture_v2(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
    work();
    ok!(program, cuStreamEndCapture(origin, &mut graph));
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(program, cuGraphLaunch(exec, origin));
    exec
}

/// Makes the later work of `to` wait for the work in `from`.
fn order(program: &Program, from: CUstream, to: CUstream) {
    let event = program.event();
    ok!(program, cuEventRecord(event, from));
    ok!(program, cuStreamWaitEvent(to, event, 0));
}

#[test]
fn branches_of_a_graph_are_ordered_only_by_its_edges() {
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
fn launch_with_all_its_branches_is_ordered_in_its_stream() {
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
fn launches_of_one_executable_graph_are_ordered() {
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
fn captured_work_does_not_race() {
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
fn waiting_for_a_capturing_stream_or_event_is_a_finding() {
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
        assert_eq!(finding.kind, Kind::CapturedStreamSynchronized);
        assert_eq!([finding.sides[0].call, finding.sides[1].call], ["cuStreamBeginCapture_v2", call]);
        fails!(program, STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &mut graph));
    }
    program.sim.clear_findings();
    let (stream, event) = (program.stream(CU_STREAM_NON_BLOCKING), program.event());
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok!(program, cuEventRecord(event, stream));
    fails!(program, CAPTURED_EVENT, cuEventSynchronize(event));
    assert_eq!(only(&program).object.unwrap().handle, event.0 as u64);
}

#[test]
fn launch_branches_are_ordered_with_earlier_and_later_stream_work() {
    for in_between in [false, true] {
        under_each_schedule(|program| {
            let [stream, other] = [CU_STREAM_NON_BLOCKING; 2].map(|flags| program.stream(flags));
            let (memory, mut graph, mut exec) = (program.alloc(64), CUgraph::NULL, CUgraphExec::NULL);
            program.fill(memory, 1, 64, stream);
            ok!(program, cuGraphCreate(&mut graph, 0));
            for branch in 0..4 {
                let params = CUDA_MEMSET_NODE_PARAMS {
                    dst: memory + 16 * branch,
                    pitch: 0,
                    value: 2,
                    elementSize: 1,
                    width: 16,
                    height: 1,
                };
                let (mut node, none) = (CUgraphNode::NULL, std::ptr::null());
                ok!(program, cuGraphAddMemsetNode(&mut node, graph, none, 0, &params, program.context));
            }
            ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
            ok!(program, cuGraphLaunch(exec, stream));
            // Work that another stream enqueues in between is unordered.
            if in_between {
                program.fill(memory, 3, 64, other);
            }
            ok!(program, cuGraphLaunch(exec, stream));
            program.fill(memory, 4, 64, stream);
            match in_between {
                true => {
                    assert!(kinds(program).iter().all(|kind| *kind == Kind::DataRace) && !kinds(program).is_empty())
                }
                false => clean(program),
            }
        });
    }
}

#[test]
fn race_in_a_graph_names_the_captured_calls() {
    let program = Program::new();
    let [origin, branch] = [CU_STREAM_NON_BLOCKING; 2].map(|flags| program.stream(flags));
    let memory = program.alloc(64);
    launched(&program, origin, || {
        order(&program, origin, branch);
        program.fill(memory, 1, 64, branch);
        ok!(program, cuMemcpyDtoDAsync_v2(memory, memory + 32, 32, origin));
        order(&program, branch, origin);
    });
    let races: Vec<Finding> =
        program.sim.report().findings.into_iter().filter(|finding| finding.kind == Kind::DataRace).collect();
    assert!(!races.is_empty());
    for race in races {
        let missing = "add an edge between the two nodes of the graph: in a capture, record an event after cuMemsetD8Async and \
                       make the stream of cuMemcpyDtoDAsync wait for it before";
        assert_eq!(race.missing.as_deref(), Some(missing));
        assert_eq!(
            race.sides.iter().map(|side| side.call).collect::<Vec<_>>(),
            ["cuMemsetD8Async", "cuMemcpyDtoDAsync_v2"]
        );
        assert!(race.sides.iter().all(|side| side.graph.is_some()));
        let text = program.sim.report().text(false);
        assert!(text.matches("      in a graph, launched at ").count() >= race.sides.len(), "{text}");
    }
}

#[test]
fn missing_edge_outside_a_graph_names_its_launch() {
    let program = Program::new();
    let [stream, other] = [CU_STREAM_NON_BLOCKING; 2].map(|flags| program.stream(flags));
    let (memory, branch) = (program.alloc(64), program.stream(CU_STREAM_NON_BLOCKING));
    launched(&program, stream, || {
        order(&program, stream, branch);
        ok!(program, cuMemcpyDtoDAsync_v2(memory, memory + 32, 8, stream));
        program.fill(memory + 16, 1, 8, branch);
        order(&program, branch, stream);
    });
    program.sim.clear_findings();
    program.fill(memory + 16, 2, 8, other);
    let finding = only(&program);
    let missing = finding.missing.unwrap();
    let (before, after) = missing.split_once(" after the launch of the graph").unwrap();
    assert_eq!(before, "record an event on stream 1 (non-blocking)");
    assert!(after.contains(" and make stream 2 (non-blocking) wait for it before cuMemsetD8Async"), "{after}");
}

/// Launches a graph in `stream` that allocates memory, fills it and, if `freed`, frees it; returns the memory.
fn allocating(program: &Program, stream: CUstream, freed: bool, flags: u64, launches: usize) -> CUdeviceptr {
    let (mut graph, mut exec, mut memory) = (CUgraph::NULL, CUgraphExec::NULL, 0);
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok!(program, cuMemAllocAsync(&mut memory, 64, stream));
    program.fill(memory, 1, 64, stream);
    if freed {
        ok!(program, cuMemFreeAsync(memory, stream));
    }
    ok!(program, cuStreamEndCapture(stream, &mut graph));
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, flags));
    for _ in 0..launches {
        ok!(program, cuGraphLaunch(exec, stream));
    }
    memory
}

#[test]
fn graph_memory_must_be_used_after_its_launch() {
    for ordered in [true, false] {
        under_each_schedule(|program| {
            let [stream, other] = [CU_STREAM_NON_BLOCKING; 2].map(|flags| program.stream(flags));
            let memory = allocating(program, stream, false, 0, 1);
            if ordered {
                order(program, stream, other);
            }
            program.fill(memory, 2, 64, other);
            match ordered {
                true => clean(program),
                false => assert!(
                    kinds(program).contains(&Kind::UseBeforeAllocation) || kinds(program).contains(&Kind::DataRace)
                ),
            }
        });
    }
}

#[test]
fn graphs_that_free_their_memory_have_no_findings() {
    under_each_schedule(|program| {
        let stream = program.stream(CU_STREAM_NON_BLOCKING);
        allocating(program, stream, true, 0, 3);
        let memory = allocating(program, stream, false, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, 3);
        program.fill(memory, 2, 64, stream);
        clean(program);
    });
}

#[test]
fn auto_free_happens_before_every_branch_of_the_next_launch() {
    for schedule in [Schedule::Lazy, Schedule::Eager] {
        let program = Program::with(Config { schedule, ..Config::default() });
        let (stream, mut graph, mut exec) = (program.stream(CU_STREAM_NON_BLOCKING), CUgraph::NULL, CUgraphExec::NULL);
        let (mut first, mut node, none) = (CUgraphNode::NULL, CUgraphNode::NULL, std::ptr::null());
        // SAFETY: all-zero is a valid description.
        let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
        params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        params.poolProps.location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
        params.bytesize = 64;
        ok!(program, cuGraphCreate(&mut graph, 0));
        // The empty node is on the first lane, and the allocation on the second.
        ok!(program, cuGraphAddEmptyNode(&mut first, graph, none, 0));
        ok!(program, cuGraphAddMemAllocNode(&mut node, graph, none, 0, &mut params));
        let (mut record, event) = (CUgraphNode::NULL, program.event());
        ok!(program, cuGraphAddEventRecordNode(&mut record, graph, &node, 1, event));
        let flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, flags));
        let used_at_most = [(); 3].map(|()| {
            ok!(program, cuGraphLaunch(exec, stream));
            program.fill(params.dptr, 1, 64, stream);
            // This wait runs the second lane, and only that work of the stream which precedes it.
            ok!(program, cuEventSynchronize(event));
            let mut used = 0_u64;
            let attribute = CU_GRAPH_MEM_ATTR_USED_MEM_HIGH;
            ok!(program, cuDeviceGetGraphMemAttribute(0, attribute, (&raw mut used).cast()));
            used
        });
        clean(&program);
        assert!(used_at_most.iter().all(|used| *used == used_at_most[0] && *used > 0), "{used_at_most:?}");
    }
}

/// Adds a fill of 16 bytes of `memory` to a new graph.
fn graph_with_a_fill(program: &Program, memory: CUdeviceptr) -> CUgraph {
    let (mut graph, mut node) = (CUgraph::NULL, CUgraphNode::NULL);
    ok!(program, cuGraphCreate(&mut graph, 0));
    let params = CUDA_MEMSET_NODE_PARAMS { dst: memory, pitch: 0, value: 1, elementSize: 1, width: 16, height: 1 };
    ok!(program, cuGraphAddMemsetNode(&mut node, graph, std::ptr::null(), 0, &params, program.context));
    graph
}

#[test]
fn launch_with_freed_memory_is_a_finding() {
    for child in [false, true] {
        for freed in [false, true] {
            let program = Program::new();
            let memory = program.alloc(16);
            let mut graph = graph_with_a_fill(&program, memory);
            if child {
                let (mut outer, mut node) = (CUgraph::NULL, CUgraphNode::NULL);
                ok!(program, cuGraphCreate(&mut outer, 0));
                ok!(program, cuGraphAddChildGraphNode(&mut node, outer, std::ptr::null(), 0, graph));
                graph = outer;
            }
            let mut exec = CUgraphExec::NULL;
            ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
            if !freed {
                ok!(program, cuGraphLaunch(exec, CUstream::NULL));
                clean(&program);
                continue;
            }
            ok!(program, cuMemFree_v2(memory));
            fails!(program, INVALID_VALUE, cuGraphLaunch(exec, CUstream::NULL));
            assert_eq!(kinds(&program), [Kind::UseAfterFree]);
            let text = program.sim.report().text(false);
            assert!(text.contains("cuGraphLaunch writes 16 bytes"), "{text}");
        }
    }
}

#[test]
fn node_of_freed_memory_is_a_finding() {
    let program = Program::new();
    let (memory, stream) = (program.alloc(16), program.stream(CU_STREAM_NON_BLOCKING));
    ok!(program, cuMemFree_v2(memory));
    let (mut graph, mut node) = (CUgraph::NULL, CUgraphNode::NULL);
    ok!(program, cuGraphCreate(&mut graph, 0));
    let params = CUDA_MEMSET_NODE_PARAMS { dst: memory, pitch: 0, value: 1, elementSize: 1, width: 16, height: 1 };
    let none = std::ptr::null();
    fails!(program, INVALID_VALUE, cuGraphAddMemsetNode(&mut node, graph, none, 0, &params, program.context));
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    fails!(program, INVALID_VALUE, cuMemsetD8Async(memory, 1, 16, stream));
    ok!(program, cuStreamEndCapture(stream, &mut graph));
    assert_eq!(kinds(&program), [Kind::UseAfterFree, Kind::UseAfterFree]);
}
