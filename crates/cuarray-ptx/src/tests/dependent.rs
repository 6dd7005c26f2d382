//! Dependent launches: the accesses before the wait for the prerequisite grids.

use super::*;
use crate::machine::AccessKind;

const WRITES_LANE: &str = "ld.param.u64 a, [p]; mov.u32 t, %tid.x; mul.wide.u32 o, t, 8; add.u64 a, a, o;";

/// Executes a kernel with the address of its thread's word in `a` and the thread's number in `t`. Returns the accesses
/// before and after the wait: the first word, the word behind the last one, and whether it is a write.
fn accesses(threads: u32, body: &str) -> [Vec<(u64, u64, bool)>; 2] {
    let source = format!(
        ".visible .entry k(.param .u64 p) {{ .reg .u32 t; .reg .u64 a, b, o, v; .reg .pred q;
         .shared .b64 flag[4];
         {WRITES_LANE} {body} ret; }}"
    );
    let mut buffer = vec![0_u64; 256];
    let run = Run { source: &source, threads: [threads, 1, 1], dependent: true, ..Run::default() };
    let outcome = run.over(&mut [&mut buffer]);
    assert_eq!(outcome.fault, None, "{body}");
    [&outcome.before_wait, &outcome.touched].map(|ranges| {
        let ranges = ranges.iter().filter(|range| range.kind != AccessKind::Update);
        let word = |address: u64| (address - BASE) / 8;
        let pieces = |range: &crate::TouchedRange| {
            let written = range.kind == AccessKind::Write;
            range.pieces().map(move |(start, end)| (word(start), word(end), written)).collect::<Vec<_>>()
        };
        ranges.flat_map(pieces).collect()
    })
}

#[test]
fn accesses_are_split_at_the_wait() {
    let [before, after] = accesses(32, "ld.global.u64 v, [a]; griddepcontrol.wait; st.global.u64 [a+256], v;");
    assert_eq!((before, after), (vec![(0, 32, false)], vec![(32, 64, true)]));
}

#[test]
fn launch_dependents_is_not_a_wait() {
    let [before, after] = accesses(32, "griddepcontrol.launch_dependents; st.global.u64 [a], o;");
    assert_eq!((before, after), (vec![(0, 32, true)], vec![]));
}

#[test]
fn wait_of_some_threads_is_not_a_wait_of_the_others() {
    let waits = "setp.lt.u32 q, t, 8; @q griddepcontrol.wait; st.global.u64 [a], o;";
    assert_eq!(accesses(32, waits), [vec![(8, 32, true)], vec![(0, 8, true)]]);
    let by_warp = "setp.lt.u32 q, t, 32; @q griddepcontrol.wait; st.global.u64 [a], o;";
    assert_eq!(accesses(64, by_warp), [vec![(32, 64, true)], vec![(0, 32, true)]]);
}

#[test]
fn barrier_after_a_wait_orders_the_other_threads() {
    let barrier = "setp.eq.u32 q, t, 0; @q griddepcontrol.wait; bar.sync 0; st.global.u64 [a], o;";
    assert_eq!(accesses(64, barrier), [vec![], vec![(0, 64, true)]]);
    let warp = "setp.eq.u32 q, t, 0; @q griddepcontrol.wait; bar.warp.sync -1; st.global.u64 [a], o;";
    assert_eq!(accesses(64, warp), [vec![(32, 64, true)], vec![(0, 32, true)]]);
}

#[test]
fn barrier_before_a_wait_orders_nothing() {
    let body = "bar.sync 0; setp.eq.u32 q, t, 0; @q griddepcontrol.wait; @!q st.global.u64 [a], o;";
    assert_eq!(accesses(64, body), [vec![(1, 64, true)], vec![]]);
}

#[test]
fn flag_in_shared_memory_orders_after_a_wait() {
    let body = "mov.u64 b, flag; setp.lt.u32 q, t, 32;
                @q griddepcontrol.wait; @q membar.cta; @q st.volatile.shared.u64 [b], 1;
                @q bra end; poll: ld.volatile.shared.u64 v, [b]; setp.ne.u64 q, v, 1; @q bra poll;
                st.global.u64 [a], o; end:";
    assert_eq!(accesses(64, body), [vec![], vec![(32, 64, true)]]);
}

#[test]
fn blocks_wait_separately() {
    let source = ".visible .entry k(.param .u64 p) { .reg .u32 b; .reg .u64 a, o; .reg .pred q;
        ld.param.u64 a, [p]; mov.u32 b, %ctaid.x; mul.wide.u32 o, b, 8; add.u64 a, a, o;
        setp.ne.u32 q, b, 2; @q griddepcontrol.wait; bar.sync 0; st.global.u64 [a], o; ret; }";
    let mut buffer = vec![0_u64; 8];
    let run = Run { source, grid: [4, 1, 1], threads: [1; 3], dependent: true, ..Run::default() };
    let outcome = run.over(&mut [&mut buffer]);
    let starts = |ranges: &[crate::TouchedRange]| {
        let pieces = ranges.iter().flat_map(crate::TouchedRange::pieces);
        pieces.map(|(start, _)| (start - BASE) / 8).collect::<Vec<_>>()
    };
    assert_eq!((starts(&outcome.before_wait), starts(&outcome.touched)), (vec![2], vec![0, 3]));
}

#[test]
fn other_launches_have_no_accesses_before_a_wait() {
    let source = ".visible .entry k(.param .u64 p) { .reg .u64 a; ld.param.u64 a, [p]; st.global.u64 [a], 1; ret; }";
    let mut buffer = [0_u64];
    let outcome = Run { source, ..Run::default() }.over(&mut [&mut buffer]);
    assert!(outcome.before_wait.is_empty() && outcome.touched.len() == 1);
}
