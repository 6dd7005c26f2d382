//! Turns that end by polls: the instructions of threads that wait for other blocks, warps and lanes.

use super::*;

/// A kernel over `out`. `%t` is the thread, `%b` the block, and `%f` the address of a flag 512 bytes behind `%out`.
fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{ .reg .pred %p, %q; .reg .b32 %t, %b, %n, %i, %v, %w; .reg .b64 %out, %f, %a, %c, %d;\n\
         .shared .b32 box; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %nctaid.x;\n\
         add.u64 %f, %out, 512; setp.ne.u32 %q, %t, 0;\n{body}\n DONE: ret; }}"
    )
}

/// The outcome of a kernel without a race or a fault, and the memory.
fn executed(body: &str, (blocks, threads): (u32, u32), order: KernelOrder) -> (Outcome, Vec<u64>) {
    let mut memory = vec![0_u64; 1024];
    let source = kernel(body);
    let run = Run { source: &source, grid: [blocks, 1, 1], threads: [threads, 1, 1], order, ..Run::default() };
    let outcome = run.over(&mut [&mut memory]);
    assert_eq!((&outcome.fault, outcome.races.len()), (&None, 0), "{body}");
    (outcome, memory)
}

const ORDERS: [KernelOrder; 2] = [KernelOrder::Forward, KernelOrder::Reverse];

/// A barrier of the grid by an atomic counter, five times.
const GRID_BARRIERS: &str = "mov.u32 %i, 0; NEXT: add.u32 %i, %i, 1; bar.sync 0; @%q bra WAITED; membar.gl;\n\
    atom.global.add.u32 %v, [%f], 1; mul.lo.u32 %w, %i, %n;\n\
    POLL: ld.volatile.global.u32 %v, [%f]; setp.lt.u32 %p, %v, %w; @%p bra POLL; membar.gl;\n\
    WAITED: bar.sync 0; setp.lt.u32 %p, %i, 5; @%p bra NEXT;";

#[test]
fn blocks_that_wait_at_a_barrier_of_the_grid_take_few_instructions() {
    for order in ORDERS {
        let (outcome, memory) = executed(GRID_BARRIERS, (8, 64), order);
        assert_eq!(memory[64], 40);
        // Without waiting, they are 64 threads of 8 blocks for about 50 instructions.
        assert!(outcome.instructions < 64 * 8 * 100, "{order:?}: {}", outcome.instructions);
    }
}

#[test]
fn blocks_that_wait_for_their_neighbour_take_few_instructions() {
    let body = "@%q bra DONE; setp.eq.u32 %p, %b, 0; @%p bra FREE; mul.wide.u32 %a, %b, 4; add.u64 %a, %a, %f;\n\
        POLL: ld.acquire.gpu.global.u32 %v, [%a-4]; nanosleep.u32 20; setp.eq.u32 %p, %v, 0; @%p bra POLL;\n\
        FREE: mul.wide.u32 %a, %b, 4; add.u64 %a, %a, %f; st.release.gpu.global.u32 [%a], 1;";
    for order in ORDERS {
        let (outcome, memory) = executed(body, (64, 32), order);
        assert!(memory[64..96].iter().all(|flags| *flags == 1 | 1 << 32));
        assert!(outcome.instructions < 64 * 64 * 10, "{order:?}: {}", outcome.instructions);
    }
}

#[test]
fn warps_and_lanes_that_wait_for_a_lock_take_few_instructions() {
    // Each thread holds the lock once. The compare-and-swap of a waiting thread changes nothing.
    let body = "mov.u32 %i, 0; LOCK: setp.ne.u32 %q, %i, 0; @%q bra DONE; atom.acquire.gpu.global.cas.b32 %v, [%f], 0, 1;\n\
        setp.ne.u32 %p, %v, 0; @%p bra LOCK; ld.global.u64 %a, [%out]; add.u64 %a, %a, 1; st.global.u64 [%out], %a; mov.u32 %i, 1;\n\
        atom.release.gpu.global.exch.b32 %v, [%f], 0; bra LOCK;";
    for order in ORDERS {
        for shape in [(1, 32), (1, 128), (4, 64)] {
            let (outcome, memory) = executed(body, shape, order);
            let threads = u64::from(shape.0 * shape.1);
            assert_eq!(memory[0], threads, "{shape:?}");
            assert!(outcome.instructions < threads * 2_000, "{order:?} {shape:?}: {}", outcome.instructions);
        }
    }
}

#[test]
fn poll_across_barriers_of_the_block_ends_the_turn() {
    // As Triton compiles a loop of `tl.atomic_cas`: one thread tests, and hands the value to the others.
    let body = "setp.eq.u32 %p, %b, 1; @%p bra SETS;\n\
        POLL: @%q bra TESTED; atom.acq_rel.gpu.global.cas.b32 %v, [%f], 1, 1; st.shared.u32 [box], %v;\n\
        TESTED: bar.sync 0; ld.shared.u32 %v, [box]; bar.sync 0; setp.ne.u32 %p, %v, 1; @%p bra POLL; bra DONE;\n\
        SETS: @%q bra DONE; st.release.gpu.global.u32 [%f], 1;";
    let (outcome, _) = executed(body, (2, 128), KernelOrder::Forward);
    assert!(outcome.instructions < 128 * 500, "{}", outcome.instructions);
}

/// Whether the first block sees the flag that the second one sets, in 1,000 iterations with a poll of it and `work`.
fn sees_the_flag(work: &str) -> bool {
    let body = format!(
        "@%q bra DONE; setp.eq.u32 %p, %b, 1; @%p bra SETS; mov.u32 %i, 0; mov.u64 %c, 0;\n\
         POLL: ld.relaxed.gpu.global.u32 %v, [%f]; setp.ne.u32 %p, %v, 0; @%p bra SEEN; {work}\n\
         add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 1000; @%p bra POLL; bra DONE;\n\
         SEEN: st.global.u32 [%out+8], 1; bra DONE; SETS: st.relaxed.gpu.global.u32 [%f], 1;"
    );
    executed(&body, (2, 32), KernelOrder::Forward).1[1] != 0
}

#[test]
fn block_that_makes_progress_between_polls_keeps_its_turn() {
    assert!(!sees_the_flag("st.global.u32 [%out], %i;"));
    assert!(!sees_the_flag("red.global.add.u32 [%out], 1;"));
    assert!(!sees_the_flag(
        "mul.wide.u32 %a, %i, 4; add.u64 %a, %a, %out; ld.global.u32 %w, [%a+1024]; add.u64 %c, %c, %a;"
    ));
    assert!(!sees_the_flag("atom.relaxed.gpu.global.add.u32 %w, [%out], 1;"));
    // A store of the same value, and an atomic operation without an effect, are no progress.
    assert!(sees_the_flag("st.global.u32 [%out], 0;"));
    assert!(sees_the_flag("atom.relaxed.gpu.global.max.u32 %w, [%out], 0;"));
}

#[test]
fn block_that_waits_for_the_time_alone_ends_when_it_has_passed() {
    let body = "@%q bra DONE; mov.u64 %c, %clock64;\n\
        POLL: ld.volatile.global.u32 %v, [%f]; setp.ne.u32 %p, %v, 0; @%p bra DONE; mov.u64 %d, %clock64; sub.u64 %d, %d, %c;\n\
        setp.lt.u64 %p, %d, 1000000; @%p bra POLL;";
    for blocks in [1, 3] {
        executed(body, (blocks, 32), KernelOrder::Forward);
    }
}
