//! Event nodes, which record an event or wait for one.

use super::{INVALID_VALUE, add_and_return, change};
use crate::driver::Call;
use crate::objects::graph_data::Action;
use crate::parameters::{In, Out};
use crate::state::State;
use cuarray_abi::*;

pub(crate) fn cuGraphAddEventRecordNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    event: CUevent,
) -> Result<(), CUresult> {
    let action = |state: &mut State| state.event(event).map(|_| Action::Record(event));
    // SAFETY: the manual gives the list this length.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), action) }
}

/// Returns the event of a node of one kind.
fn event_of(
    call: &Call<'_>,
    node: CUgraphNode,
    kind: CUgraphNodeType,
    event_out: Out<'_, CUevent>,
) -> Result<(), CUresult> {
    match &call.lock().node(node)?.action {
        action @ (Action::Record(event) | Action::Wait(event)) if action.kind() == kind => event_out.put(*event),
        _ => Err(INVALID_VALUE),
    }
}

pub(crate) fn cuGraphEventRecordNodeGetEvent(
    call: &Call<'_>,
    node: CUgraphNode,
    event_out: Out<'_, CUevent>,
) -> Result<(), CUresult> {
    event_of(call, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out)
}

pub(crate) fn cuGraphEventRecordNodeSetEvent(
    call: &Call<'_>,
    node: CUgraphNode,
    event: CUevent,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    state.event(event)?;
    change(&mut state, node, Action::Record(event))
}

pub(crate) fn cuGraphAddEventWaitNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    event: CUevent,
) -> Result<(), CUresult> {
    let action = |state: &mut State| state.event(event).map(|_| Action::Wait(event));
    // SAFETY: the manual gives the list this length.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), action) }
}

pub(crate) fn cuGraphEventWaitNodeGetEvent(
    call: &Call<'_>,
    node: CUgraphNode,
    event_out: Out<'_, CUevent>,
) -> Result<(), CUresult> {
    event_of(call, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out)
}

pub(crate) fn cuGraphEventWaitNodeSetEvent(call: &Call<'_>, node: CUgraphNode, event: CUevent) -> Result<(), CUresult> {
    let mut state = call.lock();
    state.event(event)?;
    change(&mut state, node, Action::Wait(event))
}
