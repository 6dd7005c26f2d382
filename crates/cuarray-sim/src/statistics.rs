//! Statistics of a driver as JSON: live objects, pending work, calls and refusals.
//!
//! Tests and people read them; an allocation that is left at the end is a leak.

use crate::check::Operation;
use crate::driver::Driver;
use crate::memory::{Allocation, Kind};
use crate::report::{quote, site};
use cuarray_abi::ENTRY_POINTS;
use std::fmt::Write as _;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Writes the call that created an object.
fn made(text: &mut String, operation: &Operation) {
    let _ = write!(text, "{{\"call\":\"{}\",\"ordinal\":{},\"site\":", operation.call, operation.ordinal);
    site(text, &operation.site);
    text.push('}');
}

/// The statistics of a driver as one JSON object.
pub(crate) fn json(driver: &Driver) -> String {
    let state = driver.lock();
    let mut text = String::from("{\"allocations\":[");
    let mut comma = "";
    // The program does not free memory of modules.
    let own = |allocation: &&Allocation| !matches!(allocation.kind, Kind::Code { .. });
    for allocation in state.memory.iter().filter(own) {
        let (address, size, device) = (allocation.address, allocation.size, allocation.device);
        let (kind, id, freed) = (allocation.kind.name(), allocation.id, allocation.freed);
        let _ = write!(
            text,
            "{comma}{{\"kind\":\"{kind}\",\"address\":{address},\"size\":{size},\"device\":{device},\"id\":{id},\"release_pending\":{freed},\"made\":"
        );
        match state.checks.maker_of(allocation.address) {
            Some(operation) => made(&mut text, operation),
            None => text.push_str("null"),
        }
        text.push('}');
        comma = ",";
    }
    text.push_str("],\"handles\":[");
    let mut comma = "";
    for (handle, kind, operation) in state.checks.handles() {
        let _ = write!(text, "{comma}{{\"object\":\"{kind}\",\"handle\":{handle},\"made\":");
        made(&mut text, operation);
        text.push('}');
        comma = ",";
    }
    let created = state.streams.values().filter(|stream| stream.kind == crate::stream::Kind::Created);
    let streams = created.filter(|stream| !stream.destroyed).count();
    let pending: u64 = state.streams.values().map(|stream| stream.pending()).sum();
    let graphs = state.graphs.values().filter(|graph| graph.owner == crate::graph::Owner::Program).count();
    let graph_execs = state.graph_execs.values().filter(|exec| !exec.destroyed).count();
    let pools = state.pools.values().filter(|pool| !pool.is_default).count();
    let (events, contexts, host_functions) = (state.events.len(), state.contexts.len(), state.host_functions);
    let instructions = state.code.executed_instructions;
    drop(state);
    let _ = write!(
        text,
        "],\"streams\":{streams},\"events\":{events},\"contexts\":{contexts},\"pools\":{pools},\"graphs\":{graphs},\"graph_execs\":{graph_execs},\
         \"pending_operations\":{pending},\"pending_host_functions\":{host_functions},\"instructions\":{instructions},\"calls\":{{"
    );
    let mut comma = "";
    for (entry, count) in ENTRY_POINTS.iter().zip(&driver.calls_of) {
        let count = count.load(Ordering::Relaxed);
        if count > 0 {
            let _ = write!(text, "{comma}\"{}\":{count}", entry.symbol);
            comma = ",";
        }
    }
    text.push_str("},\"refused\":{");
    let mut comma = "";
    for (name, count) in driver.refused.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        text.push_str(comma);
        quote(&mut text, name);
        let _ = write!(text, ":{count}");
        comma = ",";
    }
    text.push_str("},\"wrong_setting\":");
    match &driver.config {
        Ok(_) => text.push_str("null"),
        Err(wrong) => quote(&mut text, wrong),
    }
    text.push('}');
    text
}
