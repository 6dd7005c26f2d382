//! Captures that repeat the capture of their graph: reported parameters, failures, and the graph afterwards.

use super::*;
use std::sync::Mutex;

/// The reports of a recapture: the node, the original and the new value of a fill, and the status. `answer` is returned.
struct Reports {
    seen: Mutex<Vec<(CUgraphNode, u32, u32, CUgraphRecaptureStatus)>>,
    answer: CUresult,
}

impl Reports {
    fn new(answer: CUresult) -> Reports {
        Reports { seen: Mutex::new(Vec::new()), answer }
    }

    fn data(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    fn seen(&self) -> Vec<(CUgraphNode, u32, u32, CUgraphRecaptureStatus)> {
        self.seen.lock().unwrap().clone()
    }
}

/// The value of a fill; 0 for another node.
fn value_of(params: &CUgraphNodeParams) -> u32 {
    if params.kind != CU_GRAPH_NODE_TYPE_MEMSET {
        return 0;
    }
    // SAFETY: the parameters are those of a fill.
    unsafe { params.params.as_ptr().cast::<CUDA_MEMSET_NODE_PARAMS>().read() }.value
}

unsafe extern "C" fn report(
    data: *mut c_void,
    node: CUgraphNode,
    original: *const CUgraphNodeParams,
    captured: *const CUgraphNodeParams,
    status: CUgraphRecaptureStatus,
) -> CUresult {
    // SAFETY: the tests pass reports, and the driver passes the parameters of two nodes.
    unsafe {
        let reports = &*data.cast::<Reports>();
        assert_eq!((*original).kind, (*captured).kind);
        reports.seen.lock().unwrap().push((node, value_of(&*original), value_of(&*captured), status));
        reports.answer
    }
}

/// Captures work again into a graph; returns the result of the end.
fn again(p: &Program, graph: CUgraph, reports: &Reports, work: impl FnOnce(CUstream)) -> CUresult {
    let (stream, mut ended) = (p.stream(CU_STREAM_NON_BLOCKING), CUgraph::NULL);
    ok!(p, cuStreamBeginRecaptureToGraph(stream, RELAXED, graph, Some(report), reports.data()));
    work(stream);
    let result = call!(p, cuStreamEndCapture(stream, &mut ended));
    assert_eq!(ended, if result.is_success() { graph } else { CUgraph::NULL });
    assert_eq!(status(p, stream), CU_STREAM_CAPTURE_STATUS_NONE);
    result
}

/// A graph with the captured work.
fn captured(p: &Program, work: impl FnOnce(CUstream)) -> CUgraph {
    let stream = p.stream(CU_STREAM_NON_BLOCKING);
    begin(p, stream, RELAXED);
    work(stream);
    end(p, stream)
}

fn nodes(p: &Program, graph: CUgraph) -> Vec<CUgraphNode> {
    let mut count = count(p, graph).0;
    let mut nodes = vec![CUgraphNode::NULL; count];
    ok!(p, cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count));
    nodes
}

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const FAILURE: CUresult = CUresult::CUDA_ERROR_GRAPH_RECAPTURE_FAILURE;

#[test]
fn equal_work_is_not_reported_and_keeps_the_nodes() {
    let p = Program::new();
    let (memory, other, event) = (p.alloc(64), p.alloc(64), p.event());
    let child = captured(&p, |stream| p.fill(other, 1, 64, stream));
    let mut exec = CUgraphExec::NULL;
    ok!(p, cuGraphInstantiateWithFlags(&mut exec, child, 0));
    let work = |stream| {
        p.fill(memory, 1, 64, stream);
        ok!(p, cuMemcpyDtoDAsync_v2(other, memory, 64, stream));
        ok!(p, cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
        ok!(p, cuGraphLaunch(exec, stream));
        p.fill(memory, 2, 64, stream);
    };
    let graph = captured(&p, work);
    let (reports, before, graphs) = (Reports::new(SUCCESS), nodes(&p, graph), p.statistic("graphs"));
    assert_eq!(again(&p, graph, &reports, work), SUCCESS);
    assert_eq!((reports.seen(), nodes(&p, graph), p.statistic("graphs")), (Vec::new(), before, graphs));
}

#[test]
fn other_parameters_are_reported_and_update_an_executable_graph() {
    let p = Program::new();
    let memory = p.alloc(64);
    let graph = captured(&p, |stream| {
        p.fill(memory, 1, 64, stream);
        p.fill(memory + 32, 2, 32, stream);
    });
    let (mut exec, reports) = (CUgraphExec::NULL, Reports::new(SUCCESS));
    ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    let result = again(&p, graph, &reports, |stream| {
        p.fill(memory, 1, 64, stream);
        p.fill(memory + 32, 7, 32, stream);
    });
    assert_eq!(result, SUCCESS);
    let second = nodes(&p, graph)[1];
    assert_eq!(reports.seen(), [(second, 2, 7, CU_GRAPH_RECAPTURE_ELIGIBLE_FOR_UPDATE)]);
    // The executable graph changes when it is updated.
    for (update, value) in [(false, 2), (true, 7)] {
        let mut info = CUgraphExecUpdateResultInfo::default();
        if update {
            ok!(p, cuGraphExecUpdate_v2(exec, graph, &mut info));
        }
        ok!(p, cuGraphLaunch(exec, CUstream::NULL));
        ok!(p, cuCtxSynchronize());
        assert_eq!((p.peek(memory), p.peek(memory + 32)), (1, value));
    }
}

#[test]
fn change_that_no_executable_graph_can_have_is_reported_as_ineligible() {
    let p = Program::new();
    let (memory, host) = (p.alloc(64), p.pinned(64) as u64);
    let graph = captured(&p, |stream| ok!(p, cuMemcpyAsync(memory, memory + 32, 32, stream)));
    let reports = Reports::new(SUCCESS);
    let result = again(&p, graph, &reports, |stream| ok!(p, cuMemcpyAsync(memory, host, 32, stream)));
    assert_eq!(result, SUCCESS);
    let [(.., status)] = reports.seen()[..] else { panic!("one report") };
    assert_eq!(status, CU_GRAPH_RECAPTURE_INELIGIBLE_FOR_UPDATE);
}

#[test]
fn without_a_function_all_parameters_are_accepted() {
    let p = Program::new();
    let (memory, stream) = (p.alloc(64), p.stream(CU_STREAM_NON_BLOCKING));
    let graph = captured(&p, |stream| p.fill(memory, 1, 64, stream));
    ok!(p, cuStreamBeginRecaptureToGraph(stream, RELAXED, graph, None, std::ptr::null_mut()));
    p.fill(memory, 9, 64, stream);
    assert_eq!(end(&p, stream), graph);
    let mut exec = CUgraphExec::NULL;
    ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(p, cuGraphLaunch(exec, stream));
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!(p.peek(memory), 9);
}

#[test]
fn refusal_of_the_program_fails_the_recapture_at_once() {
    let p = Program::new();
    let memory = p.alloc(64);
    let graph = captured(&p, |stream| {
        p.fill(memory, 1, 64, stream);
        p.fill(memory, 2, 64, stream);
    });
    let reports = Reports::new(CUresult::CUDA_ERROR_UNKNOWN);
    let result = again(&p, graph, &reports, |stream| {
        fails!(p, GRAPH_RECAPTURE_FAILURE, cuMemsetD8Async(memory, 3, 64, stream));
        fails!(p, STREAM_CAPTURE_INVALIDATED, cuMemsetD8Async(memory, 2, 64, stream));
    });
    assert_eq!((result, reports.seen().len()), (CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 1));
    ok!(p, cuGraphDestroy(graph));
}

#[test]
fn another_topology_fails_the_recapture() {
    let p = Program::new();
    let memory = p.alloc(64);
    let two_fills = |stream| {
        p.fill(memory, 1, 64, stream);
        p.fill(memory, 2, 64, stream);
    };
    let reports = Reports::new(SUCCESS);
    // Fewer nodes.
    let graph = captured(&p, two_fills);
    assert_eq!(again(&p, graph, &reports, |stream| p.fill(memory, 1, 64, stream)), FAILURE);
    // More nodes, a node of another kind, and a node with another edge.
    let invalidated = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    let graph = captured(&p, two_fills);
    let result = again(&p, graph, &reports, |stream| {
        two_fills(stream);
        fails!(p, GRAPH_RECAPTURE_FAILURE, cuMemsetD8Async(memory, 3, 64, stream));
    });
    assert_eq!(result, invalidated);
    let graph = captured(&p, two_fills);
    let result = again(&p, graph, &reports, |stream| {
        fails!(p, GRAPH_RECAPTURE_FAILURE, cuMemcpyDtoDAsync_v2(memory, memory + 32, 32, stream));
    });
    assert_eq!(result, invalidated);
    let graph = captured(&p, two_fills);
    let result = again(&p, graph, &reports, |stream| {
        p.fill(memory, 1, 64, stream);
        let set = CU_STREAM_SET_CAPTURE_DEPENDENCIES;
        ok!(p, cuStreamUpdateCaptureDependencies(stream, std::ptr::null_mut(), 0, set));
        fails!(p, GRAPH_RECAPTURE_FAILURE, cuMemsetD8Async(memory, 2, 64, stream));
    });
    assert_eq!(result, invalidated);
    assert_eq!(reports.seen(), []);
}

#[test]
fn memory_nodes_must_have_the_same_parameters() {
    let p = Program::new();
    let work = |stream, size| {
        let mut address = 0;
        let result = call!(p, cuMemAllocAsync(&mut address, size, stream));
        if result.is_success() {
            p.fill(address, 1, 8, stream);
            ok!(p, cuMemFreeAsync(address, stream));
        }
        (result, address)
    };
    let reports = Reports::new(SUCCESS);
    let mut first = (SUCCESS, 0);
    let graph = captured(&p, |stream| first = work(stream, 64));
    assert_eq!(again(&p, graph, &reports, |stream| assert_eq!(work(stream, 64), first)), SUCCESS);
    let result = again(&p, graph, &reports, |stream| assert_eq!(work(stream, 65), (FAILURE, 0)));
    assert_eq!(result, CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    // Another release.
    let [mut one, mut two] = [0; 2];
    let allocate = |stream, one: &mut u64, two: &mut u64| {
        ok!(p, cuMemAllocAsync(one, 64, stream));
        ok!(p, cuMemAllocAsync(two, 64, stream));
    };
    let graph = captured(&p, |stream| {
        allocate(stream, &mut one, &mut two);
        ok!(p, cuMemFreeAsync(one, stream));
    });
    let result = again(&p, graph, &reports, |stream| {
        allocate(stream, &mut one, &mut two);
        fails!(p, GRAPH_RECAPTURE_FAILURE, cuMemFreeAsync(two, stream));
    });
    assert_eq!((result, reports.seen()), (CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, Vec::new()));
}

#[test]
fn child_graph_with_other_nodes_replaces_the_old_one() {
    let p = Program::new();
    let memory = p.alloc(64);
    let child = |value: u8| {
        let (graph, mut exec) = (captured(&p, |stream| p.fill(memory, value, 64, stream)), CUgraphExec::NULL);
        ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        exec
    };
    let (one, two) = (child(1), child(2));
    let graph = captured(&p, |stream| ok!(p, cuGraphLaunch(one, stream)));
    let graphs = p.statistic("graphs");
    for (answer, value) in [(SUCCESS, 2), (CUresult::CUDA_ERROR_UNKNOWN, 2)] {
        let reports = Reports::new(answer);
        let result = again(&p, graph, &reports, |stream| {
            let exec = if answer.is_success() { two } else { one };
            assert_eq!(call!(p, cuGraphLaunch(exec, stream)), if answer.is_success() { SUCCESS } else { FAILURE });
        });
        assert_eq!((result.is_success(), reports.seen().len()), (answer.is_success(), 1));
        assert_eq!(p.statistic("graphs"), graphs, "no child graph is left over");
        let mut exec = CUgraphExec::NULL;
        ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok!(p, cuGraphLaunch(exec, CUstream::NULL));
        ok!(p, cuCtxSynchronize());
        assert_eq!(p.peek(memory), value);
        ok!(p, cuGraphExecDestroy(exec));
    }
}

#[test]
fn user_objects_of_the_graph_are_released_first() {
    unsafe extern "C" fn ended(data: *mut c_void) {
        // SAFETY: the test passes a mutex that outlives the object.
        *unsafe { &*data.cast::<Mutex<u32>>() }.lock().unwrap() += 1;
    }
    let p = Program::new();
    let (memory, calls, mut object) = (p.alloc(64), Mutex::new(0_u32), CUuserObject::NULL);
    let graph = captured(&p, |stream| p.fill(memory, 1, 64, stream));
    let data = std::ptr::from_ref(&calls).cast_mut().cast();
    ok!(p, cuUserObjectCreate(&mut object, data, Some(ended), 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok!(p, cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    let reports = Reports::new(SUCCESS);
    let result = again(&p, graph, &reports, |stream| {
        assert_eq!(*calls.lock().unwrap(), 1);
        p.fill(memory, 1, 64, stream);
    });
    assert_eq!(result, SUCCESS);
}

#[test]
fn recapture_begins_as_a_capture_into_a_graph_does() {
    let p = Program::new();
    let (memory, stream, none) = (p.alloc(64), p.stream(CU_STREAM_NON_BLOCKING), std::ptr::null_mut());
    let graph = captured(&p, |stream| p.fill(memory, 1, 64, stream));
    fails!(p, INVALID_VALUE, cuStreamBeginRecaptureToGraph(stream, 3, graph, None, none));
    fails!(p, INVALID_VALUE, cuStreamBeginRecaptureToGraph(stream, RELAXED, CUgraph::NULL, None, none));
    let legacy = CU_STREAM_LEGACY;
    fails!(p, STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginRecaptureToGraph(legacy, RELAXED, graph, None, none));
    ok!(p, cuStreamBeginRecaptureToGraph(stream, RELAXED, graph, None, none));
    fails!(p, ILLEGAL_STATE, cuStreamBeginRecaptureToGraph(stream, RELAXED, graph, None, none));
    let other = p.stream(CU_STREAM_NON_BLOCKING);
    fails!(p, ILLEGAL_STATE, cuStreamBeginRecaptureToGraph(other, RELAXED, graph, None, none));
    // Its graph gets no nodes by hand.
    let mut node = CUgraphNode::NULL;
    fails!(p, NOT_SUPPORTED, cuGraphAddEmptyNode(&mut node, graph, std::ptr::null(), 0));
    p.fill(memory, 1, 64, stream);
    assert_eq!(end(&p, stream), graph);
    ok!(p, cuGraphDestroy(graph));
    fails!(p, INVALID_VALUE, cuStreamBeginRecaptureToGraph(stream, RELAXED, graph, None, none));
}
