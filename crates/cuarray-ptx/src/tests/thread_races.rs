//! Races between threads: on any number of cores, in any order of blocks, and in a launch that fails.

use super::*;
use crate::Race;

/// Runs a kernel on 4096 words, and returns its races and its outcome. `workers` is the number of host threads.
fn races(body: &str, grid: u32, threads: u32, workers: usize) -> (Vec<Race>, Outcome) {
    races_with(&[], body, grid, threads, workers)
}

/// Like [`races`], with further parameters `p0`, `p1` and so on, of 64 bits each.
fn races_with(more: &[u64], body: &str, grid: u32, threads: u32, workers: usize) -> (Vec<Race>, Outcome) {
    let further: String = (0..more.len()).map(|index| format!(", .param .u64 p{index}")).collect();
    let source = format!(
        ".global .align 4 .u32 word; .visible .entry k(.param .u64 out{further}) {{ .reg .pred %p; .reg .b32 %t, %b, %g, %v; .reg .b64 %out, %a;\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %v, %ntid.x; mad.lo.u32 %g, %b, %v, %t;\n\
         {body}\n ret; }}"
    );
    let mut memory = vec![0_u64; 4096];
    let (grid, threads) = ([grid, 1, 1], [threads, 1, 1]);
    let run = Run { source: &source, grid, threads, workers, more: more.to_vec(), ..Run::default() };
    let mut outcome = run.over(&mut [&mut memory]);
    (std::mem::take(&mut outcome.races), outcome)
}

#[test]
fn races_do_not_depend_on_the_number_of_cores() {
    // With `overlap`, neighbouring blocks write overlapping bytes. With `alone`, two threads of one block write the same word.
    let overlap = "mul.wide.u32 %a, %g, 8; add.u64 %a, %out, %a; mul.lo.u32 %v, %b, 8; cvt.u64.u32 %out, %v; sub.u64 %a, %a, %out; st.global.u64 [%a], %out;";
    let alone = "shr.u32 %v, %g, 1; mul.wide.u32 %a, %v, 8; add.u64 %a, %out, %a; st.global.u32 [%a], %g;";
    for (body, different) in [(overlap, true), (alone, false)] {
        let (one, _) = races(body, 64, 64, 1);
        assert_eq!(one.len(), 1, "{body}");
        assert_eq!(one[0].accesses[0].block != one[0].accesses[1].block, different);
        for workers in [2, 3, 5] {
            assert_eq!(races(body, 64, 64, workers).0, one, "{workers} cores");
        }
    }
}

#[test]
fn a_failed_launch_reports_races_up_to_the_failure() {
    let body =
        "ld.global.u32 %v, [%out]; add.u32 %v, %v, %g; st.global.u32 [%out], %v; setp.eq.u32 %p, %b, 9; @%p trap;";
    for workers in [1, 4] {
        let (races, outcome) = races(body, 32, 64, workers);
        assert_eq!(outcome.fault.map(|fault| fault.block), Some([9, 0, 0]));
        assert_eq!(races.iter().map(|race| race.accesses[1].block).collect::<Vec<_>>(), [0]);
    }
}

#[test]
fn a_byte_access_races_with_the_word() {
    for (body, count) in [
        // Each thread writes its own byte; in the second case it also reads the next thread's byte.
        ("cvt.u64.u32 %a, %g; add.u64 %a, %out, %a; st.global.u8 [%a], %t;", 0),
        ("cvt.u64.u32 %a, %g; add.u64 %a, %out, %a; st.global.u8 [%a], %t; ld.global.u8 %v, [%a + 1];", 1),
        // Four threads write the first byte of a word. Reading the whole word races; reading its second byte does not.
        (
            "and.b32 %v, %t, 60; cvt.u64.u32 %a, %v; add.u64 %a, %out, %a; st.global.u8 [%a], %v; ld.global.u32 %v, [%a];",
            1,
        ),
        (
            "and.b32 %v, %t, 60; cvt.u64.u32 %a, %v; add.u64 %a, %out, %a; st.global.u8 [%a], %v; ld.global.u8 %v, [%a + 1];",
            0,
        ),
    ] {
        assert_eq!(races(body, 1, 64, 1).0.len(), count, "{body}");
    }
}

#[test]
fn a_race_between_blocks_has_the_size_of_the_accesses() {
    // The first instruction splits the page into bytes.
    let body = "st.global.u8 [%out + 512], 1; cvt.u64.u32 %a, %b; st.global.u64 [%out], %a;";
    let found = races(body, 4, 1, 1).0;
    assert_eq!(found.iter().map(|race| race.size).collect::<Vec<_>>(), [8]);
}

#[test]
fn a_writer_races_with_any_of_many_readers() {
    // The first `readers` lanes of each warp read a word, and one thread writes it. It races with every reader other than itself.
    for threads in [32, 96] {
        for (readers, writer) in [(1, 0), (1, 1), (2, 0), (2, 1), (3, 2), (32, 0), (32, 1), (32, 31), (32, 40)] {
            let body = format!(
                "and.b32 %v, %t, 31; setp.lt.u32 %p, %v, {readers}; mov.u64 %a, s; ld.shared.u32 %v, [%a + 4]; @%p ld.shared.u32 %v, [%a];\n\
                 setp.eq.u32 %p, %t, {writer}; @%p st.shared.u32 [%a], %t;"
            );
            let races = races(&format!(".shared .align 4 .u32 s[2]; {body}"), 1, threads, 1).0;
            let others = writer < threads && (threads > 32 || readers > 1 || writer >= readers);
            assert_eq!(
                races.len(),
                usize::from(others),
                "{threads} threads, {readers} readers, thread {writer} writes"
            );
        }
    }
}

#[test]
fn an_atomic_does_not_hide_an_earlier_plain_access_of_its_thread() {
    // Thread 0 accesses a word plainly, and then all threads add to it.
    for plain in ["@%p st.shared.u32 [%a], 0;", "@%p ld.shared.u32 %v, [%a];"] {
        for (barrier, count) in [("", 1), ("bar.sync 0;", 0)] {
            for threads in [32, 64] {
                let body = format!(
                    ".shared .align 4 .u32 s[2]; mov.u64 %a, s; setp.eq.u32 %p, %t, 0; {plain} @%p red.shared.add.u32 [%a], 1;\n\
                     {barrier} @!%p red.shared.add.u32 [%a], 1;"
                );
                assert_eq!(races(&body, 1, threads, 1).0.len(), count, "{body}");
            }
        }
    }
}

#[test]
fn locks_and_queues_have_no_races() {
    // The first thread of each block takes a lock, changes a word, and releases the lock.
    let lock = "setp.ne.u32 %p, %t, 0; @%p bra END; L: atom.global.cas.b32 %v, [%out], 0, 1; setp.ne.u32 %p, %v, 0; @%p bra L;\n\
        ld.global.u32 %v, [%out + 64]; add.u32 %v, %v, 1; st.global.u32 [%out + 64], %v; membar.gl; atom.global.exch.b32 %v, [%out], 0; END:";
    assert_eq!(races(lock, 8, 64, 2).0, []);
    // Each thread takes a slot and writes there.
    let queue =
        "atom.global.add.u32 %v, [%out], 1; mul.wide.u32 %a, %v, 4; add.u64 %a, %out, %a; st.global.u32 [%a + 64], %g;";
    assert_eq!(races(queue, 8, 64, 2).0, []);
}

#[test]
fn blocks_that_write_equal_values_do_not_race() {
    let body = "and.b32 %v, %g, 31; mul.wide.u32 %a, %v, 1024; add.u64 %a, %out, %a; st.global.u32 [%a], %v; st.global.u32 [%a], %v;";
    assert_eq!(races(body, 16, 64, 2).0, []);
    assert_eq!(races(&format!("{body} st.global.u32 [%a], %g;"), 16, 64, 2).0.len(), 1);
    // Warps of a block write equal values, and blocks write different ones: only the race between blocks is reported.
    for value in ["cvt.u64.u32 %a, %b;", "add.u32 %v, %b, 1023; cvt.u64.u32 %a, %v; shl.b64 %a, %a, 52;"] {
        for workers in [1, 4] {
            let (races, _) = races(&format!("{value} st.global.u64 [%out], %a;"), 500, 64, workers);
            let blocks: Vec<_> = races.iter().map(|race| race.accesses.map(|access| access.block)).collect();
            assert_eq!(blocks, [[0, 1]]);
        }
    }
}

/// Loads a word in all threads, adds 1, and stores it under the guard `%p`, which the caller sets to `condition`.
fn update(condition: &str, after: &str) -> String {
    format!("{condition} ld.global.u32 %v, [%out]; add.u32 %v, %v, 1; @%p st.global.u32 [%out], %v; {after}")
}

#[test]
fn thread_that_does_not_store_may_load_the_old_or_new_value() {
    for threads in [32, 256] {
        let alone = update("setp.eq.u32 %p, %t, 0;", "");
        assert_eq!(races(&alone, 1, threads, 1).0, [], "{threads} threads");
        // A vector, and a value that passes through other instructions.
        let vector = ".reg .b32 %w; setp.eq.u32 %p, %t, 0; ld.global.v2.u32 {%v, %w}, [%out]; max.u32 %w, %v, %w; \
                      @%p st.global.v2.u32 [%out], {%w, %v};";
        assert_eq!(races(vector, 1, threads, 1).0, [], "{threads} threads");
    }
}

#[test]
fn loaded_value_with_another_use_races_with_the_store() {
    let own = "mul.wide.u32 %a, %t, 4; add.u64 %a, %out, %a;";
    for threads in [32, 256] {
        for body in [
            // All threads store.
            update("setp.ne.u32 %p, %b, 9;", ""),
            // Two warps, or two lanes, store.
            update("and.b32 %g, %t, 31; setp.eq.u32 %p, %g, 5; @!%p setp.eq.u32 %p, %t, 7;", ""),
            // All threads store the value elsewhere, with or without a guard.
            update("setp.eq.u32 %p, %t, 0;", &format!("{own} st.global.u32 [%a + 1024], %v;")),
            update(
                "setp.eq.u32 %p, %t, 0;",
                &format!("{own} setp.ne.u32 %q, %t, 3; @%q st.global.u32 [%a + 1024], %v;"),
            ),
            // The value decides about the store, or about a branch.
            "ld.global.u32 %v, [%out]; setp.eq.u32 %p, %v, 0; @%p st.global.u32 [%out], 1;".to_owned(),
            update("setp.eq.u32 %p, %t, 0;", "setp.eq.u32 %q, %v, 1; @%q bra END; st.global.u32 [%out + 64], 1; END:"),
            // Other threads get the value, or add it to another word.
            update(
                "setp.eq.u32 %p, %t, 0;",
                &format!("shfl.sync.bfly.b32 %g, %v, 1, 31, -1; {own} st.global.u32 [%a + 1024], %g;"),
            ),
            update("setp.eq.u32 %p, %t, 0;", "red.global.add.u32 [%out + 64], %v;"),
        ] {
            let body = format!(".reg .pred %q; {body}");
            assert_ne!(races(&body, 1, threads, 1).0, [], "{threads} threads, {body}");
        }
    }
}

#[test]
fn updates_in_place_by_several_blocks_race() {
    let body = update("setp.eq.u32 %p, %t, 0;", "");
    assert_eq!(races(&body, 4, 64, 2).0.len(), 1);
}

#[test]
fn guarded_store_to_another_element_races_with_the_load() {
    // Thread 0 stores the element that thread 1 loads and uses.
    let body = "mul.wide.u32 %a, %t, 4; add.u64 %a, %out, %a; setp.lt.u32 %p, %t, 40; \
                ld.global.u32 %v, [%a + 4]; add.u32 %v, %v, 1; @%p st.global.u32 [%a], %v;";
    assert_eq!(races(body, 1, 64, 1).0.len(), 1);
}

/// Loads elements 0 to 4 of the array `p0` in each group of 8 threads, adds 1, and stores them into `p1` in the first `storing`
/// threads, as inductor's kernels do. `%x` is the offset of the element, and `stored` computes the address `%s` of the store.
fn update_by_two_pointers(storing: u32, stored: &str, after: &str) -> String {
    format!(
        ".reg .pred %q, %r, %u; .reg .b32 %w; .reg .b64 %in, %to, %x, %y, %s;\n\
         ld.param.b64 %in, [p0]; ld.param.b64 %to, [p1]; and.b32 %g, %t, 7; setp.lt.s32 %p, %g, 5;\n\
         mul.wide.s32 %x, %g, 4; add.s64 %a, %in, %x; mov.u32 %w, 0; @%p ld.global.b32 {{%w}}, [%a + 0]; add.u32 %w, %w, 1;\n\
         {stored} setp.lt.u32 %r, %t, {storing}; and.pred %q, %r, %p; @%q st.global.b32 [%s + 0], {{%w}}; {after}"
    )
}

const IN_PLACE: &str = "add.s64 %s, %to, %x;";

#[test]
fn update_in_place_by_two_equal_pointers_does_not_race() {
    // All threads load one element, and the addresses are parameters.
    let one = ".reg .b32 %w; .reg .b64 %in, %to; ld.param.b64 %in, [p0]; ld.global.b32 %w, [%in]; add.u32 %w, %w, 1; \
               ld.param.b64 %to, [p1]; and.b32 %g, %t, 127; setp.eq.b32 %p, %g, 0; @%p st.global.b32 [%to], %w;";
    let swapped = update_by_two_pointers(8, "add.s64 %s, %x, %to;", "");
    // The storing thread stores the value elsewhere too, in a branch.
    let in_branch = "@!%q bra END; st.global.b32 [%out + 1024], %w; END:";
    for body in
        [one, &update_by_two_pointers(8, IN_PLACE, ""), &swapped, &update_by_two_pointers(1, IN_PLACE, in_branch)]
    {
        for threads in [32, 64, 128] {
            assert_eq!(races_with(&[BASE, BASE], body, 1, threads, 1).0, [], "{threads} threads, {body}");
        }
    }
}

#[test]
fn update_by_two_pointers_races_if_not_in_place() {
    let elsewhere = "st.global.b32 [%out + 1024], %w;";
    let other_guard = format!("setp.eq.u32 %u, %t, 8; @%u {elsewhere}");
    let other_block = format!("setp.ne.u32 %u, %t, 8; @%u bra END; {elsewhere} END:");
    // Thread 0 stores element 1, which thread 1 loads, or another thread uses element 0.
    for (name, to, stored, after) in [
        ("other offset", BASE, "add.s64 %y, %x, 4; add.s64 %s, %to, %y;", ""),
        ("rewritten offset", BASE, "add.s64 %x, %x, 4; add.s64 %s, %to, %x;", ""),
        ("constant offset", BASE, "add.s64 %s, %to, 4;", ""),
        ("no offset", BASE + 4, "mov.b64 %s, %to;", ""),
        ("rewritten pointer", BASE, "or.b64 %to, %to, 4; add.s64 %s, %to, %x;", ""),
        ("difference", BASE + 4, "sub.s64 %s, %to, %x;", ""),
        ("other parameter values", BASE + 4, IN_PLACE, ""),
        ("other guard", BASE, IN_PLACE, &other_guard),
        ("other block", BASE, IN_PLACE, &other_block),
    ] {
        let body = update_by_two_pointers(1, stored, after);
        for threads in [32, 64] {
            assert_ne!(races_with(&[BASE, to], &body, 1, threads, 1).0, [], "{name}, {threads} threads");
        }
    }
    // The first thread of each warp stores.
    let one = ".reg .b32 %w; .reg .b64 %in, %to; ld.param.b64 %in, [p0]; ld.global.b32 %w, [%in]; add.u32 %w, %w, 1; \
               ld.param.b64 %to, [p1]; and.b32 %g, %t, 31; setp.eq.b32 %p, %g, 0; @%p st.global.b32 [%to], %w;";
    assert_ne!(races_with(&[BASE, BASE], one, 1, 64, 1).0, []);
    // The first thread of each of several blocks stores.
    let body = update_by_two_pointers(1, IN_PLACE, "");
    assert_eq!(races_with(&[BASE, BASE], &body, 4, 32, 2).0.len(), 1);
}

/// Loads element `%t & 7` of an array, computes `%w` from it by `combine`, stores the incremented element in the first 8
/// threads, and then executes `after`. The inductor kernels of small reductions that update their argument have this form.
fn reduce_in_place(combine: &str, after: &str) -> String {
    format!(
        ".reg .pred %q, %r; .reg .b32 %e, %n, %w, %x; .reg .b64 %o, %to; .shared .align 4 .u32 s[64]; .local .align 4 .u32 l;\n\
         and.b32 %g, %t, 7; mul.wide.u32 %o, %g, 4; add.u64 %a, %out, %o; mul.wide.u32 %to, %t, 4; add.u64 %to, %out, %to;\n\
         setp.lt.u32 %p, %t, 8; setp.eq.u32 %q, %t, 0;\n\
         ld.global.u32 %e, [%a]; add.u32 %w, %e, 1; {combine} add.u32 %n, %e, 1; @%p st.global.u32 [%a], %n; {after}"
    )
}

/// Adds the elements of 8 lanes.
const BUTTERFLY: &str = "shfl.sync.bfly.b32 %x, %w, 4, 31, -1; add.u32 %w, %w, %x; shfl.sync.bfly.b32 %x, %w, 2, 31, -1; \
                         add.u32 %w, %w, %x; shfl.sync.bfly.b32 %x, %w, 1, 31, -1; add.u32 %w, %w, %x;";
/// Stores the result in the first thread.
const STORE: &str = "@%q st.global.u32 [%out + 1024], %w;";

#[test]
fn reduction_that_updates_its_argument_does_not_race() {
    for combine in [
        BUTTERFLY,
        "redux.sync.add.s32 %w, %w, -1;",
        "setp.gt.u32 %r, %w, 2; vote.sync.any.pred %r, %r, -1; selp.b32 %w, 1, 2, %r;",
        "match.any.sync.b32 %w, %w, -1;",
    ] {
        for threads in [32, 64, 256] {
            for workers in [1, 2] {
                let found = races(&reduce_in_place(combine, STORE), 1, threads, workers).0;
                assert_eq!(found, [], "{threads} threads, {combine}");
            }
        }
    }
    // The storing warp passes the value on in shared and in local memory.
    let shared = format!("@%q st.shared.u32 [s], %w; @%q st.local.u32 [l], %w; {STORE}");
    assert_eq!(races(&reduce_in_place(BUTTERFLY, &shared), 1, 64, 1).0, []);
}

#[test]
fn reduction_in_other_warps_races_with_the_update_if_its_value_is_used() {
    let last = "setp.eq.u32 %q, %t, 63;";
    for (name, combine, after) in [
        (
            "stored",
            BUTTERFLY,
            "and.b32 %x, %t, 31; setp.eq.u32 %q, %x, 0; @%q st.global.u32 [%to + 1024], %w;".to_owned(),
        ),
        ("stored by all lanes", BUTTERFLY, "st.global.u32 [%to + 1024], %w;".to_owned()),
        ("stored by the last lane", "redux.sync.add.s32 %w, %w, -1;", format!("{last} {STORE}")),
        ("stored without an exchange", "", format!("setp.eq.u32 %q, %t, 40; {STORE}")),
        ("stored by a later lane", "", format!("setp.eq.u32 %q, %t, 48; {STORE}")),
        ("in shared memory", BUTTERFLY, format!("{last} @%q st.shared.u32 [s + 4], %w; {STORE}")),
        ("in local memory", BUTTERFLY, format!("{last} @%q st.local.u32 [l], %w;")),
        (
            "address of a store",
            BUTTERFLY,
            "mul.wide.u32 %to, %w, 4; add.u64 %to, %out, %to; @%q st.global.u32 [%to], 1;".to_owned(),
        ),
        (
            "address of a load",
            BUTTERFLY,
            "cvt.u64.u32 %to, %w; add.u64 %to, %out, %to; @%q ld.global.u8 %w, [%to]; ".to_owned() + STORE,
        ),
        ("guard", BUTTERFLY, "setp.eq.u32 %r, %w, 77; @%r st.global.u32 [%out + 1024], 1;".to_owned()),
        ("branch", BUTTERFLY, "setp.eq.u32 %r, %w, 77; @%r bra END; st.shared.u32 [s], 1; END:".to_owned()),
        ("lane of a shuffle", BUTTERFLY, format!("shfl.sync.idx.b32 %w, %t, %w, 31, -1; {STORE}")),
        ("members of a shuffle", BUTTERFLY, format!("or.b32 %w, %w, -1; shfl.sync.idx.b32 %w, %t, 0, 31, %w; {STORE}")),
        ("atomic addition", BUTTERFLY, "red.global.add.u32 [%out + 1024], %w;".to_owned()),
        ("barrier", BUTTERFLY, "setp.eq.u32 %r, %w, 77; bar.red.popc.u32 %x, 0, %r;".to_owned()),
        // The first warp stores the element before the reduction, whose result it uses.
        ("store before the reduction", "", format!("mov.u32 %w, %e; {BUTTERFLY} {STORE}")),
    ] {
        let body = reduce_in_place(combine, &after);
        for workers in [1, 2] {
            assert_ne!(races(&body, 1, 64, workers).0, [], "{name}");
        }
    }
    // Another block.
    assert_ne!(races(&reduce_in_place(BUTTERFLY, STORE), 2, 64, 1).0, []);
}

#[test]
fn other_race_at_a_store_that_updates_in_place_is_reported() {
    // The third warp loads element 5 and stores its value; the second warp loads all elements without a use.
    let other = "setp.eq.u32 %r, %t, 66; @%r ld.global.u32 %x, [%out + 20]; @%r st.global.u32 [%out + 2048], %x;";
    let found = races(&reduce_in_place(BUTTERFLY, &format!("{STORE} {other}")), 1, 96, 1).0;
    assert_eq!(found.iter().map(|race| race.accesses.map(|access| access.thread)).collect::<Vec<_>>(), [[5, 66]]);
    // The third warp stores without a load, after both others have loaded.
    let last = |after: &str| {
        let body = reduce_in_place(BUTTERFLY, after)
            .replace("setp.lt.u32 %p, %t, 8;", "sub.u32 %b, %t, 64; setp.lt.u32 %p, %b, 8;");
        let body =
            body.replace("setp.eq.u32 %q, %t, 0;", "setp.eq.u32 %q, %t, 64; setp.lt.u32 %l, %t, 64; mov.u32 %e, 0;");
        races(&format!(".reg .pred %l; {}", body.replace("ld.global.u32 %e", "@%l ld.global.u32 %e")), 1, 96, 1).0
    };
    assert_eq!(last(STORE), []);
    for warp in [0, 1] {
        let used = format!("setp.eq.u32 %r, %t, {}; @%r st.global.u32 [%out + 2048], %e;", warp * 32 + 2);
        let found = last(&format!("{STORE} {used}"));
        assert_eq!(
            found.iter().map(|race| race.accesses.map(|access| access.thread / 32)).collect::<Vec<_>>(),
            [[warp, 2]]
        );
    }
}

#[test]
fn failed_launch_reports_races_of_updates_whose_value_was_used() {
    let body = reduce_in_place(BUTTERFLY, "st.global.u32 [%to + 1024], %w; setp.eq.u32 %p, %t, 63; @%p trap;");
    for (unused, count) in [(body.as_str(), 1), (&body.replace("st.global.u32 [%to", "@%q st.global.u32 [%to"), 0)] {
        for workers in [1, 2] {
            let (races, outcome) = races(unused, 1, 64, workers);
            assert!(outcome.fault.is_some());
            assert_eq!(races.len(), count);
        }
    }
    // Blocks that run in order, because of an atomic operation with a result.
    let ordered = format!("{body} atom.global.add.u32 %w, [%out + 4096], 1;");
    assert_eq!(races(&ordered, 1, 64, 1).0.len(), 1);
}

/// A kernel whose parameters `out` and `in`, the third and the fourth one, are in `%out` and `%in`. Thread `%t` has the offset `%o`.
fn two_pointers(body: &str) -> String {
    format!(
        ".global .align 4 .u32 words[64]; .visible .entry k(.param .u64 one, .param .u64 two, .param .u64 out, .param .u64 in) {{\n\
         .reg .pred %p; .reg .b32 %t, %v; .reg .b64 %out, %in, %a, %o;\n\
         ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;\n\
         {body}\n ret; }}"
    )
}

#[test]
fn sources_of_store_addresses() {
    const OUT: u64 = 1 << 2;
    const IN: u64 = 1 << 3;
    for (body, words) in [
        ("add.u64 %a, %out, %o; ld.global.u32 %v, [%in]; st.global.u32 [%a + 8], %v;", Some(OUT)),
        ("add.u64 %a, %in, %o; ld.global.u32 %v, [%in]; st.u32 [%a], %v;", Some(IN)),
        // Without a store to global memory.
        ("ld.global.u32 %v, [%in];", Some(0)),
        (".shared .u32 s; ld.global.u32 %v, [%in]; st.shared.u32 [s], %v;", Some(0)),
        // A predicate from memory selects one of two pointers.
        (
            "ld.global.u32 %v, [%in]; setp.eq.u32 %p, %v, 0; selp.b64 %a, %out, %in, %p; st.global.u32 [%a], %v;",
            Some(OUT | IN),
        ),
        // A loop moves the pointer, and takes the other one later.
        ("mov.u64 %a, %out; again: st.global.u32 [%a], %t; mov.u64 %a, %in; @%p bra again;", Some(OUT | IN)),
        ("mov.u64 %a, words; add.u64 %a, %a, %o; st.global.u32 [%a], %t;", Some(0)),
        // An address or an offset from memory.
        ("ld.global.u64 %a, [%in]; st.global.u32 [%a], %t;", None),
        ("ld.global.u32 %v, [%in]; cvt.u64.u32 %a, %v; add.u64 %a, %out, %a; st.global.u32 [%a], %t;", None),
        ("mov.b64 %a, in; ld.param.u64 %a, [%a]; st.global.u32 [%a], %t;", None),
        ("shfl.sync.idx.b32 %v, %t, 0, 31, -1; cvt.u64.u32 %a, %v; st.global.u32 [%a], %t;", None),
        // Atomic operations on single words.
        ("red.global.add.u32 [%out], %t;", Some(OUT)),
        ("atom.cas.b32 %v, [%in], %t, %t; st.global.u32 [%out], %v;", Some(OUT | IN)),
        ("atom.global.exch.b64 %a, [%in], %o; red.global.add.u32 [%a], 1;", None),
        // Other writes.
        ("red.global.add.v2.f32 [%out], {0f00000000, 0f00000000};", None),
        ("st.volatile.global.u32 [%out], %t;", None),
        ("st.global.u32 [words], %t;", None),
        ("st.global.u32 [1099511627776], %t;", None),
    ] {
        let program = load(&two_pointers(body)).unwrap_or_else(|error| panic!("{body}: {error}"));
        let all = program.functions[0].stored.as_ref().map(|sets| sets.iter().fold(0, |all, words| all | words));
        assert_eq!(all, words, "{body}");
    }
}

#[test]
fn reads_race_with_stores_through_another_pointer() {
    let swapped = "xor.b32 %v, %t, 33; mul.wide.u32 %a, %v, 4; add.u64 %a, %in, %a; ld.global.u32 %v, [%a]; \
                   add.u64 %a, %out, %o; st.global.u32 [%a], %t;";
    // Equal values, so that the writes do not race with each other.
    let at = |offset: i32| format!("ld.global.u32 %v, [%in]; st.global.u32 [%out + {offset}], 7;");
    let end = BASE + 4096 * 8;
    for (body, out, input, count) in [
        (swapped, BASE, BASE, 1),
        (swapped, BASE, BASE + APART, 0),
        (&at(0), BASE, BASE, 1),
        // The pointer of the stores is at the end of the memory, and before it.
        (&at(-4), end, end - 4, 1),
        (&at(64), BASE - 64, BASE, 1),
        (&at(64), BASE + APART - 64, BASE + APART, 1),
        ("ld.global.u32 %v, [words]; mov.u64 %a, words; st.global.u32 [%a], 7;", BASE, BASE, 1),
    ] {
        for workers in [1, 3] {
            let (mut one, mut other) = (vec![0_u64; 4096], vec![0_u64; 4096]);
            let source = two_pointers(body);
            let run = Run { source: &source, threads: [64, 1, 1], workers, more: vec![out, input], ..Run::default() };
            let outcome = run.over(&mut [&mut one, &mut other]);
            assert_eq!((outcome.fault, outcome.races.len()), (None, count), "{body}");
        }
    }
}
