//! The edge that a program lacks between two operations.

use super::operation::Operation;
use super::{Detector, LaneInfo};
use crate::advice::Advice;
use crate::finding::LaneKind;
use crate::symbol::{call_name, kernel_name};

/// The edge from the earlier call to the later one that the program lacks.
pub(super) fn between(detector: &Detector, first: &Operation, second: &Operation) -> Advice {
    let names = [first, second].map(|operation| call_name(operation.caller.call));
    if first.caller.launch.is_some() && first.caller.launch == second.caller.launch {
        let [first, second] = names.map(|name| name.to_owned());
        return Advice::OrderNodes { first, second };
    }
    let (before, after) = (call(first), call(second));
    if kind_of(detector, first) == LaneKind::Request {
        return Advice::AwaitRequest { before, after };
    }
    let (from, to) = (outside(detector, first), outside(detector, second));
    match (is_host(detector, first), is_host(detector, second)) {
        (false, false) if [first, second].into_iter().all(is_of_torch) => {
            Advice::OrderTorchStreams { from, before, to, after }
        }
        (false, false) => Advice::OrderStreams { from, before, to, after },
        (false, true) => Advice::OrderHostAfterStream { from, before, after },
        (true, false) => Advice::OrderStreamAfterHost { from, before, after },
        (true, true) => Advice::OrderHosts { from, before, to, after },
    }
}

/// Whether PyTorch made the call of an operation. Its allocator may give the bytes of a released tensor to another one.
fn is_of_torch(operation: &Operation) -> bool {
    operation.caller.site.library.as_deref() == Some("torch")
}

/// The wait that a dependent launch lacks, if the other operation precedes it in its stream or graph.
pub(super) fn wait(first: &Operation, second: &Operation) -> Option<Advice> {
    let in_graph = first.caller.launch.is_some() && first.caller.launch == second.caller.launch;
    (first.lane == second.lane || in_graph).then(|| {
        let kernel = second.caller.detail.as_ref().filter(|_| !in_graph);
        let kernel = kernel.map_or("the later kernel".to_owned(), |name| format!("the kernel {}", kernel_name(name)));
        Advice::WaitForEarlierKernel { kernel }
    })
}

/// The lane in which the program can order an operation. For a node of a graph, that is the lane of the launch.
fn outside(detector: &Detector, operation: &Operation) -> String {
    let begin = |launch| detector.history.binary_search_by_key(&launch, |other| other.ordinal).ok();
    let launch = operation.caller.launch.and_then(begin).and_then(|index| detector.history.get(index));
    lane(detector, launch.map_or(operation, |launch| launch))
}

/// The description of a call inside a sentence. [`Report::identify`](crate::finding::Report::identify) replaces the number by the line.
fn call(operation: &Operation) -> String {
    let caller = &operation.caller;
    let mut name = if caller.launch.is_some() { "the launch of the graph" } else { call_name(caller.call) }.to_owned();
    // A detail of several words is a remark, and any other is the name of a kernel.
    if let Some(kernel) = caller.detail.as_deref().filter(|detail| caller.launch.is_none() && !detail.contains(' ')) {
        name = format!("{name} {}", kernel_name(kernel));
    }
    format!("{name} (operation {})", operation.ordinal)
}

fn kind_of(detector: &Detector, operation: &Operation) -> LaneKind {
    detector.lanes.get(operation.lane as usize).map_or(LaneKind::Host, |info| info.kind)
}

/// Whether the host makes the accesses of an operation.
fn is_host(detector: &Detector, operation: &Operation) -> bool {
    matches!(kind_of(detector, operation), LaneKind::Host | LaneKind::Request)
}

/// The name of an operation's lane in sentences.
pub(super) fn lane(detector: &Detector, operation: &Operation) -> String {
    match detector.lanes.get(operation.lane as usize) {
        Some(info) => name(info, operation.caller.thread),
        None => format!("host thread {}", operation.caller.thread),
    }
}

/// The name of a lane in reports. Host threads may share a lane, so the name has the number of the calling thread.
fn name(info: &LaneInfo, thread: u64) -> String {
    let name = match info.kind {
        LaneKind::Host => return format!("host thread {thread}"),
        LaneKind::Legacy => "the legacy default stream".to_owned(),
        LaneKind::PerThread => format!("the default stream of a thread ({:#x})", info.handle),
        LaneKind::Blocking => format!("stream {}", info.label),
        LaneKind::NonBlocking => format!("stream {} (non-blocking)", info.label),
        LaneKind::Internal => format!("a branch of a graph ({:#x})", info.handle),
        LaneKind::Request => format!("a request of host thread {thread}"),
    };
    match info.device {
        Some(device) if device > 0 => format!("{name} of device {device}"),
        _ => name,
    }
}
