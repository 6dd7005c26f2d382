//! Barrier objects (`mbarrier`) in the search for races: initialization, phases, and the copies that they track.

use super::*;
use crate::{Race, Why};

/// The races of a kernel with blocks of 64 threads in one cluster. `%t` is the thread, and `%p` holds in thread 0. `%s` and `%o` are the
/// offsets of the word of the thread and of that of thread `t ^ 33` in `tile`. `%far` is the object `full` of the other block.
fn races_of(body: &str, blocks: u32, strict: bool) -> Vec<Race> {
    let lines = body.split_inclusive(';').enumerate().map(|(line, text)| format!(".loc 1 {} 0\n{text}\n", line + 1));
    let body: String = lines.collect();
    let source = format!(
        ".file 1 \"k.cu\"\n.visible .entry k(.param .u64 in) {{ .reg .pred %p, %q, %half; .reg .b32 %t, %s, %o, %v, %w, %i, %far;\n\
         .reg .b64 %in, %state; .shared .align 16 .b8 tile[512]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;\n\
         ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; mov.u32 %s, tile; mov.u32 %o, %s; mad.lo.u32 %s, %t, 4, %s;\n\
         xor.b32 %v, %t, 33; mad.lo.u32 %o, %v, 4, %o; setp.eq.u32 %p, %t, 0; setp.lt.u32 %half, %t, 32;\n\
         mov.u32 %i, %cluster_ctarank; xor.b32 %i, %i, 1; mov.u32 %far, full; mapa.shared::cluster.u32 %far, %far, %i;\n\
         {body}\n ret; }}"
    );
    let mut memory = vec![0_u64; 512];
    let (grid, threads) = ([blocks, 1, 1], [64, 1, 1]);
    let cluster = (blocks > 1).then_some([blocks, 1, 1]);
    let run = Run { source: &source, grid, threads, cluster, strict, budget: 1 << 17, ..Run::default() };
    let outcome = run.over(&mut [&mut memory]);
    // A thread may wait forever at an object that is misused.
    let fault = outcome.fault.map(|fault| fault.kind);
    let misused = body.contains("inval") || !outcome.races.is_empty();
    assert!(fault.is_none() || fault == Some(FaultKind::Deadlock) && misused, "{body}: {fault:?}");
    outcome.races
}

/// Checks that a kernel races, or does not, in both modes.
fn check(body: &str, races: bool) {
    for strict in [false, true] {
        let found = races_of(body, 1, strict);
        assert_eq!(!found.is_empty(), races, "strict {strict}: {body}: {found:?}");
    }
}

const INIT: &str = "@%p mbarrier.init.shared.b64 [full], 64; @%p mbarrier.init.shared.b64 [empty], 64;";
const SYNC: &str = "bar.sync 0;";

/// Arrives at an object, and waits for the phase with a parity.
fn meet(object: &str, parity: u32, label: &str) -> String {
    format!(
        "mbarrier.arrive.shared.b64 _, [{object}]; {label}: mbarrier.try_wait.parity.shared.b64 %q, [{object}], {parity}; @!%q bra {label};"
    )
}

#[test]
fn object_is_used_after_its_initialization() {
    let arrive = "mbarrier.arrive.shared.b64 _, [full];";
    let test = "mbarrier.test_wait.parity.shared.b64 %q, [full], 0;";
    let expect = "mbarrier.expect_tx.relaxed.cta.shared.b64 [full], 0;";
    for operation in [arrive, test, expect] {
        check(&format!("{INIT} {SYNC} {operation}"), false);
        check(&format!("{INIT} {operation}"), true);
        for strict in [false, true] {
            let why: Vec<_> = races_of(&format!("{INIT} {operation}"), 1, strict).iter().map(|race| race.why).collect();
            assert_eq!(why, [Some(Why::BarrierObject)], "{operation}");
        }
    }
    // One warp is ordered after the initialization by its own barrier, and the other warp is not.
    check(&format!("{INIT} bar.warp.sync -1; @%half {arrive}"), false);
    check(&format!("{INIT} bar.warp.sync -1; {arrive}"), true);
}

#[test]
fn object_is_invalidated_and_overwritten_after_its_last_use() {
    let meet = meet("full", 0, "W");
    for end in
        ["mbarrier.inval.shared.b64 [full];", "mbarrier.init.shared.b64 [full], 1;", "st.shared.u32 [full+4], 0;"]
    {
        check(&format!("{INIT} {SYNC} {meet} {SYNC} @%p {end}"), false);
        // Other threads may still test the object.
        check(&format!("{INIT} {SYNC} {meet} @%p {end}"), true);
    }
    check(&format!("{INIT} {SYNC} {meet} ld.shared.u32 %v, [full];"), false);
    check(&format!("{INIT} {SYNC} mbarrier.arrive.shared.b64 _, [full]; ld.shared.u32 %v, [full];"), true);
}

#[test]
fn invalidation_is_ordered_behind_the_lanes_that_match_and_the_warps_that_count_down() {
    // The end of a pipeline of libcu++: one lane of each warp counts the warp down, and the last one invalidates.
    let pipeline = |matches: &str, semantics: &str, end: &str| {
        format!(
            ".shared .align 4 .b32 users; @%p st.shared.u32 [users], 64; {INIT} {SYNC} {} {matches}\n\
             and.b32 %v, %t, 31; setp.ne.u32 %q, %v, 0; @%q ret; atom.{semantics}.cta.shared.add.u32 %w, [users], -32;\n\
             setp.ne.u32 %q, %w, 32; @%q ret; {end}",
            meet("full", 0, "W")
        )
    };
    let inval = "mbarrier.inval.shared.b64 [full];";
    let matches = "match.any.sync.b32 %v, 7, -1;";
    check(&pipeline(matches, "acq_rel", inval), false);
    check(&pipeline("bar.warp.sync -1;", "acq_rel", inval), false);
    check(&pipeline("", "acq_rel", inval), true);
    check(&pipeline(matches, "relaxed", inval), true);
    // In the strict mode the match orders nothing else.
    let store = pipeline(matches, "acq_rel", "st.shared.u32 [full], 0;");
    assert!(races_of(&store, 1, false).is_empty() && !races_of(&store, 1, true).is_empty());
}

#[test]
fn arrivals_order_the_waiters_of_their_phase_and_object_only() {
    let fill = "@%half st.shared.u32 [%s], %t;";
    let read = "@!%half ld.shared.u32 %v, [%o];";
    let round = |between: &str| {
        let (one, other) = (meet("full", 0, "A"), meet("full", 1, "C"));
        format!("{INIT} {SYNC} {fill} {one} {read} {between} {fill} {other} {read}")
    };
    check(&round(&meet("empty", 0, "B")), false);
    check(&round(""), true);
    // Arrivals at the other object, without a wait.
    check(&round("mbarrier.arrive.shared.b64 _, [empty];"), true);
    // A wait for the phase before the first one, which is complete from the start.
    check(
        &round(
            "mbarrier.arrive.shared.b64 _, [empty]; B: mbarrier.try_wait.parity.shared.b64 %q, [empty], 1; @!%q bra B;",
        ),
        true,
    );
    // Two objects: the readers wait at the one at which the writers have not arrived.
    let two = |object: &str| {
        format!(
            "@%p mbarrier.init.shared.b64 [full], 32; @%p mbarrier.init.shared.b64 [empty], 32; {SYNC} @!%half bra R; st.shared.u32 [%s], %t;\n\
             mbarrier.arrive.shared.b64 _, [{object}]; ret;\n\
             R: mbarrier.arrive.shared.b64 _, [empty]; W: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra W; ld.shared.u32 %v, [%o];"
        )
    };
    check(&two("full"), false);
}

#[test]
fn state_of_an_arrival_names_its_phase() {
    let body = |wait: &str| {
        format!(
            "{INIT} {SYNC} st.shared.u32 [%s], %t; mbarrier.arrive.shared.b64 %state, [full]; {wait} ld.shared.u32 %v, [%o];"
        )
    };
    check(&body("W: mbarrier.test_wait.shared.b64 %q, [full], %state; @!%q bra W;"), false);
    check(&body("mbarrier.test_wait.shared.b64 %q, [full], %state;"), true);
    check(&body(""), true);
    // Accesses between the arrival and the wait are not ordered.
    check(
        &format!(
            "{INIT} {SYNC} mbarrier.arrive.shared.b64 %state, [full]; st.shared.u32 [%s], %t;\n\
             W: mbarrier.test_wait.shared.b64 %q, [full], %state; @!%q bra W; ld.shared.u32 %v, [%o];"
        ),
        true,
    );
}

#[test]
fn relaxed_arrivals_and_waits_order_nothing_without_fences() {
    let body = |arrive: &str, before: &str, wait: &str, behind: &str| {
        format!(
            "{INIT} {SYNC} st.shared.u32 [%s], %t; {before} mbarrier.arrive.{arrive}.cta.shared::cta.b64 _, [full];\n\
             W: mbarrier.try_wait.parity.{wait}.cta.shared::cta.b64 %q, [full], 0; @!%q bra W; {behind} ld.shared.u32 %v, [%o];"
        )
    };
    check(&body("release", "", "acquire", ""), false);
    check(&body("relaxed", "", "acquire", ""), true);
    check(&body("release", "", "relaxed", ""), true);
    check(&body("relaxed", "fence.acq_rel.cta;", "relaxed", "fence.acq_rel.cta;"), false);
}

#[test]
fn arrivals_with_a_count_and_drops_release() {
    let body = |last: &str| {
        format!(
            "@%p mbarrier.init.shared.b64 [full], 64; {SYNC} st.shared.u32 [%s], %t; {last}\n\
             W: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra W; ld.shared.u32 %v, [%o];"
        )
    };
    check(&body("mbarrier.arrive_drop.shared.b64 _, [full];"), false);
    // Thread 0 arrives for all.
    check(&body("@%p mbarrier.arrive.shared.b64 _, [full], 64;"), true);
    check(&body(&format!("{SYNC} @%p mbarrier.arrive.shared.b64 _, [full], 64;")), false);
}

const BULK: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 256, [full];";
const WAIT: &str = "W: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra W;";

#[test]
fn bulk_copy_hands_over_its_bytes_and_no_later_access_of_its_thread() {
    let init = format!("@%p mbarrier.init.shared.b64 [full], 1; {SYNC}");
    let expect = "@%p mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;";
    let word = "@%p st.shared.u32 [tile+256], 5;";
    // A value without an effect would make the store an update in place.
    let read = "ld.shared.u32 %v, [%o]; ld.shared.u32 %w, [tile+256]; setp.eq.u32 %q, %w, 77; @%q trap;";
    check(&format!("{init} {word} {expect} @%p {BULK} {WAIT} {read}"), false);
    check(&format!("{init} {expect} @%p {BULK} {word} {WAIT} {read}"), true);
    check(&format!("{init} {expect} {word} @%p {BULK} {WAIT} ld.shared.u32 %v, [%o];"), false);
    // The copy names the object before it is initialized for its thread.
    let other = "setp.eq.u32 %q, %t, 40; @%q";
    check(&format!("{init} {other} mbarrier.arrive.expect_tx.shared.b64 _, [full], 256; {other} {BULK} {WAIT}"), false);
    check(&format!("@%p mbarrier.init.shared.b64 [full], 1; {other} {BULK} {SYNC} {expect} {WAIT}"), true);
}

#[test]
fn object_of_another_block_is_initialized_before_the_barrier_of_the_cluster() {
    let init = "@%p mbarrier.init.shared.b64 [full], 64; fence.mbarrier_init.release.cluster;";
    let arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%far];";
    let wait = "W: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %q, [full], 0; @!%q bra W;";
    let cluster = |kind: &str| format!("barrier.cluster.arrive.{kind}.aligned; barrier.cluster.wait.acquire.aligned;");
    let end = cluster("release");
    for strict in [false, true] {
        for (body, races) in [
            (format!("{init} {} {arrive} {wait} {end}", cluster("release")), false),
            (format!("{init} {} {arrive} {wait} {end}", cluster("relaxed")), false),
            (format!("{} {} {arrive} {wait} {end}", &init[..init.find("fence").unwrap()], cluster("relaxed")), true),
        ] {
            let found = races_of(&body, 2, strict);
            assert_eq!(!found.is_empty(), races, "strict {strict}: {body}: {found:?}");
        }
    }
}

#[test]
fn fence_of_initializations_releases_nothing_else() {
    let meet = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;";
    let end = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";
    let body = |store: &str, fence: &str| {
        let read = "mapa.shared::cluster.u32 %far, %o, %i; ld.shared::cluster.u32 %v, [%far];";
        format!("@%p mbarrier.init.shared.b64 [full], 64; {store} {fence} {meet} {read} {end}")
    };
    let store = "st.shared.u32 [%s], %t;";
    for strict in [false, true] {
        for (store, fence, races) in [
            (store, "fence.mbarrier_init.release.cluster;", true),
            (store, "fence.acq_rel.cluster; fence.mbarrier_init.release.cluster;", false),
            (store, "fence.mbarrier_init.release.cluster; fence.acq_rel.cluster;", false),
            ("", "fence.mbarrier_init.release.cluster;", false),
        ] {
            let body = body(store, fence);
            let found = races_of(&body, 2, strict);
            assert_eq!(!found.is_empty(), races, "strict {strict}: {body}: {found:?}");
        }
        // The fence of one thread does not release the initialization of another one.
        let other = "setp.eq.u32 %q, %t, 1; @%q fence.mbarrier_init.release.cluster;";
        let arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%far];";
        let wait = "W: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %q, [full], 0; @!%q bra W;";
        let found = races_of(
            &format!("@%p mbarrier.init.shared.b64 [full], 64; {other} {meet} {arrive} {wait} {end}"),
            2,
            strict,
        );
        assert!(!found.is_empty(), "strict {strict}");
    }
}

#[test]
fn restricted_fence_releases_shared_memory_at_the_barrier_of_the_cluster() {
    let meet = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;";
    let end = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";
    let shared =
        ["st.shared.u32 [%s], %t;", "mapa.shared::cluster.u32 %far, %o, %i; ld.shared::cluster.u32 %v, [%far];"];
    // The word of thread 0 of the first block.
    let global =
        ["mad.lo.u32 %w, %t, 2, %i; setp.eq.u32 %q, %w, 1; @%q st.global.u32 [%in], 1;", "ld.global.u32 %v, [%in];"];
    for strict in [false, true] {
        for ([store, read], fence, races) in [
            (shared, "fence.release.sync_restrict::shared::cta.cluster;", false),
            (global, "fence.release.sync_restrict::shared::cta.cluster;", true),
            (global, "fence.acq_rel.cluster;", false),
            (shared, "", true),
        ] {
            let body = format!("@%p mbarrier.init.shared.b64 [full], 64; {store} {fence} {meet} {read} {end}");
            let found = races_of(&body, 2, strict);
            assert_eq!(!found.is_empty(), races, "strict {strict}: {body}: {found:?}");
        }
    }
}

#[test]
fn restricted_fence_acquires_shared_memory_behind_a_relaxed_wait() {
    let wait = "mbarrier.arrive.shared.b64 _, [full]; W: mbarrier.try_wait.parity.relaxed.cluster.shared.b64 %q, [full], 0; @!%q bra W;";
    let restricted = "fence.acquire.sync_restrict::shared::cluster.cluster;";
    let shared = ["st.shared.u32 [%s], %t;", "ld.shared.u32 %v, [%o];"];
    let store = "mul.wide.u32 %state, %t, 4; add.u64 %state, %state, %in; st.global.u32 [%state], %t;";
    let global = [store, "ld.global.u32 %v, [%in];"];
    for ([store, read], fence, races) in [
        (shared, restricted, false),
        (shared, "", true),
        (global, restricted, true),
        (global, "fence.acq_rel.cta;", false),
    ] {
        check(&format!("{INIT} {SYNC} {store} {wait} {fence} {read}"), races);
    }
}
