//! Stream capture: captured work, prohibited calls and their codes, and the state of the capture afterwards.

mod begin_and_end;
mod dependencies;
mod forbidden;
mod forks;
mod legacy_stream;
mod recapture;

use crate::program::*;

const GLOBAL: CUstreamCaptureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
const THREAD_LOCAL: CUstreamCaptureMode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
const RELAXED: CUstreamCaptureMode = CU_STREAM_CAPTURE_MODE_RELAXED;
const MODES: [CUstreamCaptureMode; 3] = [GLOBAL, THREAD_LOCAL, RELAXED];

fn begin(program: &Program, stream: CUstream, mode: CUstreamCaptureMode) {
    ok!(program, cuStreamBeginCapture_v2(stream, mode));
}

fn status(program: &Program, stream: CUstream) -> CUstreamCaptureStatus {
    let mut status = 9;
    ok!(program, cuStreamIsCapturing(stream, &mut status));
    status
}

fn end(program: &Program, stream: CUstream) -> CUgraph {
    let mut graph = CUgraph(9);
    ok!(program, cuStreamEndCapture(stream, &mut graph));
    assert!(!graph.is_null());
    graph
}

fn count(program: &Program, graph: CUgraph) -> (usize, usize) {
    let (mut nodes, mut edges, none) = (9, 9, std::ptr::null_mut());
    ok!(program, cuGraphGetNodes(graph, none, &mut nodes));
    ok!(program, cuGraphGetEdges(graph, none, none, &mut edges));
    (nodes, edges)
}

/// Checks that a capture has been invalidated, and ends it.
fn assert_invalidated(program: &Program, origin: CUstream) {
    assert_eq!(status(program, origin), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    fails!(program, STREAM_CAPTURE_INVALIDATED, cuMemsetD8Async(program.alloc_anyway(), 1, 1, origin));
    let mut graph = CUgraph(9);
    fails!(program, STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(origin, &mut graph));
    assert!(graph.is_null());
    assert_eq!(status(program, origin), CU_STREAM_CAPTURE_STATUS_NONE);
    ok!(program, cuStreamSynchronize(origin));
}

impl Program {
    /// Allocates memory even during captures.
    fn alloc_anyway(&self) -> CUdeviceptr {
        let mut mode = RELAXED;
        ok!(self, cuThreadExchangeStreamCaptureMode(&mut mode));
        let address = self.alloc(16);
        ok!(self, cuThreadExchangeStreamCaptureMode(&mut mode));
        address
    }
}

/// A capture that is forked from one stream into another by events.
struct Fork {
    program: Program,
    origin: CUstream,
    side: CUstream,
    device: CUdeviceptr,
}

impl Fork {
    fn new(mode: CUstreamCaptureMode) -> Fork {
        let program = Program::new();
        let (origin, side, device) = (program.stream(0), program.stream(CU_STREAM_NON_BLOCKING), program.alloc(8));
        begin(&program, origin, mode);
        program.fill(device, 1, 1, origin);
        let fork = Fork { program, origin, side, device };
        fork.edge(origin, side);
        fork
    }

    fn edge(&self, from: CUstream, to: CUstream) {
        let event = self.program.event();
        ok!(self.program, cuEventRecord(event, from));
        ok!(self.program, cuStreamWaitEvent(to, event, 0));
        ok!(self.program, cuEventDestroy_v2(event));
    }
}

unsafe extern "C" fn nothing(_: *mut c_void) {}
