//! Attributes of streams, batches of copies and prefetches, and pools by location.

use crate::program::*;
use cuarray_sim::finding::Kind;

fn value(word: u64) -> CUlaunchAttributeValue {
    CUlaunchAttributeValue { words: [word, 0, 0, 0, 0, 0, 0, 0] }
}

fn get(p: &Program, stream: CUstream, attribute: u32) -> u64 {
    let mut value = CUlaunchAttributeValue::default();
    ok!(p, cuStreamGetAttribute(stream, attribute, &mut value));
    value.words[0]
}

fn attributes(order: u32) -> CUmemcpyAttributes {
    let place = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_INVALID, id: 0 };
    CUmemcpyAttributes { srcAccessOrder: order, srcLocHint: place, dstLocHint: place, flags: 0 }
}

#[test]
fn attributes_of_a_stream_are_kept_and_copied() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let (one, other) = (p.stream(0), p.stream(CU_STREAM_NON_BLOCKING));
    assert_eq!(get(&p, one, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY), 1);
    ok!(p, cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value(4)));
    ok!(p, cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &value(1)));
    let (mut lowest, mut highest, mut priority) = (0, 0, 0);
    ok!(p, cuCtxGetStreamPriorityRange(&mut lowest, &mut highest));
    ok!(p, cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value(u64::from(highest as u32))));
    ok!(p, cuStreamCopyAttributes(other, one));
    assert_eq!(get(&p, other, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY), 4);
    assert_eq!(get(&p, other, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN), 1);
    ok!(p, cuStreamGetPriority(other, &mut priority));
    assert_eq!((priority, get(&p, other, CU_LAUNCH_ATTRIBUTE_PRIORITY) as i32), (highest, highest));
    let context = p.primary(1);
    ok!(p, cuCtxSetCurrent(context));
    let elsewhere = p.stream(0);
    fails!(p, INVALID_VALUE, cuStreamCopyAttributes(elsewhere, one));
}

#[test]
fn invalid_attributes_of_streams_are_refused() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let stream = p.stream(0);
    let mut got = CUlaunchAttributeValue::default();
    for (attribute, wrong) in [
        (CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, value(5)),
        (CU_LAUNCH_ATTRIBUTE_PRIORITY, value(1)),
        (CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, value(1)),
        (CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, value(2)),
        (CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CUlaunchAttributeValue { words: [1, 64, 0, 0, 0, 0, 0, 0] }),
        // A cluster belongs to launches and nodes.
        (4, value(1)),
    ] {
        fails!(p, INVALID_VALUE, cuStreamSetAttribute(stream, attribute, &wrong));
    }
    fails!(p, INVALID_VALUE, cuStreamGetAttribute(stream, 4, &mut got));
    fails!(p, INVALID_VALUE, cuStreamGetAttribute(stream, 8, std::ptr::null_mut()));
    fails!(p, INVALID_VALUE, cuStreamSetAttribute(stream, 8, std::ptr::null()));
    fails!(p, INVALID_HANDLE, cuStreamGetAttribute(CUstream(12345), 8, &mut got));
}

#[test]
fn batch_copies_each_range_with_its_attributes() {
    let p = Program::new();
    let stream = p.stream(CU_STREAM_NON_BLOCKING);
    let (from, to) = (p.alloc(64), p.alloc(64));
    p.fill(from, 7, 32, stream);
    p.fill(from + 32, 9, 32, stream);
    let (mut targets, mut sources, mut sizes) = ([to + 32, to], [from, from + 32], [32, 32]);
    let mut kinds = [attributes(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), attributes(CU_MEMCPY_SRC_ACCESS_ORDER_ANY)];
    let mut first = [0, 1];
    let lists = (targets.as_mut_ptr(), sources.as_mut_ptr(), sizes.as_mut_ptr());
    let (kinds, firsts) = (kinds.as_mut_ptr(), first.as_mut_ptr());
    ok!(p, cuMemcpyBatchAsync_v2(lists.0, lists.1, lists.2, 2, kinds, firsts, 2, stream));
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!((p.peek(to), p.peek(to + 32)), (9, 7));
    let mut failed = 0;
    fails!(p, INVALID_VALUE, cuMemcpyBatchAsync(lists.0, lists.1, lists.2, 1, kinds, firsts, 2, &mut failed, stream));
    assert_eq!(failed, usize::MAX);
    fails!(p, INVALID_VALUE, cuMemcpyBatchAsync_v2(lists.0, lists.1, lists.2, 2, kinds, firsts, 2, CUstream::NULL));
    fails!(p, INVALID_VALUE, cuMemcpyBatchAsync_v2(lists.0, lists.1, lists.2, 0, kinds, firsts, 0, stream));
    first = [1, 0];
    fails!(p, INVALID_VALUE, cuMemcpyBatchAsync_v2(lists.0, lists.1, lists.2, 2, kinds, first.as_mut_ptr(), 2, stream));
    let mut invalid = attributes(0);
    fails!(p, INVALID_VALUE, cuMemcpyWithAttributesAsync(to, from, 8, &mut invalid, stream));
}

/// Copies 8 bytes from and to offsets of some memory, in one batch.
fn copy_offsets(p: &Program, memory: CUdeviceptr, copies: &[(u64, u64)], stream: CUstream) {
    let mut targets: Vec<u64> = copies.iter().map(|(_, to)| memory + to).collect();
    let mut sources: Vec<u64> = copies.iter().map(|(from, _)| memory + from).collect();
    let (mut sizes, mut first) = (vec![8; copies.len()], 0);
    let mut order = attributes(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    let (to, from, sizes) = (targets.as_mut_ptr(), sources.as_mut_ptr(), sizes.as_mut_ptr());
    ok!(p, cuMemcpyBatchAsync_v2(to, from, sizes, copies.len(), &mut order, &mut first, 1, stream));
}

/// Batches of copies, and whether two of their copies share bytes that one of them writes.
const BATCHES: [(&[(u64, u64)], bool); 5] = [
    (&[(0, 64), (0, 72), (4, 80)], false),
    (&[(0, 64), (32, 68)], true),
    (&[(0, 64), (64, 128)], true),
    (&[(64, 128), (0, 64)], true),
    (&[(0, 64)], false),
];

#[test]
fn copies_of_one_batch_that_share_bytes_are_a_race() {
    for (copies, races) in BATCHES {
        let p = Program::new();
        let (stream, memory) = (p.stream(CU_STREAM_NON_BLOCKING), p.alloc(256));
        p.fill(memory, 1, 256, stream);
        copy_offsets(&p, memory, copies, stream);
        // The batch as a whole is ordered with the work before and after it.
        p.fill(memory, 2, 256, stream);
        ok!(p, cuStreamSynchronize(stream));
        let findings = p.sim.report().findings;
        assert_eq!(findings.len(), usize::from(races), "{copies:?}");
        for finding in findings {
            assert_eq!((finding.kind, finding.sides[0].call), (Kind::DataRace, "cuMemcpyBatchAsync_v2"));
            assert!(finding.missing.is_some_and(|missing| missing.contains("different calls")));
        }
    }
}

#[test]
fn copies_of_different_calls_are_ordered_by_their_stream() {
    let p = Program::new();
    let (stream, memory) = (p.stream(CU_STREAM_NON_BLOCKING), p.alloc(256));
    p.fill(memory, 1, 256, stream);
    copy_offsets(&p, memory, &[(0, 64)], stream);
    copy_offsets(&p, memory, &[(64, 128)], stream);
    ok!(p, cuStreamSynchronize(stream));
    assert!(p.sim.report().findings.is_empty());
}

#[test]
fn captured_copies_of_one_batch_are_nodes_side_by_side() {
    for (copies, races) in BATCHES {
        let p = Program::new();
        let (stream, memory) = (p.stream(CU_STREAM_NON_BLOCKING), p.alloc(256));
        let (mut graph, mut exec) = (CUgraph::NULL, CUgraphExec::NULL);
        ok!(p, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        p.fill(memory, 1, 256, stream);
        copy_offsets(&p, memory, copies, stream);
        p.fill(memory, 2, 256, stream);
        ok!(p, cuStreamEndCapture(stream, &mut graph));
        let (mut nodes, mut edges, none) = (0, 0, std::ptr::null_mut());
        ok!(p, cuGraphGetNodes(graph, none, &mut nodes));
        ok!(p, cuGraphGetEdges(graph, none, none, &mut edges));
        assert_eq!((nodes, edges), (2 + copies.len(), 2 * copies.len()));
        assert!(p.sim.report().findings.is_empty(), "nothing has run yet");
        ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok!(p, cuGraphLaunch(exec, stream));
        ok!(p, cuStreamSynchronize(stream));
        let kinds: Vec<Kind> = p.sim.report().findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, vec![Kind::DataRace; usize::from(races)], "{copies:?}");
    }
}

#[test]
fn source_that_is_read_during_the_call_may_change_after_it() {
    let p = Program::new();
    let (stream, to) = (p.stream(CU_STREAM_NON_BLOCKING), p.alloc(1));
    let from = p.pinned(1);
    write(from, 7);
    let mut during = attributes(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
    ok!(p, cuMemcpyWithAttributesAsync(to, from as u64, 1, &mut during, stream));
    write(from, 9);
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!(p.peek(to), 7);
    assert!(p.sim.report().findings.is_empty());
}

#[test]
fn managed_ranges_are_prefetched_to_their_locations() {
    let p = Program::new();
    let (stream, mut address, mut place) = (p.stream(0), 0, 0_i32);
    ok!(p, cuMemAllocManaged(&mut address, 128, CU_MEM_ATTACH_GLOBAL));
    let mut locations = [CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 }];
    let (mut addresses, mut sizes, mut first) = ([address], [128], [0]);
    let lists = (addresses.as_mut_ptr(), sizes.as_mut_ptr(), locations.as_mut_ptr(), first.as_mut_ptr());
    ok!(p, cuMemPrefetchBatchAsync(lists.0, lists.1, 1, lists.2, lists.3, 1, 0, stream));
    let attribute = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
    ok!(p, cuMemRangeGetAttribute((&raw mut place).cast(), 4, attribute, address, 128));
    assert_eq!(place, 0);
    fails!(p, INVALID_VALUE, cuMemPrefetchBatchAsync(lists.0, lists.1, 1, lists.2, lists.3, 1, 1, stream));
    fails!(p, INVALID_VALUE, cuMemPrefetchBatchAsync(lists.0, lists.1, 1, lists.2, lists.3, 2, 0, stream));
}

#[test]
fn pools_are_found_by_location() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let (mut by_device, mut by_location) = (CUmemoryPool::NULL, CUmemoryPool::NULL);
    let mut location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 1 };
    let pinned = CU_MEM_ALLOCATION_TYPE_PINNED;
    ok!(p, cuDeviceGetDefaultMemPool(&mut by_device, 1));
    ok!(p, cuMemGetDefaultMemPool(&mut by_location, &mut location, pinned));
    assert_eq!(by_location, by_device);
    ok!(p, cuMemSetMemPool(&mut location, pinned, by_device));
    ok!(p, cuMemGetMemPool(&mut by_location, &mut location, pinned));
    assert_eq!(by_location, by_device);
    fails!(p, INVALID_VALUE, cuMemGetMemPool(&mut by_location, &mut location, 9));
    location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 2 };
    fails!(p, INVALID_DEVICE, cuMemGetMemPool(&mut by_location, &mut location, pinned));
}

#[test]
fn links_have_no_native_atomic_operations() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let (operations, mut found) = ([0, 12], [9_u32; 2]);
    ok!(p, cuDeviceGetHostAtomicCapabilities(found.as_mut_ptr(), operations.as_ptr(), 2, 0));
    assert_eq!(found, [0; 2]);
    found = [9; 2];
    ok!(p, cuDeviceGetP2PAtomicCapabilities(found.as_mut_ptr(), operations.as_ptr(), 2, 0, 1));
    assert_eq!(found, [0; 2]);
    fails!(p, INVALID_DEVICE, cuDeviceGetP2PAtomicCapabilities(found.as_mut_ptr(), operations.as_ptr(), 2, 0, 0));
    fails!(p, INVALID_DEVICE, cuDeviceGetHostAtomicCapabilities(found.as_mut_ptr(), operations.as_ptr(), 2, 5));
    fails!(p, INVALID_VALUE, cuDeviceGetHostAtomicCapabilities(found.as_mut_ptr(), operations.as_ptr(), 0, 0));
    fails!(p, INVALID_VALUE, cuDeviceGetHostAtomicCapabilities(found.as_mut_ptr(), [13].as_ptr(), 1, 0));
    let (mut luid, mut mask) = ([0; 8], 0);
    fails!(p, NOT_SUPPORTED, cuDeviceGetLuid(luid.as_mut_ptr(), &mut mask, 0));
    fails!(p, INVALID_DEVICE, cuDeviceGetLuid(luid.as_mut_ptr(), &mut mask, 7));
}
