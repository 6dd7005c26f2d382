//! Launches: their effects, and their place in stream order.

use super::*;

#[test]
fn captured_graph_repeats_its_work_at_each_launch() {
    let program = Program::new();
    let (device, host, stream) = (program.alloc(8), program.pinned(8), program.stream(0));
    let graph = captured(&program, |stream| {
        ok!(program, cuMemcpyHtoDAsync_v2(device, host.cast(), 4, stream));
        ok!(program, cuMemcpyDtoDAsync_v2(device + 4, device, 2, stream));
        ok!(program, cuMemsetD16Async(device + 6, 0x0909, 1, stream));
    });
    let exec = instantiate(&program, graph);
    ok!(program, cuGraphDestroy(graph));
    for value in [3, 4] {
        write(host, value);
        ok!(program, cuGraphLaunch(exec, stream));
        assert_ne!(program.peek(device), value, "an enqueued launch does not run");
        let all = bytes(&program, device, 8);
        assert_eq!((all[0], all[4], &all[6..]), (value, value, &[9, 9][..]));
    }
    ok!(program, cuGraphExecDestroy(exec));
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, stream));
    assert_eq!((program.statistic("graphs"), program.statistic("graph_execs")), (0, 0));
}

#[test]
fn pageable_memory_is_read_and_written_at_the_launch() {
    let program = Program::new();
    let (device, stream) = (program.alloc(4), program.stream(0));
    let (mut source, mut target) = (vec![1_u8; 4], vec![0_u8; 4]);
    let graph = captured(&program, |stream| {
        ok!(program, cuMemcpyHtoDAsync_v2(device, source.as_ptr().cast(), 4, stream));
        ok!(program, cuMemcpyDtoHAsync_v2(target.as_mut_ptr().cast(), device, 4, stream));
    });
    let exec = instantiate(&program, graph);
    write(source.as_mut_ptr(), 5);
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(read(target.as_ptr()), 5);
}

#[test]
fn launch_is_ordered_in_its_stream() {
    let program = Program::new();
    let (device, stream) = (program.alloc(4), program.stream(0));
    let graph = graph(&program);
    // The second branch runs on a private lane, and is ordered with other work of the stream like the first branch.
    copy(&program, graph, &[], copy_params(device + 1, device, 1));
    copy(&program, graph, &[], copy_params(device + 2, device, 1));
    let exec = instantiate(&program, graph);
    program.fill(device, 5, 1, stream);
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuMemcpyDtoDAsync_v2(device + 3, device + 2, 1, stream));
    program.fill(device, 6, 1, stream);
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(bytes(&program, device, 4), [6, 5, 5, 5]);
}

#[test]
fn launches_of_one_executable_graph_do_not_overlap() {
    let program = Program::new();
    let (device, streams) = (program.alloc(4), [program.stream(CU_STREAM_NON_BLOCKING), program.stream(0)]);
    let graph = graph(&program);
    // Each launch reads the bytes that the previous one wrote.
    let first = copy(&program, graph, &[], copy_params(device + 1, device, 1));
    fill(&program, graph, &[first], fill_params(device, 7, 1));
    let exec = instantiate(&program, graph);
    ok!(program, cuMemsetD8_v2(device, 1, 4));
    ok!(program, cuCtxSynchronize());
    ok!(program, cuGraphLaunch(exec, streams[0]));
    ok!(program, cuGraphLaunch(exec, streams[1]));
    ok!(program, cuStreamSynchronize(streams[1]));
    assert_eq!(program.peek(device + 1), 7);
}

#[test]
fn event_nodes_order_a_launch_with_other_streams() {
    let program = Program::new();
    let (device, stream, other) = (program.alloc(2), program.stream(0), program.stream(CU_STREAM_NON_BLOCKING));
    let (before, after) = (program.event(), program.event());
    let (graph, mut node) = (graph(&program), CUgraphNode::NULL);
    ok!(program, cuGraphAddEventWaitNode(&mut node, graph, NONE, 0, before));
    let copied = copy(&program, graph, &[node], copy_params(device + 1, device, 1));
    ok!(program, cuGraphAddEventRecordNode(&mut node, graph, &copied, 1, after));
    let exec = instantiate(&program, graph);
    for value in [3, 4] {
        program.fill(device, value, 1, other);
        ok!(program, cuEventRecord(before, other));
        ok!(program, cuGraphLaunch(exec, stream));
        ok!(program, cuEventSynchronize(after));
        assert_eq!(program.peek(device + 1), value);
    }
    let mut event = CUevent::NULL;
    ok!(program, cuGraphEventRecordNodeGetEvent(node, &mut event));
    assert_eq!(event, after);
    fails!(program, INVALID_VALUE, cuGraphEventWaitNodeGetEvent(node, &mut event));
    ok!(program, cuGraphEventRecordNodeSetEvent(node, before));
    ok!(program, cuGraphEventRecordNodeGetEvent(node, &mut event));
    assert_eq!(event, before);
    fails!(program, INVALID_HANDLE, cuGraphEventRecordNodeSetEvent(node, CUevent(5)));
}

#[test]
fn executable_graph_may_be_destroyed_during_a_pending_launch() {
    let program = Program::new();
    let (graph, device, stream) = (graph(&program), program.alloc(2), program.stream(0));
    fill(&program, graph, &[], fill_params(device, 5, 1));
    fill(&program, graph, &[], fill_params(device + 1, 6, 1));
    let exec = instantiate(&program, graph);
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuGraphExecDestroy(exec));
    ok!(program, cuGraphDestroy(graph));
    fails!(program, INVALID_VALUE, cuGraphExecDestroy(exec));
    assert_eq!(program.statistic("graph_execs"), 0);
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!((program.peek(device), program.peek(device + 1)), (5, 6));
}

#[test]
fn launch_works_after_the_context_of_an_earlier_launch_is_destroyed() {
    let program = Program::new();
    let (graph, mut context) = (graph(&program), CUcontext::NULL);
    let device = program.alloc(2);
    fill(&program, graph, &[], fill_params(device, 5, 1));
    fill(&program, graph, &[], fill_params(device + 1, 6, 1));
    let exec = instantiate(&program, graph);
    ok!(program, cuCtxCreate_v2(&mut context, 0, 0));
    ok!(program, cuGraphLaunch(exec, program.stream(0)));
    ok!(program, cuCtxDestroy_v2(context));
    ok!(program, cuCtxSetCurrent(program.context));
    assert_eq!(bytes(&program, device, 2), [5, 6]);
    ok!(program, cuMemsetD8_v2(device, 0, 2));
    ok!(program, cuGraphLaunch(exec, program.stream(0)));
    assert_eq!(bytes(&program, device, 2), [5, 6]);
}

#[test]
fn launch_completes_before_it_returns_under_the_eager_schedule() {
    let program = Program::with(Config { schedule: Schedule::Eager, ..Config::default() });
    let (graph, device) = (graph(&program), program.alloc(1));
    fill(&program, graph, &[], fill_params(device, 5, 1));
    ok!(program, cuGraphLaunch(instantiate(&program, graph), program.stream(0)));
    assert_eq!((program.peek(device), program.statistic("pending_operations")), (5, 0));
}

#[test]
fn host_node_runs_without_further_driver_calls() {
    let program = Program::new();
    let (calls, graph, mut node) = (Calls::new(1), graph(&program), CUgraphNode::NULL);
    let call = Call { calls: &calls, number: 0 };
    let params = CUDA_HOST_NODE_PARAMS { function: Some(called), userData: (&raw const call).cast_mut().cast() };
    ok!(program, cuGraphAddHostNode(&mut node, graph, NONE, 0, &params));
    let mut read = CUDA_HOST_NODE_PARAMS { function: None, userData: std::ptr::null_mut() };
    ok!(program, cuGraphHostNodeGetParams(node, &mut read));
    assert!(read.function.is_some() && read.userData == params.userData);
    ok!(program, cuGraphLaunch(instantiate(&program, graph), program.stream(0)));
    while calls.next.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
}
