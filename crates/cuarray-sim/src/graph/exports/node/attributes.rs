//! Attributes of kernel nodes.
//!
//! Driver API: [`cuGraphKernelNodeSetAttribute`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).
//! [The table](crate::objects::launch_attributes) says which attributes a node may have. A change of the node's parameters
//! preserves them, and executable graphs keep those of their instantiation.

use super::INVALID_VALUE;
use crate::driver::Call;
use crate::launch::exports::{Shape, check_attribute, check_groups};
use crate::objects::graph_data::Action;
use crate::objects::launch::Launch;
use crate::objects::launch_attributes::{Holder, of_extents, of_word, value_of};
use crate::parameters::{In, Out};
use crate::state::State;
use cuarray_abi::*;
use std::sync::Arc;

fn launch_of(state: &State, node: CUgraphNode) -> Result<&Arc<Launch>, CUresult> {
    match &state.node(node)?.action {
        Action::Launch(launch) => Ok(launch),
        _ => Err(INVALID_VALUE),
    }
}

pub(crate) fn cuGraphKernelNodeGetAttribute(
    call: &Call<'_>,
    node: CUgraphNode,
    attr: CUlaunchAttributeID,
    value_out: Out<'_, CUlaunchAttributeValue>,
) -> Result<(), CUresult> {
    let state = call.lock();
    let launch = launch_of(&state, node)?;
    let value = value_of(Holder::Node, attr, &launch.attributes)?;
    let value = match attr {
        CU_LAUNCH_ATTRIBUTE_COOPERATIVE => of_word(launch.cooperative.into(), 0),
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => of_extents(launch.cluster_attribute.unwrap_or_default()),
        _ => value,
    };
    value_out.put(value)
}

/// Gives a node the groups and the attributes of a shape, which has the node's extents.
///
/// # Errors
/// Those of [`check_groups`]; the node is then unchanged.
fn reshape(call: &Call<'_>, state: &mut State, node: CUgraphNode, shape: Shape) -> Result<(), CUresult> {
    let function = launch_of(state, node)?.function;
    let resolved = state.code.resolve(function)?;
    let cluster = check_groups(&resolved, &shape, &call.driver.settings())?;
    let node = state.graph_nodes.get_mut(&node).ok_or(INVALID_VALUE)?;
    if let Action::Launch(launch) = &mut node.action {
        // Executable graphs and pending launches share the old launch.
        let launch = Arc::make_mut(launch);
        (launch.cluster, launch.cluster_attribute) = (cluster, shape.cluster);
        (launch.cooperative, launch.attributes) = (shape.cooperative, shape.attributes);
    }
    Ok(())
}

pub(crate) fn cuGraphKernelNodeSetAttribute(
    call: &Call<'_>,
    node: CUgraphNode,
    attr: CUlaunchAttributeID,
    value: In<'_, CUlaunchAttributeValue>,
) -> Result<(), CUresult> {
    let value = value.read()?;
    let mut state = call.lock();
    let mut shape = Shape::of(launch_of(&state, node)?);
    check_attribute(call, Holder::Node, attr, &value)?;
    shape.set(attr, value);
    reshape(call, &mut state, node, shape)
}

/// Copies all attributes. By the manual, both nodes have the same context.
pub(crate) fn cuGraphKernelNodeCopyAttributes(
    call: &Call<'_>,
    dst: CUgraphNode,
    src: CUgraphNode,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let (from, to) = (launch_of(&state, src)?, launch_of(&state, dst)?);
    if from.context != to.context {
        return Err(INVALID_VALUE);
    }
    let (own, given) = (Shape::of(to), Shape::of(from));
    let shape = Shape { grid: own.grid, threads: own.threads, shared: own.shared, ..given };
    reshape(call, &mut state, dst, shape)
}
