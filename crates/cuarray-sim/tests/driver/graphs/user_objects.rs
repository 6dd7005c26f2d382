//! User objects, which graphs keep alive.

use super::*;

unsafe extern "C" fn count_one(data: *mut c_void) {
    // SAFETY: the tests pass a counter that outlives the calls.
    unsafe { &*data.cast::<AtomicUsize>() }.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn user_objects_live_as_long_as_graphs_need_them() {
    let program = Program::new();
    let ended = AtomicUsize::new(0);
    let data: *mut c_void = (&raw const ended).cast_mut().cast();
    let (mut object, graph) = (CUuserObject::NULL, graph(&program));
    fails!(program, INVALID_VALUE, cuUserObjectCreate(&mut object, data, Some(count_one), 1, 0));
    let flags = CU_USER_OBJECT_NO_DESTRUCTOR_SYNC;
    fails!(program, INVALID_VALUE, cuUserObjectCreate(&mut object, data, Some(count_one), 0, flags));
    ok!(program, cuUserObjectCreate(&mut object, data, Some(count_one), 1, flags));
    ok!(program, cuUserObjectRetain(object, 1));
    ok!(program, cuGraphRetainUserObject(graph, object, 1, 0));
    ok!(program, cuUserObjectRelease(object, 1));
    ok!(program, cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    fill(&program, graph, &[], fill_params(program.alloc(1), 1, 1));
    let exec = instantiate(&program, graph);
    let mut clone = CUgraph::NULL;
    ok!(program, cuGraphClone(&mut clone, graph));
    ok!(program, cuGraphReleaseUserObject(graph, object, 1));
    fails!(program, INVALID_VALUE, cuGraphReleaseUserObject(graph, object, 2));
    ok!(program, cuGraphDestroy(graph));
    ok!(program, cuGraphDestroy(clone));
    let stream = program.stream(0);
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuGraphExecDestroy(exec));
    assert_eq!(ended.load(Ordering::SeqCst), 0, "a launch is pending");
    ok!(program, cuCtxSynchronize());
    assert_eq!(ended.load(Ordering::SeqCst), 1);
    fails!(program, INVALID_VALUE, cuUserObjectRelease(object, 1));
}

#[test]
fn graph_update_transfers_its_user_objects() {
    let program = Program::new();
    let (ended, device, stream) = ([AtomicUsize::new(0), AtomicUsize::new(0)], program.alloc(1), program.stream(0));
    let keeping = |which: usize| {
        let (graph, mut object) = (graph(&program), CUuserObject::NULL);
        fill(&program, graph, &[], fill_params(device, 5, 1));
        let data = (&raw const ended[which]).cast_mut().cast();
        ok!(program, cuUserObjectCreate(&mut object, data, Some(count_one), 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
        ok!(program, cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
        graph
    };
    let count = |which: usize| ended[which].load(Ordering::SeqCst);
    let (first, second) = (keeping(0), keeping(1));
    let exec = instantiate(&program, first);
    ok!(program, cuGraphDestroy(first));
    ok!(program, cuGraphLaunch(exec, stream));
    let mut info = CUgraphExecUpdateResultInfo::default();
    ok!(program, cuGraphExecUpdate_v2(exec, second, &mut info));
    assert_eq!(count(0), 0, "a launch is pending");
    ok!(program, cuStreamSynchronize(stream));
    ok!(program, cuGraphExecUpdate_v2(exec, second, &mut info));
    assert_eq!(count(0), 1);
    ok!(program, cuGraphDestroy(second));
    assert_eq!(count(1), 0);
    ok!(program, cuGraphExecDestroy(exec));
    assert_eq!(count(1), 1);
}
