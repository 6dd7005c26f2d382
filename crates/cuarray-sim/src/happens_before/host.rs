//! The host's own accesses to memory that devices use.

use crate::host_access::{Fault, take_logged};
use crate::objects::running::Running;
use crate::state::State;
use crate::thread;
use cuarray_races::finding::AccessKind;
use cuarray_races::{Caller, Clock, Effect, Operation, Region};
use std::sync::Arc;

/// Boxes with more rows than this are not watched for.
const ROWS: u64 = 64;

impl State {
    /// An operation of a device touches these bytes. The host may reach some of them.
    pub(super) fn watch_host(&mut self, touches: &[(Region, AccessKind)], operation: &Arc<Operation>, clock: &Clock) {
        let last = self.host_functions == 0;
        for (region, access) in touches.iter().filter(|(region, _)| region.row_count() <= ROWS) {
            let rows = region.rows();
            rows.for_each(|row| self.host_access.used(row, *access != AccessKind::Read, operation, clock, last));
        }
    }

    /// A kernel may do anything with memory whose address it is given.
    pub(super) fn watch_host_for(&mut self, parameters: &[u64], operation: &Arc<Operation>, clock: &Clock) {
        let last = self.host_functions == 0;
        parameters.iter().for_each(|word| self.host_access.given(*word, operation, clock, last));
    }

    /// Takes the logged host accesses, before the calling thread learns of anything new.
    pub(crate) fn take_host_accesses(&mut self) {
        let Some(driver) = self.host_access.driver() else { return };
        for fault in take_logged(driver) {
            self.host_accessed(&fault);
            self.host_access.opened(fault.address);
        }
    }

    fn host_accessed(&mut self, fault: &Fault) {
        let (call, access) =
            if fault.writes { ("host write", AccessKind::Write) } else { ("host read", AccessKind::Read) };
        let thread = thread::number_of(fault.thread);
        let caller = Caller { site: fault.spot.site(), ..Caller::new(thread, call) };
        let State { host_access, detector, running, .. } = self;
        // An access of a host function takes its place in the stream: it races with whatever is not ordered with that place.
        if let Some(running) = running.iter().find(|running| running.thread == fault.thread) {
            let uses = host_access.uses_of(fault.address);
            let uses = uses
                .filter(|of| !of.unknown && (of.writes || access != AccessKind::Read))
                .map(|of| (&of.operation, &of.clock, if of.writes { AccessKind::Write } else { AccessKind::Read }));
            detector.host_function_access(caller, &running.clock, (fault.address, access), uses);
        } else {
            detector.host_operation(caller, Effect::Touches(vec![(Region::row(fault.address, 1), access)]));
        }
    }

    /// Closes pages that devices may still use as far as the host has waited, and opens the others. A pending host function may
    /// know less than the host.
    pub(crate) fn settle_host_access(&mut self) {
        let State { host_access, detector, host_functions, .. } = self;
        host_access.settle(|clock| detector.hosts_know(clock), *host_functions == 0);
    }

    /// A host function is about to run: memory that is not ordered before it is closed to it.
    ///
    /// The program may learn by a flag or an event loop that the function runs, and the driver does not see that. So the host
    /// counts as having waited for what comes before the function, unless only the driver's objects order threads.
    pub(crate) fn host_function_begins(&mut self, clock: &Clock) {
        self.take_host_accesses();
        self.detector.hosts_learn(clock);
        // SAFETY: the call has no preconditions.
        let thread = unsafe { libc::gettid() };
        self.running.push(Running { thread, clock: clock.clone() });
        let State { host_access, detector, .. } = self;
        host_access.learned();
        host_access.settle(|other| detector.ordered(clock, other), false);
    }

    /// The calling thread's host function has returned.
    pub(crate) fn host_function_ends(&mut self) {
        // SAFETY: the call has no preconditions.
        let thread = unsafe { libc::gettid() };
        self.take_host_accesses();
        self.running.retain(|running| running.thread != thread);
        self.host_access.learned();
        self.settle_host_access();
    }
}
