//! Edges of graphs: their ports, and what these order.
//!
//! An edge without data is a full dependency. A kernel node has two more outgoing ports, which activate before the kernel
//! has finished. The type of an edge says whether the later kernel can wait for the rest with `griddepcontrol.wait`.
//!
//! Driver API: [`CUgraphEdgeData`](https://docs.nvidia.com/cuda/cuda-driver-api/structCUgraphEdgeData.html).

use super::{Action, INVALID_VALUE};
use cuarray_abi::*;

/// The edge from one node to a node that holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub from: CUgraphNode,
    pub data: CUgraphEdgeData,
}

/// The order that an edge establishes. Each one includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum EdgeOrder {
    /// The later node follows what the earlier kernel follows.
    Begin,
    /// The later kernel follows what the earlier kernel follows; after a wait it follows all of the earlier one.
    Programmatic,
    /// The later node follows all of the earlier one.
    Full,
}

impl Edge {
    /// A full dependency.
    pub(crate) fn full(from: CUgraphNode) -> Edge {
        Edge { from, data: CUgraphEdgeData::default() }
    }

    /// The edge that a capture makes for a launch with programmatic stream serialization.
    pub(crate) fn programmatic(from: CUgraphNode) -> Edge {
        let (from_port, kind) = (CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
        Edge { from, data: CUgraphEdgeData { from_port, kind, ..CUgraphEdgeData::default() } }
    }

    pub(crate) fn order(&self) -> EdgeOrder {
        match (self.data.kind, self.data.from_port) {
            (CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, _) => EdgeOrder::Programmatic,
            (_, 0) => EdgeOrder::Full,
            _ => EdgeOrder::Begin,
        }
    }

    /// Checks the data for the actions of both nodes; without a later node, for the earlier one.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an incoming port, for reserved bytes, for ports and types that do not belong
    /// together, and for those that nodes of these kinds do not have.
    pub(crate) fn check(&self, from: &Action, to: Option<&Action>) -> Result<(), CUresult> {
        let is_launch = |action: &Action| matches!(action, Action::Launch(_));
        let CUgraphEdgeData { from_port, to_port, kind, reserved } = self.data;
        let fits = match (kind, from_port) {
            (0, 0) => true,
            (0, CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER) => is_launch(from),
            (
                CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC | CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER,
            ) => is_launch(from) && to.is_none_or(is_launch),
            _ => false,
        };
        if fits && to_port == 0 && reserved == [0; 5] { Ok(()) } else { Err(INVALID_VALUE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_nodes_that_are_no_kernels_are_refused() {
        let edge = |from_port, kind| Edge {
            from: CUgraphNode(1),
            data: CUgraphEdgeData { from_port, kind, ..CUgraphEdgeData::default() },
        };
        assert!(edge(0, 0).check(&Action::Empty, Some(&Action::Empty)).is_ok());
        for (port, kind) in [(1, 0), (2, 0), (1, 1), (2, 1), (0, 1), (3, 0), (0, 2)] {
            assert!(edge(port, kind).check(&Action::Empty, Some(&Action::Empty)).is_err(), "{port} {kind}");
        }
        let mut reserved = edge(0, 0);
        reserved.data.reserved[4] = 1;
        assert!(reserved.check(&Action::Empty, None).is_err());
        let mut incoming = edge(0, 0);
        incoming.data.to_port = 1;
        assert!(incoming.check(&Action::Empty, None).is_err());
    }
}
