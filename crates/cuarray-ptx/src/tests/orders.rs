//! Orders of blocks and warps: races that another order of the strong accesses shows.

use super::*;

/// The number of orders in which a kernel has races.
fn seeds_with_races(body: &str, blocks: bool, orders: &[KernelOrder]) -> usize {
    races_in(body, blocks, orders).iter().filter(|races| !races.is_empty()).count()
}

/// The races of a kernel of two blocks or warps, with one thread each, in each order. `%n` is the number of the thread, `%f` the
/// address of two flags, and `%out` that of the data.
fn races_in(body: &str, blocks: bool, orders: &[KernelOrder]) -> Vec<Vec<crate::Race>> {
    let who = if blocks {
        "mov.u32 %n, %ctaid.x;"
    } else {
        "shr.u32 %n, %t, 5; and.b32 %w, %t, 31; setp.ne.u32 %p, %w, 0; @%p exit;"
    };
    let lines = body.split_inclusive(';').enumerate().map(|(line, text)| format!(".loc 1 {} 0\n{text}\n", line + 1));
    let body: String = lines.collect();
    let source = format!(
        ".file 1 \"k.cu\"\n.visible .entry k(.param .u64 out) {{ .reg .pred %p, %q; .reg .b32 %t, %n, %v, %w, %k; .reg .b64 %out, %f, %a;\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; add.u64 %f, %out, 512; {who} setp.eq.u32 %q, %n, 0;\n{body}\nret; }}"
    );
    let (grid, threads) = if blocks { ([2, 1, 1], [1, 1, 1]) } else { ([1, 1, 1], [64, 1, 1]) };
    orders
        .iter()
        .map(|order| {
            let mut memory = vec![0_u64; 256];
            let run = Run { source: &source, grid, threads, order: *order, ..Run::default() };
            let outcome = run.executed(&mut [&mut memory], Way::Recorded, 1);
            assert_eq!(outcome.fault, None, "{body}");
            outcome.races
        })
        .collect()
}

/// The first thread writes data and raises a flag; it writes again after an answer, or without one. The other one reads twice.
fn answered(answer: &str) -> String {
    format!(
        "@!%q bra READER; st.global.u32 [%out], 1; st.release.gpu.global.u32 [%f], 1;\n\
         {answer} st.global.u32 [%out], 2; st.release.gpu.global.u32 [%f], 2; exit;\n\
         READER: A: ld.acquire.gpu.global.u32 %v, [%f]; nanosleep.u32 20; setp.lt.u32 %p, %v, 1; @%p bra A; ld.global.u32 %w, [%out];\n\
         st.release.gpu.global.u32 [%f+4], 1;\n\
         B: ld.acquire.gpu.global.u32 %v, [%f]; nanosleep.u32 20; setp.lt.u32 %p, %v, 2; @%p bra B; ld.global.u32 %w, [%out];"
    )
}

#[test]
fn random_order_shows_a_race_that_the_order_of_numbers_hides() {
    let right =
        answered("C: ld.acquire.gpu.global.u32 %v, [%f+4]; nanosleep.u32 20; setp.lt.u32 %p, %v, 1; @%p bra C;");
    for blocks in [false, true] {
        let racy = answered("");
        assert_eq!(seeds_with_races(&racy, blocks, &[KernelOrder::Forward]), 0);
        let seeds: Vec<KernelOrder> = (0..20).map(KernelOrder::Random).collect();
        assert!(seeds_with_races(&racy, blocks, &seeds) > 0);
        assert_eq!(seeds_with_races(&right, blocks, &seeds), 0);
        assert_eq!(seeds_with_races(&right, blocks, &[KernelOrder::Reverse]), 0);
    }
}

#[test]
fn reverse_order_starts_with_the_last_block_and_warp() {
    // The thread that comes second reads what the first one has written relaxed.
    let body = "atom.relaxed.gpu.global.add.u32 %k, [%f], 1; mul.wide.u32 %a, %k, 4; add.u64 %a, %out, %a; st.global.u32 [%a], %n;";
    for blocks in [false, true] {
        for (order, expected) in [(KernelOrder::Forward, [0, 1]), (KernelOrder::Reverse, [1, 0])] {
            let who = if blocks {
                "mov.u32 %n, %ctaid.x;"
            } else {
                "shr.u32 %n, %t, 5; and.b32 %k, %t, 31; setp.ne.u32 %p, %k, 0; @%p exit;"
            };
            let source = format!(
                ".visible .entry k(.param .u64 out) {{ .reg .pred %p; .reg .b32 %t, %n, %k; .reg .b64 %out, %f, %a;\n\
                 ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; add.u64 %f, %out, 512; {who} {body} ret; }}"
            );
            let (grid, threads) = if blocks { ([2, 1, 1], [1, 1, 1]) } else { ([1, 1, 1], [64, 1, 1]) };
            let mut memory = vec![0_u64; 256];
            let outcome = Run { source: &source, grid, threads, order, ..Run::default() }.over(&mut [&mut memory]);
            assert_eq!((outcome.fault, [memory[0] as u32, (memory[0] >> 32) as u32]), (None, expected), "{order:?}");
        }
    }
}

#[test]
fn blocks_that_wait_forever_are_stuck_in_every_order() {
    let source = ".visible .entry k() { .reg .pred %p; .reg .b32 %b; mov.u32 %b, %ctaid.x; setp.eq.u32 %p, %b, 0; @%p exit;\n\
        { .param .b64 a; .param .b32 c; .param .b32 r; st.param.b64 [a], 1; st.param.b32 [c], 0;\n\
        call.uni (r), cudaCGSynchronize, (a, c); } ret; }";
    let declared = format!(".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 a, .param .b32 c);\n{source}");
    for order in [KernelOrder::Forward, KernelOrder::Reverse, KernelOrder::Random(3)] {
        let run =
            Run { source: &declared, grid: [4, 1, 1], threads: [2, 1, 1], cooperative: true, order, ..Run::default() };
        let fault = run.over(&mut []).fault.map(|fault| fault.kind);
        assert!(fault.is_none() || fault == Some(FaultKind::Deadlock), "{order:?}: {fault:?}");
    }
}

#[test]
fn second_write_of_a_buffer_lacks_an_answer() {
    let orders: Vec<_> = (0..20).map(KernelOrder::Random).collect();
    let is_found = |answer: &str| {
        let races = races_in(&answered(answer), true, &orders);
        races.iter().flatten().any(|race| race.why == Some(crate::Why::NoAnswer))
    };
    assert!(is_found(""));
    assert!(!is_found("C: ld.acquire.gpu.global.u32 %v, [%f+4]; nanosleep.u32 20; setp.lt.u32 %p, %v, 1; @%p bra C;"));
}

#[test]
fn each_thread_of_many_blocks_runs_once_in_every_order() {
    // Blocks of two whole warps and a partial one, with a barrier and without one.
    for barrier in ["", "bar.sync 0;"] {
        let source = format!(
            ".visible .entry k(.param .u64 out) {{ .reg .b32 %t, %n, %c, %v; .reg .b64 %out, %i;\n\
             ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %n, %c, 80, %t;\n\
             mul.wide.u32 %i, %n, 4; add.u64 %out, %out, %i; ld.global.u32 %v, [%out]; {barrier} mad.lo.u32 %v, %c, 1000, %v;\n\
             add.u32 %v, %v, %t; st.global.u32 [%out], %v; ret; }}"
        );
        for order in [KernelOrder::Forward, KernelOrder::Reverse, KernelOrder::Random(3)] {
            let mut words = vec![1_u64 << 32 | 1; 50 * 40];
            let run = Run { source: &source, grid: [50, 1, 1], threads: [80, 1, 1], order, ..Run::default() };
            let outcome = run.over(&mut [&mut words]);
            assert!(outcome.fault.is_none() && outcome.races.is_empty() && outcome.misuses.is_empty(), "{order:?}");
            let at = |index: u64| (words[index as usize / 2] >> (index % 2 * 32)) as u32;
            let expected = |index: u64| (index / 80 * 1000 + index % 80 + 1) as u32;
            assert!((0..4000).all(|index| at(index) == expected(index)), "{order:?}");
            assert_eq!(outcome.instructions % 4000, 0, "{order:?}");
        }
    }
}
