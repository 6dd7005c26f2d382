//! Tiles in shared memory with a further column that nothing writes. [`Run::over`] executes each kernel in all ways, with equal records.

use super::*;
use crate::MisuseKind;

/// Blocks of two warps, each of two rows of 16 threads. In each of four rounds, the threads write their elements of a tile of 4 rows and 17 columns,
/// and add `columns` elements of their row. Where `%skip` holds, a thread does not write.
fn summed(skip: &str, columns: u32) -> (Outcome, Vec<u32>) {
    let loads: String = (0..columns)
        .map(|column| format!("ld.shared.u32 %x, [%row+{}]; add.u32 %sum, %sum, %x;\n", 4 * column))
        .collect();
    let source = format!(
        ".visible .entry k(.param .u64 p) {{ .reg .pred %p, %q, %skip; .reg .b32 %x, %y, %c, %n, %k, %at, %row, %sum;\n\
         .reg .b64 %b, %i; .shared .align 4 .b8 tile[272];\n\
         ld.param.u64 %b, [p]; mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %c, %ctaid.x;\n\
         mov.u32 %row, tile; mad.lo.u32 %row, %y, 68, %row; mad.lo.u32 %at, %x, 4, %row;\n\
         mad.lo.u32 %n, %y, 16, %x; mad.lo.u32 %n, %c, 64, %n; mul.wide.u32 %i, %n, 4; add.u64 %b, %b, %i;\n\
         mov.u32 %k, 0; mov.u32 %sum, 0;\n\
         L: {skip} add.u32 %x, %n, %k; @%skip bra S; st.shared.u32 [%at], %x;\n\
         S: bar.sync 0; {loads} bar.sync 0; add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 4; @%p bra L;\n\
         st.global.u32 [%b], %sum; ret; }}"
    );
    let mut sums = vec![0_u64; 3 * 32];
    let run = Run { source: &source, grid: [3, 1, 1], threads: [16, 4, 1], ..Run::default() };
    let outcome = run.over(&mut [&mut sums]);
    assert_eq!(outcome.fault, None);
    assert!(outcome.races.is_empty(), "{:?}", outcome.races);
    (outcome, sums.iter().flat_map(|pair| [*pair as u32, (*pair >> 32) as u32]).collect())
}

/// The sum of a thread, if all elements were written.
fn expected(index: u32, columns: u32) -> u32 {
    (0..4).flat_map(|round| (0..columns).map(move |column| index / 16 * 16 + column + round)).sum()
}

fn kinds(outcome: &Outcome) -> Vec<MisuseKind> {
    outcome.misuses.iter().map(|misuse| misuse.kind).collect()
}

#[test]
fn rows_of_a_tile_with_a_further_column_are_defined() {
    let (outcome, sums) = summed("setp.ne.u32 %skip, %k, %k;", 3);
    assert!(outcome.misuses.is_empty(), "{:?}", outcome.misuses);
    assert!((0..192).all(|index| sums[index as usize] == expected(index, 3)), "{sums:?}");
}

#[test]
fn the_further_column_of_a_tile_is_undefined() {
    let (outcome, _) = summed("setp.ne.u32 %skip, %k, %k;", 17);
    assert_eq!(kinds(&outcome), [MisuseKind::UnwrittenShared]);
}

#[test]
fn a_row_that_one_block_writes_late_is_undefined_there_only() {
    let (outcome, sums) = summed(
        "setp.eq.u32 %skip, %c, 1; setp.eq.u32 %q, %k, 0; and.pred %skip, %skip, %q; setp.eq.u32 %q, %y, 3;\n\
         and.pred %skip, %skip, %q;",
        3,
    );
    assert_eq!(kinds(&outcome), [MisuseKind::UnwrittenShared]);
    let late = |index: u32| (112..128).contains(&index);
    assert!((0..192).filter(|index| !late(*index)).all(|index| sums[index as usize] == expected(index, 3)), "{sums:?}");
}

/// A warp stores two elements of each thread through one register, and reads one of them `between` these stores, or behind them.
fn stored_twice(between: bool) -> Vec<MisuseKind> {
    let [early, late] =
        if between { ["ld.shared.u32 %x, [%at+128];", ""] } else { ["", "ld.shared.u32 %x, [%at+128];"] };
    let source = format!(
        ".visible .entry k(.param .u64 p) {{ .reg .b32 %t, %at, %x; .reg .b64 %b, %i; .shared .align 4 .b8 s[256];\n\
         ld.param.u64 %b, [p]; mov.u32 %t, %tid.x; mov.u32 %at, s; mad.lo.u32 %at, %t, 4, %at;\n\
         st.shared.u32 [%at], %t; {early} st.shared.u32 [%at+128], %t; {late}\n\
         mul.wide.u32 %i, %t, 4; add.u64 %b, %b, %i; st.global.u32 [%b], %x; ret; }}"
    );
    let run = Run { source: &source, threads: [32, 1, 1], ..Run::default() };
    kinds(&run.over(&mut [&mut [0_u64; 16]]))
}

#[test]
fn read_between_two_stores_of_a_register_is_undefined() {
    assert_eq!(stored_twice(true), [MisuseKind::UnwrittenShared]);
    assert_eq!(stored_twice(false), []);
}

/// Two warps write a tile of 32 columns and a further one, and read it by columns: behind a `barrier`, by the threads where `%p` holds.
fn read_by_columns(barrier: &str, taking: &str) -> Outcome {
    let rows: String = (0..16).map(|row| format!("st.shared.u32 [%at+{}], %n;\n", 264 * row)).collect();
    let source = format!(
        ".visible .entry k(.param .u64 p) {{ .reg .pred %p; .reg .b32 %x, %y, %c, %n, %at, %from, %v; .reg .b64 %b, %i;\n\
         .shared .align 4 .b8 tile[4224]; ld.param.u64 %b, [p]; mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %c, %ctaid.x;\n\
         mov.u32 %at, tile; mad.lo.u32 %from, %x, 132, %at; mad.lo.u32 %from, %y, 4, %from;\n\
         mad.lo.u32 %at, %y, 132, %at; mad.lo.u32 %at, %x, 4, %at; mad.lo.u32 %n, %c, 32, %x; mov.u32 %v, 0;\n\
         {rows} {barrier} {taking} @!%p bra S; ld.shared.u32 %v, [%from+16]; add.u32 %v, %v, 1; st.shared.u32 [%from+16], %v;\n\
         S: mad.lo.u32 %n, %y, 32, %x; mad.lo.u32 %n, %c, 64, %n; mul.wide.u32 %i, %n, 4; add.u64 %b, %b, %i;\n\
         st.global.u32 [%b], %v; ret; }}"
    );
    let run = Run { source: &source, grid: [3, 1, 1], threads: [32, 2, 1], ..Run::default() };
    run.over(&mut [&mut [0_u64; 96]])
}

#[test]
fn column_of_a_tile_races_only_without_a_barrier() {
    for taking in ["setp.eq.u32 %p, %x, %x;", "setp.ge.u32 %p, %x, 9;", "and.b32 %n, %x, 5; setp.eq.u32 %p, %n, 4;"] {
        let outcome = read_by_columns("bar.sync 0;", taking);
        assert!(
            outcome.races.is_empty() && outcome.misuses.is_empty() && outcome.fault.is_none(),
            "{taking}: {outcome:?}"
        );
        assert!(read_by_columns("", taking).races.iter().all(|race| race.shared), "{taking}");
        assert!(!read_by_columns("", taking).races.is_empty(), "{taking}");
    }
}
