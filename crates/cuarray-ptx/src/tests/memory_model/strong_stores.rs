//! Strong stores that no strong load and no result of an atomic operation observes. The default search knows them as it knows atomic
//! operations, and the strict mode by the memory model.

use super::*;

/// Bodies with the number of races of blocks of several threads.
const BODIES: &[(&str, usize)] = &[
    ("st.volatile.global.u32 [%f], %t;", 0),
    ("st.release.gpu.global.u32 [%f], %t; red.relaxed.gpu.global.add.u32 [%f], 1;", 0),
    ("st.volatile.global.u32 [%f], %t; ld.global.u32 %v, [%f];", 1),
    ("ld.global.u32 %v, [%f]; bar.sync 0; st.relaxed.gpu.global.u32 [%f], %t;", 1),
    (
        "or.b32 %v, %t, %b; setp.ne.u32 %p, %v, 0; st.volatile.global.u32 [%f], %t; bar.sync 0; @!%p st.global.u32 [%f], 7;",
        1,
    ),
    (
        ".shared .b32 s[4]; setp.ne.u32 %p, %t, 0; @!%p st.volatile.shared.u32 [s+4], 7; bar.sync 0; ld.shared.u32 %v, [s+4];\n\
         bar.sync 0; @!%p st.volatile.shared.u32 [s+4], 8;",
        0,
    ),
    (".shared .b32 s[4]; st.volatile.shared.u32 [s+4], %t; ld.shared.u32 %v, [s+4];", 1),
    (
        ".shared .b32 s[4]; setp.ne.u32 %p, %t, 9; st.volatile.shared.v2.u32 [s+8], {%t, %t}; @!%p st.shared.u32 [s+12], 5;",
        1,
    ),
];

#[test]
fn strong_stores_alone_race_with_plain_accesses_and_with_nothing_else() {
    for (body, expected) in BODIES {
        let found = [false, true].map(|strict| {
            let races = races_of(body, (3, 64), strict);
            let side = |access: &crate::Access| (access.pc, access.writes, access.atomic);
            let mut pairs: Vec<_> =
                races.iter().map(|race| (race.shared, race.accesses.each_ref().map(side))).collect();
            pairs.iter_mut().for_each(|(_, sides)| sides.sort_unstable());
            pairs.sort_unstable();
            pairs.dedup();
            assert!(races.iter().all(|race| race.why == Some(Why::Plain)), "{body}: {races:#?}");
            pairs
        });
        assert_eq!(found[0], found[1], "{body}");
        assert_eq!(found[0].len(), *expected, "{body}: {found:?}");
    }
}

#[test]
fn strong_stores_alone_need_no_order_of_blocks() {
    let kernel = |body: &str| {
        let source = format!(".visible .entry k(.param .u64 out) {{ {BEGIN} {body} DONE: ret; }}");
        let program = load(&source).unwrap();
        let kernel = program.kernels["k"];
        program.hands_over(kernel)
    };
    for (body, _) in BODIES {
        assert!(!kernel(body), "{body}");
    }
    for body in [
        "st.volatile.global.u32 [%f], %t; ld.volatile.global.u32 %v, [%f];",
        "st.volatile.global.u32 [%f], %t; atom.global.add.u32 %v, [%out], 1; add.u32 %w, %v, 1;",
        "st.volatile.global.u32 [%f], %t; atom.acquire.gpu.global.add.u32 %v, [%out], 1;",
        "st.relaxed.cta.global.u32 [%f], %t;",
    ] {
        assert!(kernel(body), "{body}");
    }
}

#[test]
fn results_of_atomic_operations_may_lack_fences() {
    for (body, lacks) in [
        ("atom.global.exch.b32 %v, [%f], 1;", true),
        ("membar.gl; atom.global.exch.b32 %v, [%f], 1;", false),
        ("red.global.add.u32 [%f], 1;", false),
        ("atom.global.add.u32 %v, [%f], 1;", false),
        ("atom.global.add.u32 %v, [%f], 1; @%p bra DONE; st.global.u32 [%f+4], %v;", true),
        ("atom.release.gpu.global.exch.b32 %v, [%f], 1;", false),
    ] {
        let source = format!(".visible .entry k(.param .u64 out) {{ {BEGIN} {body} DONE: ret; }}");
        let program = load(&source).unwrap();
        assert_eq!(program.may_lack_fences(program.kernels["k"]), lacks, "{body}");
    }
}

/// Blocks may run on several cores where memory does not depend on their order.
#[test]
fn unread_results_of_exact_operations_need_no_order_of_blocks() {
    for (body, ordered) in [
        ("atom.global.add.u32 %v, [%f], 1;", false),
        ("@%p atom.global.min.u32 %v, [%f], 1;", false),
        ("atom.global.xor.b32 %v, [%f], 1; mov.u32 %v, 5; st.global.u32 [%f+4], %w;", false),
        ("atom.global.add.u32 %v, [%f], 1; st.global.u32 [%f+4], %v;", true),
        ("atom.global.add.u32 %v, [%f], %v;", true),
        ("atom.acquire.gpu.global.add.u32 %v, [%f], 1;", true),
        ("atom.global.exch.b32 %v, [%f], 1;", true),
        ("atom.global.cas.b32 %v, [%f], 1, 2;", true),
        ("{ .reg .f32 %s; atom.global.add.f32 %s, [%f], 0f3f800000; }", true),
    ] {
        let source = format!(".visible .entry k(.param .u64 out) {{ {BEGIN} {body} DONE: ret; }}");
        let program = load(&source).unwrap();
        assert_eq!(program.functions[program.kernels["k"] as usize].ordered, ordered, "{body}");
    }
}
