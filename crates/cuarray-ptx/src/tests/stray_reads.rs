//! Reads outside of all regions that give poison, so that one launch shows what lies behind them too.

use super::*;
use crate::machine::MisuseKind;

/// Each thread reads its element of the first buffer, which has too few for the last threads; then all threads write one word.
const SOURCE: &str = ".visible .entry k(.param .u64 a, .param .u64 b) { .reg .b64 %a, %b, %o, %at, %x, %y; .reg .b32 %t; \
    ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 8; add.u64 %at, %a, %o;\n\
    ld.global.u64 %x, [%at];\n\
    mul.wide.u32 %y, %t, 1; st.global.u64 [%b], %y; add.u64 %at, %b, %o; st.global.u64 [%at+8], %x; ret; }";

fn run(source: &str, poisons: bool) -> (Outcome, Vec<u64>) {
    let (mut a, mut b) = (vec![5; 30], vec![0; 40]);
    let outcome = Run { source, poisons, ..Run::default() }.executed(&mut [&mut a, &mut b], Way::Recorded, 1);
    (outcome, b)
}

#[test]
fn stray_read_gives_poison_and_the_race_behind_it_is_found() {
    let (outcome, _) = run(SOURCE, false);
    assert_eq!(outcome.fault.map(|fault| (fault.kind, fault.thread[0])), Some((FaultKind::IllegalAddress, 30)));
    assert_eq!(outcome.races.len(), 0);
    let (outcome, b) = run(SOURCE, true);
    assert_eq!(outcome.fault, None);
    assert_eq!((b[30], b[31], b[32]), (5, u64::MAX, u64::MAX));
    let [misuse] = outcome.misuses[..] else { panic!("{:?}", outcome.misuses) };
    assert_eq!((misuse.kind, misuse.thread, misuse.address, misuse.size), (MisuseKind::StrayRead, 30, BASE + 240, 8));
    assert_eq!(outcome.races.len(), 1);
}

#[test]
fn stray_reads_of_vectors_and_of_null_give_poison_and_other_accesses_fail() {
    let wide = SOURCE.replace("ld.global.u64 %x, [%at];", "ld.global.v2.u64 {%x, %y}, [%a+240]; and.b64 %x, %x, %y;");
    assert_eq!(run(&wide, true).1[1], u64::MAX);
    let null = SOURCE.replace("[%at];", "[%o];");
    assert_eq!(run(&null, true).1[1..33], [u64::MAX; 32]);
    // A store, an atomic operation and an access beyond shared memory end the launch as before.
    for access in ["st.global.u64 [%o], %x;", "atom.global.add.u64 %x, [%o], 1;", "ld.shared.u64 %x, [%o+65536];"] {
        let source = SOURCE.replace("ld.global.u64 %x, [%at];", access);
        assert_eq!(run(&source, true).0.fault.map(|fault| fault.kind), Some(FaultKind::IllegalAddress), "{access}");
    }
}
