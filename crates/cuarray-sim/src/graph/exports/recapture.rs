//! The report of nodes that were captured again with other parameters.
//!
//! The function of the program is called at the end of the call that captured the nodes, without the driver's lock. The graph
//! gets the parameters that the function accepts.

use crate::capture::recapture;
use crate::driver::{Driver, Guard};
use crate::execution::outside;
use crate::graph::exports::node::params_of;
use crate::graph_structure;
use crate::objects::capturing::Recaptured;
use crate::objects::graph_data::Action;
use crate::state::State;
use crate::thread;
use cuarray_abi::*;
use std::sync::atomic::Ordering;

/// Reports the nodes that the calling thread's call, with this result, has captured again; returns the result of the call.
///
/// # Errors
/// Those of the call; `CUDA_ERROR_GRAPH_RECAPTURE_FAILURE` if the program does not accept the parameters of a node.
pub(crate) fn report(driver: &Driver, mut result: Result<(), CUresult>) -> Result<(), CUresult> {
    if !driver.has_recaptured.load(Ordering::Relaxed) || !driver.has_recaptured.swap(false, Ordering::Relaxed) {
        return result;
    }
    let mut state = driver.lock();
    let mut has_failed = false;
    for change in std::mem::take(&mut state.recaptured) {
        let accepted;
        (state, accepted) = if has_failed { (state, false) } else { ask(driver, state, &change) };
        if !accepted && !has_failed {
            has_failed = true;
            let failure = recapture::fail(&mut state, change.capture);
            result = result.and(Err(failure));
        }
        let given = if accepted { apply(&mut state, change) } else { Err(change.action) };
        // A child graph that no node has got ends.
        if let Err(Action::Child(child)) = given {
            graph_structure::remove_graph(&mut state, child);
        }
    }
    drop(outside::bury(driver, state));
    result
}

/// Asks the program whether it accepts the new parameters of a node. Without a function it does.
fn ask<'a>(driver: &'a Driver, state: Guard<'a>, change: &Recaptured) -> (Guard<'a>, bool) {
    let old = state.graph_nodes.get(&change.node).map(|node| node.action.clone());
    let (Some(callback), Some(old)) = (change.progress.callback, old) else { return (state, true) };
    // The parameters point into the actions, which live until the function has returned.
    let (original, captured) = (params_of(&old), params_of(&change.action));
    drop(state);
    // SAFETY: by beginning the capture, the program asked for calls of its function with its data.
    let answer = unsafe { callback(change.progress.data, change.node, &original, &captured, change.status) };
    (driver.lock(), answer.is_success())
}

/// Gives a node its new parameters; returns them if the node has gone.
fn apply(state: &mut State, change: Recaptured) -> Result<(), Action> {
    match change.action {
        Action::Child(child) => {
            let replaced = graph_structure::replace_child(state, change.node, child);
            replaced.map_err(|_| Action::Child(child))
        }
        action => match state.graph_nodes.get_mut(&change.node) {
            Some(node) => {
                (node.action, node.made) = (action, thread::caller());
                Ok(())
            }
            None => Err(action),
        },
    }
}
