//! Undefined values: where their use is recorded, and where they are dropped.

use super::*;
use crate::{MisuseKind, Used};
use MisuseKind::{AbsentLane, UnwrittenGlobal, UnwrittenLocal, UnwrittenShared};

/// Runs a block of 32 threads over zeroed words. `%t` is the thread, `%global` its word, `%shared` its word of the shared array `s`, and `%u`
/// an undefined value of a kind. For an absent lane, the lanes 24 to 31 have left, and the lanes 0 to 7 take its value from them. Otherwise it is
/// from shared or local memory in all lanes. Returns the kind of each used value, the use, and the first thread.
fn uses(kind: MisuseKind, body: &str) -> Vec<(MisuseKind, Option<Used>, u32)> {
    let make = match kind {
        AbsentLane => {
            "setp.ge.u32 %p, %t, 24; @%p ret; setp.lt.u32 %p, %t, 8; xor.b32 %v, %t, 24; selp.b32 %v, %v, %t, %p;\
             shfl.sync.idx.b32 %u, %t, %v, 31, -1;"
        }
        UnwrittenShared => "ld.shared.u32 %u, [%shared];",
        _ => "ld.local.u32 %u, [l + 32];",
    };
    let source = format!(
        ".func (.param .b32 r) twice(.param .b32 x) {{ .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }}\n\
         .visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p, %q, %r; .reg .b16 %h<4>; .reg .b32 %t, %u, %v, %w; .reg .b64 %out, %global, %shared, %a, %d<4>; .reg .f32 %f<4>;\n\
         .shared .align 16 .u32 s[64]; .local .align 8 .b8 l[64];\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %global, %t, 4; mov.u64 %shared, s;\n\
         add.u64 %shared, %shared, %global; add.u64 %global, %out, %global;\n\
         {{ {make} }}\n{body}\n ret; }}"
    );
    let mut out = [0_u64; 64];
    let outcome = Run { source: &source, ..Run::default() }.over(&mut [&mut out]);
    assert_eq!(outcome.fault, None, "{body}");
    let found =
        outcome.misuses.iter().map(|misuse| (misuse.kind, misuse.undefined.map(|(_, used)| used), misuse.thread));
    found.collect()
}

const STORE: &str = "st.global.u32 [%global], %w;";

/// Code whose effects depend on the undefined value, with the use.
const USED: [(&str, Used); 23] = [
    ("setp.eq.u32 %p, %u, 7; @%p bra L; st.global.u32 [%global], 1; L:", Used::Branch),
    ("setp.gt.s32 %p, %u, 0; and.pred %q, %p, %p; @%q bra L; st.global.u32 [%global], 1; L:", Used::Branch),
    ("add.u32 %w, %u, 1; STORE", Used::Store),
    ("mad.wide.u32 %a, %t, 4, %global; st.global.v2.u32 [%a], {%u, %u};", Used::Store),
    ("mov.b32 %f1, %u; add.f32 %f1, %f1, 0f3f800000; mov.b32 %w, %f1; STORE", Used::Store),
    ("mov.b32 %f1, %u; max.f32 %f1, %f1, 0f3f800000; mov.b32 %w, %f1; STORE", Used::Store),
    ("and.b32 %w, %u, 28; cvt.u64.u32 %a, %w; add.u64 %a, %out, %a; st.global.u32 [%a], 1;", Used::Address),
    ("and.b32 %w, %u, 28; mov.u32 %v, s; add.u32 %w, %w, %v; st.shared.u32 [%w], 1;", Used::Address),
    ("setp.eq.u32 %p, %u, 7; @%p st.global.u32 [%global], 1;", Used::Guard),
    ("setp.eq.u32 %p, %u, 7; @!%p exit;", Used::Guard),
    ("setp.ne.u32 %p, %u, 0; barrier.red.popc.u32 %w, 0, 32, %p;", Used::Operand),
    (
        "setp.eq.u32 %p, %u, 7; selp.b32 %w, 1, 2, %p; st.shared.u32 [%shared], %w; ld.shared.u32 %w, [%shared]; setp.eq.u32 %p, %w, 1; @%p bra L; L:",
        Used::Branch,
    ),
    ("st.local.u32 [l], %u; ld.local.u32 %w, [l]; STORE", Used::Store),
    (
        "st.local.u32 [l + 4], %u; st.local.u32 [l], 1; ld.local.v2.u32 {%v, %w}, [l]; setp.eq.u32 %p, %w, 1; @%p bra L; L:",
        Used::Branch,
    ),
    (
        "{ .param .b32 x; .param .b32 r; st.param.b32 [x], %u; call (r), twice, (x); ld.param.b32 %w, [r]; } STORE",
        Used::Store,
    ),
    ("shfl.sync.bfly.b32 %w, %u, 1, 31, 0xffffff; STORE", Used::Store),
    (
        "setp.lt.u32 %p, %u, 9; vote.sync.ballot.b32 %w, %p, 0xffffff; setp.eq.u32 %p, %w, 1; @%p bra L; L:",
        Used::Branch,
    ),
    ("setp.lt.u32 %p, %u, 9; selp.b32 %w, 3, 4, %p; setp.eq.u32 %p, %w, 3; @%p bra L; L:", Used::Branch),
    ("prmt.b32 %w, %u, 0, 0x4440; setp.eq.u32 %p, %w, 1; @%p bra L; L:", Used::Branch),
    ("bfe.u32 %w, %u, 4, 2; setp.eq.u32 %p, %w, 1; @%p bra L; L:", Used::Branch),
    ("cvt.u16.u32 %h1, %u; setp.eq.u16 %p, %h1, 1; @%p bra L; L:", Used::Branch),
    ("mov.b64 %a, {%t, %u}; mov.b64 {%v, %w}, %a; setp.eq.u32 %p, %w, 1; @%p bra L; L:", Used::Branch),
    ("setp.lt.u32 %p, %u, 9; @%p mov.u32 %v, 5; setp.eq.u32 %p, %v, 5; @%p bra L; L:", Used::Branch),
];

/// Where all bits of the stored value are undefined: it may be a copy.
const COPIES: [&str; 4] = ["{%u, %u}", "ld.local.u32 %w, [l]", "shfl.sync.bfly.b32 %w, %u", "max.f32"];

#[test]
fn use_of_an_undefined_value_is_recorded_with_its_source() {
    for (body, used) in USED {
        let body = body.replace("STORE", STORE);
        for kind in [AbsentLane, UnwrittenShared, UnwrittenLocal] {
            // The mask and the barrier name the lanes that are there.
            if kind != AbsentLane && body.contains("0xffffff") || kind == AbsentLane && body.contains("barrier") {
                continue;
            }
            // A member of a record in local memory may be copied unset.
            let is_copy = kind == UnwrittenLocal && COPIES.iter().any(|copy| body.contains(copy));
            let found = if is_copy { vec![] } else { vec![(kind, Some(used), 0)] };
            assert_eq!(uses(kind, &body), found, "{body}");
        }
    }
}

/// Code whose effects do not depend on the undefined value.
const DROPPED: [&str; 21] = [
    "",
    "and.b32 %w, %u, 0; STORE",
    "mul.lo.u32 %w, %u, 0; STORE",
    "xor.b32 %w, %u, %u; STORE",
    "or.b32 %w, %u, -1; STORE",
    "setp.eq.u32 %p, %u, 7; setp.gt.u32 %q, %t, 64; and.pred %p, %p, %q; @%p bra L; st.global.u32 [%global], 1; L:",
    "setp.eq.u32 %p, %u, 7; setp.lt.u32 %q, %t, 64; or.pred %p, %p, %q; @%p bra L; st.global.u32 [%global], 1; L:",
    "setp.gt.u32 %q, %t, 64; setp.eq.and.u32 %p, %u, 7, %q; @%p bra L; st.global.u32 [%global], 1; L:",
    "setp.lt.u32 %p, %t, 64; selp.b32 %w, %t, %u, %p; STORE",
    "setp.gt.u32 %p, %t, 64; mov.u32 %w, %t; @%p mov.u32 %w, %u; STORE",
    "setp.gt.u32 %p, %t, 64; @%p st.global.u32 [%global], %u;",
    "setp.gt.u32 %p, %t, 64; @%p bra L; bra M; L: st.global.u32 [%global], %u; M:",
    "mov.u32 %u, 3; mov.u32 %w, %u; STORE",
    "st.local.u32 [l], %u; st.local.u32 [l], %t; ld.local.u32 %w, [l]; STORE",
    "st.shared.u32 [%shared], %u; st.shared.u32 [%shared], %t; ld.shared.u32 %w, [%shared]; STORE",
    "mov.b64 %a, {%t, %u}; cvt.u32.u64 %w, %a; STORE",
    "shl.b32 %w, %u, 8; and.b32 %w, %w, 255; or.b32 %w, %w, %t; STORE",
    "prmt.b32 %w, %u, %t, 0x7654; STORE",
    "setp.eq.u32 %p, %u, 7; selp.b32 %w, %t, %t, %p; STORE",
    // Three bytes of a stored word are padding.
    "and.b32 %w, %u, 0xffffff00; or.b32 %w, %w, 1; STORE",
    // So is one element of a stored vector.
    "mad.wide.u32 %a, %t, 4, %global; st.global.v2.u32 [%a], {%t, %u};",
];

#[test]
fn undefined_value_without_effect_is_not_recorded() {
    for body in DROPPED {
        let body = body.replace("STORE", STORE);
        for kind in [AbsentLane, UnwrittenShared, UnwrittenLocal] {
            assert_eq!(uses(kind, &body), [], "{kind:?}: {body}");
        }
    }
}

#[test]
fn sum_of_a_part_of_a_warp_is_defined_where_all_its_lanes_take_part() {
    // Lanes 0 to 15 reduce; the sum of lane 0 has all of them, and that of lane 1 a lane that has left.
    let steps = [8, 4, 2, 1].map(|by| format!("shfl.sync.down.b32 %w, %v, {by}, 31, 0xffff; add.u32 %v, %v, %w;"));
    let sum = |guard: &str| {
        format!(
            "setp.ge.u32 %p, %t, 16; @%p ret; mov.u32 %v, 1; {} {guard} st.global.u32 [%global], %v;",
            steps.concat()
        )
    };
    assert_eq!(
        uses(UnwrittenShared, &format!("st.shared.u32 [%shared], 0; {}", sum("setp.eq.u32 %p, %t, 0; @%p"))),
        []
    );
    let found = uses(UnwrittenShared, &format!("st.shared.u32 [%shared], 0; {}", sum("")));
    assert_eq!(found, [(AbsentLane, Some(Used::Store), 1)]);
}

#[test]
fn absent_lane_gives_poison() {
    let source = ".visible .entry k(.param .u64 out) {\n\
         .reg .pred %p; .reg .b32 %t, %v; .reg .b64 %out, %a;\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; setp.ge.u32 %p, %t, 24; @%p ret;\n\
         shfl.sync.down.b32 %v, %t, 8, 31, 0xffffff; mul.wide.u32 %a, %t, 4; add.u64 %a, %out, %a; st.global.u32 [%a], %v; ret; }";
    let mut out = [0_u64; 16];
    Run { source, ..Run::default() }.over(&mut [&mut out]);
    let value = |thread: usize| (out[thread / 2] >> (thread % 2 * 32)) as u32;
    assert_eq!([value(15), value(16), value(23)], [23, 0xfff5_a5a5, 0xfff5_a5a5]);
}

/// The effects of a launch over memory that is partly unwritten.
struct Effects {
    /// The uses of undefined values, with the first thread.
    used: Vec<(Option<Used>, u32)>,
    /// The words that the launch leaves undefined.
    words: Vec<u64>,
    /// The number of reads of unwritten bytes that were not followed.
    reads: usize,
}

/// Runs a block of 32 threads over 64 words. The last 16 are unwritten. `%t` is the thread, `%in` the address of the word of a
/// thread that is 24 words further, `%out` that of its own word.
fn over_unwritten(body: &str) -> Effects {
    let source = format!(
        ".visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p, %q; .reg .b32 %t, %v, %w; .reg .b64 %base, %in, %out, %a;\n\
         ld.param.u64 %base, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 4, %base; add.u64 %in, %out, 96;\n\
         {body}\n ret; }}"
    );
    let mut memory = [7_u64; 32];
    let unwritten = (BASE + 192, BASE + 256);
    let outcome = Run { source: &source, unwritten, ..Run::default() }.over(&mut [&mut memory]);
    assert_eq!(outcome.fault, None, "{body}");
    let found = outcome.misuses.iter().map(|misuse| {
        assert_eq!((misuse.kind, misuse.size), (UnwrittenGlobal, 4), "{body}");
        (misuse.undefined.map(|(_, used)| used), misuse.thread)
    });
    let words = outcome.undefined.iter().flat_map(|(start, end)| (start - BASE) / 4..(end - BASE).div_ceil(4));
    Effects { used: found.collect(), words: words.collect(), reads: outcome.unwritten_reads.len() }
}

#[test]
fn unwritten_global_memory_is_found_where_it_is_used() {
    let used = |body: &str| over_unwritten(body).used;
    assert_eq!(used("ld.global.u32 %v, [%in]; setp.eq.u32 %p, %v, 7; @%p bra L; L:"), [(Some(Used::Branch), 24)]);
    assert_eq!(
        used(
            "ld.u32 %v, [%in]; and.b32 %v, %v, 60; cvt.u64.u32 %a, %v; add.u64 %a, %a, %base; ld.global.u32 %w, [%a];"
        ),
        [(Some(Used::Address), 24)]
    );
    assert_eq!(
        used("ld.global.nc.v2.u32 {%v, %w}, [%base + 200]; setp.eq.u32 %p, %w, 7; @%p bra L; L:"),
        [(Some(Used::Branch), 0)]
    );
    assert_eq!(
        used("ld.volatile.global.u32 %v, [%in]; setp.eq.u32 %p, %v, 7; @%p bra L; L:"),
        [(Some(Used::Branch), 24)]
    );
    assert_eq!(
        used(
            "red.global.add.u32 [%base + 200], 1; ld.global.u32 %v, [%base + 200]; setp.eq.u32 %p, %v, 7; @%p bra L; L:"
        ),
        [(Some(Used::Branch), 0)]
    );
    // The last element beyond the end is read and dropped, as a merge does.
    let merge = "ld.global.u32 %v, [%in]; setp.gt.u32 %p, %v, %t; setp.lt.u32 %q, %t, 24; and.pred %p, %p, %q; @%p st.global.u32 [%out], 1;";
    assert_eq!(used(merge), []);
}

#[test]
fn copies_of_unwritten_memory_stay_undefined() {
    let copied = |body: &str| {
        let Effects { used, words, reads } = over_unwritten(body);
        assert_eq!((used, reads), (vec![], 0), "{body}");
        words
    };
    let range = |range: std::ops::Range<u64>| range.collect::<Vec<_>>();
    assert_eq!(copied("ld.global.u32 %v, [%in]; st.global.u32 [%out], %v;"), range(24..32));
    assert_eq!(copied("ld.global.u32 %v, [%in]; add.u32 %v, %v, 1; st.global.u32 [%out], %v;"), range(24..32));
    assert_eq!(copied("ld.global.u32 %v, [%in]; st.global.u32 [%out], %v; st.global.u32 [%out], 3;"), []);
    assert_eq!(copied("st.global.u32 [%in], %t; ld.global.u32 %v, [%in]; st.global.u32 [%out], %v;"), []);
    let through = ".shared .u32 s[64]; mov.u64 %a, s; mad.wide.u32 %a, %t, 4, %a; ld.global.u32 %v, [%in]; st.shared.u32 [%a], %v;\
         ld.shared.u32 %w, [%a]; st.global.u32 [%out], %w;";
    assert_eq!(copied(through), range(24..32));
    let skipped = "mov.u32 %w, 5; setp.ge.u32 %p, %t, 28; @%p bra L; ld.global.u32 %v, [%in]; add.u32 %w, %v, 1; st.global.u32 [%out], %w; \
         L: st.global.u32 [%out + 128], %w;";
    assert_eq!(copied(skipped), [24, 25, 26, 27, 56, 57, 58, 59]);
    assert_eq!(copied("red.global.add.u32 [%base + 200], 1;"), [50]);
    assert_eq!(copied("atom.global.exch.b32 %v, [%base + 200], 1;"), []);
}

#[test]
fn undefined_value_passes_through_written_memory_to_another_warp() {
    // The second warp reads defined values first.
    let source = ".visible .entry k(.param .u64 out) {
        .reg .pred %p, %q; .reg .b32 %t, %v, %n, %x, %y; .shared .u32 s[64]; .shared .u32 box[32];
        mov.u32 %t, %tid.x; setp.ge.u32 %p, %t, 32; and.b32 %x, %t, 31; shl.b32 %x, %x, 2; mov.u32 %y, box; add.u32 %y, %y, %x;
        mov.u32 %v, s; add.u32 %x, %x, %v; mov.u32 %n, 0;
        LOOP: @%p bra SECOND; mov.u32 %v, 5; setp.lt.u32 %q, %n, 2; @%q bra STORE; ld.shared.u32 %v, [%x]; STORE: st.shared.u32 [%y], %v;
        SECOND: bar.sync 0; @!%p bra END; ld.shared.u32 %v, [%y]; setp.eq.u32 %q, %v, 7; @%q bra END;
        END: bar.sync 0; add.u32 %n, %n, 1; setp.lt.u32 %q, %n, 3; @%q bra LOOP; ret; }";
    let mut out = [1; 2];
    let outcome = Run { source, threads: [64, 1, 1], ..Run::default() }.over(&mut [&mut out]);
    let used =
        outcome.misuses.iter().map(|misuse| (misuse.kind, misuse.undefined.map(|(_, used)| used), misuse.thread));
    assert_eq!(used.collect::<Vec<_>>(), [(UnwrittenShared, Some(Used::Branch), 32)]);
}

#[test]
fn undefined_value_passes_between_lanes_at_several_places() {
    let body = "setp.lt.u32 %p, %t, 16; @%p mov.u32 %u, 1; @!%p bra ELSE; shfl.sync.bfly.b32 %w, %u, 16, 31, -1; bra END;\
         ELSE: shfl.sync.bfly.b32 %w, %u, 16, 31, -1; END:";
    assert_eq!(uses(UnwrittenShared, &format!("{body} {STORE}")), [(UnwrittenShared, Some(Used::Store), 0)]);
    // The lanes from 16 on have values of the others.
    assert_eq!(uses(UnwrittenShared, &format!("{body} setp.ge.u32 %p, %t, 16; @%p {STORE}")), []);
}

/// Runs a body over the words `l` of local memory, with a function `sum` that adds the first `n` of four words of its own.
fn in_local(body: &str) -> Vec<(MisuseKind, Option<Used>, u32)> {
    let source = format!(
        ".func (.param .b32 r) sum(.param .align 8 .b8 x[8], .param .b32 n) {{\n\
         .reg .pred %p; .reg .b32 %a, %b, %i, %n, %at; .local .align 8 .b32 own[4];\n\
         ld.param.b32 %a, [x]; ld.param.b32 %n, [n]; mov.u32 %i, 0; mov.u32 %at, own;\n\
         FILL: setp.ge.u32 %p, %i, %n; @%p bra DONE; st.local.b32 [%at], %a; add.u32 %at, %at, 4; add.u32 %i, %i, 1; bra FILL;\n\
         DONE: ld.local.b32 %a, [own]; ld.local.b32 %b, [own + 12]; add.u32 %a, %a, %b; st.param.b32 [r], %a; ret; }}\n\
         .visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p; .reg .b32 %t, %v, %w, %n; .reg .b64 %out, %a; .local .align 8 .b32 l[64];\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 4, %out;\n\
         {body}\n ret; }}"
    );
    let mut out = [0_u64; 16];
    let outcome = Run { source: &source, ..Run::default() }.over(&mut [&mut out]);
    assert_eq!(outcome.fault, None, "{body}");
    let used =
        outcome.misuses.iter().map(|misuse| (misuse.kind, misuse.undefined.map(|(_, used)| used), misuse.thread));
    used.collect()
}

#[test]
fn variable_of_a_thread_that_is_not_set_is_found_where_its_value_is_used() {
    let call = |n: &str| {
        format!(
            "{{ .param .align 8 .b8 x[8]; .param .b32 n; .param .b32 r; st.param.b32 [x], 5; st.param.b32 [n], {n};\n\
             call (r), sum, (x, n); ld.param.b32 %w, [r]; }}\n"
        )
    };
    let store = "st.global.u32 [%out], %w;";
    let counted = |first: &str| {
        format!(
            "{first} ld.local.u32 %v, [l + 8]; add.u32 %v, %v, 1; st.local.u32 [l + 8], %v; ld.local.u32 %w, [l + 8]; {store}"
        )
    };
    assert_eq!(in_local(&counted("")), [(UnwrittenLocal, Some(Used::Store), 0)]);
    assert_eq!(in_local(&counted("st.local.v2.u32 [l + 8], {0, 0};")), []);
    // Only the lanes from 16 on have set it.
    let half = "setp.lt.u32 %p, %t, 16; @!%p st.local.u32 [l + 8], 0;";
    assert_eq!(in_local(&counted(half)), [(UnwrittenLocal, Some(Used::Store), 0)]);
    let other = "setp.lt.u32 %p, %t, 16; @%p st.local.u32 [l + 8], 0;";
    assert_eq!(in_local(&counted(other)), [(UnwrittenLocal, Some(Used::Store), 16)]);
    // Each lane has another address.
    let spread = |first: u32| {
        format!(
            "mov.u32 %n, l; mad.lo.u32 %n, %t, 4, %n; st.local.u32 [%n], %t; ld.local.u32 %w, [%n + {first}]; add.u32 %w, %w, 1; {store}"
        )
    };
    assert_eq!(in_local(&spread(0)), []);
    assert_eq!(in_local(&spread(4)), [(UnwrittenLocal, Some(Used::Store), 0)]);
    // The variables of a function are unset in each call of it. Half of its parameter is not set, and not used.
    assert_eq!(in_local(&format!("{}{store}", call("4"))), []);
    assert_eq!(in_local(&format!("{}{store}", call("3"))), [(UnwrittenLocal, Some(Used::Store), 0)]);
    assert_eq!(in_local(&format!("{}{}{store}", call("4"), call("3"))), [(UnwrittenLocal, Some(Used::Store), 0)]);
    // A generic address.
    let generic = |first: &str| {
        format!(
            "{first} mov.u64 %a, l; cvta.local.u64 %a, %a; ld.u32 %w, [%a + 8]; setp.eq.u32 %p, %w, 3; @%p bra L; L:"
        )
    };
    assert_eq!(in_local(&generic("")), [(UnwrittenLocal, Some(Used::Branch), 0)]);
    assert_eq!(in_local(&generic("st.local.u32 [l + 8], 0;")), []);
}
