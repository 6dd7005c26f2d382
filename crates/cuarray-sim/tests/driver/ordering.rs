//! Deferred work: without an edge, a read is stale on every run; with a correct edge, it is fresh.

use crate::program::*;

/// Fills in one stream and copies to pinned memory in another after `edge`. Returns the byte that the copy wrote.
fn produced_then_consumed(
    producer_flags: u32,
    consumer_flags: u32,
    edge: impl FnOnce(&Program, CUstream, CUstream),
) -> u8 {
    let program = Program::new();
    let (producer, consumer) = (program.stream(producer_flags), program.stream(consumer_flags));
    let (device, host) = (program.alloc(64), program.pinned(64));
    ok!(program, cuMemsetD8_v2(device, 1, 64));
    ok!(program, cuCtxSynchronize());
    program.fill(device, 7, 64, producer);
    edge(&program, producer, consumer);
    ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, 64, consumer));
    ok!(program, cuStreamSynchronize(consumer));
    read(host)
}

#[test]
fn without_an_edge_the_consumer_always_reads_stale_data() {
    for _ in 0..50 {
        assert_eq!(produced_then_consumed(0, 0, |_, _, _| ()), 1);
        assert_eq!(produced_then_consumed(CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, |_, _, _| ()), 1);
    }
}

#[test]
fn event_wait_is_an_edge() {
    for flags in [CU_STREAM_DEFAULT, CU_STREAM_NON_BLOCKING] {
        let value = produced_then_consumed(flags, flags, |program, producer, consumer| {
            let event = program.event();
            ok!(program, cuEventRecord(event, producer));
            ok!(program, cuStreamWaitEvent(consumer, event, 0));
            ok!(program, cuEventDestroy_v2(event));
        });
        assert_eq!(value, 7);
    }
}

#[test]
fn event_recorded_before_the_work_is_no_edge() {
    let program = Program::new();
    let (producer, consumer, event) = (program.stream(0), program.stream(0), program.event());
    let device = program.alloc(1);
    ok!(program, cuMemsetD8_v2(device, 1, 1));
    ok!(program, cuCtxSynchronize());
    ok!(program, cuEventRecord(event, producer));
    program.fill(device, 7, 1, producer);
    ok!(program, cuStreamWaitEvent(consumer, event, 0));
    ok!(program, cuStreamSynchronize(consumer));
    assert_eq!(program.peek(device), 1);
}

#[test]
fn stream_synchronization_is_an_edge() {
    let value = produced_then_consumed(CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, |program, producer, _| {
        ok!(program, cuStreamSynchronize(producer));
    });
    assert_eq!(value, 7);
}

#[test]
fn context_synchronization_is_an_edge() {
    let value = produced_then_consumed(CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, |program, _, _| {
        ok!(program, cuCtxSynchronize());
    });
    assert_eq!(value, 7);
}

#[test]
fn legacy_stream_work_is_a_barrier_between_blocking_streams() {
    let barrier = |program: &Program, _: CUstream, _: CUstream| {
        let scratch = program.alloc(1);
        program.fill(scratch, 0, 1, CU_STREAM_LEGACY);
    };
    assert_eq!(produced_then_consumed(0, 0, barrier), 7);
    assert_eq!(produced_then_consumed(CU_STREAM_NON_BLOCKING, 0, barrier), 1);
    assert_eq!(produced_then_consumed(0, CU_STREAM_NON_BLOCKING, barrier), 1);
}

#[test]
fn legacy_stream_and_blocking_streams_wait_for_each_other() {
    let program = Program::new();
    let (blocking, device) = (program.stream(0), program.alloc(2));
    program.fill(device, 7, 1, blocking);
    let mut byte = 0_u8;
    // A blocking copy is work of the legacy default stream.
    ok!(program, cuMemcpyDtoH_v2((&raw mut byte).cast(), device, 1));
    assert_eq!(byte, 7);
    program.fill(device, 8, 1, CUstream::NULL);
    let host = program.pinned(1);
    ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, 1, blocking));
    ok!(program, cuStreamSynchronize(blocking));
    assert_eq!(read(host), 8);
}

#[test]
fn non_blocking_stream_is_exempt_from_the_legacy_stream() {
    let program = Program::new();
    let (exempt, device) = (program.stream(CU_STREAM_NON_BLOCKING), program.alloc(1));
    ok!(program, cuMemsetD8_v2(device, 1, 1));
    ok!(program, cuCtxSynchronize());
    program.fill(device, 7, 1, exempt);
    let mut byte = 0_u8;
    ok!(program, cuMemcpyDtoH_v2((&raw mut byte).cast(), device, 1));
    assert_eq!(byte, 1);
}

#[test]
fn per_thread_stream_is_a_blocking_stream_of_its_thread() {
    let program = Program::new();
    let device = program.alloc(1);
    ok!(program, cuMemsetD8_v2(device, 1, 1));
    ok!(program, cuCtxSynchronize());
    program.fill(device, 7, 1, CU_STREAM_PER_THREAD);
    // In another thread, the same handle names another stream.
    program.in_thread(|other| ok!(other, cuStreamSynchronize(CU_STREAM_PER_THREAD)));
    assert_eq!(program.peek(device), 1);
    // The legacy default stream waits for the per-thread stream.
    let mut byte = 0_u8;
    ok!(program, cuMemcpyDtoH_v2((&raw mut byte).cast(), device, 1));
    assert_eq!(byte, 7);
    program.fill(device, 9, 1, CU_STREAM_PER_THREAD);
    ok!(program, cuStreamSynchronize(CU_STREAM_PER_THREAD));
    assert_eq!(program.peek(device), 9);
}

#[test]
fn synchronizing_one_stream_runs_only_its_dependencies() {
    let program = Program::new();
    let (first, second, device) = (program.stream(0), program.stream(0), program.alloc(2));
    ok!(program, cuMemsetD8_v2(device, 1, 2));
    ok!(program, cuCtxSynchronize());
    program.fill(device, 7, 1, first);
    program.fill(device + 1, 8, 1, second);
    ok!(program, cuStreamSynchronize(second));
    assert_eq!((program.peek(device), program.peek(device + 1)), (1, 8));
}

#[test]
fn recording_an_event_again_leaves_earlier_waits_unchanged() {
    let program = Program::new();
    let [first, second, consumer] = [0; 3].map(|flags| program.stream(flags));
    let (event, device) = (program.event(), program.alloc(2));
    ok!(program, cuMemsetD8_v2(device, 1, 2));
    ok!(program, cuCtxSynchronize());
    program.fill(device, 7, 1, first);
    ok!(program, cuEventRecord(event, first));
    ok!(program, cuStreamWaitEvent(consumer, event, 0));
    program.fill(device + 1, 8, 1, second);
    ok!(program, cuEventRecord(event, second));
    ok!(program, cuStreamSynchronize(consumer));
    assert_eq!((program.peek(device), program.peek(device + 1)), (7, 1));
    ok!(program, cuEventSynchronize(event));
    assert_eq!(program.peek(device + 1), 8);
}

#[test]
fn waiting_for_an_unrecorded_event_is_a_no_op() {
    let program = Program::new();
    let (stream, event) = (program.stream(0), program.event());
    ok!(program, cuStreamWaitEvent(stream, event, 0));
    ok!(program, cuStreamQuery(stream));
    ok!(program, cuEventQuery(event));
    ok!(program, cuEventSynchronize(event));
}

#[test]
fn work_of_a_destroyed_stream_still_runs() {
    let program = Program::new();
    let (stream, event, device) = (program.stream(0), program.event(), program.alloc(1));
    ok!(program, cuMemsetD8_v2(device, 1, 1));
    ok!(program, cuCtxSynchronize());
    program.fill(device, 7, 1, stream);
    ok!(program, cuEventRecord(event, stream));
    ok!(program, cuStreamDestroy_v2(stream));
    assert_eq!(program.peek(device), 1);
    fails!(program, INVALID_HANDLE, cuStreamSynchronize(stream));
    ok!(program, cuEventSynchronize(event));
    assert_eq!(program.peek(device), 7);
}

#[test]
fn pageable_source_is_read_at_the_call_and_pinned_source_later() {
    let program = Program::new();
    let (stream, device, pinned) = (program.stream(0), program.alloc(2), program.pinned(1));
    let mut pageable = [3_u8];
    write(pinned, 3);
    ok!(program, cuMemcpyHtoDAsync_v2(device, pageable.as_ptr().cast(), 1, stream));
    ok!(program, cuMemcpyHtoDAsync_v2(device + 1, pinned.cast(), 1, stream));
    // Write through a pointer; the program may reuse the pageable source at once.
    write(pageable.as_mut_ptr(), 4);
    write(pinned, 4);
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!((program.peek(device), program.peek(device + 1)), (3, 4));
}

#[test]
fn copy_to_pageable_memory_completes_before_it_returns() {
    let program = Program::new();
    let (stream, device, pinned) = (program.stream(0), program.alloc(1), program.pinned(1));
    let mut pageable = [0_u8];
    program.fill(device, 7, 1, stream);
    ok!(program, cuMemcpyDtoHAsync_v2(pinned.cast(), device, 1, stream));
    assert_eq!(read(pinned), 0);
    ok!(program, cuMemcpyDtoHAsync_v2(pageable.as_mut_ptr().cast(), device, 1, stream));
    assert_eq!((read(pinned), pageable[0]), (7, 7));
}

#[test]
fn synchronous_calls_on_device_memory_alone_stay_pending() {
    let program = Program::new();
    let device = program.alloc(2);
    ok!(program, cuMemsetD8_v2(device, 7, 1));
    ok!(program, cuMemcpyDtoD_v2(device + 1, device, 1));
    assert_eq!(program.statistic("pending_operations"), 2);
    ok!(program, cuStreamSynchronize(CUstream::NULL));
    assert_eq!(program.peek(device + 1), 7);
}

#[test]
fn synchronous_fill_of_managed_memory_completes_before_it_returns() {
    let program = Program::new();
    let mut managed = 0;
    ok!(program, cuMemAllocManaged(&mut managed, 4, CU_MEM_ATTACH_GLOBAL));
    ok!(program, cuMemsetD8_v2(managed, 7, 4));
    assert_eq!(read(managed as *const u8), 7);
    program.fill(managed, 8, 4, CUstream::NULL);
    assert_eq!(read(managed as *const u8), 7);
    ok!(program, cuCtxSynchronize());
    assert_eq!(read(managed as *const u8), 8);
}

#[test]
fn each_poll_runs_one_operation_until_the_event_completes() {
    let program = Program::new();
    let (stream, other, event, device) = (program.stream(0), program.stream(0), program.event(), program.alloc(1));
    for value in 0..10 {
        program.fill(device, value, 1, other);
    }
    ok!(program, cuEventRecord(event, other));
    ok!(program, cuStreamWaitEvent(stream, event, 0));
    let mut polls = 0;
    while call!(program, cuStreamQuery(stream)) == CUresult::CUDA_ERROR_NOT_READY {
        polls += 1;
    }
    assert_eq!(polls, 12, "ten fills, one record, one wait");
    ok!(program, cuEventQuery(event));
    assert_eq!(program.peek(device), 9);
}

#[test]
fn long_queues_and_chains_of_events_complete() {
    let program = Program::new();
    let streams: Vec<_> = (0..50).map(|_| program.stream(CU_STREAM_NON_BLOCKING)).collect();
    let device = program.alloc(1);
    for round in 0..4000_u32 {
        let (from, to) = (streams[round as usize % 50], streams[(round as usize + 1) % 50]);
        let event = program.event();
        for value in 0..20 {
            program.fill(device, value, 1, from);
        }
        program.fill(device, round as u8, 1, from);
        ok!(program, cuEventRecord(event, from));
        ok!(program, cuStreamWaitEvent(to, event, 0));
        ok!(program, cuEventDestroy_v2(event));
    }
    assert!(program.statistic("pending_operations") > 80_000);
    ok!(program, cuStreamSynchronize(streams[4000 % 50]));
    assert_eq!(program.peek(device), 3999_u32 as u8);
    assert_eq!(program.statistic("pending_operations"), 0);
}

#[test]
fn many_blocking_streams_share_one_barrier() {
    let program = Program::new();
    let device = program.alloc(1000);
    ok!(program, cuMemsetD8_v2(device, 0, 1000));
    for index in 0..1000 {
        program.fill(device + index, 7, 1, program.stream(0));
    }
    let mut bytes = vec![0_u8; 1000];
    ok!(program, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), device, 1000));
    assert!(bytes.iter().all(|byte| *byte == 7));
}

#[test]
fn eager_schedule_leaves_nothing_pending() {
    let program = Program::with(Config { schedule: Schedule::Eager, ..Config::default() });
    let (stream, event, device) = (program.stream(0), program.event(), program.alloc(1));
    program.fill(device, 7, 1, stream);
    ok!(program, cuEventRecord(event, stream));
    assert_eq!((program.peek(device), program.statistic("pending_operations")), (7, 0));
    ok!(program, cuEventQuery(event));
    let mut milliseconds = -1.0;
    ok!(program, cuEventElapsedTime_v2(&mut milliseconds, event, event));
    assert_eq!(milliseconds, 0.0);
}

#[test]
fn context_flag_makes_memory_operations_synchronous() {
    let program = Program::new();
    ok!(program, cuCtxSetFlags(0x80));
    let device = program.alloc(1);
    ok!(program, cuMemsetD8_v2(device, 7, 1));
    assert_eq!((program.peek(device), program.statistic("pending_operations")), (7, 0));
}
