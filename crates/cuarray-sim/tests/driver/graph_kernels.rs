//! Kernel nodes: creation, queries, updates, disabling, and races between them.

use crate::diagnostics::{log, position};
use crate::program::*;
use cuarray_sim::finding::Kind;
use std::ffi::CStr;

/// The PTX of a kernel in which each thread loads one element into `%r3`, changes it, and stores it. `%r1` holds `value`.
macro_rules! kernel {
    ($name:literal, $change:literal) => {
        concat!(
            ".visible .entry ",
            $name,
            "(.param .u64 data, .param .u32 value)
            {
                .reg .b32 %r<4>; .reg .b64 %rd<4>;
                ld.param.u64 %rd1, [data];
                ld.param.u32 %r1, [value];
                mov.u32 %r2, %tid.x;
                mul.wide.u32 %rd2, %r2, 4;
                add.s64 %rd1, %rd1, %rd2;
                ld.global.u32 %r3, [%rd1];
                ",
            $change,
            " st.global.u32 [%rd1], %r3; ret; }\n"
        )
    };
}

/// The kernel `add(data, value)` adds a value to each element of a block; `twice(data, value)` adds it twice.
const ADD: &str = concat!(
    ".version 8.0\n.target sm_90\n.address_size 64\n",
    kernel!("add", "add.u32 %r3, %r3, %r1;"),
    kernel!("twice", "add.u32 %r3, %r3, %r1; add.u32 %r3, %r3, %r1;"),
    "\0"
);

const THREADS: usize = 8;

struct Fixture {
    program: Program,
    add: CUfunction,
    twice: CUfunction,
    data: CUdeviceptr,
    graph: CUgraph,
}

impl Fixture {
    fn new() -> Fixture {
        let program = Program::new();
        let mut module = CUmodule::NULL;
        ok!(program, cuModuleLoadData(&mut module, ADD.as_ptr().cast()));
        let function = |name: &CStr| {
            let mut function = CUfunction::NULL;
            ok!(program, cuModuleGetFunction(&mut function, module, name.as_ptr()));
            function
        };
        let (add, twice) = (function(c"add"), function(c"twice"));
        let (data, mut graph) = (program.alloc(THREADS * 4), CUgraph::NULL);
        ok!(program, cuMemsetD32_v2(data, 0, THREADS));
        ok!(program, cuGraphCreate(&mut graph, 0));
        Fixture { program, add, twice, data, graph }
    }

    /// Passes a node's parameters to `use_them` while their pointers are valid.
    fn with_params<R>(
        &self,
        function: CUfunction,
        value: u32,
        use_them: impl FnOnce(CUDA_KERNEL_NODE_PARAMS) -> R,
    ) -> R {
        let (mut data, mut value) = (self.data, value);
        let mut arguments = [(&raw mut data).cast::<c_void>(), (&raw mut value).cast()];
        let v1 = CUDA_KERNEL_NODE_PARAMS_v1 {
            func: function,
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: THREADS as u32,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: arguments.as_mut_ptr(),
            extra: std::ptr::null_mut(),
        };
        use_them(CUDA_KERNEL_NODE_PARAMS { v1, kern: CUkernel::NULL, ctx: CUcontext::NULL })
    }

    fn node(&self, after: &[CUgraphNode], function: CUfunction, value: u32) -> CUgraphNode {
        let mut node = CUgraphNode::NULL;
        self.with_params(function, value, |params| {
            ok!(self.program, cuGraphAddKernelNode_v2(&mut node, self.graph, after.as_ptr(), after.len(), &params));
        });
        node
    }

    fn instantiated(&self) -> CUgraphExec {
        let mut exec = CUgraphExec::NULL;
        ok!(self.program, cuGraphInstantiateWithFlags(&mut exec, self.graph, 0));
        exec
    }

    /// Launches the graph and returns the elements' common value; sets them to zero again.
    fn launched(&self, exec: CUgraphExec) -> u32 {
        ok!(self.program, cuGraphLaunch(exec, CUstream::NULL));
        let mut host = [0_u32; THREADS];
        ok!(self.program, cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), self.data, THREADS * 4));
        ok!(self.program, cuMemsetD32_v2(self.data, 0, THREADS));
        assert_eq!(host, [host[0]; THREADS]);
        host[0]
    }
}

/// The second argument that a node's parameters point to.
fn value_of(params: &CUDA_KERNEL_NODE_PARAMS_v1) -> u32 {
    // SAFETY: the list holds two pointers, and the second points to the four bytes of `value`.
    unsafe { params.kernelParams.add(1).read().cast::<u32>().read_unaligned() }
}

#[test]
fn kernel_node_copies_its_arguments() {
    let setting = Fixture::new();
    let first = setting.node(&[], setting.add, 3);
    setting.node(&[first], setting.twice, 10);
    let exec = setting.instantiated();
    assert_eq!(setting.launched(exec), 23);
    assert_eq!(setting.launched(exec), 23);
    assert_eq!(setting.program.sim.report_with_leaks().findings.iter().filter(|f| f.kind != Kind::Leak).count(), 0);
}

#[test]
fn queried_parameters_create_an_equal_node() {
    let setting = Fixture::new();
    let p = &setting.program;
    let node = setting.node(&[], setting.add, 7);
    // SAFETY: all-zero parameters are valid.
    let (mut old, mut new, mut any): (CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS, CUgraphNodeParams) =
        unsafe { std::mem::zeroed() };
    ok!(p, cuGraphKernelNodeGetParams(node, &mut old));
    ok!(p, cuGraphKernelNodeGetParams_v2(node, &mut new));
    ok!(p, cuGraphNodeGetParams(node, &mut any));
    assert_eq!((old.func, old.gridDimX, old.blockDimX), (setting.add, 1, THREADS as u32));
    assert_eq!((new.v1.func, new.ctx, value_of(&old), value_of(&new.v1)), (setting.add, p.context, 7, 7));
    let mut other = CUgraphNode::NULL;
    ok!(p, cuGraphAddKernelNode(&mut other, setting.graph, &node, 1, &old));
    ok!(p, cuGraphAddNode(&mut other, setting.graph, &other.clone(), 1, &mut any));
    assert_eq!(setting.launched(setting.instantiated()), 21);
}

#[test]
fn captured_launch_becomes_a_kernel_node() {
    let setting = Fixture::new();
    let (p, mut graph, mut node, mut count) = (&setting.program, CUgraph::NULL, CUgraphNode::NULL, 1);
    let stream = p.stream(CU_STREAM_NON_BLOCKING);
    ok!(p, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    setting.with_params(setting.add, 5, |CUDA_KERNEL_NODE_PARAMS { v1, .. }| {
        let none = std::ptr::null_mut();
        ok!(p, cuLaunchKernel(v1.func, 1, 1, 1, v1.blockDimX, 1, 1, 0, stream, v1.kernelParams, none));
    });
    ok!(p, cuStreamEndCapture(stream, &mut graph));
    ok!(p, cuGraphGetNodes(graph, &mut node, &mut count));
    // SAFETY: all-zero parameters are valid.
    let mut params: CUDA_KERNEL_NODE_PARAMS = unsafe { std::mem::zeroed() };
    ok!(p, cuGraphKernelNodeGetParams_v2(node, &mut params));
    assert_eq!((params.v1.func, value_of(&params.v1)), (setting.add, 5));
}

#[test]
fn changing_a_node_leaves_instantiated_graphs_unchanged() {
    let setting = Fixture::new();
    let p = &setting.program;
    let node = setting.node(&[], setting.add, 1);
    let exec = setting.instantiated();
    setting.with_params(setting.twice, 4, |params| ok!(p, cuGraphKernelNodeSetParams_v2(node, &params)));
    assert_eq!((setting.launched(exec), setting.launched(setting.instantiated())), (1, 8));
    setting.with_params(setting.twice, 50, |params| ok!(p, cuGraphExecKernelNodeSetParams_v2(exec, node, &params)));
    assert_eq!(setting.launched(exec), 100);
    setting.with_params(setting.add, 6, |params| ok!(p, cuGraphExecKernelNodeSetParams(exec, node, &params.v1)));
    assert_eq!(setting.launched(exec), 6);
    ok!(p, cuGraphNodeSetEnabled(exec, node, 0));
    assert_eq!(setting.launched(exec), 0);
    setting.with_params(setting.add, 9, |params| ok!(p, cuGraphKernelNodeSetParams(node, &params.v1)));
    assert_eq!(setting.launched(setting.instantiated()), 9);
}

#[test]
fn library_kernel_runs_in_the_named_context() {
    let setting = Fixture::new();
    let p = &setting.program;
    let (mut library, mut kernel) = (CUlibrary::NULL, CUkernel::NULL);
    let (keys, values) = (std::ptr::null_mut(), std::ptr::null_mut());
    let of_library = (std::ptr::null_mut(), std::ptr::null_mut());
    let image = ADD.as_ptr().cast();
    ok!(p, cuLibraryLoadData(&mut library, image, keys, values, 0, of_library.0, of_library.1, 0));
    ok!(p, cuLibraryGetKernel(&mut kernel, library, c"add".as_ptr()));
    let mut node = CUgraphNode::NULL;
    setting.with_params(CUfunction::NULL, 2, |mut params| {
        (params.kern, params.ctx) = (kernel, p.context);
        ok!(p, cuGraphAddKernelNode_v2(&mut node, setting.graph, std::ptr::null(), 0, &params));
    });
    assert_eq!(setting.launched(setting.instantiated()), 2);
}

#[test]
fn invalid_parameters_are_refused_and_add_no_node() {
    let setting = Fixture::new();
    let (p, wrong) = (&setting.program, CUresult::CUDA_ERROR_INVALID_VALUE);
    let mut node = CUgraphNode::NULL;
    let mut add = |params: *const CUDA_KERNEL_NODE_PARAMS| {
        call!(p, cuGraphAddKernelNode_v2(&mut node, setting.graph, std::ptr::null(), 0, params))
    };
    assert_eq!(add(std::ptr::null()), wrong);
    setting.with_params(setting.add, 1, |mut params| {
        params.v1.blockDimX = 0;
        assert_eq!(add(&params), wrong);
        (params.v1.blockDimX, params.v1.kernelParams) = (1, std::ptr::null_mut());
        assert_eq!(add(&params), wrong);
    });
    setting.with_params(CUfunction(0x1230), 1, |params| {
        assert_eq!(add(&params), CUresult::CUDA_ERROR_INVALID_HANDLE);
    });
    let mut count = 7;
    ok!(p, cuGraphGetNodes(setting.graph, std::ptr::null_mut(), &mut count));
    assert_eq!(count, 0);
    ok!(p, cuGraphAddEmptyNode(&mut node, setting.graph, std::ptr::null(), 0));
    // SAFETY: all-zero parameters are valid.
    let mut params: CUDA_KERNEL_NODE_PARAMS = unsafe { std::mem::zeroed() };
    assert_eq!(call!(p, cuGraphKernelNodeGetParams_v2(node, &mut params)), wrong);
}

#[test]
fn kernel_nodes_without_an_edge_race() {
    let setting = Fixture::new();
    setting.node(&[], setting.add, 3);
    setting.node(&[], setting.twice, 10);
    setting.launched(setting.instantiated());
    let report = setting.program.sim.report_with_leaks();
    let races: Vec<_> = report.findings.iter().filter(|finding| finding.kind == Kind::DataRace).collect();
    assert_eq!(races.len(), 1, "{}", report.text(false));
    assert!(races[0].sides.iter().all(|side| side.call.starts_with("cuGraphAddKernelNode")), "{:?}", races[0]);
    assert!(races[0].sides.iter().all(|side| side.site.native.is_some()), "the calls that added the nodes");
}

#[test]
fn failure_in_a_graph_names_the_call_that_launched_it() {
    let fixture = Fixture::new();
    let p = &fixture.program;
    fixture.node(&[], fixture.add, 1);
    let (exec, mut at) = (fixture.instantiated(), position(p));
    ok!(p, cuMemFree_v2(fixture.data));
    let launched = call!(p, cuGraphLaunch(exec, CUstream::NULL));
    let waited = call!(p, cuCtxSynchronize());
    assert!([launched, waited].contains(&CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), "{launched:?}, {waited:?}");
    let text = log(p, &mut at);
    let place = text.split_once("; in a graph, launched at ").map(|(_, place)| place);
    assert!(place.is_some_and(|place| place.contains("driver")), "{text}");
}
