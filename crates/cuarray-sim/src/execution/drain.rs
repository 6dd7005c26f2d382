//! Synchronization of whole contexts: their work runs to the end before a wait returns.

use crate::driver::{Driver, Guard};
use crate::execution::{self, tails};
use crate::objects::green_context::Scope;
use crate::objects::point::Point;
use crate::objects::pool;

/// Runs all work of a context or a green context.
pub(crate) fn drain_context<'a>(driver: &'a Driver, mut state: Guard<'a>, scope: impl Into<Scope>) -> Guard<'a> {
    let scope = scope.into();
    let targets = tails::of_context(&state, scope);
    if !targets.is_empty() {
        state = execution::force(driver, state, targets);
    }
    if let Some(device) = state.contexts.get(&scope.context).map(|context| context.device) {
        pool::settle(&mut state.pools, device);
    }
    state
}

/// Runs work until nothing is pending in these contexts, including work enqueued meanwhile.
pub(crate) fn exhaust<'a, S>(driver: &'a Driver, mut state: Guard<'a>, contexts: &[S]) -> Guard<'a>
where
    S: Copy + Into<Scope>,
{
    loop {
        let targets: Vec<Point> = contexts.iter().flat_map(|context| tails::of_context(&state, *context)).collect();
        if targets.is_empty() {
            return state;
        }
        state = execution::force(driver, state, targets);
    }
}
