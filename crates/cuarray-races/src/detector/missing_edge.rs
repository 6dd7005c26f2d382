//! The edge that a program lacks between two operations.

use super::operation::Operation;
use super::suballocations::{Reuse, Suballocation};
use super::{Detector, LaneInfo};
use crate::advice::Advice;
use crate::finding::LaneKind;
use crate::symbol::{call_name, kernel_name};

/// The edge from the earlier call to the later one that the program lacks. Both access the byte at `address`.
pub(super) fn between(detector: &Detector, first: &Operation, second: &Operation, address: u64) -> Advice {
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
        (false, false) => between_streams(detector, (first, second), address, [from, before, to, after]),
        (false, true) => Advice::OrderHostAfterStream { from, before, after },
        (true, false) => Advice::OrderStreamAfterHost { from, before, after },
        (true, true) => Advice::OrderHosts { from, before, to, after },
    }
}

/// The edge between two streams, in the words of the library whose allocator holds the bytes.
fn between_streams(
    detector: &Detector,
    (first, second): (&Operation, &Operation),
    address: u64,
    [from, before, to, after]: [String; 4],
) -> Advice {
    let start = detector.blocks.at(address).map_or(address, |block| block.address);
    let reuse = detector.suballocations.reuse((start, address), first.ordinal, second.ordinal);
    let is_of_torch = [first, second].iter().all(|one| one.caller.site.library.as_deref() == Some("torch"));
    if let (Some((record, wait)), None | Some(Reuse::None)) = (early_record(detector, first, second), &reuse) {
        let named = |one: &Operation| format!("{} at {}", call_name(one.caller.call), one.caller.site.place());
        return Advice::RecordEventLater { record: named(record), wait: named(wait), before };
    }
    match reuse {
        Some(Reuse::Of { earlier, later }) => {
            let of_torch = &*later.allocator == "torch";
            let noun = if of_torch { "tensor" } else { "array" };
            let name = |one: Option<&Suballocation>, user: &str| match one.map(|one| one.site.place()) {
                Some(place) if !place.is_empty() => format!("the {noun} made at {place}"),
                _ => format!("the {noun} that {user} uses"),
            };
            let is_one_line = earlier.as_ref().is_some_and(|earlier| earlier.site.place() == later.site.place());
            let earlier = name(earlier.as_ref(), &before);
            let later = if is_one_line { format!("another {noun} made there") } else { name(Some(&later), &after) };
            let [from, to] = [from, to].map(|stream| stream.replace(" (non-blocking)", ""));
            match of_torch {
                true => Advice::RecordTorchStream { from, before, to, earlier, later },
                false => Advice::KeepUntilStreamIsDone { from, before, to, earlier, later },
            }
        }
        Some(Reuse::None) if is_of_torch => Advice::AwaitTorchStream { from, before, to, after },
        None if is_of_torch => Advice::OrderTorchStreams { from, before, to, after },
        _ => Advice::OrderStreams { from, before, to, after },
    }
}

/// The most operations that are searched for a wait.
const SEARCHED: usize = 1000;

/// A record in the earlier operation's stream, in front of it, for which the later operation's stream waits between the two: with the wait.
fn early_record<'d>(
    detector: &'d Detector,
    first: &Operation,
    second: &Operation,
) -> Option<(&'d Operation, &'d Operation)> {
    let of = |ordinal: u64| {
        let index = detector.history.binary_search_by_key(&ordinal, |other| other.ordinal).ok()?;
        detector.history.get(index).map(|operation| &**operation)
    };
    let between = detector.history.iter().rev().take(SEARCHED).skip_while(|one| one.ordinal >= second.ordinal);
    let mut waits = between.take_while(|one| one.ordinal > first.ordinal).filter(|one| one.lane == second.lane);
    waits.find_map(|wait| {
        let records = wait.after.iter().filter_map(|ordinal| of(*ordinal));
        let mut early = records.filter(|record| record.lane == first.lane && record.ordinal < first.ordinal);
        Some((early.next()?, &**wait))
    })
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
