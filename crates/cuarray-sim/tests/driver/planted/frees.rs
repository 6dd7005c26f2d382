//! Memory that is freed too early, or used afterwards.

use super::*;

/// Makes a free wait for nothing, as the manual allows.
fn free_waits_for_nothing(config: &mut Config) {
    config.free_synchronizes = false;
}

pairs! {
    used_after_it_was_freed: UseAfterFree ["cuMemFree_v2 on host", "cuMemsetD8_v2 on host"], |p, right| {
        let memory = p.alloc(64);
        if right {
            ok!(p, cuMemsetD8_v2(memory, 0, 64));
        }
        ok!(p, cuMemFree_v2(memory));
        if !right {
            fails!(p, INVALID_VALUE, cuMemsetD8_v2(memory, 0, 64));
        }
    }
    copied_from_after_it_was_freed: UseAfterFree ["cuMemFree_v2 on host", "cuMemcpyDtoH_v2 on host"], |p, right| {
        let (memory, mut bytes) = (p.written(64), [0_u8; 64]);
        if right {
            ok!(p, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, 64));
        }
        ok!(p, cuMemFree_v2(memory));
        if !right {
            fails!(p, INVALID_VALUE, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, 64));
        }
    }
    freed_twice: UseAfterFree ["cuMemFree_v2 on host", "cuMemFree_v2 on host"], |p, right| {
        let memory = p.alloc(64);
        ok!(p, cuMemFree_v2(memory));
        if !right {
            fails!(p, INVALID_VALUE, cuMemFree_v2(memory));
        }
    }
    pinned_memory_freed_twice: UseAfterFree ["cuMemFreeHost on host", "cuMemFreeHost on host"], |p, right| {
        let memory = p.pinned(64);
        ok!(p, cuMemFreeHost(memory.cast()));
        if !right {
            fails!(p, INVALID_VALUE, cuMemFreeHost(memory.cast()));
        }
    }
    device_memory_freed_while_it_is_used: FreeBeforePendingWork ["cuMemsetD8Async on stream 1", "cuMemFree_v2 on host"]
        with free_waits_for_nothing, |p, right| {
        let (stream, memory) = (p.stream(0), p.alloc(64));
        p.fill(memory, 1, 64, stream);
        if right {
            ok!(p, cuStreamSynchronize(stream));
        }
        ok!(p, cuMemFree_v2(memory));
    }
    pinned_memory_freed_while_it_is_copied: FreeBeforePendingWork ["cuMemcpyHtoDAsync_v2 on stream 1", "cuMemFreeHost on host"]
        with free_waits_for_nothing, |p, right| {
        let (stream, memory, host) = (p.stream(0), p.alloc(64), p.pinned(64));
        ok!(p, cuMemcpyHtoDAsync_v2(memory, host.cast(), 64, stream));
        if right {
            ok!(p, cuStreamSynchronize(stream));
        }
        ok!(p, cuMemFreeHost(host.cast()));
    }
    registered_memory_let_go_while_it_is_copied: FreeBeforePendingWork
        ["cuMemcpyHtoDAsync_v2 on stream 1", "cuMemHostUnregister on host"] with free_waits_for_nothing, |p, right| {
        let (stream, memory, mut bytes) = (p.stream(0), p.alloc(64), vec![0_u8; 64]);
        let host = bytes.as_mut_ptr().cast();
        ok!(p, cuMemHostRegister_v2(host, 64, 0));
        ok!(p, cuMemcpyHtoDAsync_v2(memory, host, 64, stream));
        if right {
            ok!(p, cuCtxSynchronize());
        }
        ok!(p, cuMemHostUnregister(host));
    }
    managed_memory_freed_while_it_is_used: FreeBeforePendingWork ["cuMemsetD8Async on stream 1", "cuMemFree_v2 on host"]
        with free_waits_for_nothing, |p, right| {
        let (stream, memory, event) = (p.stream(0), p.managed(64), p.event());
        p.fill(memory, 1, 64, stream);
        ok!(p, cuEventRecord(event, stream));
        if right {
            ok!(p, cuEventSynchronize(event));
        }
        ok!(p, cuMemFree_v2(memory));
    }
}
