//! Conditional nodes: handles, bodies, execution, captures, updates, and findings inside bodies.

mod execution;
mod findings;
mod oracle;
mod port_oracle;
mod ports;
mod structure;
mod unordered_sets;

use crate::program::*;
use std::ffi::CStr;

/// `set(handle, value)` sets a condition. `step(counter, handle)` decrements a counter, and sets the condition to the
/// result. `add(counter, value)` adds to a counter. `test(counter, handle)` sets the condition to the counter.
/// `turns(handle, value)` sets the condition in thread 0, and behind a barrier in thread 1.
/// `alternate(counters, side)` adds 1 to counter 1 or 2, depending on the parity of counter 0 plus `side`.
const PTX: &CStr = c".version 8.0
.target sm_90
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry set(.param .u64 handle, .param .u64 value) {
    .reg .b64 %rd<3>; .reg .b32 %r1;
    ld.param.u64 %rd1, [handle]; ld.param.u64 %rd2, [value]; cvt.u32.u64 %r1, %rd2;
    { .param .b64 p0; .param .b32 p1; st.param.b64 [p0], %rd1; st.param.b32 [p1], %r1;
      call.uni cudaGraphSetConditional, (p0, p1); }
    ret;
}
.visible .entry turns(.param .u64 handle, .param .u64 value) {
    .reg .pred %p1, %p2; .reg .b64 %rd<3>; .reg .b32 %r1, %r2;
    ld.param.u64 %rd1, [handle]; ld.param.u64 %rd2, [value]; cvt.u32.u64 %r1, %rd2;
    mov.u32 %r2, %tid.x; setp.ne.u32 %p1, %r2, 0; setp.ne.u32 %p2, %r2, 1;
    @%p1 bra SECOND;
    { .param .b64 p0; .param .b32 p1; st.param.b64 [p0], %rd1; st.param.b32 [p1], %r1;
      call.uni cudaGraphSetConditional, (p0, p1); }
SECOND:
    bar.sync 0;
    @%p2 bra DONE;
    { .param .b64 p2; .param .b32 p3; st.param.b64 [p2], %rd1; st.param.b32 [p3], %r1;
      call.uni cudaGraphSetConditional, (p2, p3); }
DONE:
    ret;
}
.visible .entry step(.param .u64 counter, .param .u64 handle) {
    .reg .b64 %rd<3>; .reg .b32 %r1;
    ld.param.u64 %rd1, [counter]; ld.param.u64 %rd2, [handle];
    ld.global.u32 %r1, [%rd1]; sub.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;
    { .param .b64 p0; .param .b32 p1; st.param.b64 [p0], %rd2; st.param.b32 [p1], %r1;
      call.uni cudaGraphSetConditional, (p0, p1); }
    ret;
}
.visible .entry test(.param .u64 counter, .param .u64 handle) {
    .reg .b64 %rd<3>; .reg .b32 %r1;
    ld.param.u64 %rd1, [counter]; ld.param.u64 %rd2, [handle];
    ld.global.u32 %r1, [%rd1];
    { .param .b64 p0; .param .b32 p1; st.param.b64 [p0], %rd2; st.param.b32 [p1], %r1;
      call.uni cudaGraphSetConditional, (p0, p1); }
    ret;
}
.visible .entry alternate(.param .u64 counters, .param .u64 side) {
    .reg .b64 %rd<5>; .reg .b32 %r1;
    ld.param.u64 %rd1, [counters]; ld.param.u64 %rd2, [side];
    ld.global.u32 %rd3, [%rd1]; add.s64 %rd3, %rd3, %rd2; and.b64 %rd3, %rd3, 1;
    shl.b64 %rd3, %rd3, 2; add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r1, [%rd4+4]; add.u32 %r1, %r1, 1; st.global.u32 [%rd4+4], %r1;
    ret;
}
.visible .entry add(.param .u64 counter, .param .u64 value) {
    .reg .b64 %rd<3>; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [counter]; ld.param.u64 %rd2, [value]; cvt.u32.u64 %r2, %rd2;
    ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1;
    ret;
}
";

const NONE: *const CUgraphNode = std::ptr::null();

/// A program with the kernels, a graph, and counters in device memory that are zero.
struct Fixture {
    program: Program,
    module: CUmodule,
    graph: CUgraph,
    counters: CUdeviceptr,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::with(Config::default())
    }

    fn with(config: Config) -> Fixture {
        let program = Program::with(config);
        let (mut module, mut graph) = (CUmodule::NULL, CUgraph::NULL);
        ok!(program, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
        ok!(program, cuGraphCreate(&mut graph, 0));
        let counters = program.alloc(64 * 4);
        ok!(program, cuMemsetD32_v2(counters, 0, 64));
        ok!(program, cuCtxSynchronize());
        Fixture { program, module, graph, counters }
    }

    fn counter(&self, index: u64) -> CUdeviceptr {
        self.counters + 4 * index
    }

    fn handle(&self, default: Option<u32>) -> CUgraphConditionalHandle {
        let mut handle = 0;
        let flags = if default.is_some() { CU_GRAPH_COND_ASSIGN_DEFAULT } else { 0 };
        let (context, default) = (self.program.context, default.unwrap_or(0));
        ok!(self.program, cuGraphConditionalHandleCreate(&mut handle, self.graph, context, default, flags));
        handle
    }

    /// Adds a kernel node with one thread and two arguments.
    fn kernel(&self, graph: CUgraph, after: &[CUgraphNode], name: &CStr, mut arguments: [u64; 2]) -> CUgraphNode {
        let (mut function, mut node) = (CUfunction::NULL, CUgraphNode::NULL);
        ok!(self.program, cuModuleGetFunction(&mut function, self.module, name.as_ptr()));
        let [one, two] = &mut arguments;
        let mut list = [(one as *mut u64).cast::<c_void>(), (two as *mut u64).cast()];
        let params = CUDA_KERNEL_NODE_PARAMS_v1 {
            func: function,
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 1,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: list.as_mut_ptr(),
            extra: std::ptr::null_mut(),
        };
        ok!(self.program, cuGraphAddKernelNode(&mut node, graph, after.as_ptr(), after.len(), &params));
        node
    }

    fn params(&self, handle: u64, kind: CUgraphConditionalNodeType, size: u32) -> CUgraphNodeParams {
        let of = CUDA_CONDITIONAL_NODE_PARAMS {
            handle,
            kind,
            size,
            phGraph_out: std::ptr::null_mut(),
            ctx: self.program.context,
        };
        let mut params = CUgraphNodeParams {
            kind: CU_GRAPH_NODE_TYPE_CONDITIONAL,
            reserved0: [0; 3],
            params: [0; 29],
            reserved2: 0,
        };
        // SAFETY: the union is larger than the parameters.
        unsafe { params.params.as_mut_ptr().cast::<CUDA_CONDITIONAL_NODE_PARAMS>().write(of) };
        params
    }

    /// Adds a conditional node; returns it with its bodies.
    fn conditional(
        &self,
        graph: CUgraph,
        after: &[CUgraphNode],
        handle: u64,
        kind: CUgraphConditionalNodeType,
        size: u32,
    ) -> (CUgraphNode, Vec<CUgraph>) {
        let (mut params, mut node) = (self.params(handle, kind, size), CUgraphNode::NULL);
        ok!(self.program, cuGraphAddNode(&mut node, graph, after.as_ptr(), after.len(), &mut params));
        (node, bodies(&params))
    }

    fn instantiated(&self) -> CUgraphExec {
        let mut exec = CUgraphExec::NULL;
        ok!(self.program, cuGraphInstantiateWithFlags(&mut exec, self.graph, 0));
        exec
    }

    fn launch(&self, exec: CUgraphExec) {
        ok!(self.program, cuGraphLaunch(exec, CUstream::NULL));
    }

    /// The first counters after all work.
    fn values<const N: usize>(&self) -> [u32; N] {
        let mut values = [0; N];
        ok!(self.program, cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), self.counters, 4 * N));
        values
    }
}

/// The bodies that the driver wrote into the parameters of a conditional node.
fn bodies(params: &CUgraphNodeParams) -> Vec<CUgraph> {
    // SAFETY: the parameters are those of a conditional node, whose array lives as long as the node.
    unsafe {
        let of = params.params.as_ptr().cast::<CUDA_CONDITIONAL_NODE_PARAMS>().read();
        std::slice::from_raw_parts(of.phGraph_out, of.size as usize).to_vec()
    }
}
