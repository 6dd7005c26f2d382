//! Accesses of two streams to a thousand bytes: conflicts, segments and unwritten bytes.

use super::*;
use crate::detector::clock::{Lane, LaneNumber, Retired};
use crate::detector::operation::{Caller, Operation};
use crate::detector::region::{Extent, Manner};
use std::sync::{Arc, OnceLock};

/// Two unordered streams, and the memory `0..1000`.
struct Fixture {
    shadow: Shadow,
    host: Lane,
    streams: Vec<Lane>,
    retired: Retired,
    manner: Manner,
    count: u64,
}

impl Fixture {
    fn new() -> Fixture {
        let mut shadow = Shadow::default();
        shadow.create(0, 1000, false, None);
        let streams = vec![Lane::new(1), Lane::new(2)];
        Fixture {
            shadow,
            host: Lane::new(0),
            streams,
            retired: Retired::default(),
            manner: Manner::default(),
            count: 0,
        }
    }

    /// Accesses bytes in a stream; returns the conflicting operations.
    fn access(&mut self, stream: usize, access: AccessKind, region: Region) -> Vec<u64> {
        self.run(stream, |shadow, by| shadow.access(&region, access, by))
    }

    fn access_ranges(&mut self, stream: usize, access: AccessKind, ranges: &[(u64, u64)]) -> Vec<u64> {
        self.run(stream, |shadow, by| shadow.access(&Region::listed(ranges.into()), access, by))
    }

    /// Accesses the ranges in one operation, one after another.
    fn access_each(&mut self, stream: usize, access: AccessKind, ranges: &[(u64, u64)]) -> Vec<u64> {
        self.run(stream, |shadow, by| {
            let rows = ranges.iter().map(|(start, end)| Region::row(*start, end - start));
            rows.flat_map(|row| shadow.access(&row, access, by)).collect()
        })
    }

    fn run(&mut self, stream: usize, f: impl FnOnce(&mut Shadow, &Observer<'_>) -> Vec<Conflict>) -> Vec<u64> {
        self.count += 1;
        let lane = &mut self.streams[stream];
        lane.called_by(&self.host, &self.retired);
        let (operation, clock) = (operation(self.count, lane.number), lane.clock());
        let by = Observer {
            operation: &operation,
            clock: &clock,
            retired: &self.retired,
            floor: Some(&self.host),
            manner: self.manner,
            device: Some(0),
        };
        let conflicts = f(&mut self.shadow, &by);
        let mut found: Vec<u64> = conflicts.iter().map(|conflict| conflict.other.ordinal).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn write(&mut self, stream: usize, start: u64, length: u64) -> Vec<u64> {
        self.access(stream, AccessKind::Write, Region::row(start, length))
    }

    fn read(&mut self, stream: usize, start: u64, length: u64) -> Vec<u64> {
        self.access(stream, AccessKind::Read, Region::row(start, length))
    }

    fn synchronize(&mut self, stream: usize) {
        self.host.join(&self.streams[stream].clock(), &self.retired);
        self.host.advance();
    }
}

fn operation(ordinal: u64, lane: LaneNumber) -> Arc<Operation> {
    let (caller, after, accesses, fences) = (Caller::new(1, ""), Box::default(), OnceLock::new(), OnceLock::new());
    let (published, heard) = (OnceLock::new(), OnceLock::new());
    Arc::new(Operation { ordinal, lane, caller, after, accesses, fences, published, heard })
}

fn columns(start: u64, width: u64, rows: u64) -> Region {
    Region::new(start, 10, 0, Extent { width, height: rows, depth: 1 })
}

#[test]
fn unordered_accesses_conflict_if_one_writes() {
    let mut memory = Fixture::new();
    assert!(memory.write(0, 0, 100).is_empty());
    assert!(memory.write(0, 50, 100).is_empty());
    assert_eq!(memory.read(1, 40, 20), [1, 2]);
    assert!(memory.read(1, 150, 20).is_empty());
    assert!(memory.read(0, 150, 20).is_empty());
    assert_eq!(memory.write(0, 155, 1), [4]);
    memory.synchronize(1);
    assert!(memory.write(0, 40, 20).is_empty());
}

#[test]
fn segments_with_equal_history_unite() {
    let mut memory = Fixture::new();
    for part in 0..100 {
        memory.write(0, part * 10, 10);
    }
    assert_eq!(memory.shadow.len(), 100);
    memory.write(0, 0, 1000);
    assert_eq!(memory.shadow.len(), 1);
    memory.read(0, 100, 100);
    memory.synchronize(0);
    memory.read(0, 0, 1000);
    assert_eq!(memory.shadow.len(), 1);
}

#[test]
fn segments_of_neighbouring_allocations_do_not_unite() {
    let mut memory = Fixture::new();
    memory.shadow.create(1000, 2000, false, None);
    memory.write(0, 0, 1000);
    memory.write(0, 1000, 1000);
    memory.read(0, 0, 2000);
    assert_eq!(memory.shadow.len(), 2);
}

#[test]
fn conflicts_of_tall_boxes_are_exact() {
    let mut memory = Fixture::new();
    assert!(memory.access(0, AccessKind::Write, columns(0, 3, 100)).is_empty());
    assert_eq!(memory.shadow.len(), 1);
    assert!(memory.access(1, AccessKind::Write, columns(3, 7, 100)).is_empty());
    assert_eq!(memory.read(1, 2, 2), [1]);
    assert_eq!(memory.access(0, AccessKind::Read, columns(2, 2, 100)), [2]);
    assert!(memory.read(1, 23, 7).is_empty());
    assert_eq!(memory.access(0, AccessKind::Write, columns(4, 1, 100)), [2, 5]);
}

#[test]
fn tall_boxes_are_never_forgotten() {
    let mut memory = Fixture::new();
    memory.shadow.create(1000, 1_000_000, false, None);
    assert!(memory.access(0, AccessKind::Write, columns(0, 3, 70)).is_empty());
    for column in 0..WHOLE as u64 + 10 {
        let region = Region::new(1000 + column, 10_000, 0, Extent { width: 1, height: 90, depth: 1 });
        assert!(memory.access(0, AccessKind::Write, region).is_empty());
    }
    assert!(memory.read(1, 3, 7).is_empty());
    assert_eq!(memory.read(1, 11, 1), [1]);
    assert_eq!(memory.access(1, AccessKind::Write, columns(2, 1, 70)), [1]);
    assert_eq!(memory.read(1, 41_005, 1), [7]);
}

#[test]
fn many_ranges_have_the_conflicts_of_single_ones() {
    let (mut together, mut alone) = (Fixture::new(), Fixture::new());
    let mut state = 7_u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % limit
    };
    // An access whose bytes a later one of its stream has written again conflicts too.
    let check = |together: &[u64], alone: &[u64]| {
        assert!(alone.iter().all(|conflict| together.contains(conflict)), "{together:?}, {alone:?}");
        assert_eq!(together.is_empty(), alone.is_empty());
    };
    let mut found = 0;
    for _ in 0..400 {
        let (stream, write) = (below(2) as usize, below(3) > 0);
        let access = if write { AccessKind::Write } else { AccessKind::Read };
        match below(5) {
            0 => {
                together.synchronize(stream);
                alone.synchronize(stream);
            }
            1 => {
                let region = Region::row(below(900), 1 + below(100));
                let conflicts = together.access(stream, access, region.clone());
                check(&conflicts, &alone.access(stream, access, region));
            }
            _ => {
                let (first, step) = (below(8), 8 + 2 * below(2));
                let ranges =
                    (0..100).filter(|_| below(4) > 0).map(|index| (first + index * step, 4 + first + index * step));
                let ranges: Box<[(u64, u64)]> = ranges.filter(|(_, end)| *end <= 1000).collect();
                let conflicts = together.access_ranges(stream, access, &ranges);
                check(&conflicts, &alone.access_each(stream, access, &ranges));
                found += conflicts.len();
            }
        }
        assert_eq!(together.shadow.unwritten(0, 1000), alone.shadow.unwritten(0, 1000));
    }
    assert!(found > 200, "{found} conflicts");
    assert!(together.shadow.len() < alone.shadow.len());
}

#[test]
fn strong_accesses_conflict_outside_of_their_scope() {
    let mut memory = Fixture::new();
    let strong = |memory: &mut Fixture, stream, strength, start| {
        memory.manner.strength = strength;
        let found = memory.access(stream, AccessKind::Write, Region::row(start, 4));
        memory.manner = Manner::default();
        found
    };
    assert!(strong(&mut memory, 0, Strength::Device, 0).is_empty());
    assert!(strong(&mut memory, 1, Strength::System, 0).is_empty());
    assert_eq!(strong(&mut memory, 1, Strength::Host, 0), [1]);
    assert_eq!(memory.read(1, 0, 4), [1]);
    assert_eq!(memory.write(0, 0, 4), [2, 3, 4]);
}

#[test]
fn a_range_is_unwritten_if_it_is_its_only_unwritten_part() {
    let mut memory = Fixture::new();
    let check = |memory: &Fixture, expected: [bool; 4]| {
        let ranges = [(0, 100), (0, 40), (40, 100), (60, 80)];
        assert_eq!(ranges.map(|(start, end)| memory.shadow.is_unwritten(start, end)), expected);
        let whole = |(start, end): (u64, u64)| memory.shadow.unwritten(start, end) == [(start, end)];
        assert_eq!(ranges.map(whole), expected);
    };
    check(&memory, [true; 4]);
    memory.write(0, 0, 40);
    check(&memory, [false, false, true, true]);
    memory.write(0, 90, 100);
    check(&memory, [false, false, false, true]);
}

#[test]
fn unwritten_bytes_stay_unwritten_in_a_copy() {
    let mut memory = Fixture::new();
    memory.write(0, 0, 40);
    assert_eq!(memory.shadow.unwritten(0, 100), [(40, 100)]);
    let (from, to) = (Region::row(30, 20), columns(500, 5, 4));
    let holes = memory.shadow.holes(&from);
    memory.access(0, AccessKind::Write, to.clone());
    memory.shadow.unwrite(&to, &holes);
    assert_eq!(memory.shadow.unwritten_of(&to, true), Some((520, 535)));
    assert_eq!(memory.shadow.unwritten(500, 515), [(505, 510)]);
}

#[test]
fn only_live_memory_is_unwritten() {
    let mut memory = Fixture::new();
    memory.write(0, 0, 1000);
    let to = Region::row(990, 20);
    memory.shadow.unwrite(&to, &[(0, 20)]);
    assert_eq!(memory.shadow.unwritten(0, 2000), [(990, 1000)]);
    // An allocation is made of its own bytes.
    memory.shadow.create(1000, 1100, true, None);
    assert_eq!(memory.shadow.unwritten(0, 2000), [(990, 1000)]);
}

#[test]
fn padding_at_the_end_of_each_record_is_padding() {
    let mut memory = Fixture::new();
    // Records of 16 bytes: a number of 8 bytes, one of 4 bytes, and padding.
    for record in 0..5 {
        memory.write(0, record * 16, 12);
    }
    assert_eq!(memory.shadow.unwritten_of(&Region::row(0, 80), true), None);
    assert_eq!(memory.shadow.unwritten_of(&Region::row(0, 80), false), Some((12, 80)));
    // The last record has no value.
    assert_eq!(memory.shadow.unwritten_of(&Region::row(0, 96), true), Some((12, 96)));
    // One record could be an array without its last element.
    assert_eq!(memory.shadow.unwritten_of(&Region::row(0, 16), true), Some((12, 16)));
}

#[test]
fn gaps_between_elements_are_padding() {
    let mut memory = Fixture::new();
    for element in 0..5 {
        memory.write(0, element * 40, 8);
    }
    let unwritten =
        |memory: &Fixture, start, length, padding| memory.shadow.unwritten_of(&Region::row(start, length), padding);
    assert_eq!(unwritten(&memory, 0, 168, true), None);
    assert_eq!(unwritten(&memory, 0, 168, false), Some((8, 160)));
    // No written bytes follow the gap.
    assert_eq!(unwritten(&memory, 0, 170, true), Some((8, 170)));
    // A single gap that is longer than any element is not padding.
    assert_eq!(unwritten(&memory, 0, 48, true), Some((8, 40)));
    memory.write(0, 8, 20);
    assert_eq!(unwritten(&memory, 0, 48, true), None);
    assert_eq!(unwritten(&memory, 0, 88, true), Some((28, 80)));
    // Gaps of two dimensions.
    assert_eq!(unwritten(&memory, 0, 128, true), None);
}

#[test]
fn pageable_memory_has_a_history_from_its_first_access_to_the_allocation_of_its_address() {
    let mut fixture = Fixture::new();
    fixture.shadow.admit_outside(vec![(0, 100_000)]);
    assert!(!fixture.shadow.admits(5000) && fixture.shadow.admits(100_000));
    assert!(fixture.write(0, 200_000, 8).is_empty());
    assert_eq!(fixture.read(1, 200_004, 8), [1]);
    assert!(fixture.write(0, 203_000, 5000).is_empty());
    assert_eq!(fixture.write(1, 207_996, 100), [3]);
    assert!(fixture.write(0, 5000, 8).is_empty());
    assert!(!fixture.shadow.holds(5000) && fixture.shadow.holds(207_999));
    fixture.shadow.create(200_004, 200_100, true, None);
    assert!(fixture.write(1, 200_004, 96).is_empty());
    assert_eq!(fixture.write(1, 200_000, 4), [1]);
}
