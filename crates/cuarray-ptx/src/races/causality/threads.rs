//! The views of the threads of one block.
//!
//! Lanes of a warp with equal knowledge share a [`Group`]. A warp starts with one group, an observation by one lane splits it, and a
//! synchronization merges it.

use super::Why;
use super::mark::Actor;
use super::times::Times;
use super::view::View;
use crate::races::order::BARRIERS;
use std::cell::Cell;
use std::rc::Rc;

/// The time of the grid. It advances with each event after which an access is no longer part of what was released before.
#[derive(Clone)]
pub(crate) struct Clock(Rc<Cell<u32>>);

impl Default for Clock {
    fn default() -> Clock {
        Clock(Rc::new(Cell::new(1)))
    }
}

impl Clock {
    #[inline(always)]
    pub(crate) fn now(&self) -> u32 {
        self.0.get()
    }

    pub(crate) fn tick(&self) {
        self.0.set(self.0.get().saturating_add(1));
    }
}

/// The threads that a strong operation or a fence reaches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// `.cta`: the block.
    Block,
    /// `.cluster`.
    Cluster,
    /// `.gpu`.
    Device,
    /// `.sys`, and `volatile`.
    System,
}

/// The number of scopes that differ within a launch: a grid runs on one device.
pub(crate) const SCOPES: usize = 3;

impl Scope {
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        (self as usize).min(SCOPES - 1)
    }
}

/// The effect of a fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fence {
    pub acquires: bool,
    pub releases: bool,
    /// Whether it is a `fence.sc`.
    pub total: bool,
    pub scope: Scope,
    /// Whether it releases only the thread's initializations of barrier objects: `fence.mbarrier_init`.
    pub initializations: bool,
    /// Whether it orders only accesses to shared memory, by flags in shared memory: `.sync_restrict`.
    pub restricted: bool,
}

/// The kinds of releasing fences whose last one counts: one for each scope, and the fence that is restricted to shared memory.
const FENCES: usize = SCOPES + 1;

/// The index of the restricted fence, whose scope is the cluster.
const RESTRICTED: usize = SCOPES;

/// The accesses that a fence of a thread releases: the view at the fence, and the thread's own accesses up to a time.
#[derive(Clone, Default)]
pub(crate) struct Released {
    pub view: Times,
    /// Zero if the view has the thread's own accesses.
    pub time: u32,
    /// The time of the fence, or of the synchronization that has passed it on: a later barrier of the block passes all of it on.
    pub since: u32,
    /// The time up to which the thread's initializations of barrier objects are released, beside the view.
    pub initialized: u32,
}

impl Released {
    /// Whether a barrier has told all threads of a block what the fence of one of them releases.
    pub(super) fn is_known(&self, block: u32, view: &View) -> bool {
        self.initialized == 0 && view.has_settled(block, self.since)
    }
}

/// The fences and observations of a thread, beside its view. The indices are scopes.
#[derive(Clone, Default)]
pub(crate) struct Own {
    /// The last fence that releases, for each scope, and the last restricted one.
    released: [Option<Released>; FENCES],
    /// The last `fence.sc`, for each scope.
    pub total: [Option<Released>; SCOPES],
    /// The views that strong reads have observed, by the least scope of the fence that acquires them.
    pub observed: [Times; SCOPES],
    /// Those of them that reads of flags in shared memory have observed.
    pub observed_in_shared: [Times; SCOPES],
    /// The views of the fences that the next `fence.sc` follows in the order of these fences.
    pub follows: [Times; SCOPES],
}

/// The last observation of a thread, and what it lacks to order accesses that it does not order.
#[derive(Clone, Copy)]
pub(super) struct Missed {
    /// The block that wrote; `None` for several.
    pub block: Option<u32>,
    pub why: Why,
    /// The time of the observed write: later accesses of the writing block are behind it. `u32::MAX` if it is unknown.
    pub written: u32,
}

/// The most races of a block whose threads are searched for one that knows the other access.
const MOST_ASKED: u32 = 4096;

/// Lanes of a warp with equal knowledge.
#[derive(Clone)]
pub(crate) struct Group {
    pub lanes: u32,
    pub view: Times,
    pub own: Rc<Own>,
}

impl Group {
    /// The accesses to shared memory, or to other memory, that the lanes know.
    #[inline]
    pub(crate) fn known_of(&self, shared: bool) -> Times {
        if shared { self.view.of_shared() } else { self.view.clone() }
    }
}

impl Own {
    /// Whether later writes release nothing to the threads of a block that these do not know.
    pub(super) fn releases_nothing(&self, block: u32, view: &View) -> bool {
        self.released.iter().chain(&self.total).flatten().all(|fence| fence.is_known(block, view))
    }
}

/// The state of a barrier that threads have arrived at.
#[derive(Clone, Default)]
struct Arrivals {
    known: Times,
    released: [Times; FENCES],
    /// The arrived lanes with the time of each arrival.
    arrived: Vec<(u32, u32, u32)>,
    /// The waiting lanes of each warp.
    waiting: Vec<u32>,
}

/// The barrier of a cluster.
#[derive(Clone, Default)]
pub(crate) struct ClusterBarrier {
    /// The views of the threads that have arrived.
    known: Times,
    /// The views at the last completed barrier.
    passed: Times,
    ended: Times,
    turn: u32,
}

/// The views of a block's threads.
pub(crate) struct Threads {
    pub block: u32,
    /// The number by which the initializations of barrier objects are recorded, in place of the block's.
    pub initializer: u32,
    pub height: u32,
    pub clock: Clock,
    strict: bool,
    warps: Vec<Vec<Group>>,
    /// For each lane of each warp. Lanes share a group, whatever they have missed.
    missed: Vec<[Option<Missed>; 32]>,
    /// The last of them, with its thread and its time.
    last_missed: Option<(Actor, Missed, u32)>,
    /// The number of calls of [`Threads::is_known_by_any`].
    asked: Cell<u32>,
    barriers: Vec<Arrivals>,
    /// The views of exited threads.
    ended: Times,
    /// Whether a thread of the block has released by a fence.
    fenced: bool,
    /// The number of changes of groups.
    pub changes: u64,
    /// The turn of the grid's barrier that has last ordered the threads.
    pub grid_turn: u32,
}

impl Threads {
    pub(crate) fn new(
        (block, initializer): (u32, u32),
        warps: usize,
        height: u32,
        clock: Clock,
        strict: bool,
        grid_turn: u32,
    ) -> Threads {
        let own = Rc::new(Own::default());
        let group = Group { lanes: u32::MAX, view: Times::default(), own };
        Threads {
            block,
            initializer,
            height,
            clock,
            strict,
            warps: vec![vec![group]; warps],
            missed: vec![[None; 32]; warps],
            last_missed: None,
            asked: Cell::new(0),
            barriers: vec![Arrivals::default(); BARRIERS],
            ended: Times::default(),
            fenced: false,
            changes: 0,
            grid_turn,
        }
    }

    /// The knowledge of a lane.
    #[inline]
    pub(crate) fn of(&self, warp: u32, lane: u32) -> &Group {
        let groups = &self.warps[warp as usize];
        groups.iter().find(|group| group.lanes >> lane & 1 == 1).unwrap_or(&groups[0])
    }

    /// Calls `f` with the groups of lanes, which it may change.
    pub(crate) fn change(&mut self, warp: u32, lanes: u32, mut f: impl FnMut(&mut Group)) {
        self.changes += 1;
        let groups = &mut self.warps[warp as usize];
        for index in 0..groups.len() {
            let inside = groups[index].lanes & lanes;
            if inside == 0 {
                continue;
            }
            let outside = groups[index].lanes & !lanes;
            if outside != 0 {
                let rest = Group { lanes: outside, ..groups[index].clone() };
                groups.push(rest);
            }
            groups[index].lanes = inside;
            f(&mut groups[index]);
        }
    }

    pub(super) fn missed(&self, actor: Actor) -> Option<Missed> {
        self.missed[actor.warp as usize][actor.lane as usize]
    }

    /// Remembers an observation that may have ordered nothing, for the text of a later race.
    pub(super) fn miss(&mut self, actor: Actor, missed: Missed) {
        self.missed[actor.warp as usize][actor.lane as usize] = Some(missed);
        self.last_missed = Some((actor, missed, self.clock.now()));
    }

    /// Forgets the last observation of a thread.
    pub(super) fn forget_missed(&mut self, actor: Actor) {
        self.missed[actor.warp as usize][actor.lane as usize] = None;
        self.last_missed = None;
    }

    /// The last observation of another thread of the block, if a barrier orders it before what `actor` does.
    pub(super) fn missed_before(&self, actor: Actor) -> Option<Missed> {
        let (by, missed, time) = self.last_missed?;
        let view = &self.of(actor.warp, actor.lane).view;
        (view.unknown(self.height, (self.block, by.warp), 1 << by.lane, time) == 0).then_some(missed)
    }

    /// Whether a thread of the block knows an access. It is asked for the text of a race, and not for each of very many.
    pub(super) fn is_known_by_any(&self, place: (u32, u32), lane: u32, time: u32) -> bool {
        let asked = self.asked.get();
        self.asked.set(asked.saturating_add(1));
        let mut groups = self.warps.iter().flatten();
        asked < MOST_ASKED && groups.any(|group| group.view.unknown(self.height, place, 1 << lane, time) == 0)
    }

    /// Whether each thread keeps its own fences, as the manual says.
    pub(super) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Whether a block has this number, as the agents of copies and of initializations do not.
    pub(super) fn is_block(&self, number: u32) -> bool {
        number < (self.initializer - self.block) / 2
    }

    /// Adds to a lane's view.
    pub(crate) fn learn(&mut self, warp: u32, lane: u32, more: &Times) {
        let mut known = self.of(warp, lane).view.clone();
        known.join(more);
        if !known.is(&self.of(warp, lane).view) {
            self.change(warp, 1 << lane, |group| group.view = known.clone());
        }
    }

    /// The view of a lane, with its own accesses until now.
    pub(crate) fn snapshot(&self, warp: u32, lane: u32) -> Times {
        let mut view = self.of(warp, lane).view.clone();
        view.raise_lanes(self.height, (self.block, warp), 1 << lane, self.clock.now());
        view
    }

    /// Records that a lane has read a flag: the reads before it are ordered, although no fence is.
    pub(crate) fn follow(&mut self, warp: u32, lane: u32, before: &Times) {
        let mut known = self.of(warp, lane).view.clone();
        known.join_followed(before);
        if !known.is(&self.of(warp, lane).view) {
            self.change(warp, 1 << lane, |group| group.view = known.clone());
        }
    }

    /// The views that the fences of lanes have released, with their scopes. A restricted fence counts where `shared` is set. Fences
    /// whose views all readers know already are left out (`is_known`).
    pub(crate) fn released(
        &self,
        own: &Own,
        (warp, lanes): (u32, u32),
        shared: bool,
        is_known: impl Fn(&Released) -> bool,
    ) -> impl Iterator<Item = (usize, Times)> {
        own.released.iter().enumerate().filter_map(move |(fence, released)| {
            let released = released.as_ref().filter(|released| !is_known(released))?;
            let view = self.explicit(released, warp, lanes);
            match fence {
                RESTRICTED => shared.then(|| (Scope::Cluster.index(), view.restricted())),
                scope => Some((scope, view)),
            }
        })
    }

    /// The view that a fence of a lane has released, with the lane's own accesses.
    pub(crate) fn explicit(&self, released: &Released, warp: u32, lanes: u32) -> Times {
        let mut view = released.view.clone();
        for (block, time) in [(self.block, released.time), (self.initializer, released.initialized)] {
            if time > 0 {
                view.raise_lanes(self.height, (block, warp), lanes, time);
            }
        }
        view
    }

    /// Executes a fence.
    pub(crate) fn fence(&mut self, warp: u32, lanes: u32, fence: Fence) {
        let (now, scope) = (self.clock.now(), fence.scope.index());
        self.fenced |= fence.releases;
        self.change(warp, lanes, |group| {
            let own = Rc::make_mut(&mut group.own);
            if fence.initializations {
                own.released[scope].get_or_insert_default().initialized = now;
                return;
            }
            if fence.restricted {
                if fence.acquires {
                    own.observed_in_shared[..=scope].iter().for_each(|seen| group.view.join(&seen.restricted()));
                }
                if fence.releases {
                    own.released[RESTRICTED] =
                        Some(Released { view: group.view.clone(), time: now, since: now, initialized: 0 });
                }
                return;
            }
            if fence.acquires {
                own.observed[..=scope].iter_mut().for_each(|observed| group.view.join(&std::mem::take(observed)));
                own.observed_in_shared[..=scope].fill(Times::default());
            }
            if fence.total {
                own.follows[..=scope].iter_mut().for_each(|follows| group.view.join(&std::mem::take(follows)));
                own.total[scope] = Some(Released { view: group.view.clone(), time: now, since: now, initialized: 0 });
            }
            if fence.releases {
                own.released[scope] =
                    Some(Released { view: group.view.clone(), time: now, since: now, initialized: 0 });
            }
        });
        self.clock.tick();
    }

    /// Joins the views of lanes, and the views that their fences have released.
    fn gather(&self, warp: u32, lanes: u32, known: &mut Times, released: &mut [Times; FENCES]) {
        for group in self.warps[warp as usize].iter().filter(|group| group.lanes & lanes != 0) {
            known.join(&group.view);
            if self.fenced && !self.strict {
                for (all, one) in released.iter_mut().zip(&group.own.released) {
                    one.iter().for_each(|one| all.join(&self.explicit(one, warp, group.lanes & lanes)));
                }
            }
        }
    }

    /// Sets the view of lanes after a synchronization, and merges groups that have become equal.
    ///
    /// A fence of one thread counts for the flag that another thread writes behind a barrier. The manual does not say so, but
    /// much code relies on it. In strict mode each thread keeps its own fences.
    fn set(&mut self, warp: u32, lanes: u32, known: &Times, released: &[Times; FENCES]) {
        let (joins, since) = (self.fenced && !self.strict, self.clock.now());
        self.change(warp, lanes, |group| {
            group.view = known.clone();
            if joins {
                let own = Rc::make_mut(&mut group.own);
                for (own, all) in own.released.iter_mut().zip(released) {
                    *own = (!all.is_empty()).then(|| Released { view: all.clone(), time: 0, since, initialized: 0 });
                }
            }
        });
        self.merge(warp);
    }

    /// Merges the groups of a warp that have become equal.
    fn merge(&mut self, warp: u32) {
        let groups = &mut self.warps[warp as usize];
        let mut index = 0;
        while index < groups.len() {
            let first = (0..index).find(|first| {
                groups[*first].view.is(&groups[index].view) && same(&groups[*first].own, &groups[index].own)
            });
            match first {
                Some(first) => {
                    let merged = groups.swap_remove(index);
                    groups[first].lanes |= merged.lanes;
                }
                None => index += 1,
            }
        }
    }

    /// Orders lanes of a warp with each other.
    pub(crate) fn synchronize_lanes(&mut self, warp: u32, lanes: u32) {
        if let [group] = &mut self.warps[warp as usize][..]
            && group.lanes & !lanes == 0
            && (self.strict || !self.fenced)
        {
            // All lanes know the same already, but for their own accesses.
            group.view.raise_lanes(self.height, (self.block, warp), lanes, self.clock.now());
            return self.clock.tick();
        }
        let (mut known, mut released) = (Times::default(), Default::default());
        self.gather(warp, lanes, &mut known, &mut released);
        known.raise_lanes(self.height, (self.block, warp), lanes, self.clock.now());
        self.set(warp, lanes, &known, &released);
        self.clock.tick();
    }

    /// Records that lanes have executed an instruction whose order of memory the manual does not state.
    pub(crate) fn follow_lanes(&mut self, warp: u32, lanes: u32) {
        let mut known = Times::default();
        self.gather(warp, lanes, &mut known, &mut Default::default());
        known = known.with_followed();
        known.raise_lanes(self.height, (self.block, warp), lanes, self.clock.now());
        self.change(warp, lanes, |group| group.view.follow(&known));
        self.merge(warp);
        self.clock.tick();
    }

    /// Records that lanes arrive at a barrier, and whether they wait there.
    pub(crate) fn arrive(&mut self, barrier: usize, warp: u32, lanes: u32, waits: bool) {
        let mut arrivals = std::mem::take(&mut self.barriers[barrier]);
        self.gather(warp, lanes, &mut arrivals.known, &mut arrivals.released);
        arrivals.arrived.push((warp, lanes, self.clock.now()));
        arrivals.waiting.resize(self.warps.len(), 0);
        if waits {
            arrivals.waiting[warp as usize] |= lanes;
        }
        self.barriers[barrier] = arrivals;
        self.clock.tick();
    }

    /// Completes a barrier. `dead` has the exited lanes of a warp. They count as arrived at a barrier of the `whole` block.
    pub(crate) fn complete(&mut self, barrier: usize, whole: bool, dead: impl Fn(usize) -> u32) {
        let mut arrivals = std::mem::take(&mut self.barriers[barrier]);
        arrivals.waiting.resize(self.warps.len(), 0);
        let mut known = arrivals.known;
        if whole {
            known.join(&self.ended);
        }
        if whole && arrivals.waiting.iter().enumerate().all(|(warp, lanes)| lanes | dead(warp) == u32::MAX) {
            known.raise_block(self.height, self.block, self.clock.now());
        } else {
            for (warp, lanes, time) in arrivals.arrived {
                known.raise_lanes(self.height, (self.block, warp), lanes, time);
            }
        }
        for (warp, lanes) in arrivals.waiting.into_iter().enumerate().filter(|(_, lanes)| *lanes != 0) {
            // Exited lanes have no view any more.
            self.set(warp as u32, lanes | dead(warp), &known, &arrivals.released);
        }
        self.clock.tick();
    }

    /// Records that the lanes of a mask have exited.
    pub(crate) fn exit(&mut self, warp: u32, lanes: u32) {
        let mut ended = std::mem::take(&mut self.ended);
        self.gather(warp, lanes, &mut ended, &mut Default::default());
        ended.raise_lanes(self.height, (self.block, warp), lanes, self.clock.now());
        self.ended = ended;
        self.clock.tick();
    }

    /// Orders all accesses of the grid up to a time before all later ones of the block.
    pub(crate) fn settle(&mut self, time: u32) {
        let known = Times::all(time);
        for warp in 0..self.warps.len() {
            self.set(warp as u32, u32::MAX, &known, &Default::default());
        }
    }

    /// Records that lanes arrive at the barrier of the cluster. A relaxed arrival releases only what a fence has released.
    pub(crate) fn arrive_at_cluster(&mut self, barrier: &mut ClusterBarrier, warp: u32, lanes: u32, relaxed: bool) {
        if relaxed {
            for group in self.warps[warp as usize].iter().filter(|group| group.lanes & lanes != 0) {
                for (scope, released) in self.released(&group.own, (warp, group.lanes & lanes), true, |_| false) {
                    if scope >= Scope::Cluster.index() {
                        barrier.known.join(&released);
                    }
                }
            }
            return;
        }
        self.gather(warp, lanes, &mut barrier.known, &mut Default::default());
        barrier.known.raise_lanes(self.height, (self.block, warp), lanes, self.clock.now());
        self.clock.tick();
    }

    /// Records that lanes have waited for the barrier of the cluster, which was completed `turn` times.
    pub(crate) fn wait_for_cluster(&mut self, barrier: &mut ClusterBarrier, turn: u32, warp: u32, lanes: u32) {
        if barrier.turn != turn {
            // No barrier completes before all threads have waited for the one before.
            barrier.passed = std::mem::take(&mut barrier.known);
            barrier.passed.join(&barrier.ended);
            barrier.turn = turn;
        }
        let passed = barrier.passed.clone();
        self.change(warp, lanes, |group| group.view.join(&passed));
        self.merge(warp);
    }

    /// Records the exit of threads for the barrier of the cluster.
    pub(crate) fn exit_cluster(&self, barrier: &mut ClusterBarrier) {
        barrier.ended.join(&self.ended);
    }
}

fn same(one: &Rc<Own>, other: &Rc<Own>) -> bool {
    let equal = |one: &Option<Released>, other: &Option<Released>| match (one, other) {
        (Some(one), Some(other)) => {
            let times = |fence: &Released| (fence.time, fence.since, fence.initialized);
            times(one) == times(other) && one.view.is(&other.view)
        }
        (None, None) => true,
        _ => false,
    };
    let all = |ones: &[Option<Released>], others: &[Option<Released>]| {
        ones.iter().zip(others).all(|(one, other)| equal(one, other))
    };
    let times = |ones: &[Times], others: &[Times]| ones.iter().zip(others).all(|(one, other)| one.is(other));
    Rc::ptr_eq(one, other)
        || all(&one.released, &other.released)
            && all(&one.total, &other.total)
            && times(&one.observed, &other.observed)
            && times(&one.observed_in_shared, &other.observed_in_shared)
            && times(&one.follows, &other.follows)
}
