//! Data that strong accesses pass on behind a flag.

use super::*;

/// The reasons of the races of a program in which the data is strong, by default and in strict mode. `first` and `last` are
/// the reader's instructions before and behind its wait for the flag.
fn reasons(writer: &str, first: &str, last: &str, apart: Apart) -> [Vec<Why>; 2] {
    let wait = "WAIT: ld.volatile.global.u32 %w, [%f]; setp.eq.u32 %p, %w, 0; @%p bra WAIT;";
    let reader = format!("{first} {wait} {last}");
    [false, true].map(|strict| program(&[writer, &reader], apart, strict).iter().filter_map(|race| race.why).collect())
}

const DATA: &str = "st.volatile.global.u32 [%out], 1;";
const FLAG: &str = "st.volatile.global.u32 [%f], 1;";
const READ: &str = "ld.volatile.global.u32 %w, [%out];";
const FENCE: &str = "fence.acq_rel.gpu;";

#[test]
fn strong_data_behind_a_flag_needs_a_fence() {
    let old = vec![Why::OldValue];
    assert_eq!(reasons(&format!("{DATA} {FLAG}"), "", READ, Apart::Blocks), [old.clone(), old.clone()]);
    assert_eq!(reasons(&format!("{DATA} {FENCE} {FLAG}"), "", READ, Apart::Blocks), [vec![], old.clone()]);
    let both = format!("{FENCE} {READ}");
    assert_eq!(reasons(&format!("{DATA} {FENCE} {FLAG}"), "", &both, Apart::Blocks), [vec![], vec![]]);
    // Relaxed accesses, and a flag that an atomic operation sets.
    let relaxed = DATA.replace("volatile", "relaxed.gpu");
    let atomic = "atom.global.exch.b32 %w, [%f], 1;";
    assert_eq!(reasons(&format!("{relaxed} {atomic}"), "", READ, Apart::Blocks), [old.clone(), old]);
}

#[test]
fn strong_reads_that_pass_nothing_on_are_none_of_old_values() {
    let none: [Vec<Why>; 2] = Default::default();
    // The data is written behind the flag, so the reader polls it, or does not need it.
    assert_eq!(reasons(&format!("{FLAG} {DATA}"), "", READ, Apart::Blocks), none);
    // The reader has read the data before, so it waits for the data itself.
    assert_eq!(reasons(&format!("{DATA} {FLAG}"), READ, READ, Apart::Blocks), none);
    // The read acquires, and the write releases.
    let [release, acquire] = ["st.release.gpu.global.u32 [%f], 1;", "ld.acquire.gpu.global.u32 %w, [%f];"];
    assert_eq!(reasons(&format!("{DATA} {release}"), "", &format!("{acquire} {READ}"), Apart::Blocks), none);
    // The threads are in one block.
    assert_eq!(reasons(&format!("{DATA} {FLAG}"), "", READ, Apart::Warps), none);
}

#[test]
fn flag_orders_the_reads_before_it_by_default() {
    let races = |first: &str, behind: &str, last: &str| {
        let one = format!("{first} {FLAG} {behind}");
        let other = format!("WAIT: ld.volatile.global.u32 %w, [%f]; setp.eq.u32 %p, %w, 0; @%p bra WAIT; {last}");
        [false, true].map(|strict| program(&[&one, &other], Apart::Blocks, strict).len())
    };
    let (read, write) = ("ld.global.u32 %w, [%out];", "st.global.u32 [%out], 5;");
    assert_eq!(races(read, "", write), [0, 1]);
    assert_eq!(races("", read, write), [1, 1]);
    assert_eq!(races(write, "", read), [1, 1]);
    // The threads of the blocks hand over by barriers.
    let body = "mad.wide.u32 %a, %t, 4, %out; setp.ne.u32 %p, %b, 0; setp.ne.u32 %q, %t, 0; @%p bra OTHER; ld.global.u32 %w, [%a+4]; \
        bar.sync 0; @%q bra DONE; st.relaxed.gpu.global.u32 [%f], 1; bra DONE; \
        OTHER: @%q bra JOIN; WAIT: ld.relaxed.gpu.global.u32 %w, [%f]; setp.eq.u32 %p, %w, 0; @%p bra WAIT; \
        JOIN: bar.sync 0; st.global.u32 [%a], %t;";
    assert_differs(body, (2, 64), [0, 1]);
}
