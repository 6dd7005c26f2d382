//! Executed work as the timeline shows it.

use crate::objects::copy::{Extent, Source};
use crate::objects::memory_operation::MemoryOperation;
use crate::objects::stream::Kind;
use crate::objects::work::Work;
use crate::state::State;
use crate::thread;
use crate::trace::timeline::{Origin, Slice};
use cuarray_abi::CUstream;
use cuarray_races::symbol::kernel_name;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Instant;

/// The call of this thread, for the work that it enqueues; `None` without a timeline.
pub(super) fn origin(state: &State) -> Option<Arc<Origin>> {
    let timeline = state.timeline.as_ref()?;
    thread::with(|thread| {
        let flow = thread.flow.get().unwrap_or_else(|| timeline.new_flow());
        thread.flow.set(Some(flow));
        let caller = thread.caller.borrow();
        let caller = caller.as_ref()?;
        Some(Arc::new(Origin { flow, call: caller.call, site: caller.site.clone() }))
    })?
}

/// An operation that is being executed.
pub(super) struct Begun {
    slice: Slice,
    origin: Option<Arc<Origin>>,
    at: Instant,
    device_time: u64,
}

/// Begins an operation that the timeline shows. Waits are left out, because an operation shows when its waits have ended.
pub(super) fn begin(state: &State, handle: CUstream, work: &Work, origin: Option<&Arc<Origin>>) -> Option<Begun> {
    state.timeline.as_ref()?;
    let (name, args) = described(state, work)?;
    let stream = state.streams.get(&handle)?;
    let stream_kind = match stream.kind {
        Kind::Legacy => "legacy default",
        Kind::PerThread => "per-thread default",
        Kind::OfGreen => "default of a green context",
        Kind::Lane => "branches of graphs",
        Kind::Created if stream.blocking() => "blocking",
        Kind::Created => "non-blocking",
    };
    let device = state.contexts.get(&stream.context)?.device as i32;
    let slice = Slice { name, args, device, stream: handle, stream_kind };
    Some(Begun { slice, origin: origin.cloned(), at: Instant::now(), device_time: state.time() })
}

impl Begun {
    pub(super) fn end(mut self, state: &State) {
        let took = self.at.elapsed();
        let device_time = json!([self.device_time, state.time()]);
        self.slice.args.insert("device nanoseconds".to_owned(), device_time);
        if let Some(timeline) = &state.timeline {
            let findings = state.detector.findings();
            timeline.operation(self.slice, self.origin.as_deref(), (self.at, took), findings);
        }
    }
}

/// The name of work and its details; `None` for work that the timeline leaves out.
fn described(state: &State, work: &Work) -> Option<(String, Map<String, Value>)> {
    let (name, args) = match work {
        Work::Wait | Work::Await(_) | Work::Assign(_) | Work::EndExec(_) => return None,
        // The nodes in its bodies are shown.
        Work::Condition(_) => return None,
        Work::Copy(copy) => {
            let side = |address: u64| state.memory.find(address).is_some_and(|found| found.kind.on_device());
            let source = match &copy.source {
                Source::Memory(place) => side(place.address),
                Source::Staged(_) => false,
            };
            let name = match (source, side(copy.target.address)) {
                (false, true) => "copy, host to device",
                (true, false) => "copy, device to host",
                (true, true) => "copy, device to device",
                (false, false) => "copy, host to host",
            };
            (name.to_owned(), json!({"bytes": bytes(copy.extent)}))
        }
        Work::Fill(fill) => ("fill".to_owned(), json!({"bytes": bytes(fill.extent)})),
        Work::Record(_) => ("event record".to_owned(), json!({})),
        Work::Allocate { size, .. } => ("allocate".to_owned(), json!({"bytes": size})),
        Work::Release { .. } => ("free".to_owned(), json!({})),
        Work::Memory(operation) => {
            let name = match operation {
                MemoryOperation::Wait { .. } => "memory wait",
                MemoryOperation::Write { .. } => "memory write",
                MemoryOperation::Reduce { .. } => "memory reduction",
                MemoryOperation::Barrier => "memory barrier",
            };
            (name.to_owned(), json!({"address": operation.word().map(|word| format!("{:#x}", word.address))}))
        }
        Work::HostFunction(_) => ("host function".to_owned(), json!({})),
        Work::Launch(launch) => {
            let details =
                json!({"grid": launch.grid, "block": launch.threads, "dynamic shared bytes": launch.dynamic_shared});
            (kernel_name(launch.name()), details)
        }
    };
    match args {
        Value::Object(args) => Some((name, args)),
        _ => None,
    }
}

fn bytes(extent: Extent) -> u64 {
    extent.width.saturating_mul(extent.height).saturating_mul(extent.depth)
}
