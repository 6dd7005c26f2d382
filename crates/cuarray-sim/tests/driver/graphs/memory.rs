//! Memory that graphs allocate and free.

use super::*;

fn graph_memory(program: &Program, attribute: CUgraphMem_attribute) -> u64 {
    let mut value = 9_u64;
    ok!(program, cuDeviceGetGraphMemAttribute(0, attribute, (&raw mut value).cast()));
    value
}

fn known(program: &Program, address: CUdeviceptr) -> bool {
    let mut kind = 0_u32;
    call!(program, cuPointerGetAttribute((&raw mut kind).cast(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address))
        .is_success()
}

#[test]
fn graph_memory_exists_from_launch_to_release() {
    let program = Program::new();
    let (stream, mut address) = (program.stream(0), 0);
    let graph = captured(&program, |stream| {
        ok!(program, cuMemAllocAsync(&mut address, 0, stream));
        assert_eq!(address, 0);
        ok!(program, cuMemAllocAsync(&mut address, 64, stream));
        program.fill(address, 7, 64, stream);
    });
    assert!(address != 0 && !known(&program, address), "the address is reserved, but has no memory before the launch");
    fails!(program, INVALID_VALUE, cuMemsetD8Async(address, 1, 1, stream));
    fails!(program, INVALID_VALUE, cuMemFreeAsync(address, stream));
    let exec = instantiate(&program, graph);
    let mut second = CUgraphExec::NULL;
    fails!(program, INVALID_VALUE, cuGraphInstantiateWithFlags(&mut second, graph, 0));
    ok!(program, cuGraphLaunch(exec, stream));
    assert!(known(&program, address));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(program.peek(address), 7);
    assert!(graph_memory(&program, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) >= 64);
    // A second launch needs the memory of the first one to be freed.
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, stream));
    ok!(program, cuMemFreeAsync(address, stream));
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuStreamSynchronize(stream));
    ok!(program, cuMemFree_v2(address));
    assert!(!known(&program, address));
    for attribute in [CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT] {
        assert!(graph_memory(&program, attribute) >= 64, "memory stays reserved until it is trimmed");
    }
    ok!(program, cuDeviceGraphMemTrim(0));
    for attribute in [CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT] {
        assert_eq!(graph_memory(&program, attribute), 0);
    }
    assert!(graph_memory(&program, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) >= 64);
    let mut zero = 0_u64;
    ok!(program, cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, (&raw mut zero).cast()));
    assert_eq!(graph_memory(&program, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0);
    ok!(program, cuGraphDestroy(graph));
    ok!(program, cuGraphExecDestroy(exec));
    assert_eq!(program.sim.statistics().matches("\"kind\"").count(), 0);
}

/// The expected values follow the tests of cuda.bindings.
#[test]
fn graph_memory_counts_as_used_from_the_launch_on() {
    let (program, mut address) = (Program::new(), 0);
    let stream = program.stream(0);
    let graph = captured(&program, |stream| {
        ok!(program, cuMemAllocAsync(&mut address, 64, stream));
        ok!(program, cuMemFreeAsync(address, stream));
    });
    let exec = instantiate(&program, graph);
    let attributes = [
        CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT,
        CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
    ];
    let counted = || attributes.map(|attribute| graph_memory(&program, attribute));
    assert_eq!(counted(), [0; 4]);
    ok!(program, cuGraphLaunch(exec, stream));
    let used = counted();
    assert!(used[0] >= 64 && used == [used[0]; 4], "{used:?}");
    assert!(program.statistic("pending_operations") > 0);
    // Launches of one graph use its memory one after the other.
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(counted(), used);
}

#[test]
fn memory_freed_by_its_own_graph_is_allocated_at_each_launch() {
    let program = Program::new();
    let (stream, device, mut address) = (program.stream(0), program.alloc(1), 0);
    let graph = captured(&program, |stream| {
        ok!(program, cuMemAllocAsync(&mut address, 64, stream));
        program.fill(address, 7, 64, stream);
        ok!(program, cuMemcpyDtoDAsync_v2(device, address, 1, stream));
        ok!(program, cuMemFreeAsync(address, stream));
        fails!(program, INVALID_VALUE, cuMemFreeAsync(address, stream));
        fails!(program, INVALID_VALUE, cuMemFreeAsync(device, stream));
    });
    let exec = instantiate(&program, graph);
    for _ in 0..3 {
        ok!(program, cuMemsetD8_v2(device, 0, 1));
        ok!(program, cuGraphLaunch(exec, stream));
        ok!(program, cuStreamSynchronize(stream));
        assert_eq!(program.peek(device), 7);
    }
    let (mut clone, mut node, mut count) = (CUgraph::NULL, CUgraphNode::NULL, 1);
    fails!(program, NOT_SUPPORTED, cuGraphClone(&mut clone, graph));
    ok!(program, cuGraphGetRootNodes(graph, &mut node, &mut count));
    fails!(program, NOT_SUPPORTED, cuGraphDestroyNode(node));
    // SAFETY: all-zero parameters are valid.
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    ok!(program, cuGraphMemAllocNodeGetParams(node, &mut params));
    assert_eq!((params.dptr, params.bytesize, params.poolProps.location.id), (address, 64, 0));
    let outer = self::graph(&program);
    fails!(program, NOT_SUPPORTED, cuGraphAddChildGraphNode(&mut node, outer, NONE, 0, graph));
}

#[test]
fn memory_of_one_graph_may_be_freed_by_another() {
    let program = Program::new();
    let (stream, mut address) = (program.stream(0), 0);
    let first = captured(&program, |stream| ok!(program, cuMemAllocAsync(&mut address, 64, stream)));
    let (second, mut node) = (graph(&program), CUgraphNode::NULL);
    ok!(program, cuGraphAddMemFreeNode(&mut node, second, NONE, 0, address));
    let mut read = 0;
    ok!(program, cuGraphMemFreeNodeGetParams(node, &mut read));
    assert_eq!(read, address);
    fails!(program, INVALID_VALUE, cuGraphAddMemFreeNode(&mut node, second, NONE, 0, address));
    fails!(program, INVALID_VALUE, cuGraphAddMemFreeNode(&mut node, first, NONE, 0, address));
    fails!(program, INVALID_VALUE, cuGraphAddMemFreeNode(&mut node, second, NONE, 0, address + 64));
    let (first, second) = (instantiate(&program, first), instantiate(&program, second));
    fails!(program, INVALID_VALUE, cuGraphLaunch(second, stream));
    for _ in 0..2 {
        ok!(program, cuGraphLaunch(first, stream));
        ok!(program, cuGraphLaunch(second, stream));
        assert!(!known(&program, address));
    }
    ok!(program, cuCtxSynchronize());
}

#[test]
fn auto_free_flag_frees_the_memory_of_the_previous_launch() {
    let program = Program::new();
    let (graph, mut node, stream) = (graph(&program), CUgraphNode::NULL, program.stream(0));
    // SAFETY: all-zero parameters are valid.
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    fails!(program, INVALID_VALUE, cuGraphAddMemAllocNode(&mut node, graph, NONE, 0, &mut params));
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
    params.bytesize = 64;
    ok!(program, cuGraphAddMemAllocNode(&mut node, graph, NONE, 0, &mut params));
    fill(&program, graph, &[node], fill_params(params.dptr, 7, 64));
    let mut exec = CUgraphExec::NULL;
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    for _ in 0..3 {
        ok!(program, cuGraphLaunch(exec, stream));
    }
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(program.peek(params.dptr), 7);
    ok!(program, cuMemFreeAsync(params.dptr, stream));
    ok!(program, cuGraphExecDestroy(exec));
    ok!(program, cuGraphDestroy(graph));
    ok!(program, cuCtxSynchronize());
    assert_eq!(program.sim.statistics().matches("\"kind\"").count(), 0);
}

#[test]
fn child_graph_with_memory_may_be_moved_but_not_cloned() {
    let program = Program::new();
    let (outer, device, mut address) = (graph(&program), program.alloc(1), 0);
    let child = captured(&program, |stream| {
        ok!(program, cuMemAllocAsync(&mut address, 64, stream));
        program.fill(address, 7, 64, stream);
        ok!(program, cuMemcpyDtoDAsync_v2(device, address, 1, stream));
        ok!(program, cuMemFreeAsync(address, stream));
    });
    let mut params =
        CUgraphNodeParams { kind: CU_GRAPH_NODE_TYPE_GRAPH, reserved0: [0; 3], params: [0; 29], reserved2: 0 };
    params.params[0] = child.0 as u64;
    let mut node = CUgraphNode::NULL;
    fails!(program, NOT_SUPPORTED, cuGraphAddNode(&mut node, outer, NONE, 0, &mut params));
    params.params[1] = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE as u64;
    ok!(program, cuGraphAddNode(&mut node, outer, NONE, 0, &mut params));
    fails!(program, INVALID_VALUE, cuGraphDestroy(child));
    let exec = instantiate(&program, outer);
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(bytes(&program, device, 1), [7]);
    ok!(program, cuGraphExecDestroy(exec));
    ok!(program, cuGraphDestroy(outer));
    assert_eq!(program.sim.statistics().matches("\"kind\"").count(), 1);
}
