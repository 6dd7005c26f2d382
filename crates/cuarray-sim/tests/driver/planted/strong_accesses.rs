//! Atomic operations and strong accesses of several launches, and of the host, to the same bytes.

use super::small_kernels::*;
use super::*;

/// Adds to eight counters.
fn histogram(scope: &str) -> String {
    format!("and.b32 %v, %t, 7; mul.wide.u32 %a, %v, 4; add.u64 %a, %out, %a; red{scope}.global.add.u32 [%a], 1;")
}

/// Adds to a sum as the CUDA programming guide does.
fn sum_of_doubles() -> String {
    "
        ld.global.u64 %a, [%out];
    L:  mov.b64 %c, %a;
        mov.b64 %x, %c;
        add.f64 %x, %x, 0d3FF0000000000000;
        mov.b64 %d, %x;
        atom.global.cas.b64 %a, [%out], %c, %d;
        setp.ne.b64 %p, %a, %c;
        @%p bra L;"
        .to_owned()
}

pairs! {
    a_histogram_of_two_launches: DataRace LAUNCHES, |p, right| {
        // Two blocks of one launch would race by the narrow scope too.
        let first = "mov.u32 %w, %ctaid.x; setp.ne.u32 %p, %w, 0; @%p bra END;";
        let narrow = format!("{first} {} END:", histogram(if right { "" } else { ".relaxed.cta" }));
        two(p, &narrow, &histogram(".relaxed.gpu"));
    }
    a_histogram_and_a_plain_increment: DataRace LAUNCHES, |p, right| {
        let plain = if right { "" } else { "mov.u32 %w, %ctaid.x; or.b32 %w, %w, %t; setp.eq.u32 %p, %w, 0; \
            @%p ld.global.u32 %v, [%out]; add.u32 %v, %v, 1; @%p st.global.u32 [%out], %v;" };
        two(p, &histogram(""), plain);
    }
    a_plain_read_of_a_histogram: DataRace LAUNCHES, |p, right| {
        let reading = if right { "ld.relaxed.gpu.global.u32 %v, [%out];" } else { "ld.global.u32 %v, [%out];" };
        two(p, &histogram(""), reading);
    }
    the_first_read_of_a_compare_and_swap_loop: DataRace LAUNCHES, |p, right| {
        let plain = "ld.global.u64 %a, [%out];";
        two(p, &sum_of_doubles(), &if right { sum_of_doubles() } else { plain.to_owned() });
    }
    the_first_read_of_a_compare_and_swap_loop_in_one_launch: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"]
        with |config| config.guessed_reads = true, |p, right| {
        let kernel = kernel(p, &sum_of_doubles().replace("ld.global", if right { "ld.relaxed.gpu.global" } else { "ld.global" }));
        let memory = p.written(256);
        kernel.run(p, memory, memory, p.stream(NON_BLOCKING));
        ok!(p, cuCtxSynchronize());
    }
    tickets_of_two_launches: DataRace LAUNCHES, |p, right| {
        // Each thread takes a ticket, and writes to its own place.
        let ticket = "atom.global.add.u32 %v, [%out], 1; mul.wide.u32 %a, %v, 0;";
        let plain = "ld.global.u32 %v, [%out]; add.u32 %w, %v, 1;";
        two(p, ticket, if right { ticket } else { plain });
    }
    a_later_plain_read_of_many_atomic_launches: DataRace ["cuLaunchKernel on stream 1", "cuMemcpyDtoH_v2 on legacy"], |p, right| {
        // Only the second launch is ordered before the read.
        let add = kernel(p, &histogram(""));
        let memory = p.written(256);
        let streams = [0, 1].map(|_| p.stream(NON_BLOCKING));
        add.run(p, memory, memory, streams[0]);
        add.run(p, memory, memory, streams[1]);
        ok!(p, cuStreamSynchronize(streams[1]));
        if right {
            ok!(p, cuStreamSynchronize(streams[0]));
        }
        let mut word = 0_u32;
        ok!(p, cuMemcpyDtoH_v2((&raw mut word).cast(), memory, 4));
    }
    a_system_wide_counter_in_managed_memory: DataRace ["cuLaunchKernel on stream 1", "host read on host"], |p, right| {
        let add = kernel(p, &histogram(if right { ".relaxed.sys" } else { ".relaxed.gpu" }));
        let memory = p.managed(32);
        ok!(p, cuMemsetD8_v2(memory, 0, 32));
        ok!(p, cuCtxSynchronize());
        add.run(p, memory, memory, p.stream(NON_BLOCKING));
        if right {
            poll(memory as *const u8);
        } else {
            read(memory as *const u8);
        }
        ok!(p, cuCtxSynchronize());
    }
    a_polled_flag_in_pinned_memory: DataRace ["cuLaunchKernel on stream 1", "host read on host"], |p, right| {
        let fence = if right { "membar.sys;" } else { "" };
        let add = kernel(p, &format!("
            mov.u32 %w, %ctaid.x; or.b32 %w, %w, %t; setp.ne.u32 %p, %w, 0; @%p bra END;
            st.global.u32 [%data], 7; {fence} st.volatile.global.u32 [%out], 1;
        END:"));
        let (flag, data) = (p.pinned(4), p.pinned(4));
        write(flag, 0);
        add.run(p, flag as u64, data as u64, p.stream(NON_BLOCKING));
        poll(flag);
        read(data);
        ok!(p, cuCtxSynchronize());
    }
}
