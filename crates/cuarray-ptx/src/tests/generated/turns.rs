//! Turns of warps at barriers and where they end: the order of turns is visible in the clock and in a digest that all warps change.

use super::super::random::{Random, cases};
use super::*;

/// The most warps of a block and rounds of a kernel.
const WARPS: u64 = 9;
const ROUNDS: u64 = 7;

/// A statement of one round. Most are executed by all threads, and some by one warp in one round.
fn statement(random: &mut Random) -> String {
    let (warp, round) = (random.below(WARPS), random.below(ROUNDS));
    let spins = [300, 18_000][random.below(2) as usize];
    let one = format!("setp.eq.u32 %p, %w, {warp}; setp.eq.and.u32 %p, %i, {round}, %p;");
    match random.below(24) {
        0..=7 => "bar.sync 0;".to_owned(),
        8 => "bar.sync 1;".to_owned(),
        9 => "mov.u32 %x, %ntid.x; bar.sync 2, %x;".to_owned(),
        10 => "bar.red.popc.u32 %x, 0, %q; add.u32 %v, %v, %x;".to_owned(),
        // The clock and the digest show which turns were before this one.
        11..=13 => "mov.u64 %c, %clock64; mad.lo.s64 %d, %d, 31, %c;".to_owned(),
        14..=16 => "ld.shared.u32 %x, [digest]; mad.lo.u32 %x, %x, 31, %w; st.shared.u32 [digest], %x; add.u32 %v, %v, %x;".to_owned(),
        17 => "atom.shared.add.u32 %x, [digest], 5; add.u32 %v, %v, %x;".to_owned(),
        18 => "st.shared.u32 [%own], %v; ld.shared.u32 %x, [%next]; xor.b32 %v, %v, %x;".to_owned(),
        19 => format!("{one} @%p nanosleep.u32 3000;"),
        20 => format!("{one} @%p exit;"),
        21 => format!("setp.eq.u32 %p, %w, {warp}; @!%p bra S{warp}_{round}_%; mov.u32 %x, 0;\n\
            T{warp}_{round}_%: add.u32 %x, %x, 1; setp.lt.u32 %p, %x, {spins}; @%p bra T{warp}_{round}_%;\nS{warp}_{round}_%: add.u32 %v, %v, 1;"),
        22 => "setp.lt.u32 %p, %lane, 9; @%p add.u32 %v, %v, 77; shfl.sync.down.b32 %x, %v, 1, 31, -1; add.u32 %v, %v, %x;".to_owned(),
        _ if random.below(6) == 0 => format!("{one} @%p st.global.u32 [%far], %v;"),
        _ => "ld.global.u64 %c, [%at]; add.s64 %d, %d, %c; st.global.u64 [%at+8], %d;".to_owned(),
    }
}

fn source(random: &mut Random) -> String {
    let statements = |random: &mut Random, count: u64| {
        let each =
            (0..count).map(|number| statement(random).replace("_%", &format!("_{number}x{}", random.below(1 << 40))));
        let mut all = Vec::new();
        each.for_each(|each| all.push(each));
        all.join("\n")
    };
    let (before, within, behind) = (random.below(4), 1 + random.below(6), random.below(4));
    let [before, within, behind] = [before, within, behind].map(|count| statements(random, count));
    let rounds = 1 + random.below(ROUNDS);
    format!(
        ".visible .entry k(.param .u64 out) {{ .reg .pred %p, %q; .reg .b32 %t, %w, %i, %v, %x, %b, %lane, %own, %next; .reg .b64 %out, %at, %far, %c, %d;\n\
        .shared .align 4 .b32 digest; .shared .align 4 .b32 box[320];\n\
        ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; mov.u32 %lane, %laneid; mov.u32 %b, %ctaid.x; mov.u32 %v, %t; mov.u64 %d, 0;\n\
        mov.u32 %x, %ntid.x; mad.lo.u32 %x, %b, %x, %t; mul.wide.u32 %at, %x, 16; add.u64 %at, %at, %out; add.u64 %far, %out, 0x40000000;\n\
        mov.u32 %own, box; mad.lo.u32 %own, %t, 4, %own; add.u32 %next, %own, 128; mov.u32 %i, 0; setp.lt.u32 %q, %lane, 5;\n\
        st.shared.u32 [%own], %v; st.shared.u32 [digest], %b;\n\
        {before}\nL: {within}\nadd.u32 %i, %i, 1; setp.lt.u32 %p, %i, {rounds}; @%p bra L;\n{behind}\n\
        cvt.u64.u32 %c, %v; st.global.u64 [%at], %c; st.global.u64 [%at+8], %d; ret; }}"
    )
}

#[test]
fn warps_take_turns_as_in_the_interpreter() {
    let (mut failed, mut ended) = (0, 0);
    for seed in 1..=u64::from(cases(300)) {
        let random = &mut Random(seed);
        let source = source(random);
        let threads = [32 * (1 + random.below(WARPS)) as u32 - [0, 0, 0, 7][random.below(4) as usize], 1, 1];
        let order = match random.below(5) {
            0 => KernelOrder::Reverse,
            1 => KernelOrder::Random(seed),
            _ => KernelOrder::Forward,
        };
        let grid = [1 + random.below(4) as u32, 1, 1];
        let run = Run { source: &source, grid, threads, order, budget: 1 << 22, ..Run::default() };
        for [interpreted, generated] in [[Way::Unrecorded, Way::Generated], [Way::Recorded, Way::GeneratedRecorded]] {
            let [interpreted, generated] = [interpreted, generated].map(|way| left_by(&run, way));
            let facts = [&interpreted, &generated].map(Left::facts);
            assert!(interpreted == generated, "seed {seed}, {grid:?}, {threads:?}, {order:?}\n{source}\n{facts:#?}");
            *if interpreted.fault.is_some() { &mut failed } else { &mut ended } += 1;
        }
    }
    assert!(failed * 20 > ended && ended * 20 > failed, "{failed} launches failed, and {ended} ended");
}
