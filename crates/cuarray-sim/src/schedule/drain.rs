//! Synchronization of whole contexts: their work runs to the end before a wait returns, or before a context is
//! destroyed.

use crate::driver::{Driver, Guard};
use crate::objects::allocation::Allocation;
use crate::objects::work::Point;
use cuarray_abi::*;

impl Driver {
    /// Runs all work of a context.
    pub(crate) fn drain_context<'a>(&'a self, mut state: Guard<'a>, context: CUcontext) -> Guard<'a> {
        let targets = state.context_tail(context);
        if !targets.is_empty() {
            state = self.force(state, targets);
        }
        if let Some(device) = state.contexts.get(&context).map(|context| context.device) {
            state.settle_pools(device);
        }
        state
    }

    /// Runs work until nothing is pending in these contexts, including work enqueued meanwhile.
    pub(crate) fn exhaust<'a>(&'a self, mut state: Guard<'a>, contexts: &[CUcontext]) -> Guard<'a> {
        loop {
            let targets: Vec<Point> = contexts.iter().flat_map(|context| state.context_tail(*context)).collect();
            if targets.is_empty() {
                return state;
            }
            state = self.force(state, targets);
        }
    }

    /// Runs all work of a context, then destroys it with everything that it owns.
    ///
    /// All contexts can use host memory, so if the context owns host memory, the work of all contexts is run.
    pub(crate) fn close_context<'a>(&'a self, state: Guard<'a>, handle: CUcontext) -> Guard<'a> {
        let host_memory = |allocation: &Allocation| allocation.context == handle && !allocation.kind.on_device();
        let contexts = match state.memory.iter().any(host_memory) {
            true => state.contexts.keys().copied().collect(),
            false => vec![handle],
        };
        // Collected first, because a destroyed stream is removed once its work has run.
        let clocks = contexts.iter().flat_map(|context| state.clocks_of_context(*context)).collect();
        let mut state = self.exhaust(state, &contexts);
        state.host_learns(clocks);
        let Some(context) = state.contexts.remove(&handle) else { return state };
        for stream in context.streams {
            state.stream_leaves_capture(stream);
            let removed = state.streams.remove(&stream);
            state.lane_ends(removed.as_ref().and_then(|stream| stream.lane.as_ref()));
            state.destroyed("stream", stream.0 as u64);
        }
        let events: Vec<CUevent> =
            state.events.iter().filter(|(_, event)| event.context == handle).map(|(event, _)| *event).collect();
        for event in events {
            state.events.remove(&event);
            state.destroyed("event", event.0 as u64);
        }
        state.destroyed("context", handle.0 as u64);
        state.links.retain(|_, link| link.context != handle);
        state.code.close_context(handle);
        let owned: Vec<u64> =
            state.memory.iter().filter(|allocation| allocation.context == handle).map(|a| a.address).collect();
        for address in owned {
            state.released(address);
            state.release_allocation(address);
        }
        for other in state.contexts.values_mut() {
            other.peers.remove(&handle);
        }
        state
    }
}
