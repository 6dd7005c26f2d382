//! Accesses to global memory that may be recorded alone, against the list of all accesses.

use super::super::blocks::rank;
use super::super::global_access::GlobalAccess;
use super::*;

impl Block {
    /// As [`Block::found`], for an access that is recorded for the comparison of blocks too.
    fn found_in_grid(&mut self, grid: &mut Grid, warp: u32, access: &Access) -> BTreeSet<(u32, u32)> {
        let Block { order, shadow, number, .. } = self;
        let now = Now::new(order, warp, access.pc, access.kind);
        let (mut pairs, values) = (BTreeSet::new(), access.values());
        let mut global = GlobalAccess::new((order, shadow, grid), now, *number, &values);
        global.touch(access.page, &access.row, &mut |_, with| {
            pairs.insert((with.pc().unwrap_or(0), access.pc));
            true
        });
        pairs
    }
}

/// The conflicting bytes, with both accesses.
fn conflicts(grid: &Grid) -> BTreeSet<(u64, [Slot; 2])> {
    let mut found = BTreeSet::new();
    grid.conflicts(|conflict| {
        let mut slots = conflict.slots;
        slots.sort_unstable();
        found.extend((0..u64::from(conflict.size)).map(|byte| (conflict.address + byte, slots)));
    });
    found
}

#[test]
fn accesses_that_are_recorded_alone_have_the_races_of_a_list_of_all_accesses() {
    let (mut numbers, mut block) = (Numbers(0x0a10_4e0a_10e1_1e5d), block());
    // Accesses without and with races, and launches without and with conflicts of blocks.
    let (mut counts, mut launches) = ([0; 2], [0; 2]);
    for case in 0..800 {
        let mut usual = Grid::new(usize::MAX, 0);
        let mut grids: Vec<Grid> = (0..1 + numbers.below(3)).map(|_| Grid::new(usize::MAX, 0)).collect();
        grids.iter_mut().for_each(|grid| grid.sequential = true);
        for number in 0..1 + numbers.below(4) {
            block.start(number, 1 + numbers.below(3) as usize);
            let cores = grids.len();
            let grid = &mut grids[number as usize % cores];
            let pcs = 1 + numbers.below(3);
            let mut last: Option<(u32, Access)> = None;
            for index in 0..4 + numbers.below(12) {
                if numbers.below(5) == 0 {
                    block.synchronize(&mut numbers);
                    continue;
                }
                let new = Access::new(&mut numbers, pcs, true);
                let (warp, access) = match last.filter(|_| numbers.below(4) > 0) {
                    // These lanes access their bytes again.
                    Some((warp, last)) => {
                        let value = (new.kind == Kind::Write && last.row.step > 0).then(|| numbers.below(2));
                        (warp, Access { kind: new.kind, pc: new.pc, value, ..last })
                    }
                    None => (numbers.below(block.warps as u32), new),
                };
                last = Some((warp, access));
                let expected = block.expected(warp, &access);
                let found = block.found_in_grid(grid, warp, &access);
                assert_eq!(found, expected, "case {case}, access {index}: warp {warp}, {access:?}");
                counts[usize::from(!found.is_empty())] += 1;
                let slot = Slot { block: number, origin: Origin::new(warp * 32, access.pc, access.kind) };
                let place = usual.place(access.page, access.row.size);
                usual.touch(place, &access.row, slot, &access.values());
            }
        }
        let mut grid = grids.remove(0);
        grids.into_iter().for_each(|other| grid.merge(other));
        let found = conflicts(&grid);
        assert_eq!(found, conflicts(&usual), "case {case}");
        launches[usize::from(!found.is_empty())] += 1;
    }
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
    assert!(launches.iter().all(|count| *count > 100), "{launches:?}");
}

#[test]
fn many_instructions_that_are_recorded_alone_do_not_hide_a_race() {
    let (mut numbers, mut block) = (Numbers(0x51a7_e0f0_0a10_4e00), block());
    let mut counts = [0; 2];
    for case in 0..400 {
        let mut grid = Grid::new(usize::MAX, 0);
        grid.sequential = true;
        block.start(case, 3);
        let kind = numbers.one_of(&[Kind::Read, Kind::Write, Kind::Atomic]);
        // Each of two warps accesses one half of a line.
        let half = |warp: u32, pc: u32, value: u32| {
            let (first, value) = (16 * warp, (kind == Kind::Write).then_some(value));
            let row = Row { offset: 4 * first, size: 4, step: 4, lane: first, lanes: 0xffff << first };
            Access { kind, pc: kind as u32 * 100 + pc, page: 0, row, value }
        };
        let mut touch = |block: &mut Block, warp: u32, access: Access| {
            let expected = block.expected(warp, &access);
            let found = block.found_in_grid(&mut grid, warp, &access);
            assert_eq!(found.is_empty(), expected.is_empty(), "case {case}: warp {warp}, {access:?}");
            !found.is_empty()
        };
        for warp in 0..2 {
            for pc in 0..6 + numbers.below(4) {
                assert!(!touch(&mut block, warp, half(warp, pc, 0)));
            }
        }
        (0..3).for_each(|warp| block.order.arrive(0, warp, u32::MAX, true));
        block.order.complete(0, true, |_| 0);
        // Some instructions run again behind the barrier.
        for _ in 0..numbers.below(3) {
            let warp = numbers.below(2);
            touch(&mut block, warp, half(warp, numbers.below(6), numbers.below(2)));
        }
        let other = Access { kind: Kind::Write, pc: 299, value: Some(5), ..half(numbers.below(2), 0, 0) };
        let races = touch(&mut block, 2, other);
        counts[usize::from(races)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

#[test]
fn accesses_that_are_recorded_alone_stay_in_the_watched_part_when_it_is_halved() {
    let (mut grid, mut block) = (Grid::new(4, 0), block());
    grid.sequential = true;
    block.start(0, 2);
    let access = |page: u64, pc: u32| {
        let row = Row { offset: 0, size: 4, step: 12, lane: 0, lanes: u32::MAX };
        Access { kind: Kind::Write, pc, page, row, value: Some(pc) }
    };
    for page in 0..64 {
        assert_eq!(block.found_in_grid(&mut grid, 0, &access(page, 1)), BTreeSet::new());
    }
    let watched: Vec<u64> = (0..64).filter(|page| rank(*page) >= grid.level()).collect();
    assert!(grid.level() > 0 && (1..=4).contains(&watched.len()), "{watched:?}");
    for page in 0..64 {
        let races = block.found_in_grid(&mut grid, 1, &access(page, 2));
        assert_eq!(!races.is_empty(), watched.contains(&page), "page {page}");
    }
}
