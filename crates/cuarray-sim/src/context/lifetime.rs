//! The begin of a context, and its end with everything that it owns.

use crate::capture;
use crate::driver::{Driver, Guard};
use crate::execution::drain;
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

/// Activates a context under `handle`.
pub(crate) fn open(state: &mut State, handle: CUcontext, device: usize, primary: bool, flags: u32) {
    let legacy = CUstream(crate::handle::fresh());
    state.streams.insert(legacy, Stream::new(handle, Kind::Legacy, CU_STREAM_DEFAULT, 0));
    let context = Context {
        device,
        primary,
        active: true,
        flags,
        id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
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
