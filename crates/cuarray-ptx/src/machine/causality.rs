//! Reports accesses, fences and synchronization to the search for races by the memory model.

use super::access_mode::{GUESS, STRONG, elements, strong};
use super::address_windows::SHARED_WINDOW;
use super::branching::fence_of;
use super::cluster::{OFFSETS, RANK_SHIFT};
use super::program::Instruction;
use super::watch::hold_back;
use super::{Machine, cluster};
use crate::races::causality::mark::{Actor, Conflict, Mark};
use crate::races::causality::memory::in_shared;
use crate::races::causality::threads::Threads;
use crate::races::causality::{Causality, Scope, Strong};
use crate::races::cell::Kind;
use crate::races::{Access, Race};

/// The bytes that the search compares at once: a page of its memory.
const STEP: u64 = 256;

/// An access of the lanes of the running instruction.
#[derive(Clone, Copy)]
enum What<'d> {
    /// A plain access, with the digests of written values.
    Weak(Kind, &'d [u32; 32]),
    Strong(Strong),
}

impl What<'_> {
    fn kind(self) -> Kind {
        match self {
            What::Weak(kind, _) => kind,
            What::Strong(op) => op.kind,
        }
    }
}

impl Machine<'_> {
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
    pub(super) fn end_causally(&mut self, last: bool) {
        let (block, bytes, cluster) = (self.block.number as u32, self.block.shared_bytes(), self.cluster().number);
        let Some(causality) = self.causality.as_mut() else { return };
        causality.block_ends(block, bytes);
        if last {
            causality.cluster_ends(cluster);
        }
    }

    /// Executes a fence with a code of [`fence_code`](super::branching::fence_code); 0 is none.
    #[cold]
    pub(super) fn fence_causally(&mut self, code: i64) {
        if code != 0 {
            let fence = fence_of(code);
            self.with_causality(|machine, _, threads| threads.fence(machine.warp.number, machine.mask, fence));
        }
    }

    /// Records an arrival at the barrier of the cluster, or a wait for its `turn`.
    pub(super) fn cluster_causally(&mut self, turn: Option<u32>, lanes: u32) {
        let number = self.cluster().number;
        self.with_causality(|machine, causality, threads| {
            let (barrier, warp) = (causality.cluster(number), machine.warp.number);
            match turn {
                Some(turn) => threads.wait_for_cluster(barrier, turn, warp, lanes),
                None => threads.arrive_at_cluster(barrier, warp, lanes),
            }
        });
    }

    /// Records the exit of threads for the barrier of the cluster.
    pub(super) fn exit_causally(&mut self) {
        if self.has_clusters() {
            let number = self.cluster().number;
            self.with_causality(|_, causality, threads| threads.exit_cluster(causality.cluster(number)));
        }
    }

    /// Records that asynchronous copies of a warp have completed.
    pub(super) fn land_causally(&mut self, warp: u32) {
        self.with_causality(|_, causality, threads| causality.copies_land(threads, warp));
    }

    /// Orders completed copies before the lanes, which have waited at a barrier object.
    pub(super) fn learn_landed(&mut self) {
        self.with_causality(|machine, causality, threads| {
            causality.learn_landed(threads, machine.warp.number, machine.mask);
        });
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
        if result {
            self.note_waited();
        }
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
    }

    /// Reports plain accesses. Reductions by asynchronous copies are relaxed operations on words.
    pub(super) fn touch_causally(&mut self, mode: u32, (size, at): (u32, u32), kind: Kind, digests: &[u32; 32]) {
        if kind != Kind::Atomic {
            return self.access_causally(mode, (size, at), What::Weak(kind, digests));
        }
        let word = if size.is_multiple_of(4) { 4 } else { 2 };
        let op = Strong { kind, scope: Scope::Device, acquires: false, releases: false, result: false };
        for offset in (0..size).step_by(word as usize) {
            self.access_causally(mode, (word, at + offset), What::Strong(op));
        }
    }

    /// The address of a lane in the memory of the search; `None` for memory of one thread.
    fn flat(&self, mode: u32, lane: usize, at: u32) -> Option<u64> {
        let address = self.addresses[lane].wrapping_add(at.into());
        let shared = match mode & 7 {
            1 => false,
            2 => true,
            0 if address >> 56 == 0 => false,
            0 if address >> 56 == SHARED_WINDOW >> 56 => true,
            _ => return None,
        };
        if !shared {
            return Some(address);
        }
        let rank = (address & (SHARED_WINDOW - 1)) >> RANK_SHIFT;
        let block = match rank.checked_sub(1) {
            Some(rank) if self.has_clusters() => {
                self.launch.block_number(self.launch.block_index(self.cluster().number, rank as u32))
            }
            _ => self.block.number,
        };
        Some(in_shared(block as u32, address & OFFSETS))
    }

    fn access_causally(&mut self, mode: u32, (size, at): (u32, u32), what: What<'_>) {
        self.with_causality(|machine, causality, threads| {
            let (block, warp) = (machine.block.number as u32, machine.warp.number);
            let (mut found, mut reported) = (Vec::new(), Vec::new());
            let mask = machine.mask;
            for lane in (0..32_u32).filter(|lane| mask >> lane & 1 == 1) {
                let Some(address) = machine.flat(mode, lane as usize, at) else { continue };
                let actor = Actor { block, warp, lane };
                let value = match what {
                    What::Weak(_, digests) => digests[lane as usize],
                    What::Strong(_) => 0,
                };
                let (kind, pc, stamp) = (what.kind(), machine.pc - 1, causality.clock.now());
                let mark = Mark { block, pc, stamp, lanes: 1 << lane, value, warp: warp as u8, kind };
                match what {
                    What::Strong(op) => {
                        causality.memory.strong(threads, (actor, mark, op), (address, size), &mut found)
                    }
                    What::Weak(..) => {
                        let mut done = 0;
                        while done < u64::from(size) {
                            let from = address + done;
                            let count = (u64::from(size) - done).min(STEP - from % STEP);
                            causality.memory.weak(threads, (actor, mark), (from, count as u32), &mut found);
                            done += count;
                        }
                    }
                }
                for conflict in found.drain(..) {
                    let key = (conflict.mark.pc, conflict.mark.kind, conflict.why);
                    if !reported.contains(&key) && machine.add_causal_race(&conflict, &mark, (address, size)) {
                        reported.push(key);
                    }
                }
            }
        });
    }

    /// Reports writes of the launch to the bytes that the lanes read as texels. A texture's cache need not see them.
    #[cold]
    pub(super) fn meet_unseen_writes(&mut self, size: u32) {
        self.with_causality(|machine, causality, _| {
            let (block, warp) = (machine.block.number as u32, machine.warp.number as u8);
            let (mut found, mut reported) = (Vec::new(), Vec::new());
            for lane in machine.lanes() {
                let (address, pc, stamp) = (machine.addresses[lane], machine.pc - 1, causality.clock.now());
                let mark = Mark { block, pc, stamp, lanes: 1 << lane, value: 0, warp, kind: Kind::Read };
                let mut done = 0;
                while done < u64::from(size) {
                    let from = address + done;
                    let count = (u64::from(size) - done).min(STEP - from % STEP);
                    causality.memory.unseen((from, count as u32), &mut found);
                    done += count;
                }
                for conflict in found.drain(..) {
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
        if between && race.accesses[1].block < race.accesses[0].block {
            race.accesses.swap(0, 1);
        }
        self.races.add(self.launch, race, between);
        true
    }
}
