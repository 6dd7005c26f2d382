//! Kernels: their accesses are known only after they have run, but findings follow the order of the calls.

use super::*;
use std::ffi::CStr;

/// Kernels: `fill` writes one byte in each thread; `copy` reads one byte and writes another. `count` adds to one
/// word. `set` overwrites the word, reads it again and stores it in the next word.
const CODE: &CStr = c"
.version 8.0
.target sm_90
.address_size 64
.visible .entry fill(.param .u64 target)
{
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [target];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd2, %r1;
    add.s64 %rd1, %rd1, %rd2;
    mov.u32 %r2, 1;
    st.global.u8 [%rd1], %r2;
    ret;
}
.visible .entry copy(.param .u64 target, .param .u64 source)
{
    .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [target];
    ld.param.u64 %rd2, [source];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd3, %r1;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.u8 %r2, [%rd2];
    st.global.u8 [%rd1], %r2;
    ret;
}
.visible .entry count(.param .u64 target)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [target];
    red.global.add.u32 [%rd1], 1;
    ret;
}
.visible .entry set(.param .u64 target)
{
    .reg .b32 %r<3>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [target];
    atom.global.exch.b32 %r1, [%rd1], 0;
    ld.relaxed.gpu.global.u32 %r2, [%rd1];
    atom.global.exch.b32 %r1, [%rd1+4], %r2;
    ret;
}
";

/// Launches a kernel of 64 threads with two addresses.
fn launch(p: &Program, name: &CStr, mut addresses: [CUdeviceptr; 2], stream: CUstream) {
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(p, cuModuleLoadData(&mut module, CODE.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, name.as_ptr()));
    let mut parameters = addresses.each_mut().map(|address| (&raw mut *address).cast::<c_void>());
    let none = std::ptr::null_mut();
    ok!(p, cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, parameters.as_mut_ptr(), none));
}

fn fill(p: &Program, memory: CUdeviceptr, stream: CUstream) {
    launch(p, c"fill", [memory, 0], stream);
}

pairs! {
    two_kernels: DataRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let (one, two, memory) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING), p.alloc(64));
        fill(p, memory, one);
        if right {
            p.order(one, two);
        }
        fill(p, memory, two);
    }
    a_kernel_and_a_copy: DataRace ["cuMemcpyDtoDAsync_v2 on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let (one, two, memory, copy) = (p.stream(0), p.stream(0), p.written(64), p.alloc(64));
        p.copy(copy, memory, 64, one);
        if right {
            ok!(p, cuStreamSynchronize(one));
        }
        fill(p, memory, two);
    }
    a_kernel_that_reads_too_early: DataRace ["cuMemsetD8Async on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let (one, two, memory, copy) = (p.stream(0), p.stream(0), p.written(64), p.alloc(64));
        p.fill(memory, 1, 64, one);
        if right {
            p.order(one, two);
        }
        launch(p, c"copy", [copy, memory], two);
    }
    managed_memory_read_while_a_kernel_fills_it: DataRace ["cuLaunchKernel on stream 1", "host read on host"], |p, right| {
        let (stream, memory) = (p.stream(0), p.managed(64));
        fill(p, memory, stream);
        if right {
            ok!(p, cuStreamSynchronize(stream));
        }
        read(memory as *const u8);
    }
    managed_memory_written_while_a_kernel_reads_it: DataRace ["cuLaunchKernel on stream 1", "host write on host"], |p, right| {
        let (stream, memory, copy) = (p.stream(0), p.managed(64), p.alloc(64));
        launch(p, c"copy", [copy, memory], stream);
        if right {
            ok!(p, cuCtxSynchronize());
        }
        write(memory as *mut u8, 1);
    }
    mapped_memory_read_while_a_kernel_fills_it: DataRace ["cuLaunchKernel on stream 1", "host read on host"], |p, right| {
        let (stream, event, host) = (p.stream(NON_BLOCKING), p.event(), p.pinned(64));
        fill(p, host as u64, stream);
        ok!(p, cuEventRecord(event, stream));
        if right {
            ok!(p, cuEventSynchronize(event));
        }
        read(host);
    }
    a_kernel_reads_unwritten_memory: UninitializedRead ["cuLaunchKernel on stream 1"], |p, right| {
        let (stream, memory, copy) = (p.stream(0), p.alloc(64), p.alloc(64));
        if right {
            p.fill(memory, 1, 64, stream);
        }
        launch(p, c"copy", [copy, memory], stream);
    }
    a_kernel_copies_partly_unwritten_memory_to_the_host: UninitializedRead ["cuMemcpyDtoH_v2 on legacy"], |p, right| {
        // The copy is no use of the bytes, and leaves them unwritten.
        let (stream, memory, copy) = (p.stream(0), p.alloc(64), p.alloc(64));
        ok!(p, cuMemsetD8_v2(memory, 0, if right { 64 } else { 60 }));
        launch(p, c"copy", [copy, memory], stream);
        let mut bytes = [0_u8; 64];
        ok!(p, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), copy, 64));
    }
    a_kernel_updates_unwritten_memory: UninitializedRead ["cuLaunchKernel on stream 1"], |p, right| {
        let (stream, memory) = (p.stream(0), p.alloc(64));
        if right {
            fill(p, memory, stream);
        }
        launch(p, c"copy", [memory, memory], stream);
    }
    a_kernel_counts_in_unwritten_memory: UninitializedRead ["cuLaunchKernel on stream 1"], |p, right| {
        let (stream, memory) = (p.stream(0), p.alloc(64));
        if right {
            launch(p, c"set", [memory, 0], stream);
        }
        launch(p, c"count", [memory, 0], stream);
    }
    stream_ordered_memory_released_under_a_kernel: FreeBeforePendingWork
        ["cuLaunchKernel on stream 2", "cuMemFreeAsync on stream 1"], |p, right| {
        let (one, two) = (p.stream(0), p.stream(0));
        let memory = p.pool_memory(64, one);
        p.order(one, two);
        fill(p, memory, two);
        if right {
            p.order(two, one);
        }
        ok!(p, cuMemFreeAsync(memory, one));
    }
}
