//! Which bodies run, how often, and in which order.

use super::*;

#[test]
fn if_node_runs_its_body_for_a_nonzero_condition() {
    for (value, expected) in [(0, 0), (1, 5), (7, 5)] {
        let f = Fixture::new();
        let handle = f.handle(Some(value));
        let (_, bodies) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_IF, 1);
        f.kernel(bodies[0], &[], c"add", [f.counter(0), 5]);
        f.launch(f.instantiated());
        assert_eq!(f.values::<1>(), [expected]);
    }
}

#[test]
fn if_node_of_size_two_runs_its_else_body_for_zero() {
    for (value, expected) in [(0, [0, 1]), (3, [1, 0])] {
        let f = Fixture::new();
        let handle = f.handle(Some(value));
        let (_, bodies) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_IF, 2);
        f.kernel(bodies[0], &[], c"add", [f.counter(0), 1]);
        f.kernel(bodies[1], &[], c"add", [f.counter(1), 1]);
        f.launch(f.instantiated());
        assert_eq!(f.values::<2>(), expected);
    }
}

#[test]
fn switch_node_runs_the_body_of_its_value_or_none() {
    for value in 0..5 {
        let f = Fixture::new();
        let handle = f.handle(Some(value));
        let (_, bodies) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_SWITCH, 3);
        for (index, body) in bodies.iter().enumerate() {
            f.kernel(*body, &[], c"add", [f.counter(index as u64), 1]);
        }
        f.launch(f.instantiated());
        let expected = [0, 1, 2].map(|index| u32::from(index == value));
        assert_eq!(f.values::<3>(), expected);
    }
}

#[test]
fn while_node_runs_until_a_kernel_clears_its_condition() {
    let f = Fixture::new();
    let handle = f.handle(Some(1));
    let start = f.kernel(f.graph, &[], c"add", [f.counter(0), 4]);
    let (node, bodies) = f.conditional(f.graph, &[start], handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    let first = f.kernel(bodies[0], &[], c"add", [f.counter(1), 10]);
    f.kernel(bodies[0], &[first], c"step", [f.counter(0), handle]);
    f.kernel(f.graph, &[node], c"add", [f.counter(1), 1]);
    let exec = f.instantiated();
    f.launch(exec);
    assert_eq!(f.values::<2>(), [0, 41]);
    // The default is assigned at each launch.
    f.launch(exec);
    assert_eq!(f.values::<2>(), [0, 82]);
    assert_eq!(f.program.sim.report().text(false), "");
}

#[test]
fn kernel_before_the_node_sets_its_condition() {
    let f = Fixture::new();
    let handle = f.handle(None);
    let set = f.kernel(f.graph, &[], c"set", [handle, 2]);
    let (_, bodies) = f.conditional(f.graph, &[set], handle, CU_GRAPH_COND_TYPE_SWITCH, 3);
    f.kernel(bodies[2], &[], c"add", [f.counter(0), 9]);
    f.launch(f.instantiated());
    assert_eq!(f.values::<1>(), [9]);
}

#[test]
fn condition_without_a_default_keeps_its_value_between_launches() {
    let f = Fixture::new();
    let handle = f.handle(None);
    let (_, bodies) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_IF, 2);
    f.kernel(bodies[0], &[], c"add", [f.counter(0), 1]);
    f.kernel(bodies[1], &[], c"set", [handle, 1]);
    let exec = f.instantiated();
    (0..3).for_each(|_| f.launch(exec));
    assert_eq!(f.values::<1>(), [2]);
}

#[test]
fn conditional_nodes_nest() {
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random(3)] {
        let f = Fixture::with(Config { schedule, ..Config::default() });
        let (outer, inner) = (f.handle(Some(1)), f.handle(None));
        let start = f.kernel(f.graph, &[], c"add", [f.counter(0), 3]);
        let (_, bodies) = f.conditional(f.graph, &[start], outer, CU_GRAPH_COND_TYPE_WHILE, 1);
        // The inner loop runs as often as the outer counter says: 3 + 2 + 1.
        let copied = f.kernel(bodies[0], &[], c"test", [f.counter(0), inner]);
        let mut load = CUgraphNode::NULL;
        let mut params = copy_params(f.counter(1), f.counter(0));
        ok!(f.program, cuGraphAddMemcpyNode(&mut load, bodies[0], NONE, 0, &params, f.program.context));
        let (node, inner_bodies) = f.conditional(bodies[0], &[copied, load], inner, CU_GRAPH_COND_TYPE_WHILE, 1);
        let counted = f.kernel(inner_bodies[0], &[], c"add", [f.counter(2), 1]);
        f.kernel(inner_bodies[0], &[counted], c"step", [f.counter(1), inner]);
        f.kernel(bodies[0], &[node], c"step", [f.counter(0), outer]);
        f.launch(f.instantiated());
        assert_eq!(f.values::<3>(), [0, 0, 6]);
        assert_eq!(f.program.sim.report().text(false), "");
        params.WidthInBytes = 0;
        fails!(f.program, INVALID_VALUE, cuGraphMemcpyNodeSetParams(load, &params));
    }
}

/// A copy of one counter.
fn copy_params(to: CUdeviceptr, from: CUdeviceptr) -> CUDA_MEMCPY3D {
    // SAFETY: all-zero is a valid descriptor.
    let mut params: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    (params.srcMemoryType, params.dstMemoryType) = (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
    (params.srcDevice, params.dstDevice) = (from, to);
    (params.WidthInBytes, params.Height, params.Depth) = (4, 1, 1);
    params
}

#[test]
fn child_graph_in_a_body_runs_in_each_round() {
    let f = Fixture::new();
    let handle = f.handle(Some(1));
    let (mut child, mut node) = (CUgraph::NULL, CUgraphNode::NULL);
    ok!(f.program, cuGraphCreate(&mut child, 0));
    let first = f.kernel(child, &[], c"add", [f.counter(1), 1]);
    f.kernel(child, &[first], c"add", [f.counter(1), 1]);
    let start = f.kernel(f.graph, &[], c"add", [f.counter(0), 3]);
    let (_, bodies) = f.conditional(f.graph, &[start], handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    ok!(f.program, cuGraphAddChildGraphNode(&mut node, bodies[0], NONE, 0, child));
    f.kernel(bodies[0], &[node], c"step", [f.counter(0), handle]);
    f.launch(f.instantiated());
    assert_eq!(f.values::<2>(), [0, 6]);
    assert_eq!(f.program.sim.report().text(false), "");
}

#[test]
fn endless_loop_ends_with_a_timeout() {
    let f = Fixture::with(Config { launch_budget: 1_000_000, ..Config::default() });
    let handle = f.handle(Some(1));
    let (_, bodies) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    f.kernel(bodies[0], &[], c"add", [f.counter(0), 1]);
    f.launch(f.instantiated());
    fails!(f.program, LAUNCH_TIMEOUT, cuCtxSynchronize());
    let [finding] = &f.program.sim.report().findings[..] else { panic!("{}", f.program.sim.report().text(false)) };
    assert_eq!(finding.kind, cuarray_sim::finding::Kind::KernelFailure);
    assert!(finding.missing.as_ref().is_some_and(|advice| advice.contains("rounds its condition is 1")));
}

#[test]
fn endless_loop_without_nodes_ends_with_a_timeout() {
    let f = Fixture::with(Config { launch_budget: 1_000_000, ..Config::default() });
    let handle = f.handle(Some(1));
    f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    f.launch(f.instantiated());
    fails!(f.program, LAUNCH_TIMEOUT, cuCtxSynchronize());
}

#[test]
fn failing_kernel_ends_its_loop() {
    let f = Fixture::new();
    let handle = f.handle(Some(1));
    let (_, bodies) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    f.kernel(bodies[0], &[], c"add", [16, 1]);
    f.launch(f.instantiated());
    fails!(f.program, ILLEGAL_ADDRESS, cuCtxSynchronize());
}

#[test]
fn kernel_that_sets_an_unknown_handle_fails() {
    let f = Fixture::new();
    f.kernel(f.graph, &[], c"set", [12345, 1]);
    f.launch(f.instantiated());
    fails!(f.program, LAUNCH_FAILED, cuCtxSynchronize());
}

#[test]
fn pending_launch_keeps_its_bodies_when_its_graphs_are_destroyed() {
    let f = Fixture::new();
    let handle = f.handle(Some(1));
    let start = f.kernel(f.graph, &[], c"add", [f.counter(0), 2]);
    let (_, bodies) = f.conditional(f.graph, &[start], handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    f.kernel(bodies[0], &[], c"step", [f.counter(0), handle]);
    let exec = f.instantiated();
    f.launch(exec);
    ok!(f.program, cuGraphDestroy(f.graph));
    ok!(f.program, cuGraphExecDestroy(exec));
    assert_eq!(f.values::<1>(), [0]);
    assert_eq!((f.program.statistic("graphs"), f.program.statistic("graph_execs")), (0, 0));
}
