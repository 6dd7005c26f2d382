//! Event nodes, which record an event or wait for one.

use super::super::*;
use super::{INVALID_VALUE, add_and_return, change};
use crate::objects::graph_data::Action;
use crate::state::State;

pub(in crate::exports) unsafe fn cuGraphAddEventRecordNode(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    event: CUevent,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe {
        let action = |state: &mut State| state.event(event).map(|_| Action::Record(event));
        add_and_return(call, p_node, graph, (dependencies, num_dependencies), action)
    }
}

/// Returns the event of a node of one kind.
///
/// # Safety
/// `event_out` is null or writable.
unsafe fn event_of(
    call: &Call<'_>,
    node: CUgraphNode,
    kind: CUgraphNodeType,
    event_out: *mut CUevent,
) -> Result<(), CUresult> {
    match &call.lock().node(node)?.action {
        action @ (Action::Record(event) | Action::Wait(event)) if action.kind() == kind => {
            // SAFETY: by this function's contract.
            unsafe { put(event_out, *event) }
        }
        _ => Err(INVALID_VALUE),
    }
}

pub(in crate::exports) unsafe fn cuGraphEventRecordNodeGetEvent(
    call: &Call<'_>,
    node: CUgraphNode,
    event_out: *mut CUevent,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract.
    unsafe { event_of(call, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out) }
}

pub(in crate::exports) unsafe fn cuGraphEventRecordNodeSetEvent(
    call: &Call<'_>,
    node: CUgraphNode,
    event: CUevent,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    state.event(event)?;
    change(&mut state, node, Action::Record(event))
}

pub(in crate::exports) unsafe fn cuGraphAddEventWaitNode(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    event: CUevent,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe {
        let action = |state: &mut State| state.event(event).map(|_| Action::Wait(event));
        add_and_return(call, p_node, graph, (dependencies, num_dependencies), action)
    }
}

pub(in crate::exports) unsafe fn cuGraphEventWaitNodeGetEvent(
    call: &Call<'_>,
    node: CUgraphNode,
    event_out: *mut CUevent,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract.
    unsafe { event_of(call, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out) }
}

pub(in crate::exports) unsafe fn cuGraphEventWaitNodeSetEvent(
    call: &Call<'_>,
    node: CUgraphNode,
    event: CUevent,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    state.event(event)?;
    change(&mut state, node, Action::Wait(event))
}
