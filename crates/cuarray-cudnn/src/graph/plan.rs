//! Graphs of operations, in the order of their execution.

use super::operation::{Named, Operation};
use super::text::Written;
use crate::status::{BAD_PARAM, Outcome, cudnnStatus_t};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A graph whose operations can be executed one after the other.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) operations: Vec<Arc<Operation>>,
    /// The tensors that are read, and those that are written.
    pub(super) inputs: Vec<Named>,
    pub(super) outputs: Vec<Named>,
    /// Whether an intermediate result comes from none of the operations: a graph that is only a part of an operation.
    pub(super) is_part: bool,
    written: Written,
}

impl Graph {
    /// Orders operations by their tensors, which are the same if their numbers are.
    pub(super) fn of(given: Vec<Arc<Operation>>, written: Written) -> Outcome<Graph> {
        let results: HashSet<i64> = given.iter().map(|operation| operation.output.1.id).collect();
        if given.is_empty() || results.len() != given.len() {
            return Err(BAD_PARAM);
        }
        let mut layouts = HashMap::new();
        for (_, tensor) in given.iter().flat_map(|operation| operation.inputs.iter().chain([&operation.output])) {
            let known = layouts.entry(tensor.id).or_insert_with(|| Arc::clone(tensor));
            if known.layout != tensor.layout || known.is_virtual != tensor.is_virtual {
                return Err(BAD_PARAM);
            }
        }
        let (mut rest, mut operations, mut known) = (given, Vec::new(), HashSet::new());
        let (mut inputs, mut outputs): (Vec<Named>, Vec<Named>) = (Vec::new(), Vec::new());
        let mut is_part = false;
        while !rest.is_empty() {
            let own = |operation: &Operation, id: i64| operation.output.1.id == id;
            let ready = |operation: &Arc<Operation>| {
                let mut needed = operation.inputs.iter().map(|(_, tensor)| tensor.id);
                needed.all(|id| !results.contains(&id) || known.contains(&id) || own(operation, id))
            };
            // Operations that wait for each other.
            let next = rest.iter().position(ready).ok_or(cudnnStatus_t::NOT_SUPPORTED_GRAPH_PATTERN)?;
            let operation = rest.remove(next);
            for named in &operation.inputs {
                let is_read = !known.contains(&named.1.id);
                is_part |= is_read && named.1.is_virtual;
                if is_read && !inputs.iter().any(|(_, other)| other.id == named.1.id) {
                    inputs.push(named.clone());
                }
            }
            known.insert(operation.output.1.id);
            if operation.output.1.is_by_value {
                return Err(BAD_PARAM);
            }
            if !operation.output.1.is_virtual {
                outputs.push(operation.output.clone());
            }
            operations.push(operation);
        }
        Ok(Graph { operations, inputs, outputs, is_part, written })
    }

    /// The graph as JSON.
    pub(super) fn text(&self) -> Outcome<Vec<u8>> {
        serde_json::to_vec(&self.written).map_err(|_| cudnnStatus_t::INTERNAL_ERROR)
    }
}
