//! Host and managed memory that graphs allocate: its parameters, its life, and the accesses that are found.

use super::*;
use cuarray_sim::finding::Kind;

const PINNED: u32 = CU_MEM_ALLOCATION_TYPE_PINNED;
const MANAGED: u32 = CU_MEM_ALLOCATION_TYPE_MANAGED;
const DEVICE: u32 = CU_MEM_LOCATION_TYPE_DEVICE;
const HOST: u32 = CU_MEM_LOCATION_TYPE_HOST;
const NUMA: u32 = CU_MEM_LOCATION_TYPE_HOST_NUMA;
/// The types and locations of memory that lies in no device's own memory.
const PLACES: [(u32, u32); 6] =
    [(PINNED, HOST), (PINNED, NUMA), (MANAGED, HOST), (MANAGED, NUMA), (MANAGED, DEVICE), (MANAGED, 0)];

const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64\n
    .visible .entry put(.param .u64 place)
    {
        .reg .b64 %rd<2>; .reg .b32 %r<2>;
        ld.param.u64 %rd1, [place]; mov.u32 %r1, 9;
        st.global.u32 [%rd1], %r1;
        ret;
    }";

fn params(kind: u32, location: u32) -> CUDA_MEM_ALLOC_NODE_PARAMS {
    // SAFETY: all-zero parameters are valid.
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    (params.poolProps.allocType, params.poolProps.location.kind, params.bytesize) = (kind, location, 64);
    params
}

/// Adds an allocation node; returns it and its address.
fn allocate(program: &Program, graph: CUgraph, mut params: CUDA_MEM_ALLOC_NODE_PARAMS) -> (CUgraphNode, CUdeviceptr) {
    let mut node = CUgraphNode::NULL;
    ok!(program, cuGraphAddMemAllocNode(&mut node, graph, NONE, 0, &mut params));
    (node, params.dptr)
}

fn free(program: &Program, graph: CUgraph, after: &[CUgraphNode], address: CUdeviceptr) -> CUgraphNode {
    let mut node = CUgraphNode::NULL;
    ok!(program, cuGraphAddMemFreeNode(&mut node, graph, after.as_ptr(), after.len(), address));
    node
}

fn launch(program: &Program, graph: CUgraph) -> CUgraphExec {
    let exec = instantiate(program, graph);
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    exec
}

/// The kind of the only finding.
fn only(program: &Program) -> Kind {
    let report = program.sim.report();
    assert_eq!(report.findings.len(), 1, "{}", report.text(false));
    report.findings[0].kind
}

fn pointer_attribute(program: &Program, attribute: u32, address: CUdeviceptr) -> u32 {
    let mut value = 0_u32;
    ok!(program, cuPointerGetAttribute((&raw mut value).cast(), attribute, address));
    value
}

/// A host node that writes a byte.
fn host_node(program: &Program, graph: CUgraph, after: &[CUgraphNode], address: CUdeviceptr) -> CUgraphNode {
    unsafe extern "C" fn put(place: *mut c_void) {
        write(place.cast(), 5);
    }
    let params = CUDA_HOST_NODE_PARAMS { function: Some(put), userData: address as *mut c_void };
    let mut node = CUgraphNode::NULL;
    ok!(program, cuGraphAddHostNode(&mut node, graph, after.as_ptr(), after.len(), &params));
    node
}

#[test]
fn host_memory_of_a_graph_exists_from_launch_to_release() {
    for (kind, location) in PLACES {
        let program = Program::new();
        let (graph, device) = (graph(&program), program.alloc(64));
        let (node, address) = allocate(&program, graph, params(kind, location));
        let filled = fill(&program, graph, &[node], fill_params(address, 7, 64));
        copy(&program, graph, &[filled], copy_params(device, address, 64));
        fails!(program, INVALID_VALUE, cuMemsetD8Async(address, 1, 1, CUstream::NULL));
        let exec = launch(&program, graph);
        assert_eq!(bytes(&program, device, 64), [7; 64]);
        assert_eq!(read((address + 63) as *const u8), 7);
        let memory_type = if kind == MANAGED { CU_MEMORYTYPE_DEVICE } else { CU_MEMORYTYPE_HOST };
        assert_eq!(pointer_attribute(&program, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address), memory_type);
        assert_eq!(
            pointer_attribute(&program, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) as u8,
            u8::from(kind == MANAGED)
        );
        // The device's graph memory does not count it.
        let mut used = 9_u64;
        let attribute = CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
        ok!(program, cuDeviceGetGraphMemAttribute(0, attribute, (&raw mut used).cast()));
        assert_eq!(used, 0);
        // The host may use it until the release, and the next launch allocates it at the same address.
        write(address as *mut u8, 8);
        fails!(program, INVALID_VALUE, cuGraphLaunch(exec, CUstream::NULL));
        ok!(program, cuMemFreeAsync(address, CUstream::NULL));
        ok!(program, cuGraphLaunch(exec, CUstream::NULL));
        ok!(program, cuCtxSynchronize());
        assert_eq!(read(address as *const u8), 7);
        ok!(program, cuMemFree_v2(address));
        fails!(program, INVALID_VALUE, cuMemcpyHtoD_v2(device, address as *const c_void, 1));
        ok!(program, cuGraphExecDestroy(exec));
        ok!(program, cuGraphDestroy(graph));
        assert_eq!(program.sim.statistics().matches("\"kind\"").count(), 1);
        let others = program.sim.report().findings.into_iter().filter(|finding| finding.kind != Kind::UseAfterFree);
        assert_eq!(others.map(|finding| finding.kind).collect::<Vec<_>>(), [Kind::OutOfBounds; 1], "{kind} {location}");
    }
}

#[test]
fn parameters_of_host_memory_follow_the_rules_of_pools() {
    let program = Program::new();
    let (graph, mut node) = (graph(&program), CUgraphNode::NULL);
    let with = |change: &dyn Fn(&mut CUDA_MEM_ALLOC_NODE_PARAMS), mut params: CUDA_MEM_ALLOC_NODE_PARAMS| {
        change(&mut params);
        params
    };
    let access = |device, flags| CUmemAccessDesc { location: CUmemLocation { kind: DEVICE, id: device }, flags };
    let open = access(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    let (closed, unknown) = (access(0, CU_MEM_ACCESS_FLAGS_PROT_READ), access(9, CU_MEM_ACCESS_FLAGS_PROT_READ));
    let two = [open; 2];
    let described = |of: &CUmemAccessDesc, count| {
        let of = &raw const *of;
        move |params: &mut CUDA_MEM_ALLOC_NODE_PARAMS| (params.accessDescs, params.accessDescCount) = (of, count)
    };
    for mut wrong in [
        params(PINNED, CU_MEM_LOCATION_TYPE_NONE),
        params(PINNED, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT),
        params(MANAGED, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT),
        params(MANAGED, CU_MEM_LOCATION_TYPE_INVISIBLE),
        params(CU_MEM_ALLOCATION_TYPE_INVALID, HOST),
        params(3, HOST),
        with(&|params| params.poolProps.location.id = 1, params(PINNED, NUMA)),
        with(&|params| params.poolProps.location.id = 1, params(MANAGED, DEVICE)),
        with(&|params| params.poolProps.handleTypes = 1, params(PINNED, HOST)),
        with(&|params| params.poolProps.handleTypes = 1, params(MANAGED, HOST)),
        with(&|params| params.poolProps.maxSize = 1, params(MANAGED, HOST)),
        with(&|params| params.poolProps.usage = 2, params(MANAGED, HOST)),
        with(&|params| params.bytesize = 0, params(PINNED, HOST)),
        with(&described(&two[0], 2), params(PINNED, HOST)),
        with(&described(&unknown, 1), params(PINNED, HOST)),
        with(&described(&closed, 1), params(MANAGED, HOST)),
        with(&described(&closed, 1), params(PINNED, DEVICE)),
        with(&|params| params.accessDescCount = 1, params(PINNED, HOST)),
    ] {
        fails!(program, INVALID_VALUE, cuGraphAddMemAllocNode(&mut node, graph, NONE, 0, &mut wrong));
    }
    let mut part = params(PINNED, CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN);
    fails!(program, NOT_SUPPORTED, cuGraphAddMemAllocNode(&mut node, graph, NONE, 0, &mut part));
    let mut large = with(&|params| params.bytesize = 1 << 60, params(PINNED, HOST));
    fails!(program, OUT_OF_MEMORY, cuGraphAddMemAllocNode(&mut node, graph, NONE, 0, &mut large));
    assert_eq!(program.sim.statistics().matches("\"kind\"").count(), 0);
    // The node owns the descriptions that it returns, and only the address is written into the given parameters.
    let mut right = with(&described(&open, 1), params(PINNED, HOST));
    ok!(program, cuGraphAddMemAllocNode(&mut node, graph, NONE, 0, &mut right));
    assert_eq!(right.accessDescs, &raw const open);
    let mut read = params(PINNED, DEVICE);
    ok!(program, cuGraphMemAllocNodeGetParams(node, &mut read));
    assert_eq!((read.dptr, read.accessDescCount, read.poolProps.location.kind), (right.dptr, 1, HOST));
    assert_ne!(read.accessDescs, right.accessDescs);
    // SAFETY: the node owns one description.
    assert_eq!(unsafe { (*read.accessDescs).flags }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

#[test]
fn kernels_reach_host_memory_of_a_graph_with_access_only() {
    for (kind, given) in [(PINNED, false), (PINNED, true), (MANAGED, false)] {
        let program = Program::new();
        let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
        ok!(program, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
        ok!(program, cuModuleGetFunction(&mut function, module, c"put".as_ptr()));
        let location = CUmemLocation { kind: DEVICE, id: 0 };
        let access = CUmemAccessDesc { location, flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        let (mut pool, mut address) = (CUmemoryPool::NULL, 0);
        // The captured allocation has the access of its pool.
        ok!(program, cuMemPoolCreate(&mut pool, &params(kind, HOST).poolProps));
        ok!(program, cuMemPoolSetAccess(pool, &access, usize::from(given)));
        let graph = captured(&program, |stream| {
            ok!(program, cuMemAllocFromPoolAsync(&mut address, 64, pool, stream));
            let (mut values, none) = ([(&raw mut address).cast::<c_void>()], std::ptr::null_mut());
            ok!(program, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, values.as_mut_ptr(), none));
        });
        launch(&program, graph);
        let result = call!(program, cuCtxSynchronize());
        if given || kind == MANAGED {
            assert_eq!((result, read(address as *const u8)), (CUresult::CUDA_SUCCESS, 9));
        } else {
            assert_eq!(result, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
            let found = program.sim.report().findings[0].missing.clone().unwrap_or_default();
            let missing =
                "give device 0 access in the parameters of the allocation node, or in the pool before the capture";
            assert!(found.contains(missing), "{found}");
        }
    }
}

#[test]
fn captured_allocation_has_the_properties_of_its_pool() {
    for (kind, location) in PLACES {
        let program = Program::new();
        let (mut pool, mut address) = (CUmemoryPool::NULL, 0);
        ok!(program, cuMemPoolCreate(&mut pool, &params(kind, location).poolProps));
        let graph = captured(&program, |stream| {
            ok!(program, cuMemAllocFromPoolAsync(&mut address, 64, pool, stream));
            program.fill(address, 7, 64, stream);
            ok!(program, cuMemFreeAsync(address, stream));
        });
        // The graph owns the memory, and the pool does not.
        ok!(program, cuMemPoolDestroy(pool));
        assert_eq!(program.statistic("pools"), 0);
        let (mut node, mut count, mut read) = (CUgraphNode::NULL, 1, params(PINNED, DEVICE));
        ok!(program, cuGraphGetRootNodes(graph, &mut node, &mut count));
        ok!(program, cuGraphMemAllocNodeGetParams(node, &mut read));
        assert_eq!((read.dptr, read.bytesize, read.poolProps.allocType), (address, 64, kind));
        assert_eq!((read.poolProps.location.kind, read.poolProps.location.id), (location, 0));
        let exec = instantiate(&program, graph);
        for _ in 0..3 {
            ok!(program, cuGraphLaunch(exec, CUstream::NULL));
        }
        ok!(program, cuCtxSynchronize());
        ok!(program, cuGraphDestroy(graph));
        ok!(program, cuGraphExecDestroy(exec));
        assert_eq!(program.sim.report_with_leaks().text(false), "");
        assert_eq!(program.sim.statistics().matches("\"kind\"").count(), 0);
    }
}

#[test]
fn allocation_from_an_imported_pool_is_not_captured() {
    let program = Program::new();
    let (mut pool, mut imported, mut file, mut address) = (CUmemoryPool::NULL, CUmemoryPool::NULL, 0_i32, 0);
    let mut props = params(PINNED, DEVICE).poolProps;
    let kind = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    props.handleTypes = kind;
    ok!(program, cuMemPoolCreate(&mut pool, &props));
    ok!(program, cuMemPoolExportToShareableHandle((&raw mut file).cast(), pool, kind, 0));
    ok!(program, cuMemPoolImportFromShareableHandle(&mut imported, file as usize as *mut c_void, kind, 0));
    captured(&program, |stream| {
        fails!(program, INVALID_VALUE, cuMemAllocFromPoolAsync(&mut address, 64, imported, stream));
    });
}

#[test]
fn work_of_a_graph_must_be_ordered_after_the_allocation_and_before_the_release_of_host_memory() {
    for (kind, location) in PLACES {
        for (after_allocation, before_release) in [(true, true), (false, true), (true, false)] {
            let program = Program::new();
            let graph = graph(&program);
            let (node, address) = allocate(&program, graph, params(kind, location));
            let before_fill = &[node][..usize::from(after_allocation)];
            let filled = fill(&program, graph, before_fill, fill_params(address, 7, 64));
            let before_free = &[node, filled][..1 + usize::from(before_release)];
            free(&program, graph, before_free, address);
            launch(&program, graph);
            ok!(program, cuCtxSynchronize());
            let found = program.sim.report();
            let kinds: Vec<Kind> = found.findings.iter().map(|finding| finding.kind).collect();
            match (after_allocation, before_release) {
                (true, true) => assert_eq!(kinds, [], "{}", found.text(false)),
                (false, _) => assert_eq!(kinds, [Kind::UseBeforeAllocation], "{}", found.text(false)),
                (_, false) => assert_eq!(kinds, [Kind::FreeBeforePendingWork], "{}", found.text(false)),
            }
        }
    }
}

#[test]
fn host_node_uses_host_memory_between_allocation_and_release() {
    for (kind, location) in PLACES {
        for ordered in [true, false] {
            let program = Program::new();
            let (graph, device) = (graph(&program), program.alloc(1));
            let (node, address) = allocate(&program, graph, params(kind, location));
            let filled = fill(&program, graph, &[node], fill_params(address, 7, 64));
            let host = host_node(&program, graph, &[if ordered { filled } else { node }], address);
            let both = [filled, host];
            let copied = copy(&program, graph, &both, copy_params(device, address, 1));
            free(&program, graph, &[copied], address);
            launch(&program, graph);
            ok!(program, cuCtxSynchronize());
            match ordered {
                true => {
                    assert_eq!(program.sim.report().text(false), "");
                    assert_eq!(bytes(&program, device, 1), [5]);
                }
                false => assert_eq!(only(&program), Kind::DataRace),
            }
        }
    }
}

#[test]
fn host_access_outside_of_the_life_of_graph_memory_is_a_finding() {
    for (kind, location) in PLACES {
        // After the release was waited for.
        let program = Program::new();
        let first = graph(&program);
        let (node, address) = allocate(&program, first, params(kind, location));
        let filled = fill(&program, first, &[node], fill_params(address, 7, 64));
        free(&program, first, &[filled], address);
        launch(&program, first);
        ok!(program, cuCtxSynchronize());
        assert_eq!(program.sim.report().text(false), "");
        read(address as *const u8);
        assert_eq!(only(&program), Kind::UseAfterFree);
        // Before the first launch.
        let program = Program::new();
        let second = graph(&program);
        let (_, address) = allocate(&program, second, params(kind, location));
        write(address as *mut u8, 1);
        assert_eq!(only(&program), Kind::OutOfBounds);
        // While the graph may still run.
        let program = Program::new();
        let third = graph(&program);
        let (node, address) = allocate(&program, third, params(kind, location));
        fill(&program, third, &[node], fill_params(address, 7, 64));
        launch(&program, third);
        read(address as *const u8);
        ok!(program, cuCtxSynchronize());
        assert!([Kind::DataRace, Kind::UseBeforeAllocation].contains(&only(&program)));
        assert_eq!(read(address as *const u8), 7);
    }
}

#[test]
fn live_host_memory_of_a_graph_is_a_leak_at_the_end() {
    for (kind, location) in PLACES {
        for freed in [true, false] {
            let program = Program::new();
            let graph = graph(&program);
            let (_, address) = allocate(&program, graph, params(kind, location));
            let exec = launch(&program, graph);
            ok!(program, cuCtxSynchronize());
            ok!(program, cuGraphExecDestroy(exec));
            ok!(program, cuGraphDestroy(graph));
            // The memory outlives its graph, by the programming guide.
            write(address as *mut u8, 1);
            if freed {
                ok!(program, cuMemFree_v2(address));
            }
            let report = program.sim.report_with_leaks();
            let kinds: Vec<Kind> = report.findings.iter().map(|finding| finding.kind).collect();
            assert_eq!(kinds, vec![Kind::Leak; usize::from(!freed)], "{}", report.text(false));
        }
    }
}
