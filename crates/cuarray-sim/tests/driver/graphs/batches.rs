//! Batch memory operation nodes: waits for words of memory and writes to them, in graphs.

use super::*;

const WAIT: CUstreamBatchMemOpType = CU_STREAM_MEM_OP_WAIT_VALUE_32;
const WRITE: CUstreamBatchMemOpType = CU_STREAM_MEM_OP_WRITE_VALUE_32;
const EQ: u32 = CU_STREAM_WAIT_VALUE_EQ;

fn operation(
    operation: CUstreamBatchMemOpType,
    address: CUdeviceptr,
    value: u64,
    flags: u32,
) -> CUstreamBatchMemOpParams {
    CUstreamBatchMemOpParams { value: CUstreamMemOpValueParams { operation, address, value, flags, alias: 0 } }
}

fn params(program: &Program, operations: &[CUstreamBatchMemOpParams]) -> CUDA_BATCH_MEM_OP_NODE_PARAMS {
    let (list, count) = (operations.as_ptr().cast_mut(), operations.len() as u32);
    CUDA_BATCH_MEM_OP_NODE_PARAMS { ctx: program.context, count, paramArray: list, flags: 0 }
}

fn batch(
    program: &Program,
    graph: CUgraph,
    after: &[CUgraphNode],
    operations: &[CUstreamBatchMemOpParams],
) -> CUgraphNode {
    let (mut node, params) = (CUgraphNode::NULL, params(program, operations));
    ok!(program, cuGraphAddBatchMemOpNode(&mut node, graph, after.as_ptr(), after.len(), &params));
    node
}

/// The operation, the address, the value and the flags of each element that a node returns.
fn elements(params: &CUDA_BATCH_MEM_OP_NODE_PARAMS) -> Vec<(u32, u64, u64, u32)> {
    (0..params.count as usize)
        .map(|index| {
            // SAFETY: the list is the node's own, with this number of elements of values.
            let element = unsafe { (*params.paramArray.add(index)).value };
            (element.operation, element.address, element.value, element.flags)
        })
        .collect()
}

fn kinds(program: &Program) -> Vec<String> {
    ok!(program, cuCtxSynchronize());
    program.sim.report().findings.iter().map(|finding| format!("{:?}", finding.kind)).collect()
}

#[test]
fn batch_in_a_graph_hands_data_to_another_stream() {
    for waits in [true, false] {
        let program = Program::new();
        let (graph, device) = (graph(&program), program.alloc(128));
        let [flag, data, other] = [device, device + 64, device + 96];
        ok!(program, cuMemsetD8_v2(device, 0, 128));
        ok!(program, cuCtxSynchronize());
        let filled = fill(&program, graph, &[], fill_params(data, 7, 4));
        batch(&program, graph, &[filled], &[operation(WRITE, flag, 1, 0), operation(WRITE, flag + 4, 2, 0)]);
        let exec = instantiate(&program, graph);
        let [origin, stream] = [CU_STREAM_NON_BLOCKING; 2].map(|flags| program.stream(flags));
        if waits {
            ok!(program, cuStreamWaitValue32_v2(stream, flag, 1, EQ));
        }
        ok!(program, cuMemcpyDtoDAsync_v2(other, data, 4, stream));
        ok!(program, cuGraphLaunch(exec, origin));
        if waits {
            assert_eq!(kinds(&program), [""; 0]);
            assert_eq!(bytes(&program, other, 4), [7; 4]);
            assert_eq!(bytes(&program, flag, 8), [1, 0, 0, 0, 2, 0, 0, 0]);
        } else {
            assert_eq!(kinds(&program), ["DataRace"]);
        }
    }
}

#[test]
fn wait_in_one_branch_is_ended_by_a_write_of_another_branch() {
    let program = Program::new();
    let (graph, device) = (graph(&program), program.alloc(128));
    ok!(program, cuMemsetD8_v2(device, 0, 128));
    let first = batch(&program, graph, &[], &[operation(WAIT, device, 5, EQ)]);
    copy(&program, graph, &[first], copy_params(device + 96, device + 64, 4));
    let filled = fill(&program, graph, &[], fill_params(device + 64, 9, 4));
    batch(&program, graph, &[filled], &[operation(WRITE, device, 5, 0)]);
    let exec = instantiate(&program, graph);
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(kinds(&program), [""; 0]);
    assert_eq!(bytes(&program, device + 96, 4), [9; 4]);
}

#[test]
fn parameters_are_returned_from_the_node_and_changed_in_the_graph_only() {
    let program = Program::new();
    let (graph, device) = (graph(&program), program.alloc(64));
    ok!(program, cuMemsetD8_v2(device, 0, 64));
    // The node has its own copy of the list, which ends here.
    let node = batch(&program, graph, &[], &[operation(WRITE, device, 5, 0), operation(WAIT, device, 5, EQ)]);
    let mut read = params(&program, &[]);
    ok!(program, cuGraphBatchMemOpNodeGetParams(node, &mut read));
    assert_eq!((read.ctx, read.flags), (program.context, 0));
    assert_eq!(elements(&read), [(WRITE, device, 5, 0), (WAIT, device, 5, EQ)]);
    let exec = instantiate(&program, graph);
    let changed = [operation(WRITE, device, 8, 0)];
    ok!(program, cuGraphBatchMemOpNodeSetParams(node, &params(&program, &changed)));
    let mut any = CUgraphNodeParams { kind: 99, reserved0: [0; 3], params: [0; 29], reserved2: 0 };
    ok!(program, cuGraphNodeGetParams(node, &mut any));
    // SAFETY: the union holds the parameters of a batch.
    let read = unsafe { any.params.as_ptr().cast::<CUDA_BATCH_MEM_OP_NODE_PARAMS>().read() };
    assert_eq!((any.kind, elements(&read)), (CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, vec![(WRITE, device, 8, 0)]));
    ok!(program, cuGraphNodeSetParams(node, &mut any));
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(bytes(&program, device, 1), [5]);
    ok!(program, cuGraphLaunch(instantiate(&program, graph), CUstream::NULL));
    assert_eq!(bytes(&program, device, 1), [8]);
    fails!(program, INVALID_VALUE, cuGraphMemsetNodeGetParams(node, &mut fill_params(0, 0, 0)));
    let empty = empty(&program, graph, &[]);
    let mut read = params(&program, &[]);
    fails!(program, INVALID_VALUE, cuGraphBatchMemOpNodeGetParams(empty, &mut read));
    fails!(program, INVALID_VALUE, cuGraphBatchMemOpNodeSetParams(empty, &params(&program, &changed)));
    fails!(program, INVALID_VALUE, cuGraphBatchMemOpNodeGetParams(node, std::ptr::null_mut()));
}

#[test]
fn executable_batch_changes_its_words_values_and_the_types_of_waits() {
    let program = Program::new();
    let (graph, device) = (graph(&program), program.alloc(64));
    ok!(program, cuMemsetD8_v2(device, 0, 64));
    let barrier =
        CUstreamBatchMemOpParams { flags: CUstreamMemOpFlagsParams { operation: CU_STREAM_MEM_OP_BARRIER, flags: 0 } };
    let list = [operation(WRITE, device, 5, 0), operation(WAIT, device, 5, EQ), barrier];
    let node = batch(&program, graph, &[], &list);
    let exec = instantiate(&program, graph);
    let changed =
        [operation(WRITE, device + 4, 6, 0), operation(WAIT, device + 4, 4, CU_STREAM_WAIT_VALUE_AND), barrier];
    ok!(program, cuGraphExecBatchMemOpNodeSetParams(exec, node, &params(&program, &changed)));
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(bytes(&program, device, 8), [0, 0, 0, 0, 6, 0, 0, 0]);
    let device_barrier = CUstreamBatchMemOpParams {
        flags: CUstreamMemOpFlagsParams {
            operation: CU_STREAM_MEM_OP_BARRIER,
            flags: CU_STREAM_MEMORY_BARRIER_TYPE_GPU,
        },
    };
    let wide = operation(CU_STREAM_MEM_OP_WRITE_VALUE_64, device, 5, 0);
    for refused in [
        &[operation(WRITE, device, 5, 0)][..],
        &[operation(WAIT, device, 5, EQ), operation(WAIT, device, 5, EQ), barrier],
        &[wide, operation(WAIT, device, 5, EQ), barrier],
        &[list[0], operation(WAIT, device, 5, EQ | CU_STREAM_WAIT_VALUE_FLUSH), barrier],
        &[list[0], list[1], device_barrier],
    ] {
        let params = params(&program, refused);
        fails!(program, INVALID_VALUE, cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
    }
    // The whole graph has the same limits.
    ok!(program, cuGraphBatchMemOpNodeSetParams(node, &params(&program, &[wide])));
    let mut info = CUgraphExecUpdateResultInfo::default();
    fails!(program, GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, graph, &mut info));
    assert_eq!((info.result, info.errorNode), (CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, node));
}

#[test]
fn invalid_batches_are_refused_and_freed_words_are_found() {
    let program = Program::new();
    let (graph, device, mut node) = (graph(&program), program.alloc(64), CUgraphNode::NULL);
    let valid = [operation(WRITE, device, 5, 0)];
    for wrong in [
        params(&program, &[operation(77, device, 5, 0)]),
        params(&program, &[operation(WRITE, device + 2, 5, 0)]),
        CUDA_BATCH_MEM_OP_NODE_PARAMS { flags: 1, ..params(&program, &valid) },
        CUDA_BATCH_MEM_OP_NODE_PARAMS { count: 256, ..params(&program, &valid) },
        CUDA_BATCH_MEM_OP_NODE_PARAMS { paramArray: std::ptr::null_mut(), ..params(&program, &valid) },
    ] {
        fails!(program, INVALID_VALUE, cuGraphAddBatchMemOpNode(&mut node, graph, NONE, 0, &wrong));
    }
    let elsewhere = CUDA_BATCH_MEM_OP_NODE_PARAMS { ctx: CUcontext(5), ..params(&program, &valid) };
    fails!(program, INVALID_CONTEXT, cuGraphAddBatchMemOpNode(&mut node, graph, NONE, 0, &elsewhere));
    fails!(program, INVALID_VALUE, cuGraphAddBatchMemOpNode(&mut node, graph, NONE, 0, std::ptr::null()));
    assert_eq!(kinds(&program), [""; 0]);
    batch(&program, graph, &[], &valid);
    let exec = instantiate(&program, graph);
    ok!(program, cuMemFree_v2(device));
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(kinds(&program), ["UseAfterFree"]);
}

#[test]
fn batch_uses_memory_that_its_graph_allocates() {
    let program = Program::new();
    let (graph, result) = (graph(&program), program.alloc(4));
    // SAFETY: all-zero parameters are valid.
    let mut allocation: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    allocation.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    allocation.poolProps.location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
    allocation.bytesize = 64;
    let (mut allocated, mut freed) = (CUgraphNode::NULL, CUgraphNode::NULL);
    ok!(program, cuGraphAddMemAllocNode(&mut allocated, graph, NONE, 0, &mut allocation));
    let written = batch(&program, graph, &[allocated], &[operation(WRITE, allocation.dptr, 5, 0)]);
    let copied = copy(&program, graph, &[written], copy_params(result, allocation.dptr, 4));
    ok!(program, cuGraphAddMemFreeNode(&mut freed, graph, &copied, 1, allocation.dptr));
    ok!(program, cuGraphLaunch(instantiate(&program, graph), CUstream::NULL));
    assert_eq!(bytes(&program, result, 4), [5, 0, 0, 0]);
    assert_eq!(kinds(&program), [""; 0]);
}
