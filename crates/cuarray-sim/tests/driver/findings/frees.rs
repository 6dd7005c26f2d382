//! Frees, destroyed handles, uninitialized reads, and accesses outside their allocation.

use super::*;
use cuarray_sim::finding::AccessKind;

const PAGE: usize = 4096;

fn pool_memory(program: &Program, stream: CUstream) -> CUdeviceptr {
    let mut address = 0;
    ok!(program, cuMemAllocAsync(&mut address, 64, stream));
    address
}

/// Orders one stream after another by an event.
fn order(program: &Program, from: CUstream, to: CUstream) {
    let event = program.event();
    ok!(program, cuEventRecord(event, from));
    ok!(program, cuStreamWaitEvent(to, event, 0));
}

#[test]
fn unordered_stream_release_is_a_free_before_pending_work() {
    for ordered in [true, false] {
        under_each_schedule(|program| {
            let (one, other) = (program.stream(0), program.stream(0));
            let memory = pool_memory(program, one);
            order(program, one, other);
            program.fill(memory, 1, 64, other);
            if ordered {
                order(program, other, one);
            }
            ok!(program, cuMemFreeAsync(memory, one));
            match ordered {
                true => clean(program),
                false => {
                    let finding = only(program);
                    assert_eq!(finding.kind, Kind::FreeBeforePendingWork);
                    assert_eq!(finding.sides[1].call, "cuMemFreeAsync");
                    assert_eq!(finding.allocation.unwrap().call, "cuMemAllocAsync");
                }
            }
        });
    }
}

#[test]
fn unordered_use_of_stream_ordered_memory_is_a_finding() {
    for ordered in [true, false] {
        under_each_schedule(|program| {
            let (one, other) = (program.stream(0), program.stream(0));
            let memory = pool_memory(program, one);
            if ordered {
                order(program, one, other);
            }
            program.fill(memory, 1, 64, other);
            match ordered {
                true => clean(program),
                false => assert_eq!(only(program).kind, Kind::UseBeforeAllocation),
            }
        });
    }
}

#[test]
fn use_after_release_is_a_finding() {
    under_each_schedule(|program| {
        let (memory, stream) = (program.alloc(64), program.stream(0));
        ok!(program, cuMemFree_v2(memory));
        fails!(program, INVALID_VALUE, cuMemsetD8Async(memory + 8, 1, 16, stream));
        let finding = only(program);
        assert_eq!((finding.kind, finding.offset), (Kind::UseAfterFree, Some(8)));
        assert_eq!(finding.sides[0].call, "cuMemFree_v2");
        assert_eq!((finding.sides[1].access, finding.sides[1].bytes.unwrap().length), (AccessKind::Write, 16));
        assert_eq!(finding.allocation.unwrap().size, 64);
        let again = pool_memory(program, stream);
        ok!(program, cuMemFreeAsync(again, stream));
        fails!(program, INVALID_VALUE, cuMemcpyDtoDAsync_v2(memory, again, 16, stream));
        assert!(kinds(program).contains(&Kind::UseAfterFree));
    });
}

#[test]
fn releasing_memory_twice_is_a_finding() {
    under_each_schedule(|program| {
        let memory = program.alloc(64);
        ok!(program, cuMemFree_v2(memory));
        fails!(program, INVALID_VALUE, cuMemFree_v2(memory));
        let finding = only(program);
        assert_eq!((finding.kind, finding.sides[1].access), (Kind::UseAfterFree, AccessKind::Release));
        // The address is reused, without any history of its earlier use.
        let again = program.alloc(64);
        program.sim.clear_findings();
        program.fill(again, 0, 64, CU_STREAM_LEGACY);
        clean(program);
    });
}

#[test]
fn synchronous_free_waits_for_pending_work_unless_configured_otherwise() {
    for free_synchronizes in [true, false] {
        for schedule in [Schedule::Lazy, Schedule::Eager] {
            let program = Program::with(Config { free_synchronizes, schedule, ..Config::default() });
            let (stream, memory, host) = (program.stream(0), program.alloc(64), program.pinned(64));
            program.fill(memory, 1, 64, stream);
            ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), memory, 64, stream));
            ok!(program, cuMemFree_v2(memory));
            ok!(program, cuMemFreeHost(host.cast()));
            let expected: &[Kind] = if free_synchronizes { &[] } else { &[Kind::FreeBeforePendingWork; 3] };
            assert_eq!(kinds(&program), expected);
        }
    }
}

#[test]
fn synchronous_free_of_pool_memory_waits_for_nothing() {
    for synchronized in [true, false] {
        under_each_schedule(|program| {
            let stream = program.stream(0);
            let memory = pool_memory(program, stream);
            program.fill(memory, 1, 64, stream);
            if synchronized {
                ok!(program, cuStreamSynchronize(stream));
            }
            ok!(program, cuMemFree_v2(memory));
            assert_eq!(!kinds(program).contains(&Kind::FreeBeforePendingWork), synchronized);
        });
    }
}

#[test]
fn host_may_free_unused_pool_memory_at_any_time() {
    under_each_schedule(|program| {
        let (one, other) = (program.stream(0), program.stream(0));
        ok!(program, cuMemFree_v2(pool_memory(program, one)));
        clean(program);
        // A release in a stream must be ordered after the allocation.
        ok!(program, cuMemFreeAsync(pool_memory(program, one), other));
        assert_eq!(only(program).kind, Kind::UseBeforeAllocation);
    });
}

#[test]
fn reading_unwritten_memory_is_a_finding() {
    under_each_schedule(|program| {
        let (memory, copy, stream) = (program.alloc(64), program.alloc(64), program.stream(0));
        let mut bytes = [0_u8; 64];
        let host: *mut c_void = (&raw mut bytes).cast();
        program.fill(memory, 1, 32, stream);
        // Copying unwritten bytes is not yet a read.
        ok!(program, cuMemcpyDtoDAsync_v2(copy + 16, memory + 16, 32, stream));
        clean(program);
        ok!(program, cuMemcpyDtoHAsync_v2(host, copy + 16, 16, stream));
        clean(program);
        ok!(program, cuMemcpyDtoHAsync_v2(host, copy + 16, 48, stream));
        let finding = only(program);
        assert_eq!((finding.kind, finding.offset), (Kind::UninitializedRead, Some(32)));
        assert_eq!(finding.bytes.unwrap().length, 32);
        program.sim.clear_findings();
        ok!(program, cuMemcpyHtoDAsync_v2(memory + 32, host, 32, stream));
        ok!(program, cuMemcpyDtoDAsync_v2(copy, memory, 64, stream));
        ok!(program, cuMemcpyDtoHAsync_v2(host, copy, 64, stream));
        clean(program);
    });
}

#[test]
fn host_writable_memory_counts_as_written() {
    let program = Program::new();
    let (host, mut managed, mut byte) = (program.pinned(8), 0, 0_u8);
    ok!(program, cuMemAllocManaged(&mut managed, 8, CU_MEM_ATTACH_GLOBAL));
    ok!(program, cuMemcpyDtoH_v2((&raw mut byte).cast(), managed, 1));
    ok!(program, cuMemcpy(&raw mut byte as u64, host as u64, 1));
    clean(&program);
}

#[test]
fn pending_copies_of_pinned_memory_race_with_each_other() {
    for ordered in [true, false] {
        under_each_schedule(|program| {
            let (one, other, memory, host) =
                (program.stream(0), program.stream(0), program.alloc(PAGE), program.pinned(64));
            program.fill(memory, 1, PAGE, CU_STREAM_LEGACY);
            ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), memory, 64, one));
            if ordered {
                order(program, one, other);
            }
            ok!(program, cuMemcpyHtoDAsync_v2(memory + 100, host.cast(), 64, other));
            assert_eq!(kinds(program).is_empty(), ordered);
        });
    }
}

#[test]
fn unordered_uses_of_managed_memory_race() {
    for ordered in [true, false] {
        under_each_schedule(|program| {
            let (one, other, mut managed) = (program.stream(0), program.stream(0), 0);
            ok!(program, cuMemAllocManaged(&mut managed, 64, CU_MEM_ATTACH_GLOBAL));
            program.fill(managed, 1, 64, one);
            if ordered {
                order(program, one, other);
            }
            program.fill(managed, 2, 64, other);
            assert_eq!(kinds(program).is_empty(), ordered);
        });
    }
}

#[test]
fn out_of_bounds_accesses_are_found_and_refused() {
    under_each_schedule(|program| {
        let (memory, stream) = (program.alloc(64), program.stream(0));
        fails!(program, INVALID_VALUE, cuMemsetD8Async(memory + 32, 0, 33, stream));
        let finding = only(program);
        assert_eq!((finding.kind, finding.offset), (Kind::OutOfBounds, Some(32)));
        assert!(finding.missing.unwrap().contains("ends 1 bytes before"));
        program.sim.clear_findings();
        fails!(program, INVALID_VALUE, cuMemsetD8Async(0, 0, 1, stream));
        assert_eq!(only(program).allocation, None);
        program.sim.clear_findings();
        program.fill(memory + 32, 0, 32, stream);
        clean(program);
    });
}

#[test]
fn misaligned_fills_are_found_and_refused() {
    let program = Program::new();
    let memory = program.alloc(64);
    ok!(program, cuMemsetD32Async(memory + 4, 0, 4, CU_STREAM_LEGACY));
    clean(&program);
    fails!(program, INVALID_VALUE, cuMemsetD32Async(memory + 2, 0, 4, CU_STREAM_LEGACY));
    let finding = only(&program);
    assert_eq!((finding.kind, finding.bytes.unwrap().length), (Kind::MisalignedAccess, 16));
}

#[test]
fn use_of_a_destroyed_handle_is_a_finding() {
    let program = Program::new();
    let (stream, event, memory) = (program.stream(0), program.event(), program.alloc(64));
    ok!(program, cuEventRecord(event, stream));
    ok!(program, cuStreamDestroy_v2(stream));
    clean(&program);
    fails!(program, INVALID_HANDLE, cuMemsetD8Async(memory, 0, 1, stream));
    let finding = only(&program);
    assert_eq!((finding.kind, finding.object.unwrap().kind), (Kind::DestroyedHandle, "stream"));
    assert_eq!(finding.sides[0].call, "cuStreamDestroy_v2");
    assert_eq!(finding.sides[1].call, "cuMemsetD8Async");
    program.sim.clear_findings();
    ok!(program, cuEventDestroy_v2(event));
    fails!(program, INVALID_HANDLE, cuEventSynchronize(event));
    assert_eq!(only(&program).object.unwrap().handle, event.0 as u64);
    program.sim.clear_findings();
    let mut context = CUcontext::NULL;
    ok!(program, cuCtxCreate_v2(&mut context, 0, 0));
    ok!(program, cuCtxDestroy_v2(context));
    fails!(program, INVALID_CONTEXT, cuCtxPushCurrent_v2(context));
    assert_eq!(only(&program).object.unwrap().kind, "context");
    program.sim.clear_findings();
    // A handle that never existed is an error without a finding.
    fails!(program, INVALID_HANDLE, cuEventSynchronize(CUevent(0x77)));
    clean(&program);
}

#[test]
fn retaining_a_released_primary_context_again_has_no_findings() {
    let program = Program::new();
    ok!(program, cuDevicePrimaryCtxRelease_v2(0));
    let context = program.primary(0);
    ok!(program, cuCtxSetCurrent(context));
    clean(&program);
}

#[test]
fn objects_left_at_the_end_are_leaks() {
    let program = Program::new();
    let freed = program.alloc(64);
    for _ in 0..3 {
        program.alloc(64);
    }
    let (stream, event) = (program.stream(0), program.event());
    let destroyed = program.event();
    ok!(program, cuEventDestroy_v2(destroyed));
    ok!(program, cuMemFree_v2(freed));
    clean(&program);
    let findings = program.sim.report_with_leaks().findings;
    let leaks: Vec<_> = findings.iter().map(|finding| (finding.kind, finding.sides[0].call, finding.count)).collect();
    assert_eq!(
        leaks,
        [(Kind::Leak, "cuMemAlloc_v2", 3), (Kind::Leak, "cuStreamCreate", 1), (Kind::Leak, "cuEventCreate", 1)]
    );
    assert_eq!(findings[1].object.as_ref().unwrap().handle, stream.0 as u64);
    assert_eq!(findings[2].object.as_ref().unwrap().handle, event.0 as u64);
    let quiet = Program::with(Config { leaks: Some(false), ..Config::default() });
    quiet.alloc(64);
    assert!(quiet.sim.report_with_leaks().findings.is_empty());
}

#[test]
fn free_waits_for_the_work_of_a_destroyed_stream() {
    let program = Program::new();
    let (stream, memory) = (program.stream(1), program.alloc(64));
    program.fill(memory, 1, 64, stream);
    ok!(program, cuStreamDestroy_v2(stream));
    ok!(program, cuMemFree_v2(memory));
    clean(&program);
}

#[test]
fn context_destruction_waits_for_the_work_of_a_destroyed_stream() {
    let program = Program::new();
    let mut context = CUcontext::NULL;
    ok!(program, cuCtxCreate_v2(&mut context, 0, 0));
    let (stream, memory) = (program.stream(1), program.alloc(64));
    program.fill(memory, 1, 64, stream);
    ok!(program, cuStreamDestroy_v2(stream));
    ok!(program, cuCtxDestroy_v2(context));
    clean(&program);
}
