//! The report in the trace-event format, which the common timeline viewers open (Perfetto, `chrome://tracing`).
//!
//! Lanes are threads, operations are slices, edges are flow arrows. A finding is an instant event, with an arrow
//! where an edge is missing. Time stamps are places in the history: the operation with ordinal *n* begins at *n*
//! microseconds, because the trace shows order and not time.

use super::words;
use crate::finding::{Operation, Report, Side};
use crate::symbol::call_name;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The length of a slice, in thousandths of the step to the next operation.
const LENGTH: u64 = 800;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    display_time_unit: &'static str,
    trace_events: Vec<Event>,
}

/// One event. The keys are those of the format.
#[derive(Default, Serialize)]
struct Event {
    ph: &'static str,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cname: Option<&'static str>,
    #[serde(skip_serializing_if = "Args::is_empty")]
    args: Args,
}

/// The details of an event, which viewers show in this order.
#[derive(Default)]
struct Args(Vec<(String, Value)>);

impl Args {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.push((key.into(), value.into()));
    }
}

impl<const N: usize> From<[(&str, Value); N]> for Args {
    fn from(args: [(&str, Value); N]) -> Args {
        Args(args.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}

impl Serialize for Args {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl Report {
    /// The report in the trace-event format: one JSON object for timeline viewers.
    ///
    /// ```
    /// let empty = cuarray_races::finding::Report::default();
    /// assert!(empty.trace().starts_with(r#"{"displayTimeUnit":"ns","traceEvents":["#));
    /// ```
    pub fn trace(&self) -> String {
        let mut events = vec![metadata("process_name", None, ("name", json!("order of calls, not time")))];
        for lane in &self.lanes {
            let thread = thread(lane.number);
            events.push(metadata("thread_name", Some(thread), ("name", json!(lane.name))));
            events.push(metadata("thread_sort_index", Some(thread), ("sort_index", json!(thread))));
        }
        let lanes: HashMap<u64, u32> = self.operations.iter().map(|each| (each.ordinal, each.lane)).collect();
        let wrong: HashMap<u64, u64> = self
            .findings
            .iter()
            .flat_map(|finding| finding.sides.iter().map(move |side| (side.ordinal, finding.number)))
            .collect();
        for operation in &self.operations {
            events.push(slice(operation, wrong.get(&operation.ordinal).copied()));
            for (index, earlier) in operation.after.iter().enumerate() {
                // An arrow needs both ends; the history may have dropped the earlier operation.
                if let Some(lane) = lanes.get(earlier) {
                    let id = format!("{earlier}-{}-{index}", operation.ordinal);
                    events.extend(flow("edge", &id, (*earlier, *lane), (operation.ordinal, operation.lane)));
                }
            }
        }
        for finding in &self.findings {
            let Some(last) = finding.sides.last() else { continue };
            let mut args = Args::from([("finding", json!(words::headline(finding, &self.lanes)))]);
            if let Some(missing) = &finding.missing {
                args.add("missing", missing.as_str());
            }
            events.push(Event {
                ph: "i",
                name: finding.kind.name().to_owned(),
                cat: Some("finding"),
                s: Some("g"),
                pid: PROCESS,
                tid: Some(thread(last.lane)),
                ts: Some(moment(last.ordinal, LENGTH / 2)),
                args,
                ..Event::default()
            });
            if let [first, last] = finding.sides.as_slice()
                && words::lacks_an_edge(finding.kind)
            {
                let end = |side: &Side| (side.ordinal, side.lane);
                events.extend(flow("no edge", &format!("finding-{}", finding.number), end(first), end(last)));
            }
        }
        let trace = Trace { display_time_unit: "ns", trace_events: events };
        // Serialization of plain data into memory does not fail.
        serde_json::to_string(&trace).unwrap_or_default()
    }
}

/// The number of the process that all threads belong to.
const PROCESS: u32 = 1;

/// The thread of a lane. Thread 0 has a special meaning in some viewers.
fn thread(lane: u32) -> u64 {
    u64::from(lane) + 1
}

/// A time stamp in microseconds.
fn moment(ordinal: u64, thousandths: u64) -> f64 {
    ordinal as f64 + thousandths as f64 / 1000.0
}

fn metadata(name: &str, tid: Option<u64>, argument: (&str, Value)) -> Event {
    Event { ph: "M", name: name.to_owned(), pid: PROCESS, tid, args: Args::from([argument]), ..Event::default() }
}

fn slice(operation: &Operation, finding: Option<u64>) -> Event {
    let mut args = Args::from([
        ("ordinal", json!(operation.ordinal)),
        ("symbol", json!(operation.call)),
        ("place", json!(operation.site.to_string())),
    ]);
    if let Some(number) = finding {
        args.add("finding", number);
    }
    for (number, access) in (1..).zip(&operation.accesses) {
        let (verb, bytes, address) =
            (words::does(access.kind), words::bytes(access.bytes.length), access.bytes.address);
        args.add(format!("access {number}"), format!("{verb} {bytes} at {address:#x}"));
    }
    let name = call_name(operation.call);
    Event {
        ph: "X",
        name: operation
            .detail
            .as_ref()
            .map_or(name.to_owned(), |detail| format!("{name} {}", words::detail_text(detail))),
        cat: Some(if words::orders(operation) { "order" } else { "work" }),
        pid: PROCESS,
        tid: Some(thread(operation.lane)),
        ts: Some(moment(operation.ordinal, 0)),
        dur: Some(moment(0, LENGTH)),
        // One of the few colours that viewers know by name: red.
        cname: finding.map(|_| "terrible"),
        args,
        ..Event::default()
    }
}

/// Both ends of an arrow.
fn flow(category: &'static str, id: &str, from: (u64, u32), to: (u64, u32)) -> [Event; 2] {
    // An end lies within its slice, which is how a viewer finds the slice.
    [("s", from, LENGTH - 1, None), ("f", to, 1, Some("e"))].map(|(ph, (ordinal, lane), within, bp)| Event {
        ph,
        name: category.to_owned(),
        cat: Some(category),
        id: Some(id.to_owned()),
        pid: PROCESS,
        tid: Some(thread(lane)),
        ts: Some(moment(ordinal, within)),
        bp,
        ..Event::default()
    })
}

#[cfg(test)]
mod tests {
    use crate::report::sample;

    #[test]
    fn trace_holds_lanes_operations_edges_and_findings() {
        let trace = sample::report(sample::HOSTILE).trace();
        let count = |part: &str| trace.matches(part).count();
        assert_eq!(count("\"ph\":\"X\""), 7);
        assert_eq!(count("\"name\":\"thread_name\""), 3);
        assert_eq!(count("\"cname\":\"terrible\""), 2);
        // Two edges and the missing one, each with both ends.
        assert_eq!((count("\"ph\":\"s\",\"name\":\"edge\""), count("\"ph\":\"f\",\"name\":\"edge\"")), (2, 2));
        assert_eq!((count("\"ph\":\"s\",\"name\":\"no edge\""), count("\"ph\":\"f\",\"name\":\"no edge\"")), (1, 1));
        assert!(trace.contains(
            "{\"ph\":\"i\",\"name\":\"data-race\",\"cat\":\"finding\",\"s\":\"g\",\"pid\":1,\"tid\":3,\"ts\":6.4,"
        ));
        assert!(trace.contains("\"access 1\":\"reads 1,024 bytes at 0x7ffd00000400\""));
    }

    #[test]
    fn edge_from_an_operation_outside_the_history_has_no_arrow() {
        let mut report = sample::report("a.py");
        report.operations.retain(|operation| operation.ordinal != 3);
        assert_eq!(report.trace().matches("\"name\":\"edge\"").count(), 2);
    }
}
