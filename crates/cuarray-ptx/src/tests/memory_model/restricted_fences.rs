//! Fences with `.sync_restrict`: they order accesses to shared memory only, by flags in shared memory (PTX manual, `membar` and `fence`).

use super::*;

const RELEASE: &str = "fence.release.sync_restrict::shared::cta.cluster;";
const ACQUIRE: &str = "fence.acquire.sync_restrict::shared::cluster.cluster;";
const FULL: &str = "fence.acq_rel.cluster;";

/// The address of a word of data or of a flag, in shared or global memory.
fn place(space: &str, flag: bool) -> &'static str {
    match (space, flag) {
        ("shared", false) => "[s]",
        ("shared", true) => "[s + 4]",
        (_, false) => "[%out]",
        (_, true) => "[%f]",
    }
}

/// Message passing between two warps, with the data and the flag in these spaces.
fn passing_in(data: &str, flag: &str, [release, acquire]: [&str; 2], strict: bool) -> Vec<Race> {
    let (at, flagged) = (place(data, false), place(flag, true));
    let writer = format!(
        ".shared .align 4 .u32 s[3]; st.{data}.u32 {at}, 1; {release} st.relaxed.cluster.{flag}.u32 {flagged}, 1;"
    );
    let reader = format!(
        "WAIT: ld.relaxed.cluster.{flag}.u32 %w, {flagged}; setp.ne.u32 %p, %w, 1; @%p bra WAIT; {acquire} ld.{data}.u32 %w, {at};"
    );
    program(&[&writer, &reader], Apart::Warps, strict)
}

#[test]
fn restricted_fence_orders_shared_memory_only() {
    for (data, flag) in [("shared", "shared"), ("shared", "global"), ("global", "shared"), ("global", "global")] {
        let covered = (data, flag) == ("shared", "shared");
        for strict in [false, true] {
            assert_eq!(passing_in(data, flag, [FULL, FULL], strict), [], "{data} {flag} {strict}");
            for acquire in [FULL, ACQUIRE] {
                let found = passing_in(data, flag, [RELEASE, acquire], strict);
                assert_eq!(found.is_empty(), covered, "{data} {flag} {acquire} {strict}: {found:?}");
            }
            // By default the reader's fence is not asked for.
            let found = passing_in(data, flag, [FULL, ACQUIRE], strict);
            assert_eq!(found.is_empty(), covered || !strict, "{data} {flag} {strict}: {found:?}");
        }
    }
}

#[test]
fn race_behind_a_restricted_fence_names_it() {
    for fences in [[RELEASE, FULL], [FULL, ACQUIRE]] {
        let reasons: Vec<_> = passing_in("global", "shared", fences, true).iter().map(|race| race.why).collect();
        assert_eq!(reasons, [Some(Why::RestrictedFence)], "{fences:?}");
    }
}

#[test]
fn full_fence_before_a_restricted_one_still_counts() {
    // The restricted fence does not replace the earlier one, and a full one passes on what a restricted one has ordered.
    let both = format!("{FULL} {RELEASE}");
    assert_eq!(passing_in("global", "shared", [&both, FULL], true), []);
    let both = format!("{ACQUIRE} {FULL}");
    assert_eq!(passing_in("global", "shared", [FULL, &both], true), []);
    for (data, races) in [("shared", 0), ("global", 1)] {
        let at = place(data, false);
        let wait = |flag: &str, label: &str| {
            format!("{label}: ld.acquire.cta.shared.u32 %w, {flag}; setp.ne.u32 %p, %w, 1; @%p bra {label};")
        };
        let parts = [
            format!(
                ".shared .align 4 .u32 s[3]; st.{data}.u32 {at}, 1; {RELEASE} st.relaxed.cluster.shared.u32 [s + 4], 1;"
            ),
            format!("{} st.release.cta.shared.u32 [s + 8], 1;", wait("[s + 4]", "L1")),
            format!("{} ld.{data}.u32 %w, {at};", wait("[s + 8]", "L2")),
        ];
        let found = program(&[&parts[0], &parts[1], &parts[2]], Apart::Warps, true);
        assert_eq!(found.len(), races, "{data}: {found:?}");
    }
}
