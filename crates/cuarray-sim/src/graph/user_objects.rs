//! User objects: objects of the program that graphs keep alive.
//!
//! A program counts references to such an object, gives some of them to graphs, and is called back after the last is
//! dropped. Clones and executable graphs hold their own references. The callback runs without the driver's lock, in the
//! thread that dropped the last reference; like a host function it must not call the driver.

use crate::driver::{Driver, Guard};
use crate::objects::graph::References;
use crate::schedule::call_outside;
use crate::state::State;
use cuarray_abi::*;

impl State {
    /// Adds another set of the references that a graph holds.
    pub(super) fn share_references(&mut self, graph: CUgraph) -> References {
        let references = self.graphs.get(&graph).map(|graph| graph.references.clone()).unwrap_or_default();
        for (object, count) in &references {
            if let Some(object) = self.user_objects.get_mut(object) {
                object.references += count;
            }
        }
        references
    }

    /// Drops references.
    pub(crate) fn drop_references(&mut self, references: References) {
        for (handle, count) in references {
            let Some(object) = self.user_objects.get_mut(&handle) else { continue };
            object.references = object.references.saturating_sub(count);
            if object.references == 0 {
                self.dead_objects.extend(self.user_objects.remove(&handle).map(|object| object.destroy));
            }
        }
    }
}

impl Driver {
    /// Calls the destructors of objects without references.
    pub(crate) fn bury<'a>(&'a self, mut state: Guard<'a>) -> Guard<'a> {
        while !state.dead_objects.is_empty() {
            let dead = std::mem::take(&mut state.dead_objects);
            drop(state);
            dead.into_iter().for_each(call_outside);
            state = self.lock();
        }
        state
    }
}
