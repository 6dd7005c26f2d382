//! Documented results of calls about devices, contexts, streams and graphs that no other test of this crate makes.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn old_queries_of_a_device_agree_with_the_new_ones() {
    let p = Program::with(Config { devices: 2, compute_capability: (8, 0), ..Config::default() });
    let (mut old, mut new) = (CUuuid { bytes: [0; 16] }, CUuuid { bytes: [1; 16] });
    ok!(p, cuDeviceGetUuid(&mut old, 1));
    ok!(p, cuDeviceGetUuid_v2(&mut new, 1));
    assert_eq!(old, new);
    let (mut major, mut minor, mut support) = (0, 9, 9);
    ok!(p, cuDeviceComputeCapability(&mut major, &mut minor, 1));
    assert_eq!((major, minor), (8, 0));
    ok!(p, cuDeviceGetExecAffinitySupport(&mut support, 0, 1));
    assert_eq!(support, 0);
}

#[test]
fn contexts_of_old_versions_are_pushed_and_destroyed() {
    let p = Program::new();
    let (mut third, mut fourth, mut current, none) =
        (CUcontext::NULL, CUcontext::NULL, CUcontext::NULL, std::ptr::null_mut());
    ok!(p, cuCtxCreate_v3(&mut third, none, 0, 0, 0));
    ok!(p, cuCtxCreate_v4(&mut fourth, none.cast(), 0, 0));
    ok!(p, cuCtxGetCurrent(&mut current));
    assert_eq!(current, fourth);
    ok!(p, cuCtxDestroy(fourth));
    ok!(p, cuCtxGetCurrent(&mut current));
    assert_eq!(current, third);
    ok!(p, cuCtxPushCurrent(p.context));
    ok!(p, cuCtxGetCurrent(&mut current));
    assert_eq!(current, p.context);
    ok!(p, cuCtxPopCurrent(&mut current));
    ok!(p, cuCtxDestroy(third));
}

#[test]
fn parameters_of_a_context_may_be_empty_and_exclude_each_other() {
    let (p, mut context) = (Program::new(), CUcontext::NULL);
    let (none, some) = (std::ptr::null_mut(), std::ptr::dangling_mut());
    let params = |affinity, count, cig| CUctxCreateParams {
        execAffinityParams: affinity,
        numExecAffinityParams: count,
        cigParams: cig,
    };
    ok!(p, cuCtxCreate_v4(&mut context, &mut params(none, 0, none), 0, 0));
    ok!(p, cuCtxDestroy_v2(context));
    fails!(p, UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate_v4(&mut context, &mut params(some, 1, none), 0, 0));
    fails!(p, NOT_SUPPORTED, cuCtxCreate_v4(&mut context, &mut params(none, 0, some), 0, 0));
    fails!(p, INVALID_VALUE, cuCtxCreate_v4(&mut context, &mut params(some, 1, some), 0, 0));
}

#[test]
fn context_states_its_settings() {
    const BLOCKING_SYNC: u32 = 4;
    let p = Program::new();
    let (mut own, mut flags, mut version, mut config) = (CUcontext::NULL, 0, 0, 9);
    ok!(p, cuCtxCreate_v2(&mut own, BLOCKING_SYNC, 0));
    ok!(p, cuCtxGetFlags(&mut flags));
    assert_eq!(flags & 7, BLOCKING_SYNC);
    let mut ids = [0; 2];
    ok!(p, cuCtxGetId(own, &mut ids[0]));
    ok!(p, cuCtxGetId(p.context, &mut ids[1]));
    assert_ne!(ids[0], ids[1]);
    ok!(p, cuCtxGetApiVersion(own, &mut version));
    assert!(version >= 3020, "{version}");
    ok!(p, cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_SHARED));
    ok!(p, cuCtxGetCacheConfig(&mut config));
    assert_eq!(config, CU_FUNC_CACHE_PREFER_SHARED);
    ok!(p, cuCtxSetSharedMemConfig(2));
    ok!(p, cuCtxGetSharedMemConfig(&mut config));
    assert_eq!(config, 2);
    fails!(p, UNSUPPORTED_EXEC_AFFINITY, cuCtxGetExecAffinity((&raw mut config).cast(), 0));
    ok!(p, cuCtxDestroy_v2(own));
}

#[test]
fn context_ends_when_it_is_detached_as_often_as_attached() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let (mut own, mut again) = (CUcontext::NULL, CUcontext::NULL);
    ok!(p, cuCtxCreate_v2(&mut own, 0, 0));
    ok!(p, cuCtxAttach(&mut again, 0));
    assert_eq!(again, own);
    ok!(p, cuCtxDetach(own));
    ok!(p, cuCtxSynchronize());
    ok!(p, cuCtxDetach(own));
    fails!(p, INVALID_CONTEXT, cuCtxSetCurrent(own));
}

#[test]
fn stream_states_its_context_and_waits_for_words_of_64_bits() {
    let p = Program::new();
    let (stream, word) = (p.stream(CU_STREAM_NON_BLOCKING), p.alloc(64));
    let (mut context, mut green) = (CUcontext::NULL, CUgreenCtx(9));
    ok!(p, cuStreamGetCtx_v2(stream, &mut context, &mut green));
    assert_eq!((context, green), (p.context, CUgreenCtx::NULL));
    ok!(p, cuStreamWriteValue64(stream, word, 1 << 40 | 7, 0));
    ok!(p, cuStreamWaitValue64(stream, word, 1 << 40 | 7, CU_STREAM_WAIT_VALUE_EQ));
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!(p.peek(word), 7);
    let mut managed = 0;
    ok!(p, cuMemAllocManaged(&mut managed, 4096, CU_MEM_ATTACH_GLOBAL));
    let place = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
    ok!(p, cuMemPrefetchAsync_v2(managed, 4096, place, 0, stream));
    let (mut seen, data) = (9, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION);
    ok!(p, cuMemRangeGetAttribute((&raw mut seen).cast(), 4, data, managed, 4096));
    assert_eq!(seen, 0);
}

static CALLED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

unsafe extern "C" fn called(data: *mut c_void) {
    CALLED[data.addr() - 1].fetch_add(1, Ordering::SeqCst);
}

fn host(number: usize) -> CUDA_HOST_NODE_PARAMS {
    CUDA_HOST_NODE_PARAMS { function: Some(called), userData: std::ptr::without_provenance_mut(number) }
}

#[test]
fn nodes_of_a_graph_and_of_its_instance_are_changed() {
    const NONE: *const CUgraphNode = std::ptr::null();
    let p = Program::new();
    let (stream, other) = (p.stream(CU_STREAM_NON_BLOCKING), p.stream(CU_STREAM_NON_BLOCKING));
    let (mut graph, mut child, mut exec) = (CUgraph::NULL, CUgraph::NULL, CUgraphExec::NULL);
    let (mut calls, mut wait, mut record, mut embedded) =
        (CUgraphNode::NULL, CUgraphNode::NULL, CUgraphNode::NULL, CUgraphNode::NULL);
    let [first, second] = [p.event(), p.event()];
    ok!(p, cuGraphCreate(&mut graph, 0));
    ok!(p, cuGraphCreate(&mut child, 0));
    ok!(p, cuGraphAddEmptyNode(&mut embedded, child, NONE, 0));
    ok!(p, cuGraphAddHostNode(&mut calls, graph, NONE, 0, &host(1)));
    ok!(p, cuGraphAddEventWaitNode(&mut wait, graph, NONE, 0, first));
    ok!(p, cuGraphAddEventRecordNode(&mut record, graph, &wait, 1, first));
    ok!(p, cuGraphAddChildGraphNode(&mut embedded, graph, NONE, 0, child));
    let (mut ids, mut owner) = ([0; 2], CUgraph::NULL);
    ok!(p, cuGraphGetId(graph, &mut ids[0]));
    ok!(p, cuGraphNodeGetContainingGraph(wait, &mut owner));
    assert_eq!(owner, graph);
    ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(p, cuGraphExecGetId(exec, &mut ids[1]));
    assert_ne!(ids[0], 0);
    ok!(p, cuGraphUpload(exec, stream));
    ok!(p, cuGraphExecHostNodeSetParams(exec, calls, &host(2)));
    ok!(p, cuGraphExecChildGraphNodeSetParams(exec, embedded, child));
    ok!(p, cuGraphExecEventWaitNodeSetEvent(exec, wait, second));
    ok!(p, cuGraphExecEventRecordNodeSetEvent(exec, record, second));
    // The instance waits for the second event, and records it again.
    ok!(p, cuEventRecord(second, other));
    ok!(p, cuGraphLaunch(exec, stream));
    ok!(p, cuEventSynchronize(second));
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!(CALLED.each_ref().map(|count| count.load(Ordering::SeqCst)), [0, 1]);
    // The graph has its own parameters, which another instance takes.
    ok!(p, cuGraphHostNodeSetParams(calls, &host(1)));
    ok!(p, cuGraphEventWaitNodeSetEvent(wait, second));
    let mut event = CUevent::NULL;
    ok!(p, cuGraphEventWaitNodeGetEvent(wait, &mut event));
    assert_eq!(event, second);
    let mut again = CUgraphExec::NULL;
    ok!(p, cuGraphInstantiateWithFlags(&mut again, graph, 0));
    ok!(p, cuGraphLaunch(again, stream));
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!(CALLED.each_ref().map(|count| count.load(Ordering::SeqCst)), [1, 1]);
    ok!(p, cuGraphExecDestroy(exec));
    ok!(p, cuGraphExecDestroy(again));
    ok!(p, cuGraphDestroy(graph));
    ok!(p, cuGraphDestroy(child));
}
