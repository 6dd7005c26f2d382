//! Stores that reach another allocation than those that the parameters of the addresses point to.

use super::*;
use crate::{Misuse, MisuseKind};

/// Runs a kernel of 64 threads over two buffers of 4096 words. Its last parameters `p0` and `p1` are words; `%out` is the first of
/// them, `%t` the thread and `%o` its offset. Returns the misuses and the number of races.
fn run(body: &str, more: &[u64], group: u64) -> (Vec<Misuse>, usize) {
    let source = format!(
        ".global .align 4 .u32 words[64]; .visible .entry k(.param .u64 one, .param .u64 two, .param .u64 p0, .param .u64 p1) {{\n\
         .reg .pred %p; .reg .b32 %t, %v, %w; .reg .b64 %out, %in, %a, %b, %o; .shared .u32 s[64]; .local .u32 l;\n\
         ld.param.u64 %out, [p0]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;\n\
         {body}\n ret; }}"
    );
    let mut all = Vec::new();
    for workers in [1, 3] {
        let (mut one, mut other) = (vec![0_u64; 4096], vec![0_u64; 4096]);
        let (threads, more) = ([64, 1, 1], more.to_vec());
        let run = Run { source: &source, grid: [2, 1, 1], threads, workers, more, group, ..Run::default() };
        let outcome = run.over(&mut [&mut one, &mut other]);
        assert_eq!(outcome.fault, None, "{body}");
        all.push((outcome.misuses, outcome.races.len()));
    }
    assert_eq!(all[0], all[1], "{body}");
    all.swap_remove(0)
}

const END: u64 = BASE + 4096 * 8;
/// Stores the thread's number, in thread 40 of each block at an address that is `APART` bytes away.
const ONE_AWAY: &str = "setp.eq.u32 %p, %t, 40; selp.b64 %b, 0x100000000, 0, %p; add.u64 %a, %out, %o; add.u64 %a, %a, %b; st.global.u32 [%a], 7;";

#[test]
fn store_in_another_allocation_is_a_misuse() {
    for (body, out, first) in [
        (ONE_AWAY, BASE, 40),
        (ONE_AWAY, BASE + 16000, 40),
        // The store's address is a generic one, and the pointer is at the end of its allocation.
        ("setp.eq.u32 %p, %t, 33; mov.u64 %b, 0x100000000; add.u64 %a, %out, %b; @%p st.u32 [%a + -4], 7;", END, 33),
        ("mov.u64 %b, 0x100000000; add.u64 %a, %out, %b; st.global.v2.u32 [%a], {%t, 7};", BASE, 0),
        ("mov.u64 %b, 0x100000000; add.u64 %a, %out, %b; red.global.add.u32 [%a], 7;", BASE, 0),
        ("mov.u64 %b, 0x100000000; add.u64 %a, %out, %b; atom.cas.b32 %v, [%a], 7, 8;", BASE, 0),
        // A variable of the module, with the parameter as an offset.
        ("mov.u64 %b, words; add.u64 %a, %b, %out; st.global.u32 [%a], 7;", 0_u64.wrapping_sub(100 * APART), 0),
    ] {
        let (misuses, _) = run(body, &[out, 0], 0);
        let found: Vec<_> =
            misuses.iter().map(|misuse| (misuse.kind, misuse.block, misuse.thread, misuse.write)).collect();
        assert_eq!(found, [(MisuseKind::OtherRegion, 0, first, true)], "{body}");
    }
}

#[test]
fn store_in_an_allocation_that_a_parameter_points_to_is_no_misuse() {
    let away = "add.u64 %a, %out, %o; mov.u64 %b, 0x100000000; add.u64 %a, %a, %b; st.global.u32 [%a], 7;";
    for (body, out, other) in [
        ("add.u64 %a, %out, %o; st.global.u32 [%a], 7;", BASE, 0),
        ("st.global.u32 [%out + -4], 7;", END, 0),
        ("add.u64 %a, %out, %o; atom.global.inc.u32 %v, [%a], 7; .local .b32 m; st.local.u32 [m], %v;", BASE, 0),
        ("add.u64 %a, %out, %o; st.global.u32 [%a + -16000], 7;", BASE + 16000, 0),
        // One of two pointers, or the pointer of another store.
        (
            "ld.param.u64 %in, [p1]; setp.lt.u32 %p, %t, 9; selp.b64 %a, %out, %in, %p; st.global.u32 [%a], 7;",
            BASE,
            BASE + APART,
        ),
        (&format!("{away} ld.param.u64 %in, [p1]; st.global.u32 [%in], 7;"), BASE, BASE + APART + 64),
        // The pointer is before or behind its allocation.
        ("st.global.u32 [%out + 64], 7;", BASE - 64, 0),
        ("st.global.u32 [%out + 64], 7;", BASE + APART - 64, 0),
        ("sub.u64 %a, %out, 0x100000000; st.global.u32 [%a], 7;", BASE + 2 * APART, 0),
        ("mov.u64 %b, 4096; sub.u64 %a, %out, %b; st.global.u32 [%a], 7;", END + 4092, 0),
        // Shared and local memory by generic addresses.
        ("cvta.shared.u64 %a, s; add.u64 %a, %a, %o; st.u32 [%a], 7; cvta.local.u64 %b, l; st.u32 [%b], 7;", BASE, 0),
        // A variable of the module with an offset.
        ("mov.u64 %b, words; add.u64 %a, %b, %out; add.u64 %a, %a, %o; st.global.u32 [%a], 7;", 0, 0),
        // The address depends on memory, or the parameter has it in another form.
        (&format!("ld.global.u32 %v, [%out]; cvt.u64.u32 %b, %v; add.u64 %out, %out, %b; {away}"), BASE, 0),
        (&format!("xor.b64 %out, %out, -1; {away}"), !BASE, 0),
        (
            &format!("ld.param.u32 %v, [p0]; ld.param.u32 %w, [p0 + 4]; mov.b64 %out, {{%w, %v}}; {away}"),
            BASE.rotate_left(32),
            0,
        ),
    ] {
        assert_eq!(run(body, &[out, other], 0).0, [], "{body}");
    }
}

#[test]
fn parts_of_one_allocation_are_reached_by_one_pointer() {
    assert_eq!(run(ONE_AWAY, &[BASE, 0], 7).0, []);
    // Their reads are compared with the stores.
    let read = format!("ld.param.u64 %in, [p1]; ld.global.u32 %v, [%in + 160]; {ONE_AWAY}");
    assert_ne!(run(&read, &[BASE, BASE + APART], 7).1, 0);
    let (misuses, _) = run(&read, &[BASE, BASE + APART], 0);
    assert_eq!(misuses.len(), 1);
}

#[test]
fn pointer_in_a_structure_without_padding_is_found() {
    // A byte or a word, and then the pointer.
    for (shift, load) in [
        (32, "ld.param.u32 %v, [p0 + 4]; ld.param.u32 %w, [p0 + 8]; mov.b64 %out, {%v, %w};".to_owned()),
        (8, {
            let byte = |index: u32| {
                format!(
                    "ld.param.u8 %v, [p0 + {}]; cvt.u64.u32 %b, %v; shl.b64 %b, %b, {}; or.b64 %out, %out, %b;",
                    index + 1,
                    8 * index
                )
            };
            format!("mov.u64 %out, 0; {}", (0..8).map(byte).collect::<String>())
        }),
    ] {
        let words = |pointer: u64| [pointer << shift | 5, pointer >> (64 - shift)];
        let source = |body: &str| format!("{load} {body}");
        let inside = source("ld.global.u32 %v, [%out + 4]; add.u64 %a, %out, %o; st.global.u32 [%a], %t;");
        let structure = |body: &str| body.replace("[p0", "[sn");
        let (misuses, races) = run_structure(&structure(&inside), words(BASE));
        assert_eq!((misuses.len(), races), (0, 1), "{inside}");
        let away = source(ONE_AWAY);
        assert_eq!(run_structure(&structure(&away), words(BASE)).0.len(), 1, "{away}");
    }
}

/// Like [`run`], with a structure `sn` of 16 bytes as the last parameter.
fn run_structure(body: &str, words: [u64; 2]) -> (Vec<Misuse>, usize) {
    let source = format!(
        ".visible .entry k(.param .u64 one, .param .u64 two, .param .align 8 .b8 sn[16]) {{\n\
         .reg .pred %p; .reg .b32 %t, %v, %w; .reg .b64 %out, %a, %b, %o; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;\n\
         {body}\n ret; }}"
    );
    let (mut one, mut other) = (vec![0_u64; 4096], vec![0_u64; 4096]);
    let run = Run { source: &source, grid: [2, 1, 1], threads: [64, 1, 1], more: words.to_vec(), ..Run::default() };
    let outcome = run.over(&mut [&mut one, &mut other]);
    assert_eq!(outcome.fault, None, "{body}");
    (outcome.misuses, outcome.races.len())
}
