//! The memory that kernels can reach.

use crate::memory::allocations;
use crate::module::loading;
use crate::objects::allocation::{Allocation, Kind, Reachable};
use crate::pages::reservation::Reservation;
use crate::state::State;
use cuarray_abi::*;
use cuarray_ptx::{Alias, Region, Space};
use std::cmp::Reverse;
use std::sync::Arc;

/// All memory that a kernel of a context can reach. It is collected again only after a change of the memory.
pub(super) fn reachable(state: &mut State, context: CUcontext) -> Arc<Reachable> {
    if let Some(known) = state.memory.known_reachable(context) {
        return known;
    }
    let reachable = Reachable { regions: regions(state, context), aliases: aliases(state, context) };
    state.memory.keep_reachable(context, reachable)
}

/// The memory of a context's kernels in ascending order.
fn regions(state: &State, context: CUcontext) -> Vec<Region> {
    let live = state.memory.iter().filter(|allocation| match &allocation.kind {
        Kind::Imported(imported) => imported.is_live(),
        // Variables follow one by one.
        Kind::Code => state.code.heaps.values().any(|heap| heap.base == allocation.address),
        Kind::ManagedVariable(_) => false,
        _ => allocation.size > 0,
    });
    let live = live.map(|allocation| (allocation, allocations::kernel_access(state, context, allocation)));
    let open = live.filter(|(_, access)| *access != CU_MEM_ACCESS_FLAGS_PROT_NONE);
    let region = |(allocation, access): (&Allocation, _)| Region {
        start: allocation.address,
        end: allocation.address + allocation.size,
        host: match &allocation.kind {
            Kind::Imported(imported) => imported.shadow_of(allocation.address),
            _ => state.host_address(allocation.address),
        },
        writable: access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        // As on a GPU, some bytes behind an allocation are accessible; using them is a finding.
        slack: allocation.slack(),
        group: 0,
    };
    let mut regions: Vec<Region> = Vec::new();
    let mut last_reservation: Option<&Reservation> = None;
    let mut last_is_registered = false;
    for (allocation, access) in open {
        let mut region = region((allocation, access));
        let reservation = match &allocation.kind {
            Kind::Mapped(mapping) => state.reservation_of(mapping.reservation),
            _ => None,
        };
        let both = reservation.zip(last_reservation);
        let is_same = both.is_some_and(|(one, other)| one.address == other.address);
        // A program may extend a reservation by another one beside it, and register host memory piece by piece.
        let extends =
            both.is_some_and(|(one, other)| one.address == other.address + other.size && (one.placed || other.placed));
        let is_registered = matches!(allocation.kind, Kind::Registered { .. });
        match regions.last_mut() {
            // Memory that is mapped side by side is contiguous.
            Some(last) if is_same && last.end == region.start && last.writable == region.writable => {
                last.end = region.end;
            }
            last => {
                region.group = reservation.map_or(0, |reservation| reservation.address);
                let registered = is_registered && last_is_registered;
                if let Some(last) = last.filter(|last| is_same || extends || registered && last.end == region.start) {
                    last.group = if last.group == 0 { last.start } else { last.group };
                    region.group = last.group;
                }
                regions.push(region);
            }
        }
        (last_reservation, last_is_registered) = (reservation, is_registered);
    }
    let before = regions.len();
    let is_open = |address: u64| {
        let access = |allocation| allocations::kernel_access(state, context, allocation);
        state.memory.holding(address).map(access) == Some(CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    };
    let variables = state.code.variables().filter(|(_, address)| is_open(*address));
    regions.extend(variables.map(|(variable, address)| Region {
        start: address,
        end: address + variable.size,
        host: state.host_address(address),
        writable: variable.space == Space::Global,
        slack: loading::gap(variable.size),
        group: 0,
    }));
    if regions.len() > before {
        regions.sort_unstable_by_key(|region| region.start);
        // The modules of a library share its managed variables.
        regions.dedup_by_key(|region| region.start);
    }
    regions
}

/// The mappings of physical memory that is mapped more than once for kernels of a context. The longest mapping stands for the others.
fn aliases(state: &State, context: CUcontext) -> Vec<Alias> {
    let mut aliases = Vec::new();
    for physical in state.physical.values().filter(|physical| physical.mappings.len() > 1) {
        let mapped = physical.mappings.iter().filter_map(|address| state.memory.starting_at(*address));
        let open = mapped.filter(|allocation| {
            allocations::kernel_access(state, context, allocation) != CU_MEM_ACCESS_FLAGS_PROT_NONE
        });
        let mut open: Vec<&Allocation> = open.collect();
        open.sort_by_key(|allocation| Reverse(allocation.size));
        let Some((longest, others)) = open.split_first() else { continue };
        aliases.extend(others.iter().map(|other| Alias {
            start: other.address,
            end: other.address + other.size,
            stands_for: longest.address,
        }));
    }
    aliases.sort_unstable_by_key(|alias| alias.start);
    aliases
}
