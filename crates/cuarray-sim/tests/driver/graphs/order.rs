//! The order of nodes: only edges order them.

use super::*;
use cuarray_sim::{Bounds, explore};
use std::collections::BTreeSet;
use std::sync::Mutex;

#[test]
fn every_launch_of_random_graphs_keeps_every_edge() {
    let program = Program::new();
    let stream = program.stream(0);
    let mut seed = 12345_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for _ in 0..60 {
        let count = 1 + random(24);
        let calls = Calls::new(count);
        let data: Vec<Call<'_>> = (0..count).map(|number| Call { calls: &calls, number }).collect();
        let graph = graph(&program);
        let mut nodes: Vec<CUgraphNode> = Vec::new();
        let mut edges = Vec::new();
        for (number, call) in data.iter().enumerate() {
            let chosen: BTreeSet<usize> =
                if number == 0 { BTreeSet::new() } else { (0..random(4)).map(|_| random(number)).collect() };
            let after: Vec<CUgraphNode> = chosen.iter().map(|before| nodes[*before]).collect();
            edges.extend(chosen.into_iter().map(|before| (before, number)));
            let params =
                CUDA_HOST_NODE_PARAMS { function: Some(called), userData: (&raw const *call).cast_mut().cast() };
            let mut node = CUgraphNode::NULL;
            ok!(program, cuGraphAddHostNode(&mut node, graph, after.as_ptr(), after.len(), &params));
            nodes.push(node);
        }
        let mut number = 9;
        ok!(program, cuGraphGetEdges(graph, std::ptr::null_mut(), std::ptr::null_mut(), &mut number));
        assert_eq!(number, edges.len());
        let exec = instantiate(&program, graph);
        for launch in 1..=2 {
            ok!(program, cuGraphLaunch(exec, stream));
            ok!(program, cuStreamSynchronize(stream));
            assert_eq!(calls.next.load(Ordering::SeqCst), launch * count);
            let at = |number: usize| calls.at[number].load(Ordering::SeqCst);
            assert!(edges.iter().all(|(before, after)| at(*before) < at(*after)));
        }
        ok!(program, cuGraphExecDestroy(exec));
        ok!(program, cuGraphDestroy(graph));
    }
}

#[test]
fn branches_are_not_ordered() {
    // Without an edge, a branch does not see a write of another branch, in either order of addition.
    for (reader_first, edge) in [(true, false), (false, false), (false, true)] {
        let program = Program::new();
        let (device, stream, event) = (program.alloc(4), program.stream(0), program.event());
        ok!(program, cuMemsetD8_v2(device, 1, 4));
        ok!(program, cuCtxSynchronize());
        let graph = graph(&program);
        let mut node = CUgraphNode::NULL;
        let read = |after: &[CUgraphNode], node: &mut CUgraphNode| {
            let read = copy(&program, graph, after, copy_params(device + 1, device, 1));
            ok!(program, cuGraphAddEventRecordNode(node, graph, &read, 1, event));
        };
        if reader_first {
            read(&[], &mut node);
        }
        let write = fill(&program, graph, &[], fill_params(device, 7, 1));
        if !reader_first {
            read(if edge { std::slice::from_ref(&write) } else { &[] }, &mut node);
        }
        let exec = instantiate(&program, graph);
        ok!(program, cuGraphLaunch(exec, stream));
        // This wait runs only the reader's branch.
        ok!(program, cuEventSynchronize(event));
        assert_eq!(program.peek(device + 1), if edge { 7 } else { 1 });
        ok!(program, cuStreamSynchronize(stream));
        assert_eq!(program.peek(device), 7);
    }
}

/// The final values of one byte that a graph's fills write, over all schedules.
fn over_all_schedules(build: impl Fn(&Program, CUgraph, CUdeviceptr)) -> BTreeSet<u8> {
    let outcomes = Mutex::new(BTreeSet::new());
    let bounds = Bounds { schedules: 10_000, deviations: None };
    let explored = explore(&Config::default(), bounds, |sim| {
        let program = Program::over(sim);
        let (graph, device, stream) = (graph(&program), program.alloc(1), program.stream(CU_STREAM_NON_BLOCKING));
        build(&program, graph, device);
        program.fill(device, 1, 1, stream);
        ok!(program, cuGraphLaunch(instantiate(&program, graph), stream));
        ok!(program, cuStreamSynchronize(stream));
        outcomes.lock().unwrap().insert(program.peek(device));
    });
    let explored = explored.unwrap();
    assert!(explored.complete && explored.failures == 0);
    outcomes.into_inner().unwrap()
}

#[test]
fn all_schedules_run_branches_in_every_order_and_chains_in_one() {
    let two = over_all_schedules(|program, graph, device| {
        fill(program, graph, &[], fill_params(device, 7, 1));
        fill(program, graph, &[], fill_params(device, 8, 1));
    });
    assert_eq!(two, BTreeSet::from([7, 8]));
    let chain = over_all_schedules(|program, graph, device| {
        let first = fill(program, graph, &[], fill_params(device, 7, 1));
        fill(program, graph, &[first], fill_params(device, 8, 1));
    });
    assert_eq!(chain, BTreeSet::from([8]));
    // A diamond in which one corner writes again.
    let diamond = over_all_schedules(|program, graph, device| {
        let top = fill(program, graph, &[], fill_params(device, 5, 1));
        let left = fill(program, graph, &[top], fill_params(device, 6, 1));
        let right = fill(program, graph, &[top], fill_params(device, 7, 1));
        empty(program, graph, &[left, right]);
        fill(program, graph, &[right], fill_params(device, 8, 1));
    });
    assert_eq!(diamond, BTreeSet::from([6, 8]));
}

#[test]
fn reused_lane_adds_no_order_between_branches() {
    // a -> b, c; b, c -> d; c -> e; d -> f, g. No assignment of lanes may order g after e.
    let program = Program::new();
    let (device, stream, event) = (program.alloc(2), program.stream(0), program.event());
    ok!(program, cuMemsetD8_v2(device, 1, 2));
    ok!(program, cuCtxSynchronize());
    let graph = graph(&program);
    let a = empty(&program, graph, &[]);
    let b = empty(&program, graph, &[a]);
    let c = empty(&program, graph, &[a]);
    let d = empty(&program, graph, &[b, c]);
    fill(&program, graph, &[c], fill_params(device, 7, 1));
    empty(&program, graph, &[d]);
    let g = copy(&program, graph, &[d], copy_params(device + 1, device, 1));
    let mut node = CUgraphNode::NULL;
    ok!(program, cuGraphAddEventRecordNode(&mut node, graph, &g, 1, event));
    ok!(program, cuGraphLaunch(instantiate(&program, graph), stream));
    ok!(program, cuEventSynchronize(event));
    assert_eq!(program.peek(device + 1), 1);
}

#[test]
fn cycle_is_refused_at_instantiation() {
    let program = Program::new();
    let graph = graph(&program);
    let a = empty(&program, graph, &[]);
    let b = empty(&program, graph, &[a]);
    ok!(program, cuGraphAddDependencies(graph, &b, &a, 1));
    let mut exec = CUgraphExec::NULL;
    fails!(program, INVALID_VALUE, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    let mut params = CUDA_GRAPH_INSTANTIATE_PARAMS {
        flags: 0,
        hUploadStream: CUstream::NULL,
        hErrNode_out: CUgraphNode::NULL,
        result_out: 9,
    };
    fails!(program, INVALID_VALUE, cuGraphInstantiateWithParams(&mut exec, graph, &mut params));
    assert_eq!(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    assert!([a, b].contains(&params.hErrNode_out));
    let (mut node, mut log) = (CUgraphNode::NULL, [9; 8]);
    fails!(program, INVALID_VALUE, cuGraphInstantiate_v2(&mut exec, graph, &mut node, log.as_mut_ptr(), 8));
    assert_eq!((node, log[7]), (params.hErrNode_out, 0));
    ok!(program, cuGraphRemoveDependencies(graph, &b, &a, 1));
    params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    ok!(program, cuGraphInstantiateWithParams(&mut exec, graph, &mut params));
    assert_eq!(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
    let mut flags = 9;
    ok!(program, cuGraphExecGetFlags(exec, &mut flags));
    assert_eq!(flags, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
    fails!(program, INVALID_VALUE, cuGraphInstantiateWithFlags(&mut exec, graph, 16));
    fails!(
        program,
        NOT_SUPPORTED,
        cuGraphInstantiateWithFlags(&mut exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
    );
    // By the manual, these two flags exclude each other.
    let both = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    fails!(program, INVALID_VALUE, cuGraphInstantiateWithFlags(&mut exec, graph, both));
}

#[test]
fn long_chain_and_wide_fan_complete() {
    let program = Program::new();
    let (graph, stream, device) = (graph(&program), program.stream(0), program.alloc(1));
    let mut last = empty(&program, graph, &[]);
    for _ in 0..5_000 {
        last = empty(&program, graph, &[last]);
    }
    let fan: Vec<CUgraphNode> = (0..500).map(|_| empty(&program, graph, &[last])).collect();
    fill(&program, graph, &fan, fill_params(device, 7, 1));
    ok!(program, cuGraphLaunch(instantiate(&program, graph), stream));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(program.peek(device), 7);
}
