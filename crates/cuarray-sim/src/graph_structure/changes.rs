//! Changes of the parameters of nodes: whether two actions are the same, and whether one may become another.

use super::Graph;
use crate::objects::copy::{End, Extent};
use crate::objects::graph_data::{Action, CopyNode, FillNode};
use crate::objects::host_function::HostFunction;
use crate::objects::launch::Launch;
use crate::state::State;
use cuarray_abi::*;
use std::collections::HashMap;

/// Checks that a node of an executable graph may change to another action.
///
/// # Errors
/// The reason for a refusal.
pub(crate) fn may_become(state: &State, old: &Action, new: &Action) -> Result<(), CUgraphExecUpdateResult> {
    let kept = |kept: bool| if kept { Ok(()) } else { Err(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED) };
    match (old, new) {
        (Action::Copy(old), Action::Copy(new)) => kept(may_copy(state, old, new)),
        (Action::Fill(old), Action::Fill(new)) => kept(may_fill(state, old, new)),
        (Action::Launch(old), Action::Launch(new)) if old.context != new.context => {
            Err(CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE)
        }
        (Action::Memory(old), Action::Memory(new)) => kept(old.may_become(new)),
        (Action::Allocate(old), Action::Allocate(new)) if old.address == new.address => Ok(()),
        (Action::Free(old), Action::Free(new)) if old == new => Ok(()),
        (Action::Allocate(_), Action::Allocate(_)) | (Action::Free(_), Action::Free(_)) => {
            Err(CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED)
        }
        _ if old.kind() == new.kind() => Ok(()),
        _ => Err(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED),
    }
}

/// The device and the context that an address was allocated in; `None` for host memory.
fn home(state: &State, address: u64) -> Option<(usize, CUcontext)> {
    let allocation = state.memory.holding(address).filter(|allocation| allocation.kind.on_device())?;
    Some((allocation.device, allocation.context))
}

fn may_copy(state: &State, old: &CopyNode, new: &CopyNode) -> bool {
    let is_row = |extent: Extent| extent.height == 1 && extent.depth == 1;
    let (before, after) = (&old.transfer, &new.transfer);
    let kind = |end: &End| std::mem::discriminant(&end.declared);
    let same = |a: &End, b: &End| kind(a) == kind(b) && home(state, a.place.address) == home(state, b.place.address);
    is_row(before.extent)
        && is_row(after.extent)
        && same(&before.target, &after.target)
        && same(&before.source, &after.source)
}

fn may_fill(state: &State, old: &FillNode, new: &FillNode) -> bool {
    let (before, after) = (&old.params, &new.params);
    let shape = if before.height == 1 {
        after.height == 1
    } else {
        (before.width, before.height, before.elementSize, before.pitch)
            == (after.width, after.height, after.elementSize, after.pitch)
    };
    shape && home(state, before.dst) == home(state, after.dst)
}

/// Whether two actions of one kind have the same parameters and attributes. Those of child graphs are compared node by node.
pub(crate) fn are_same(state: &State, old: &Action, new: &Action) -> bool {
    match (old, new) {
        (Action::Empty, Action::Empty) => true,
        (Action::Copy(old), Action::Copy(new)) => old.transfer == new.transfer && old.context == new.context,
        (Action::Fill(old), Action::Fill(new)) => old.params == new.params && old.context == new.context,
        (Action::Host(old), Action::Host(new)) => called(*old) == called(*new),
        (Action::Wait(old), Action::Wait(new)) | (Action::Record(old), Action::Record(new)) => old == new,
        (Action::Launch(old), Action::Launch(new)) => are_same_launches(old, new),
        (Action::Memory(old), Action::Memory(new)) => {
            (old.context, old.flags, &old.operations) == (new.context, new.flags, &new.operations)
        }
        (Action::Child(old), Action::Child(new)) => {
            let graphs = state.graphs.get(old).zip(state.graphs.get(new));
            graphs.is_some_and(|(old, new)| are_same_graphs(state, old, new))
        }
        _ => false,
    }
}

/// The function of a host node and its data, as numbers.
fn called(function: HostFunction) -> (usize, usize) {
    match function {
        HostFunction::Launched { function, data } | HostFunction::OfLibrary { function, data } => {
            (function as usize, data.addr())
        }
        HostFunction::Callback { function, data, .. } => (function as usize, data.addr()),
    }
}

fn are_same_launches(old: &Launch, new: &Launch) -> bool {
    let shape = |launch: &Launch| (launch.grid, launch.threads, launch.cluster, launch.cluster_attribute);
    (old.context, old.function, old.dynamic_shared, old.cooperative)
        == (new.context, new.function, new.dynamic_shared, new.cooperative)
        && shape(old) == shape(new)
        && old.parameters == new.parameters
        && old.attributes == new.attributes
}

fn are_same_graphs(state: &State, old: &Graph, new: &Graph) -> bool {
    let pairs: HashMap<CUgraphNode, CUgraphNode> = old.nodes.iter().copied().zip(new.nodes.iter().copied()).collect();
    let same = |(one, other): (&CUgraphNode, &CUgraphNode)| {
        let nodes = state.graph_nodes.get(one).zip(state.graph_nodes.get(other));
        nodes.is_some_and(|(one, other)| {
            let edges = one.after.iter().zip(&other.after);
            let mut edges = edges.map(|(a, b)| pairs.get(&a.from) == Some(&b.from) && a.data == b.data);
            one.after.len() == other.after.len()
                && edges.all(|same| same)
                && are_same(state, &one.action, &other.action)
        })
    };
    old.nodes.len() == new.nodes.len() && old.nodes.iter().zip(&new.nodes).all(same)
}
