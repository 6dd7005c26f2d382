//! Races between the threads of one launch, in shared and global memory, with every means of ordering threads.

use super::*;
use std::ffi::CString;

/// The common beginning of all kernels in this file. `%t` is the thread, `%n` the number of threads in a block, `%b`
/// the block, `%g` the thread in the grid. `%shared` is the thread's word of the shared array `s`, `%out` the global
/// memory, `%global` the thread's word of the global memory.
const HEAD: &str = "
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 count;
.extern .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.visible .entry k(.param .u64 out)
{
    .reg .pred %p, %q, %h; .reg .b32 %t, %n, %b, %g, %v, %w, %x; .reg .b64 %shared, %s, %out, %global, %a, %c, %z;
    .shared .align 16 .u32 s[1024];
    .shared .align 8 .u64 object;
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %n, %ntid.x;
    mov.u32 %b, %ctaid.x;
    mad.lo.u32 %g, %b, %n, %t;
    mul.wide.u32 %global, %g, 4;
    add.u64 %global, %out, %global;
    mov.u64 %s, s;
    mul.wide.u32 %shared, %t, 4;
    add.u64 %shared, %s, %shared;
";

/// Launches a kernel with this body over zeroed memory.
fn run_in(p: &Program, body: &str, grid: u32, threads: u32, together: bool) {
    let text = CString::new(format!("{HEAD}{body}\n    ret;\n}}\n")).unwrap();
    let (mut module, mut function, stream) = (CUmodule::NULL, CUfunction::NULL, p.stream(0));
    ok!(p, cuModuleLoadData(&mut module, text.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    let mut memory = p.alloc(1 << 16);
    p.fill(memory, 0, 1 << 16, stream);
    let mut parameters = [(&raw mut memory).cast::<c_void>()];
    let (none, parameters) = (std::ptr::null_mut(), parameters.as_mut_ptr());
    if together {
        ok!(p, cuLaunchCooperativeKernel(function, grid, 1, 1, threads, 1, 1, 0, stream, parameters));
    } else {
        ok!(p, cuLaunchKernel(function, grid, 1, 1, threads, 1, 1, 0, stream, parameters, none));
    }
}

fn run(p: &Program, body: &str, grid: u32, threads: u32) {
    run_in(p, body, grid, threads, false);
}

/// Returns `correct` or `wrong`.
fn pick<'a>(right: bool, correct: &'a str, wrong: &'a str) -> &'a str {
    if right { correct } else { wrong }
}

const BARRIER: &str = "bar.sync 0;";

pairs! {
    a_reduction_lacks_a_barrier: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let barrier = pick(right, BARRIER, "");
        run(p, &format!("
            st.shared.u32 [%shared], %t;
            bar.sync 0;
            setp.lt.u32 %p, %t, 64;
            @%p ld.shared.u32 %v, [%shared + 256];
            @%p ld.shared.u32 %w, [%shared];
            @%p add.u32 %w, %w, %v;
            @%p st.shared.u32 [%shared], %w;
            {barrier}
            setp.lt.u32 %p, %t, 32;
            @%p ld.shared.u32 %v, [%shared + 128];
            @%p add.u32 %w, %w, %v;
            @%p st.global.u32 [%global], %w;"), 2, 128);
    }
    a_barrier_in_the_wrong_place: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let (before, after) = if right { ("", BARRIER) } else { (BARRIER, "") };
        run(p, &format!("
            xor.b32 %x, %t, 32;
            mul.wide.u32 %a, %x, 4;
            add.u64 %a, %s, %a;
            {before}
            st.shared.u32 [%shared], %t;
            {after}
            ld.shared.u32 %v, [%a];
            st.global.u32 [%global], %v;"), 1, 64);
    }
    a_tile_is_written_again_too_early: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        // The correct kernel uses the two halves of the array in turn.
        let flip = pick(right, "xor.b64 %shared, %shared, 0; xor.b64 %z, %z, 2048;", "");
        run(p, &format!("
            mov.u32 %x, 0;
            mov.u64 %z, 0;
            add.u32 %w, %t, 32;
            rem.u32 %w, %w, %n;
            mul.wide.u32 %c, %w, 4;
            add.u64 %c, %s, %c;
        L:  add.u64 %a, %shared, %z;
            st.shared.u32 [%a], %x;
            bar.sync 0;
            add.u64 %a, %c, %z;
            ld.shared.u32 %v, [%a];
            {flip}
            add.u32 %x, %x, 1;
            setp.lt.u32 %p, %x, 5;
            @%p bra L;
            st.global.u32 [%global], %v;"), 2, 96);
    }
    neighbouring_blocks_overlap: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let width = pick(right, "64", "63");
        run(p, &format!("
            mad.lo.u32 %x, %b, {width}, %t;
            mul.wide.u32 %a, %x, 4;
            add.u64 %a, %out, %a;
            st.global.u32 [%a], %g;"), 8, 64);
    }
    a_block_reads_its_neighbours_part: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let from = pick(right, "%global + 8192", "%global + 4");
        run(p, &format!("
            ld.global.u32 %v, [{from}];
            st.global.u32 [%global], %g;"), 4, 32);
    }
    a_histogram_without_atomics: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let count = pick(right, "red.shared.add.u32 [%a], 1;", "ld.shared.u32 %v, [%a]; add.u32 %v, %v, 1; st.shared.u32 [%a], %v;");
        run(p, &format!("
            mov.u32 %x, 0;
            st.shared.u32 [%shared], %x;
            bar.sync 0;
            and.b32 %x, %t, 7;
            mul.wide.u32 %a, %x, 4;
            add.u64 %a, %s, %a;
            {count}"), 1, 64);
    }
    blocks_add_up_without_atomics: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let add = pick(right, "@%p red.global.add.u32 [%out], %b;",
            "@%p ld.global.u32 %v, [%out]; add.u32 %v, %v, %b; @%p st.global.u32 [%out], %v;");
        run(p, &format!("setp.eq.u32 %p, %t, 0; {add}"), 8, 64);
    }
    a_variable_of_the_module_counts_without_atomics: KernelRace
        ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let add = pick(right, "red.global.add.u32 [count], 1;", "ld.global.u32 %v, [count]; add.u32 %v, %v, 1; st.global.u32 [count], %v;");
        run(p, add, 2, 32);
    }
    all_threads_write_one_word: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        // Writing the same value is allowed.
        let what = pick(right, "%n", "%t");
        run(p, &format!("st.shared.u32 [%s], {what}; st.shared.u32 [%s], {what};"), 2, 64);
    }
    all_blocks_write_one_word: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let what = pick(right, "%n", "%b");
        run(p, &format!("st.global.u32 [%out], {what};"), 4, 64);
    }
    a_named_barrier_for_too_few: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        // The third warp writes words that the first two read.
        let (who, how_many) = if right { ("96", "96") } else { ("64", "64") };
        run(p, &format!("
            st.shared.u32 [%shared], %t;
            setp.lt.u32 %p, %t, {who};
            @%p barrier.cta.sync 1, {how_many};
            setp.lt.u32 %p, %t, 64;
            @%p ld.shared.u32 %v, [%shared + 128];
            @%p st.global.u32 [%global], %v;"), 1, 96);
    }
    a_producer_arrives_before_it_has_written: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let (before, after) = if right { ("", "@%p bar.arrive 2, 64;") } else { ("@%p bar.arrive 2, 64;", "") };
        run(p, &format!("
            setp.lt.u32 %p, %t, 32;
            {before}
            @%p st.shared.u32 [%shared], %t;
            {after}
            @!%p bar.sync 2, 64;
            @!%p ld.shared.u32 %v, [%shared + -128];
            @!%p st.global.u32 [%global], %v;"), 1, 64);
    }
    lanes_of_a_warp_without_a_barrier: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let barrier = pick(right, "bar.warp.sync -1;", "");
        run(p, &format!("
            st.shared.u32 [%shared], %t;
            {barrier}
            setp.lt.u32 %p, %t, 31;
            @%p ld.shared.u32 %v, [%shared + 4];
            @%p st.global.u32 [%global], %v;"), 2, 32);
    }
    halves_of_a_warp_that_synchronize_apart: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let (low, high) = if right { ("-1", "-1") } else { ("65535", "-65536") };
        run(p, &format!("
            st.shared.u32 [%shared], %t;
            setp.lt.u32 %p, %t, 16;
            selp.b32 %x, {low}, {high}, %p;
            bar.warp.sync %x;
            @%p ld.shared.u32 %v, [%shared + 64];
            @%p st.global.u32 [%global], %v;"), 1, 32);
    }
    the_grid_does_not_synchronize: KernelRace
        ["cuLaunchCooperativeKernel on stream 1", "cuLaunchCooperativeKernel on stream 1"], |p, right| {
        let barrier = pick(right, "{ .param .b32 r; .param .b64 h; .param .b32 f; st.param.b64 [h], 1; st.param.b32 [f], 0; \
            call (r), cudaCGSynchronize, (h, f); }", BARRIER);
        run_in(p, &format!("
            st.global.u32 [%global], %g;
            {barrier}
            mov.u32 %x, %nctaid.x;
            mul.lo.u32 %x, %x, %n;
            sub.u32 %x, %x, %g;
            mul.wide.u32 %a, %x, 4;
            add.u64 %a, %out, %a;
            ld.global.u32 %v, [%a + -4];
            st.global.u32 [%global + 4096], %v;"), 4, 32, true);
    }
    a_plain_read_of_an_atomic_counter: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let barrier = pick(right, BARRIER, "");
        run(p, &format!("
            mov.u32 %x, 0;
            setp.eq.u32 %p, %t, 0;
            @%p st.shared.u32 [%s], %x;
            bar.sync 0;
            red.shared.add.u32 [%s], 1;
            {barrier}
            @%p ld.shared.u32 %v, [%s];
            @%p st.global.u32 [%global], %v;"), 2, 64);
    }
    a_block_reads_an_atomic_counter_of_others: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let read = pick(right, "@%p atom.global.add.u32 %v, [%out], 0;", "@%p ld.global.u32 %v, [%out];");
        run(p, &format!("
            setp.eq.u32 %p, %t, 0;
            setp.ne.u32 %q, %b, 0;
            and.pred %q, %p, %q;
            @%q red.global.add.u32 [%out], 1;
            setp.eq.u32 %h, %b, 0;
            and.pred %p, %p, %h;
            {read}"), 4, 32);
    }
    the_last_block_adds_up_without_a_fence: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let fence = pick(right, "membar.gl;", "");
        run(p, &format!("
            setp.eq.u32 %p, %t, 0;
            mul.wide.u32 %a, %b, 4;
            add.u64 %a, %out, %a;
            @%p st.global.u32 [%a + 64], %b;
            {fence}
            @%p atom.global.inc.u32 %v, [%out], 100;
            @%p st.shared.u32 [%s], %v;
            bar.sync 0;
            ld.shared.u32 %v, [%s];
            setp.eq.u32 %q, %v, 7;
            setp.lt.u32 %h, %t, 8;
            and.pred %q, %q, %h;
            mul.wide.u32 %a, %t, 4;
            add.u64 %a, %out, %a;
            @%q ld.global.u32 %w, [%a + 64];
            @%q st.global.u32 [%a + 1024], %w;"), 8, 32);
    }
    a_flag_without_a_fence: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let fence = pick(right, "membar.cta;", "");
        run(p, &format!("
            mov.u32 %x, 0;
            st.shared.u32 [%shared], %x;
            bar.sync 0;
            setp.lt.u32 %p, %t, 32;
            @%p bra WAIT;
            setp.eq.u32 %q, %t, 32;
            @%q st.shared.u32 [%s + 512], %t;
            {fence}
            @%q st.volatile.shared.u32 [%s + 640], %t;
            bra END;
        WAIT:
            ld.volatile.shared.u32 %v, [%s + 640];
            setp.eq.u32 %q, %v, 0;
            @%q bra WAIT;
            ld.shared.u32 %v, [%s + 512];
            st.global.u32 [%global], %v;
        END:"), 1, 256);
    }
    an_mbarrier_without_a_wait: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let wait = pick(right, "W: mbarrier.try_wait.shared.b64 %h, [object], %c; @!%h bra W;", "");
        run(p, &format!("
            setp.eq.u32 %p, %t, 0;
            @%p mbarrier.init.shared.b64 [object], 64;
            bar.sync 0;
            st.shared.u32 [%shared], %t;
            mbarrier.arrive.shared.b64 %c, [object];
            {wait}
            xor.b32 %x, %t, 32;
            mul.wide.u32 %a, %x, 4;
            add.u64 %a, %s, %a;
            ld.shared.u32 %v, [%a];
            st.global.u32 [%global], %v;"), 2, 64);
    }
    an_asynchronous_copy_without_a_wait: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let wait = pick(right, "cp.async.wait_group 0;", "");
        run(p, &format!("
            cp.async.ca.shared.global [%shared], [%global], 4;
            cp.async.commit_group;
            {wait}
            ld.shared.u32 %v, [%shared];"), 2, 64);
    }
    an_asynchronous_copy_without_a_barrier: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let barrier = pick(right, BARRIER, "");
        run(p, &format!("
            cp.async.ca.shared.global [%shared], [%global], 4;
            cp.async.wait_all;
            {barrier}
            xor.b32 %x, %t, 33;
            mul.wide.u32 %a, %x, 4;
            add.u64 %a, %s, %a;
            ld.shared.u32 %v, [%a];"), 2, 64);
    }
    an_asynchronous_copy_that_waits_for_too_few_groups: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let left = pick(right, "0", "1");
        run(p, &format!("
            cp.async.ca.shared.global [%shared], [%global], 4;
            cp.async.commit_group;
            cp.async.ca.shared.global [%shared + 2048], [%global + 512], 4;
            cp.async.commit_group;
            cp.async.wait_group {left};
            bar.sync 0;
            xor.b32 %x, %t, 33;
            mul.wide.u32 %a, %x, 4;
            add.u64 %a, %s, %a;
            ld.shared.u32 %v, [%a + 2048];"), 2, 64);
    }
    an_asynchronous_copy_whose_source_is_overwritten: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let (before, after) = (pick(right, "cp.async.wait_all;", ""), pick(right, "", "cp.async.wait_all;"));
        run(p, &format!("
            cp.async.ca.shared.global [%shared], [%global], 4;
            {before}
            st.global.u32 [%global], %t;
            {after}"), 2, 64);
    }
    a_bulk_copy_that_waits_for_another_phase: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let phase = pick(right, "0", "1");
        run(p, &format!("
            setp.eq.u32 %p, %t, 0;
            @%p mbarrier.init.shared.b64 [object], 1;
            @%p fence.mbarrier_init.release.cluster;
            bar.sync 0;
            @%p mbarrier.arrive.expect_tx.shared.b64 _, [object], 256;
            @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%out], 256, [object];
        WAIT:
            mbarrier.try_wait.parity.shared.b64 %h, [object], {phase};
            @!%h bra WAIT;
            ld.shared.u32 %v, [%shared];"), 2, 64);
    }
    a_bulk_copy_whose_source_is_used_again: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let wait = pick(right, "@%p cp.async.bulk.wait_group.read 0;", "");
        run(p, &format!("
            setp.eq.u32 %p, %t, 0;
            st.shared.u32 [%shared], %t;
            fence.proxy.async.shared::cta;
            bar.sync 0;
            mul.wide.u32 %a, %b, 256;
            add.u64 %a, %out, %a;
            @%p cp.async.bulk.global.shared::cta.bulk_group [%a], [s], 256;
            @%p cp.async.bulk.commit_group;
            {wait}
            bar.sync 0;
            st.shared.u32 [%shared], 7;
            @%p cp.async.bulk.wait_group.read 0;"), 2, 64);
    }
    a_block_that_ends_before_its_bulk_copy_has_read: UseAfterFree ["cuLaunchKernel on stream 1"], |p, right| {
        let wait = pick(right, "@%p cp.async.bulk.wait_group.read 0;", "");
        run(p, &format!("
            setp.eq.u32 %p, %t, 0;
            st.shared.u32 [%shared], %t;
            fence.proxy.async.shared::cta;
            bar.sync 0;
            mul.wide.u32 %a, %b, 256;
            add.u64 %a, %out, %a;
            @%p cp.async.bulk.global.shared::cta.bulk_group [%a], [s], 256;
            @%p cp.async.bulk.commit_group;
            {wait}"), 2, 64);
    }
    a_bulk_copy_without_a_proxy_fence: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let fence = pick(right, "fence.proxy.async.shared::cta;", "");
        run(p, &format!("
            setp.eq.u32 %p, %t, 0;
            st.shared.u32 [%shared], %t;
            {fence}
            bar.sync 0;
            mul.wide.u32 %a, %b, 256;
            add.u64 %a, %out, %a;
            @%p cp.async.bulk.global.shared::cta.bulk_group [%a], [s], 256;
            @%p cp.async.bulk.commit_group;
            @%p cp.async.bulk.wait_group.read 0;"), 2, 64);
    }
    a_barrier_object_that_is_used_before_its_initialization: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let barrier = pick(right, "bar.sync 0;", "");
        run(p, &format!("
            setp.eq.u32 %p, %t, 0;
            @%p mbarrier.init.shared.b64 [object], 64;
            {barrier}
            mbarrier.arrive.shared.b64 _, [object];"), 2, 64);
    }
    a_wide_write_reaches_the_next_threads_word: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let far = pick(right, "8", "4");
        run(p, &format!("
            mul.wide.u32 %a, %t, {far};
            and.b64 %a, %a, -8;
            add.u64 %a, %out, %a;
            cvt.u64.u32 %c, %t;
            st.global.u64 [%a], %c;"), 1, 32);
    }
    bytes_of_one_word: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let read = pick(right, "ld.shared.u8 %v, [%a];", "ld.shared.u8 %v, [%a + 1];");
        run(p, &format!("
            cvt.u64.u32 %a, %t;
            add.u64 %a, %s, %a;
            st.shared.u8 [%a], %t;
            {read}
            st.global.u32 [%global], %v;"), 1, 32);
    }
    a_tile_is_transposed_without_a_barrier: KernelRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"], |p, right| {
        let barrier = pick(right, BARRIER, "");
        run(p, &format!("
            ld.global.u32 %v, [%global];
            st.shared.u32 [%shared], %v;
            {barrier}
            and.b32 %x, %t, 15;
            shr.u32 %w, %t, 4;
            mad.lo.u32 %x, %x, 16, %w;
            mul.wide.u32 %a, %x, 4;
            add.u64 %a, %s, %a;
            ld.shared.u32 %v, [%a];
            st.global.u32 [%global], %v;"), 4, 256);
    }
}
