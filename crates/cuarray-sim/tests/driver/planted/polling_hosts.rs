//! A host that polls what a kernel writes, and a kernel that reads what the host writes, without a call in between.

use super::small_kernels::*;
use super::*;

const HOST_READS: [&str; 2] = ["cuLaunchKernel on stream 1", "host read on host"];

/// Memory of the kinds that host and devices share.
fn shared(p: &Program, managed: bool) -> *mut u8 {
    let memory = if managed { p.managed(4) as *mut u8 } else { p.pinned(4) };
    write(memory, 0);
    memory
}

/// Runs a thread, polls the flag that it sets, and reads the data.
fn poll_for(p: &Program, managed: bool, body: &str) {
    let kernel = kernel(p, &one_thread(body));
    let (flag, data) = (shared(p, managed), shared(p, managed));
    kernel.run(p, flag as u64, data as u64, p.stream(NON_BLOCKING));
    poll(flag);
    read(data);
    ok!(p, cuCtxSynchronize());
}

fn produce(fence: &str, store: &str) -> String {
    format!("st.global.u32 [%data], 7; {fence} {store} [%out], 1;")
}

pairs! {
    no_fence_before_the_polled_flag: DataRace HOST_READS, |p, right| {
        poll_for(p, false, &produce(if right { "membar.sys;" } else { "" }, "st.volatile.global.u32"));
    }
    a_fence_of_the_device_before_the_polled_flag: DataRace HOST_READS, |p, right| {
        poll_for(p, false, &produce(if right { "membar.sys;" } else { "membar.gl;" }, "st.volatile.global.u32"));
    }
    a_release_in_managed_memory: DataRace HOST_READS, |p, right| {
        let store = if right { "st.release.sys.global.u32" } else { "st.relaxed.sys.global.u32" };
        poll_for(p, true, &produce("", store));
    }
    a_flag_of_the_device: DataRace HOST_READS, |p, right| {
        // The early run of a polled kernel needs an access of the system.
        let store = if right { "st.release.sys.global.u32" } else { "st.release.gpu.global.u32" };
        poll_for(p, false, &produce("membar.sys;", store));
    }
    a_flag_of_the_host_that_a_kernel_reads_by_a_plain_load: DataRace ["cuLaunchKernel on stream 1", "host write on host"], |p, right| {
        let flag = shared(p, false);
        ok!(p, cuCtxSynchronize());
        let load = if right { "ld.acquire.sys.global.u32" } else { "ld.global.u32" };
        let body = one_thread(&format!("{load} %v, [%out];"));
        kernel(p, &body).run(p, flag as u64, p.written(64), p.stream(NON_BLOCKING));
        write(flag, 1);
        ok!(p, cuCtxSynchronize());
    }
}
