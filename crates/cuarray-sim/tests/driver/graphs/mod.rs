//! Graphs: nodes and edges, the effects and the order of launches, updates, and graph memory.

mod attributes;
mod batches;
mod children;
mod host_memory;
mod kernels;
mod launch;
mod memory;
mod nodes;
mod order;
mod ports;
mod updates;
mod user_objects;

use crate::program::*;
use std::sync::atomic::{AtomicUsize, Ordering};

const NONE: *const CUgraphNode = std::ptr::null();

fn graph(program: &Program) -> CUgraph {
    let mut graph = CUgraph::NULL;
    ok!(program, cuGraphCreate(&mut graph, 0));
    graph
}

fn fill_params(dst: CUdeviceptr, value: u32, width: usize) -> CUDA_MEMSET_NODE_PARAMS {
    CUDA_MEMSET_NODE_PARAMS { dst, pitch: 0, value, elementSize: 1, width, height: 1 }
}

fn copy_params(dst: CUdeviceptr, src: CUdeviceptr, width: usize) -> CUDA_MEMCPY3D {
    // SAFETY: all-zero is a valid descriptor.
    let mut params: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    (params.srcMemoryType, params.dstMemoryType) = (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
    (params.srcDevice, params.dstDevice) = (src, dst);
    (params.WidthInBytes, params.Height, params.Depth) = (width, 1, 1);
    params
}

fn fill(program: &Program, graph: CUgraph, after: &[CUgraphNode], params: CUDA_MEMSET_NODE_PARAMS) -> CUgraphNode {
    let mut node = CUgraphNode::NULL;
    ok!(program, cuGraphAddMemsetNode(&mut node, graph, after.as_ptr(), after.len(), &params, program.context));
    node
}

fn copy(program: &Program, graph: CUgraph, after: &[CUgraphNode], params: CUDA_MEMCPY3D) -> CUgraphNode {
    let mut node = CUgraphNode::NULL;
    ok!(program, cuGraphAddMemcpyNode(&mut node, graph, after.as_ptr(), after.len(), &params, program.context));
    node
}

fn empty(program: &Program, graph: CUgraph, after: &[CUgraphNode]) -> CUgraphNode {
    let mut node = CUgraphNode::NULL;
    ok!(program, cuGraphAddEmptyNode(&mut node, graph, after.as_ptr(), after.len()));
    node
}

fn instantiate(program: &Program, graph: CUgraph) -> CUgraphExec {
    let mut exec = CUgraphExec::NULL;
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    exec
}

/// The graph captured from some work in a stream.
fn captured(program: &Program, work: impl FnOnce(CUstream)) -> CUgraph {
    let (stream, mut graph) = (program.stream(CU_STREAM_NON_BLOCKING), CUgraph::NULL);
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    work(stream);
    ok!(program, cuStreamEndCapture(stream, &mut graph));
    ok!(program, cuStreamDestroy_v2(stream));
    graph
}

/// All bytes of some memory, after all work is done.
fn bytes(program: &Program, address: CUdeviceptr, size: usize) -> Vec<u8> {
    ok!(program, cuCtxSynchronize());
    let mut bytes = vec![0_u8; size];
    ok!(program, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, size));
    bytes
}

/// The order in which host nodes ran.
struct Calls {
    next: AtomicUsize,
    at: Vec<AtomicUsize>,
}

struct Call<'a> {
    calls: &'a Calls,
    number: usize,
}

unsafe extern "C" fn called(data: *mut c_void) {
    // SAFETY: the tests keep the data until the launch is over.
    let call = unsafe { &*data.cast::<Call<'_>>() };
    call.calls.at[call.number].store(1 + call.calls.next.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
}

impl Calls {
    fn new(count: usize) -> Calls {
        Calls { next: AtomicUsize::new(0), at: (0..count).map(|_| AtomicUsize::new(0)).collect() }
    }
}
