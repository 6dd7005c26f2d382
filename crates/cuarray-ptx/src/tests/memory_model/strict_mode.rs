//! The differences of the strict search from the default one.

use super::*;

#[test]
fn writes_of_one_value_race_in_strict_mode() {
    assert_differs("st.global.u32 [%out], 1; membar.gl; atom.global.add.u32 %w, [%f], 1;", (2, 64), [0, 1]);
    assert_differs("st.global.u32 [%out], %t; membar.gl; atom.global.add.u32 %w, [%f], 1;", (2, 64), [1, 1]);
    // A thread that reads the value meanwhile races in both.
    assert_differs(
        "st.global.u32 [%out], 1; ld.global.u32 %w, [%out]; membar.gl; atom.global.add.u32 %w, [%f], 1;",
        (2, 64),
        [1, 2],
    );
}

#[test]
fn shuffles_order_lanes_by_default_only() {
    let body = "mov.u64 %a, s; mul.wide.u32 %f, %t, 4; add.u64 %a, %a, %f; st.shared.u32 [%a], %t; SYNC ld.shared.u32 %w, [s];";
    let body = format!(".shared .align 4 .u32 s[32]; {body}");
    assert_differs(&body.replace("SYNC", "shfl.sync.idx.b32 %w, %t, 0, 31, -1;"), (1, 32), [0, 1]);
    assert_differs(&body.replace("SYNC", "vote.sync.any.pred %p, %q, -1;"), (1, 32), [0, 1]);
    assert_differs(&body.replace("SYNC", "bar.warp.sync -1;"), (1, 32), [0, 0]);
}

#[test]
fn guessed_read_races_in_strict_mode() {
    let body = "ld.global.u32 %v, [%out]; L: mov.u32 %w, %v; add.u32 %t, %w, 1; atom.global.cas.b32 %v, [%out], %w, %t; setp.ne.u32 %p, %v, %w; @%p bra L;";
    assert_differs(body, (2, 64), [0, 1]);
}

#[test]
fn plain_read_that_no_compare_and_swap_compares_races() {
    // The operation compares a constant, another block has it, or it compares another element.
    for body in [
        "ld.global.u32 %v, [%out]; setp.ne.u32 %p, %v, 0; @%p bra DONE; atom.global.cas.b32 %w, [%out], 0, 1;",
        "setp.eq.u32 %p, %b, 0; @%p ld.global.u32 %v, [%out]; @!%p atom.global.cas.b32 %w, [%out], 0, 1;",
        "ld.global.u32 %v, [%out]; ld.global.u32 %t, [%out + 4]; atom.global.cas.b32 %w, [%out], %v, 1; \
         atom.global.cas.b32 %w, [%out + 4], 0, 1;",
    ] {
        assert_differs(body, (2, 64), [1, body.matches("ld.global").count()]);
    }
    // The value is computed from the loaded one, as a float's bits are.
    let computed = "ld.global.u32 %v, [%out]; L: xor.b32 %w, %v, 1; xor.b32 %t, %w, 1; \
                    atom.global.cas.b32 %v, [%out], %t, %w; setp.ne.u32 %p, %v, %t; @%p bra L;";
    assert_differs(computed, (2, 64), [0, 1]);
}

#[test]
fn update_in_place_races_in_strict_mode() {
    let body = "setp.eq.u32 %p, %t, 0; ld.global.u32 %v, [%out]; add.u32 %v, %v, 1; @%p st.global.u32 [%out], %v;";
    assert_differs(body, (1, 64), [0, 1]);
}

#[test]
fn barriers_alone_have_no_races_in_either_engine() {
    // Kernels without synchronization through memory: the strict search, which uses the memory model, finds what the other
    // search finds, as long as no two threads write one value.
    let mut state = 11_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut racy = 0;
    for _ in 0..150 {
        let mut body = String::from(".shared .align 4 .u32 s[256]; mad.lo.u32 %w, %b, 64, %t;\n");
        for _ in 0..4 + random(5) {
            let (stride, shift) = (1 + random(2), random(3));
            let index = match random(4) {
                0 => format!("add.u32 %v, %t, {shift};"),
                1 => "xor.b32 %v, %t, 32;".to_owned(),
                2 => "xor.b32 %v, %t, 1;".to_owned(),
                _ => format!("mul.lo.u32 %v, %t, {stride};"),
            };
            let (place, space) = match random(2) {
                0 => ("mov.u64 %f, s; add.u64 %a, %f, %a;", "shared"),
                _ => ("mul.wide.u32 %f, %b, 512; add.u64 %a, %a, %f; add.u64 %a, %out, %a;", "global"),
            };
            let access = match random(3) {
                0 => format!("ld.{space}.u32 %v, [%a];"),
                1 => format!("st.{space}.u32 [%a], %w; add.u32 %w, %w, 1000;"),
                _ => format!("red.{space}.add.u32 [%a], 1;"),
            };
            body += &format!("{index} mul.wide.u32 %a, %v, 4; {place} {access}\n");
            body += ["", "", "bar.sync 0;\n", "bar.warp.sync -1;\n"][random(4) as usize];
        }
        let (fast, exact) = (races_of(&body, (2, 64), false), races_of(&body, (2, 64), true));
        racy += usize::from(!fast.is_empty());
        assert_eq!(fast.is_empty(), exact.is_empty(), "{body}\n{fast:?}\n{exact:?}");
    }
    assert!((20..130).contains(&racy), "{racy} of 150 kernels have races");
}

#[test]
fn read_by_the_read_only_path_races_with_each_write_of_the_launch() {
    let [read, write] = ["ld.global.nc.u32 %w, [%out];", "st.global.u32 [%out], 1;"];
    let plain = "ld.global.u32 %w, [%out];";
    let bodies = |read: &str| {
        [
            format!("{write} {read}"),
            format!("{read} {write}"),
            format!("{read} {read} bar.sync 0; {write}"),
            format!("{write} bar.sync 0; {read}"),
            format!("{read} bar.sync 0; st.relaxed.gpu.global.u32 [%out], 1;"),
            format!("red.global.add.u32 [%out], 1; bar.sync 0; {read}"),
        ]
    };
    for (body, ordered) in bodies(read).iter().zip(bodies(plain)) {
        let found = races_of(body, (1, 1), true);
        let reasons: Vec<_> = found.iter().map(|race| race.why).collect();
        assert!(
            !reasons.is_empty() && reasons.iter().all(|why| *why == Some(Why::ReadOnlyPath)),
            "{body}: {reasons:?}"
        );
        assert_eq!(races_of(body, (1, 1), false), [], "{body}: the default mode asks for order alone");
        assert_eq!(races_of(&ordered, (1, 1), true), [], "{ordered}");
    }
    assert_eq!(races_of(&format!("{read} st.global.u32 [%out + 4], 1;"), (1, 1), true), []);
    // Without any order both modes report it.
    let parts = [read, write];
    assert_eq!([false, true].map(|strict| program(&parts, Apart::Blocks, strict).len()), [1, 1]);
}
