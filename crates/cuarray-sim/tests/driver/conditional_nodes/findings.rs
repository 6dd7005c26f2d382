//! Races of nodes in bodies: with each other, with nodes beside the conditional node, and with other streams.

use super::*;
use cuarray_sim::finding::Kind;

/// Runs a program under several schedules; returns the kinds of its findings, which must not depend on the schedule.
fn findings(build: impl Fn(&Fixture)) -> Vec<Kind> {
    let mut all = Vec::new();
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random(1), Schedule::Random(2)] {
        let f = Fixture::with(Config { schedule, ..Config::default() });
        build(&f);
        f.launch(f.instantiated());
        ok!(f.program, cuCtxSynchronize());
        all.push(f.program.sim.report().findings.iter().map(|finding| finding.kind).collect::<Vec<Kind>>());
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
    all.remove(0)
}

/// A loop of three rounds over two kernels that add to the same counter, with or without an edge between them.
fn loop_of_two(f: &Fixture, ordered: bool) -> CUgraphNode {
    let handle = f.handle(Some(1));
    let start = f.kernel(f.graph, &[], c"add", [f.counter(0), 3]);
    let (node, own) = f.conditional(f.graph, &[start], handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    f.kernel(own[0], &[], c"step", [f.counter(0), handle]);
    let first = f.kernel(own[0], &[], c"add", [f.counter(1), 1]);
    let after: &[CUgraphNode] = if ordered { &[first] } else { &[] };
    f.kernel(own[0], after, c"add", [f.counter(1), 1]);
    node
}

#[test]
fn race_inside_a_body_is_reported_once() {
    for (ordered, expected) in [(true, &[][..]), (false, &[Kind::DataRace])] {
        let found = findings(|f| {
            loop_of_two(f, ordered);
        });
        assert_eq!(found, expected);
    }
}

#[test]
fn rounds_of_a_loop_are_ordered() {
    // Two unordered kernels exchange their counters in each round, so they meet only across rounds.
    assert_eq!(
        findings(|f| {
            let handle = f.handle(Some(1));
            let start = f.kernel(f.graph, &[], c"add", [f.counter(0), 3]);
            let (_, own) = f.conditional(f.graph, &[start], handle, CU_GRAPH_COND_TYPE_WHILE, 1);
            let first = f.kernel(own[0], &[], c"alternate", [f.counters, 0]);
            let second = f.kernel(own[0], &[], c"alternate", [f.counters, 1]);
            f.kernel(own[0], &[first, second], c"step", [f.counter(0), handle]);
        }),
        []
    );
}

#[test]
fn node_after_the_conditional_node_is_ordered_and_one_beside_it_races() {
    for (ordered, expected) in [(true, &[][..]), (false, &[Kind::DataRace])] {
        let found = findings(|f| {
            let node = loop_of_two(f, true);
            let after: &[CUgraphNode] = if ordered { &[node] } else { &[] };
            f.kernel(f.graph, after, c"add", [f.counter(1), 1]);
        });
        assert_eq!(found, expected);
    }
}

#[test]
fn node_before_the_conditional_node_is_ordered() {
    for ordered in [true, false] {
        let found = findings(|f| {
            let handle = f.handle(Some(1));
            let first = f.kernel(f.graph, &[], c"add", [f.counter(1), 1]);
            let after: &[CUgraphNode] = if ordered { &[first] } else { &[] };
            let (_, own) = f.conditional(f.graph, after, handle, CU_GRAPH_COND_TYPE_IF, 1);
            f.kernel(own[0], &[], c"add", [f.counter(1), 1]);
        });
        assert_eq!(found.len(), usize::from(!ordered));
    }
}

#[test]
fn body_that_does_not_run_races_with_nothing() {
    assert_eq!(
        findings(|f| {
            let handle = f.handle(Some(0));
            let (_, own) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_IF, 1);
            f.kernel(own[0], &[], c"add", [f.counter(1), 1]);
            f.kernel(f.graph, &[], c"add", [f.counter(1), 1]);
        }),
        []
    );
}

#[test]
fn work_in_another_stream_races_with_a_body_unless_it_waits() {
    for waits in [true, false] {
        let f = Fixture::new();
        loop_of_two(&f, true);
        let [one, other] = [0, 1].map(|_| f.program.stream(CU_STREAM_NON_BLOCKING));
        ok!(f.program, cuGraphLaunch(f.instantiated(), one));
        let event = f.program.event();
        ok!(f.program, cuEventRecord(event, one));
        if waits {
            ok!(f.program, cuStreamWaitEvent(other, event, 0));
        }
        ok!(f.program, cuMemsetD32Async(f.counter(1), 0, 1, other));
        ok!(f.program, cuCtxSynchronize());
        assert_eq!(f.program.sim.report().findings.len(), usize::from(!waits));
    }
}

#[test]
fn launches_of_one_graph_are_ordered() {
    let f = Fixture::new();
    loop_of_two(&f, true);
    let exec = f.instantiated();
    let [one, other] = [0, 1].map(|_| f.program.stream(CU_STREAM_NON_BLOCKING));
    for stream in [one, other, one] {
        ok!(f.program, cuGraphLaunch(exec, stream));
    }
    ok!(f.program, cuCtxSynchronize());
    assert_eq!(f.program.sim.report().text(false), "");
}
