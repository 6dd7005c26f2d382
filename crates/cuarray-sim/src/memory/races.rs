//! Allocations, frees and refused accesses as events of the race detector.

use crate::happens_before::caller::caller;
use crate::objects::allocation;
use crate::state::State;
use cuarray_abi::CUmemGenericAllocationHandle;
use cuarray_races::finding::{AccessKind, Range};
use cuarray_races::{Advice, Block};

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

/// Records that the variables in a range of addresses are unloaded.
pub(crate) fn unloaded(state: &mut State, start: u64, end: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.unload(caller, start, end);
}
