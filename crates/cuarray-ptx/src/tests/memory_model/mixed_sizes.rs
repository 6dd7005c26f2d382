//! Strong accesses that overlap in a part of their bytes. They are not morally strong (PTX manual, 8.7), so they order nothing.

use super::*;

#[test]
fn strong_accesses_of_mixed_sizes_race_in_strict_mode() {
    let body =
        "setp.eq.u32 %p, %b, 0; @%p st.relaxed.gpu.global.u32 [%out], 1; @!%p st.relaxed.gpu.global.u16 [%out], 1;";
    assert_differs(body, (2, 1), [0, 1]);
    let found = races_of(body, (2, 1), true);
    assert_eq!(found[0].why, Some(Why::MixedSizes));
}

/// A writer of data releases at a flag of 4 bytes; `between` writes the flag; a reader of the flag reads the data.
fn passing_through(between: &str, read: &str, strict: bool) -> Vec<Race> {
    let parts = [
        "st.global.u32 [%out], 1; st.release.gpu.global.u32 [%f], 1;",
        &format!("L: ld.relaxed.gpu.global.u32 %w, [%f]; setp.ne.u32 %p, %w, 1; @%p bra L; {between}"),
        &format!("W: {read} setp.ne.u32 %p, %w, 3; @%p bra W; ld.global.u32 %w, [%out];"),
    ];
    let found = program(&parts, Apart::Blocks, strict);
    found.into_iter().filter(|race| race.why != Some(Why::MixedSizes)).collect()
}

#[test]
fn read_of_a_wider_atomic_operation_orders_nothing() {
    let read = "ld.acquire.gpu.global.u32 %w, [%f];";
    for strict in [false, true] {
        let narrow = passing_through("atom.relaxed.gpu.global.add.u32 %w, [%f], 2;", read, strict);
        assert_eq!(narrow, [], "strict {strict}: the same bytes continue the release");
        let wide = passing_through("atom.relaxed.gpu.global.add.u64 %a, [%f], 2;", read, strict);
        assert_eq!(wide.len(), 1, "strict {strict}: {wide:?}");
        let store = "ld.acquire.gpu.global.u32 %w, [%f]; mov.u64 %a, 3; st.release.gpu.global.u64 [%f], %a;";
        assert_eq!(passing_through(store, read, strict).len(), 1, "strict {strict}: a wider releasing store");
    }
}

#[test]
fn failed_compare_and_swap_of_other_bytes_ends_no_release() {
    // The operation of 8 bytes only reads, and the addition of 4 bytes continues the release.
    let between =
        "mov.u64 %a, 7; atom.relaxed.gpu.global.cas.b64 %a, [%f], %a, %a; atom.relaxed.gpu.global.add.u32 %w, [%f], 2;";
    assert_eq!(passing_through(between, "ld.acquire.gpu.global.u32 %w, [%f];", false), []);
}

#[test]
fn reduction_by_a_bulk_copy_ends_no_release_of_its_elements() {
    // The search compares the reduction word by word, and its elements have 8 bytes.
    let writer = ".shared .align 16 .b64 s[2]; mov.u64 %a, 2; st.shared.u64 [s], %a; st.shared.u64 [s + 8], %a; fence.proxy.async;
        st.global.u32 [%out], 1; mov.u64 %a, 1; red.release.gpu.global.add.u64 [%f], %a;
        cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%f], [s], 16; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
    let reader = "L: ld.acquire.gpu.global.u64 %a, [%f]; setp.ne.u64 %p, %a, 3; @%p bra L; ld.global.u32 %w, [%out];";
    assert_eq!(program(&[writer, reader], Apart::Warps, false), []);
    let without = writer.replace("red.release", "red.relaxed");
    assert_eq!(program(&[&without, reader], Apart::Warps, false).len(), 1);
}
