//! Conditions of graphs, and the nodes that read them.

use cuarray_abi::*;

/// The bytes of a condition for the search for races, from the address that its handle has as a number.
pub(crate) const CONDITION_BYTES: u64 = 4;

/// The condition behind a handle of `cuGraphConditionalHandleCreate`.
pub(crate) struct Condition {
    /// The graph that the handle was created for; a node that uses the handle is in this graph or below it.
    pub graph: CUgraph,
    pub context: CUcontext,
    /// The value that each launch begins with; `None` keeps the last value.
    pub default: Option<u32>,
    pub value: u32,
    /// The graph and the executable graphs that need the condition.
    pub users: usize,
}

/// A conditional node: its condition, and the graphs that it chooses from.
///
/// The address of `bodies` is the array that the program gets, which lives as long as the node.
#[derive(Clone)]
pub(crate) struct ConditionalNode {
    pub handle: CUgraphConditionalHandle,
    pub kind: CUgraphConditionalNodeType,
    pub bodies: Box<[CUgraph]>,
    pub context: CUcontext,
}

impl ConditionalNode {
    /// The parameters that the program passed, with the array of the bodies.
    pub(crate) fn params(&self) -> CUDA_CONDITIONAL_NODE_PARAMS {
        CUDA_CONDITIONAL_NODE_PARAMS {
            handle: self.handle,
            kind: self.kind,
            size: self.bodies.len() as u32,
            phGraph_out: self.bodies.as_ptr().cast_mut(),
            ctx: self.context,
        }
    }

    /// The name of the kind in reports.
    pub(crate) fn kind_name(&self) -> &'static str {
        kind_name(self.kind)
    }
}

/// The name of a kind of conditional node.
pub(crate) fn kind_name(kind: CUgraphConditionalNodeType) -> &'static str {
    match kind {
        CU_GRAPH_COND_TYPE_IF => "IF",
        CU_GRAPH_COND_TYPE_WHILE => "WHILE",
        _ => "SWITCH",
    }
}

/// The body that runs for a value of the condition.
pub(crate) fn chosen(kind: CUgraphConditionalNodeType, bodies: usize, value: u32) -> Option<usize> {
    let body = match kind {
        CU_GRAPH_COND_TYPE_SWITCH => value as usize,
        _ => usize::from(value == 0),
    };
    Some(body).filter(|body| *body < bodies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_chooses_the_body() {
        assert_eq!(chosen(CU_GRAPH_COND_TYPE_IF, 1, 7), Some(0));
        assert_eq!(chosen(CU_GRAPH_COND_TYPE_IF, 1, 0), None);
        assert_eq!(chosen(CU_GRAPH_COND_TYPE_IF, 2, 0), Some(1));
        assert_eq!(chosen(CU_GRAPH_COND_TYPE_WHILE, 1, 1), Some(0));
        assert_eq!(chosen(CU_GRAPH_COND_TYPE_WHILE, 1, 0), None);
        assert_eq!(chosen(CU_GRAPH_COND_TYPE_SWITCH, 3, 2), Some(2));
        assert_eq!(chosen(CU_GRAPH_COND_TYPE_SWITCH, 3, 3), None);
    }
}
