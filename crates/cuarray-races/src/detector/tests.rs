//! Tests of the detector as a whole.

use super::*;

fn caller() -> Caller {
    Caller::new(1, "")
}

fn touched(start: u64, end: u64, touch: Touch) -> Touched {
    Touched::new(start, end, touch)
}

#[test]
fn kernel_accesses_are_checked_in_the_order_of_calls() {
    let mut detector = Detector::new(HostThreads::InOrderOfCalls);
    let [mut one, mut other] = [1, 2].map(|handle| detector.new_lane(LaneKind::NonBlocking, handle, Some(0)));
    detector.allocate(caller(), Block::new(0, 64, "device", 0), false);
    let kernel = detector.issue(&mut one, caller(), Effect::Unknown);
    let fill = detector.issue(&mut other, caller(), Effect::Fill(Region::row(0, 16)));
    assert!(!detector.is_settled() && detector.report(false).findings.is_empty());
    detector.resolve(&kernel, &[touched(8, 12, Touch::Read), touched(60, 68, Touch::Write)]);
    assert!(detector.is_settled());
    let findings = detector.report(false).findings;
    let kinds: Vec<_> = findings.iter().map(|finding| (finding.kind, finding.sides.len())).collect();
    // The kernel was called first, so nothing was written before its read.
    assert_eq!(kinds, [(Kind::UninitializedRead, 1), (Kind::DataRace, 2)]);
    let ordinals = findings[1].sides.iter().map(|side| side.ordinal).collect::<Vec<_>>();
    assert_eq!(ordinals, [kernel.operation.ordinal, fill.operation.ordinal]);
}

#[test]
fn dependent_operation_follows_its_lane_only_after_its_wait() {
    let mut detector = Detector::new(HostThreads::InOrderOfCalls);
    let mut lane = detector.new_lane(LaneKind::NonBlocking, 1, Some(0));
    detector.allocate(caller(), Block::new(0, 64, "device", 0), true);
    detector.issue(&mut lane, caller(), Effect::Fill(Region::row(32, 16)));
    let past = detector.past(&lane);
    let first = detector.issue(&mut lane, caller(), Effect::Fill(Region::row(0, 32)));
    let (second, _) = detector.issue_dependent(&mut lane, past, caller());
    let before_wait = [touched(8, 12, Touch::Read), touched(32, 36, Touch::Write)];
    detector.resolve_dependent(&second, &before_wait, &[touched(16, 20, Touch::Write)]);
    let later = Effect::Fill(Region::row(0, 64));
    detector.issue(&mut lane, caller(), later);
    let findings = detector.report(false).findings;
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(finding.bytes, Some(Range { address: 8, length: 4 }));
    let ordinals = finding.sides.iter().map(|side| side.ordinal).collect::<Vec<_>>();
    assert_eq!(ordinals, [first.operation.ordinal, second.operation.ordinal]);
}

#[test]
fn kernel_access_to_freed_memory_is_a_use_after_free() {
    let mut detector = Detector::new(HostThreads::InOrderOfCalls);
    let mut stream = detector.new_lane(LaneKind::NonBlocking, 1, Some(0));
    detector.allocate(caller(), Block::new(4096, 64, "device", 0), false);
    detector.free(caller(), 4096);
    let kernel = detector.issue(&mut stream, caller(), Effect::Unknown);
    detector.resolve(&kernel, &[touched(4100, 4104, Touch::Write), touched(9000, 9008, Touch::Write)]);
    let kinds: Vec<Kind> = detector.report(false).findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::UseAfterFree, Kind::OutOfBounds]);
}

/// The kinds of the findings of a program that fills bytes in one stream, and launches a kernel in another. The kernel has read the bytes
/// before the fill, and has written undefined results, which a copy reads. The launch waits for the fill, or does not.
fn computed_too_early(waits: bool) -> Vec<Kind> {
    let mut detector = Detector::new(HostThreads::InOrderOfCalls);
    let [mut one, mut other] = [1, 2].map(|handle| detector.new_lane(LaneKind::NonBlocking, handle, Some(0)));
    detector.allocate(caller(), Block::new(0, 64, "device", 0), false);
    detector.issue(&mut one, caller(), Effect::Fill(Region::row(0, 16)));
    if waits {
        detector.join(&mut other, &one.clock());
    }
    let launch = detector.issue(&mut other, caller(), Effect::Unknown);
    detector.values_followed(&launch, Values { undefined: vec![(16, 32)], read: Vec::new() });
    detector.resolve(&launch, &[touched(0, 16, Touch::Read), touched(16, 32, Touch::Write)]);
    detector.issue(&mut other, caller(), Effect::Touches(vec![(Region::row(16, 16), AccessKind::Read)]));
    detector.report(false).findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn undefined_results_of_a_launch_that_races_with_a_write_are_no_second_finding() {
    assert_eq!(computed_too_early(false), [Kind::DataRace]);
    assert_eq!(computed_too_early(true), [Kind::UninitializedRead]);
}
