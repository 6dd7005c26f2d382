//! Kernel nodes for the tests of ports and attributes.

use super::*;
use crate::program::dependent_kernels::KERNELS;
use std::ffi::{CStr, CString};

pub(crate) const BYTES: usize = 256;

/// The kernels of a module, loaded in the current context.
fn load(program: &Program, ptx: &CStr) -> CUmodule {
    let mut module = CUmodule::NULL;
    ok!(program, cuModuleLoadData(&mut module, ptx.as_ptr().cast()));
    module
}

/// A graph of kernels, and the arrays `one`, `two` and `three` for them, which the host has waited for.
pub(crate) struct Kernels {
    pub program: Program,
    module: CUmodule,
    pub graph: CUgraph,
    pub arrays: [CUdeviceptr; 3],
}

impl Kernels {
    pub fn new() -> Kernels {
        Kernels::with(Config::default(), KERNELS)
    }

    /// The kernels without those that need compute capability 9.0, on a device with these settings.
    pub fn plain(config: Config) -> Kernels {
        let text = KERNELS.to_str().unwrap().replace("sm_90", "sm_80").replace("griddepcontrol.launch_dependents;", "");
        let late = text.find(".visible .entry late").unwrap();
        Kernels::with(config, &CString::new(&text[..late]).unwrap())
    }

    fn with(config: Config, ptx: &CStr) -> Kernels {
        let program = Program::with(config);
        let module = load(&program, ptx);
        let arrays = [0; 3].map(|_: i32| program.alloc(BYTES));
        arrays.iter().for_each(|array| ok!(program, cuMemsetD8_v2(*array, 7, BYTES)));
        ok!(program, cuCtxSynchronize());
        let graph = graph(&program);
        Kernels { program, module, graph, arrays }
    }

    /// A new graph of the same kernels in another context, which becomes current.
    pub fn in_context(&self, context: CUcontext) -> Kernels {
        let program = Program::over(&self.program.sim);
        ok!(program, cuCtxSetCurrent(context));
        Kernels { module: load(&program, KERNELS), graph: graph(&program), arrays: self.arrays, program }
    }

    pub fn function(&self, name: &CStr) -> CUfunction {
        let mut function = CUfunction::NULL;
        ok!(self.program, cuModuleGetFunction(&mut function, self.module, name.as_ptr()));
        function
    }

    /// The parameters of a node of `blocks` blocks with two arrays, while their pointers are valid.
    pub fn with_params<R>(
        &self,
        name: &CStr,
        blocks: u32,
        [mut one, mut two]: [CUdeviceptr; 2],
        use_them: impl FnOnce(CUDA_KERNEL_NODE_PARAMS) -> R,
    ) -> R {
        let mut arguments = [(&raw mut one).cast::<c_void>(), (&raw mut two).cast()];
        let v1 = CUDA_KERNEL_NODE_PARAMS_v1 {
            func: self.function(name),
            gridDimX: blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 64,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: arguments.as_mut_ptr(),
            extra: std::ptr::null_mut(),
        };
        use_them(CUDA_KERNEL_NODE_PARAMS { v1, kern: CUkernel::NULL, ctx: CUcontext::NULL })
    }

    /// Adds a node of `blocks` blocks.
    pub fn blocks(&self, name: &CStr, blocks: u32, arrays: [CUdeviceptr; 2], after: &[CUgraphNode]) -> CUgraphNode {
        let mut node = CUgraphNode::NULL;
        self.with_params(name, blocks, arrays, |params| {
            ok!(self.program, cuGraphAddKernelNode_v2(&mut node, self.graph, after.as_ptr(), after.len(), &params));
        });
        node
    }

    /// Adds a node of one block over the first two arrays.
    pub fn node(&self, name: &CStr, after: &[CUgraphNode]) -> CUgraphNode {
        self.blocks(name, 1, [self.arrays[0], self.arrays[1]], after)
    }

    /// Launches the graph twice, and returns the kinds of the findings.
    pub fn launched(&self) -> Vec<String> {
        let exec = instantiate(&self.program, self.graph);
        let stream = self.program.stream(CU_STREAM_NON_BLOCKING);
        ok!(self.program, cuGraphLaunch(exec, stream));
        ok!(self.program, cuGraphLaunch(exec, stream));
        ok!(self.program, cuCtxSynchronize());
        self.program.sim.report().findings.iter().map(|finding| format!("{:?}", finding.kind)).collect()
    }
}
