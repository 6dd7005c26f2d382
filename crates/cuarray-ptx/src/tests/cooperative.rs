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
