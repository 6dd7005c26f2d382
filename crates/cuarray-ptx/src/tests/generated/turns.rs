//! Turns of warps at barriers and where they end: the order of turns is visible in the clock and in a digest that all warps change.

use super::super::random::{Random, cases};
use super::*;

/// The most warps of a block and rounds of a kernel.
const WARPS: u64 = 9;
const ROUNDS: u64 = 7;

const CLOCK: &str = "mov.u64 %c, %clock64; mad.lo.s64 %d, %d, 31, %c;";

/// A statement that generated code executes itself. All warps change the digest, so it shows their turns. With barriers, warps exchange values in
/// shared memory. Without, they store to one place in global memory.
fn usual(random: &mut Random, barriers: bool) -> &'static str {
    match random.below(9) {
        0..=3 if barriers => "bar.sync 0;",
        4 if barriers => {
            "st.shared.u32 [%own], %v; bar.sync 0; ld.shared.u32 %x, [%next]; bar.sync 0; xor.b32 %v, %v, %x;"
        }
        5 => "ld.global.u64 %c, [%at]; add.s64 %d, %d, %c; st.global.u64 [%at+8], %d;",
        6 => "setp.lt.u32 %p, %lane, 9; @%p add.u32 %v, %v, 77; add.u32 %x, %v, %t; add.u32 %v, %v, %x;",
        7 if barriers => {
            "ld.shared.u32 %x, [digest]; mad.lo.u32 %x, %x, 31, %t; st.shared.u32 [digest], %x; add.u32 %v, %v, %x;"
        }
        7 => "ld.global.u32 %x, [%one]; add.u32 %v, %v, %x; st.global.u32 [%one], %v;",
        _ => "mad.lo.u32 %v, %v, 5, %t;",
    }
}

/// A statement at which turns, barriers and registers have to be as the interpreter has them.
fn unusual(random: &mut Random, barriers: bool) -> String {
    let spins = [300, 18_000][random.below(2) as usize];
    let label = random.below(1 << 40);
    match random.below(12) {
        0 if barriers => "bar.sync 1;".to_owned(),
        1 if barriers => "mov.u32 %x, %ntid.x; bar.sync 2, %x;".to_owned(),
        2 if barriers => "bar.red.popc.u32 %x, 0, %q; add.u32 %v, %v, %x;".to_owned(),
        3 => "atom.shared.add.u32 %x, [digest], 5; add.u32 %v, %v, %x;".to_owned(),
        4 => "nanosleep.u32 3000;".to_owned(),
        5 => "exit;".to_owned(),
        6 | 7 => format!("mov.u32 %x, 0;\nT{label}: add.u32 %x, %x, 1; setp.lt.u32 %p, %x, {spins}; @%p bra T{label};"),
        8 => "shfl.sync.down.b32 %x, %v, 1, 31, -1; add.u32 %v, %v, %x;".to_owned(),
        9 if random.below(3) == 0 => "st.global.u32 [%far], %v;".to_owned(),
        10 => "setp.lt.u32 %p, %lane, 7; @%p exit;".to_owned(),
        _ => CLOCK.to_owned(),
    }
}

/// Statements. One may be unusual: for all threads, or for one warp, in a loop in one round.
fn statements(random: &mut Random, count: u64, (barriers, in_loop): (bool, bool)) -> String {
    let mut all: Vec<String> = (0..count).map(|_| usual(random, barriers).to_owned()).collect();
    if random.below(2) == 0 {
        let (warp, round, label) = (random.below(WARPS / 2), random.below(ROUNDS), random.below(1 << 40));
        let for_one = random.below(4) > 0;
        let statement = unusual(random, barriers && !for_one);
        let in_round = if in_loop { format!("setp.eq.and.u32 %p, %i, {round}, %p;") } else { String::new() };
        let statement = match for_one {
            true => format!("setp.eq.u32 %p, %w, {warp}; {in_round} @!%p bra S{label}; {statement}\nS{label}:"),
            false => statement,
        };
        all.insert(random.below(count + 1) as usize, statement);
    }
    all.join("\n")
}

fn source(random: &mut Random) -> String {
    // Warps that meet at no barrier run one after the other.
    let barriers = random.below(4) > 0;
    let (before, within, behind) = (random.below(4), 1 + random.below(6), random.below(4));
    let [before, within, behind] = [(before, false), (within, true), (behind, false)]
        .map(|(count, in_loop)| statements(random, count, (barriers, in_loop)));
    // To read the clock is a step of generated code, behind which no warp follows.
    let clock = if random.below(2) == 0 { CLOCK } else { "" };
    let shared = if barriers { "st.shared.u32 [%own], %v; st.shared.u32 [digest], %b;" } else { "" };
    let rounds = 1 + random.below(ROUNDS);
    format!(
        ".visible .entry k(.param .u64 out) {{ .reg .pred %p, %q; .reg .b32 %t, %w, %i, %v, %x, %b, %lane, %own, %next; .reg .b64 %out, %at, %far, %one, %c, %d;\n\
        .shared .align 4 .b32 digest; .shared .align 4 .b32 box[320];\n\
        ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; mov.u32 %lane, %laneid; mov.u32 %b, %ctaid.x; mov.u32 %v, %t; mov.u64 %d, 0;\n\
        mov.u32 %x, %ntid.x; mad.lo.u32 %x, %b, %x, %t; mul.wide.u32 %at, %x, 16; add.u64 %at, %at, %out; add.u64 %far, %out, 0x40000000;\n\
        mov.u32 %own, box; mad.lo.u32 %own, %t, 4, %own; add.u32 %next, %own, 128; mov.u32 %i, 0; setp.lt.u32 %q, %lane, 5;\n\
        mul.wide.u32 %one, %lane, 4; add.u64 %one, %one, %out; add.u64 %one, %one, 65536;\n\
        {shared}\n\
        {before}\nL: {within}\nadd.u32 %i, %i, 1; setp.lt.u32 %p, %i, {rounds}; @%p bra L;\n{behind}\n{clock}\n\
        cvt.u64.u32 %c, %v; st.global.u64 [%at], %c; st.global.u64 [%at+8], %d; ret; }}"
    )
}

#[test]
fn warps_take_turns_as_in_the_interpreter() {
    let (mut failed, mut ended) = (0, 0);
    for seed in 1..=u64::from(cases(600)) {
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
    assert!(failed * 100 > ended && ended * 20 > failed, "{failed} launches failed, and {ended} ended");
}
