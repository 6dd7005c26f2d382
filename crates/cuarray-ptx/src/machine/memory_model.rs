//! Reports accesses, fences and synchronization to the search for races by the memory model.

use super::access_mode::{GENERIC, GLOBAL, GUESS, READ_ONLY, SHARED, STRONG, elements, space, strong};
use super::address_windows::SHARED_WINDOW;
use super::asynchronous::{Copying, Place};
use super::block::Block;
use super::branching::{PROXY_FENCE, fence_of};
use super::cluster::{OFFSETS, RANK_SHIFT};
use super::program::Instruction;
use super::watch::hold_back;
use super::{Launch, Machine, cluster};
use crate::races::causality::mark::{Actor, Conflict, Mark};
use crate::races::causality::memory::{Together, in_shared, is_shared};
use crate::races::causality::phases::Step;
use crate::races::causality::threads::Threads;
use crate::races::causality::times::Times;
use crate::races::causality::view::View;
use crate::races::causality::{Causality, Scope, Strong, Why};
use crate::races::cell::Kind;
use crate::races::{Access, Race};

/// The bytes that the search compares at once: a page of its memory.
const STEP: u64 = 256;

/// The least number of lanes that are compared as a row.
const SHORTEST_ROW: u32 = 8;

/// A plain write of a barrier object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Write {
    Initializes,
    /// The pipelines of libcu++ order it behind other lanes by `match.sync` alone. So it is compared with that order in the strict mode too.
    Invalidates,
}

/// An access of the lanes of the running instruction.
#[derive(Clone, Copy)]
enum What<'d> {
    /// A plain access, with the digests of written values.
    Weak(Kind, &'d [u32; 32]),
    Object(Write, &'d [u32; 32]),
    Strong(Strong),
}

impl What<'_> {
    fn kind(self) -> Kind {
        match self {
            What::Weak(kind, _) => kind,
            What::Object(..) => Kind::Write,
            What::Strong(op) => op.kind,
        }
    }
}

impl Launch<'_> {
    /// Whether races are searched by the memory model: the threads can synchronize through memory, or the search is strict.
    pub(super) fn follows_memory_model(&self) -> bool {
        self.races && (self.strict || self.program.hands_over(self.kernel))
    }
}

impl Machine<'_> {
    /// Begins the search by the memory model, if the launch needs it.
    pub(super) fn follow_memory_model(&mut self) {
        let launch = self.launch;
        if launch.follows_memory_model() {
            let blocks = launch.grid.iter().map(|extent| u64::from(*extent)).product();
            let invalidates = launch.program.hand_over(launch.kernel).invalidates;
            self.causality = Some(Box::new(Causality::new(blocks, launch.strict, invalidates)));
        }
    }

    /// Runs `f` with the state of the grid and the views of the block.
    fn with_causality(&mut self, f: impl FnOnce(&mut Self, &mut Causality, &mut Threads)) {
        let Some(mut causality) = self.causality.take() else { return };
        let threads = self.block.watched.as_mut().and_then(|watched| watched.threads.take());
        if let Some(mut threads) = threads {
            causality.settle(&mut threads, self.grid.turn);
            f(self, &mut causality, &mut threads);
            if let Some(watched) = self.block.watched.as_mut() {
                watched.threads = Some(threads);
            }
        }
        self.causality = Some(causality);
    }

    /// Creates the views of a block that starts, in a cluster with a number.
    pub(super) fn start_causally(&mut self, cluster: u64, warps: usize) {
        let (block, cluster) = (self.block.number as u32, (self.block.rank_bits > 0).then_some(cluster));
        if let (Some(causality), Some(watched)) = (self.causality.as_mut(), self.block.watched.as_mut()) {
            watched.threads = Some(Box::new(causality.start_block(block, cluster, warps)));
        }
    }

    /// Drops what only a block needs that has ended, and its cluster with the `last` one.
    pub(super) fn watch_block_end(&mut self, last: bool) {
        let (block, bytes, cluster) = (self.block.number as u32, self.block.shared_bytes(), self.cluster().number);
        let Some(causality) = self.causality.as_mut() else { return };
        causality.block_ends(block, bytes);
        if last {
            causality.cluster_ends(cluster);
        }
    }

    /// Executes a fence with a code of [`fence_code`](super::branching::fence_code) or [`PROXY_FENCE`]; 0 is none.
    #[cold]
    pub(super) fn fence_causally(&mut self, code: i64) {
        let spaces = (code / PROXY_FENCE) as u8;
        self.with_causality(|machine, causality, threads| {
            let (warp, lanes) = (machine.warp.number, machine.mask);
            match spaces {
                0 if code == 0 => {}
                0 => threads.fence(warp, lanes, fence_of(code)),
                _ => causality.memory.fence_proxies(threads, warp, lanes, spaces),
            }
        });
    }

    /// Reports writes that a bulk copy of a lane reads, and that no proxy fence follows.
    pub(super) fn read_by_copy(&mut self, lane: u32, source: Place, size: u64) {
        let address = self.flat_of(source);
        self.with_causality(|machine, causality, threads| {
            let (block, warp, pc, stamp) =
                (machine.block.number as u32, machine.warp.number, machine.pc - 1, causality.clock.now());
            let mut found = Vec::new();
            causality.memory.read_by_copy(threads, Actor { block, warp, lane }, (address, size), &mut found);
            let (lanes, warp, kind) = (1 << lane, warp as u8, Kind::Read);
            let copy = Mark { block, pc, stamp, lanes, value: 0, warp, kind, by_copy: true, read_only: false };
            for mut conflict in found {
                conflict.mark.block = causality.block_of(conflict.mark.block);
                machine.add_causal_race(&conflict, &copy, (address, size as u32));
            }
        });
    }

    /// Records an arrival at the barrier of the cluster, which may be `relaxed`, or a wait for its `turn`.
    pub(super) fn cluster_causally(&mut self, turn: Option<u32>, lanes: u32, relaxed: bool) {
        let number = self.cluster().number;
        self.with_causality(|machine, causality, threads| {
            let (barrier, warp) = (causality.cluster(number), machine.warp.number);
            match turn {
                Some(turn) => threads.wait_for_cluster(barrier, turn, warp, lanes),
                None => threads.arrive_at_cluster(barrier, warp, lanes, relaxed),
            }
        });
    }

    /// Records the exit of threads for the barrier of the cluster.
    pub(super) fn watch_cluster_exit(&mut self) {
        if self.has_clusters() {
            let number = self.cluster().number;
            self.with_causality(|_, causality, threads| threads.exit_cluster(causality.cluster(number)));
        }
    }

    /// Orders copies of lanes of a warp, which have landed, before what these lanes do next.
    pub(super) fn watch_landing(&mut self, warp: u32, lanes: u32) {
        self.with_causality(|_, causality, threads| causality.land(threads, warp, lanes));
    }

    /// Return the view of a lane of the running warp, for a copy that it starts.
    pub(super) fn known_by(&mut self, lane: u32) -> Times {
        let mut known = Times::default();
        self.with_causality(|machine, causality, threads| {
            known = threads.snapshot(machine.warp.number, lane);
            causality.clock.tick();
        });
        known
    }

    /// Lets copies of lanes of a warp, which have landed, arrive at the barrier object at an address. `known` is what their threads
    /// knew at the start, and `ended` tells whether that ends a phase.
    pub(super) fn watch_completion(&mut self, (warp, lanes): (u32, u32), known: Times, address: u64, ended: bool) {
        let block = self.block.number as u32;
        if let Some(causality) = self.causality.as_mut() {
            causality.complete((block, warp, lanes), known, address, ended);
        }
    }

    /// Reports that the lanes initialize or invalidate barrier objects.
    pub(super) fn watch_object(&mut self, mode: u32, write: Write, digests: &[u32; 32]) {
        if self.cluster().pending.count > 0 {
            self.meet_pending(mode, 8, 0, Kind::Write);
        }
        self.access_causally(mode, (8, 0), What::Object(write, digests));
        if write == Write::Initializes {
            self.with_causality(|machine, causality, threads| {
                causality.initialize(threads, machine.warp.number, machine.mask);
            });
        }
    }

    /// Records that lanes of the warp have executed an instruction whose order of memory the manual does not state.
    pub(super) fn follow_causally(&mut self, lanes: u32) {
        if self.causality.as_ref().is_some_and(|causality| causality.invalidates) {
            self.with_causality(|machine, _, threads| threads.follow_lanes(machine.warp.number, lanes));
        }
    }

    /// Reports an operation of a lane on a barrier object.
    pub(super) fn watch_step(&mut self, mode: u32, lane: u32, step: Step) {
        if self.causality.is_none() {
            return;
        }
        let mask = std::mem::replace(&mut self.mask, 1 << lane);
        let kind = if matches!(step, Step::Waits { .. }) { Kind::Read } else { Kind::Atomic };
        let op = Strong { step: Some(step), ..strong(mode, kind, true) };
        self.operate_causally(mode, (8, 0), op);
        self.mask = mask;
    }

    /// Reports reads of `size` bytes that `locate` has resolved.
    pub(super) fn watch_read_causally(&mut self, instruction: &Instruction, size: u32) {
        if instruction.c & STRONG == 0 {
            let guess = instruction.c & GUESS != 0 && !self.launch.guesses && !self.launch.strict;
            if !guess {
                self.note_in_place(instruction, Kind::Read);
                self.touch(instruction.c, size, 0, Kind::Read, &[0; 32]);
            }
            return;
        }
        self.note_waited();
        let op = strong(instruction.c, Kind::Read, true);
        let count = elements(instruction.c).max(1);
        for index in 0..count {
            self.operate_causally(instruction.c, (size / count, index * (size / count)), op);
        }
    }

    /// Reports strong stores of elements of `size` bytes, `at` bytes after the resolved addresses.
    pub(super) fn watch_store_causally(&mut self, instruction: &Instruction, size: u32, at: u32) {
        self.operate_causally(instruction.c, (size, at), strong(instruction.c, Kind::Write, false));
    }

    /// Reports atomic operations on `count` words. The operations of the lanes in `kept` wrote nothing.
    pub(super) fn watch_atomic_causally(
        &mut self,
        instruction: &Instruction,
        (size, count): (u32, u32),
        result: bool,
        kept: u32,
    ) {
        let mask = self.mask;
        for index in 0..count {
            for (lanes, kind) in [(mask & !kept, Kind::Atomic), (mask & kept, Kind::Read)] {
                self.mask = lanes;
                if lanes != 0 {
                    self.operate_causally(instruction.c, (size, index * size), strong(instruction.c, kind, result));
                }
            }
        }
        self.mask = mask;
    }

    fn operate_causally(&mut self, mode: u32, (size, at): (u32, u32), op: Strong) {
        if self.cluster().pending.count > 0 {
            self.meet_pending(mode, size, at, op.kind);
        }
        self.access_causally(mode, (size, at), What::Strong(op));
        if op.releases
            && let Some(causality) = &self.causality
        {
            causality.clock.tick();
        }
        if self.turns.is_random() && self.executed >= self.turn_end {
            self.limit = 0;
        }
    }

    /// Reports plain accesses. Reductions by asynchronous copies are relaxed operations on words.
    pub(super) fn touch_causally(&mut self, mode: u32, (size, at): (u32, u32), kind: Kind, digests: &[u32; 32]) {
        if kind != Kind::Atomic {
            return self.access_causally(mode, (size, at), What::Weak(kind, digests));
        }
        let word = if size.is_multiple_of(4) { 4 } else { 2 };
        let op = Strong { kind, scope: Scope::Device, acquires: false, releases: false, result: false, step: None };
        for offset in (0..size).step_by(word as usize) {
            self.access_causally(mode, (word, at + offset), What::Strong(op));
        }
    }

    /// The address of a lane in the memory of the search; `None` for memory of one thread.
    fn flat(&self, mode: u32, lane: usize, at: u32) -> Option<u64> {
        let address = self.addresses[lane].wrapping_add(at.into());
        let shared = match space(mode) {
            GLOBAL => false,
            SHARED => true,
            GENERIC if address >> 56 == 0 => false,
            GENERIC if address >> 56 == SHARED_WINDOW >> 56 => true,
            _ => return None,
        };
        if !shared {
            return Some(address);
        }
        let rank = (address & (SHARED_WINDOW - 1)) >> RANK_SHIFT;
        let block = rank.checked_sub(1).map_or(self.block.number as u32, |rank| self.block_of_rank(rank as u32));
        Some(in_shared(block, address & OFFSETS))
    }

    /// The address of a place in the memory of the search.
    pub(super) fn flat_of(&self, place: Place) -> u64 {
        match place {
            Place::Global(address) => address,
            Place::Shared(rank, offset) => in_shared(self.block_of_rank(rank), offset),
        }
    }

    /// The instruction that wrote an address last, with its block and thread: a device address, or a generic one of a block's shared
    /// memory. Nothing if no thread of the launch has written there, or if the search does not know.
    pub(super) fn last_writer(&self, block: &Block, address: u64) -> Option<(u32, u64, u32)> {
        let flat = match address >> 56 {
            0 => address,
            _ if address >> 56 == SHARED_WINDOW >> 56 => in_shared(block.number as u32, address & OFFSETS),
            _ => return None,
        };
        let mark = self.causality.as_ref()?.memory.last_write(flat)?;
        let thread = u32::from(mark.warp) * 32 + mark.lanes.trailing_zeros();
        Some((mark.pc, mark.block.into(), thread))
    }

    fn block_of_rank(&self, rank: u32) -> u32 {
        match self.has_clusters() {
            true => self.launch.block_number(self.launch.block_index(self.cluster().number, rank)) as u32,
            false => self.block.number as u32,
        }
    }

    /// The lanes from one on, of a mask, whose accesses follow each other in one page of the search. `address` is that of the first one there.
    fn row_of(&self, first: u32, mask: u32, (address, size): (u64, u32)) -> u32 {
        if !address.is_multiple_of(size.into()) {
            return 1 << first;
        }
        let most = ((STEP - address % STEP) / u64::from(size)).min(32 - u64::from(first)) as u32;
        let start = self.addresses[first as usize];
        let follows = |count: &u32| {
            let lane = first + count;
            mask >> lane & 1 == 1 && self.addresses[lane as usize] == start.wrapping_add(u64::from(count * size))
        };
        let count = 1 + (1..most).take_while(follows).count();
        (u32::MAX >> (32 - count)) << first
    }

    /// Compares and records accesses to the shared memory of the block that need no closer look. Returns the lanes, all behind the others,
    /// that must be compared one by one.
    fn share_causally(
        &self,
        causality: &mut Causality,
        threads: &mut Threads,
        mode: u32,
        (size, at): (u32, u32),
        what: What<'_>,
    ) -> u32 {
        if space(mode) != SHARED || self.has_clusters() || self.mask == 0 {
            return self.mask;
        }
        let (block, warp) = (self.block.number as u32, self.warp.number);
        let group = threads.of(warp, self.mask.trailing_zeros());
        if group.lanes & self.mask != self.mask {
            return self.mask;
        }
        let view = View::new(group.known_of(true), threads.height, block);
        let together = match what {
            What::Weak(_, values) => Together::Weak(values),
            What::Strong(op) if causality.memory.hands_nothing_over(group, &view, block, op) => Together::Strong(op),
            _ => return self.mask,
        };
        let offsets = std::array::from_fn(|lane| self.addresses[lane].wrapping_add(at.into()) & OFFSETS);
        let (pc, stamp, kind) = (self.pc - 1, causality.clock.now(), what.kind());
        let (lanes, by_copy, read_only) = (self.mask, false, false);
        let mark = Mark { block, pc, stamp, lanes, value: 0, warp: warp as u8, kind, by_copy, read_only };
        causality.memory.in_shared_together(threads, &view, (mark, together), (&offsets, size))
    }

    fn access_causally(&mut self, mode: u32, (size, at): (u32, u32), what: What<'_>) {
        self.with_causality(|machine, causality, threads| {
            let (block, warp) = (machine.block.number as u32, machine.warp.number);
            let (mut found, mut reported) = (Vec::new(), Vec::new());
            let mask = machine.mask;
            let Copying { landed, bulk: by_copy } = machine.copying;
            let read_only = mode & READ_ONLY != 0 && causality.strict && what.kind() == Kind::Read;
            let by = match what {
                What::Object(Write::Initializes, _) => causality.initializer(block),
                _ if landed => causality.agent(block),
                _ => block,
            };
            let may_be_row = by == block && !by_copy && !read_only && size.is_power_of_two();
            // The lanes of a group have one view.
            let (mut group, mut known) = ((0, false), View::new(Times::default(), threads.height, block));
            let (mut rest, mut no_row) = (mask, 0);
            if by == block && !by_copy {
                rest = machine.share_causally(causality, threads, mode, (size, at), what);
            }
            while rest != 0 {
                let lane = rest.trailing_zeros();
                rest &= rest - 1;
                let Some(address) = machine.flat(mode, lane as usize, at) else { continue };
                let actor = Actor { block, warp, lane };
                let value = match what {
                    What::Weak(_, digests) | What::Object(_, digests) => digests[lane as usize],
                    What::Strong(_) => 0,
                };
                let (kind, pc, stamp) = (what.kind(), machine.pc - 1, causality.clock.now());
                if group.0 >> lane & 1 == 0 || group.1 != is_shared(address) {
                    let of = threads.of(warp, lane);
                    let times = of.known_of(is_shared(address));
                    (group, known) = ((of.lanes, is_shared(address)), View::new(times, threads.height, block));
                }
                let mark =
                    Mark { block: by, pc, stamp, lanes: 1 << lane, value, warp: warp as u8, kind, by_copy, read_only };
                // Shared memory is small, and mostly read in another order than written.
                if let What::Weak(_, values) = what
                    && may_be_row
                    && !group.1
                    && no_row >> lane & 1 == 0
                {
                    let lanes = machine.row_of(lane, group.0 & (rest | 1 << lane), (address, size));
                    let row = Mark { lanes, value: 0, ..mark };
                    if lanes.count_ones() >= SHORTEST_ROW
                        && causality.memory.weak_row(&known, (actor, row), (address, size), values)
                    {
                        rest &= !lanes;
                        continue;
                    }
                    no_row |= lanes;
                }
                match what {
                    What::Strong(op) => {
                        let before = threads.changes;
                        causality.memory.strong(threads, &known, (actor, mark, op), (address, size), &mut found);
                        if threads.changes != before {
                            group.0 = 0;
                        }
                    }
                    What::Weak(..) | What::Object(..) => {
                        let followed =
                            matches!(what, What::Object(Write::Invalidates, _)).then(|| known.with_followed());
                        let view = followed.as_ref().unwrap_or(&known);
                        let mut done = 0;
                        while done < u64::from(size) {
                            let from = address + done;
                            let count = (u64::from(size) - done).min(STEP - from % STEP);
                            causality.memory.weak(threads, view, (actor, mark), (from, count as u32), &mut found);
                            done += count;
                        }
                    }
                }
                // An empty `Drain` costs more than the comparison of the access.
                if found.is_empty() {
                    continue;
                }
                found.iter_mut().for_each(|conflict| conflict.mark.block = causality.block_of(conflict.mark.block));
                machine.add_causal_races(&mut found, &mut reported, &Mark { block, ..mark }, (address, size));
            }
        });
    }

    /// Reports the races of a lane's access, each once for the instruction.
    #[cold]
    fn add_causal_races(
        &mut self,
        found: &mut Vec<Conflict>,
        reported: &mut Vec<(u32, Kind, Option<Why>)>,
        mark: &Mark,
        place: (u64, u32),
    ) {
        for conflict in found.drain(..) {
            let key = (conflict.mark.pc, conflict.mark.kind, conflict.why);
            if !reported.contains(&key) && self.add_causal_race(&conflict, mark, place) {
                reported.push(key);
            }
        }
    }

    /// Reports writes of the launch to the bytes that the lanes read as texels. A texture's cache need not see them.
    #[cold]
    pub(super) fn meet_unseen_writes(&mut self, size: u32) {
        self.with_causality(|machine, causality, _| {
            let (block, warp) = (machine.block.number as u32, machine.warp.number as u8);
            let (mut found, mut reported) = (Vec::new(), Vec::new());
            for lane in machine.lanes() {
                let (address, pc, stamp) = (machine.addresses[lane], machine.pc - 1, causality.clock.now());
                let mark = Mark {
                    block,
                    pc,
                    stamp,
                    lanes: 1 << lane,
                    value: 0,
                    warp,
                    kind: Kind::Read,
                    by_copy: false,
                    read_only: true,
                };
                let mut done = 0;
                while done < u64::from(size) {
                    let from = address + done;
                    let count = (u64::from(size) - done).min(STEP - from % STEP);
                    causality.memory.unseen((from, count as u32), &mut found);
                    done += count;
                }
                for mut conflict in found.drain(..) {
                    conflict.mark.block = causality.block_of(conflict.mark.block);
                    if !reported.contains(&conflict.mark.pc)
                        && machine.add_causal_race(&conflict, &mark, (address, size))
                    {
                        reported.push(conflict.mark.pc);
                    }
                }
            }
        });
    }

    /// Reports a race; returns `false` if it is held back, because the accesses update in place.
    #[cold]
    fn add_causal_race(&mut self, conflict: &Conflict, now: &Mark, (address, size): (u64, u32)) -> bool {
        let access = |mark: &Mark, lane: u32| Access {
            block: mark.block.into(),
            thread: u32::from(mark.warp) * 32 + lane,
            pc: Some(mark.pc),
            writes: mark.kind != Kind::Read,
            atomic: mark.kind == Kind::Atomic,
            pending: None,
        };
        let accesses = [access(&conflict.mark, conflict.lane), access(now, now.lanes.trailing_zeros())];
        let between = accesses[0].block != accesses[1].block;
        let shared = address >> 63 == 1;
        let address = if shared { address & cluster::OFFSETS } else { address };
        let mut race = Race { shared, address, size, accesses, why: conflict.why };
        if !between && !self.launch.strict {
            let updates = self.block.watched.as_mut().map(|watched| &mut watched.updates);
            if updates.is_some_and(|updates| hold_back(self.launch, &race, updates)) {
                return false;
            }
        }
        let actor =
            |access: &Access| Actor { block: access.block as u32, warp: access.thread / 32, lane: access.thread % 32 };
        let mut sides = [(actor(&race.accesses[0]), conflict.mark.stamp), (actor(&race.accesses[1]), now.stamp)];
        if between && race.accesses[1].block < race.accesses[0].block {
            race.accesses.swap(0, 1);
            sides.swap(0, 1);
            race.why = race.why.map(Why::swapped);
        }
        if between && race.why.is_none() && !conflict.mark.by_copy && !now.by_copy {
            self.races.early.add(race, sides);
        }
        self.races.add(self.launch, race, between);
        true
    }

    /// States that accesses came before the waits of lanes that end now.
    pub(super) fn note_early_accesses(&mut self, lanes: u32) {
        if self.races.early.is_empty() {
            return;
        }
        self.with_causality(|machine, _, threads| {
            let (block, warp) = (machine.block.number as u32, machine.warp.number);
            let early = &mut machine.races.early;
            let found = early.end(threads.height, (block, warp, lanes), |lane| &threads.of(warp, lane).view);
            for (race, own) in found {
                machine.races.explain(&race, Why::EarlyAccess { first: own == 0 });
            }
        });
    }
}
