//! The legacy and per-thread default streams: their implicit waits, and the waits they lack.

use super::*;

pairs! {
    a_non_blocking_stream_after_the_legacy_one: DataRace ["cuMemsetD8Async on legacy", "cuMemsetD8Async on stream 1"], |p, right| {
        let (stream, memory) = (p.stream(if right { 0 } else { NON_BLOCKING }), p.alloc(64));
        p.fill(memory, 1, 64, CUstream::NULL);
        p.fill(memory, 2, 64, stream);
    }
    the_legacy_stream_after_a_non_blocking_one: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on legacy"], |p, right| {
        let (stream, memory) = (p.stream(if right { 0 } else { NON_BLOCKING }), p.alloc(64));
        p.fill(memory, 1, 64, stream);
        p.fill(memory, 2, 64, CU_STREAM_LEGACY);
    }
    the_legacy_stream_after_one_that_is_destroyed: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on legacy"], |p, right| {
        let (stream, memory) = (p.stream(if right { 0 } else { NON_BLOCKING }), p.alloc(64));
        p.fill(memory, 1, 64, stream);
        ok!(p, cuStreamDestroy_v2(stream));
        p.fill(memory, 2, 64, CUstream::NULL);
    }
    a_fill_assumed_to_be_synchronous: DataRace ["cuMemsetD8_v2 on legacy", "cuMemcpyDtoDAsync_v2 on stream 1"], |p, right| {
        let (stream, memory, copy) = (p.stream(NON_BLOCKING), p.written(64), p.alloc(64));
        ok!(p, cuMemsetD8_v2(memory, 1, 64));
        if right {
            ok!(p, cuCtxSynchronize());
        }
        p.copy(copy, memory, 64, stream);
    }
    a_copy_assumed_to_be_synchronous: DataRace ["cuMemcpyDtoD_v2 on legacy", "cuMemsetD8Async on stream 1"], |p, right| {
        let (stream, memory, copy) = (p.stream(NON_BLOCKING), p.written(64), p.alloc(64));
        ok!(p, cuMemcpyDtoD_v2(copy, memory, 64));
        if right {
            p.order(CUstream::NULL, stream);
        }
        p.fill(memory, 1, 64, stream);
    }
    the_default_stream_of_another_context: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on legacy"], |p, right| {
        let (stream, memory) = (p.stream(0), p.alloc(64));
        p.fill(memory, 1, 64, stream);
        let mut other = CUcontext::NULL;
        ok!(p, cuCtxCreate_v2(&mut other, 0, 0));
        if right {
            ok!(p, cuCtxSetCurrent(p.context));
        }
        p.fill(memory, 2, 64, CUstream::NULL);
        ok!(p, cuCtxSetCurrent(p.context));
    }
    a_barrier_that_only_one_of_two_streams_meets: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two) = (p.stream(NON_BLOCKING), p.stream(0));
        let (memory, other) = (p.alloc(64), p.alloc(64));
        let one = if right { p.stream(0) } else { one };
        p.fill(memory, 1, 64, one);
        p.fill(other, 0, 64, CUstream::NULL);
        p.fill(memory, 2, 64, two);
    }
    the_default_streams_of_two_threads: DataRace ["cuMemsetD8Async on per-thread", "cuMemsetD8Async on per-thread"], |p, right| {
        let memory = p.alloc(64);
        p.fill(memory, 1, 64, CU_STREAM_PER_THREAD);
        if right {
            ok!(p, cuStreamSynchronize(CU_STREAM_PER_THREAD));
        }
        p.in_thread(|p| p.fill(memory, 2, 64, CU_STREAM_PER_THREAD));
    }
    a_threads_default_stream_and_a_non_blocking_one: DataRace ["cuMemsetD8Async on per-thread", "cuMemsetD8Async on stream 1"], |p, right| {
        let (stream, memory) = (p.stream(NON_BLOCKING), p.alloc(64));
        p.fill(memory, 1, 64, CU_STREAM_PER_THREAD);
        if right {
            p.order(CU_STREAM_PER_THREAD, stream);
        }
        p.fill(memory, 2, 64, stream);
    }
    a_threads_default_stream_is_not_the_legacy_one: DataRace ["cuMemsetD8Async on per-thread", "cuMemsetD8Async on stream 1"], |p, right| {
        let (stream, memory) = (p.stream(0), p.alloc(64));
        p.fill(memory, 1, 64, if right { CU_STREAM_LEGACY } else { CU_STREAM_PER_THREAD });
        p.fill(memory, 2, 64, stream);
    }
    the_stream_of_a_thread_that_has_ended: DataRace ["cuMemsetD8Async on per-thread", "cuMemsetD8Async on per-thread"], |p, right| {
        let memory = p.alloc(64);
        for value in 0..2 {
            p.in_thread(|p| {
                p.fill(memory, value, 64, CU_STREAM_PER_THREAD);
                if right {
                    ok!(p, cuStreamSynchronize(CU_STREAM_PER_THREAD));
                }
            });
        }
    }
}
