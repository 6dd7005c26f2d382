//! Bulk copies read memory by the async proxy: proxy fences, and blocks that end before their copies have read.

use super::*;
use crate::{MisuseKind, Why};

/// Executes a kernel with 64 threads. `%s` is the offset of the thread's word in `tile`, `%own` the address of its word in the buffer
/// `%in`, and `%p` holds in thread 0. `%out` is 1 KiB behind `%in`.
fn run(body: &str, strict: bool) -> Outcome {
    let source = format!(
        ".visible .entry k(.param .u64 in) {{ .reg .pred %p, %q; .reg .b32 %t, %s, %v; .reg .b64 %in, %own, %out;\n\
         .shared .align 16 .b8 tile[512]; .shared .align 8 .b64 gate;\n\
         ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s; mad.wide.u32 %own, %t, 4, %in;\n\
         add.u64 %out, %in, 1024; setp.eq.u32 %p, %t, 0;\n\
         {body}\n ret; }}"
    );
    let mut memory = vec![0_u64; 512];
    let run = Run { source: &source, threads: [64, 1, 1], strict, budget: 1 << 17, ..Run::default() };
    let outcome = run.over(&mut [&mut memory]);
    assert_eq!(outcome.fault, None, "{body}");
    outcome
}

/// Whether a kernel has a race for the lack of a proxy fence, in both modes, and no other race.
fn lacks_fence(body: &str) -> bool {
    let [default, strict] = [false, true].map(|strict| {
        let races = run(body, strict).races;
        assert!(races.iter().all(|race| race.why == Some(Why::NoProxyFence)), "{body}: {races:?}");
        !races.is_empty()
    });
    assert_eq!(default, strict, "{body}");
    default
}

const FILL: &str = "st.shared.u32 [%s], %t;";
const STORE: &str = "@%p cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 256; @%p cp.async.bulk.commit_group;\n\
    @%p cp.async.bulk.wait_group.read 0;";

#[test]
fn bulk_copy_of_what_threads_have_written_needs_a_proxy_fence() {
    let (fence, whole) = ("fence.proxy.async.shared::cta;", STORE.replace(".read", ""));
    for (body, lacks) in [
        (format!("{FILL} {fence} bar.sync 0; {STORE}"), false),
        (format!("{FILL} fence.proxy.async; bar.sync 0; {STORE}"), false),
        (format!("{FILL} bar.sync 0; {STORE}"), true),
        // A fence of another kind, of other memory, of one thread, or before the write.
        (format!("{FILL} fence.acq_rel.sys; bar.sync 0; {STORE}"), true),
        (format!("{FILL} fence.proxy.alias; bar.sync 0; {STORE}"), true),
        (format!("{FILL} fence.proxy.async.global; bar.sync 0; {STORE}"), true),
        (format!("{FILL} @%p {fence} bar.sync 0; {STORE}"), true),
        (format!("{fence} {FILL} bar.sync 0; {STORE}"), true),
        // The copying thread executes the fence, behind the barrier.
        (format!("{FILL} bar.sync 0; {fence} {STORE}"), false),
        // A later write has its own fence.
        (format!("{FILL} {fence} bar.sync 0; {whole} bar.sync 0; {FILL} bar.sync 0; {STORE}"), true),
        (format!("{FILL} {fence} bar.sync 0; {whole} bar.sync 0; {FILL} {fence} bar.sync 0; {STORE}"), false),
        (format!("red.shared.add.u32 [%s], 1; bar.sync 0; {STORE}"), true),
        (format!("@%p st.shared.u32 [tile], 1; {STORE}"), true),
        (format!("@%p st.shared.u32 [tile+256], 1; {STORE}"), false),
    ] {
        assert_eq!(lacks_fence(&body), lacks, "{body}");
    }
}

#[test]
fn bulk_copy_out_of_global_memory_needs_a_proxy_fence() {
    let init = "@%p mbarrier.init.shared.b64 [gate], 1; st.global.u32 [%own], %t;";
    let load = "@%p mbarrier.arrive.expect_tx.shared.b64 _, [gate], 256;\n\
        @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 256, [gate];\n\
        W: mbarrier.try_wait.parity.shared.b64 %q, [gate], 0; @!%q bra W;";
    assert!(!lacks_fence(&format!("{init} fence.proxy.async.global; bar.sync 0; {load}")));
    assert!(!lacks_fence(&format!("{init} fence.proxy.async; bar.sync 0; {load}")));
    assert!(lacks_fence(&format!("{init} bar.sync 0; {load}")));
    assert!(lacks_fence(&format!("{init} fence.proxy.async.shared::cta; bar.sync 0; {load}")));
    // A bulk copy of what a bulk copy has written needs none.
    assert!(!lacks_fence(&format!("{init} fence.proxy.async; bar.sync 0; {load} bar.sync 0; {STORE}")));
    assert!(lacks_fence(&format!("{init} fence.proxy.async; bar.sync 0; {load} {FILL} bar.sync 0; {STORE}")));
}

#[test]
fn unordered_write_is_a_race_without_the_advice_of_a_fence() {
    for strict in [false, true] {
        let outcome = run(&format!("{FILL} fence.proxy.async.shared::cta; {STORE}"), strict);
        let reasons: Vec<_> = outcome.races.iter().map(|race| race.why).collect();
        assert!(!reasons.is_empty() && !reasons.contains(&Some(Why::NoProxyFence)), "{reasons:?}");
    }
}

#[test]
fn block_that_ends_before_its_copy_has_read_is_a_finding() {
    let fill = format!("{FILL} fence.proxy.async.shared::cta; bar.sync 0;");
    for (store, found) in [
        (STORE.to_owned(), false),
        (STORE.replace("wait_group.read 0", "wait_group 0"), false),
        (STORE.replace("wait_group.read 0", "wait_group.read 1"), true),
        (STORE.replace("@%p cp.async.bulk.wait_group.read 0;", ""), true),
        (STORE.replace("@%p cp.async.bulk.commit_group;", ""), true),
    ] {
        let outcome = run(&format!("{fill} {store}"), false);
        assert_eq!(outcome.races, [], "{store}");
        let kinds: Vec<_> = outcome.misuses.iter().map(|misuse| (misuse.kind, misuse.thread, misuse.size)).collect();
        let expected = if found { vec![(MisuseKind::SourceOfEndedBlock, 0, 256)] } else { vec![] };
        assert_eq!(kinds, expected, "{store}");
    }
}
