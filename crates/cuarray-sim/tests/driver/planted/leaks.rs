//! Objects that still exist when the program ends.

use super::*;

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
    a_stream: Leak ["cuStreamCreate on host"], |p, right| {
        let stream = p.stream(0);
        if right {
            ok!(p, cuStreamDestroy_v2(stream));
        }
    }
    an_event: Leak ["cuEventCreate on host"], |p, right| {
        let event = p.event();
        if right {
            ok!(p, cuEventDestroy_v2(event));
        }
    }
    registered_memory: Leak ["cuMemHostRegister_v2 on host"], |p, right| {
        let host = keep(Box::into_raw(Box::new([0_u8; 64]))).cast();
        ok!(p, cuMemHostRegister_v2(host, 64, 0));
        if right {
            ok!(p, cuMemHostUnregister(host));
        }
    }
}
