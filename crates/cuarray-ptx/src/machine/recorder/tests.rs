//! Tests of recorded accesses and their ranges.

use super::*;

const REGIONS: [Region; 1] = [Region { start: 0x1000, end: 0x9000, host: 0, writable: true, slack: 0, group: 0 }];

/// Weak accesses to bytes of the region, which begin and end at these offsets.
fn range(start: u64, end: u64, kind: AccessKind) -> TouchedRange {
    TouchedRange::new(kind, Strength::Weak).piece(0x1000 + start, 0x1000 + end)
}

#[test]
fn recorded_bytes_become_ranges() {
    let (mut one, mut other) = (Recorder::new(true, 1), Recorder::new(true, 1));
    one.note(0, 4090, 12, false);
    one.note(0, 4102, 64, false);
    one.note(0, 5000, 1, false);
    other.note(0, 4088, 2, false);
    other.note(0, 0, 4096 * 3, true);
    other.note(0, 8000, 8, false);
    // An access behind a region has no byte in it.
    other.note(0, 8100, 0, true);
    one.merge(other);
    let (read, write, update) = (AccessKind::Read, AccessKind::Write, AccessKind::Update);
    assert_eq!(
        one.touched(&REGIONS),
        [
            range(4088, 4166, read),
            range(5000, 5001, read),
            range(8000, 8008, read),
            range(0, 4096 * 3, write),
            range(4088, 4166, update),
            range(5000, 5001, update),
        ]
    );
}

#[test]
fn ranges_at_one_distance_become_one() {
    let mut recorder = Recorder::new(true, 1);
    recorder.note_each(0, (0..1000).map(|index| index * 16), 4, true);
    recorder.note_each(0, [20_000, 20_004, 20_100, 20_208].into_iter(), 4, true);
    let elements = TouchedRange { length: 4, step: 16, ..range(0, 999 * 16 + 4, AccessKind::Write) };
    assert_eq!((elements.count(), elements.pieces().last()), (1000, Some((0x1000 + 999 * 16, 0x1000 + 999 * 16 + 4))));
    let pair = TouchedRange { length: 4, step: 108, ..range(20_100, 20_212, AccessKind::Write) };
    assert_eq!(recorder.touched(&REGIONS), [elements, range(20_000, 20_008, AccessKind::Write), pair]);
}

#[test]
fn a_read_and_write_of_one_instruction_is_an_update() {
    let mut recorder = Recorder::new(true, 1);
    recorder.note(0, 0, 4, true);
    recorder.updates = true;
    recorder.note(0, 0, 8, true);
    assert_eq!(recorder.touched(&REGIONS), [range(0, 8, AccessKind::Write), range(4, 8, AccessKind::Update)]);
}

#[test]
fn strong_accesses_are_listed_apart_from_weak_ones() {
    let (mut one, mut other) = (Recorder::new(true, 1), Recorder::new(true, 1));
    one.note(0, 0, 4, false);
    (other.strength, other.updates) = (Strength::Device, true);
    other.note(0, 0, 8, true);
    (other.strength, other.updates) = (Strength::System, false);
    other.note(0, 16, 4, false);
    one.merge(other);
    let range =
        |start: u64, end: u64, kind, strength| TouchedRange::new(kind, strength).piece(0x1000 + start, 0x1000 + end);
    assert_eq!(
        one.touched(&REGIONS),
        [
            range(0, 4, AccessKind::Read, Strength::Weak),
            range(16, 20, AccessKind::Read, Strength::System),
            range(0, 8, AccessKind::Write, Strength::Device),
            range(0, 8, AccessKind::Update, Strength::Weak),
        ]
    );
}

#[test]
fn access_before_a_release_is_released_and_access_behind_an_acquire_is_acquired() {
    let mut recorder = Recorder::new(true, 1).ordered(true);
    recorder.note(0, 0, 4, true);
    recorder.note_fence(Strength::System, true, true);
    recorder.note(0, 8, 4, true);
    recorder.strength = Strength::Device;
    recorder.note_strong(true, true, (false, false));
    recorder.note(0, 64, 4, true);
    recorder.strength = Strength::Weak;
    assert_eq!(recorder.handed_over(), [Strength::Device, Strength::Weak]);
    recorder.note_fence(Strength::Weak, true, true);
    assert_eq!(recorder.handed_over()[1], Strength::Weak, "a fence of the block");
    recorder.note_fence(Strength::Device, false, true);
    recorder.note(0, 16, 4, false);
    assert_eq!(recorder.handed_over(), [Strength::Device; 2]);
    let regions = [Region { start: 0, end: 4096, host: 0, writable: true, slack: 0, group: 0 }];
    let touched = recorder.touched(&regions);
    let of = |start: u64| {
        let range = touched.iter().find(|range| range.start == start && range.kind != AccessKind::Update).unwrap();
        (range.released, range.acquired)
    };
    assert_eq!([of(0), of(8), of(16)], [(true, false), (false, false), (false, true)]);
}

#[test]
fn strided_elements_are_as_single_ones() {
    for (offset, size, step) in
        [(0, 4, 8), (4, 4, 16), (60, 4, 8), (4090, 2, 32), (40, 8, 24), (12, 4, 64), (56, 8, 64), (4, 8, 8)]
    {
        for written in [false, true] {
            let (mut one, mut other) = (Recorder::new(true, 1), Recorder::new(true, 1));
            for start in [offset, offset + 32 * u64::from(step), offset + 70 * u64::from(step)] {
                one.note_strided(0, start, (size, step), written);
                for lane in 0..32 {
                    other.note(0, start + lane * u64::from(step), size.into(), written);
                }
            }
            let touched = one.touched(&REGIONS);
            assert_eq!(touched, other.touched(&REGIONS), "{size} bytes, {step} apart, from {offset}");
            let bytes: u64 =
                touched.iter().filter(|range| range.kind != AccessKind::Update).map(TouchedRange::bytes).sum();
            assert_eq!(bytes, 96 * u64::from(size));
        }
    }
}

/// Joined accesses leave the same records as those that go to the pages at once.
#[test]
fn joined_accesses_keep_the_order_of_reads_and_writes() {
    let mut random = crate::tests::random::Random(7);
    for _ in 0..2000 {
        let (mut joined, mut single) = (Recorder::new(true, 2), Recorder::new(true, 2));
        let mut at = [0_u64; 12];
        for _ in 0..random.below(60) {
            let number = random.below(12) as usize;
            let (region, written) = (number as u32 % 2, number % 5 > 2);
            if random.below(4) == 0 {
                at[number] = random.below(96) * 16;
            }
            let bytes = 16 * (1 + random.below(8));
            joined.join(number, (region, at[number], bytes), written);
            single.note(region as usize, at[number], bytes, written);
            at[number] += bytes;
        }
        joined.note_joined();
        let regions = [1 << 20, 2 << 20].map(|start| Region { start, end: start + 8192, ..REGIONS[0] });
        assert_eq!(joined.touched(&regions), single.touched(&regions));
    }
}
