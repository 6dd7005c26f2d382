//! The reasons for which blocks race although some of their threads synchronize.

use super::*;

/// The reasons of the races of a kernel of two blocks or more, of 64 threads each. `%a` is the address of the thread's word.
fn reasons(parts: &[&str], threads: u32) -> Vec<Option<Why>> {
    let mut body = "mul.wide.u32 %a, %t, 4; add.u64 %a, %out, %a;".to_owned();
    for number in 0..parts.len() {
        body += &format!("setp.eq.u32 %p, %b, {number}; @%p bra PART{number};\n");
    }
    for (number, part) in parts.iter().enumerate() {
        let part = part.replace("WAIT", &format!("WAIT{number}"));
        body += &format!("PART{number}: {part} bra DONE;\n");
    }
    races_of(&body, (parts.len() as u32, threads), false).iter().map(|race| race.why).collect()
}

const RELEASE: &str = "setp.ne.u32 %p, %t, 0; @!%p st.release.gpu.global.u32 [%f], 1;";
/// The first thread waits for the flag.
const ONE_WAITS: &str = "setp.ne.u32 %q, %t, 0; WAIT: @!%q ld.acquire.gpu.global.u32 %w, [%f]; setp.eq.u32 %p, %w, 0; @%q setp.ne.u32 %p, %t, %t;\n\
    @%p bra WAIT;";
const ALL_WAIT: &str = "WAIT: ld.acquire.gpu.global.u32 %w, [%f]; setp.eq.u32 %p, %w, 0; @%p bra WAIT;";
const READ: &str = "ld.global.u32 %w, [%a];";
const WRITE: &str = "st.global.u32 [%a], %t;";

#[test]
fn hand_over_by_one_thread_needs_a_barrier_on_both_sides() {
    let barrier = "bar.sync 0;";
    let run = |before: &str, behind: &str, waits: &str| {
        let (writer, reader) = (format!("{WRITE} {before} {RELEASE}"), format!("{waits} {behind} {READ}"));
        reasons(&[&writer, &reader], 64)
    };
    assert_eq!(run(barrier, barrier, ONE_WAITS), []);
    assert_eq!(run("", "", ALL_WAIT), [Some(Why::OtherWriter { first: true })]);
    assert_eq!(run("", barrier, ONE_WAITS), [Some(Why::OtherWriter { first: true })]);
    let reader_first = [format!("{ALL_WAIT} {READ}"), format!("{WRITE} {RELEASE}")];
    assert_eq!(reasons(&[&reader_first[0], &reader_first[1]], 64), [Some(Why::OtherWriter { first: false })]);
    assert_eq!(run(barrier, "", ONE_WAITS), [Some(Why::OtherReader { first: false })]);
}

#[test]
fn missing_fence_counts_for_the_threads_behind_a_barrier() {
    let writer = format!("{WRITE} bar.sync 0; setp.ne.u32 %p, %t, 0; @!%p red.relaxed.gpu.global.add.u32 [%f], 1;");
    let reader = format!("{} bar.sync 0; {READ}", ONE_WAITS.replace("acquire", "relaxed"));
    let found = reasons(&[&writer, &reader], 64);
    assert!(!found.is_empty() && found.iter().all(|why| *why == Some(Why::NoFence)), "{found:?}");
}

#[test]
fn flag_that_is_passed_on_without_a_release_lacks_a_fence() {
    let middle = format!("{ALL_WAIT} st.relaxed.gpu.global.u32 [%f + 4], 1;");
    let last = format!("{} {READ}", ALL_WAIT.replace("[%f]", "[%f + 4]"));
    let first = format!("{WRITE} {RELEASE}");
    assert_eq!(reasons(&[&first, &middle, &last], 1), [Some(Why::NoFence)]);
    assert_eq!(reasons(&[&first, &middle.replace("relaxed", "release"), &last], 1), []);
}

#[test]
fn access_before_the_wait_is_named() {
    let writer = format!("{WRITE} {RELEASE}");
    let early = format!("{READ} {ALL_WAIT}");
    assert_eq!(reasons(&[&writer, &early], 1), [Some(Why::EarlyAccess { first: false })]);
    assert_eq!(reasons(&[&early, &writer], 1), [Some(Why::EarlyAccess { first: true })]);
    assert_eq!(reasons(&[&writer, READ], 1), [None]);
}
