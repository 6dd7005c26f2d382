//! Tests of the detector as a whole.

use super::*;
use crate::finding::{KernelPlace, Language};
use crate::site::{Frame, Site, SourceLine};

fn caller() -> Caller {
    Caller::new(1, "")
}

fn caller_at(line: u32) -> Caller {
    let user = Some(Frame { file: "a.py".into(), line, function: "f".into() });
    Caller { site: Arc::new(Site { user, ..Site::default() }), ..caller() }
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
    detector.resolve_dependent(&second, [&before_wait, &[touched(16, 20, Touch::Write)]], false);
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

#[test]
fn edge_that_two_allocations_lack_is_one_finding() {
    let mut detector = Detector::new(HostThreads::InOrderOfCalls);
    let [mut one, mut other] = [1, 2].map(|handle| detector.new_lane(LaneKind::NonBlocking, handle, Some(0)));
    for (address, line) in [(0, 1), (4096, 2), (8192, 2)] {
        detector.allocate(caller_at(line), Block::new(address, 64, "device", 0), true);
    }
    let all = |access| Effect::Touches([0, 4096, 8192].map(|start| (Region::row(start, 16), access)).into());
    detector.issue(&mut one, caller_at(3), all(AccessKind::Write));
    let (read, write) = ((Region::row(0, 16), AccessKind::Read), (Region::row(4096, 16), AccessKind::Write));
    let third = (Region::row(8192, 16), AccessKind::Write);
    detector.issue(&mut other, caller_at(4), Effect::Touches(vec![read, write, third]));
    let report = detector.report(false);
    let [finding] = &report.findings[..] else { panic!("{}", report.text(false)) };
    assert_eq!((finding.count, finding.allocations, finding.more_allocations.len()), (3, 3, 1));
    // Another later call lacks another edge.
    let mut again = detector.new_lane(LaneKind::NonBlocking, 3, Some(0));
    detector.issue(&mut again, caller_at(5), all(AccessKind::Read));
    assert_eq!(detector.report(false).findings.len(), 3);
}

/// The findings of races of two threads of one launch: the line, the access and the thread of both sides.
fn kernel_findings(races: &[[(u32, AccessKind, u32); 2]]) -> usize {
    let mut detector = Detector::new(HostThreads::InOrderOfCalls);
    let mut lane = detector.new_lane(LaneKind::NonBlocking, 1, Some(0));
    let launch = detector.issue(&mut lane, caller_at(1), Effect::Unknown);
    for race in races {
        let sides = race.map(|(line, access, thread)| {
            let source = Some(SourceLine { file: "k.cu".into(), line });
            let (block, thread, language) = ([0; 3], [thread, 0, 0], Language::Cuda);
            let (inlined_at, ptx_line, atomic, has_lines) = (None, None, false, true);
            (
                access,
                KernelPlace {
                    block,
                    thread,
                    atomic,
                    source,
                    inlined_at,
                    text: None,
                    argument: None,
                    waits: None,
                    ptx_line,
                    has_lines,
                    language,
                },
            )
        });
        let (bytes, missing) = (Range { address: 0, length: 4 }, Advice::OrderBlocks);
        let race = KernelRace { bytes, variable: None, sides, missing, width: 0 };
        detector.kernel_race(&launch.operation, race);
    }
    detector.findings.len()
}

#[test]
fn races_of_one_bug_in_a_kernel_are_one_finding() {
    use AccessKind::{Read, Write};
    // An update that is not atomic.
    assert_eq!(kernel_findings(&[[(3, Write, 0), (3, Read, 1)], [(3, Write, 0), (3, Write, 1)]]), 1);
    // A thread that reads too early overwrites too early.
    assert_eq!(kernel_findings(&[[(5, Write, 0), (3, Read, 1)], [(5, Write, 0), (5, Write, 1)]]), 1);
    // Another thread writes too.
    assert_eq!(kernel_findings(&[[(5, Write, 0), (3, Read, 1)], [(5, Write, 0), (5, Write, 2)]]), 2);
    // A read before the next write, in a loop, needs another barrier.
    assert_eq!(kernel_findings(&[[(5, Write, 0), (3, Read, 1)], [(3, Read, 0), (5, Write, 1)]]), 2);
}

#[test]
fn advice_for_streams_of_pytorch_names_its_calls() {
    let mut detector = Detector::new(HostThreads::InOrderOfCalls);
    let [mut one, mut other] = [1, 2].map(|handle| detector.new_lane(LaneKind::NonBlocking, handle, Some(0)));
    let of_torch = |line| {
        let mut caller = caller_at(line);
        caller.site = Arc::new(Site { library: Some("torch".into()), ..(*caller.site).clone() });
        caller
    };
    detector.allocate(of_torch(1), Block::new(0, 64, "device", 0), false);
    detector.issue(&mut one, of_torch(2), Effect::Fill(Region::row(0, 16)));
    detector.issue(&mut other, of_torch(3), Effect::Fill(Region::row(0, 16)));
    let report = detector.report(false);
    let missing = report.findings[0].missing.as_deref().unwrap();
    assert!(missing.contains("wait_stream") && missing.contains("record_stream"), "{missing}");
}
