//! Stream memory operations: waits and writes of words of memory by streams.

use crate::program::*;
use std::time::Duration;

const EQ: u32 = CU_STREAM_WAIT_VALUE_EQ;

/// The words that a test needs: a flag, and data of 64 bytes.
struct Words {
    flag: CUdeviceptr,
    data: CUdeviceptr,
    other: CUdeviceptr,
}

fn words(p: &Program) -> Words {
    let words = Words { flag: p.alloc(64), data: p.alloc(64), other: p.alloc(64) };
    for address in [words.flag, words.data, words.other] {
        ok!(p, cuMemsetD8_v2(address, 0, 64));
    }
    ok!(p, cuCtxSynchronize());
    words
}

fn two_streams(p: &Program) -> [CUstream; 2] {
    [p.stream(CU_STREAM_NON_BLOCKING), p.stream(CU_STREAM_NON_BLOCKING)]
}

fn copy(p: &Program, to: CUdeviceptr, from: CUdeviceptr, stream: CUstream) {
    ok!(p, cuMemcpyDtoDAsync_v2(to, from, 64, stream));
}

fn kinds(p: &Program) -> Vec<String> {
    p.sim.report().findings.iter().map(|finding| format!("{:?}", finding.kind)).collect()
}

fn value(operation: u32, address: CUdeviceptr, value: u64, flags: u32) -> CUstreamBatchMemOpParams {
    CUstreamBatchMemOpParams { value: CUstreamMemOpValueParams { operation, address, value, flags, alias: 0 } }
}

fn schedules() -> [Schedule; 3] {
    [Schedule::Lazy, Schedule::Eager, "random:7".parse().unwrap()]
}

#[test]
fn write_called_before_the_wait_orders_the_work_of_two_streams() {
    for schedule in schedules() {
        let p = Program::with(Config { schedule, ..Config::default() });
        let (w, [a, b]) = (words(&p), two_streams(&p));
        p.fill(w.data, 7, 64, a);
        ok!(p, cuStreamWriteValue32_v2(a, w.flag, 1, 0));
        ok!(p, cuStreamWaitValue32_v2(b, w.flag, 1, EQ));
        copy(&p, w.other, w.data, b);
        ok!(p, cuStreamSynchronize(b));
        assert_eq!(p.peek(w.other), 7);
        assert_eq!(kinds(&p), [""; 0]);
    }
}

#[test]
fn write_called_after_the_wait_orders_the_work_of_two_streams() {
    for schedule in schedules() {
        let p = Program::with(Config { schedule, ..Config::default() });
        let (w, [a, b]) = (words(&p), two_streams(&p));
        ok!(p, cuStreamWaitValue64_v2(b, w.flag, 3, CU_STREAM_WAIT_VALUE_GEQ));
        copy(&p, w.other, w.data, b);
        p.fill(w.data, 7, 64, a);
        ok!(p, cuStreamWriteValue64_v2(a, w.flag, 5, 0));
        ok!(p, cuStreamSynchronize(b));
        assert_eq!(p.peek(w.other), 7);
        assert_eq!(kinds(&p), [""; 0]);
    }
}

#[test]
fn work_after_the_write_is_not_ordered_by_the_wait() {
    for waits_first in [false, true] {
        let p = Program::new();
        let (w, [a, b]) = (words(&p), two_streams(&p));
        let wait = || {
            ok!(p, cuStreamWaitValue32_v2(b, w.flag, 1, EQ));
            copy(&p, w.other, w.data, b);
        };
        if waits_first {
            wait();
        }
        ok!(p, cuStreamWriteValue32_v2(a, w.flag, 1, 0));
        p.fill(w.data, 7, 64, a);
        if !waits_first {
            wait();
        }
        ok!(p, cuCtxSynchronize());
        assert_eq!(kinds(&p), ["DataRace"], "{waits_first}");
    }
}

#[test]
fn wait_orders_only_after_the_first_write_that_ends_it() {
    let p = Program::new();
    let (w, [a, b]) = (words(&p), two_streams(&p));
    ok!(p, cuStreamWriteValue32_v2(a, w.flag, 1, 0));
    p.fill(w.data, 7, 64, a);
    ok!(p, cuStreamWriteValue32_v2(a, w.flag, 2, 0));
    ok!(p, cuStreamSynchronize(a));
    // The host has synchronized with the first stream, so this is ordered.
    ok!(p, cuStreamWaitValue32_v2(b, w.flag, 1, 0));
    copy(&p, w.other, w.data, b);
    ok!(p, cuCtxSynchronize());
    assert_eq!(kinds(&p), [""; 0]);
    ok!(p, cuStreamWriteValue32_v2(a, w.flag, 3, 0));
    p.fill(w.data, 8, 64, a);
    ok!(p, cuStreamWriteValue32_v2(a, w.flag, 4, 0));
    ok!(p, cuStreamWaitValue32_v2(b, w.flag, 3, 0));
    copy(&p, w.other, w.data, b);
    ok!(p, cuCtxSynchronize());
    assert_eq!(kinds(&p), ["DataRace"]);
}

#[test]
fn write_without_a_barrier_orders_nothing() {
    let p = Program::new();
    let (w, [a, b]) = (words(&p), two_streams(&p));
    p.fill(w.data, 7, 64, a);
    ok!(p, cuStreamWriteValue32(a, w.flag, 1, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    ok!(p, cuStreamWaitValue32(b, w.flag, 1, EQ));
    copy(&p, w.other, w.data, b);
    ok!(p, cuCtxSynchronize());
    assert_eq!(kinds(&p), ["DataRace"]);
}

#[test]
fn streams_that_hand_work_back_and_forth_are_ordered() {
    let p = Program::new();
    let (w, [a, b]) = (words(&p), two_streams(&p));
    for round in 0..20 {
        ok!(p, cuStreamWaitValue32_v2(b, w.flag, 2 * round + 1, EQ));
        copy(&p, w.other, w.data, b);
        ok!(p, cuStreamWriteValue32_v2(b, w.flag, 2 * round + 2, 0));
        p.fill(w.data, round as u8, 64, a);
        ok!(p, cuStreamWriteValue32_v2(a, w.flag, 2 * round + 1, 0));
        ok!(p, cuStreamWaitValue32_v2(a, w.flag, 2 * round + 2, EQ));
    }
    ok!(p, cuStreamSynchronize(a));
    assert_eq!(p.peek(w.other), 19);
    assert_eq!(kinds(&p), [""; 0]);
}

#[test]
fn host_that_writes_mapped_memory_ends_a_wait() {
    let p = Program::new();
    let (w, [a, _]) = (words(&p), two_streams(&p));
    let (flag, mut address) = (p.pinned(64), 0);
    (0..64).for_each(|index| write(flag.wrapping_add(index), 0));
    ok!(p, cuMemHostGetDevicePointer_v2(&mut address, flag.cast(), 0));
    ok!(p, cuStreamWaitValue32_v2(a, address, 9, EQ));
    p.fill(w.data, 7, 64, a);
    assert_eq!(call!(p, cuStreamQuery(a)), CUresult::CUDA_ERROR_NOT_READY);
    write(flag, 9);
    ok!(p, cuStreamSynchronize(a));
    assert_eq!(p.peek(w.data), 7);
    assert_eq!(kinds(&p), [""; 0]);
}

#[test]
fn another_thread_ends_a_wait_of_a_thread_that_synchronizes() {
    let p = Program::new();
    let (w, [a, b]) = (words(&p), two_streams(&p));
    ok!(p, cuStreamWaitValue32_v2(a, w.flag, 1, EQ));
    let (sim, context, flag) = (p.sim.clone(), p.context, w.flag);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (api, _entered) = (sim.api(), sim.enter());
            std::thread::sleep(Duration::from_millis(20));
            // SAFETY: the arguments are valid.
            unsafe {
                assert!(api.cuCtxSetCurrent.unwrap()(context).is_success());
                assert!(api.cuStreamWriteValue32_v2.unwrap()(b, flag, 1, 0).is_success());
            }
        });
        ok!(p, cuStreamSynchronize(a));
    });
}

#[test]
fn wait_that_nothing_ends_fails_its_context_after_the_limit() {
    let p = Program::with(Config { memory_wait: Duration::from_millis(30), ..Config::default() });
    let (w, [a, b]) = (words(&p), two_streams(&p));
    ok!(p, cuStreamWaitValue32_v2(a, w.flag, 1, EQ));
    // Each stream waits for the other.
    ok!(p, cuStreamWriteValue32_v2(a, w.flag + 8, 1, 0));
    ok!(p, cuStreamWaitValue32_v2(b, w.flag + 8, 1, EQ));
    ok!(p, cuStreamWriteValue32_v2(b, w.flag, 1, 0));
    fails!(p, LAUNCH_TIMEOUT, cuStreamSynchronize(b));
    fails!(p, LAUNCH_TIMEOUT, cuCtxSynchronize());
    let [finding] = &p.sim.report().findings[..] else { panic!("{}", p.sim.report().text(false)) };
    assert_eq!(finding.kind, cuarray_sim::finding::Kind::Deadlock);
    assert!(finding.sides[0].call.contains("WaitValue"), "{}", finding.sides[0].call);
    assert!(finding.missing.as_ref().is_some_and(|advice| advice.contains("enqueue the write")));
}

#[test]
fn batch_runs_its_operations_in_order() {
    let p = Program::new();
    let (w, [a, _]) = (words(&p), two_streams(&p));
    let reduce = |operation, data_type, value| CUstreamBatchMemOpParams {
        atomicReduction: CUstreamMemOpAtomicReductionParams {
            operation: CU_STREAM_MEM_OP_ATOMIC_REDUCTION,
            flags: 0,
            reductionOp: operation,
            dataType: data_type,
            address: w.flag,
            value,
            alias: 0,
        },
    };
    let plain = |operation, flags| CUstreamBatchMemOpParams { flags: CUstreamMemOpFlagsParams { operation, flags } };
    let mut batch = [
        value(CU_STREAM_MEM_OP_WRITE_VALUE_64, w.flag, 0x1_0000_0005, 0),
        plain(CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEMORY_BARRIER_TYPE_GPU),
        reduce(CU_STREAM_ATOMIC_REDUCTION_OP_ADD, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64, 3),
        reduce(CU_STREAM_ATOMIC_REDUCTION_OP_OR, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32, 0x30),
        reduce(CU_STREAM_ATOMIC_REDUCTION_OP_AND, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32, 0x18),
        plain(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, 0),
        value(CU_STREAM_MEM_OP_WAIT_VALUE_64, w.flag, 0x1_0000_0018, EQ | CU_STREAM_WAIT_VALUE_FLUSH),
    ];
    ok!(p, cuStreamBatchMemOp_v2(a, 7, batch.as_mut_ptr(), 0));
    ok!(p, cuStreamSynchronize(a));
    assert_eq!((p.peek(w.flag), p.peek(w.flag + 4)), (0x18, 1));
    assert_eq!(kinds(&p), [""; 0]);
}

#[test]
fn invalid_operations_are_refused() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let (w, [a, _]) = (words(&p), two_streams(&p));
    fails!(p, INVALID_VALUE, cuStreamWaitValue32_v2(a, w.flag + 2, 0, 0));
    fails!(p, INVALID_VALUE, cuStreamWaitValue64_v2(a, w.flag + 4, 0, 0));
    fails!(p, INVALID_VALUE, cuStreamWaitValue32_v2(a, 0, 0, 0));
    fails!(p, INVALID_VALUE, cuStreamWaitValue32_v2(a, w.flag, 0, 4));
    fails!(p, INVALID_VALUE, cuStreamWriteValue32_v2(a, w.flag, 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    fails!(p, INVALID_HANDLE, cuStreamWriteValue32_v2(CUstream(12345), w.flag, 0, 0));
    let mut managed = 0;
    ok!(p, cuMemAllocManaged(&mut managed, 64, CU_MEM_ATTACH_GLOBAL));
    fails!(p, INVALID_VALUE, cuStreamWaitValue32_v2(a, managed, 0, 0));
    fails!(p, INVALID_VALUE, cuStreamWriteValue64_v2(a, managed, 0, 0));
    let mut one = [value(CU_STREAM_MEM_OP_WRITE_VALUE_32, w.flag, 1, 0)];
    fails!(p, INVALID_VALUE, cuStreamBatchMemOp_v2(a, 1, one.as_mut_ptr(), 1));
    fails!(p, INVALID_VALUE, cuStreamBatchMemOp_v2(a, 256, one.as_mut_ptr(), 0));
    fails!(p, INVALID_VALUE, cuStreamBatchMemOp_v2(a, 1, std::ptr::null_mut(), 0));
    ok!(p, cuStreamBatchMemOp_v2(a, 0, std::ptr::null_mut(), 0));
    one[0] = value(7, w.flag, 1, 0);
    fails!(p, INVALID_VALUE, cuStreamBatchMemOp_v2(a, 1, one.as_mut_ptr(), 0));
    one[0] = value(CU_STREAM_MEM_OP_BARRIER, 0, 0, 0);
    fails!(p, NOT_SUPPORTED, cuStreamBatchMemOp(a, 1, one.as_mut_ptr(), 0));
    let capabilities = [92, 93, 94, 98, 122, 123, 148].map(|attribute| {
        let mut value = 0;
        ok!(p, cuDeviceGetAttribute(&mut value, attribute, 0));
        value
    });
    assert_eq!(capabilities, [1; 7]);
}

#[test]
fn captured_operations_become_nodes_that_every_launch_runs() {
    let p = Program::new();
    let (w, [a, b]) = (words(&p), two_streams(&p));
    let (mut graph, mut exec) = (CUgraph::NULL, CUgraphExec::NULL);
    ok!(p, cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    p.fill(w.data, 7, 64, a);
    let mut batch =
        [value(CU_STREAM_MEM_OP_WRITE_VALUE_32, w.flag, 1, 0), value(CU_STREAM_MEM_OP_WAIT_VALUE_32, w.flag, 2, EQ)];
    ok!(p, cuStreamBatchMemOp_v2(a, 2, batch.as_mut_ptr(), 0));
    copy(&p, w.data, w.other, a);
    ok!(p, cuStreamEndCapture(a, &mut graph));
    let (mut nodes, mut count) = ([CUgraphNode::NULL; 3], 3);
    ok!(p, cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count));
    let kinds_of_nodes = nodes.map(|node| {
        let mut kind = 99;
        ok!(p, cuGraphNodeGetType(node, &mut kind));
        kind
    });
    assert_eq!((count, kinds_of_nodes[1]), (3, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP));
    ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    for _ in 0..2 {
        ok!(p, cuStreamWaitValue32_v2(b, w.flag, 1, EQ));
        copy(&p, w.other, w.data, b);
        ok!(p, cuStreamWriteValue32_v2(b, w.flag, 2, 0));
        ok!(p, cuGraphLaunch(exec, a));
        ok!(p, cuStreamSynchronize(a));
    }
    assert_eq!(p.peek(w.other), 7);
    assert_eq!(kinds(&p), [""; 0]);
}

const KERNELS: &std::ffi::CStr = c".version 8.0
.target sm_90
.address_size 64
.visible .entry publish(.param .u64 data, .param .u64 flag)
{
    .reg .b64 %data, %flag;
    ld.param.u64 %data, [data];
    ld.param.u64 %flag, [flag];
    st.global.u32 [%data], 7;
    st.release.gpu.global.u32 [%flag], 1;
    ret;
}
.visible .entry careless(.param .u64 data, .param .u64 flag)
{
    .reg .b64 %data, %flag;
    ld.param.u64 %data, [data];
    ld.param.u64 %flag, [flag];
    st.relaxed.gpu.global.u32 [%flag], 1;
    st.global.u32 [%data], 7;
    ret;
}
";

#[test]
fn kernel_that_releases_a_flag_is_ordered_before_the_work_that_waits_for_it() {
    for waits_first in [false, true] {
        for (name, expected) in [(c"publish", &[][..]), (c"careless", &["DataRace"][..])] {
            let p = Program::new();
            let (w, [a, b]) = (words(&p), two_streams(&p));
            let (mut module, mut kernel) = (CUmodule::NULL, CUfunction::NULL);
            ok!(p, cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()));
            ok!(p, cuModuleGetFunction(&mut kernel, module, name.as_ptr()));
            if !waits_first {
                p.launch_after(kernel, a, 1, false, [w.data, w.flag]);
            }
            ok!(p, cuStreamWaitValue32_v2(b, w.flag, 1, EQ));
            copy(&p, w.other, w.data, b);
            if waits_first {
                p.launch_after(kernel, a, 1, false, [w.data, w.flag]);
            }
            ok!(p, cuStreamSynchronize(b));
            assert_eq!(p.peek(w.other), 7);
            ok!(p, cuCtxSynchronize());
            assert_eq!(kinds(&p), expected, "{name:?}, {waits_first}");
        }
    }
}
