//! Captures in progress, and what streams and events have to do with them.

use cuarray_abi::*;
use cuarray_races::Operation;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// One capture, from its begin to its end.
pub(crate) struct Capture {
    pub graph: CUgraph,
    /// Whether the graph was created for this capture, and is removed if it fails.
    pub owns_graph: bool,
    /// The stream in which it began and must end.
    pub origin: CUstream,
    pub mode: CUstreamCaptureMode,
    /// The thread that began it.
    pub thread: u64,
    pub invalidated: bool,
    /// The call that began it, while findings are on.
    pub begun: Option<Arc<Operation>>,
    /// The streams that have joined it.
    pub streams: BTreeSet<CUstream>,
    /// The last nodes of streams that were destroyed meanwhile.
    pub loose: Vec<CUgraphNode>,
}

/// A stream's part in a capture.
pub(crate) struct Capturing {
    /// The capture's number, unique in this process.
    pub id: u64,
    /// The dependencies of the next node that the stream captures.
    pub after: Vec<CUgraphNode>,
    /// The data of those edges: zero, in an array of the last queried length.
    pub edges: Vec<CUgraphEdgeData>,
}

/// The meaning of an event that was last recorded in a capturing stream.
#[derive(Clone)]
pub(crate) struct Captured {
    pub id: u64,
    pub after: Vec<CUgraphNode>,
}

/// All captures in progress, by their number.
pub(crate) type Captures = HashMap<u64, Capture>;
