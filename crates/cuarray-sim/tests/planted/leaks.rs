//! What is still there when the program ends.

use crate::*;

pairs! {
    device_memory: Leak ["cuMemAlloc_v2 on host"], |p, right| {
        let memory = p.alloc(64);
        if right {
            ok!(p, cuMemFree_v2(memory));
        }
    }
    pinned_memory: Leak ["cuMemAllocHost_v2 on host"], |p, right| {
        let memory = p.pinned(64);
        if right {
            ok!(p, cuMemFreeHost(memory.cast()));
        }
    }
    managed_memory: Leak ["cuMemAllocManaged on host"], |p, right| {
        let memory = p.managed(64);
        if right {
            ok!(p, cuMemFree_v2(memory));
        }
    }
    pool_memory: Leak ["cuMemAllocAsync on legacy"], |p, right| {
        let memory = p.pool_memory(64, CUstream::NULL);
        if right {
            ok!(p, cuMemFreeAsync(memory, CUstream::NULL));
            ok!(p, cuCtxSynchronize());
        }
    }
}
