//! Kernels of two devices with peer access, and peer copies, over the same memory.

use super::small_kernels::*;
use super::*;

fn two_devices(config: &mut Config) {
    config.devices = 2;
}

/// As [`two_devices`], with launches that run when they are called.
fn eager(config: &mut Config) {
    (config.devices, config.schedule) = (2, Schedule::Eager);
}

const LAUNCHES: [&str; 2] = ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 2"];

/// Runs a thread on each device, over memory of the first.
fn on_both(p: &Program, one: &str, other: &str) {
    let (flag, data) = (p.written(256), p.written(256));
    let there = p.primary(1);
    kernel(p, &one_thread(one)).run(p, flag, data, p.stream(NON_BLOCKING));
    ok!(p, cuCtxSetCurrent(there));
    ok!(p, cuCtxEnablePeerAccess(p.context, 0));
    let stream = p.stream(NON_BLOCKING);
    kernel(p, &one_thread(other)).run(p, flag, data, stream);
    ok!(p, cuStreamSynchronize(stream));
    ok!(p, cuCtxSetCurrent(p.context));
    ok!(p, cuCtxSynchronize());
}

pairs! {
    the_scope_of_one_device: DataRace LAUNCHES with two_devices, |p, right| {
        let scope = if right { "sys" } else { "gpu" };
        let add = format!("red.relaxed.{scope}.global.add.u32 [%out], 1;");
        on_both(p, &add, &add);
    }
    the_scope_of_one_device_in_one_kernel: DataRace LAUNCHES with two_devices, |p, right| {
        let other = if right { "ld.volatile.global.u32 %v, [%out];" } else { "ld.relaxed.gpu.global.u32 %v, [%out];" };
        on_both(p, "st.relaxed.sys.global.u32 [%out], 1;", other);
    }
    a_flag_with_a_fence_of_one_device: DataRace LAUNCHES with eager, |p, right| {
        let fence = if right { "fence.acq_rel.sys;" } else { "fence.acq_rel.gpu;" };
        on_both(
            p,
            &format!("st.global.u32 [%data], 7; {fence} st.relaxed.sys.global.u32 [%out], 1;"),
            "ld.acquire.sys.global.u32 %v, [%out]; setp.eq.u32 %p, %v, 0; @%p bra END; ld.global.u32 %v, [%data];",
        );
    }
    an_acquire_of_one_device: DataRace LAUNCHES with eager, |p, right| {
        let fence = if right { "fence.acq_rel.sys;" } else { "fence.acq_rel.gpu;" };
        on_both(
            p,
            "st.global.u32 [%data], 7; st.release.sys.global.u32 [%out], 1;",
            &format!("ld.relaxed.sys.global.u32 %v, [%out]; {fence} setp.eq.u32 %p, %v, 0; @%p bra END; ld.global.u32 %v, [%data];"),
        );
    }
    a_peer_copy_of_what_a_kernel_writes: DataRace ["cuLaunchKernel on stream 1", "cuMemcpyPeerAsync on stream 2"]
        with two_devices, |p, right| {
        let (memory, stream) = (p.written(256), p.stream(NON_BLOCKING));
        let there = p.primary(1);
        ok!(p, cuCtxSetCurrent(there));
        let (copy, other) = (p.alloc(64), p.stream(NON_BLOCKING));
        ok!(p, cuCtxSetCurrent(p.context));
        kernel(p, &one_thread("st.release.sys.global.u32 [%out], 1;")).run(p, memory, memory, stream);
        // Strong accesses of the kernel do not order a copy.
        if right {
            p.order(stream, other);
        }
        ok!(p, cuMemcpyPeerAsync(copy, there, memory, p.context, 64, other));
        ok!(p, cuStreamSynchronize(other));
        ok!(p, cuCtxSynchronize());
    }
    a_peer_copy_into_what_a_kernel_reads: DataRace ["cuLaunchKernel on stream 1", "cuMemcpyPeerAsync on stream 2"]
        with two_devices, |p, right| {
        let (memory, stream) = (p.written(256), p.stream(NON_BLOCKING));
        let there = p.primary(1);
        ok!(p, cuCtxSetCurrent(there));
        let (source, other) = (p.written(64), p.stream(NON_BLOCKING));
        ok!(p, cuCtxSetCurrent(p.context));
        kernel(p, &one_thread("ld.global.u32 %v, [%out + 60];")).run(p, memory, memory, stream);
        // The copy ends before the word that the kernel reads, or with it.
        let length = if right { 60 } else { 64 };
        ok!(p, cuMemcpyPeerAsync(memory, p.context, source, there, length, other));
        ok!(p, cuStreamSynchronize(other));
        ok!(p, cuCtxSynchronize());
    }
}
