//! Stream-ordered memory: allocated and released in one stream, used in others.

use super::*;

pairs! {
    used_before_it_is_allocated: UseBeforeAllocation ["cuMemAllocAsync on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two) = (p.stream(0), p.stream(0));
        let memory = p.pool_memory(64, one);
        if right {
            p.order(one, two);
        }
        p.fill(memory, 1, 64, two);
    }
    used_before_it_is_allocated_from_a_custom_pool: UseBeforeAllocation ["cuMemAllocFromPoolAsync on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING));
        let (mut pool, mut memory) = (CUmemoryPool::NULL, 0);
        ok!(p, cuDeviceGetDefaultMemPool(&mut pool, 0));
        ok!(p, cuMemAllocFromPoolAsync(&mut memory, 64, pool, one));
        if right {
            ok!(p, cuStreamSynchronize(one));
        }
        p.fill(memory, 1, 64, two);
    }
    released_while_another_stream_uses_it: FreeBeforePendingWork ["cuMemsetD8Async on stream 2", "cuMemFreeAsync on stream 1"], |p, right| {
        let (one, two) = (p.stream(0), p.stream(0));
        let memory = p.pool_memory(64, one);
        p.order(one, two);
        p.fill(memory, 1, 64, two);
        if right {
            p.order(two, one);
        }
        ok!(p, cuMemFreeAsync(memory, one));
    }
    released_in_the_wrong_stream: FreeBeforePendingWork ["cuMemsetD8Async on stream 1", "cuMemFreeAsync on stream 2"], |p, right| {
        let (one, two) = (p.stream(0), p.stream(0));
        let memory = p.pool_memory(64, one);
        p.order(one, two);
        p.fill(memory, 1, 64, one);
        ok!(p, cuMemFreeAsync(memory, if right { one } else { two }));
    }
    released_without_a_stream: FreeBeforePendingWork ["cuMemsetD8Async on stream 1", "cuMemFree_v2 on host"], |p, right| {
        let stream = p.stream(0);
        let memory = p.pool_memory(64, stream);
        p.fill(memory, 1, 64, stream);
        if right {
            ok!(p, cuStreamSynchronize(stream));
        }
        ok!(p, cuMemFree_v2(memory));
    }
    used_after_its_release: UseAfterFree ["cuMemFreeAsync on stream 1", "cuMemsetD8Async on host"], |p, right| {
        let stream = p.stream(0);
        let memory = p.pool_memory(64, stream);
        if right {
            p.fill(memory, 1, 64, stream);
        }
        ok!(p, cuMemFreeAsync(memory, stream));
        if !right {
            fails!(p, INVALID_VALUE, cuMemsetD8Async(memory, 1, 64, stream));
        }
    }
    released_twice: UseAfterFree ["cuMemFreeAsync on stream 1", "cuMemFreeAsync on host"], |p, right| {
        let stream = p.stream(0);
        let memory = p.pool_memory(64, stream);
        ok!(p, cuMemFreeAsync(memory, stream));
        if !right {
            fails!(p, INVALID_VALUE, cuMemFreeAsync(memory, stream));
        }
    }
}
