//! Member masks of instructions of a warp, and the use of barriers: what is wrong is a misuse, and what is right is none.

use super::{BASE, Run};
use crate::{FaultKind, MisuseKind};

/// A misuse: its kind, the first lane, the numbers of [`Misuse::address`](crate::Misuse), and the other thread.
type Found = (MisuseKind, u32, (u32, u32), Option<u32>);

/// Runs a body in one block, in which `%t` is the thread, `%l` the lane, `%p` holds in the lanes below 16, and `%rd1` is the address of the
/// thread's word of the output. Returns the misuses, the output, and the kind of the fault.
fn run(body: &str, threads: u32) -> (Vec<Found>, Vec<u32>, Option<FaultKind>) {
    let source = format!(
        ".visible .entry k(.param .u64 out, .param .u64 more) {{ .reg .pred %p, %q, %s; .reg .b32 %t, %l, %m, %n, %a<8>; .reg .b64 %rd<4>; \
         .shared .b32 words[64]; \
         mov.u32 %t, %tid.x; mov.u32 %l, %laneid; setp.lt.u32 %p, %l, 16; mov.u64 %rd1, {BASE}; mad.wide.u32 %rd1, %t, 4, %rd1; \
         mov.u32 %a0, 0; {body} st.global.u32 [%rd1], %a0; ret; }}"
    );
    let mut out = vec![0_u64; 64];
    let run = Run { source: &source, threads: [threads, 1, 1], more: vec![0], ..Run::default() };
    let outcome = run.over(&mut [&mut out]);
    let halves = |number: u64| (number as u32, (number >> 32) as u32);
    let found = outcome
        .misuses
        .iter()
        .map(|misuse| (misuse.kind, misuse.thread, halves(misuse.address), misuse.other.map(|(_, thread)| thread)));
    let words = out.iter().flat_map(|word| [*word as u32, (word >> 32) as u32]).collect();
    (found.collect(), words, outcome.fault.map(|fault| fault.kind))
}

fn misuses(body: &str, threads: u32) -> Vec<Found> {
    run(body, threads).0
}

/// Each instruction with a member mask, in place of `MASK`.
const MASKED: [&str; 9] = [
    "bar.warp.sync MASK;",
    "shfl.sync.idx.b32 %a0, %t, 0, 31, MASK;",
    "shfl.sync.bfly.b32 %a0, %t, 1, 31, MASK;",
    "vote.sync.any.pred %q, %p, MASK;",
    "vote.sync.ballot.b32 %a0, %p, MASK;",
    "match.any.sync.b32 %a0, %t, MASK;",
    "match.all.sync.b64 %a0|%q, %rd1, MASK;",
    "redux.sync.add.u32 %a0, %t, MASK;",
    "elect.sync %a0|%q, MASK;",
];

#[test]
fn lanes_outside_of_their_mask_are_misuses() {
    for instruction in MASKED {
        let with = |mask: &str| misuses(&instruction.replace("MASK", mask), 32);
        let first: Vec<Found> = vec![(MisuseKind::OutsideMask, 5, (0x1f, !0x1f), None)];
        let found: Vec<Found> = with("31").into_iter().filter(|found| found.0 != MisuseKind::AbsentLane).collect();
        assert_eq!(found, first, "{instruction}");
        assert_eq!(with("-1"), [], "{instruction}");
        let guarded = format!("setp.lt.u32 %s, %l, 5; @%s {}", instruction.replace("MASK", "31"));
        let found: Vec<Found> =
            misuses(&guarded, 32).into_iter().filter(|found| found.0 != MisuseKind::AbsentLane).collect();
        assert_eq!(found, [], "{guarded}");
        let none = with("0");
        assert_eq!(none[none.len() - 1], (MisuseKind::OutsideMask, 0, (0, u32::MAX), None), "{instruction}");
    }
}

#[test]
fn members_with_other_masks_are_misuses() {
    for instruction in MASKED {
        let with = |low: &str, high: &str| {
            let masks = format!("mov.b32 %m, {low}; @!%p mov.b32 %m, {high};");
            let found = misuses(&format!("{masks} {}", instruction.replace("MASK", "%m")), 32);
            found.into_iter().filter(|found| found.0 != MisuseKind::AbsentLane).collect::<Vec<_>>()
        };
        let first = (MisuseKind::DifferentMasks, 0, (u32::MAX, 0xffff_0000), Some(16));
        assert_eq!(with("-1", "0xffff0000"), [first], "{instruction}");
        assert_eq!(with("0xffff", "0xffff0000"), [], "{instruction}");
    }
}

#[test]
fn members_that_never_come_are_misuses() {
    for instruction in MASKED {
        let full = instruction.replace("MASK", "-1");
        let found: Vec<Found> = misuses(&format!("@!%p bra ELSE; {full} ELSE: bar.warp.sync -1;"), 32)
            .into_iter()
            .filter(|found| found.0 != MisuseKind::AbsentLane)
            .collect();
        if !instruction.starts_with("bar") {
            assert_eq!(found, [(MisuseKind::AbsentMember, 0, (u32::MAX, 0xffff_0000), Some(16))], "{instruction}");
        } else {
            // The lanes meet the others at one barrier of the warp, and then exit.
            assert_eq!(found, [], "{instruction}");
        }
        let left = format!("@!%p ret; {full}");
        let found = misuses(&left, 32).into_iter().filter(|found| found.0 != MisuseKind::AbsentLane);
        assert_eq!(found.collect::<Vec<_>>(), [], "{left}");
        // A warp of fewer lanes has no others.
        let found = misuses(&full, 40).into_iter().filter(|found| found.0 != MisuseKind::AbsentLane);
        assert_eq!(found.collect::<Vec<_>>(), [], "{full}");
    }
}

#[test]
fn complete_groups_do_not_wait_for_others() {
    // The upper lanes wait for two lanes that come later, by a word that a lower lane writes.
    let body = "mov.b32 %m, 0xffff; @!%p mov.b32 %m, 0xffff0000; setp.lt.u32 %q, %l, 30; mov.u32 %a1, words; \
        @%q bra BEGIN; WAIT: ld.volatile.shared.u32 %a2, [%a1]; setp.ne.u32 %s, %a2, 7; @%s bra WAIT; \
        BEGIN: redux.sync.add.u32 %a0, %t, %m; @%p st.volatile.shared.u32 [%a1], 7;";
    let (found, out, fault) = run(body, 32);
    let found: Vec<_> = found.into_iter().filter(|found| found.0 != MisuseKind::UnwrittenShared).collect();
    assert_eq!((found, fault), (vec![], None));
    assert_eq!((out[0], out[31]), ((0..16).sum(), (16..32).sum()));
}

#[test]
fn instructions_of_one_kind_meet_at_several_places() {
    let both = |one: &str, other: &str| format!("@!%p bra ELSE; {one} bra.uni END; ELSE: {other} END:");
    type Result = (&'static str, fn(u32) -> u32);
    let results: [Result; 7] = [
        ("shfl.sync.bfly.b32 %a0, %t, 16, 31, -1;", |lane| lane ^ 16),
        ("shfl.sync.idx.b32 %a0, %t, 20, 31, -1;", |_| 20),
        ("vote.sync.ballot.b32 %a0, %p, -1;", |_| 0xffff),
        ("redux.sync.add.u32 %a0, %t, -1;", |_| 496),
        ("match.any.sync.b32 %a0, %n, -1;", |lane| 0x1111_1111 << (lane % 4)),
        ("elect.sync %a0|%q, -1;", |_| 0),
        ("bar.warp.sync -1; mov.u32 %a0, %t;", |lane| lane),
    ];
    for (instruction, expected) in results {
        // The registers of the two places differ.
        let copy = instruction.replace("%t,", "%a5,").replace("%n,", "%a6,");
        let body = format!("and.b32 %n, %l, 3; mov.b32 %a5, %t; mov.b32 %a6, %n; {}", both(instruction, &copy));
        let (found, out, fault) = run(&body, 32);
        assert_eq!((found, fault), (vec![], None), "{instruction}");
        assert_eq!(out[..32], (0..32).map(expected).collect::<Vec<_>>(), "{instruction}");
    }
    // Another kind, and an instruction of the whole warp, do not meet.
    let kinds = |body: &str| misuses(body, 32).iter().map(|found| found.0).collect::<Vec<_>>();
    let other = both("vote.sync.ballot.b32 %a0, %p, -1;", "vote.sync.any.pred %q, %p, -1;");
    // The first ones go on alone and exit.
    assert_eq!(kinds(&other), [MisuseKind::AbsentMember]);
    let matrices =
        both("movmatrix.sync.aligned.m8n8.trans.b16 %a0, %t;", "movmatrix.sync.aligned.m8n8.trans.b16 %a0, %t;");
    assert_eq!(kinds(&matrices), [MisuseKind::PartialWarp; 2]);
}

#[test]
fn shuffles_without_a_member_mask_have_the_same_modes() {
    type Expected = fn(u32) -> u32;
    let modes: [(&str, Expected); 4] = [
        ("shfl.up.b32 %a0, %t, 1, 0;", |lane| lane.saturating_sub(1)),
        ("shfl.down.b32 %a0, %t, 1, 31;", |lane| (lane + 1).min(31)),
        ("shfl.bfly.b32 %a0, %t, 1, 31;", |lane| lane ^ 1),
        ("shfl.idx.b32 %a0, %t, 9, 31;", |_| 9),
    ];
    for (instruction, expected) in modes {
        let (found, out, fault) = run(instruction, 32);
        assert_eq!((found, fault), (vec![], None), "{instruction}");
        assert_eq!(out[..32], (0..32).map(expected).collect::<Vec<_>>(), "{instruction}");
    }
}

#[test]
fn barriers_of_a_warp_order_lanes_at_several_places() {
    let share = |barrier: [&str; 2]| {
        format!(
            "mov.u32 %a1, words; mad.lo.u32 %a2, %l, 4, %a1; xor.b32 %a3, %l, 16; mad.lo.u32 %a3, %a3, 4, %a1; \
             @!%p bra ELSE; st.shared.u32 [%a2], %t; {} ld.shared.u32 %a0, [%a3]; bra.uni END; \
             ELSE: st.shared.u32 [%a2], %t; {} ld.shared.u32 %a0, [%a3]; END:",
            barrier[0], barrier[1]
        )
    };
    let races = |body: &str| {
        let source = format!(
            ".visible .entry k(.param .u64 out) {{ .reg .pred %p; .reg .b32 %t, %l, %a<8>; .shared .b32 words[64]; \
             mov.u32 %t, %tid.x; mov.u32 %l, %laneid; setp.lt.u32 %p, %l, 16; {body} ret; }}"
        );
        Run { source: &source, ..Run::default() }.over(&mut [&mut [0]]).races.len()
    };
    assert_eq!(races(&share(["bar.warp.sync -1;", "bar.warp.sync -1;"])), 0);
    assert_ne!(races(&share(["bar.warp.sync 0xffff;", "bar.warp.sync 0xffff0000;"])), 0);
}

#[test]
fn aligned_barriers_in_divergent_code_are_misuses() {
    let apart = |barrier: &str| format!("@!%p bra ELSE; {barrier} bra.uni END; ELSE: {barrier} END:");
    for barrier in ["bar.sync 0;", "barrier.sync.aligned 0;", "bar.red.popc.u32 %a0, 0, %p;", "bar.sync 1, 64;"] {
        let found = misuses(&apart(barrier), 64);
        assert_eq!(found, [(MisuseKind::DivergentBarrier, 16, (0xffff_0000, 0xffff), Some(0))], "{barrier}");
        assert_eq!(misuses(barrier, 64), [], "{barrier}");
    }
    assert_eq!(misuses(&apart("barrier.sync 0;"), 64), []);
    // Some lanes take part in one barrier more.
    assert_eq!(misuses("@%p bar.sync 0; bar.sync 0;", 64)[0].0, MisuseKind::DivergentBarrier);
    assert_eq!(
        misuses("@%p bar.arrive 1, 96; setp.lt.u32 %q, %t, 32; @!%q bar.sync 1, 96; bar.sync 0;", 96)[0].0,
        MisuseKind::DivergentBarrier
    );
    // Warps need not execute the same barrier.
    let warps = "setp.lt.u32 %q, %t, 32; @!%q bra ELSE; bar.sync 0; bra.uni END; ELSE: bar.sync 0; END:";
    assert_eq!(misuses(warps, 64), []);
    // Lanes that have exited do not count, whenever they exit.
    assert_eq!(misuses("@!%p ret; bar.sync 0;", 64), []);
    assert_eq!(misuses("@!%p bra END; bar.sync 0; END:", 64), []);
    // A warp that has diverged before may arrive in parts.
    let parts = "@%p bra ON; mov.u32 %a1, 9; ON: bar.sync 0;";
    assert_eq!(misuses(parts, 64), []);
}

#[test]
fn calls_from_two_places_are_divergent_code() {
    let run = |calls: &str| {
        let source = format!(
            ".func f() {{ bar.sync 0; ret; }}\n.visible .entry k(.param .u64 out) {{ .reg .pred %p; .reg .b32 %l; mov.u32 %l, %laneid; \
             setp.lt.u32 %p, %l, 16; {calls} ret; }}"
        );
        let outcome = Run { source: &source, threads: [64, 1, 1], ..Run::default() }.over(&mut [&mut [0]]);
        assert_eq!(outcome.fault, None);
        outcome.misuses.iter().map(|misuse| misuse.kind).collect::<Vec<_>>()
    };
    let apart = "@!%p bra ELSE; call.uni f; bra.uni END; ELSE: call.uni f; END:";
    assert_eq!(run(apart), [MisuseKind::DivergentBarrier]);
    assert_eq!(run("call.uni f;"), []);
}

#[test]
fn wrong_counts_of_threads_are_misuses() {
    let (found, _, fault) = run("bar.sync 1, 48;", 64);
    assert_eq!(found, [(MisuseKind::PartialCount, 0, (48, 0), None)]);
    assert_eq!(fault, Some(FaultKind::IllegalInstruction));
    let (found, _, fault) = run("bar.sync 1, 128;", 64);
    assert_eq!(found, [(MisuseKind::ExcessiveCount, 0, (128, 64), None)]);
    assert_eq!(fault, Some(FaultKind::Deadlock));
    assert_eq!(misuses("bar.sync 1, 64;", 40), []);
    // Each half of the block states another number.
    let counts = "setp.lt.u32 %q, %t, 32; mov.b32 %m, 64; @!%q mov.b32 %m, 32; bar.sync 1, %m;";
    assert_eq!(misuses(counts, 64)[0], (MisuseKind::DifferentCounts, 32, (32, 64), Some(0)));
    let mixed = "setp.lt.u32 %q, %t, 32; @!%q bra ELSE; bar.sync 0; bra.uni END; ELSE: bar.sync 0, 64; END:";
    assert_eq!(misuses(mixed, 64), []);
    let reduction =
        "setp.lt.u32 %q, %t, 32; @!%q bra ELSE; bar.sync 0; bra.uni END; ELSE: bar.red.popc.u32 %a0, 0, %p; END:";
    assert_eq!(misuses(reduction, 64)[0], (MisuseKind::MixedReduction, 32, (0, 1), Some(0)));
    let twice = "setp.lt.u32 %q, %t, 32; @!%q bra ELSE; bar.arrive 1, 64; bar.arrive 1, 64; bra.uni END; ELSE: bar.sync 1, 64; END:";
    assert_eq!(misuses(twice, 64)[0], (MisuseKind::SecondArrival, 0, (1, 0), Some(0)));
    let once = "setp.lt.u32 %q, %t, 32; @!%q bra ELSE; bar.arrive 1, 64; bra.uni END; ELSE: bar.sync 1, 64; END:";
    assert_eq!(misuses(once, 64), []);
}
