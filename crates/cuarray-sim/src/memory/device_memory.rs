//! Allocations that wait for releases, and frees that wait for the work that uses the memory.

use crate::driver::{Call, Guard};
use crate::execution::drain;
use crate::happens_before::edges;
use crate::memory::{allocations, graph_memory, new_allocation, races};
use crate::objects::allocation::Kind;
use crate::objects::pool;
use cuarray_abi::*;

/// Allocates device memory in the current context; runs pending work there if only its releases make room.
pub(crate) fn allocate(call: &Call<'_>, size: u64, kind: Kind) -> Result<u64, CUresult> {
    if size == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (mut state, handle) = call.current()?;
    let device = state.context(handle)?.device;
    let mut taken = state.devices[device].arena.take(size);
    if taken.is_none() {
        state = drain::drain_context(call.driver, state, handle);
        taken = state.devices[device].arena.take(size);
    }
    let (address, real) = taken.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    state.devices[device].arena.soil(address, size);
    new_allocation::add(&mut state, (address, size, real), kind, handle, device);
    races::allocated(&mut state, address);
    Ok(address)
}

/// Runs the work that may still use an allocation, then frees it. That is the work of its context and of the current one,
/// and of all contexts for memory that each of them reaches (pool and host memory).
pub(crate) fn free<'a>(call: &Call<'a>, state: Guard<'a>, address: u64, current: CUcontext) {
    let Some(allocation) = state.memory.starting_at(address) else { return };
    let contexts = match &allocation.kind {
        Kind::Device | Kind::Array => vec![allocation.context, current],
        Kind::Imported(imported) if imported.pool.is_none() => vec![allocation.context, current],
        _ => state.contexts.keys().copied().collect(),
    };
    // By the manual, freeing pool memory waits for nothing; the program must wait.
    let synchronizes = call.driver.free_synchronizes() && allocation.kind.pool().is_none();
    // Collected first: a destroyed stream is forgotten once its work has run.
    let clocks = contexts.iter().flat_map(|context| edges::clocks_of_context(&state, *context)).collect();
    let mut state = drain::exhaust(call.driver, state, &contexts);
    if synchronizes {
        edges::host_joins(&mut state, clocks);
    }
    races::released(&mut state, address);
    let device = state.memory.starting_at(address).map(|allocation| allocation.device);
    graph_memory::mark_freed(&mut state, address);
    allocations::release(&mut state, address);
    if let Some(device) = device {
        pool::settle(&mut state.pools, device);
    }
}
