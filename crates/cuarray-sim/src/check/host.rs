//! The host's own accesses: which bytes devices use that the host has, and what the host was met at.

use super::clock::Lane;
use super::shadow::Conflict;
use super::{Caller, Checks, Clock, Doing, Operation, Region};
use crate::finding::{Deed, Kind};
use crate::host_access::{Fault, take_logged};
use crate::state::State;
use crate::thread;
use std::sync::Arc;

/// Boxes with more rows than this are not watched for.
const ROWS: u64 = 64;

/// A host function that is running.
pub(crate) struct Running {
    /// The system's number of the thread that runs it.
    thread: i32,
    /// What its operation knows.
    clock: Clock,
}

impl State {
    /// An operation of a device touches these bytes, some of which the host may have.
    pub(super) fn watch_host(&mut self, touches: &[(Region, Deed)], operation: &Arc<Operation>, clock: &Clock) {
        let last = self.host_functions == 0;
        for (region, deed) in touches.iter().filter(|(region, _)| region.row_count() <= ROWS) {
            let rows = region.rows();
            rows.for_each(|row| self.host_access.used(row, *deed != Deed::Read, operation, clock, last));
        }
    }

    /// A kernel may do anything with memory that it is given the address of.
    pub(super) fn watch_host_for(&mut self, parameters: &[u64], operation: &Arc<Operation>, clock: &Clock) {
        let last = self.host_functions == 0;
        parameters.iter().for_each(|word| self.host_access.given(*word, operation, clock, last));
    }

    /// Looks at what the host was met at since the last time, before the calling thread learns of anything new.
    pub(crate) fn take_host_accesses(&mut self) {
        let Some(driver) = self.host_access.driver() else { return };
        for fault in take_logged(driver) {
            self.host_accessed(&fault);
            self.host_access.opened(fault.address);
        }
    }

    fn host_accessed(&mut self, fault: &Fault) {
        let (call, deed) = if fault.writes { ("host write", Deed::Write) } else { ("host read", Deed::Read) };
        let caller = Caller {
            thread: thread::number_of(fault.thread),
            call,
            site: fault.spot.site(),
            detail: None,
            launch: None,
        };
        let doing = Doing::Touches(vec![(Region::row(fault.address, 1), deed)]);
        if let Some(running) = self.running.iter().find(|running| running.thread == fault.thread) {
            let function = running.clock.clone();
            return self.host_function_accessed(fault.address, deed, &function, caller, &doing);
        }
        self.checks.host_operation(caller, Vec::new(), doing);
    }

    /// What a host function does is done in its place in the stream: it races with what neither comes before it nor after.
    fn host_function_accessed(&mut self, address: u64, deed: Deed, function: &Clock, caller: Caller, doing: &Doing) {
        let operation = self.checks.remember(function.lane, caller, Vec::new(), doing);
        let State { host_access, checks, .. } = self;
        for of in host_access.uses_of(address).filter(|of| !of.unknown && (of.writes || deed != Deed::Read)) {
            if !checks.ordered(function, &of.clock) {
                let (other, start, end) = (of.operation.clone(), address, address + 1);
                let deed_of_other = if of.writes { Deed::Write } else { Deed::Read };
                checks.unordered(Kind::DataRace, Conflict { other, deed: deed_of_other, start, end }, &operation, deed);
            }
        }
    }

    /// Closes to the host what devices may still use as far as it knows, and opens what it has waited for. A host function that
    /// is yet to run may know less.
    pub(crate) fn settle_host_access(&mut self) {
        let State { host_access, checks, host_functions, .. } = self;
        host_access.settle(|clock| checks.hosts_know(clock), *host_functions == 0);
    }

    /// A host function is going to run: what it does not know is closed to it.
    ///
    /// The driver does not see how the program learns that it runs, but from now on any thread may: a function that sets a flag or
    /// wakes an event loop has done so before it returns. So the host knows what comes before it, unless threads are taken to be
    /// ordered by the driver's objects alone.
    pub(crate) fn host_function_begins(&mut self, clock: &Clock) {
        self.take_host_accesses();
        if !self.checks.strict {
            let Checks { hosts, retired, .. } = &mut self.checks;
            for host in hosts.values_mut() {
                host.learn(clock, retired);
                host.advance();
            }
        }
        // SAFETY: the call has no preconditions.
        let thread = unsafe { libc::gettid() };
        self.running.push(Running { thread, clock: clock.clone() });
        let State { host_access, checks, .. } = self;
        host_access.learned();
        host_access.settle(|other| checks.ordered(clock, other), false);
    }

    /// The host function that the calling thread ran has returned.
    pub(crate) fn host_function_ends(&mut self) {
        // SAFETY: the call has no preconditions.
        let thread = unsafe { libc::gettid() };
        self.take_host_accesses();
        self.running.retain(|running| running.thread != thread);
        self.host_access.learned();
        self.settle_host_access();
    }
}

impl Checks {
    /// Whether all host threads know an operation.
    fn hosts_know(&self, clock: &Clock) -> bool {
        let knows = |host: &Lane| host.knows(clock.lane, clock.time, &self.retired);
        !self.hosts.is_empty() && self.hosts.values().all(knows)
    }

    /// Whether one of two operations comes after the other.
    fn ordered(&self, one: &Clock, other: &Clock) -> bool {
        one.knows(other.lane, other.time, &self.retired) || other.knows(one.lane, one.time, &self.retired)
    }
}
