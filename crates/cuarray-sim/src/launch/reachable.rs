//! The memory that kernels can reach.

use crate::memory::allocations;
use crate::module::loading;
use crate::objects::allocation::{Allocation, Kind, Reachable};
use crate::objects::launch::Launch;
use crate::pages::process_map::{Owner, ProcessMap};
use crate::pages::reservation::Reservation;
use crate::pages::{page_size, probe};
use crate::state::State;
use cuarray_abi::*;
use cuarray_ptx::{Alias, Region, Space};
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

/// The group of all pageable memory, which no address is.
pub(super) const PAGEABLE: u64 = 1;

/// All memory that a launch can reach. The driver's memory is collected again only after a change. Pageable memory is collected for each
/// launch that may use it, because the driver does not see its changes.
pub(super) fn reachable(state: &mut State, launch: &Launch) -> Arc<Reachable> {
    let context = launch.context;
    let of_driver = match state.memory.known_reachable(context) {
        Some(known) => known,
        None => {
            let reachable = Reachable { regions: regions(state, context), aliases: aliases(state, context) };
            state.memory.keep_reachable(context, reachable)
        }
    };
    if !state.pageable_memory || !may_use_pageable(state, launch) {
        return of_driver;
    }
    let mut regions = pageable(&ProcessMap::read(), &taken(state));
    regions.extend(&of_driver.regions);
    regions.sort_unstable_by_key(|region| region.start);
    Arc::new(Reachable { regions, aliases: of_driver.aliases.clone() })
}

/// Whether a launch may use pageable memory: it receives an address of it, has one in its code, or loads addresses. Addresses of memory that
/// was unmapped since the launch are illegal either way.
fn may_use_pageable(state: &State, launch: &Launch) -> bool {
    let mut words = launch.addresses().chain(launch.constants.iter().copied());
    launch.program.may_load_addresses(launch.kernel)
        || words.any(|word| state.is_pageable(word) && probe::is_range_readable(word, 1))
}

/// The ranges of host addresses that are not pageable memory, in ascending order: registered memory, and the pages that the driver has
/// allocated, with those behind them.
fn taken(state: &State) -> Vec<Range<u64>> {
    let page = page_size();
    let on_host = state.memory.iter().filter(|allocation| !allocation.kind.on_device());
    let ranges = on_host.map(|allocation| {
        let (start, end) = (allocation.address, allocation.address + allocation.size);
        match allocation.kind {
            Kind::Registered { .. } => start..end,
            _ => start - start % page..end.next_multiple_of(page) + page,
        }
    });
    ranges.collect()
}

/// The parts of readable memory that lie outside of the taken ranges, which are in ascending order.
fn pageable(map: &ProcessMap, taken: &[Range<u64>]) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    let mut add = |start: u64, end: u64, writable: bool| match regions.last_mut() {
        Some(last) if last.end == start && last.writable == writable => last.end = end,
        _ if start < end => regions.push(Region { start, end, host: start, writable, slack: 0, group: PAGEABLE }),
        _ => {}
    };
    for mapped in map.iter().filter(|mapped| mapped.readable && mapped.owner != Owner::System) {
        let mut start = mapped.start;
        let first = taken.partition_point(|range| range.end <= start);
        for range in taken[first..].iter().take_while(|range| range.start < mapped.end) {
            add(start, range.start.max(start), mapped.writable);
            start = start.max(range.end);
        }
        add(start.min(mapped.end), mapped.end, mapped.writable);
    }
    regions
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
