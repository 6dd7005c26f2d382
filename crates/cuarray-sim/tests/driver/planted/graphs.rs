//! Captures and graphs: branches without an edge, launches without a wait, and captures that a wait invalidates.

use super::*;

/// Captures the work of a stream and instantiates the graph.
fn captured(p: &Program, stream: CUstream, work: impl FnOnce()) -> CUgraphExec {
    let (mut graph, mut exec) = (CUgraph::NULL, CUgraphExec::NULL);
    ok!(p, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    work();
    ok!(p, cuStreamEndCapture(stream, &mut graph));
    ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    exec
}

/// Adds a fill to a graph.
fn fill(p: &Program, graph: CUgraph, after: &[CUgraphNode], memory: CUdeviceptr) -> CUgraphNode {
    let mut node = CUgraphNode::NULL;
    let params = CUDA_MEMSET_NODE_PARAMS { dst: memory, pitch: 0, value: 1, elementSize: 1, width: 64, height: 1 };
    ok!(p, cuGraphAddMemsetNode(&mut node, graph, after.as_ptr(), after.len(), &params, p.context));
    node
}

pairs! {
    branches_that_meet_too_late: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on branch"], |p, right| {
        let (origin, branch, memory) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING), p.alloc(64));
        let exec = captured(p, origin, || {
            p.order(origin, branch);
            p.fill(memory, 1, 64, branch);
            if right {
                p.order(branch, origin);
            }
            p.fill(memory, 2, 64, origin);
            p.order(branch, origin);
        });
        ok!(p, cuGraphLaunch(exec, origin));
    }
    nodes_without_an_edge: DataRace ["cuGraphAddMemsetNode on stream 1", "cuGraphAddMemsetNode on branch"], |p, right| {
        let (stream, memory) = (p.stream(0), p.alloc(64));
        let (mut graph, mut exec) = (CUgraph::NULL, CUgraphExec::NULL);
        ok!(p, cuGraphCreate(&mut graph, 0));
        let first = fill(p, graph, &[], memory);
        fill(p, graph, if right { std::slice::from_ref(&first) } else { &[] }, memory);
        ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok!(p, cuGraphLaunch(exec, stream));
    }
    a_launch_and_another_stream: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (stream, other, memory) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING), p.alloc(64));
        let exec = captured(p, stream, || p.fill(memory, 1, 64, stream));
        ok!(p, cuGraphLaunch(exec, stream));
        if right {
            p.order(stream, other);
        }
        p.fill(memory, 2, 64, other);
    }
    a_launch_before_its_input_is_there: DataRace ["cuMemsetD8Async on stream 1", "cuMemcpyDtoDAsync_v2 on stream 2"], |p, right| {
        let (stream, other) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING));
        let (memory, copy) = (p.written(64), p.alloc(64));
        let exec = captured(p, stream, || p.copy(copy, memory, 64, stream));
        p.fill(memory, 2, 64, other);
        if right {
            ok!(p, cuStreamSynchronize(other));
        }
        ok!(p, cuGraphLaunch(exec, stream));
    }
    two_graphs_in_two_streams: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, memory) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING), p.alloc(64));
        let execs = [1, 2].map(|value| captured(p, one, || p.fill(memory, value, 64, one)));
        ok!(p, cuGraphLaunch(execs[0], one));
        ok!(p, cuGraphLaunch(execs[1], if right { one } else { two }));
    }
    a_wait_that_was_captured: DataRace ["cuMemsetD8Async on stream 1", "cuMemcpyDtoDAsync_v2 on stream 2"], |p, right| {
        // A wait during a capture becomes part of the graph, and does not order the stream itself.
        let (one, two, memory, copy) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING), p.written(64), p.alloc(64));
        p.fill(memory, 1, 64, one);
        if right {
            p.order(one, two);
        }
        captured(p, two, || p.fill(copy, 1, 64, two));
        p.copy(copy, memory, 64, two);
    }
    a_capturing_stream_synchronized: CapturedStreamSynchronized ["cuStreamBeginCapture_v2 on host", "cuStreamSynchronize on host"], |p, right| {
        let (stream, other, memory, mut graph) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING), p.alloc(64), CUgraph::NULL);
        ok!(p, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        p.fill(memory, 1, 64, stream);
        if right {
            ok!(p, cuStreamSynchronize(other));
        } else {
            fails!(p, STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
        }
        call!(p, cuStreamEndCapture(stream, &mut graph));
    }
    a_captured_event_synchronized: CapturedStreamSynchronized ["cuStreamBeginCapture_v2 on host", "cuEventSynchronize on host"], |p, right| {
        let (stream, event, mut graph) = (p.stream(NON_BLOCKING), p.event(), CUgraph::NULL);
        ok!(p, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        if right {
            ok!(p, cuEventSynchronize(event));
        }
        ok!(p, cuEventRecord(event, stream));
        if !right {
            fails!(p, CAPTURED_EVENT, cuEventSynchronize(event));
        }
        call!(p, cuStreamEndCapture(stream, &mut graph));
    }
    a_download_in_a_graph_read_too_early: DataRace ["cuMemcpyDtoHAsync_v2 on stream 1", "host read on host"], |p, right| {
        let (stream, memory, host) = (p.stream(NON_BLOCKING), p.written(64), p.pinned(64));
        let exec = captured(p, stream, || ok!(p, cuMemcpyDtoHAsync_v2(host.cast(), memory, 64, stream)));
        read(host);
        ok!(p, cuGraphLaunch(exec, stream));
        if right {
            ok!(p, cuStreamSynchronize(stream));
        }
        read(host);
    }
}
