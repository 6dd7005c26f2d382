//! Statistics of a driver as JSON: live objects, pending work, calls and refusals.
//!
//! Tests and users read them, for example to find allocations that a program has leaked.

use crate::driver::Driver;
use crate::objects::allocation::{Allocation, Kind};
use crate::objects::graph_data::Owner;
use crate::objects::stream;
use crate::process::summary;
use crate::state::State;
use cuarray_abi::ENTRY_POINTS;
use cuarray_races::Operation;
use cuarray_races::finding::Watched;
use cuarray_races::site::Site;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// The document, in the order of its keys.
#[derive(Serialize)]
struct Statistics<'a> {
    #[serde(flatten)]
    alive: Alive<'a>,
    #[serde(serialize_with = "as_map")]
    calls: Vec<(&'static str, u64)>,
    refused: &'a BTreeMap<String, u64>,
    wrong_setting: Option<&'a str>,
    unchecked: Vec<String>,
}

/// The statistics that are computed from the driver's state, under its lock.
#[derive(Serialize)]
struct Alive<'a> {
    allocations: Vec<LiveAllocation<'a>>,
    handles: Vec<LiveHandle<'a>>,
    streams: usize,
    events: usize,
    contexts: usize,
    pools: usize,
    graphs: usize,
    graph_execs: usize,
    pending_operations: u64,
    pending_host_functions: usize,
    instructions: u64,
    kernels: Vec<ExecutedKernel<'a>>,
    watched: Watched,
}

#[derive(Serialize)]
struct ExecutedKernel<'a> {
    name: &'a str,
    launches: u64,
    instructions: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct LiveAllocation<'a> {
    kind: &'static str,
    address: u64,
    size: u64,
    device: usize,
    id: u64,
    release_pending: bool,
    made: Option<Made<'a>>,
}

#[derive(Serialize)]
struct LiveHandle<'a> {
    object: &'static str,
    handle: u64,
    made: Made<'a>,
}

/// The call that created an object.
#[derive(Serialize)]
struct Made<'a> {
    call: &'static str,
    ordinal: u64,
    site: &'a Site,
}

impl Made<'_> {
    fn by(operation: &Operation) -> Made<'_> {
        let caller = operation.caller();
        Made { call: caller.call, ordinal: operation.ordinal, site: &caller.site }
    }
}

fn as_map<S: serde::Serializer>(pairs: &[(&'static str, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

fn alive(state: &State) -> Alive<'_> {
    // The memory of modules and of libraries is left out, because the program cannot free it.
    let is_own = |kind: &Kind| !kind.is_of_code() && !matches!(kind, Kind::Library(_));
    let own = |allocation: &&Allocation| is_own(&allocation.kind);
    let allocations = state.memory.iter().filter(own).map(|allocation| LiveAllocation {
        kind: allocation.kind.name(),
        address: allocation.address,
        size: allocation.size,
        device: allocation.device,
        id: allocation.id,
        release_pending: allocation.freed,
        made: state.detector.block_at(allocation.address).and_then(|block| block.made()).map(|made| Made::by(made)),
    });
    let handles = state.detector.handles();
    let created = state.streams.values().filter(|stream| stream.kind == stream::Kind::Created);
    Alive {
        allocations: allocations.collect(),
        handles: handles.map(|(handle, object, made)| LiveHandle { object, handle, made: Made::by(made) }).collect(),
        streams: created.filter(|stream| !stream.destroyed).count(),
        events: state.events.len(),
        contexts: state.contexts.len(),
        pools: state.pools.values().filter(|pool| !pool.is_default).count(),
        graphs: state.graphs.values().filter(|graph| graph.owner == Owner::Program).count(),
        graph_execs: state.graph_execs.values().filter(|exec| !exec.destroyed).count(),
        pending_operations: state.streams.values().map(|stream| stream.pending()).sum(),
        pending_host_functions: state.host_functions,
        instructions: state.code.executed_instructions,
        kernels: kernels(state),
        watched: watched(state),
    }
}

/// The executed kernels, those that took the most time first.
fn kernels(state: &State) -> Vec<ExecutedKernel<'_>> {
    let executed = state.code.executions.iter().map(|(name, executions)| ExecutedKernel {
        name,
        launches: executions.launches,
        instructions: executions.instructions,
        seconds: executions.time.as_secs_f64(),
    });
    let mut kernels: Vec<_> = executed.collect();
    kernels.sort_by(|one, other| other.seconds.total_cmp(&one.seconds).then_with(|| one.name.cmp(other.name)));
    kernels
}

/// The memory that the search for findings watches.
pub(super) fn watched(state: &State) -> Watched {
    let partly = state.code.partly_searched;
    Watched { left_out: partly.touched.saturating_sub(partly.searched), ..state.detector.watched() }
}

/// The statistics of a driver as one JSON object.
pub(crate) fn json(driver: &Driver) -> String {
    let counts = driver.calls_of.iter().map(|count| count.load(Ordering::Relaxed));
    let calls = ENTRY_POINTS.iter().zip(counts).filter(|(_, count)| *count > 0);
    let calls = calls.map(|(entry, count)| (entry.symbol, count)).collect();
    let state = driver.lock();
    let refused = driver.refused.lock().unwrap_or_else(PoisonError::into_inner);
    let wrong_setting = driver.config.as_ref().err().map(String::as_str);
    let unchecked = summary::unchecked(driver, &state);
    let statistics = Statistics { alive: alive(&state), calls, refused: &refused, wrong_setting, unchecked };
    // Serialization of plain data into memory does not fail.
    serde_json::to_string(&statistics).unwrap_or_default()
}
