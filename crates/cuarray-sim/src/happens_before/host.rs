//! The host's own accesses to memory that devices use.

use crate::happens_before::{reached, uploads};
use crate::host_access::{Fault, take_logged};
use crate::objects::launch::Launch;
use crate::objects::running::Running;
use crate::state::State;
use crate::thread;
use cuarray_races::finding::AccessKind;
use cuarray_races::{Caller, Clock, Effect, Operation, Region};
use std::sync::Arc;

/// The maximum number of rows of a box whose host accesses are watched.
const ROWS: u64 = 64;

/// Watches the bytes that a device operation uses, where the host can access them.
pub(super) fn watch_host(
    state: &mut State,
    touches: &[(Region, AccessKind)],
    operation: &Arc<Operation>,
    clock: &Clock,
) {
    let last = state.host_functions == 0;
    for (region, access) in touches.iter().filter(|(region, _)| region.row_count() <= ROWS) {
        let rows = region.rows();
        rows.for_each(|row| state.host_access.used(row, *access != AccessKind::Read, operation, clock, last));
    }
}

/// Watches pageable memory that devices access, as [`watch_host`] does with other memory.
pub(super) fn watch_pageable(
    state: &mut State,
    touches: &[(Region, AccessKind)],
    operation: &Arc<Operation>,
    clock: &Clock,
) {
    if !state.pageable_memory {
        return;
    }
    let last = state.host_functions == 0;
    let rows = touches.iter().filter(|(region, _)| region.row_count() <= ROWS);
    let rows = rows.flat_map(|(region, access)| region.rows().map(move |row| (row, *access)));
    let pageable = rows.filter(|((start, _), _)| state.is_pageable(*start));
    let uses: Vec<_> = pageable.map(|((start, end), access)| (start..end, access != AccessKind::Read)).collect();
    state.host_access.used_pageable(&uses, operation, clock, last);
}

/// Watches all memory whose address a kernel receives, or can load, and its managed variables: the kernel may access any of it.
pub(super) fn watch_host_for(state: &mut State, launch: &Launch, operation: &Arc<Operation>, clock: &Clock) {
    let last = state.host_functions == 0;
    if state.pageable_memory {
        let pageable: Vec<u64> = launch.addresses().filter(|word| state.is_pageable(*word)).collect();
        state.host_access.given_pageable(&pageable, operation, clock, last);
    }
    let mut words: Vec<u64> = launch.addresses().collect();
    if state.host_access.watches() && launch.program.may_load_addresses(launch.kernel) {
        words.extend(reached::through_memory(state, launch, &words));
    }
    words.into_iter().for_each(|word| state.host_access.given(word, operation, clock, last));
}

/// Takes the logged host accesses, before the calling thread joins new clocks.
pub(crate) fn take_host_accesses(state: &mut State) {
    let Some(driver) = state.host_access.driver() else { return };
    for fault in take_logged(driver) {
        host_accessed(state, &fault);
        state.host_access.opened(fault.address);
    }
}

fn host_accessed(state: &mut State, fault: &Fault) {
    let (call, access) = if fault.writes { ("host write", AccessKind::Write) } else { ("host read", AccessKind::Read) };
    let thread = thread::number_of(fault.thread);
    let caller = Caller { site: fault.site.site(), ..Caller::new(thread, call) };
    let State { host_access, detector, running, .. } = state;
    let (start, length) = fault.interrupted.bytes(fault.address, fault.writes);
    let (start, end) = host_access.within_area(fault.address, (start, start.saturating_add(length)));
    // An access of a host function happens at the function's place in the stream. It races with work that is
    // unordered with that place.
    if let Some(running) = running.iter().find(|running| running.thread == fault.thread) {
        let uses = host_access.uses_of((start, end));
        let uses = uses.filter(|of| !of.unknown && (of.writes || access != AccessKind::Read)).map(|of| {
            (&of.operation, &of.clock, of.bytes, if of.writes { AccessKind::Write } else { AccessKind::Read })
        });
        detector.host_function_access(caller, &running.clock, ((start, end), access), uses);
    } else {
        detector.host_operation(caller, Effect::HostAccess(Region::row(start, end - start), access));
    }
}

/// Closes the pages that devices may still use, given the host's clock, and opens the others. A pending host
/// function may be ordered after less work than the host.
pub(crate) fn settle_host_access(state: &mut State) {
    let State { host_access, detector, host_functions, .. } = state;
    host_access.settle(|clock| detector.hosts_follow(clock), *host_functions == 0);
}

/// Closes memory that is not ordered before a host function that is about to run.
///
/// The program may see through a flag or an event loop that the function runs, which the driver cannot see. So
/// the host joins the function's clock, unless only driver objects order threads.
pub(crate) fn host_function_begins(state: &mut State, clock: &Clock) {
    take_host_accesses(state);
    uploads::host_follows(state, std::slice::from_ref(clock));
    state.detector.hosts_join(clock);
    // SAFETY: the call has no preconditions.
    let thread = unsafe { libc::gettid() };
    state.running.push(Running { thread, clock: clock.clone() });
    let State { host_access, detector, .. } = state;
    host_access.mark_stale();
    host_access.settle(|other| detector.ordered(clock, other), false);
}

/// Records that the calling thread's host function has returned.
pub(crate) fn host_function_ends(state: &mut State) {
    // SAFETY: the call has no preconditions.
    let thread = unsafe { libc::gettid() };
    take_host_accesses(state);
    state.running.retain(|running| running.thread != thread);
    state.host_access.mark_stale();
    settle_host_access(state);
}
