//! Calls outside of streams: allocations, frees, handles, and calls that are refused.

use super::caller::caller;
use crate::objects::allocation;
use crate::state::State;
use cuarray_abi::CUcontext;
use cuarray_ptx::{Program, Space};
use cuarray_races::finding::{AccessKind, KernelPlace, Kind, Range};
use cuarray_races::{Block, Ticket};

/// Records an allocation of the calling thread.
pub(crate) fn allocated(state: &mut State, address: u64) {
    let Some(caller) = caller(state) else { return };
    let Some(allocation) = state.memory.starting_at(address) else { return };
    let block = Block::new(address, allocation.size, allocation.kind.name(), allocation.device as i32);
    // The host and other processes may write memory that is not on the device, without a driver call.
    let written = state.host_writes_devices || !matches!(allocation.kind, allocation::Kind::Device);
    state.detector.allocate(caller, block, written);
}

/// Records the variables of a module that is being loaded.
pub(crate) fn loaded(state: &mut State, context: CUcontext, program: &Program, addresses: &[u64]) {
    let Some(caller) = caller(state) else { return };
    let device = state.contexts.get(&context).map_or(0, |context| context.device as i32);
    let held = program.variables().iter().zip(addresses).filter(|(variable, _)| variable.size > 0);
    let blocks = held.filter_map(|(variable, address)| {
        let space = match variable.space {
            Space::Global => "global",
            Space::Const => "constant",
            _ => return None,
        };
        Some(Block::variable(*address, variable.size, variable.name.clone(), space, device))
    });
    let blocks: Vec<_> = blocks.collect();
    if !blocks.is_empty() {
        state.detector.load(caller, blocks);
    }
}

/// Records that the variables in a range of addresses are unloaded.
pub(crate) fn unloaded(state: &mut State, start: u64, end: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.unload(caller, start, end);
}

/// Records a free by the calling thread, outside of any stream.
pub(crate) fn released(state: &mut State, address: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.free(caller, address);
}

/// Records a refused access that lies outside every allocation, or partly so.
pub(crate) fn refused(state: &mut State, access: AccessKind, address: u64, length: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.refuse_access(caller, access, address, length);
}

/// Records a refused free.
pub(crate) fn released_again(state: &mut State, address: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.refuse_free(caller, address);
}

/// Records an access that is refused because its address or pitch is not a multiple of `size`.
pub(crate) fn misaligned(state: &mut State, access: AccessKind, address: u64, length: u64, size: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.refuse_misaligned(caller, access, Range { address, length }, size);
}

/// Records the access at which a launch failed.
pub(crate) fn launch_failed(
    state: &mut State,
    ticket: &Ticket,
    access: (AccessKind, Range),
    wrong: Option<(Kind, String)>,
    place: KernelPlace,
    more: &str,
) {
    state.detector.launch_failed(ticket, access, wrong, place, more);
}

/// Records the creation of a stream, an event or a context.
pub(crate) fn created(state: &mut State, kind: &'static str, handle: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.create_handle(caller, kind, handle);
}

/// Records the destruction of a stream, an event or a context.
pub(crate) fn destroyed(state: &mut State, kind: &'static str, handle: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.destroy_handle(caller, kind, handle);
}

/// Records a call that is refused because of a handle.
pub(crate) fn refused_handle(state: &mut State, handle: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.refuse_handle(caller, handle);
}

/// Records a call that waits for or queries work that is only being captured.
pub(crate) fn captured_synchronized(state: &mut State, kind: &'static str, handle: u64) {
    let Some(caller) = caller(state) else { return };
    let begun = state.refused_by.take();
    state.detector.refuse_wait_for_capture(caller, begun, kind, handle);
}
