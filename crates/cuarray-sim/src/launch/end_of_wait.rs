//! The advice for a launch whose threads wait forever, by what is known about what they wait for.

use super::findings::place_of;
use super::synchronization::guards_of;
use crate::objects::launch::Launch;
use cuarray_ptx::{Fault, FaultKind, Reason, WaitingThreads, WriterState, in_window};
use cuarray_races::Advice;

/// The advice for a launch that did not end.
pub(super) fn end_of_wait(launch: &Launch, fault: &Fault) -> Advice {
    let all = &fault.waiting;
    if fault.kind != FaultKind::Deadlock {
        return Advice::EndWait;
    }
    let polls = |group: &&WaitingThreads| matches!(group.reason, Reason::Reads { .. });
    let is =
        |state: WriterState| move |group: &&WaitingThreads| group.writer.is_some_and(|writer| writer.state == state);
    let locks = || all.iter().filter(|group| group.takes);
    let polled = || all.iter().filter(polls);
    let at_barriers = all.iter().filter(|group| matches!(group.reason, Reason::Barrier { .. } | Reason::Warp { .. }));
    let at_barriers = at_barriers.count();
    // A thread that waits at a barrier has written the word before, or not yet.
    let may_be_behind = |group: &&WaitingThreads| {
        group.writer.is_none_or(|writer| matches!(writer.state, WriterState::Reader | WriterState::AtBarrier))
    };
    if locks().any(|group| is(WriterState::Reader)(&group)) {
        return Advice::ReleaseOwnLock;
    }
    if locks().any(|group| is(WriterState::WaitsForReader)(&group)) {
        return Advice::OrderLocks;
    }
    if fault.progress.not_started > 0 && fault.progress.ended_blocks == 0 && polled().next().is_some() {
        let blocks = launch.grid.iter().map(|extent| u64::from(*extent)).product::<u64>();
        let waiting = fault.progress.not_started;
        return Advice::LaunchFewerBlocks { resident: blocks.saturating_sub(waiting), waiting };
    }
    if locks().any(|group| is(WriterState::Ended)(&group)) {
        return Advice::ReleaseBeforeEnd;
    }
    if locks().any(|group| group.writer.is_none()) && !launch.program.finds_writers(launch.kernel) {
        return Advice::ReleaseLock;
    }
    if !all.is_empty() && all.iter().all(|group| group.reason == Reason::Runs) {
        return Advice::ReadInLoop;
    }
    if at_barriers > 0 && polled().any(|group| may_be_behind(&group)) {
        return Advice::WriteBeforeBarrier;
    }
    if let Some((group, (distance, writer))) = polled().find_map(|group| Some((group, group.beside?))) {
        let place = place_of(launch, writer).to_string();
        return Advice::CorrectPolledIndex { place, distance: distance_of(group, distance) };
    }
    if polled().any(|group| matches!(group.reason, Reason::Reads { phase: true, .. })) && fault.progress.ended == 0 {
        return Advice::AwaitOtherPhase;
    }
    if let Some(group) = polled().find(is(WriterState::Ended)) {
        let value = group.value.map_or("do not change".to_owned(), |value| format!("stay {value}"));
        return Advice::AwaitLastValue { value };
    }
    match polled().next() {
        Some(group) => match ended_beside(launch, fault, group) {
            Some(ended) => Advice::LetEndedTakePart { ended, guard: guards_of(launch, group.pc, 3) },
            None => Advice::LetOneGoOn,
        },
        None if at_barriers > 0 && at_barriers == all.len() => {
            let guards = all.iter().map(|group| guards_of(launch, group.pc, 1));
            Advice::CompleteBarrier { guard: guards.into_iter().find(|guard| !guard.is_empty()).unwrap_or_default() }
        }
        None => Advice::EndWait,
    }
}

/// The threads that have ended and could have written what a group reads, in words.
fn ended_beside(launch: &Launch, fault: &Fault, group: &WaitingThreads) -> Option<String> {
    let Reason::Reads { address, .. } = group.reason else { return None };
    let is_of_block = in_window(address).is_some() || launch.grid == [1; 3];
    let threads = if is_of_block { fault.progress.ended } else { fault.progress.ended_early };
    match (is_of_block, fault.progress.ended_blocks, threads) {
        (false, 1, _) => Some("1 block has".to_owned()),
        (false, blocks @ 2.., _) => Some(format!("{blocks} blocks have")),
        (.., 1) => Some("1 thread has".to_owned()),
        (.., threads @ 2..) => Some(format!("{threads} threads have")),
        _ => None,
    }
}

/// The place of a word beside what a group reads.
fn distance_of(group: &WaitingThreads, distance: i64) -> String {
    let Reason::Reads { size, .. } = group.reason else { return String::new() };
    let side = if distance > 0 { "behind" } else { "before" };
    format!("the {size} bytes that begin {} bytes {side}", distance.abs())
}
