//! A location that strong operations access: the views released there, and the threads that have seen its writes.

use super::clusters::Clusters;
use super::mark::{Actor, Conflict, Mark};
use super::observers::Observers;
use super::phases::{Phases, Step};
use super::records::Records;
use super::stale::Written;
use super::threads::{Missed, Released, SCOPES, Scope, Threads};
use super::times::{Times, thread};
use super::totals::Totals;
use super::view::View;
use super::{Strong, Why};
use crate::races::cell::Kind;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// A strong access.
#[derive(Clone, Copy)]
struct StrongMark {
    mark: Mark,
    scope: Scope,
    /// The number of the write in the location's order of writes; for a read, that of the write before it.
    number: u32,
}

/// The write that a strong read sees.
#[derive(Clone, Copy)]
struct Head {
    actor: Actor,
    scope: Scope,
    time: u32,
}

/// The bytes that a strong operation has accessed as a whole.
#[derive(Clone, Default)]
pub(super) struct Location {
    pub offset: u32,
    pub size: u32,
    /// Whether the bytes are in shared memory.
    shared: bool,
    marks: SmallVec<[StrongMark; 2]>,
    /// The block of all marks, unless there are several.
    block: Option<u32>,
    several: bool,
    narrow: bool,
    /// The time of the last mark; the last time of all if a mark is one of an agent.
    newest: u32,
    /// The last write, if it was strong.
    head: Option<Head>,
    /// The number of the last strong write, and of the first one from which only atomic operations lead to it.
    last: u32,
    first: u32,
    /// The views that are handed over here, if any were.
    handover: Option<Box<Handover>>,
    /// The last `fence.sc` of the threads that have accessed the location, if any executed one.
    totals: Option<Box<Totals>>,
    observers: Observers,
    /// The last strong write, in global memory.
    pub written: Option<Written>,
    /// The phases, if the bytes are a barrier object.
    phases: Option<Box<Phases>>,
}

/// The views that threads hand over at a location.
#[derive(Clone, Default)]
struct Handover {
    released: Records,
    /// The views that releasing operations of a thread have released here. Later strong writes of the thread release them too.
    operations: FxHashMap<u64, [Times; SCOPES]>,
    /// In strict mode, the views that strong reads of a thread have observed here. Later acquiring operations of the thread acquire them.
    reads: FxHashMap<u64, [Times; SCOPES]>,
    /// By default, the last strong store with what its thread knew before it.
    before: Option<Before>,
}

/// The view of a thread before a strong store.
#[derive(Clone)]
struct Before {
    by: Actor,
    time: u32,
    known: Times,
    /// Whether `known` has the accesses of the thread itself.
    has_own: bool,
}

/// Whether two strong operations include each other's threads.
fn mutual(clusters: &Clusters, one: (u32, Scope), other: (u32, Scope)) -> bool {
    let least = one.1.min(other.1);
    one.0 == other.0 || least >= Scope::Device || least == Scope::Cluster && clusters.same(one.0, other.0)
}

impl Location {
    /// Begins the records of other bytes, in the memory of those that it has.
    pub(super) fn begin(&mut self, (offset, size): (u32, u32), shared: bool) {
        self.end_release();
        self.forget_accesses();
        (self.offset, self.size, self.shared) = (offset, size, shared);
        (self.last, self.first, self.totals, self.handover) = (0, 0, None, None);
    }

    /// The recorded accesses.
    pub(super) fn accesses(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter().map(|entry| &entry.mark)
    }

    /// Whether a thread has read the location before.
    pub(super) fn was_read_by(&self, actor: Actor) -> bool {
        self.observers.have(actor)
    }

    /// Whether nothing is recorded any more.
    pub(super) fn is_empty(&self) -> bool {
        let releases = self.handover.as_ref().is_some_and(|handover| !handover.operations.is_empty());
        self.marks.is_empty() && !releases && self.phases.is_none()
    }

    /// Compares a plain access, or a strong one of other bytes, with the strong accesses. `view` is what its thread knows.
    pub(super) fn meet(&self, view: &View, (actor, kind): (Actor, Kind), strict: bool, found: &mut Vec<Conflict>) {
        if self.has_settled(view) {
            return;
        }
        for StrongMark { mark, number, .. } in &self.marks {
            if kind == Kind::Read && mark.kind == Kind::Read {
                continue;
            }
            let unknown = mark.unknown(view, actor);
            if unknown != 0 && !(mark.kind != Kind::Read && self.observers.precede(actor, view, *number, strict)) {
                let why = if self.phases.is_some() { Why::BarrierObject } else { Why::Plain };
                found.push(Conflict { mark: *mark, lane: unknown.trailing_zeros(), why: Some(why) });
            }
        }
    }

    fn note_scope(&mut self, block: u32, scope: Scope) {
        self.narrow |= scope < Scope::Device;
        self.several |= self.block.is_some_and(|other| other != block);
        self.block.get_or_insert(block);
    }

    /// Compares a strong access with those that it is not morally strong with. `view` is what its thread knows.
    pub(super) fn meet_strong(
        &mut self,
        view: &View,
        clusters: &Clusters,
        (actor, kind, scope): (Actor, Kind, Scope),
        found: &mut Vec<Conflict>,
    ) {
        self.note_scope(actor.block, scope);
        if !self.narrow || !self.several {
            return;
        }
        for StrongMark { mark, scope: other, number } in &self.marks {
            if kind == Kind::Read && mark.kind == Kind::Read
                || mutual(clusters, (actor.block, scope), (mark.block, *other))
            {
                continue;
            }
            let unknown = mark.unknown(view, actor);
            if unknown != 0 && !(mark.kind != Kind::Read && self.observers.precede(actor, view, *number, true)) {
                let why = Some(Why::NarrowOperation(scope.min(*other)));
                found.push(Conflict { mark: *mark, lane: unknown.trailing_zeros(), why });
            }
        }
    }

    /// Ends what was released here: a write follows that later reads of these bytes do not synchronize with.
    pub(super) fn end_release(&mut self) {
        (self.head, self.written) = (None, None);
        if let Some(handover) = &mut self.handover {
            handover.before = None;
            handover.released.clear();
        }
    }

    /// Records a plain write. A write of a part leaves the accesses to the other bytes.
    pub(super) fn overwritten(&mut self, offset: u32, size: u32) {
        self.end_release();
        if offset <= self.offset && self.offset + self.size <= offset + size {
            self.forget_accesses();
        }
    }

    fn forget_accesses(&mut self) {
        self.marks.clear();
        self.observers.clear();
        (self.phases, self.newest) = (None, 0);
        (self.narrow, self.several, self.block) = (false, false, None);
    }

    /// Whether a barrier has ordered all recorded accesses before what a thread does with a view.
    fn has_settled(&self, view: &View) -> bool {
        !self.several && self.block.is_none_or(|block| view.has_settled(block, self.newest))
    }

    /// Drops settled accesses to shared memory before a write of their block. An access that races with them races with the write too.
    pub(super) fn drop_settled(&mut self, view: &View) {
        if !self.marks.is_empty() && self.phases.is_none() && self.has_settled(view) {
            self.marks.clear();
            self.observers.clear();
        }
    }

    /// Executes a strong operation: what it observes, acquires and releases.
    pub(super) fn operate(
        &mut self,
        threads: &mut Threads,
        clusters: &Clusters,
        view: &View,
        (actor, op): (Actor, Strong),
        strict: bool,
    ) {
        let Actor { block, warp, lane, .. } = actor;
        if let Some(step) = op.step {
            return self.step(threads, clusters, (actor, op), step);
        }
        let now = threads.clock.now();
        let linked = self.head.filter(|head| mutual(clusters, (head.actor.block, head.scope), (block, op.scope)));
        if linked.is_some() {
            self.note_seen(actor, now, (op.kind, op.result));
        }
        if op.kind != Kind::Write && op.result {
            self.observe(threads, clusters, (actor, op), linked, strict);
        }
        if !strict && op.kind == Kind::Write {
            let known = threads.of(warp, lane).view.clone();
            let before = Before { by: actor, time: now, known, has_own: false };
            self.handover.get_or_insert_default().before = Some(before);
            threads.clock.tick();
        }
        let own = threads.of(warp, lane).own.clone();
        // Only the threads of the block can operate on the location, and a barrier of the block has told them already.
        let of_block = self.shared && clusters.are_blocks();
        let is_known = |fence: &Released| of_block && fence.is_known(block, view);
        if own.total.iter().flatten().any(|fence| !is_known(fence)) || self.totals.is_some() {
            self.order_fences(threads, clusters, actor, op, &own.total);
        }
        if op.kind == Kind::Read {
            return;
        }
        if (op.kind != Kind::Atomic || linked.is_none())
            && let Some(handover) = &mut self.handover
        {
            handover.released.clear();
            if op.kind == Kind::Atomic {
                handover.before = None;
            }
        }
        self.write(actor, op.kind, op.scope, (now, linked.is_some()));
        let mut releases = false;
        for (scope, released) in threads.released(&own, (warp, 1 << lane), self.shared, is_known) {
            self.handover.get_or_insert_default().released.add(block, scope, &released);
            releases = true;
        }
        if releases || !strict && op.kind == Kind::Atomic && op.result {
            // Later accesses of the thread are behind the flag.
            threads.clock.tick();
        }
        let number = thread(block, warp, lane);
        if op.releases {
            let snapshot = threads.snapshot(warp, lane);
            let operations = &mut self.handover.get_or_insert_default().operations;
            operations.entry(number).or_default()[op.scope.index()].join(&snapshot);
        }
        if let Some(Handover { released: all, operations, .. }) = self.handover.as_deref_mut() {
            for (scope, released) in operations.get(&number).into_iter().flatten().enumerate() {
                all.add(block, scope, released);
            }
        }
    }

    /// Executes an operation on a barrier object.
    fn step(&mut self, threads: &mut Threads, clusters: &Clusters, (actor, op): (Actor, Strong), step: Step) {
        let Actor { block, warp, lane } = actor;
        match step {
            Step::Names | Step::Waits { complete: false } => {
                self.phases.get_or_insert_default();
            }
            Step::Waits { complete: true } => {
                self.note_seen(actor, threads.clock.now(), (Kind::Read, true));
                let observed = self.phases.get_or_insert_default().observe(block, clusters);
                if op.acquires {
                    observed[..=op.scope.index()].iter().for_each(|observed| threads.learn(warp, lane, observed));
                } else if observed.iter().any(|observed| !observed.is_empty()) {
                    note_observed(threads, actor, &observed, true);
                }
            }
            Step::Counts { ends } => {
                self.last += 1;
                let own = threads.of(warp, lane).own.clone();
                let phases = self.phases.get_or_insert_default();
                for (scope, released) in threads.released(&own, (warp, 1 << lane), true, |_| false) {
                    phases.arrive(block, scope, &released);
                }
                if op.releases {
                    phases.arrive(block, op.scope.index(), &threads.snapshot(warp, lane));
                }
                if ends {
                    phases.end();
                }
            }
        }
    }

    /// Lets completed copies of a thread of `block` arrive at the barrier object.
    pub(super) fn complete(&mut self, block: u32, known: &Times, ended: bool) {
        let phases = self.phases.get_or_insert_default();
        phases.arrive(block, Scope::Cluster.index(), known);
        if ended {
            phases.end();
        }
    }

    /// Takes what the last write and the atomic operations before it have released.
    fn observe(
        &mut self,
        threads: &mut Threads,
        clusters: &Clusters,
        (actor, op): (Actor, Strong),
        linked: Option<Head>,
        strict: bool,
    ) {
        let Actor { block, warp, lane, .. } = actor;
        let number = thread(block, warp, lane);
        let Some(head) = linked else {
            if let Some(head) = self.head {
                let why = Why::NarrowOperation(head.scope.min(op.scope));
                threads.miss(actor, Missed { block: Some(head.actor.block), why, written: u32::MAX });
            }
            return;
        };
        let writer = head.actor.block;
        // A thread's own write hands nothing over to it.
        let missed = (head.actor != actor).then(|| {
            let block = (self.first == self.last).then_some(writer);
            Missed { block, why: Why::NoFence, written: head.time }
        });
        let Some(handover) = &mut self.handover else {
            return missed.into_iter().for_each(|missed| threads.miss(actor, missed));
        };
        if let Some(Before { by, time, known, has_own }) = &mut handover.before {
            if !std::mem::replace(has_own, true) {
                known.raise_lanes(threads.height, (by.block, by.warp), 1 << by.lane, *time);
            }
            threads.follow(warp, lane, known);
        }
        let observed = handover.released.observe(block, clusters);
        let released = handover.released.of_block(writer);
        let narrow = released.filter(|_| observed.iter().all(Times::is_empty)).and_then(|released| {
            let scopes = [Scope::Block, Scope::Cluster];
            scopes.into_iter().rev().find(|scope| !released[scope.index()].is_empty())
        });
        let why = narrow.map_or(Why::NoFence, Why::NarrowFence);
        missed.into_iter().for_each(|missed| threads.miss(actor, Missed { why, ..missed }));
        if observed.iter().all(Times::is_empty) && handover.reads.is_empty() {
            return;
        }
        if !strict {
            // A missing fence of the reader is not reported.
            return observed.iter().for_each(|observed| threads.learn(warp, lane, observed));
        }
        let kept = observed;
        if op.acquires {
            let earlier = handover.reads.get(&number).cloned().unwrap_or_default();
            for scope in 0..=op.scope.index() {
                threads.learn(warp, lane, &kept[scope]);
                threads.learn(warp, lane, &earlier[scope]);
            }
        }
        let reads = handover.reads.entry(number).or_default();
        reads.iter_mut().zip(&kept).for_each(|(all, one)| all.join(one));
        note_observed(threads, actor, &kept, self.shared);
    }

    /// Remembers that a thread has seen the last write, and those that atomic operations lead from to it. A reduction acquires nothing, but
    /// the writes that it has seen precede what its thread does next.
    fn note_seen(&mut self, actor: Actor, now: u32, (kind, result): (Kind, bool)) {
        if kind == Kind::Atomic || kind == Kind::Read && result {
            self.observers.note(actor, now, (self.first, self.last), result);
        }
    }

    /// Makes a write the last one. `linked` tells whether it has seen the one before.
    fn write(&mut self, actor: Actor, kind: Kind, scope: Scope, (time, linked): (u32, bool)) {
        self.last += 1;
        if kind != Kind::Atomic || !linked {
            self.first = self.last;
        }
        self.head = Some(Head { actor, scope, time });
    }

    /// Records an operation of the past that has handed nothing over, of a thread of the block of all others.
    pub(super) fn repeat(&mut self, actor: Actor, mark: Mark, scope: Scope, result: bool) {
        self.note_scope(actor.block, scope);
        let linked = self.head.is_some();
        if linked {
            self.note_seen(actor, mark.stamp, (mark.kind, result));
        }
        if mark.kind != Kind::Read {
            self.write(actor, mark.kind, scope, (mark.stamp, linked));
        }
        self.record(mark, scope);
    }

    /// Orders the `fence.sc` operations whose order the accesses to this location determine.
    ///
    /// A fence before one access precedes a fence behind a later conflicting access: the other order would contradict what
    /// the accesses have read and overwritten. Only morally strong accesses determine an order, as others race.
    fn order_fences(
        &mut self,
        threads: &mut Threads,
        clusters: &Clusters,
        actor: Actor,
        op: Strong,
        total: &[Option<Released>; SCOPES],
    ) {
        let Actor { block, warp, lane, .. } = actor;
        let totals = self.totals.get_or_insert_default();
        let follows = totals.before(block, op, clusters, threads.height);
        if follows.iter().any(|follows| !follows.is_empty()) {
            threads.change(warp, 1 << lane, |group| {
                let own = Rc::make_mut(&mut group.own);
                own.follows.iter_mut().zip(&follows).for_each(|(all, one)| all.join(one));
            });
        }
        totals.add(actor, op, total, threads.height);
    }

    /// Records the access for later comparisons.
    pub(super) fn record(&mut self, mark: Mark, scope: Scope) {
        let number = self.last;
        let is_of_agent = self.block.is_some_and(|block| block != mark.block);
        self.newest = if is_of_agent { u32::MAX } else { self.newest.max(mark.stamp) };
        let same = |kept: &&mut StrongMark| {
            kept.mark.block == mark.block
                && kept.mark.warp == mark.warp
                && kept.mark.kind == mark.kind
                && kept.scope == scope
        };
        for kept in self.marks.iter_mut().rev().take(8).filter(same) {
            if kept.mark.lanes & !mark.lanes == 0 {
                *kept = StrongMark { mark, scope, number };
                return;
            }
            if mark.kind == Kind::Read && kept.mark.stamp == mark.stamp && kept.mark.pc == mark.pc {
                kept.mark.lanes |= mark.lanes;
                return;
            }
        }
        if self.marks.len() >= 32 && self.marks.len() == self.marks.capacity() {
            self.prune();
        }
        self.marks.push(StrongMark { mark, scope, number });
    }

    /// Drops accesses of threads that have a later one of the same kind.
    fn prune(&mut self) {
        let mut seen: FxHashMap<(u32, u8, u8, Scope), u32> = FxHashMap::default();
        let mut kept: SmallVec<[StrongMark; 2]> = SmallVec::with_capacity(self.marks.len());
        for entry in self.marks.iter().rev() {
            let mark = &entry.mark;
            let lanes = seen.entry((mark.block, mark.warp, mark.kind as u8, entry.scope)).or_default();
            if mark.lanes & !*lanes != 0 {
                *lanes |= mark.lanes;
                kept.push(*entry);
            }
        }
        kept.reverse();
        self.marks = kept;
        self.marks.reserve(self.marks.len());
    }
}

/// Remembers what a later fence acquires, from a flag that may be in `shared` memory.
fn note_observed(threads: &mut Threads, actor: Actor, observed: &[Times; SCOPES], shared: bool) {
    threads.change(actor.warp, 1 << actor.lane, |group| {
        let own = Rc::make_mut(&mut group.own);
        own.observed.iter_mut().zip(observed).for_each(|(all, one)| all.join(one));
        if shared {
            own.observed_in_shared.iter_mut().zip(observed).for_each(|(all, one)| all.join(one));
        }
    });
}
