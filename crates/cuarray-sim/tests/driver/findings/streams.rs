//! Streams of each kind, and their ordering without events.

use super::*;
use cuarray_sim::finding::{AccessKind, LaneKind};

/// Two writes in two streams, with a call between them.
fn two_writes(flags: [u32; 2], between: impl Fn(&Program, CUstream, CUstream, CUdeviceptr), races: bool) {
    under_each_schedule(|program| {
        let (one, other) = (program.stream(flags[0]), program.stream(flags[1]));
        let memory = program.alloc(64);
        program.fill(memory, 1, 64, one);
        between(program, one, other, memory);
        program.fill(memory + 16, 2, 16, other);
        match races {
            true => assert_eq!(only(program).kind, Kind::DataRace),
            false => clean(program),
        }
    });
}

const NON_BLOCKING: u32 = CU_STREAM_NON_BLOCKING;

#[test]
fn race_names_both_sides_the_bytes_and_the_missing_edge() {
    let program = Program::new();
    let (one, other) = (program.stream(0), program.stream(NON_BLOCKING));
    let (memory, source) = (program.alloc(64), program.alloc(64));
    ok!(program, cuMemsetD8_v2(source, 0, 64));
    ok!(program, cuCtxSynchronize());
    program.fill(memory, 1, 64, one);
    ok!(program, cuMemcpyDtoDAsync_v2(memory + 16, source, 8, other));
    let report = program.sim.report();
    let finding = only(&program);
    assert_eq!((finding.kind, finding.count, finding.offset), (Kind::DataRace, 1, Some(16)));
    let bytes = finding.bytes.unwrap();
    assert_eq!((bytes.address, bytes.length), (memory + 16, 8));
    let allocation = finding.allocation.unwrap();
    assert_eq!((allocation.address, allocation.size, allocation.kind), (memory, 64, "device"));
    assert_eq!(allocation.call, "cuMemAlloc_v2");
    let [first, second] = &finding.sides[..] else { panic!() };
    assert_eq!((first.call, second.call), ("cuMemsetD8Async", "cuMemcpyDtoDAsync_v2"));
    assert_eq!((first.access, second.access), (AccessKind::Write, AccessKind::Write));
    assert_eq!(first.bytes.unwrap().length, 64);
    let lanes = [first, second].map(|side| &report.lanes[side.lane as usize]);
    assert_eq!(lanes.map(|lane| lane.kind), [LaneKind::Blocking, LaneKind::NonBlocking]);
    assert_eq!(lanes.map(|lane| lane.handle), [one.0 as u64, other.0 as u64]);
    let missing = finding.missing.unwrap();
    assert!(missing.starts_with("record an event on stream 1 after cuMemsetD8Async"), "{missing}");
    assert!(missing.contains("make stream 2 (non-blocking) wait for it before cuMemcpyDtoDAsync"), "{missing}");
    let text = report.text(false);
    assert!(
        text.contains("[1] data-race: stream 2 writes 8 bytes that stream 1 writes")
            && text.contains("A cuMemsetD8Async writes 64 bytes"),
        "{text}"
    );
}

#[test]
fn call_order_does_not_order_two_streams() {
    for flags in [[0, 0], [0, NON_BLOCKING], [NON_BLOCKING, 0], [NON_BLOCKING, NON_BLOCKING]] {
        two_writes(flags, |_, _, _, _| (), true);
    }
}

#[test]
fn operations_of_one_stream_are_ordered() {
    under_each_schedule(|program| {
        let (stream, memory) = (program.stream(NON_BLOCKING), program.alloc(64));
        program.fill(memory, 1, 64, stream);
        program.fill(memory, 2, 64, stream);
        clean(program);
    });
}

#[test]
fn reads_do_not_race_with_reads() {
    under_each_schedule(|program| {
        let (one, other) = (program.stream(0), program.stream(0));
        let [memory, first, second] = [64; 3].map(|size| program.alloc(size));
        ok!(program, cuMemsetD8_v2(memory, 0, 64));
        ok!(program, cuCtxSynchronize());
        ok!(program, cuMemcpyDtoDAsync_v2(first, memory, 64, one));
        ok!(program, cuMemcpyDtoDAsync_v2(second, memory, 64, other));
        clean(program);
        program.fill(memory, 1, 64, other);
        assert_eq!(only(program).kind, Kind::DataRace);
    });
}

#[test]
fn disjoint_accesses_do_not_race() {
    under_each_schedule(|program| {
        let (one, other, memory) = (program.stream(0), program.stream(0), program.alloc(64));
        program.fill(memory, 1, 32, one);
        program.fill(memory + 32, 2, 32, other);
        clean(program);
        program.fill(memory + 31, 3, 1, other);
        assert_eq!(only(program).bytes.unwrap().length, 1);
    });
}

#[test]
fn legacy_stream_is_a_barrier_between_blocking_streams() {
    let barrier = |program: &Program, _, _, memory| program.fill(memory + 60, 0, 1, CU_STREAM_LEGACY);
    two_writes([0, 0], barrier, false);
    two_writes(
        [NON_BLOCKING, NON_BLOCKING],
        |program: &Program, _, _, _| {
            let scratch = program.alloc(1);
            program.fill(scratch, 0, 1, CU_STREAM_LEGACY);
        },
        true,
    );
}

#[test]
fn non_blocking_stream_is_exempt_from_the_legacy_stream() {
    for (flags, races) in [(0, false), (NON_BLOCKING, true)] {
        under_each_schedule(|program| {
            let (stream, memory) = (program.stream(flags), program.alloc(64));
            program.fill(memory, 1, 64, stream);
            program.fill(memory, 2, 64, CU_STREAM_LEGACY);
            assert_eq!(!kinds(program).is_empty(), races);
        });
        under_each_schedule(|program| {
            let (stream, memory) = (program.stream(flags), program.alloc(64));
            program.fill(memory, 2, 64, CU_STREAM_LEGACY);
            program.fill(memory, 1, 64, stream);
            assert_eq!(!kinds(program).is_empty(), races);
        });
    }
}

#[test]
fn event_wait_in_the_legacy_stream_orders_blocking_streams() {
    // This holds even if the event completed long ago: the time at which work runs makes no edge.
    for (flags, races) in [(0, false), (NON_BLOCKING, true)] {
        under_each_schedule(|program| {
            let (producer, consumer) = (program.stream(NON_BLOCKING), program.stream(flags));
            let (memory, event) = (program.alloc(64), program.event());
            program.fill(memory, 1, 64, producer);
            ok!(program, cuEventRecord(event, producer));
            ok!(program, cuStreamWaitEvent(CU_STREAM_LEGACY, event, 0));
            program.fill(memory, 2, 64, consumer);
            assert_eq!(!kinds(program).is_empty(), races);
        });
    }
}

#[test]
fn per_thread_streams_are_separate_blocking_streams() {
    under_each_schedule(|program| {
        let memory = program.alloc(64);
        program.fill(memory, 1, 64, CU_STREAM_PER_THREAD);
        program.fill(memory, 1, 64, CU_STREAM_LEGACY);
        program.in_thread(|program| program.fill(memory, 2, 64, CU_STREAM_PER_THREAD));
        clean(program);
        program.fill(memory, 3, 64, CU_STREAM_PER_THREAD);
        let finding = only(program);
        let report = program.sim.report();
        let kind = |index: usize| report.lanes[finding.sides[index].lane as usize].kind;
        assert_eq!((kind(0), kind(1)), (LaneKind::PerThread, LaneKind::PerThread));
    });
}

#[test]
fn synchronization_orders_later_work_in_every_stream() {
    two_writes([NON_BLOCKING; 2], |program, one, _, _| ok!(program, cuStreamSynchronize(one)), false);
    two_writes([NON_BLOCKING; 2], |program, _, other, _| ok!(program, cuStreamSynchronize(other)), true);
    two_writes([NON_BLOCKING; 2], |program, _, _, _| ok!(program, cuCtxSynchronize()), false);
    two_writes([0, NON_BLOCKING], |program, _, _, _| ok!(program, cuStreamSynchronize(CU_STREAM_LEGACY)), false);
    two_writes([NON_BLOCKING, 0], |program, _, _, _| ok!(program, cuStreamSynchronize(CU_STREAM_LEGACY)), true);
}

#[test]
fn query_orders_only_if_it_returns_success() {
    let poll = |program: &Program, stream| while call!(program, cuStreamQuery(stream)) != CUresult::CUDA_SUCCESS {};
    two_writes([NON_BLOCKING; 2], |program, one, _, _| poll(program, one), false);
    let program = Program::new();
    let (one, other, memory) = (program.stream(0), program.stream(0), program.alloc(1));
    program.fill(memory, 1, 1, one);
    program.fill(memory, 1, 1, one);
    assert_eq!(call!(program, cuStreamQuery(one)), CUresult::CUDA_ERROR_NOT_READY);
    program.fill(memory, 1, 1, other);
    assert_eq!(kinds(&program), [Kind::DataRace]);
}

#[test]
fn only_copies_that_wait_order_later_work() {
    let copied = |program: &Program, one, pinned: bool| {
        let (device, mut byte) = (program.alloc(1), 0_u8);
        program.fill(device, 1, 1, one);
        let host = if pinned { program.pinned(1).cast() } else { (&raw mut byte).cast() };
        ok!(program, cuMemcpyDtoHAsync_v2(host, device, 1, one));
    };
    // For an asynchronous copy to pageable memory, the manual says only that it may have completed on return.
    two_writes([NON_BLOCKING; 2], |program, one, _, _| copied(program, one, false), true);
    two_writes([NON_BLOCKING; 2], |program, one, _, _| copied(program, one, true), true);
    // A copy without a stream has completed, and with it the work before it in the legacy default stream.
    let plain = |program: &Program, _, _, memory| {
        let mut byte = 0_u8;
        ok!(program, cuMemcpyDtoH_v2((&raw mut byte).cast(), memory + 60, 1));
    };
    two_writes([0, NON_BLOCKING], plain, false);
}

#[test]
fn peer_copy_is_ordered_with_the_work_of_both_contexts() {
    for schedule in [Schedule::Lazy, Schedule::Eager] {
        for (flags, races) in [(0, 0), (NON_BLOCKING, 2)] {
            let program = Program::with(Config { devices: 2, schedule: schedule.clone(), ..Config::default() });
            let (here, there) = (program.context, program.primary(1));
            let (stream, memory) = (program.stream(flags), program.alloc(64));
            ok!(program, cuCtxSetCurrent(there));
            let (far_stream, far) = (program.stream(flags), program.alloc(64));
            program.fill(memory, 1, 64, stream);
            program.fill(far, 2, 64, far_stream);
            ok!(program, cuMemcpyPeer(far, there, memory, here, 64));
            program.fill(memory, 3, 64, stream);
            program.fill(far, 4, 64, far_stream);
            assert_eq!(kinds(&program).len() / 2, races, "{}", program.sim.report().text(false));
        }
    }
}

#[test]
fn asynchronous_peer_copy_is_ordered_in_its_stream_alone() {
    for (flags, races) in [(0, true), (NON_BLOCKING, true)] {
        let program = Program::with(Config { devices: 2, ..Config::default() });
        let (here, there) = (program.context, program.primary(1));
        let (stream, memory) = (program.stream(flags), program.alloc(64));
        ok!(program, cuCtxSetCurrent(there));
        let (far_stream, far) = (program.stream(flags), program.alloc(64));
        ok!(program, cuMemsetD8_v2(memory, 1, 64));
        ok!(program, cuCtxSynchronize());
        ok!(program, cuMemcpyPeerAsync(far, there, memory, here, 64, far_stream));
        program.fill(far, 1, 64, far_stream);
        clean(&program);
        program.fill(memory, 3, 64, stream);
        assert_eq!(!kinds(&program).is_empty(), races);
    }
}

#[test]
fn box_fills_race_only_where_their_rows_overlap() {
    let program = Program::new();
    let (one, other, memory) = (program.stream(0), program.stream(0), program.alloc(16 * 100));
    // The compiler must not unroll the loop: each call has one site.
    for &rows in std::hint::black_box(&[4, 100][..]) {
        ok!(program, cuMemsetD2D8Async(memory, 16, 1, 8, rows, one));
        ok!(program, cuMemsetD2D8Async(memory + 8, 16, 1, 8, rows, other));
        clean(&program);
    }
    ok!(program, cuMemsetD2D8Async(memory + 7, 16, 1, 2, 3, other));
    assert_eq!(only(&program).kind, Kind::DataRace);
}

#[test]
fn repeated_race_between_two_call_sites_is_one_finding() {
    let program = Program::new();
    let (one, other, memory) = (program.stream(0), program.stream(0), program.alloc(64));
    for _ in 0..10 {
        ok!(program, cuMemsetD8Async(memory, 1, 64, one));
        ok!(program, cuMemsetD8Async(memory, 1, 64, other));
    }
    let findings = program.sim.report().findings;
    // One finding for each direction.
    assert_eq!(findings.iter().map(|finding| finding.count).collect::<Vec<_>>(), [10, 9]);
    program.sim.clear_findings();
    clean(&program);
}

#[test]
fn disabled_findings_report_nothing() {
    let program = Program::with(Config { findings: false, ..Config::default() });
    let (one, other, memory) = (program.stream(0), program.stream(0), program.alloc(64));
    program.fill(memory, 1, 64, one);
    program.fill(memory, 1, 64, other);
    let report = program.sim.report();
    assert!(report.findings.is_empty() && report.operations.is_empty());
}
