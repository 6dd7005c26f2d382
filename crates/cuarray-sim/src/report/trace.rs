//! The report in the trace-event format, which the common timeline viewers open (Perfetto, `chrome://tracing`).
//!
//! Lanes are threads, operations are slices, edges are flow arrows, and findings are instants with an arrow of their own
//! where an edge is absent. A viewer's clock is made of places in the history: the operation with ordinal *n* begins at
//! *n* microseconds, since what is shown is order and not time.

use super::json::quote;
use super::words;
use crate::finding::{Operation, Report, Side};
use std::collections::HashMap;
use std::fmt::Write as _;

/// How long a slice is, in thousandths of the step to the next operation.
const LENGTH: u64 = 800;

impl Report {
    /// The report in the trace-event format: one JSON object for timeline viewers.
    ///
    /// ```
    /// let empty = cuarray_sim::finding::Report::default();
    /// assert!(empty.trace().starts_with(r#"{"displayTimeUnit":"ns","traceEvents":["#));
    /// ```
    pub fn trace(&self) -> String {
        let mut events = Events { text: String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":["), first: true };
        events.add("M", "process_name", "\"pid\":1,\"args\":{\"name\":\"order of calls, not time\"}");
        for lane in &self.lanes {
            let mut name = format!("\"pid\":1,\"tid\":{},\"args\":{{\"name\":", thread(lane.number));
            quote(&mut name, &lane.name);
            name.push('}');
            events.add("M", "thread_name", &name);
            let order = format!("\"pid\":1,\"tid\":{0},\"args\":{{\"sort_index\":{0}}}", thread(lane.number));
            events.add("M", "thread_sort_index", &order);
        }
        let places: HashMap<u64, u32> = self.operations.iter().map(|each| (each.ordinal, each.lane)).collect();
        let wrong: HashMap<u64, u64> = self
            .findings
            .iter()
            .flat_map(|finding| finding.sides.iter().map(move |side| (side.ordinal, finding.number)))
            .collect();
        for operation in &self.operations {
            slice(&mut events, operation, wrong.get(&operation.ordinal).copied());
            for (index, earlier) in operation.after.iter().enumerate() {
                // An arrow needs both ends; the other one may be forgotten.
                if let Some(lane) = places.get(earlier) {
                    let identity = format!("{earlier}-{}-{index}", operation.ordinal);
                    flow(&mut events, "edge", &identity, (*earlier, *lane), (operation.ordinal, operation.lane));
                }
            }
        }
        for finding in &self.findings {
            let Some(last) = finding.sides.last() else { continue };
            let mut members = format!(
                "\"cat\":\"finding\",\"s\":\"g\",\"pid\":1,\"tid\":{},\"ts\":{},\"args\":{{\"finding\":",
                thread(last.lane),
                moment(last.ordinal, LENGTH / 2)
            );
            quote(&mut members, &words::headline(finding, &self.lanes));
            if let Some(missing) = &finding.missing {
                members.push_str(",\"missing\":");
                quote(&mut members, missing);
            }
            members.push('}');
            events.add("i", finding.kind.name(), &members);
            if let [first, last] = finding.sides.as_slice()
                && words::lacks_an_edge(finding.kind)
            {
                let end = |side: &Side| (side.ordinal, side.lane);
                flow(&mut events, "no edge", &format!("finding-{}", finding.number), end(first), end(last));
            }
        }
        events.text.push_str("\n]}\n");
        events.text
    }
}

struct Events {
    text: String,
    first: bool,
}

impl Events {
    /// Adds an event; `members` are written already.
    fn add(&mut self, phase: &str, name: &str, members: &str) {
        self.text.push_str(if std::mem::take(&mut self.first) { "\n" } else { ",\n" });
        let _ = write!(self.text, "{{\"ph\":\"{phase}\",\"name\":");
        quote(&mut self.text, name);
        let _ = write!(self.text, ",{members}}}");
    }
}

/// Thread 0 has a meaning of its own in some viewers.
fn thread(lane: u32) -> u64 {
    u64::from(lane) + 1
}

/// A time stamp in microseconds.
fn moment(ordinal: u64, thousandths: u64) -> String {
    format!("{ordinal}.{thousandths:03}")
}

fn slice(events: &mut Events, operation: &Operation, finding: Option<u64>) {
    let mut members = format!(
        "\"cat\":\"{}\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":0.{LENGTH:03},",
        if words::orders(operation) { "order" } else { "work" },
        thread(operation.lane),
        moment(operation.ordinal, 0)
    );
    if finding.is_some() {
        // One of the few colours that viewers know by name; it is their red.
        members.push_str("\"cname\":\"terrible\",");
    }
    let _ = write!(members, "\"args\":{{\"ordinal\":{},\"symbol\":", operation.ordinal);
    quote(&mut members, operation.call);
    members.push_str(",\"place\":");
    quote(&mut members, &operation.site.to_string());
    if let Some(number) = finding {
        let _ = write!(members, ",\"finding\":{number}");
    }
    for (index, access) in operation.accesses.iter().enumerate() {
        let (deed, range) = (words::does(access.deed), access.bytes);
        let _ = write!(
            members,
            ",\"access {}\":\"{deed} {} at {:#x}\"",
            index + 1,
            words::bytes(range.length),
            range.address
        );
    }
    members.push('}');
    let name = words::call(operation.call);
    match &operation.detail {
        Some(detail) => events.add("X", &format!("{name} {detail}"), &members),
        None => events.add("X", name, &members),
    }
}

fn flow(events: &mut Events, category: &str, identity: &str, from: (u64, u32), to: (u64, u32)) {
    // Both ends lie within their slices, which is how a viewer finds them.
    for (phase, (ordinal, lane), within) in [("s", from, LENGTH - 1), ("f", to, 1)] {
        let binding = if phase == "f" { ",\"bp\":\"e\"" } else { "" };
        let members = format!(
            "\"cat\":\"{category}\",\"id\":\"{identity}\",\"pid\":1,\"tid\":{},\"ts\":{}{binding}",
            thread(lane),
            moment(ordinal, within)
        );
        events.add(phase, category, &members);
    }
}

#[cfg(test)]
mod tests {
    use crate::report::sample;

    #[test]
    fn lanes_operations_edges_and_findings_are_all_there() {
        let trace = sample::report(sample::HOSTILE).trace();
        let count = |part: &str| trace.matches(part).count();
        assert_eq!(count("\"ph\":\"X\""), 7);
        assert_eq!(count("\"name\":\"thread_name\""), 3);
        assert_eq!(count("\"cname\":\"terrible\""), 2);
        // Two edges and the absent one, each with both ends.
        assert_eq!((count("\"ph\":\"s\",\"name\":\"edge\""), count("\"ph\":\"f\",\"name\":\"edge\"")), (2, 2));
        assert_eq!((count("\"ph\":\"s\",\"name\":\"no edge\""), count("\"ph\":\"f\",\"name\":\"no edge\"")), (1, 1));
        assert!(trace.contains(
            "{\"ph\":\"i\",\"name\":\"data-race\",\"cat\":\"finding\",\"s\":\"g\",\"pid\":1,\"tid\":3,\"ts\":6.400,"
        ));
        assert!(trace.contains("\"access 1\":\"reads 1,024 bytes at 0x7ffd00000400\""));
    }

    #[test]
    fn an_edge_from_what_is_forgotten_has_no_arrow() {
        let mut report = sample::report("a.py");
        report.operations.retain(|operation| operation.ordinal != 3);
        assert_eq!(report.trace().matches("\"name\":\"edge\"").count(), 2);
    }
}
