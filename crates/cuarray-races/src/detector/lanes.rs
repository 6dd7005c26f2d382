//! Lanes of the detector and the edges between them: one operation happens before another.

use super::*;

impl Detector {
    /// A lane without operations: a stream. `handle` and `device` appear in reports.
    pub fn new_lane(&mut self, kind: LaneKind, handle: u64, device: Option<i32>) -> Lane {
        let made = matches!(kind, LaneKind::Blocking | LaneKind::NonBlocking);
        let same = |other: &LaneInfo| made == matches!(other.kind, LaneKind::Blocking | LaneKind::NonBlocking);
        let label =
            self.lanes.iter().rev().find(|other| same(other) && other.label > 0).map_or(0, |other| other.label) + 1;
        let created = self.handles.made(handle).filter(|_| made).cloned();
        self.lanes.push(LaneInfo { kind, handle, device, label, made: created });
        Lane::new(self.lanes.len() as LaneNumber - 1)
    }

    /// Adds an edge: the operation of `clock` happens before the next operation of `lane`.
    #[inline]
    pub fn join(&self, lane: &mut Lane, clock: &Clock) {
        if lane.number != clock.lane && lane.join(clock, &self.retired) && clock.ordinal != 0 {
            lane.after.push(clock.ordinal);
        }
    }

    /// The operations that happen before the next operation of a lane.
    pub fn past(&self, lane: &Lane) -> Past {
        lane.past(lane.number)
    }

    /// Adds an edge: the operation of `clock` happens before operations that follow `past`. Operations of the past's own
    /// lane are no edge.
    pub fn join_past(&self, past: &mut Past, clock: &Clock) {
        if past.of != clock.lane {
            past.before.join(clock, &self.retired);
        }
    }

    /// Adds to a past the operations of other pasts, and operations with everything that happens before them.
    pub fn widen_past(&self, past: &mut Past, others: &[Past], clocks: &[Clock]) {
        for other in others {
            past.absorb(&other.before.clock(), &self.retired);
        }
        for clock in clocks {
            past.absorb(clock, &self.retired);
        }
    }

    /// Orders the operations of a past before the next operation of a lane.
    pub fn follow_past(&self, lane: &mut Lane, past: &Past) {
        lane.join_past(past, &self.retired);
    }

    /// A number for a part of a lane's operation that is ordered apart. Reports show the lane itself.
    pub(super) fn branch_of(&mut self, lane: &Lane) -> LaneNumber {
        let device = self.lanes.get(lane.number as usize).and_then(|info| info.device);
        self.lanes.push(LaneInfo { kind: LaneKind::Internal, handle: 0, device, label: 0, made: None });
        self.lanes.len() as LaneNumber - 1
    }

    /// Records a synchronization: the calling thread has waited for these operations.
    pub fn synchronize(&mut self, caller: Caller, clocks: &[Clock]) {
        let (host, retired) = self.host(caller.thread);
        for clock in clocks {
            if host.join(clock, retired) && clock.ordinal != 0 {
                host.after.push(clock.ordinal);
            }
        }
        host.join_passages(retired);
        self.host_operation(caller, Effect::none());
        self.retire();
        let Detector { hosts, retired, .. } = self;
        if let Some(host) = hosts.values().next().filter(|_| !self.strict && self.queue.is_empty()) {
            retired.forget_passages(host);
        }
    }

    /// The clocks of the program's threads now, unless the threads are ordered [apart](HostThreads::Apart).
    pub fn host_clocks(&self) -> Vec<Clock> {
        if self.strict { Vec::new() } else { self.hosts.values().map(Lane::clock).collect() }
    }

    /// As [`Detector::resolve`], for work that waited until a word of memory had a value. The operations of the clocks `by`
    /// wrote the word, so they and the work before them happen before the work that follows the wait.
    pub fn resolve_wait(&mut self, ticket: &Ticket, touched: &[Touched], by: &[Clock]) {
        for clock in by {
            if !ticket.clock.contains(clock.lane, clock.time, &self.retired) {
                self.retired.pass(&ticket.clock, clock);
            }
        }
        if let Some(last) = by.iter().map(|clock| clock.ordinal).max() {
            self.queue.move_behind(ticket.operation.ordinal, last, |clock| {
                clock.contains(ticket.clock.lane, ticket.clock.time, &self.retired)
            });
        }
        if by.is_empty() {
            self.waits.insert(ticket.operation.ordinal);
        }
        self.resolve(ticket, touched);
    }

    /// Records the end of a lane. The lane leaves the clocks once its operations happen before every later operation.
    pub fn lane_ends(&mut self, lane: &Lane) {
        self.dying.push((lane.number, lane.time));
    }

    /// Adds an operation to a lane that represents many ended lanes. That lane is created on first use.
    ///
    /// A wait for all work of a context also waits for the work of destroyed streams. The schedule chooses when that
    /// work runs, and this choice orders nothing.
    pub fn gather(&mut self, ended: &mut Option<Lane>, clock: &Clock) {
        let lane = ended.get_or_insert_with(|| self.new_lane(LaneKind::Internal, 0, None));
        if lane.join(clock, &self.retired) {
            lane.advance();
        }
    }

    /// Whether this operation happens before every later operation.
    pub fn everything_follows(&self, clock: &Clock) -> bool {
        !self.strict
            && self.hosts.values().next().is_some_and(|host| host.contains(clock.lane, clock.time, &self.retired))
    }

    /// Whether an operation happens before the next operation of every host thread.
    pub fn hosts_follow(&self, clock: &Clock) -> bool {
        let follows = |host: &Lane| host.contains(clock.lane, clock.time, &self.retired);
        !self.hosts.is_empty() && self.hosts.values().all(follows)
    }

    /// Orders an operation before all later operations of host threads, unless they are ordered [apart](HostThreads::Apart).
    pub fn hosts_join(&mut self, clock: &Clock) {
        if !self.strict {
            let Detector { hosts, retired, .. } = self;
            for host in hosts.values_mut() {
                host.join(clock, retired);
                host.advance();
            }
        }
    }

    /// Whether an operation happens before another one, or is the same.
    pub fn happens_before(&self, first: &Clock, second: &Clock) -> bool {
        second.contains(first.lane, first.time, &self.retired)
    }

    /// Whether one of two operations happens before the other.
    pub fn ordered(&self, one: &Clock, other: &Clock) -> bool {
        one.contains(other.lane, other.time, &self.retired) || other.contains(one.lane, one.time, &self.retired)
    }

    /// Orders a thread's operations so far before another thread's operations after [`Detector::take_over`] with the same key.
    ///
    /// Several threads may hand over under one key, as with a lock. Then the operations of all of them happen before
    /// those of a thread that takes over.
    pub fn hand_over(&mut self, key: u64, thread: u64) {
        let (host, _) = self.host(thread);
        host.advance();
        let clock = host.clock();
        if !self.handed.contains_key(&key) {
            let lane = self.new_lane(LaneKind::Internal, key, None);
            self.handed.insert(key, lane);
        }
        if let Some(lane) = self.handed.get_mut(&key) {
            lane.join(&clock, &self.retired);
            lane.advance();
        }
    }

    /// Orders the operations handed over under a key before a thread's later operations.
    pub fn take_over(&mut self, key: u64, thread: u64) {
        let Some(clock) = self.handed.get(&key).map(Lane::clock) else { return };
        let (host, retired) = self.host(thread);
        host.join(&clock, retired);
        host.advance();
    }

    /// Retires ended lanes whose operations happen before every later call of the host.
    pub(super) fn retire(&mut self) {
        if self.strict || self.dying.len() < DYING || !self.queue.is_empty() {
            return;
        }
        let Detector { dying, hosts, retired, .. } = self;
        let Some(host) = hosts.values().next() else { return };
        let (finished, left): (Vec<_>, Vec<_>) =
            std::mem::take(dying).into_iter().partition(|(lane, time)| host.contains(*lane, *time, retired));
        *dying = left;
        finished.into_iter().for_each(|(lane, _)| retired.add(lane));
    }

    /// The key of a thread's lane.
    #[inline]
    pub(super) fn host_key(&self, thread: u64) -> u64 {
        if self.strict { thread } else { 0 }
    }

    /// The lane of a host thread.
    pub(super) fn host(&mut self, thread: u64) -> (&mut Lane, &Retired) {
        let key = self.host_key(thread);
        if !self.hosts.contains_key(&key) {
            let lane = self.new_lane(LaneKind::Host, thread, None);
            self.hosts.insert(key, lane);
        }
        let Detector { hosts, retired, .. } = self;
        (hosts.entry(key).or_insert_with(|| Lane::new(0)), retired)
    }
}
