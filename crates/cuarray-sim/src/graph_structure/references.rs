//! User objects: objects of the program that graphs keep alive.
//!
//! A program counts references to such an object, gives some of them to graphs, and is called back after the last is
//! dropped. Clones and executable graphs hold their own references. The callback runs without the driver's lock, in the
//! thread that dropped the last reference; like a host function it must not call the driver.

use crate::objects::graph_data::References;
use crate::state::State;
use cuarray_abi::*;

/// Adds another set of the references that a graph holds.
pub(crate) fn share(state: &mut State, graph: CUgraph) -> References {
    let references = state.graphs.get(&graph).map(|graph| graph.references.clone()).unwrap_or_default();
    for (object, count) in &references {
        if let Some(object) = state.user_objects.get_mut(object) {
            object.references += count;
        }
    }
    references
}

/// Drops references.
pub(crate) fn drop_all(state: &mut State, references: References) {
    for (handle, count) in references {
        let Some(object) = state.user_objects.get_mut(&handle) else { continue };
        object.references = object.references.saturating_sub(count);
        if object.references == 0 {
            state.dead_objects.extend(state.user_objects.remove(&handle).map(|object| object.destroy));
        }
    }
}
