//! Reads of unwritten memory.

use super::*;

fn download(p: &Program, memory: CUdeviceptr, size: usize) {
    let mut bytes = vec![0_u8; size];
    ok!(p, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, size));
}

pairs! {
    fresh_memory: UninitializedRead ["cuMemcpyDtoH_v2 on legacy"], |p, right| {
        let memory = p.alloc(64);
        if right {
            ok!(p, cuMemsetD8_v2(memory, 0, 64));
        }
        download(p, memory, 64);
    }
    partly_written_memory: UninitializedRead ["cuMemcpyDtoH_v2 on legacy"], |p, right| {
        let memory = p.alloc(64);
        ok!(p, cuMemsetD8_v2(memory, 0, if right { 64 } else { 60 }));
        download(p, memory, 64);
    }
    stream_ordered_memory: UninitializedRead ["cuMemcpyDtoH_v2 on legacy"], |p, right| {
        let memory = p.pool_memory(64, CUstream::NULL);
        if right {
            p.fill(memory, 0, 64, CUstream::NULL);
        }
        download(p, memory, 64);
    }
    copy_of_unwritten_memory: UninitializedRead ["cuMemcpyDtoH_v2 on legacy"], |p, right| {
        let (memory, copy) = (p.alloc(64), p.alloc(64));
        if right {
            ok!(p, cuMemsetD8_v2(memory, 0, 64));
        }
        p.copy(copy, memory, 64, CUstream::NULL);
        download(p, copy, 64);
    }
    padding_of_rows: UninitializedRead ["cuMemcpyDtoH_v2 on legacy"], |p, right| {
        let memory = p.alloc(64 * 4);
        ok!(p, cuMemsetD2D8_v2(memory, 64, 0, 48, 4));
        download(p, memory, if right { 48 } else { 64 });
    }
    reallocated_memory: UninitializedRead ["cuMemcpyDtoH_v2 on legacy"], |p, right| {
        let memory = p.written(64);
        ok!(p, cuMemFree_v2(memory));
        let memory = p.alloc(64);
        if right {
            ok!(p, cuMemsetD32_v2(memory, 0, 16));
        }
        download(p, memory, 64);
    }
}
