//! Rows: coalesced accesses as one record.

use super::mark::{Cell, Mark};
use crate::races::cell::Kind;

/// The plain accesses of lanes to consecutive pieces: each lane of a mask to the piece behind that of the lane before. All these accesses
/// have the row's lanes, and each is ordered behind those that it conflicts with. A row takes a tenth of the memory of its cells.
pub(super) struct Row {
    offset: u32,
    /// The size of a piece.
    pub size: u32,
    lanes: u32,
    pub cell: Cell,
    /// By lane, the digests of the values that the only write has written.
    pub values: [u32; 32],
}

impl Row {
    pub(super) fn new((offset, size): (u32, u32), lanes: u32) -> Row {
        Row { offset, size, lanes, cell: Cell::new(), values: [0; 32] }
    }

    /// Whether the row has exactly these pieces, of these lanes.
    pub(super) fn has(&self, piece: (u32, u32), lanes: u32) -> bool {
        (self.offset, self.size, self.lanes) == (piece.0, piece.1, lanes)
    }

    pub(super) fn overlaps(&self, offset: u32, size: u32) -> bool {
        self.offset < offset + size && offset < self.offset + self.size * self.lanes.count_ones()
    }

    /// The lanes with the offsets of their pieces.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (first, offset, size) = (self.lanes.trailing_zeros(), self.offset, self.size);
        (0..self.lanes.count_ones()).map(move |index| (first + index, offset + index * size))
    }
    /// The accesses of a lane, each to its piece.
    pub(super) fn of_lane(&self, lane: u32) -> impl Iterator<Item = Mark> {
        let value = move |mark: &Mark| if mark.kind == Kind::Read { 0 } else { self.values[lane as usize] };
        self.cell.iter().map(move |mark| Mark { lanes: 1 << lane, value: value(mark), ..*mark })
    }

    /// The accesses to a range, each with the lanes whose pieces overlap it.
    pub(super) fn accesses(&self, offset: u32, size: u32) -> impl Iterator<Item = Mark> {
        let inside = self.pieces().filter(|(_, at)| *at < offset + size && offset < at + self.size);
        let lanes = inside.fold(0, |lanes, (lane, _)| lanes | 1 << lane);
        self.cell.iter().filter(move |_| lanes != 0).map(move |mark| Mark { lanes, ..*mark })
    }
}

#[cfg(test)]
mod tests {
    use crate::races::causality::mark::{Actor, Conflict, Mark};
    use crate::races::causality::memory::{Memory, Together, in_shared};
    use crate::races::causality::threads::{Clock, Fence, Scope, Threads};
    use crate::races::causality::view::View;
    use crate::races::causality::{Strong, Why, times};
    use crate::races::cell::Kind;

    const BLOCKS: u32 = 2;
    const WARPS: u32 = 2;

    /// A lane with what it races with.
    type Found = (u32, (u32, u8, u32), (u32, u32), Option<Why>);

    struct Grid {
        memory: Memory,
        threads: Vec<Threads>,
        clock: Clock,
        rows: u32,
    }

    impl Grid {
        fn new(strict: bool) -> Grid {
            let clock = Clock::default();
            let height = times::height(u64::from(BLOCKS) * 3);
            let block = |number| Threads::new((number, number + 4), WARPS as usize, height, clock.clone(), strict, 0);
            Grid {
                memory: Memory::new(strict),
                threads: (0..BLOCKS).map(block).collect(),
                clock: clock.clone(),
                rows: 0,
            }
        }

        fn mark(&self, actor: Actor, pc: u32, kind: Kind) -> Mark {
            let (block, warp, stamp) = (actor.block, actor.warp as u8, self.clock.now());
            Mark { block, pc, stamp, lanes: 1 << actor.lane, value: 0, warp, kind, by_copy: false, read_only: false }
        }

        /// Lets lanes from `actor` on access consecutive pieces, as a row if it may be one.
        fn access(
            &mut self,
            (actor, count): (Actor, u32),
            (address, size): (u64, u32),
            (pc, kind): (u32, Kind),
            values: &[u32; 32],
            may_be_row: bool,
        ) -> Vec<Found> {
            let threads = &self.threads[actor.block as usize];
            let group = threads.of(actor.warp, actor.lane);
            let lanes = (u32::MAX >> (32 - count)) << actor.lane;
            let view = View::new(group.view.clone(), threads.height, actor.block);
            let row = Mark { lanes, ..self.mark(actor, pc, kind) };
            if may_be_row
                && group.lanes & lanes == lanes
                && self.memory.weak_row(&view, (actor, row), (address, size), values)
            {
                self.rows += 1;
                return Vec::new();
            }
            let mut all = Vec::new();
            for index in 0..count {
                let actor = Actor { lane: actor.lane + index, ..actor };
                let mark = Mark { value: values[actor.lane as usize], ..self.mark(actor, pc, kind) };
                let threads = &self.threads[actor.block as usize];
                let view = View::new(threads.of(actor.warp, actor.lane).view.clone(), threads.height, actor.block);
                let mut found = Vec::new();
                let at = address + u64::from(index * size);
                self.memory.weak(threads, &view, (actor, mark), (at, size), &mut found);
                all.extend(found.into_iter().map(|conflict| named(actor.lane, &conflict)));
            }
            distinct(all)
        }

        fn add(&mut self, actor: Actor, address: u64, pc: u32) -> Vec<Found> {
            let (kind, scope) = (Kind::Atomic, Scope::Device);
            let op = Strong { kind, scope, acquires: true, releases: true, result: true, step: None };
            let mark = self.mark(actor, pc, kind);
            let threads = &mut self.threads[actor.block as usize];
            let view = View::new(threads.of(actor.warp, actor.lane).view.clone(), threads.height, actor.block);
            let mut found = Vec::new();
            self.memory.strong(threads, &view, (actor, mark, op), (address, 4), &mut found);
            self.clock.tick();
            distinct(found.iter().map(|conflict| named(actor.lane, conflict)).collect())
        }

        fn synchronize(&mut self, block: u32) {
            let threads = &mut self.threads[block as usize];
            (0..WARPS).for_each(|warp| threads.arrive(0, warp, u32::MAX, true));
            threads.complete(0, true, |_| 0);
        }
    }

    /// Rows leave larger cells, so a race is found for fewer of them.
    fn distinct(mut found: Vec<Found>) -> Vec<Found> {
        found.sort_by_key(|found| format!("{found:?}"));
        found.dedup();
        found
    }

    fn named(lane: u32, conflict: &Conflict) -> Found {
        let mark = &conflict.mark;
        (lane, (mark.block, mark.warp, conflict.lane), (mark.pc, mark.kind as u32), conflict.why)
    }

    /// Reproducible pseudo-random numbers, each below a limit.
    fn random_numbers(seed: u64) -> impl FnMut(u32) -> u32 {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % below
        }
    }

    impl Grid {
        /// Lets lanes access offsets in shared memory, together or one by one: plainly with values, or by strong operations.
        fn share(
            &mut self,
            (actor, lanes): (Actor, u32),
            (offsets, size): (&[u64; 32], u32),
            (pc, kind, what): (u32, Kind, Together<'_>),
            together: bool,
        ) -> Vec<Found> {
            let view = |threads: &Threads, lane| {
                let group = threads.of(actor.warp, lane).clone();
                let known = View::new(group.known_of(true), threads.height, actor.block);
                (group, known)
            };
            let (group, known) = view(&self.threads[actor.block as usize], lanes.trailing_zeros());
            let is_simple = match what {
                Together::Strong(op) => self.memory.hands_nothing_over(&group, &known, actor.block, op),
                Together::Weak(..) => true,
            };
            let mut left = lanes;
            if together && is_simple && group.lanes & lanes == lanes {
                let mark = Mark { lanes, ..self.mark(actor, pc, kind) };
                let threads = &mut self.threads[actor.block as usize];
                left = self.memory.in_shared_together(threads, &known, (mark, what), (offsets, size));
                self.rows += lanes.count_ones() - left.count_ones();
            }
            let mut all = Vec::new();
            for lane in (0..32).filter(|lane| left >> lane & 1 == 1) {
                let actor = Actor { lane, ..actor };
                let mark = self.mark(actor, pc, kind);
                let threads = &mut self.threads[actor.block as usize];
                let known = view(threads, lane).1;
                let (place, mut found) = ((in_shared(actor.block, offsets[lane as usize]), size), Vec::new());
                match what {
                    Together::Weak(values) => {
                        let mark = Mark { value: values[lane as usize], ..mark };
                        self.memory.weak(threads, &known, (actor, mark), place, &mut found);
                    }
                    Together::Strong(op) => {
                        self.memory.strong(threads, &known, (actor, mark, op), place, &mut found);
                    }
                }
                all.extend(found.iter().map(|conflict| named(lane, conflict)));
            }
            if matches!(what, Together::Strong(Strong { releases: true, .. })) {
                self.clock.tick();
            }
            distinct(all)
        }
    }

    #[test]
    fn lanes_that_are_compared_together_have_the_races_of_each() {
        let mut random = random_numbers(5);
        let (mut races, mut together, mut strong) = (0, 0, 0);
        for round in 0..600 {
            let (mut fast, mut slow) = (Grid::new(round % 2 == 1), Grid::new(round % 2 == 1));
            for pc in 0..40 {
                let actor = Actor { block: 0, warp: random(WARPS), lane: 0 };
                match random(12) {
                    0..4 => [&mut fast, &mut slow].into_iter().for_each(|grid| grid.synchronize(0)),
                    4 => {
                        for grid in [&mut fast, &mut slow] {
                            grid.threads[0].synchronize_lanes(actor.warp, u32::MAX);
                        }
                    }
                    5 if random(4) == 0 => {
                        let scope = [Scope::Block, Scope::Device][random(2) as usize];
                        let (initializations, restricted) = (false, false);
                        let fence =
                            Fence { acquires: true, releases: true, total: false, scope, initializations, restricted };
                        [&mut fast, &mut slow]
                            .into_iter()
                            .for_each(|grid| grid.threads[0].fence(actor.warp, u32::MAX, fence));
                    }
                    _ => {
                        let size = [4, 4, 4, 4, 1, 2, 8, 16][random(8) as usize];
                        let lanes = [u32::MAX, u32::MAX, random(u32::MAX) | 1, 1 << random(32)][random(4) as usize];
                        // Lanes have one place, consecutive places, or any.
                        let way = random(3);
                        let (first, places) = (random(32), 512 / size);
                        let offsets = std::array::from_fn(|lane| {
                            let place = [first, first + lane as u32, random(places)][way as usize] % places;
                            u64::from(place * size)
                        });
                        let equal = [1, 2, 32][random(3) as usize];
                        let values = std::array::from_fn(|lane| lane as u32 / equal);
                        let is_strong = size <= 8 && random(2) == 0;
                        let kind = [Kind::Read, Kind::Write, Kind::Atomic, Kind::Atomic][random(4) as usize];
                        let kind = if is_strong || kind != Kind::Atomic { kind } else { Kind::Read };
                        let what = match is_strong {
                            true => {
                                let scope = [Scope::Block, Scope::Device][random(2) as usize];
                                let (acquires, releases) = (random(8) == 0, random(8) == 0 && kind != Kind::Read);
                                let result = kind != Kind::Write && random(2) == 0;
                                Together::Strong(Strong { kind, scope, acquires, releases, result, step: None })
                            }
                            false => Together::Weak(&values),
                        };
                        let accesses = ((actor, lanes), (&offsets, size), (pc, kind, what));
                        let expected = slow.share(accesses.0, accesses.1, accesses.2, false);
                        let before = fast.rows;
                        assert_eq!(fast.share(accesses.0, accesses.1, accesses.2, true), expected);
                        strong += if is_strong { fast.rows - before } else { 0 };
                        races += expected.len();
                    }
                }
                for address in (0..512).step_by(32).map(|offset| in_shared(0, offset)) {
                    let last = [&fast, &slow].map(|grid| grid.memory.last_write(address));
                    let of = |mark: &Mark| (mark.pc, mark.stamp, mark.block, mark.warp);
                    assert_eq!(last[0].as_ref().map(of), last[1].as_ref().map(of));
                }
            }
            together += fast.rows;
        }
        let enough = races > 1_000 && together > 10_000 && strong > 10_000;
        assert!(enough, "{races} races, {together} lanes and {strong} strong operations are too few to show anything");
    }

    #[test]
    fn rows_have_the_races_of_their_lanes() {
        let mut random = random_numbers(3);
        let (mut races, mut rows) = (0, 0);
        for round in 0..600 {
            let strict = round % 2 == 1;
            let (mut by_row, mut by_lane) = (Grid::new(strict), Grid::new(strict));
            for pc in 0..40 {
                let actor = Actor { block: random(8) / 7, warp: random(WARPS), lane: 0 };
                match random(12) {
                    0..4 => [&mut by_row, &mut by_lane].into_iter().for_each(|grid| grid.synchronize(actor.block)),
                    4 => {
                        for grid in [&mut by_row, &mut by_lane] {
                            grid.threads[actor.block as usize].synchronize_lanes(actor.warp, u32::MAX);
                        }
                    }
                    5 if random(8) == 0 => {
                        let (actor, address) = (Actor { lane: random(32), ..actor }, u64::from(random(256) * 4));
                        let found = [&mut by_row, &mut by_lane].map(|grid| grid.add(actor, address, pc));
                        assert_eq!(found[0], found[1]);
                        races += found[0].len();
                    }
                    6 if random(8) == 0 => {
                        let range = (u64::from(random(64)) * 4, u64::from(random(64)) * 4 + 4);
                        [&mut by_row, &mut by_lane].into_iter().for_each(|grid| grid.memory.forget(range.0, range.1));
                    }
                    _ => {
                        let size = [4, 4, 4, 4, 4, 4, 1, 2, 8, 16][random(10) as usize];
                        let lane = if random(8) == 0 { random(16) } else { 0 };
                        // Most accesses begin at a page, so that their rows are the same.
                        let offset = if random(8) == 0 { random(128 / size) * size } else { 0 };
                        let count = (32 - lane).min((256 - offset) / size);
                        let address = u64::from(random(4) * 256 + offset);
                        let kind = if random(2) == 0 { Kind::Read } else { Kind::Write };
                        let equal = [1, 2, 32][random(3) as usize];
                        let values = std::array::from_fn(|lane| lane as u32 / equal);
                        let piece = ((Actor { lane, ..actor }, count), (address, size), (pc, kind));
                        let expected = by_lane.access(piece.0, piece.1, piece.2, &values, false);
                        assert_eq!(by_row.access(piece.0, piece.1, piece.2, &values, true), expected);
                        races += expected.len();
                    }
                }
                for address in (0..1024).step_by(64) {
                    let last = [&by_row, &by_lane].map(|grid| grid.memory.last_write(address));
                    let of = |mark: &Mark| (mark.pc, mark.stamp, mark.block, mark.warp, mark.lanes);
                    assert_eq!(last[0].as_ref().map(of), last[1].as_ref().map(of));
                }
            }
            rows += by_row.rows;
        }
        assert!(races > 1_000 && rows > 1_000, "{races} races and {rows} rows are too few to show anything");
    }
}
