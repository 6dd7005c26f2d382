//! Contexts, which own streams, events and allocations.
//!
//! A device's primary context is one object with one handle. It becomes active when it is first retained, ends with the
//! last release, and can become active again. Contexts of `cuCtxCreate` live once. Everything created in a context ends
//! with it.

use crate::driver::{Driver, Guard};
use crate::memory::Allocation;
use crate::schedule::Point;
use crate::state::State;
use crate::stream::{Kind, Stream};
use cuarray_abi::*;
use cuarray_races::Lane;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

/// One context.
pub(crate) struct Context {
    pub device: usize,
    pub primary: bool,
    /// Whether it is active; a primary context exists while not retained, but is not active.
    pub active: bool,
    pub flags: u32,
    /// `cuCtxGetId`: unique in the process.
    pub id: u64,
    /// The legacy default stream.
    pub legacy: CUstream,
    /// The default streams of host threads, by their number.
    pub per_thread: HashMap<u64, CUstream>,
    /// All its streams, including destroyed ones that are not drained yet.
    pub streams: BTreeSet<CUstream>,
    /// Blocking streams with work that the legacy default stream is not yet ordered after.
    pub unordered: BTreeSet<CUstream>,
    /// The clocks of streams that are gone: of all, and of blocking ones. A wait for the context joins the first; the
    /// legacy default stream's next operation joins the second.
    pub ended: Option<Lane>,
    pub ended_blocking: Option<Lane>,
    pub peers: BTreeSet<CUcontext>,
    pub limits: [usize; 7],
    pub cache_config: u32,
    pub shared_memory_config: u32,
    /// The count of `cuCtxAttach` minus `cuCtxDetach`.
    pub attached: usize,
    /// The error of a failed kernel, which every call in the context returns.
    pub failed: Option<CUresult>,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The limits of a new context: stack, printf buffer, heap, depth, pending launches, L2 granularity, persisting L2.
const LIMITS: [usize; 7] = [1024, 1 << 20, 8 << 20, 2, 2048, 64, 0];

impl State {
    /// Activates a context under `handle`.
    pub(crate) fn open_context(&mut self, handle: CUcontext, device: usize, primary: bool, flags: u32) {
        let legacy = CUstream(crate::handle::fresh());
        self.streams.insert(legacy, Stream::new(handle, Kind::Legacy, CU_STREAM_DEFAULT, 0));
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
            cache_config: 0,
            shared_memory_config: 0,
            attached: 1,
            failed: None,
        };
        self.contexts.insert(handle, context);
        self.detector.revive_handle(handle.0 as u64);
    }

    /// The last operation of every stream of a context with pending work.
    pub(crate) fn context_tail(&self, context: CUcontext) -> Vec<Point> {
        let streams = self.contexts.get(&context).map(|context| &context.streams);
        let streams = streams.into_iter().flatten().filter_map(|handle| Some((*handle, self.streams.get(handle)?)));
        streams.filter(|(_, stream)| stream.pending() > 0).map(|(handle, stream)| stream.last(handle)).collect()
    }
}

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
        // Collected first: a destroyed stream is forgotten once its work has run.
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
