//! Graphs in the DOT language (`cuGraphDebugDotPrint`).

use crate::graph_structure;
use crate::objects::graph_data::{Action, EdgeOrder};
use crate::state::State;
use cuarray_abi::*;
use std::fmt::Write as _;

/// The graph and its children in the DOT language.
pub(crate) fn dot(state: &State, graph: CUgraph, handles: bool) -> String {
    let mut text = String::from("digraph dot {\n");
    dot_subgraph(state, graph, handles, &mut text);
    text.push_str("}\n");
    text
}

fn dot_subgraph(state: &State, handle: CUgraph, handles: bool, text: &mut String) {
    let Some(graph) = state.graphs.get(&handle) else { return };
    let id = graph.id;
    let _ = writeln!(text, "subgraph cluster_{id} {{\nlabel=\"graph_{id}\"");
    for handle in &graph.nodes {
        let Some(node) = state.graph_nodes.get(handle) else { continue };
        let number = node.number;
        let what = dot_label(state, &node.action);
        let _ = write!(text, "\"graph_{id}_node_{number}\" [label=\"{number}\\n{what}");
        if handles {
            let _ = write!(text, "\\nnode handle: {:#x}", handle.0);
        }
        text.push_str("\"];\n");
        for own in node.action.own_graphs() {
            dot_subgraph(state, *own, handles, text);
        }
    }
    for (edge, to) in graph_structure::edges(state, graph) {
        let number = |node: CUgraphNode| state.graph_nodes.get(&node).map_or(0, |node| node.number);
        let label = match edge.order() {
            EdgeOrder::Full => String::new(),
            EdgeOrder::Programmatic => format!(" [label=\"programmatic, port {}\"]", edge.data.from_port),
            EdgeOrder::Begin => format!(" [label=\"port {}\"]", edge.data.from_port),
        };
        let (from, to) = (number(edge.from), number(to));
        let _ = writeln!(text, "\"graph_{id}_node_{from}\" -> \"graph_{id}_node_{to}\"{label};");
    }
    text.push_str("}\n");
}

fn dot_label(state: &State, action: &Action) -> String {
    match action {
        Action::Empty => "EMPTY".to_owned(),
        Action::Copy(copy) => {
            let (target, source) = (copy.transfer.target.place.address, copy.transfer.source.place.address);
            let extent = copy.transfer.extent;
            let size = [extent.width, extent.height, extent.depth].map(|side| side.to_string()).join(" x ");
            format!("MEMCPY\\n{source:#x} to {target:#x}\\n{size} bytes")
        }
        Action::Fill(fill) => {
            let params = &fill.params;
            let (value, size) = (params.value, params.elementSize);
            format!(
                "MEMSET\\n{:#x}\\n{} x {} elements of {size} bytes: {value:#x}",
                params.dst, params.width, params.height
            )
        }
        Action::Host(_) => "HOST".to_owned(),
        Action::Child(_) => "GRAPH".to_owned(),
        Action::Wait(event) => format!("EVENT_WAIT\\n{:#x}", event.0),
        Action::Record(event) => format!("EVENT_RECORD\\n{:#x}", event.0),
        Action::Allocate(node) => format!("MEM_ALLOC\\n{:#x}\\n{} bytes", node.address, node.size),
        Action::Free(address) => format!("MEM_FREE\\n{address:#x}"),
        Action::Memory(batch) => format!("BATCH_MEM_OP\\n{} operations", batch.operations.len()),
        Action::Launch(launch) => format!("KERNEL\\n{}", launch.name()),
        Action::Conditional(node) => {
            let bodies = node.bodies.iter().filter_map(|body| state.graphs.get(body));
            let bodies: Vec<String> = bodies.map(|body| format!("graph_{}", body.id)).collect();
            format!("CONDITIONAL\\n{}\\nhandle: {:#x}\\nbodies: {}", node.kind_name(), node.handle, bodies.join(" "))
        }
    }
}
