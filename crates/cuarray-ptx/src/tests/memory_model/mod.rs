//! The memory model: published shapes of programs, with each scope and fence.

mod mixed_sizes;
mod old_values;
mod reasons;
mod restricted_fences;
mod strict_mode;
mod strong_stores;

use super::*;
use crate::{Race, Scope, Why};

/// The common beginning: `%t` is the thread, `%b` the block, `%out` the buffer, and `%f` the address of a flag 512 bytes behind.
const BEGIN: &str = ".reg .pred %p, %q; .reg .b32 %t, %b, %v, %w; .reg .b64 %out, %f, %a; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;\n\
    mov.u32 %b, %ctaid.x; add.u64 %f, %out, 512;\n";

/// The races of a kernel of `blocks` blocks of `threads` threads.
fn races_of(body: &str, (blocks, threads): (u32, u32), strict: bool) -> Vec<Race> {
    // Each instruction has its own line, so that races of different instructions are different.
    let lines = body.split_inclusive(';').enumerate().map(|(line, text)| format!(".loc 1 {} 0\n{text}\n", line + 1));
    let body: String = lines.collect();
    let source = format!(".file 1 \"k.cu\"\n.visible .entry k(.param .u64 out) {{ {BEGIN} {body}\n DONE: ret; }}");
    let mut memory = vec![0_u64; 1024];
    let run = Run { source: &source, grid: [blocks, 1, 1], threads: [threads, 1, 1], strict, ..Run::default() };
    let outcome = run.over(&mut [&mut memory]);
    assert_eq!(outcome.fault, None, "{body}");
    outcome.races
}

/// The two threads of a program run in two blocks, in two warps of a block, or in one warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Apart {
    Blocks,
    Warps,
    Lanes,
}

/// The races of a program of several threads: each runs one of the `parts`.
fn program(parts: &[&str], apart: Apart, strict: bool) -> Vec<Race> {
    let (who, shape) = match apart {
        Apart::Blocks => ("mov.u32 %v, %b;", (parts.len() as u32, 1)),
        Apart::Warps => (
            "shr.u32 %v, %t, 5; and.b32 %w, %t, 31; setp.ne.u32 %p, %w, 0; @%p bra DONE;",
            (1, 32 * parts.len() as u32),
        ),
        Apart::Lanes => ("mov.u32 %v, %t;", (1, parts.len() as u32)),
    };
    let mut body = who.to_owned();
    for number in 0..parts.len() {
        body += &format!("setp.eq.u32 %p, %v, {number}; @%p bra PART{number};\n");
    }
    for (number, part) in parts.iter().enumerate() {
        body += &format!("PART{number}: {part} bra DONE;\n");
    }
    races_of(&body, shape, strict)
}

/// Message passing: one thread writes data and a flag, the other one waits for the flag and reads the data.
fn passing(release: &str, write: &str, read: &str, acquire: &str, apart: Apart, strict: bool) -> Vec<Race> {
    let writer = format!("st.global.u32 [%out], 1; {release} {write}");
    let reader = format!("WAIT: {read} setp.eq.u32 %p, %w, 0; @%p bra WAIT; {acquire} ld.global.u32 %w, [%out];");
    program(&[&writer, &reader], apart, strict)
}

const STORE: &str = "st.relaxed.gpu.global.u32 [%f], 1;";
const LOAD: &str = "ld.relaxed.gpu.global.u32 %w, [%f];";

/// Asserts the numbers of races by default and in strict mode.
fn assert_differs(body: &str, shape: (u32, u32), expected: [usize; 2]) {
    let found = [false, true].map(|strict| races_of(body, shape, strict).len());
    assert_eq!(found, expected, "{body}");
}

#[test]
fn message_passing_needs_fences_of_sufficient_scope() {
    let scopes = ["cta", "cluster", "gpu", "sys"];
    for apart in [Apart::Blocks, Apart::Warps, Apart::Lanes] {
        for (one, release) in scopes.iter().enumerate() {
            for (other, acquire) in scopes.iter().enumerate() {
                for (kind, names) in
                    [("acq_rel", ["acq_rel", "acq_rel"]), ("sc", ["sc", "sc"]), ("halves", ["release", "acquire"])]
                {
                    let fences = [format!("fence.{}.{release};", names[0]), format!("fence.{}.{acquire};", names[1])];
                    let found = passing(&fences[0], STORE, LOAD, &fences[1], apart, true);
                    let enough = apart != Apart::Blocks || one >= 2 && other >= 2;
                    assert_eq!(found.is_empty(), enough, "{apart:?} {kind} {release} {acquire}: {found:?}");
                    // By default the reader's fence is not asked for.
                    let found = passing(&fences[0], STORE, LOAD, &fences[1], apart, false);
                    assert_eq!(
                        found.is_empty(),
                        apart != Apart::Blocks || one >= 2,
                        "{apart:?} {kind} {release} {acquire}"
                    );
                }
            }
        }
    }
}

#[test]
fn message_passing_by_releasing_and_acquiring_accesses() {
    let scopes = ["cta", "gpu", "sys"];
    for (one, release) in scopes.iter().enumerate() {
        for (other, acquire) in scopes.iter().enumerate() {
            let write = format!("st.release.{release}.global.u32 [%f], 1;");
            let read = format!("ld.acquire.{acquire}.global.u32 %w, [%f];");
            for (apart, enough) in [(Apart::Blocks, one > 0 && other > 0), (Apart::Warps, true)] {
                let found = passing("", &write, &read, "", apart, true);
                assert_eq!(found.is_empty(), enough, "{apart:?} {release} {acquire}: {found:?}");
            }
        }
    }
}

#[test]
fn reported_race_names_what_the_hand_over_lacks() {
    let cases = [
        ("", STORE, "fence.acq_rel.gpu;", Why::NoFence),
        ("fence.acq_rel.cta;", STORE, "fence.acq_rel.gpu;", Why::NarrowFence(Scope::Block)),
        ("membar.cta;", STORE, "membar.gl;", Why::NarrowFence(Scope::Block)),
        ("membar.gl;", STORE, "", Why::NoAcquire(Scope::Device)),
        ("membar.gl;", STORE, "membar.cta;", Why::NoAcquire(Scope::Device)),
    ];
    for (release, write, acquire, why) in cases {
        let found = passing(release, write, LOAD, acquire, Apart::Blocks, true);
        let reasons: Vec<_> = found.iter().map(|race| race.why).collect();
        assert_eq!(reasons, [Some(why)], "{release} {acquire}");
    }
    // A plain store of the flag races with the strong read, and hands over nothing.
    let found = passing("membar.gl;", "st.global.u32 [%f], 1;", LOAD, "membar.gl;", Apart::Blocks, false);
    let mut reasons: Vec<_> = found.iter().map(|race| race.why).collect();
    reasons.sort_by_key(|why| why.is_some_and(|why| why == Why::Plain));
    assert_eq!(reasons, [Some(Why::PlainFlag), Some(Why::Plain)]);
}

#[test]
fn plain_and_strong_accesses_race_unless_ordered() {
    for apart in [Apart::Blocks, Apart::Warps, Apart::Lanes] {
        let strong = [
            "st.volatile.global.u32 [%out], 1;",
            "st.relaxed.gpu.global.u32 [%out], 1;",
            "red.global.add.u32 [%out], 1;",
        ];
        for strong in strong {
            for (plain, races) in [
                ("ld.global.u32 %w, [%out];", 1),
                ("st.global.u32 [%out], 1;", 1),
                ("ld.relaxed.sys.global.u32 %w, [%out];", 0),
                ("ld.global.u32 %w, [%out + 4];", 0),
            ] {
                for parts in [[strong, plain], [plain, strong]] {
                    assert_eq!(program(&parts, apart, false).len(), races, "{apart:?} {parts:?}");
                }
            }
        }
        let reads = ["ld.volatile.global.u32 %w, [%out];", "ld.global.u32 %w, [%out];"];
        assert_eq!(program(&reads, apart, true), []);
    }
}

#[test]
fn operations_of_narrow_scope_race_between_blocks_only() {
    for narrow in ["cta", "cluster"] {
        for other in ["cta", "gpu", "sys"] {
            let parts =
                [format!("red.{narrow}.global.add.u32 [%out], 1;"), format!("red.{other}.global.add.u32 [%out], 1;")];
            let parts = [parts[0].as_str(), parts[1].as_str()];
            let found = program(&parts, Apart::Blocks, false);
            let reasons: Vec<_> = found.iter().map(|race| race.why).collect();
            let least = if narrow == "cta" || other == "cta" { Scope::Block } else { Scope::Cluster };
            assert_eq!(reasons, [Some(Why::NarrowOperation(least))], "{narrow} {other}");
            assert_eq!(program(&parts, Apart::Warps, true), []);
        }
    }
    // The counters of a histogram, one for each block, and one for all.
    let own = "mul.wide.u32 %a, %b, 4; add.u64 %a, %out, %a; red.cta.global.add.u32 [%a], 1;";
    assert_eq!(races_of(own, (4, 64), true), []);
    assert_eq!(races_of("red.cta.global.add.u32 [%out], 1;", (4, 64), false).len(), 1);
}

#[test]
fn access_after_a_release_is_not_ordered_by_it() {
    let writer = "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%f], 1; st.global.u32 [%out], 1;";
    let reader = "L: ld.acquire.gpu.global.u32 %w, [%f]; setp.eq.u32 %p, %w, 0; @%p bra L; ld.global.u32 %w, [%out];";
    let released = "st.release.gpu.global.u32 [%f], 1; st.global.u32 [%out], 1;";
    let exchanged = "atom.acq_rel.gpu.global.exch.b32 %w, [%f], 1; st.global.u32 [%out], 1;";
    for writer in [writer, released, exchanged] {
        let found = program(&[writer, reader], Apart::Blocks, false);
        assert_eq!(found.iter().map(|race| race.why).collect::<Vec<_>>(), [Some(Why::BehindFlag)], "{writer}");
    }
    // The second holder of a lock has written the flag too before it writes the data.
    let holder = "setp.ne.u32 %p, %t, 0; @%p bra DONE; L: atom.acquire.gpu.global.cas.b32 %w, [%f], 0, 1; setp.ne.u32 %p, %w, 0; @%p bra L;\n\
        atom.release.gpu.global.exch.b32 %w, [%f], 0; st.global.u32 [%out], %b;";
    let found = races_of(holder, (2, 32), false);
    assert_eq!(found.iter().map(|race| race.why).collect::<Vec<_>>(), [Some(Why::BehindFlag)]);
}

#[test]
fn release_holds_at_its_address_only() {
    // The second flag is written before the fence.
    let writer = "st.relaxed.gpu.global.u32 [%f + 4], 1; st.global.u32 [%out], 1; fence.sc.gpu; st.relaxed.gpu.global.u32 [%f], 1;";
    for (offset, races) in [(0, 0), (4, 1)] {
        let reader = format!(
            "L: ld.acquire.gpu.global.u32 %w, [%f + {offset}]; setp.eq.u32 %p, %w, 0; @%p bra L; ld.global.u32 %w, [%out];"
        );
        assert_eq!(program(&[writer, &reader], Apart::Blocks, true).len(), races, "flag {offset}");
    }
}

#[test]
fn atomic_operations_continue_a_release_and_stores_end_it() {
    let writer = "st.global.u32 [%out], 1; st.release.gpu.global.u32 [%f], 1;";
    let reader = "L: ld.acquire.gpu.global.u32 %w, [%f]; setp.ne.u32 %p, %w, 2; @%p bra L; ld.global.u32 %w, [%out];";
    for (between, races) in [
        ("atom.relaxed.gpu.global.add.u32 %w, [%f], 1;", 0),
        ("red.relaxed.gpu.global.add.u32 [%f], 1;", 0),
        ("atom.relaxed.gpu.global.cas.b32 %w, [%f], 1, 2;", 0),
        ("st.relaxed.gpu.global.u32 [%f], 2;", 1),
        // The second writer releases only its own accesses, unless it has acquired those of the first one.
        ("st.release.gpu.global.u32 [%f], 2;", 0),
        ("ld.relaxed.gpu.global.u32 %w, [%f]; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%f], 2;", 0),
    ] {
        let middle = format!("L1: ld.relaxed.gpu.global.u32 %w, [%f]; setp.ne.u32 %p, %w, 1; @%p bra L1; {between}");
        let found = program(&[writer, &middle, reader], Apart::Blocks, true);
        let expected = if between.starts_with("st.release") { 1 } else { races };
        assert_eq!(found.len(), expected, "{between}: {found:?}");
    }
}

#[test]
fn failed_compare_and_swap_releases_nothing() {
    let writer = "st.global.u32 [%out], 1; fence.sc.gpu; atom.relaxed.gpu.global.cas.b32 %w, [%f], 7, 8; st.relaxed.gpu.global.u32 [%f + 4], 1;";
    let reader = "L: ld.relaxed.gpu.global.u32 %w, [%f + 4]; setp.eq.u32 %p, %w, 0; @%p bra L; ld.acquire.gpu.global.u32 %w, [%f]; ld.global.u32 %w, [%out];";
    assert_eq!(program(&[writer, reader], Apart::Blocks, true).len(), 1);
    // A failed operation is a read: it does not race with a plain read.
    let parts = ["atom.global.cas.b32 %w, [%f], 7, 8; membar.gl;", "ld.global.u32 %w, [%f];"];
    assert_eq!(program(&parts, Apart::Blocks, true), []);
}

#[test]
fn lock_orders_the_sections_that_it_guards() {
    let lock = |take: &str, acquire: &str, release: &str, free: &str| {
        format!(
            "setp.ne.u32 %p, %t, 0; @%p bra DONE; L: {take} setp.ne.u32 %p, %w, 0; @%p bra L; {acquire}\n\
             ld.global.u32 %w, [%out]; add.u32 %w, %w, 1; st.global.u32 [%out], %w; {release} {free}"
        )
    };
    let (take, free) = ("atom.global.cas.b32 %w, [%f], 0, 1;", "atom.global.exch.b32 %w, [%f], 0;");
    for (acquire, release, default, strict) in [
        ("membar.gl;", "membar.gl;", 0, 0),
        ("", "membar.gl;", 0, 2),
        ("membar.gl;", "", 2, 2),
        ("membar.cta;", "membar.gl;", 0, 2),
        ("membar.gl;", "membar.cta;", 2, 2),
    ] {
        let body = lock(take, acquire, release, free);
        let found = [false, true].map(|strict| races_of(&body, (8, 64), strict).len().min(2));
        assert_eq!(found.map(|found| found > 0), [default > 0, strict > 0], "{acquire} {release}");
    }
    let body = lock(
        "atom.acquire.gpu.global.cas.b32 %w, [%f], 0, 1;",
        "",
        "",
        "atom.release.gpu.global.exch.b32 %w, [%f], 0;",
    );
    assert_eq!(races_of(&body, (8, 64), true), []);
    // A plain store frees the lock: it races with the next thread that takes it.
    let body = lock(take, "membar.gl;", "membar.gl;", "st.global.u32 [%f], 0;");
    assert!(races_of(&body, (8, 64), false).iter().any(|race| race.why == Some(Why::Plain)));
}

#[test]
fn last_block_may_reset_the_counter_that_it_has_read() {
    // As threadFenceReduction of the CUDA samples: the last block sums the parts, and resets the counter by a plain store.
    let reduction = |fence: &str| {
        format!(
            "setp.ne.u32 %p, %t, 0; @%p bra DONE; mul.wide.u32 %a, %b, 4; add.u64 %a, %out, %a; st.global.u32 [%a], %b; {fence}\n\
             atom.global.inc.u32 %w, [%f], 8; setp.ne.u32 %p, %w, 7; @%p bra DONE;\n\
             mov.u32 %v, 0; S: mul.wide.u32 %a, %v, 4; add.u64 %a, %out, %a; ld.global.u32 %w, [%a]; add.u32 %v, %v, 1;\n\
             setp.lt.u32 %p, %v, 8; @%p bra S; st.global.u32 [%f], 0;"
        )
    };
    assert_eq!(races_of(&reduction("membar.gl;"), (8, 32), false), []);
    assert_eq!(races_of(&reduction("membar.gl;"), (8, 32), true).len(), 1, "no fence follows the increment");
    assert_eq!(races_of(&reduction("membar.cta;"), (8, 32), false).len(), 1);
    // Without a fence, nothing but the counter is handed over.
    let unordered = reduction("").replace("st.global.u32 [%f], 0;", "st.global.u32 [%f], 0; membar.gl;");
    let found = races_of(&unordered, (8, 32), false);
    assert_eq!(found.iter().map(|race| race.why).collect::<Vec<_>>(), [Some(Why::NoFence)]);
}

#[test]
fn fence_before_a_barrier_counts_for_the_flag_of_another_thread_by_default() {
    let body = "mul.wide.u32 %a, %t, 4; add.u64 %a, %out, %a; setp.ne.u32 %p, %b, 0; @%p bra READ; st.global.u32 [%a], %t; membar.gl; bar.sync 0;\n\
        setp.ne.u32 %p, %t, 5; @!%p st.volatile.global.u32 [%f], 1; bra DONE;\n\
        READ: ld.volatile.global.u32 %w, [%f]; setp.eq.u32 %p, %w, 0; @%p bra READ; membar.gl; ld.global.u32 %w, [%a];";
    assert_eq!(races_of(body, (2, 64), false), []);
    assert_eq!(races_of(body, (2, 64), true).len(), 1);
    let after = body.replace("membar.gl; bar.sync 0;", "bar.sync 0; membar.gl;");
    assert_eq!(races_of(&after, (2, 64), true), []);
}

#[test]
fn order_of_sequentially_consistent_fences_counts_where_accesses_determine_it() {
    // Store buffering: the second thread reads what the first one has written, or overwrites what it has read.
    let guarded = |fence: &str| {
        [
            format!("st.global.u32 [%out], 1; {fence} ld.relaxed.gpu.global.u32 %w, [%f];"),
            format!("L: st.relaxed.gpu.global.u32 [%f], 1; {fence} nanosleep.u32 10; ld.global.u32 %w, [%out];"),
        ]
    };
    let run = |fence: &str| {
        let parts = guarded(fence);
        program(&[&parts[0], &parts[1]], Apart::Blocks, true).len()
    };
    // The write of the flag follows its read by the other thread, so the fences have this order.
    assert_eq!(run("fence.sc.gpu;"), 0);
    assert_eq!(run("fence.acq_rel.gpu;"), 1);
    assert_eq!(run("fence.sc.cta;"), 1);
    // Without accesses between them, the fences can have either order.
    let parts = [
        "st.global.u32 [%out], 1; fence.sc.gpu;",
        "fence.sc.gpu; ld.global.u32 %w, [%out];",
        "atom.global.add.u32 %w, [%f], 1;",
    ];
    assert_eq!(program(&parts, Apart::Blocks, false).len(), 1);
}

#[test]
fn independent_reads_order_nothing_without_fences() {
    // Two writers, and two readers that read both flags and then the data of the first writer.
    let writer = "st.global.u32 [%out], 1; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%f], 1;";
    let other = "st.relaxed.gpu.global.u32 [%f + 4], 1;";
    for (first, races) in [(0, 0), (4, 1)] {
        let reader = format!(
            "L: ld.relaxed.gpu.global.u32 %w, [%f + {first}]; setp.eq.u32 %p, %w, 0; @%p bra L; fence.acq_rel.gpu; ld.global.u32 %w, [%out];"
        );
        assert_eq!(program(&[writer, other, &reader], Apart::Blocks, true).len(), races);
    }
}

#[test]
fn hand_over_is_transitive() {
    let parts = [
        "st.global.u32 [%out], 1; st.release.gpu.global.u32 [%f], 1;",
        "L1: ld.acquire.gpu.global.u32 %w, [%f]; setp.eq.u32 %p, %w, 0; @%p bra L1; st.release.gpu.global.u32 [%f + 4], 1;",
        "L2: ld.acquire.gpu.global.u32 %w, [%f + 4]; setp.eq.u32 %p, %w, 0; @%p bra L2; ld.global.u32 %w, [%out];",
    ];
    for apart in [Apart::Blocks, Apart::Warps, Apart::Lanes] {
        assert_eq!(program(&parts, apart, true), [], "{apart:?}");
    }
    // A barrier passes on what a thread has acquired.
    let body = "setp.ne.u32 %p, %b, 0; @%p bra READ; setp.ne.u32 %p, %t, 0; @%p bra DONE; st.global.u32 [%out], 1; st.release.gpu.global.u32 [%f], 1; bra DONE;\n\
        READ: setp.ne.u32 %p, %t, 3; @%p bra ALL; L: ld.acquire.gpu.global.u32 %w, [%f]; setp.eq.u32 %q, %w, 0; @%q bra L;\n\
        ALL: BARRIER ld.global.u32 %w, [%out];";
    assert_eq!(races_of(&body.replace("BARRIER", "bar.sync 0;"), (2, 96), true), []);
    assert_eq!(races_of(&body.replace("BARRIER", ""), (2, 96), true).len(), 1);
}

#[test]
fn reduction_orders_only_the_writes_that_it_has_seen() {
    let found = |operation: &str| {
        let second = format!("st.relaxed.gpu.global.u32 [%out], 2; {operation} ld.global.u32 %w, [%out];");
        let parts = ["st.relaxed.gpu.global.u32 [%out], 1;", &second];
        [false, true].map(|strict| program(&parts, Apart::Blocks, strict).len())
    };
    // By default, a thread that obtains the value is ordered after the overwritten store too.
    assert_eq!(found("atom.relaxed.gpu.global.add.u32 %w, [%out], 1; add.u32 %v, %w, 1;"), [0, 1]);
    assert_eq!(found("red.relaxed.gpu.global.add.u32 [%out], 1;"), [1, 1]);
    // A value that nothing reads orders no thread.
    assert_eq!(found("{ .reg .b32 %u; atom.relaxed.gpu.global.add.u32 %u, [%out], 1; }"), [1, 1]);
}
