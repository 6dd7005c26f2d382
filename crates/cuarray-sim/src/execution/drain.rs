//! Synchronization of whole contexts: their work runs to the end before a wait returns, or before a context is
//! destroyed.

use crate::capture;
use crate::driver::{Driver, Guard};
use crate::execution;
use crate::happens_before::{calls, edges};
use crate::objects::allocation::Allocation;
use crate::objects::point::Point;
use crate::state::State;
use crate::work::{allocations, contexts, pools};
use cuarray_abi::*;

/// Runs all work of a context.
pub(crate) fn drain_context<'a>(driver: &'a Driver, mut state: Guard<'a>, context: CUcontext) -> Guard<'a> {
    let targets = contexts::tail(&state, context);
    if !targets.is_empty() {
        state = execution::force(driver, state, targets);
    }
    if let Some(device) = state.contexts.get(&context).map(|context| context.device) {
        pools::settle(&mut state, device);
    }
    state
}

/// Runs work until nothing is pending in these contexts, including work enqueued meanwhile.
pub(crate) fn exhaust<'a>(driver: &'a Driver, mut state: Guard<'a>, contexts: &[CUcontext]) -> Guard<'a> {
    loop {
        let targets: Vec<Point> = contexts.iter().flat_map(|context| contexts::tail(&state, *context)).collect();
        if targets.is_empty() {
            return state;
        }
        state = execution::force(driver, state, targets);
    }
}

/// Runs all work of a context, then destroys it with everything that it owns.
///
/// All contexts can use host memory, so if the context owns host memory, the work of all contexts is run.
pub(crate) fn close_context<'a>(driver: &'a Driver, state: Guard<'a>, handle: CUcontext) -> Guard<'a> {
    let host_memory = |allocation: &Allocation| allocation.context == handle && !allocation.kind.on_device();
    let contexts = match state.memory.iter().any(host_memory) {
        true => state.contexts.keys().copied().collect(),
        false => vec![handle],
    };
    // Collected first, because a destroyed stream is removed once its work has run.
    let clocks = contexts.iter().flat_map(|context| edges::clocks_of_context(&state, *context)).collect();
    let mut state = exhaust(driver, state, &contexts);
    edges::host_joins(&mut state, clocks);
    let Some(context) = state.contexts.remove(&handle) else { return state };
    for stream in context.streams {
        capture::stream_leaves_capture(&mut state, stream);
        let removed = state.streams.remove(&stream);
        edges::lane_ends(&mut state, removed.as_ref().and_then(|stream| stream.lane.as_ref()));
        calls::destroyed(&mut state, "stream", stream.0 as u64);
    }
    let events: Vec<CUevent> =
        state.events.iter().filter(|(_, event)| event.context == handle).map(|(event, _)| *event).collect();
    for event in events {
        state.events.remove(&event);
        calls::destroyed(&mut state, "event", event.0 as u64);
    }
    calls::destroyed(&mut state, "context", handle.0 as u64);
    state.links.retain(|_, link| link.context != handle);
    state.code.close_context(handle);
    let State { textures, code, .. } = &mut *state;
    textures.close_modules(|module| code.modules.contains_key(&module));
    let mut gone = state.textures.close_context(handle);
    gone.extend(state.arrays.close_context(handle));
    for (kind, gone) in gone {
        calls::destroyed(&mut state, kind, gone);
    }
    let owned: Vec<u64> =
        state.memory.iter().filter(|allocation| allocation.context == handle).map(|a| a.address).collect();
    for address in owned {
        calls::released(&mut state, address);
        allocations::release(&mut state, address);
    }
    for other in state.contexts.values_mut() {
        other.peers.remove(&handle);
    }
    state.memory.access_changes();
    state
}
