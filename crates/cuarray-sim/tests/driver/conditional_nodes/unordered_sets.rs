//! Calls of `cudaGraphSetConditional` for one condition that nothing orders. They are undefined, whatever their values.

use super::*;
use cuarray_sim::finding::Kind;

/// Launches a kernel of two arguments outside of graphs.
fn run(f: &Fixture, name: &CStr, (blocks, threads): (u32, u32), mut arguments: [u64; 2], stream: CUstream) {
    let mut function = CUfunction::NULL;
    ok!(f.program, cuModuleGetFunction(&mut function, f.module, name.as_ptr()));
    let [one, two] = &mut arguments;
    let mut list = [(one as *mut u64).cast::<c_void>(), (two as *mut u64).cast()];
    let none = std::ptr::null_mut();
    ok!(f.program, cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, list.as_mut_ptr(), none));
}

fn kinds(f: &Fixture) -> Vec<Kind> {
    ok!(f.program, cuCtxSynchronize());
    f.program.sim.report().findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn threads_that_set_one_condition_race_unless_a_barrier_orders_them() {
    for (name, shape, expected) in [
        (c"set", (1, 1), &[][..]),
        (c"set", (1, 2), &[Kind::KernelRace][..]),
        (c"set", (1, 64), &[Kind::KernelRace][..]),
        (c"set", (2, 1), &[Kind::KernelRace][..]),
        (c"turns", (1, 64), &[][..]),
    ] {
        let f = Fixture::new();
        let handle = f.handle(None);
        run(&f, name, shape, [handle, 1], CUstream::NULL);
        assert_eq!(kinds(&f), expected, "{name:?} {shape:?}");
    }
}

#[test]
fn race_names_the_condition() {
    let f = Fixture::new();
    let handle = f.handle(None);
    run(&f, c"set", (2, 1), [handle, 1], CUstream::NULL);
    ok!(f.program, cuCtxSynchronize());
    let text = f.program.sim.report().text(false);
    let named = format!("bytes 0 to 3 of the conditional variable {handle:#x}");
    assert!(text.contains(&named), "{text}");
    assert!(text.contains("let one thread call cudaGraphSetConditional"), "{text}");
}

#[test]
fn launches_that_set_one_condition_race_unless_an_event_orders_them() {
    for (ordered, same, expected) in
        [(false, true, &[Kind::DataRace][..]), (true, true, &[][..]), (false, false, &[][..])]
    {
        let f = Fixture::new();
        let handles = [f.handle(None), f.handle(None)];
        let [one, other] = [0, 1].map(|_| f.program.stream(CU_STREAM_NON_BLOCKING));
        run(&f, c"set", (1, 1), [handles[0], 1], one);
        if ordered {
            let event = f.program.event();
            ok!(f.program, cuEventRecord(event, one));
            ok!(f.program, cuStreamWaitEvent(other, event, 0));
        }
        run(&f, c"set", (1, 1), [handles[usize::from(!same)], 1], other);
        assert_eq!(kinds(&f), expected, "ordered {ordered}, same {same}");
    }
}

#[test]
fn nodes_that_set_one_condition_race_unless_an_edge_orders_them() {
    for (ordered, expected) in [(false, &[Kind::DataRace][..]), (true, &[][..])] {
        let f = Fixture::new();
        let handle = f.handle(Some(1));
        let first = f.kernel(f.graph, &[], c"set", [handle, 0]);
        let after: &[CUgraphNode] = if ordered { &[first] } else { &[] };
        let second = f.kernel(f.graph, after, c"set", [handle, 0]);
        f.conditional(f.graph, &[first, second], handle, CU_GRAPH_COND_TYPE_IF, 1);
        let exec = f.instantiated();
        f.launch(exec);
        f.launch(exec);
        assert_eq!(kinds(&f), expected, "ordered {ordered}");
    }
}

#[test]
fn ended_condition_is_no_leak() {
    let f = Fixture::new();
    let handle = f.handle(Some(1));
    let first = f.kernel(f.graph, &[], c"set", [handle, 0]);
    f.conditional(f.graph, &[first], handle, CU_GRAPH_COND_TYPE_IF, 1);
    let exec = f.instantiated();
    f.launch(exec);
    ok!(f.program, cuGraphExecDestroy(exec));
    ok!(f.program, cuGraphDestroy(f.graph));
    assert_eq!(kinds(&f), []);
}
