//! Loads and stores in every space, the recorded ranges, and faults.

use super::*;
use crate::machine::{AccessKind, TouchedRange};

#[test]
fn accessed_ranges_are_exact() {
    let source = ".visible .entry k(.param .u64 a, .param .u64 b) { .reg .b64 %a, %b, %o; .reg .b32 %t; .reg .f32 %f;\n\
        ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o; add.u64 %b, %b, %o; add.u64 %b, %b, %o;\n\
        ld.global.f32 %f, [%a+8]; st.f32 [%b], %f; ret; }";
    let (mut a, mut b) = (vec![0x4000_0000_3f80_0000_u64; 40], vec![0_u64; 64]);
    let run = Run { source, threads: [48, 1, 1], ..Run::default() };
    let outcome = run.over(&mut [&mut a, &mut b]);
    assert_eq!(outcome.fault, None);
    assert_eq!(b[3], 0x4000_0000);
    assert_eq!(
        outcome.touched[0],
        TouchedRange::new(AccessKind::Read, crate::Strength::Weak).piece(BASE + 8, BASE + 8 + 192)
    );
    let stores: Vec<&TouchedRange> =
        outcome.touched.iter().filter(|touched| touched.kind == AccessKind::Write).collect();
    assert_eq!((stores.len(), stores[0].count()), (1, 48));
    assert_eq!(stores[0].pieces().nth(1), Some((BASE + APART + 8, BASE + APART + 12)));
}

#[test]
fn accesses_out_of_bounds_are_faults_with_their_thread() {
    let kernel = |access: &str| {
        format!(
            ".visible .entry k(.param .u64 a) {{ .reg .b64 %a, %o; .reg .b32 %t, %v; .reg .pred %p; .shared .align 4 .b8 s[64];\n\
             .local .align 8 .b8 l[16]; ld.param.u64 %a, [a]; mov.u32 %t, %tid.x; mov.u32 %v, 1; mul.wide.u32 %o, %t, 4; add.u64 %o, %o, %a;\n\
             setp.eq.u32 %p, %t, 7; @!%p bra END;\n{access}\n END: ret; }}"
        )
    };
    for (access, kind) in [
        ("ld.global.u32 %v, [%o+4096];", FaultKind::IllegalAddress),
        ("st.global.u32 [%a+-4], %v;", FaultKind::IllegalAddress),
        ("ld.u32 %v, [%o+2];", FaultKind::Misaligned),
        ("ld.global.v2.u32 {%v, %t}, [%o];", FaultKind::Misaligned),
        ("ld.shared.u32 %v, [s+64];", FaultKind::IllegalAddress),
        ("st.shared.u32 [s+2], %v;", FaultKind::Misaligned),
        ("st.local.u32 [l+1048576], %v;", FaultKind::IllegalAddress),
        ("ld.u32 %v, [0];", FaultKind::IllegalAddress),
        ("mov.u64 %o, 0xfffffffffffffffc; ld.u32 %v, [%o];", FaultKind::IllegalAddress),
        ("mov.u64 %o, 0x0100000000010000; ld.u32 %v, [%o];", FaultKind::IllegalAddress),
        ("mov.u64 %o, 0x0100000000000000; ld.shared.u32 %v, [%o];", FaultKind::IllegalAddress),
        ("red.global.add.u32 [%o+4096], 1;", FaultKind::IllegalAddress),
    ] {
        let source = kernel(access);
        let mut a = vec![0_u64; 64];
        let fault = Run { source: &source, ..Run::default() }.over(&mut [&mut a]).fault;
        let fault = fault.unwrap_or_else(|| panic!("{access} did not fault"));
        assert_eq!((fault.kind, fault.thread), (kind, [7, 0, 0]), "{access}");
    }
}

#[test]
fn generic_addresses_reach_every_space() {
    let source = ".shared .align 8 .b8 s[256]; .const .align 8 .u64 c = 77;\n\
        .visible .entry k(.param .u64 a, .param .align 8 .b8 p[16]) { .reg .b64 %a, %x<12>; .reg .b32 %t; .reg .pred %p<3>; .local .align 8 .b8 l[32];\n\
        ld.param.u64 %a, [a]; mov.u32 %t, %tid.x; mul.wide.u32 %x0, %t, 8; add.u64 %a, %a, %x0;\n\
        mov.u64 %x1, s; cvta.shared.u64 %x1, %x1; add.u64 %x1, %x1, %x0; cvt.u64.u32 %x2, %t; st.u64 [%x1], %x2;\n\
        mov.u64 %x3, l; cvta.local.u64 %x4, %x3; st.u64 [%x4+8], %x2; ld.local.u64 %x5, [%x3+8];\n\
        isspacep.shared %p0, %x1; isspacep.shared %p1, %x4;\n\
        mov.u64 %x6, c; cvta.const.u64 %x6, %x6; ld.u64 %x7, [%x6]; mov.b64 %x8, p; cvta.param.u64 %x8, %x8; ld.u64 %x9, [%x8+8];\n\
        ld.shared.u64 %x10, [s+16]; bar.sync 0; ld.shared.u64 %x10, [s+16]; add.u64 %x5, %x5, %x7; add.u64 %x5, %x5, %x9; add.u64 %x5, %x5, %x10;\n\
        @%p0 add.u64 %x5, %x5, 1000; @%p1 add.u64 %x5, %x5, 50000; st.u64 [%a], %x5; ret; }";
    let mut a = vec![0_u64; 32];
    let outcome = Run { source, more: vec![5, 6], ..Run::default() }.over(&mut [&mut a]);
    assert_eq!(outcome.fault, None);
    assert!(a.iter().enumerate().all(|(lane, value)| *value == lane as u64 + 77 + 6 + 2 + 1000), "{a:?}");
}

#[test]
fn local_memory_holds_vectors_and_narrow_types() {
    let source = ".visible .entry k(.param .u64 a) { .reg .b64 %a, %x<5>; .reg .b32 %r<10>; .reg .b16 %h<3>; .local .align 16 .b8 l[64];\n\
        ld.param.u64 %a, [a]; mov.u32 %r0, %tid.x; mul.wide.u32 %x0, %r0, 8; add.u64 %a, %a, %x0;\n\
        mov.u32 %r1, 0x11223344; st.local.v4.u32 [l+16], {%r0, %r1, %r0, %r1}; ld.local.v2.u64 {%x1, %x2}, [l+16];\n\
        st.local.u8 [l+3], %r1; st.local.u16 [l], 0xbeef; ld.local.u8 %r5, [l+3]; ld.local.s16 %r6, [l]; cvt.s64.s32 %x3, %r6;\n\
        add.u64 %x1, %x1, %x3; cvt.u64.u32 %x4, %r5; add.u64 %x1, %x1, %x4; st.global.u64 [%a], %x1; ret; }";
    let mut a = vec![0_u64; 32];
    assert_eq!(Run { source, ..Run::default() }.over(&mut [&mut a]).fault, None);
    for (lane, value) in a.iter().enumerate() {
        let expected = (0x1122_3344_u64 << 32 | lane as u64).wrapping_add(0xbeef_u16 as i16 as u64).wrapping_add(0x44);
        assert_eq!(*value, expected);
    }
}

#[test]
fn dynamic_shared_memory_follows_the_static_one() {
    let source = ".shared .align 4 .b8 s[20]; .extern .shared .align 16 .b8 d[];\n\
        .visible .entry k(.param .u64 a) { .reg .b64 %a; .reg .b32 %r<4>; ld.param.u64 %a, [a]; mov.u32 %r0, d; mov.u32 %r1, %dynamic_smem_size;\n\
        add.u32 %r2, %r0, %r1; st.shared.u32 [%r2+-4], %r1; st.global.v2.u32 [%a], {%r0, %r1}; ret; }";
    let mut a = vec![0_u64; 1];
    let run = Run { source, threads: [1, 1, 1], dynamic_shared: 256, ..Run::default() };
    assert_eq!(run.over(&mut [&mut a]).fault, None);
    // The static variable has 20 bytes, and at least as many follow that belong to neither.
    assert_eq!(a[0], 256 << 32 | 48);
}

#[test]
fn atomics_work_on_every_type() {
    let source = ".visible .entry k(.param .u64 a) { .reg .b64 %a; .reg .b32 %r<4>; .reg .f32 %f; ld.param.u64 %a, [a]; mov.u32 %r0, %tid.x;\n\
        red.global.add.u32 [%a], %r0; red.global.max.s32 [%a+8], %r0; red.global.or.b64 [%a+16], 6; atom.global.inc.u32 %r1, [%a+24], 9;\n\
        red.global.add.f32 [%a+32], 0f3F800000; red.global.add.noftz.f16x2 [%a+40], 0x3C003C00; atom.global.cas.b32 %r2, [%a+48], %r0, 100;\n\
        red.global.add.f64 [%a+56], 0d3FF0000000000000; ret; }"
        .replace("red.global.add.noftz.f16x2 [%a+40], 0x3C003C00;", "mov.b32 %r3, 0x3C003C00; red.global.add.noftz.f16x2 [%a+40], %r3;");
    let mut a = vec![0_u64; 8];
    assert_eq!(Run { source: &source, ..Run::default() }.over(&mut [&mut a]).fault, None);
    assert_eq!(a[..4], [496, 31, 6, 2]);
    assert_eq!(a[4..], [32_f32.to_bits().into(), 0x5000_5000, 100, 32_f64.to_bits()]);
}

#[test]
fn unsupported_instructions_are_named_in_the_error() {
    let source = ".visible .entry k() { .reg .b32 %r<9>;\n wgmma.fence.sync.aligned;\n ret; }";
    let error = load(source).err().unwrap();
    assert!(error.unsupported && error.token.starts_with("wgmma.fence") && error.line == 5, "{error}");
    for (source, token) in [
        (".entry k() { .reg .b32 %r; add.s32 %r, %q, 1; }", "%q"),
        (".entry k() { .reg .b32 %r; .reg .b64 %q; add.s32 %r, %q, 1; }", "%q"),
        (".entry k() { bra NOWHERE; }", "NOWHERE"),
        (".entry k() { call f, (); }", "f"),
        (".entry k() { .reg .b32 %r<3>; mov.u32 %r3, 1; }", "%r3"),
        (".entry k(.param .u32 a) { .reg .b64 %r; ld.param.u64 %r, [a]; }", "ld"),
        (".entry k() { .reg .f32 %f; add.rq.f32 %f, %f, %f; }", "add.rq.f32"),
    ] {
        let error = load(source).err().unwrap();
        assert_eq!(error.token, token, "{source}: {error}");
    }
}
