//! Changes of pageable memory that a graph or a batch copies, between its launch or call and the host's wait for the copy.
//!
//! The pages of such memory cannot be closed. So the bytes at the launch are compared with those at the host's first wait
//! for the copy: if they differ, the host has changed or freed them meanwhile. Work of the driver may change them too, so the bytes
//! are compared before it runs, and not again.

use super::caller::caller;
use crate::objects::copy::{Copy, Extent, Place, Source};
use crate::objects::launch::Launch;
use crate::objects::upload::Upload;
use crate::objects::work::Work;
use crate::state::State;
use cuarray_races::{Caller, Clock, Ticket};

/// The most bytes that are stored. Further copies are not compared.
const MOST: usize = 256 << 20;

/// Stores the bytes of a copy that reads pageable memory when it runs.
pub(super) fn watch(state: &mut State, copy: &Copy, ticket: &Ticket) {
    let Source::Memory(place) = copy.source else { return };
    if !state.host_access.on() || !state.is_pageable(place.address) || may_wait_for_the_host(state) {
        return;
    }
    let stored: usize = state.uploads.iter().map(Upload::size).sum();
    let upload = Upload::new(place, copy.extent, &ticket.operation, &ticket.clock);
    state.uploads.extend(upload.filter(|upload| upload.size() <= MOST.saturating_sub(stored)));
}

/// Whether pending work may let the host write memory before later work: a host function, or a kernel that polls memory
/// of the host.
fn may_wait_for_the_host(state: &State) -> bool {
    let host = |word: &u64| state.memory.find(*word).is_some_and(|allocation| !allocation.kind.on_device());
    let may_poll =
        |launch: &Launch| launch.parameters.iter().any(host) && launch.program.synchronization(launch.kernel).observes;
    let polls = |work: &Work| match work {
        Work::Launch(launch) => may_poll(launch),
        Work::Condition(run) => {
            let mut any = false;
            run.plan.each_launch(&mut |launch| any |= may_poll(launch));
            any
        }
        _ => false,
    };
    state.host_functions > 0
        || state.streams.values().any(|stream| stream.queue.iter().any(|operation| polls(&operation.work)))
}

/// Compares the copies that the host is about to be ordered after.
pub(crate) fn host_follows(state: &mut State, clocks: &[Clock]) {
    if state.uploads.is_empty() {
        return;
    }
    // The host may have learned of these from memory that a kernel wrote, and no call tells when.
    let State { uploads, detector, .. } = state;
    uploads.retain(|upload| !detector.hosts_follow(&upload.clock));
    let (over, left) = std::mem::take(uploads)
        .into_iter()
        .partition(|upload| clocks.iter().any(|clock| detector.happens_before(&upload.clock, clock)));
    *uploads = left;
    compare(state, over);
}

/// Compares the copies whose memory the driver is about to write.
pub(crate) fn driver_writes(state: &mut State, target: Place, extent: Extent) {
    if state.uploads.is_empty() {
        return;
    }
    let Ok(span) = target.span(extent) else { return };
    let bytes = (target.address, target.address + span);
    let (over, left) = std::mem::take(&mut state.uploads).into_iter().partition(|upload| upload.lies_in(bytes));
    state.uploads = left;
    compare(state, over);
}

/// Compares all copies, because a kernel is about to run that may write any pageable memory.
pub(crate) fn kernel_runs(state: &mut State) {
    if state.pageable_memory {
        let all = std::mem::take(&mut state.uploads);
        compare(state, all);
    }
}

fn compare(state: &mut State, uploads: Vec<Upload>) {
    for upload in uploads {
        let Some(call) = caller(state) else { return };
        if let Some(bytes) = upload.changed() {
            let detail = Some(format!("the bytes changed after the copy was enqueued; {} found it", call.call).into());
            let caller = Caller { call: "host write", detail, launch: None, graph: None, orders: false, ..call };
            state.detector.host_changed(caller, bytes, &upload.operation);
        }
    }
}
