//! The begin of a context, and its end with everything that it owns.

use crate::capture;
use crate::driver::{Driver, Guard};
use crate::execution::{drain, lanes};
use crate::happens_before::{edges, handles};
use crate::memory::{allocations, races};
use crate::objects::allocation::Allocation;
use crate::objects::context::{Context, LIMITS, NEXT_ID};
use crate::objects::coredump::Coredump;
use crate::objects::stream::{Kind, Stream};
use crate::state::State;
use cuarray_abi::*;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;

/// A number that no other context or green context of this process has.
pub(super) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// Activates a context under `handle`.
pub(crate) fn open(state: &mut State, handle: CUcontext, device: usize, primary: bool, flags: u32) {
    let legacy = CUstream(crate::handle::fresh());
    state.streams.insert(legacy, Stream::new(handle, Kind::Legacy, CU_STREAM_DEFAULT, 0));
    let context = Context {
        device,
        primary,
        active: true,
        flags,
        id: next_id(),
        legacy,
        per_thread: HashMap::new(),
        streams: BTreeSet::from([legacy]),
        unordered: BTreeSet::new(),
        ended: None,
        ended_blocking: None,
        peers: BTreeSet::new(),
        limits: LIMITS,
        limits_fixed: [false; 7],
        cache_config: 0,
        shared_memory_config: 0,
        attached: 1,
        failed: None,
        awaited: Vec::new(),
        coredump: Coredump::default(),
    };
    state.contexts.insert(handle, context);
    state.detector.revive_handle(handle.0 as u64);
}

/// Runs all work of a context, then destroys it with everything that it owns.
///
/// All contexts can use host memory, so if the context owns host memory, the work of all contexts is run.
pub(crate) fn close<'a>(driver: &'a Driver, state: Guard<'a>, handle: CUcontext) -> Guard<'a> {
    let host_memory = |allocation: &Allocation| allocation.context == handle && !allocation.kind.on_device();
    let contexts = match state.memory.iter().any(host_memory) {
        true => state.contexts.keys().copied().collect(),
        false => vec![handle],
    };
    // Collected first, because a destroyed stream is removed once its work has run.
    let clocks = contexts.iter().flat_map(|context| edges::clocks_of_context(&state, *context)).collect();
    let mut state = drain::exhaust(driver, state, &contexts);
    edges::host_joins(&mut state, clocks);
    let Some(context) = state.contexts.remove(&handle) else { return state };
    let green_contexts = state.green_contexts.table.extract_if(|_, green| green.primary == handle);
    for (green, _) in green_contexts.collect::<Vec<_>>() {
        handles::destroyed(&mut state, "green context", green.0 as u64);
        if let Some(device) = state.devices.get_mut(context.device) {
            device.primary_retained = device.primary_retained.saturating_sub(1);
        }
    }
    for stream in context.streams {
        capture::stream_leaves_capture(&mut state, stream);
        let removed = state.streams.remove(&stream);
        edges::lane_ends(&mut state, removed.as_ref().and_then(|stream| stream.lane.as_ref()));
        handles::destroyed(&mut state, "stream", stream.0 as u64);
    }
    let events: Vec<CUevent> =
        state.events.iter().filter(|(_, event)| event.context == handle).map(|(event, _)| *event).collect();
    for event in events {
        state.events.remove(&event);
        handles::destroyed(&mut state, "event", event.0 as u64);
    }
    handles::destroyed(&mut state, "context", handle.0 as u64);
    state.links.retain(|_, link| link.context != handle);
    state.code.close_context(handle);
    let State { textures, code, .. } = &mut *state;
    textures.close_modules(|module| code.modules.contains_key(&module));
    let mut gone = state.textures.close_context(handle);
    gone.extend(state.arrays.close_context(handle));
    for (kind, gone) in gone {
        handles::destroyed(&mut state, kind, gone);
    }
    let owned: Vec<u64> =
        state.memory.iter().filter(|allocation| allocation.context == handle).map(|a| a.address).collect();
    for address in owned {
        races::released(&mut state, address);
        allocations::release(&mut state, address);
    }
    for other in state.contexts.values_mut() {
        other.peers.remove(&handle);
    }
    state.memory.access_changes();
    state
}

/// Runs all work of a green context, then destroys it, and detaches the streams that the program has not destroyed.
pub(super) fn close_green<'a>(driver: &'a Driver, state: Guard<'a>, handle: CUgreenCtx) -> Guard<'a> {
    let Ok(scope) = state.green_scope(handle) else { return state };
    let mut state = drain::exhaust(driver, state, &[scope]);
    // The captures are invalidated, which is no error of this call.
    let _ = capture::forbid_beside_capture(&mut state, scope);
    let streams = state.streams.iter().filter(|(_, stream)| scope.holds(stream));
    for stream in streams.map(|(stream, _)| *stream).collect::<Vec<_>>() {
        capture::stream_leaves_capture(&mut state, stream);
        let created = state.created_stream(stream).is_ok();
        lanes::close(&mut state, stream);
        if created {
            state.green_contexts.detached.insert(stream);
        }
    }
    if let Ok(context) = state.context_mut(scope.context) {
        context.awaited.retain(|awaited| awaited.green != scope.green);
    }
    state.green_contexts.table.remove(&handle);
    handles::destroyed(&mut state, "green context", handle.0 as u64);
    state
}
