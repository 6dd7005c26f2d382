//! Executable graphs: their layout, and their launches as work in streams.
//!
//! A launch follows the stream's earlier work and the previous launch of the same executable graph, and precedes the
//! stream's later work. Within the launch, only the graph's edges order nodes. Therefore instantiation assigns the
//! nodes to *lanes*. The first lane is the stream of the launch. The other lanes are private streams of the
//! executable graph, ordered only by the edges. So branches of a graph can race, as on a device.

use crate::execution::{self, lanes};
use crate::graph::layout::lay_out;
use crate::graph::{bodies, steps};
use crate::graph_structure::node_access::Refused;
use crate::graph_structure::{self, checks, conditions, references, reservations};
use crate::happens_before::edges;
use crate::memory::graph_memory;
use crate::memory_operations::work::{self, User};
use crate::objects::graph_data::{Action, Exec, INVALID_VALUE, Layout, Owner, fresh_id};
use crate::objects::point::Point;
use crate::objects::work::Work;
use crate::state::State;
use cuarray_abi::*;
use std::collections::HashSet;

/// The node of an executable graph that corresponds to a node of its source.
pub(crate) fn node_of_exec(state: &State, exec: CUgraphExec, node: CUgraphNode) -> Result<CUgraphNode, CUresult> {
    let graph = state.exec(exec)?.graph;
    let clone = state.graphs.get(&graph).and_then(|graph| graph.clones.get(&node).copied());
    // The node must still be in the source graph.
    clone.filter(|_| state.graph_nodes.contains_key(&node)).ok_or(INVALID_VALUE)
}

/// The reason why a graph is not instantiated.
pub(crate) enum NotInstantiated {
    Call(CUresult),
    /// A conditional handle has no node.
    UnusedHandle,
    /// A node of a cycle.
    Cycle(CUgraphNode),
    /// A host node in the body of a conditional node.
    HostNode(CUgraphNode),
}

impl NotInstantiated {
    pub(crate) fn code(&self) -> CUresult {
        match self {
            NotInstantiated::Call(code) => *code,
            _ => INVALID_VALUE,
        }
    }

    /// The node at fault.
    pub(crate) fn node(&self) -> CUgraphNode {
        match self {
            NotInstantiated::Cycle(node) | NotInstantiated::HostNode(node) => *node,
            _ => CUgraphNode::NULL,
        }
    }

    pub(crate) fn result(&self) -> CUgraphInstantiateResult {
        match self {
            NotInstantiated::Call(_) => CUDA_GRAPH_INSTANTIATE_ERROR,
            NotInstantiated::UnusedHandle => CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED,
            NotInstantiated::Cycle(_) | NotInstantiated::HostNode(_) => CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE,
        }
    }

    /// A sentence about the structure of the graph, without a full stop; `None` where the code says it.
    pub(crate) fn text(&self) -> Option<&'static str> {
        Some(match self {
            NotInstantiated::Call(_) => return None,
            NotInstantiated::UnusedHandle => "a conditional handle of the graph has no conditional node",
            NotInstantiated::Cycle(_) => "the edges form a cycle",
            NotInstantiated::HostNode(_) => {
                "a body of a conditional node has a host node, which the manual does not \
                                             allow there; add it behind the conditional node"
            }
        })
    }
}

/// Instantiates a graph.
///
/// # Errors
/// - `CUDA_ERROR_INVALID_VALUE` with the node of a cycle, and with a host node in a body; for unknown or contradictory
///   flags; for a moved child graph; for a conditional handle without a node. Also for a second executable graph, if the graph has conditional nodes or allocates or frees memory.
/// - `CUDA_ERROR_NOT_SUPPORTED` for launches from the device.
/// - `CUDA_ERROR_ILLEGAL_STATE` while a capture is filling the graph.
pub(crate) fn instantiate(state: &mut State, graph: CUgraph, flags: u64) -> Result<CUgraphExec, NotInstantiated> {
    let wrong = NotInstantiated::Call;
    let valid = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH
        | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
        | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH
        | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    let found = state.graph(graph).map_err(wrong)?;
    let (capture, moved) = (found.capture, found.moved);
    if moved || flags & !valid != 0 {
        return Err(wrong(INVALID_VALUE));
    }
    let contradictory = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    if flags & contradictory == contradictory {
        return Err(wrong(INVALID_VALUE));
    }
    if flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH != 0 {
        return Err(wrong(CUresult::CUDA_ERROR_NOT_SUPPORTED));
    }
    if capture.is_some() {
        return Err(wrong(CUresult::CUDA_ERROR_ILLEGAL_STATE));
    }
    let taken = state.graph_execs.values().any(|exec| exec.source == graph && !exec.destroyed);
    let used = conditions::handles_of(state, graph);
    if taken && (graph_structure::has_memory_nodes(state, graph) || !used.is_empty()) {
        return Err(wrong(INVALID_VALUE));
    }
    if conditions::has_unused_handle(state, graph) {
        return Err(NotInstantiated::UnusedHandle);
    }
    check_order(state, graph).map_err(NotInstantiated::Cycle)?;
    if let Some(node) = conditions::host_node_in_body(state, graph) {
        return Err(NotInstantiated::HostNode(node));
    }
    let clone = graph_structure::clone_graph(state, graph, Owner::Exec).map_err(wrong)?;
    let mut layout = Layout::default();
    lay_out(state, clone, &[], &mut layout);
    let allocations = reservations::allocations_of(state, clone);
    for address in &allocations {
        graph_memory::retain(state, *address);
    }
    used.iter().for_each(|handle| conditions::retain(state, *handle));
    let handle = CUgraphExec(crate::handle::fresh());
    let exec = Exec {
        id: fresh_id(),
        source: graph,
        graph: clone,
        flags,
        disabled: HashSet::new(),
        steps: layout.steps,
        lanes: Vec::new(),
        width: layout.ends.len(),
        last: None,
        retired: Vec::new(),
        last_clock: None,
        allocations,
        conditions: used,
        destroyed: false,
    };
    state.graph_execs.insert(handle, exec);
    Ok(handle)
}

/// Checks a graph and its children for cycles.
fn check_order(state: &State, graph: CUgraph) -> Result<(), CUgraphNode> {
    for node in graph_structure::in_order(state, graph)? {
        for own in state.graph_nodes.get(&node).map(|node| node.action.own_graphs()).unwrap_or_default() {
            check_order(state, *own)?;
        }
    }
    Ok(())
}

/// Enqueues an executable graph in a stream; returns the point at which it is done.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`, without enqueuing anything, in three cases. Memory of the last launch is not freed;
/// a free node has memory that is not live; or an access no longer lies in an allocation.
pub(crate) fn launch(state: &mut State, handle: CUgraphExec, stream: CUstream) -> Result<Point, CUresult> {
    let leftovers = check_launch(state, handle).map_err(|refused| refused.report(state))?;
    let last = state.exec(handle)?.last.filter(|point| !state.happened(*point));
    // Launches of one executable graph are ordered.
    if let Some(clock) = state.exec(handle)?.last_clock.clone() {
        edges::stream_joins(state, stream, &clock);
    }
    let mut start = execution::enqueue(state, stream, Work::Wait, last.into_iter().collect())?;
    for address in leftovers {
        graph_memory::mark_freed(state, address);
        start = execution::enqueue(state, stream, Work::Release { address }, Vec::new())?;
    }
    let of = |handle: &CUgraphConditionalHandle| Some((*handle, state.conditions.get(handle)?.default?));
    let defaults: Box<[_]> = state.exec(handle)?.conditions.iter().filter_map(of).collect();
    if !defaults.is_empty() {
        start = execution::enqueue(state, stream, Work::Assign(defaults), Vec::new())?;
    }
    let lanes = lanes(state, handle, stream)?;
    let laid_out = std::mem::take(&mut state.exec_mut(handle)?.steps);
    let points = steps::enqueue_steps(state, handle, &laid_out, &lanes, start);
    let mut ends = Vec::new();
    if let Ok(points) = &points {
        let open = laid_out.iter().zip(points).filter(|(step, _)| step.last && step.lane != 0);
        ends.extend(open.map(|(_, point)| *point));
    }
    state.exec_mut(handle)?.steps = laid_out;
    points?;
    let end = execution::enqueue(state, stream, Work::Wait, ends)?;
    let clock = edges::clock_of(state, stream);
    let exec = state.exec_mut(handle)?;
    (exec.last, exec.last_clock) = (Some(end), clock);
    Ok(end)
}

/// Checks a launch before anything is enqueued; returns memory of the last launch that it must free first.
fn check_launch(state: &mut State, handle: CUgraphExec) -> Result<Vec<u64>, Refused> {
    let exec = state.exec(handle)?;
    let leftovers: Vec<u64> =
        exec.allocations.iter().copied().filter(|address| graph_memory::is_live(state, *address)).collect();
    if !leftovers.is_empty() && exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH == 0 {
        return Err(INVALID_VALUE.into());
    }
    let mut batches = Vec::new();
    for step in &exec.steps {
        if exec.disabled.contains(&step.node) {
            continue;
        }
        match state.graph_nodes.get(&step.node).map(|node| &node.action) {
            Some(Action::Copy(copy)) => checks::check_copy(state, copy)?,
            Some(Action::Fill(fill)) => checks::check_fill(state, fill)?,
            Some(Action::Conditional(node)) => bodies::check(state, node)?,
            Some(Action::Free(address))
                if !graph_memory::is_live(state, *address) && !exec.allocations.contains(address) =>
            {
                return Err(INVALID_VALUE.into());
            }
            Some(Action::Memory(batch)) => batches.push((batch.context, batch.operations.clone())),
            _ => {}
        }
    }
    for (context, operations) in batches {
        work::check(state, context, &operations, User::Node)?;
    }
    Ok(leftovers)
}

/// The streams of a launch: the given one, and private ones in the same context.
fn lanes(state: &mut State, handle: CUgraphExec, stream: CUstream) -> Result<Vec<CUstream>, CUresult> {
    let context = state.streams.get(&stream).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?.context;
    let exec = state.exec_mut(handle)?;
    let (mut own, width) = (std::mem::take(&mut exec.lanes), exec.width);
    // Destroying a context destroys its lanes.
    let usable = |lane: &CUstream| state.streams.get(lane).is_some_and(|lane| lane.context == context);
    if !own.iter().all(usable) {
        own.drain(..).for_each(|lane| lanes::close(state, lane));
    }
    while own.len() + 1 < width {
        own.push(lanes::open(state, context)?);
    }
    let all = std::iter::once(stream).chain(own.iter().copied()).collect();
    state.exec_mut(handle)?.lanes = own;
    Ok(all)
}

/// Replaces the references of an executable graph by the references of `graph`.
///
/// A pending launch may still need the old references; a later update, or the end of the executable graph, drops
/// them.
pub(super) fn adopt_references(state: &mut State, handle: CUgraphExec, graph: CUgraph) {
    let new = references::share(state, graph);
    let Some(exec) = state.graph_execs.get_mut(&handle) else { return };
    let (own, last) = (exec.graph, exec.last);
    let mut retired = std::mem::take(&mut exec.retired);
    let Some(own) = state.graphs.get_mut(&own) else { return };
    let old = std::mem::replace(&mut own.references, new);
    match last.filter(|point| !state.happened(*point)) {
        Some(point) => retired.push((point, old)),
        None => references::drop_all(state, old),
    }
    let (finished, pending): (Vec<_>, Vec<_>) = retired.into_iter().partition(|(point, _)| state.happened(*point));
    finished.into_iter().for_each(|(_, references)| references::drop_all(state, references));
    if let Some(exec) = state.graph_execs.get_mut(&handle) {
        exec.retired = pending;
    }
}

/// Destroys an executable graph: at once, or after its last launch.
pub(crate) fn destroy_exec(state: &mut State, handle: CUgraphExec) -> Result<(), CUresult> {
    let last = state.exec(handle)?.last.filter(|point| !state.happened(*point));
    state.exec_mut(handle)?.destroyed = true;
    match last {
        Some(last) => drop(execution::enqueue(state, last.stream, Work::EndExec(handle), Vec::new())?),
        None => graph_structure::end_exec(state, handle),
    }
    Ok(())
}
