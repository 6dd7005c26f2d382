//! Branches, loops, calls, barriers, and instructions of several threads.

use super::*;

fn numbers(count: usize) -> Vec<u64> {
    vec![0; count]
}

/// A kernel over `out`: `%i` is the thread's number in the grid, and `%v` (64 bits) is stored for it.
fn kernel(body: &str) -> String {
    kernel_with("", body)
}

fn kernel_with(declarations: &str, body: &str) -> String {
    format!(
        "{declarations}\n.visible .entry k(.param .u64 out) {{\n\
         .reg .b64 %v, %out, %at; .reg .b32 %i, %t, %n, %b, %r<20>; .reg .pred %p<10>; .reg .f32 %f<8>;\n\
         mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %b, %ctaid.x; mad.lo.s32 %i, %b, %n, %t;\n\
         ld.param.u64 %out, [out]; mul.wide.u32 %at, %i, 8; add.u64 %at, %at, %out;\n\
         {body}\n st.global.u64 [%at], %v; ret; }}"
    )
}

#[test]
fn diverged_threads_converge_again() {
    let source = kernel(
        "and.b32 %r1, %i, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra EVEN; mov.u64 %v, 1; bra.uni END;\n\
         EVEN: mov.u64 %v, 2;\n END: activemask.b32 %r2; cvt.u64.u32 %at, %r2;\n\
         shl.b64 %at, %at, 8; or.b64 %v, %v, %at; mul.wide.u32 %at, %i, 8; add.u64 %at, %at, %out;",
    );
    let mut out = numbers(32);
    assert_eq!(Run { source: &source, ..Run::default() }.over(&mut [&mut out]).fault, None);
    for (index, value) in out.iter().enumerate() {
        assert_eq!(*value, 0xff_ffff_ff00 | if index % 2 == 0 { 2 } else { 1 });
    }
}

#[test]
fn threads_leave_loops_independently() {
    let source = kernel(
        "mov.u64 %v, 0; mov.u32 %r1, 0;\n LOOP: setp.ge.u32 %p1, %r1, %i; @%p1 bra DONE;\n\
         and.b32 %r2, %r1, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra ODD; add.u64 %v, %v, 10; bra NEXT;\n\
         ODD: add.u64 %v, %v, 1;\n NEXT: add.u32 %r1, %r1, 1; bra LOOP;\n DONE:",
    );
    let mut out = numbers(100);
    let run = Run { source: &source, grid: [4, 1, 1], threads: [25, 1, 1], ..Run::default() };
    assert_eq!(run.over(&mut [&mut out]).fault, None);
    for (index, value) in out.iter().enumerate() {
        assert_eq!(*value, (0..index as u64).map(|turn| if turn % 2 == 0 { 10 } else { 1 }).sum::<u64>());
    }
}

#[test]
fn a_recursive_function_has_a_frame_for_each_call() {
    let function = ".func (.param .b64 r) fib(.param .b64 n) {\n\
        .reg .b64 %a, %b, %c; .reg .pred %p;\n ld.param.u64 %a, [n]; setp.lt.u64 %p, %a, 2; @%p bra SMALL;\n\
        { .param .b64 x; .param .b64 y; sub.u64 %b, %a, 1; st.param.b64 [x], %b; call (y), fib, (x); ld.param.b64 %c, [y]; }\n\
        { .param .b64 x; .param .b64 y; sub.u64 %b, %a, 2; st.param.b64 [x], %b; call (y), fib, (x); ld.param.b64 %b, [y]; }\n\
        add.u64 %a, %b, %c;\n SMALL: st.param.b64 [r], %a; ret; }";
    let body = "cvt.u64.u32 %v, %i; { .param .b64 x; .param .b64 y; st.param.b64 [x], %v; call.uni (y), fib, (x); ld.param.b64 %v, [y]; }";
    let source = kernel_with(function, body);
    let mut out = numbers(20);
    assert_eq!(Run { source: &source, threads: [20, 1, 1], ..Run::default() }.over(&mut [&mut out]).fault, None);
    let mut expected = vec![0_u64, 1];
    for index in 2..20 {
        expected.push(expected[index - 1] + expected[index - 2]);
    }
    assert_eq!(out, expected);
    let endless = source.replace("setp.lt.u64 %p, %a, 2", "setp.lt.u64 %p, %a, 0");
    let fault = Run { source: &endless, threads: [1, 1, 1], ..Run::default() }.over(&mut [&mut out]).fault;
    assert_eq!(fault.map(|fault| fault.kind), Some(FaultKind::Stack));
}

#[test]
fn functions_can_be_called_by_address() {
    let functions = ".func (.param .b32 r) one(.param .b32 n) { .reg .b32 %a; ld.param.u32 %a, [n]; add.u32 %a, %a, 1; st.param.b32 [r], %a; ret; }\n\
        .func (.param .b32 r) two(.param .b32 n) { .reg .b32 %a; ld.param.u32 %a, [n]; mul.lo.u32 %a, %a, 100; st.param.b32 [r], %a; ret; }";
    let body = "and.b32 %r1, %i, 1; setp.eq.u32 %p1, %r1, 0; mov.u64 %v, one; mov.u64 %at, two; selp.b64 %v, %v, %at, %p1;\n\
        { .param .b32 x; .param .b32 y; st.param.b32 [x], %i; proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
        call (y), %v, (x), proto; ld.param.b32 %r2, [y]; } cvt.u64.u32 %v, %r2; mul.wide.u32 %at, %i, 8; add.u64 %at, %at, %out;";
    let source = kernel_with(functions, body);
    let mut out = numbers(32);
    assert_eq!(Run { source: &source, ..Run::default() }.over(&mut [&mut out]).fault, None);
    assert!(
        out.iter()
            .enumerate()
            .all(|(index, value)| *value == if index % 2 == 0 { index as u64 + 1 } else { index as u64 * 100 })
    );
    let wild = kernel_with(functions, &body.replace("mov.u64 %at, two;", "mov.u64 %at, 12345;"));
    let fault = Run { source: &wild, ..Run::default() }.over(&mut [&mut out]).fault.unwrap();
    assert_eq!((fault.kind, fault.thread), (FaultKind::InvalidProgramCounter, [1, 0, 0]));
}

#[test]
fn a_barrier_waits_for_all_warps() {
    let source = kernel_with(
        ".shared .align 8 .b8 tile[2048];",
        "mov.u32 %r1, tile; shl.b32 %r2, %t, 3; add.u32 %r2, %r2, %r1; cvt.u64.u32 %v, %i; st.shared.u64 [%r2], %v; bar.sync 0;\n\
         sub.u32 %r3, 255, %t; shl.b32 %r3, %r3, 3; add.u32 %r3, %r3, %r1; ld.shared.u64 %v, [%r3];",
    );
    let mut out = numbers(512);
    let run = Run { source: &source, grid: [2, 1, 1], threads: [256, 1, 1], ..Run::default() };
    assert_eq!(run.over(&mut [&mut out]).fault, None);
    assert!(out.iter().enumerate().all(|(index, value)| *value == (index / 256 * 256 + 255 - index % 256) as u64));
}

#[test]
fn a_barrier_counts_predicates() {
    let source = kernel(
        "and.b32 %r1, %t, 3; setp.eq.u32 %p1, %r1, 0; bar.red.popc.u32 %r2, 0, %p1; barrier.red.or.pred %p2, 1, %p1;\n\
         barrier.red.and.pred %p3, 2, %p1; selp.u32 %r3, 1000, 0, %p2; add.u32 %r2, %r2, %r3; selp.u32 %r3, 5000, 0, %p3; add.u32 %r2, %r2, %r3; cvt.u64.u32 %v, %r2;",
    );
    let mut out = numbers(80);
    assert_eq!(Run { source: &source, threads: [80, 1, 1], ..Run::default() }.over(&mut [&mut out]).fault, None);
    assert!(out.iter().all(|value| *value == 1020));
}

#[test]
fn threads_of_a_warp_can_wait_for_each_other() {
    // Each thread of a warp takes a lock in a loop.
    let source = kernel_with(
        ".global .u32 lock; .global .u32 sum;",
        "mov.u32 %r5, 0;\n SPIN: atom.global.cas.b32 %r1, [lock], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra SPIN;\n\
         ld.volatile.global.u32 %r2, [sum]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [sum], %r2; membar.gl;\n\
         atom.global.exch.b32 %r1, [lock], 0; cvt.u64.u32 %v, %r2;",
    );
    // A thread that waits spins for a whole turn, and the memory model looks at each access. So whole warps run without records.
    for (threads, way) in [(32, Way::Unrecorded), (6, Way::Recorded)] {
        let mut out = numbers(2 * threads);
        let run = Run { source: &source, grid: [2, 1, 1], threads: [threads as u32, 1, 1], ..Run::default() };
        let fault = match way {
            Way::Unrecorded => run.executed(&mut [&mut out], way, 2).fault,
            _ => run.over(&mut [&mut out]).fault,
        };
        assert_eq!(fault, None);
        out.sort_unstable();
        assert_eq!(out, (1..=2 * threads as u64).collect::<Vec<u64>>());
    }
}

#[test]
fn endless_kernels_end_with_a_fault() {
    let mut out = numbers(64);
    let endless = kernel("LOOP: bra LOOP; mov.u64 %v, 0;");
    let fault = Run { source: &endless, budget: 1 << 20, ..Run::default() }.over(&mut [&mut out]).fault;
    assert_eq!(fault.map(|fault| fault.kind), Some(FaultKind::Deadlock));
    let stuck = kernel("setp.eq.u32 %p1, %t, 0; @%p1 bra W; bar.sync 1, 64;\n W: mov.u64 %v, 0; bar.sync 0;");
    let fault = Run { source: &stuck, threads: [64, 1, 1], ..Run::default() }.over(&mut [&mut out]).fault;
    assert_eq!(fault.map(|fault| fault.kind), Some(FaultKind::Deadlock));
    let trap = kernel("setp.eq.u32 %p1, %t, 5; @%p1 trap; mov.u64 %v, 0;");
    let fault = Run { source: &trap, ..Run::default() }.over(&mut [&mut out]).fault.unwrap();
    assert_eq!((fault.kind, fault.thread), (FaultKind::Trap, [5, 0, 0]));
}

#[test]
fn the_instruction_budget_is_respected() {
    // Blocks without an order, and blocks that run in turns; both warps get a turn before the budget is checked.
    for body in ["LOOP: add.u64 %v, %v, 1; bra LOOP;", "LOOP: atom.global.add.u64 %v, [%out], 1; bra LOOP;"] {
        for (budget, most) in [(1000, 2 * 1010), (100_000, 201_000)] {
            let mut out = numbers(128);
            let source = kernel(body);
            let run =
                Run { source: &source, grid: [2, 1, 1], threads: [64, 1, 1], budget, workers: 1, ..Run::default() };
            let outcome = run.over(&mut [&mut out]);
            assert_eq!(outcome.fault.map(|fault| fault.kind), Some(FaultKind::Budget), "{body}");
            assert!(
                (budget..most).contains(&(outcome.instructions / 32)),
                "{body}: {} instructions",
                outcome.instructions / 32
            );
        }
    }
}

#[test]
fn branch_tables_select_a_label() {
    let source = kernel(
        "and.b32 %r1, %i, 3; ts: .branchtargets A, B, C, A; mov.u64 %v, 0; brx.idx %r1, ts;\n A: add.u64 %v, %v, 1; bra E; B: mov.u64 %v, 20; bra E; C: mov.u64 %v, 30; E:",
    );
    let mut out = numbers(32);
    assert_eq!(Run { source: &source, ..Run::default() }.over(&mut [&mut out]).fault, None);
    assert!(out.iter().enumerate().all(|(index, value)| *value == [1, 20, 30, 1][index % 4]));
}

#[test]
fn shuffles_votes_and_matches_combine_lanes() {
    let source = kernel(
        "mul.lo.u32 %r1, %t, 3; shfl.sync.down.b32 %r2|%p1, %r1, 1, 31, -1; shfl.sync.bfly.b32 %r3, %r1, 16, 31, -1;\n\
         setp.lt.u32 %p2, %t, 10; vote.sync.ballot.b32 %r4, %p2, -1; and.b32 %r5, %t, 1; match.any.sync.b32 %r6, %r5, -1; redux.sync.add.s32 %r7, %t, -1;\n\
         add.u32 %r2, %r2, %r3; selp.u32 %r8, 100000, 0, %p1; add.u32 %r2, %r2, %r8; add.u32 %r2, %r2, %r4; popc.b32 %r6, %r6; add.u32 %r2, %r2, %r6; add.u32 %r2, %r2, %r7; cvt.u64.u32 %v, %r2;",
    );
    let mut out = numbers(32);
    assert_eq!(Run { source: &source, ..Run::default() }.over(&mut [&mut out]).fault, None);
    for (lane, value) in out.iter().enumerate() {
        let lane = lane as u64;
        let down = if lane < 31 { (lane + 1) * 3 + 100_000 } else { lane * 3 };
        assert_eq!(*value, down + (lane ^ 16) * 3 + 1023 + 16 + 496, "lane {lane}");
    }
}

#[test]
fn a_shuffle_waits_for_diverged_threads() {
    let source = kernel(
        "setp.lt.u32 %p1, %t, 16; mov.u32 %r1, %t; @%p1 bra S; add.u32 %r1, %r1, 100; add.u32 %r1, %r1, 100;\n\
         S: shfl.sync.idx.b32 %r2, %r1, 31, 31, -1; cvt.u64.u32 %v, %r2;",
    );
    let mut out = numbers(32);
    assert_eq!(Run { source: &source, ..Run::default() }.over(&mut [&mut out]).fault, None);
    assert!(out.iter().all(|value| *value == 231), "{out:?}");
}

#[test]
fn results_do_not_depend_on_the_number_of_cores() {
    // The sum depends on the order of additions.
    let source = kernel_with(
        ".global .f32 sum;",
        "cvt.rn.f32.u32 %f1, %i; rcp.rn.f32 %f1, %f1; setp.eq.u32 %p1, %i, 0; @%p1 mov.f32 %f1, 0f3F800000;\n\
         atom.global.add.f32 %f2, [sum], %f1; mov.b32 %r1, %f2; cvt.u64.u32 %v, %r1;",
    );
    let results: Vec<Vec<u64>> = [1, 2, 7]
        .into_iter()
        .map(|workers| {
            let mut out = numbers(64 * 64);
            let run = Run { source: &source, grid: [64, 1, 1], threads: [64, 1, 1], workers, ..Run::default() };
            assert_eq!(run.over(&mut [&mut out]).fault, None);
            out
        })
        .collect();
    assert!(results[0] == results[1] && results[0] == results[2]);
}

#[test]
fn a_grid_barrier_waits_for_all_blocks() {
    let declarations = ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 s); .extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f); .global .u32 count;";
    let body = "{ .param .b32 s; st.param.b32 [s], 1; .param .b64 h; call (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %v, [h]; }\n\
        red.global.add.u32 [count], 1; { .param .b64 h; st.param.b64 [h], %v; .param .b32 f; st.param.b32 [f], 0; .param .b32 r; call (r), cudaCGSynchronize, (h, f); }\n\
        ld.volatile.global.u32 %r1, [count]; cvt.u64.u32 %v, %r1;";
    let source = kernel_with(declarations, body);
    let mut out = numbers(96);
    let run = Run { source: &source, grid: [3, 1, 1], cooperative: true, ..Run::default() };
    assert_eq!(run.over(&mut [&mut out]).fault, None);
    assert!(out.iter().all(|value| *value == 96), "{out:?}");
}

#[test]
fn a_barrier_object_counts_arrivals_in_phases() {
    let source = kernel_with(
        ".shared .align 8 .b64 object; .shared .align 4 .b32 sum;",
        "setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [object], 64; @%p1 st.shared.u32 [sum], 0; bar.sync 0;\n\
         atom.shared.add.u32 %r1, [sum], 1; mbarrier.arrive.shared.b64 %v, [object];\n\
         W: mbarrier.test_wait.shared.b64 %p2, [object], %v; @!%p2 bra W; ld.shared.u32 %r2, [sum];\n\
         mbarrier.arrive.shared.b64 %v, [object]; X: mbarrier.try_wait.parity.shared.b64 %p2, [object], 1; @!%p2 bra X; cvt.u64.u32 %v, %r2;",
    );
    let mut out = numbers(64);
    assert_eq!(Run { source: &source, threads: [64, 1, 1], ..Run::default() }.over(&mut [&mut out]).fault, None);
    assert!(out.iter().all(|value| *value == 64), "{out:?}");
}

#[test]
fn lanes_that_jump_from_one_of_several_skipped_blocks_keep_their_values() {
    // In each round, other lanes jump at each of three places to the same end. `%late` is linear in the lane, and only the last block writes it.
    let source = ".visible .entry k(.param .u64 out) {
        .reg .b64 %out, %at; .reg .b32 %lane, %k, %a, %b, %late, %sum, %x; .reg .pred %p, %q, %r, %again; .shared .align 4 .b8 tile[256];
        ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x; mul.wide.u32 %at, %lane, 8; add.u64 %out, %out, %at;
        mov.u32 %k, 0; mov.u32 %sum, 0; mov.u32 %a, 5; mov.u32 %b, 7; shl.b32 %late, %lane, 2; mov.u32 %x, tile;
        add.u32 %x, %x, %late; st.shared.u32 [%x], %lane;
        L: xor.b32 %a, %lane, %k; setp.lt.u32 %p, %a, 11; @%p bra END;
        add.u32 %sum, %sum, %a; ld.shared.u32 %b, [%x]; add.u32 %b, %b, %k; and.b32 %a, %b, 3; setp.eq.u32 %q, %a, 1; @%q bra END;
        mad.lo.u32 %sum, %b, 3, %sum; setp.gt.u32 %r, %k, 30; @%r bra END;
        add.u32 %late, %late, 1; st.shared.u32 [%x], %sum;
        END: add.u32 %sum, %sum, %late; add.u32 %k, %k, 1; setp.lt.u32 %again, %k, 60; @%again bra L;
        cvt.u64.u32 %at, %sum; st.global.u64 [%out], %at; ret; }";
    let mut out = [0_u64; 64];
    let outcome = Run { source, threads: [64, 1, 1], ..Run::default() }.over(&mut [&mut out]);
    assert_eq!((outcome.fault, outcome.races.len()), (None, 0));
    for (lane, found) in (0_u32..).zip(out) {
        let (mut sum, mut late, mut tile) = (0_u32, lane * 4, lane);
        for k in 0..60 {
            let a = lane ^ k;
            if a >= 11 {
                sum = sum.wrapping_add(a);
                let b = tile.wrapping_add(k);
                if b & 3 != 1 {
                    sum = b.wrapping_mul(3).wrapping_add(sum);
                    if k <= 30 {
                        (late, tile) = (late + 1, sum);
                    }
                }
            }
            sum = sum.wrapping_add(late);
        }
        assert_eq!(found, sum.into(), "lane {lane}");
    }
}

#[test]
fn lanes_of_two_branches_keep_their_own_values_until_they_meet() {
    // `%late` is linear in the lane, and each branch writes it in its own way. `%old` is read by the second branch, and written by the first.
    let source = ".visible .entry k(.param .u64 out) {
        .reg .b64 %out, %at; .reg .b32 %lane, %k, %a, %late, %old, %sum, %x; .reg .pred %p, %q, %again; .shared .align 4 .b8 tile[256];
        ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x; mul.wide.u32 %at, %lane, 8; add.u64 %out, %out, %at;
        mov.u32 %k, 0; mov.u32 %sum, 0; shl.b32 %late, %lane, 2; mov.u32 %x, tile; add.u32 %x, %x, %late; st.shared.u32 [%x], %lane;
        L: add.u32 %old, %lane, %k; xor.b32 %a, %lane, %k; setp.lt.u32 %p, %a, 13; @%p bra OTHER;
        add.u32 %sum, %sum, %old; mov.u32 %old, %k; setp.eq.u32 %q, %a, 20; @%q bra END;
        add.u32 %late, %late, 3; ld.shared.u32 %a, [%x]; add.u32 %sum, %sum, %a; bra END;
        OTHER: mad.lo.u32 %sum, %old, 5, %sum; setp.gt.u32 %q, %k, 40; @%q bra END;
        sub.u32 %late, %late, 1; st.shared.u32 [%x], %old;
        END: add.u32 %sum, %sum, %late; add.u32 %k, %k, 1; setp.lt.u32 %again, %k, 60; @%again bra L;
        cvt.u64.u32 %at, %sum; st.global.u64 [%out], %at; ret; }";
    let mut out = [0_u64; 64];
    let outcome = Run { source, threads: [64, 1, 1], ..Run::default() }.over(&mut [&mut out]);
    assert_eq!((outcome.fault, outcome.races.len()), (None, 0));
    for (lane, found) in (0_u32..).zip(out) {
        let (mut sum, mut late, mut tile) = (0_u32, lane * 4, lane);
        for k in 0..60 {
            let (old, a) = (lane + k, lane ^ k);
            if a < 13 {
                sum = sum.wrapping_add(old.wrapping_mul(5));
                if k <= 40 {
                    (late, tile) = (late.wrapping_sub(1), old);
                }
            } else {
                sum = sum.wrapping_add(old);
                if a != 20 {
                    late = late.wrapping_add(3);
                    sum = sum.wrapping_add(tile);
                }
            }
            sum = sum.wrapping_add(late);
        }
        assert_eq!(found, sum.into(), "lane {lane}");
    }
}

#[test]
fn lanes_of_another_branch_go_on_where_one_branch_meets_an_undefined_value() {
    // Nothing has written the shared memory that the first branch reads. An address depends on it.
    let source = ".visible .entry k(.param .u64 out) {
        .reg .b64 %out, %at; .reg .b32 %lane, %k, %a, %b, %sum, %x; .reg .pred %p, %q, %again; .shared .align 4 .b8 tile[256];
        ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x; mul.wide.u32 %at, %lane, 8; add.u64 %out, %out, %at;
        mov.u32 %k, 0; mov.u32 %sum, 0; shl.b32 %x, %lane, 2; mov.u32 %b, tile; add.u32 %x, %x, %b; shl.b32 %b, %lane, 1;
        L: setp.lt.u32 %p, %lane, 9; @%p bra OTHER;
        setp.eq.u32 %q, %lane, 12; @%q bra END;
        ld.shared.u32 %a, [%x]; shr.u32 %a, %a, 31; shl.b32 %a, %a, 2; add.u32 %a, %a, %x; ld.shared.u32 %a, [%a]; add.u32 %sum, %sum, 7; bra END;
        OTHER: add.u32 %sum, %sum, %b; st.shared.u32 [%x], %sum; ld.shared.u32 %a, [%x]; add.u32 %sum, %sum, %a;
        END: add.u32 %sum, %sum, %k; add.u32 %k, %k, 1; setp.lt.u32 %again, %k, 5; @%again bra L;
        cvt.u64.u32 %at, %sum; st.global.u64 [%out], %at; ret; }";
    let mut out = [0_u64; 32];
    let outcome = Run { source, ..Run::default() }.over(&mut [&mut out]);
    assert_eq!((outcome.fault, outcome.races.len()), (None, 0));
    assert!(outcome.misuses.iter().any(|misuse| misuse.undefined.is_some()), "the address is undefined");
    for (lane, found) in (0_u32..).zip(out) {
        let mut sum = 0;
        for k in 0..5 {
            sum += match lane {
                0..9 => sum + 4 * lane,
                12 => 0,
                _ => 7,
            };
            sum += k;
        }
        assert_eq!(found, sum.into(), "lane {lane}");
    }
}
