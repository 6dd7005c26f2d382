//! What would have ordered two operations, in words.

use super::operation::Operation;
use super::{Checks, LaneInfo};
use crate::finding::LaneKind;
use crate::report::call_name;

/// The edge from the earlier call to the later one that the program lacks.
pub(super) fn missing(checks: &Checks, first: &Operation, second: &Operation) -> String {
    if first.launch.is_some() && first.launch == second.launch {
        return format!(
            "add an edge between the two nodes of the graph: in a capture, record an event after {} and make the stream \
             of {} wait for it before",
            call_name(first.call),
            call_name(second.call)
        );
    }
    let (before, after) = (call(first), call(second));
    let (from, to) = (outside(checks, first), outside(checks, second));
    match (is_host(checks, first), is_host(checks, second)) {
        (false, false) => {
            format!("record an event on {from} after {before} and make {to} wait for it before {after}")
        }
        (false, true) => {
            format!("synchronize with {from}, or with an event recorded there after {before}, before {after}")
        }
        (true, false) => format!(
            "make the call {after} after {before} in {from}, or hand over from there to the thread that calls it"
        ),
        (true, true) => format!("order the two threads: hand over from {from} after {before} to {to} before {after}"),
    }
}

/// Where the program can order an operation: of a branch of a graph, where the graph was launched.
fn outside(checks: &Checks, operation: &Operation) -> String {
    let begin = |launch| checks.history.binary_search_by_key(&launch, |other| other.ordinal).ok();
    let launch = operation.launch.and_then(begin).and_then(|index| checks.history.get(index));
    lane(checks, launch.map_or(operation, |launch| launch))
}

/// A call as a sentence names it.
fn call(operation: &Operation) -> String {
    match operation.launch {
        Some(launch) => format!("the launch of the graph (operation {launch})"),
        None => format!("{} (operation {})", call_name(operation.call), operation.ordinal),
    }
}

fn is_host(checks: &Checks, operation: &Operation) -> bool {
    checks.lanes.get(operation.lane as usize).is_none_or(|info| info.kind == LaneKind::Host)
}

/// How sentences call the lane of an operation.
pub(super) fn lane(checks: &Checks, operation: &Operation) -> String {
    match checks.lanes.get(operation.lane as usize) {
        Some(info) => name(info, operation.thread),
        None => format!("host thread {}", operation.thread),
    }
}

/// How reports call a lane; host threads may share one, and are told apart by the thread that made the call.
pub(super) fn name(info: &LaneInfo, thread: u64) -> String {
    let name = match info.kind {
        LaneKind::Host => return format!("host thread {thread}"),
        LaneKind::Legacy => "the legacy default stream".to_owned(),
        LaneKind::PerThread => format!("the default stream of a thread ({:#x})", info.handle),
        LaneKind::Blocking => format!("stream {}", info.label),
        LaneKind::NonBlocking => format!("stream {} (non-blocking)", info.label),
        LaneKind::Internal => format!("a branch of a graph ({:#x})", info.handle),
    };
    match info.device {
        Some(device) if device > 0 => format!("{name} of device {device}"),
        _ => name,
    }
}
