//! Cooperative launches: the barrier of the grid, as the headers of CUDA C++ implement it.

use super::Run;
use crate::machine::FaultKind;

/// A kernel that synchronizes the grid as `cooperative_groups::this_grid().sync()` does, `rounds` times.
fn grid_sync(rounds: u32, skipped: &str) -> String {
    let sync: String = (0..rounds)
        .map(|round| {
            format!(
                "bar.sync 0; @%q bra wait{round}; atom.add.release.gpu.u32 %old, [%ws+4], %nb;
                 poll{round}: ld.acquire.gpu.u32 %now, [%ws+4]; xor.b32 %now, %now, %old; setp.ge.s32 %p, %now, 0;
                 @%p bra poll{round}; wait{round}: bar.sync 0;
                 mad.wide.u32 %a, %b, 8, %out; ld.global.u32 %v, [%a]; add.u32 %v, %v, 1; bar.sync 0;
                 add.u32 %b, %b, 1; rem.u32 %b, %b, %n; mad.wide.u32 %a, %b, 8, %out2; st.global.u32 [%a], %v;\n"
            )
        })
        .collect();
    format!(
        ".visible .entry k(.param .u64 out, .param .u64 out2) {{
         .reg .u64 %out, %out2, %ws, %a; .reg .u32 %b, %t, %lo, %hi, %nb, %old, %now, %v, %n; .reg .pred %p, %q, %z;
         ld.param.u64 %out, [out]; ld.param.u64 %out2, [out2]; mov.u32 %b, %ctaid.x; mov.u32 %t, %tid.x;
         mov.u32 %n, %nctaid.x; mov.u32 %hi, %envreg1; mov.u32 %lo, %envreg2; mov.b64 %ws, {{%lo, %hi}};
         setp.ne.u32 %q, %t, 0; setp.eq.u32 %z, %b, 0; sub.u32 %nb, %n, 1; sub.u32 %nb, 0x80000000, %nb;
         selp.u32 %nb, %nb, 1, %z; mad.wide.u32 %a, %b, 8, %out; @!%q st.global.u32 [%a], %b;
         {skipped} {sync} ret; }}"
    )
}

#[test]
fn workspace_of_a_cooperative_launch_synchronizes_the_grid() {
    let source = grid_sync(3, "");
    let (mut one, mut other) = (vec![0; 200], vec![0; 200]);
    let run = Run {
        source: &source,
        grid: [200, 1, 1],
        threads: [64, 1, 1],
        cooperative: true,
        budget: 1 << 20,
        ..Run::default()
    };
    let outcome = run.over(&mut [&mut one, &mut other]);
    assert_eq!(outcome.fault, None);
    assert_eq!(outcome.races, []);
    assert!(outcome.touched.iter().all(|range| range.end < 1 << 48), "{:?}", outcome.touched);
}

#[test]
fn block_that_skips_the_grid_barrier_is_a_deadlock() {
    let source = grid_sync(1, "@%z exit;");
    let run = Run { source: &source, grid: [3, 1, 1], cooperative: true, ..Run::default() };
    let outcome = run.over(&mut [&mut [0; 3], &mut [0; 3]]);
    assert_eq!(outcome.fault.map(|fault| fault.kind), Some(FaultKind::Deadlock));
}

#[test]
fn only_a_cooperative_launch_has_a_workspace() {
    let source =
        ".visible .entry k(.param .u64 out) { .reg .u64 %out, %ws; .reg .u32 %lo, %hi; ld.param.u64 %out, [out];
        mov.u32 %hi, %envreg1; mov.u32 %lo, %envreg2; mov.b64 %ws, {%lo, %hi}; st.global.u64 [%out], %ws; ret; }";
    for cooperative in [false, true] {
        let mut out = [1];
        let run = Run { source, threads: [1, 1, 1], cooperative, ..Run::default() };
        assert_eq!(run.over(&mut [&mut out]).fault, None);
        assert_eq!(out[0] != 0, cooperative);
    }
}

#[test]
fn clocks_cover_the_time_of_a_sleep() {
    let source = ".visible .entry k(.param .u64 out) { .reg .u64 %out, %a, %b, %c, %d; ld.param.u64 %out, [out];
        mov.u64 %a, %globaltimer; mov.u64 %c, %clock64; nanosleep.u32 500000; mov.u64 %b, %globaltimer;
        mov.u64 %d, %clock64; sub.u64 %b, %b, %a; sub.u64 %d, %d, %c; st.global.u64 [%out], %b;
        st.global.u64 [%out+8], %d; ret; }";
    let mut out = [0; 2];
    let run = Run { source, threads: [1, 1, 1], ..Run::default() };
    let outcome = run.over(&mut [&mut out]);
    assert!((500_000..501_000).contains(&out[0]), "{out:?}");
    assert!((500_000..501_000).contains(&out[1]), "{out:?}");
    assert!(outcome.nanoseconds >= out[0] && outcome.nanoseconds < 502_000, "{}", outcome.nanoseconds);
    // Warps sleep at once, and so do blocks.
    let many = Run { source, grid: [8, 1, 1], threads: [256, 1, 1], ..Run::default() };
    let outcome = many.over(&mut [&mut out]);
    assert!((500_000..510_000).contains(&outcome.nanoseconds), "{}", outcome.nanoseconds);
}

#[test]
fn loop_that_waits_for_a_time_takes_few_instructions() {
    let source = ".visible .entry k(.param .u64 out) { .reg .pred %p; .reg .u64 %out, %a, %b; ld.param.u64 %out, [out];
        mov.u64 %a, CLOCK; WAIT: mov.u64 %b, CLOCK; sub.u64 %b, %b, %a; setp.lt.u64 %p, %b, 10000000000; @%p bra WAIT;
        st.global.u64 [%out], %b; ret; }";
    for clock in ["%clock64", "%globaltimer"] {
        let (source, mut out) = (source.replace("CLOCK", clock), [0]);
        let outcome = Run { source: &source, threads: [1, 1, 1], ..Run::default() }.over(&mut [&mut out]);
        assert!((10_000_000_000..11_300_000_000).contains(&out[0]), "{clock}: {out:?}");
        assert!(outcome.instructions < 50_000, "{}", outcome.instructions);
    }
    // A loop that polls for a value gives up after the time of its instructions.
    let source = ".visible .entry k(.param .u64 out) { .reg .pred %p, %q; .reg .u64 %out, %a, %b, %v; ld.param.u64 %out, [out];
        mov.u64 %a, %clock64; POLL: ld.volatile.global.u64 %v, [%out+8]; setp.ne.u64 %q, %v, 0; @%q bra END;
        mov.u64 %b, %clock64; sub.u64 %b, %b, %a; setp.lt.u64 %p, %b, 400000; @%p bra POLL; END: st.global.u64 [%out], %b; ret; }";
    let mut out = [0; 2];
    let outcome = Run { source, threads: [1, 1, 1], ..Run::default() }.over(&mut [&mut out]);
    assert!(out[0] >= 400_000 && outcome.instructions > 90_000, "{out:?}, {}", outcome.instructions);
    // A loop with work between the reads takes the time of its instructions.
    let source = ".visible .entry k(.param .u64 out) { .reg .pred %p; .reg .u64 %out, %a, %b; .reg .u32 %i; ld.param.u64 %out, [out];
        mov.u64 %a, %clock64; mov.u32 %i, 0; LOOP: mov.u64 %b, %clock64; st.global.u64 [%out], %b; add.u32 %i, %i, 1;
        setp.lt.u32 %p, %i, 10000; @%p bra LOOP; sub.u64 %b, %b, %a; st.global.u64 [%out], %b; ret; }";
    let mut out = [0];
    Run { source, threads: [1, 1, 1], ..Run::default() }.over(&mut [&mut out]);
    assert!(out[0] < 5 * 4 * 10_001, "{out:?}");
}

#[test]
fn each_part_of_the_grid_barrier_is_needed() {
    const SYNC: &str = "bar.sync 0; @%q bra wait; atom.add.release.gpu.u32 %old, [%ws+4], %nb;
        poll: ld.acquire.gpu.u32 %now, [%ws+4]; xor.b32 %now, %now, %old; setp.ge.s32 %p, %now, 0; @%p bra poll;
        wait: bar.sync 0;";
    let races = |part: &str, weaker: &str, strict| {
        assert!(SYNC.contains(part));
        let sync = SYNC.replacen(part, weaker, 1);
        // Each thread writes its word, and reads the one of the thread that is as far from the end.
        let source = format!(
            ".visible .entry k(.param .u64 out) {{
             .reg .u64 %out, %ws, %a; .reg .u32 %b, %t, %lo, %hi, %nb, %old, %now, %v, %n; .reg .pred %p, %q, %z;
             ld.param.u64 %out, [out]; mov.u32 %b, %ctaid.x; mov.u32 %t, %tid.x;
             mov.u32 %n, %nctaid.x; mov.u32 %hi, %envreg1; mov.u32 %lo, %envreg2; mov.b64 %ws, {{%lo, %hi}};
             setp.ne.u32 %q, %t, 0; setp.eq.u32 %z, %b, 0; sub.u32 %nb, %n, 1; sub.u32 %nb, 0x80000000, %nb;
             selp.u32 %nb, %nb, 1, %z; mad.lo.u32 %t, %b, 64, %t; mad.wide.u32 %a, %t, 4, %out; st.global.u32 [%a], %t;
             {sync} sub.u32 %t, 255, %t; mad.wide.u32 %a, %t, 4, %out; ld.global.u32 %v, [%a]; ret; }}"
        );
        let mut out = vec![0; 128];
        let threads = [64, 1, 1];
        let run = Run { source: &source, grid: [4, 1, 1], threads, cooperative: true, strict, ..Run::default() };
        let outcome = run.over(&mut [&mut out]);
        assert_eq!(outcome.fault, None);
        !outcome.races.is_empty()
    };
    for strict in [false, true] {
        assert!(!races("bar.sync", "bar.sync", strict), "the whole");
        assert!(races("release", "relaxed", strict), "a relaxed arrival");
        assert!(races("release.gpu", "release.cta", strict), "an arrival of the block");
        assert!(races("wait: bar.sync 0;", "wait:", strict), "threads that do not wait");
        assert!(races("bar.sync 0; @%q", "@%q", strict), "an arrival before other threads");
        assert_eq!(races("acquire", "relaxed", strict), strict, "a relaxed poll");
    }
}
