//! Calls outside of streams: allocations, frees, handles, and calls that are refused.

use super::caller::caller;
use crate::objects::allocation;
use crate::objects::graph_data::CONDITION_BYTES;
use crate::state::State;
use cuarray_abi::{CUcontext, CUgraphConditionalHandle, CUmemGenericAllocationHandle};
use cuarray_ptx::{Program, Space};
use cuarray_races::finding::{AccessKind, KernelPlace, Kind, Range, Variable};
use cuarray_races::{Advice, Block, Ticket, WaitingSide};

/// Records an allocation of the calling thread.
pub(crate) fn allocated(state: &mut State, address: u64) {
    let Some(caller) = caller(state) else { return };
    let Some(allocation) = state.memory.starting_at(address) else { return };
    let block = Block::new(address, allocation.size, allocation.kind.name(), allocation.device as i32);
    // The host and other processes may write memory that is not on the device, without a driver call.
    let written =
        state.host_writes_devices || !matches!(allocation.kind, allocation::Kind::Device | allocation::Kind::Array);
    state.detector.allocate(caller, block, written);
}

/// Records that physical memory is mapped at an address.
pub(crate) fn mapped(state: &mut State, address: u64, handle: CUmemGenericAllocationHandle) {
    let Some(caller) = caller(state) else { return };
    let Some(allocation) = state.memory.starting_at(address) else { return };
    let Some(physical) = state.physical.get(&handle) else { return };
    let others = physical.mappings.iter().copied().filter(|other| *other != address).collect();
    let kind = allocation.kind.name();
    let block = Block::alias(address, allocation.size, kind, allocation.device as i32, others);
    let written = state.host_writes_devices || physical.written || physical.on_host();
    state.detector.allocate(caller, block, written);
}

/// Records a refused access to memory without the right to it.
pub(crate) fn closed(state: &mut State, access: AccessKind, address: u64, length: u64, missing: Advice) {
    let Some(caller) = caller(state) else { return };
    state.detector.refuse_closed(caller, access, Range { address, length }, missing);
}

/// Records the variables of a module that is being loaded; without its managed variables, if it shares them.
pub(crate) fn loaded(state: &mut State, context: CUcontext, program: &Program, addresses: &[u64], shares: bool) {
    let Some(caller) = caller(state) else { return };
    let device = state.contexts.get(&context).map_or(0, |context| context.device as i32);
    let own = program.variables().iter().zip(addresses).filter(|(variable, _)| !(shares && variable.managed));
    let held = own.filter(|(variable, _)| variable.size > 0);
    let blocks = held.filter_map(|(variable, address)| {
        let space = match variable.space {
            Space::Global if variable.managed => "managed",
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

/// Records the condition of a graph that is being created: a variable that kernels set.
pub(crate) fn condition_made(state: &mut State, handle: CUgraphConditionalHandle, context: CUcontext) {
    let Some(caller) = caller(state) else { return };
    let device = state.contexts.get(&context).map_or(0, |context| context.device as i32);
    let block = Block::variable(handle, CONDITION_BYTES, format!("{handle:#x}"), "conditional", device);
    state.detector.load(caller, vec![block]);
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

/// The advice for an address that is reserved and not mapped.
pub(crate) fn reserved_at(state: &State, address: u64) -> Option<Advice> {
    let unmapped = state.memory.holding(address).is_none() && state.reservation_of(address).is_some();
    unmapped.then_some(Advice::MapReserved)
}

/// Records a refused access that lies outside every allocation, or partly so.
pub(crate) fn refused(state: &mut State, access: AccessKind, address: u64, length: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.refuse_access(caller, access, address, length, reserved_at(state, address));
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
    wrong: Option<(Kind, Advice)>,
    place: KernelPlace,
    more: Option<Advice>,
) {
    state.detector.launch_failed(ticket, access, wrong, place, more);
}

/// Records a launch whose threads wait forever.
pub(crate) fn launch_waits_forever(
    state: &mut State,
    ticket: &Ticket,
    sides: (Vec<WaitingSide>, bool),
    polled: (Option<Range>, Option<Variable>),
    missing: Advice,
) {
    state.detector.launch_waits_forever(ticket, sides, polled, missing);
}

/// Records a launch that failed by another cause than an access.
pub(crate) fn kernel_failed(state: &mut State, ticket: &Ticket, failure: String, place: KernelPlace) {
    state.detector.kernel_failed(ticket, failure, place);
}

/// Takes memory that a failed launch may have left unwritten as written.
pub(crate) fn forgive_unwritten(state: &mut State, ticket: &Ticket) {
    state.detector.forgive_unwritten(ticket);
}

/// Records a module that is refused although a driver can load it.
pub(crate) fn refused_module(state: &mut State, reason: String) {
    let Some(caller) = caller(state) else { return };
    state.detector.refuse_module(caller, reason);
}

/// Records a launch that failed because of the handle of an object that does not exist. Returns whether that is a finding.
pub(crate) fn launch_used_handle(state: &mut State, ticket: &Ticket, handle: u64, place: KernelPlace) -> bool {
    state.detector.launch_used_handle(ticket, handle, place)
}

/// Records the creation of a stream, an event or a context.
pub(crate) fn created(state: &mut State, kind: &'static str, handle: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.create_handle(caller, kind, handle);
}

/// Records that a destroyed handle is in use again.
pub(crate) fn revived(state: &mut State, kind: &'static str, handle: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.revive_handle(handle);
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
