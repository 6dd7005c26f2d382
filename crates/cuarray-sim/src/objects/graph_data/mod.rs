//! Graphs: their nodes and edges.

mod action;
mod allocate;
mod bodies;
mod conditional;
mod edge;
mod exec;
mod layout;
mod reservation;
mod user_object;

pub(crate) use action::{Action, CopyNode, FillNode};
pub(crate) use allocate::AllocateNode;
pub(crate) use bodies::{Body, BodyStep, Done, Follows, Frame, Plan, Run, Task};
pub(crate) use conditional::{CONDITION_BYTES, Condition, ConditionalNode, chosen, kind_name};
pub(crate) use edge::{Edge, EdgeOrder};
pub(crate) use exec::Exec;
pub(crate) use layout::{Layout, Step};
pub(crate) use reservation::GraphMemory;
pub(crate) use user_object::{References, UserObject};

use cuarray_abi::*;
use cuarray_races::Caller;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// The code that the driver's manual defines for an invalid graph or node.
pub(crate) const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Parameters as the program passed them.
#[derive(Clone, Copy)]
pub(crate) struct Given<T>(pub T);

// SAFETY: the pointers belong to the program; the simulator returns them as numbers and never follows them.
unsafe impl<T> Send for Given<T> {}

/// The owner of a graph. The graph is destroyed with its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Program,
    /// The node that contains the child graph or the body.
    Node(CUgraphNode),
    /// The executable graph that runs it; the program never gets a handle of such a clone.
    Exec,
}

/// One graph.
pub(crate) struct Graph {
    /// The id that `cuGraphGetId` returns.
    pub id: u32,
    pub owner: Owner,
    /// Whether the program moved the graph into the node that owns it.
    pub moved: bool,
    /// The nodes in the order in which they were added, which the edges may not allow as execution order.
    pub nodes: Vec<CUgraphNode>,
    /// The number of the last node added; numbers of removed nodes are not reused.
    pub last_number: u32,
    /// The capture that adds to the graph. Until the capture ends, the graph can be neither destroyed nor
    /// instantiated.
    pub capture: Option<u64>,
    /// For a clone, the clone of each original node, including nodes of children.
    pub clones: HashMap<CUgraphNode, CUgraphNode>,
    /// The user objects that the graph keeps alive.
    pub references: References,
}

/// One node of a graph.
pub(crate) struct Node {
    pub graph: CUgraph,
    /// The id that `cuGraphNodeGetLocalId` returns.
    pub number: u32,
    pub action: Action,
    /// The edges from the direct predecessors, one from each, in the order in which they were added.
    pub after: Vec<Edge>,
    /// The call that added or captured the node, while findings are on.
    pub made: Option<Caller>,
}

static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// A number that is unique among all graphs, executable or not, of this process.
pub(crate) fn fresh_id() -> u32 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}
