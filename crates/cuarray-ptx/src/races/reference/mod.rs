//! Tests of the shadow memory against a list of all accesses, compared in pairs.

use super::blocks::{Grid, Slot};
use super::cell::{Kind, Now, Origin};
use super::order::Order;
use super::page::{PAGE, Shadow};
use super::span::{Row, bits};
use std::collections::BTreeSet;

mod deferred;
mod one_thread_pieces;

/// Reproducible pseudo-random numbers (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % u64::from(end)) as u32
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }

    fn mask(&mut self) -> u32 {
        match self.below(6) {
            0 => 1 << self.below(32),
            1 => self.below(1 << 31) << 1 | 1,
            2 => u32::MAX >> self.below(32),
            3 => u32::MAX << self.below(32),
            _ => u32::MAX,
        }
    }
}

/// The pages of the memory.
const PAGES: u64 = 2;

/// An access of a warp: adjacent accesses of its lanes.
#[derive(Clone, Copy, Debug)]
struct Access {
    kind: Kind,
    pc: u32,
    page: u64,
    row: Row,
    /// The written value minus the lane; `None` if all lanes write one value.
    value: Option<u32>,
}

impl Access {
    fn new(numbers: &mut Numbers, pcs: u32, alone: bool) -> Access {
        let kind = numbers.one_of(&[Kind::Read, Kind::Read, Kind::Write, Kind::Atomic]);
        let size = numbers.one_of(&[4, 4, 4, 4, 1, 2, 8, 16]);
        let (mut step, mut lanes) = (size, numbers.mask());
        let mut value = (numbers.below(3) > 0).then(|| numbers.below(2));
        match numbers.below(8) {
            0 | 1 => lanes = 1 << numbers.below(32),
            2 => (step, value) = (0, None),
            3 if size < 8 => step = size * (2 + numbers.below(3)),
            _ => {}
        }
        if kind != Kind::Write {
            value = None;
        }
        let lane = lanes.trailing_zeros();
        let last = 31 - lanes.leading_zeros() - lane;
        let room = (PAGE as u32 - size - last * step) / size + 1;
        // Blocks and warps meet in a part of the memory.
        let place = if numbers.below(3) == 0 { numbers.below(room) } else { numbers.below(room.min(8)) };
        let pc = kind as u32 * 100 + numbers.below(pcs);
        let page = if alone { numbers.below(PAGES as u32) } else { 0 };
        Access { kind, pc, page: page.into(), row: Row { offset: place * size, size, step, lane, lanes }, value }
    }

    fn values(&self) -> [u32; 32] {
        std::array::from_fn(|lane| self.value.map_or(7, |add| lane as u32 + add))
    }

    /// The first byte and the lane of each access.
    fn lanes(&self) -> impl Iterator<Item = (u64, u32)> {
        let Access { row, page, .. } = *self;
        bits(row.lanes).map(move |lane| (page * PAGE + u64::from(row.offset + (lane - row.lane) * row.step), lane))
    }
}

/// An access of one lane, with its time.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    block: u32,
    thread: u32,
    clock: u32,
    start: u64,
    size: u32,
    kind: Kind,
    pc: u32,
    value: u32,
}

impl Recorded {
    /// Whether two accesses conflict if nothing orders them.
    fn conflicts(&self, other: &Recorded) -> bool {
        let overlap =
            self.start < other.start + u64::from(other.size) && other.start < self.start + u64::from(self.size);
        let kinds = match (self.kind, other.kind) {
            // Digests of different sizes are of different bytes.
            (Kind::Write, Kind::Write) => self.value != other.value,
            (one, other) => one != other,
        };
        overlap && kinds
    }
}

/// The state of a running block, with a list of its accesses.
struct Block {
    number: u32,
    warps: usize,
    order: Order,
    shadow: Shadow,
    accesses: Vec<Recorded>,
}

impl Block {
    fn start(&mut self, number: u32, warps: usize) {
        (self.number, self.warps) = (number, warps);
        assert!(self.order.start(warps, 0));
        self.shadow.start();
        self.accesses.clear();
    }

    /// Lets threads synchronize in some way.
    fn synchronize(&mut self, numbers: &mut Numbers) {
        let warp = numbers.below(self.warps as u32);
        match numbers.below(8) {
            0 => {
                (0..self.warps as u32).for_each(|warp| self.order.arrive(0, warp, u32::MAX, true));
                self.order.complete(0, true, |_| 0);
            }
            1 => {
                let other = numbers.below(self.warps as u32);
                self.order.arrive(1, warp, u32::MAX, false);
                self.order.arrive(1, other, u32::MAX, true);
                self.order.complete(1, false, |_| 0);
            }
            2 | 3 => self.order.synchronize_lanes(warp, u32::MAX, u32::MAX),
            _ => {
                let members = numbers.mask();
                self.order.synchronize_lanes(warp, members, u32::MAX);
            }
        }
    }

    /// The pairs of instructions with a race of an access and earlier ones, by the list.
    fn expected(&mut self, warp: u32, access: &Access) -> BTreeSet<(u32, u32)> {
        let (values, mut found, known) = (access.values(), BTreeSet::new(), self.accesses.len());
        for (start, lane) in access.lanes() {
            let now = Recorded {
                block: self.number,
                thread: warp * 32 + lane,
                clock: self.order.now(warp),
                start,
                size: access.row.size,
                kind: access.kind,
                pc: access.pc,
                value: values[lane as usize],
            };
            let races = |before: &&Recorded| {
                before.thread != now.thread
                    && before.conflicts(&now)
                    && !self.order.before(before.thread, before.clock, warp, lane)
            };
            found.extend(self.accesses[..known].iter().filter(races).map(|before| (before.pc, now.pc)));
            self.accesses.push(now);
        }
        found
    }

    /// Those pairs by the shadow memory; each is compared with the list.
    fn found(&mut self, warp: u32, access: &Access) -> BTreeSet<(u32, u32)> {
        let now = Now::new(&self.order, warp, access.pc, access.kind);
        let mut pairs = Vec::new();
        let place = self.shadow.global_place(access.page, access.row.size, |_| 0);
        let page = self.shadow.global_page(place);
        page.touch(&access.row, &now, &self.order, &access.values(), &mut |lane, with| {
            pairs.push((lane, with));
            true
        });
        for (lane, with) in &pairs {
            let own = access.lanes().find(|(_, other)| other == lane).expect("the lane takes part");
            let overlaps = |other: &&Recorded| {
                (other.start, other.pc, other.thread) < (own.0 + u64::from(access.row.size), u32::MAX, 0)
                    && other.start + u64::from(other.size) > own.0
                    && other.thread == with.thread()
            };
            assert!(self.accesses.iter().any(|other| overlaps(&other)), "no such access: {with:?}, {access:?}");
        }
        pairs.into_iter().map(|(_, with)| (with.pc().unwrap_or(0), access.pc)).collect()
    }
}

fn block() -> Block {
    Block { number: 0, warps: 0, order: Order::default(), shadow: Shadow::default(), accesses: Vec::new() }
}

#[test]
fn races_in_a_block_are_those_of_a_list_of_all_accesses() {
    let (mut numbers, mut block) = (Numbers(0x9e37_79b9_7f4a_7c15), block());
    let mut counts = [0; 2];
    for case in 0..600 {
        block.start(0, 1 + numbers.below(4) as usize);
        let pcs = 1 + numbers.below(3);
        for index in 0..6 + numbers.below(30) {
            if numbers.below(3) == 0 {
                block.synchronize(&mut numbers);
                continue;
            }
            let (warp, access) = (numbers.below(block.warps as u32), Access::new(&mut numbers, pcs, true));
            let expected = block.expected(warp, &access);
            let found = block.found(warp, &access);
            assert_eq!(found, expected, "case {case}, access {index}: warp {warp}, {access:?}");
            counts[usize::from(!found.is_empty())] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}

#[test]
fn many_instructions_do_not_hide_a_race() {
    // Lists of marks are shortened, but each access with a race has one.
    let (mut numbers, mut block) = (Numbers(0x1234_5678_9abc_def1), block());
    for case in 0..15 {
        block.start(0, 1 + numbers.below(3) as usize);
        for index in 0..300 {
            if numbers.below(6) == 0 {
                let warp = numbers.below(block.warps as u32);
                block.order.synchronize_lanes(warp, u32::MAX, u32::MAX);
            }
            let (warp, access) = (numbers.below(block.warps as u32), Access::new(&mut numbers, 40, false));
            let expected = block.expected(warp, &access);
            let found = block.found(warp, &access);
            assert_eq!(found.is_empty(), expected.is_empty(), "case {case}, access {index}: warp {warp}, {access:?}");
        }
    }
}

/// The conflicts that the shadow memories of some cores find: the range, and both accesses.
fn conflicts(accesses: &[(u32, u32, Access)], cores: usize, ranks: u32) -> BTreeSet<(u64, u32, [Slot; 2])> {
    let mut grids: Vec<Grid> = (0..cores).map(|_| Grid::new(usize::MAX, ranks)).collect();
    for (block, warp, access) in accesses {
        let grid = &mut grids[(*block >> ranks) as usize * 7 / 3 % cores];
        let place = grid.place(access.page, access.row.size);
        let slot = Slot { block: *block, origin: Origin::new(warp * 32, access.pc, access.kind) };
        grid.touch(place, &access.row, slot, &access.values());
    }
    let mut grid = grids.remove(0);
    grids.into_iter().for_each(|other| grid.merge(other));
    let mut found = BTreeSet::new();
    grid.conflicts(|conflict| {
        let mut slots = conflict.slots;
        slots.sort_unstable();
        // Pieces have different sizes on different cores, so that ranges are compared by bytes.
        found.extend((0..u64::from(conflict.size)).map(|byte| (conflict.address + byte, 1, slots)));
    });
    found
}

#[test]
fn conflicts_of_blocks_are_those_of_a_list_of_all_accesses() {
    let mut numbers = Numbers(0xfeed_beef_1234_5677);
    let mut counts = [0; 2];
    for case in 0..300 {
        let (ranks, blocks) = (numbers.below(2), 2 + numbers.below(4));
        let pcs = 1 + numbers.below(3);
        let mut accesses: Vec<(u32, u32, Access)> = Vec::new();
        // The blocks of a core run one after another, in any order.
        let first = numbers.below(blocks);
        for block in (0..blocks).map(|block| (block + first) % blocks) {
            for _ in 0..1 + numbers.below(5) {
                let mut access = Access::new(&mut numbers, pcs, true);
                if numbers.below(3) == 0 && !accesses.is_empty() {
                    access = accesses[numbers.below(accesses.len() as u32) as usize].2;
                }
                accesses.push((block, numbers.below(3), access));
            }
        }
        let mut list = Vec::new();
        for (block, warp, access) in &accesses {
            let values = access.values();
            list.extend(access.lanes().map(|(start, lane)| Recorded {
                block: *block,
                thread: warp * 32 + lane,
                clock: 0,
                start,
                size: access.row.size,
                kind: access.kind,
                pc: access.pc,
                value: values[lane as usize],
            }));
        }
        let apart = |one: &Recorded, other: &Recorded| one.block >> ranks != other.block >> ranks;
        let mut expected = BTreeSet::new();
        for (index, one) in list.iter().enumerate() {
            for other in list[..index].iter().filter(|other| apart(one, other) && one.conflicts(other)) {
                let (start, sizes) = (one.start.max(other.start), [one.size, other.size].map(u64::from));
                let pair = (one.pc.min(other.pc), one.pc.max(other.pc));
                let end = (one.start + sizes[0]).min(other.start + sizes[1]);
                expected.extend((start..end).map(|byte| (byte, pair)));
            }
        }
        let found = conflicts(&accesses, 1, ranks);
        for cores in [2, 3] {
            assert_eq!(conflicts(&accesses, cores, ranks), found, "case {case}: {cores} cores, {accesses:#?}");
        }
        let mut pairs = BTreeSet::new();
        for (byte, _, slots) in &found {
            let pcs = slots.map(|slot| slot.origin.pc().unwrap_or(0));
            pairs.insert((*byte, (pcs[0].min(pcs[1]), pcs[0].max(pcs[1]))));
            let of = |slot: &Slot, access: &&Recorded| {
                (access.block, access.thread) == (slot.block, slot.origin.thread())
                    && Some(access.pc) == slot.origin.pc()
                    && (access.start..access.start + u64::from(access.size)).contains(byte)
            };
            let [ones, others] = [0, 1].map(|index| list.iter().filter(move |access| of(&slots[index], access)));
            let racing = ones.flat_map(|one| others.clone().map(move |other| (one, other)));
            let mut racing = racing.filter(|(one, other)| apart(one, other));
            // The shadow knows the values of a block, not those of each thread.
            assert!(racing.any(|(one, other)| one.kind.conflicts(other.kind)), "case {case}: {slots:?}, {accesses:#?}");
        }
        // Of several values that blocks wrote, one pair of instructions is enough.
        let several = |pair: &(u64, (u32, u32))| pair.1.0 / 100 == 2 && pair.1.1 / 100 == 2;
        let bytes = |pairs: &BTreeSet<(u64, (u32, u32))>| -> BTreeSet<u64> {
            pairs.iter().filter(|pair| several(pair)).map(|pair| pair.0).collect()
        };
        assert_eq!(bytes(&pairs), bytes(&expected), "case {case}: {accesses:#?}");
        assert!(pairs.is_subset(&expected), "case {case}: {accesses:#?}");
        let others = |pairs: &BTreeSet<(u64, (u32, u32))>| -> BTreeSet<_> {
            pairs.iter().copied().filter(|pair| !several(pair)).collect()
        };
        assert_eq!(others(&pairs), others(&expected), "case {case}: {accesses:#?}");
        counts[usize::from(!found.is_empty())] += 1;
    }
    assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
}

#[test]
fn all_cores_watch_the_same_part_of_too_many_pages() {
    const LIMIT: usize = 500;
    let touched = |cores: u64| {
        let mut grids: Vec<Grid> = (0..cores).map(|_| Grid::new(LIMIT, 0)).collect();
        for number in 0..LIMIT as u64 * 5 {
            for block in 0..2 {
                let grid = &mut grids[((number + block) % cores) as usize];
                let place = grid.place(number, 8);
                if place != super::page::NONE {
                    let row = Row { offset: 0, size: 8, step: 0, lane: 0, lanes: 1 };
                    let slot = Slot { block: block as u32, origin: Origin::new(0, 1, Kind::Write) };
                    grid.touch(place, &row, slot, &[block as u32; 32]);
                }
            }
        }
        let mut grid = grids.remove(0);
        grids.into_iter().for_each(|other| grid.merge(other));
        let (mut found, level) = (Vec::new(), grid.level());
        grid.conflicts(|conflict| found.push(conflict.address));
        found.sort_unstable();
        (level, found)
    };
    let (level, found) = touched(1);
    assert!(level > 0 && found.len() <= LIMIT && found.len() > LIMIT / 8, "{level} {}", found.len());
    assert_eq!(touched(2), (level, found.clone()));
    assert_eq!(touched(3), (level, found));
}
