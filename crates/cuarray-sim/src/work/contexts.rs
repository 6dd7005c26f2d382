//! Creation of contexts, and the points that a synchronization of a context waits for.

use crate::objects::context::Context;
use crate::objects::context::{LIMITS, NEXT_ID};
use crate::objects::coredump::Coredump;
use crate::objects::point::Point;
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

/// Marks a context as failed: its later calls return `code`, and no more work is executed.
pub(crate) fn fail(state: &mut State, handle: CUcontext, code: CUresult) {
    if let Some(context) = state.contexts.get_mut(&handle) {
        context.failed = Some(code);
        state.code.failed.store(true, Ordering::Relaxed);
    }
}

/// The last operation of every stream of a context with pending work.
pub(crate) fn tail(state: &State, context: CUcontext) -> Vec<Point> {
    let streams = state.contexts.get(&context).map(|context| &context.streams);
    let streams = streams.into_iter().flatten().filter_map(|handle| Some((*handle, state.streams.get(handle)?)));
    streams.filter(|(_, stream)| stream.pending() > 0).map(|(handle, stream)| stream.last(handle)).collect()
}
