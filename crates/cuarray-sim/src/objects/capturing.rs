//! Captures in progress, and their state in streams and events.

use crate::objects::graph_data::{Action, Edge};
use cuarray_abi::*;
use cuarray_races::Operation;
use std::collections::{BTreeSet, HashMap};
use std::ffi::c_void;
use std::sync::Arc;

/// A capture in progress.
pub(crate) struct Capture {
    pub graph: CUgraph,
    /// Whether the graph was created for this capture, and is removed if the capture fails.
    pub owns_graph: bool,
    /// The stream in which the capture began and must end.
    pub origin: CUstream,
    pub mode: CUstreamCaptureMode,
    /// The thread that began the capture.
    pub thread: u64,
    pub invalidated: bool,
    /// The call that began the capture; `None` if findings are off.
    pub begun: Option<Arc<Operation>>,
    /// The streams that have joined the capture.
    pub streams: BTreeSet<CUstream>,
    /// The last nodes of streams that were destroyed during the capture.
    pub loose: Vec<CUgraphNode>,
    /// For a capture that repeats the one of its graph, how far it has come.
    pub recapture: Option<Recapture>,
}

/// The progress of a capture that repeats the one of its graph.
#[derive(Clone, Copy)]
pub(crate) struct Recapture {
    /// The number of nodes that were captured again.
    pub done: usize,
    /// The function that the program wants to be called for each node with other parameters, and its data.
    pub callback: CUgraphRecaptureCallback,
    pub data: *mut c_void,
}

// SAFETY: the driver never follows the pointer. By beginning the capture the program allows calling the function with it in
// the threads that capture.
unsafe impl Send for Recapture {}

/// A node that was captured again with other parameters. The call that captured it reports it to the program.
pub(crate) struct Recaptured {
    pub capture: u64,
    pub node: CUgraphNode,
    pub action: Action,
    pub status: CUgraphRecaptureStatus,
    pub progress: Recapture,
}

/// A stream's part in a capture.
pub(crate) struct Capturing {
    /// The capture's number, unique in this process.
    pub id: u64,
    /// The dependencies of the next node that the stream captures.
    pub after: Vec<Edge>,
    /// The last node that the stream captured, if it is a launch.
    pub launch: Option<CUgraphNode>,
    /// The dependencies as the last query returned them: the nodes, and the data of the edges from them.
    pub listed: (Vec<CUgraphNode>, Vec<CUgraphEdgeData>),
}

impl Capturing {
    /// Lets the next node of the stream follow a node that was captured.
    pub(crate) fn follow(&mut self, node: CUgraphNode, is_launch: bool) {
        self.after = vec![Edge::full(node)];
        self.launch = is_launch.then_some(node);
    }
}

/// The capture and the nodes that an event stands for, if it was last recorded in a capturing stream.
#[derive(Clone)]
pub(crate) struct Captured {
    pub id: u64,
    pub after: Vec<Edge>,
}

/// All captures in progress, by their number.
pub(crate) type Captures = HashMap<u64, Capture>;
