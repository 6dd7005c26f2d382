//! The trace as a timeline: calls of the host and work of the devices, in the trace-event format of Perfetto and
//! `chrome://tracing`.
//!
//! Times are those at which this process made the calls and executed the work. So the timeline shows where a test spends its time, and
//! which call made pending work run. The devices' own clock, which events measure, is an argument of each operation.
//!
//! Events are written as they happen, up to a size. Later ones are held, and the oldest of them are left out. A finding writes the held
//! events and those after it, so the file has what happened around each finding, and at the end. So the file and the memory are bounded.
//! An array of events may lack its end: viewers read the file of a killed process too.

use super::Made;
use cuarray_abi::CUstream;
use cuarray_races::site::Site;
use cuarray_races::symbol::call_name;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of the host among the processes of the viewer; device *n* is number *n* + 1.
const HOST: u32 = 0;

/// The bytes of events that are written from the start of the program.
const START: usize = 64 << 20;
/// The bytes of events that are held, and the bytes that are written after a finding.
const AROUND: usize = 2 << 20;
/// The most findings whose events are written after the start.
const FINDINGS: usize = 32;

/// Few enough bytes that little is missing if the process is killed.
const BUFFER: usize = 1 << 16;

/// One event. The keys are those of the format, and times are microseconds.
#[derive(Serialize)]
struct Event<'a> {
    ph: &'static str,
    name: &'a str,
    pid: u32,
    tid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bind_id: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    flow_in: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    flow_out: bool,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

/// The call that enqueued an operation.
#[derive(Debug)]
pub(crate) struct Origin {
    pub flow: u64,
    pub call: &'static str,
    pub site: Arc<Site>,
}

/// An operation of a stream, as the timeline shows it.
pub(crate) struct Slice {
    pub name: String,
    pub args: Map<String, Value>,
    pub device: i32,
    pub stream: CUstream,
    /// The kind of stream, as in `stream 2 (non-blocking)`.
    pub stream_kind: &'static str,
}

/// The open file, and the streams, threads and devices that have a name in it.
struct Out {
    file: BufWriter<File>,
    /// The number of each stream that has executed an operation.
    streams: HashMap<CUstream, u64>,
    /// The host threads, and the devices by their numbers in the viewer, that have a name.
    threads: Vec<u64>,
    devices: Vec<u32>,
    ended: bool,
    /// The bytes that are still written at once.
    left: usize,
    /// The events that are held, each with its time, and their bytes.
    held: VecDeque<(f64, Vec<u8>)>,
    held_bytes: usize,
    /// The number of events that were left out since the last one in the file, and the time of the first of them.
    dropped: (u64, f64),
    /// The findings of the program so far, and how many of them the file shows with their events.
    findings: (usize, usize),
}

/// An open timeline.
pub(crate) struct Timeline {
    began: Instant,
    flows: AtomicU64,
    out: Mutex<Out>,
}

impl Timeline {
    pub(super) fn new(file: File) -> Timeline {
        let mut file = BufWriter::with_capacity(BUFFER, file);
        // A failure to write (such as a full disk) does not fail the program, here and below.
        let _ = file.write_all(b"[");
        let mut out = Out {
            file,
            streams: HashMap::new(),
            threads: Vec::new(),
            devices: Vec::new(),
            ended: false,
            left: START,
            held: VecDeque::new(),
            held_bytes: 0,
            dropped: (0, 0.0),
            findings: (0, 0),
        };
        let name = format!("process {}", std::process::id());
        out.first(&metadata("process_name", HOST, 0, &name));
        Timeline { began: Instant::now(), flows: AtomicU64::new(1), out: Mutex::new(out) }
    }

    /// A number for the arrows from one call to its work.
    pub(crate) fn new_flow(&self) -> u64 {
        self.flows.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes a call that began at `at`. Queries, which have no site and enqueue nothing, are left out.
    pub(super) fn call(&self, call: &Made<'_>, at: Instant) {
        if call.site.is_unknown() && call.flow.is_none() && call.result.is_success() {
            return;
        }
        let mut args = Map::new();
        if !call.site.is_unknown() {
            args.insert("site".to_owned(), call.site.to_string().into());
        }
        if !call.result.is_success() {
            let result = call.result.name().map_or_else(|| call.result.0.to_string(), str::to_owned);
            args.insert("result".to_owned(), result.into());
        }
        let event = Event {
            bind_id: call.flow.map(|flow| flow.to_string()),
            flow_out: call.flow.is_some(),
            ..self.slice(call_name(call.symbol), HOST, call.thread, at, call.took, args)
        };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if !out.threads.contains(&call.thread) {
            out.threads.push(call.thread);
            out.event(&metadata("thread_name", HOST, call.thread, &format!("host thread {}", call.thread)));
        }
        out.event(&event);
    }

    /// Writes an operation that began at `at`. `findings` is the number of the program's findings so far.
    pub(crate) fn operation(
        &self,
        slice: Slice,
        origin: Option<&Origin>,
        (at, took): (Instant, Duration),
        findings: usize,
    ) {
        let mut args = slice.args;
        if let Some(origin) = origin {
            args.insert("call".to_owned(), call_name(origin.call).into());
            if !origin.site.is_unknown() {
                args.insert("site".to_owned(), origin.site.to_string().into());
            }
        }
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let device = u32::try_from(slice.device).unwrap_or(0) + 1;
        if !out.devices.contains(&device) {
            out.devices.push(device);
            out.event(&metadata("process_name", device, 0, &format!("device {}", slice.device)));
        }
        let next = out.streams.len() as u64 + 1;
        let number = *out.streams.entry(slice.stream).or_insert(next);
        if number == next {
            out.event(&metadata("thread_name", device, number, &format!("stream {number} ({})", slice.stream_kind)));
        }
        out.event(&Event {
            bind_id: origin.map(|origin| origin.flow.to_string()),
            flow_in: origin.is_some(),
            ..self.slice(&slice.name, device, number, at, took, args)
        });
        out.found(findings);
    }

    /// Completes the file. Later events are left out.
    pub(crate) fn end(&self) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if !out.ended {
            out.write_held();
            out.ended = true;
            let _ = out.file.write_all(b"\n]\n").and_then(|()| out.file.flush());
        }
    }

    fn slice<'a>(
        &self,
        name: &'a str,
        pid: u32,
        tid: u64,
        at: Instant,
        took: Duration,
        args: Map<String, Value>,
    ) -> Event<'a> {
        let ts = microseconds(at.saturating_duration_since(self.began));
        let dur = microseconds(took);
        Event {
            ph: "X",
            name,
            pid,
            tid,
            ts: Some(ts),
            dur: Some(dur),
            bind_id: None,
            flow_in: false,
            flow_out: false,
            args,
        }
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        self.end();
    }
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1000.0
}

fn metadata(kind: &'static str, pid: u32, tid: u64, name: &str) -> Event<'static> {
    let args = Map::from_iter([("name".to_owned(), name.into())]);
    Event { ph: "M", name: kind, pid, tid, ts: None, dur: None, bind_id: None, flow_in: false, flow_out: false, args }
}

impl Out {
    fn first(&mut self, event: &Event<'_>) {
        let _ = self.file.write_all(b"\n");
        let _ = serde_json::to_writer(&mut self.file, event);
    }

    fn event(&mut self, event: &Event<'_>) {
        if self.ended {
            return;
        }
        // Serialization of plain data into memory does not fail.
        let text = serde_json::to_vec(event).unwrap_or_default();
        if text.len() <= self.left || event.ph == "M" {
            self.left = self.left.saturating_sub(text.len());
            return self.append(&text);
        }
        self.left = 0;
        self.held_bytes += text.len();
        self.held.push_back((event.ts.unwrap_or_default(), text));
        while self.held_bytes > AROUND
            && let Some((time, text)) = self.held.pop_front()
        {
            self.held_bytes -= text.len();
            self.dropped = if self.dropped.0 == 0 { (1, time) } else { (self.dropped.0 + 1, self.dropped.1) };
        }
    }

    fn append(&mut self, text: &[u8]) {
        let _ = self.file.write_all(b",\n").and_then(|()| self.file.write_all(text));
    }

    /// Writes what is held, and the next events, if there are new findings.
    fn found(&mut self, findings: usize) {
        let (known, shown) = self.findings;
        let shows = findings > known && shown < FINDINGS && self.left < AROUND;
        self.findings = (findings, shown + usize::from(shows));
        if shows {
            self.write_held();
            self.left = AROUND;
        }
    }

    /// Writes the held events, after one that tells how many others are left out.
    fn write_held(&mut self) {
        let (dropped, time) = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            let name = format!("{dropped} events are left out here");
            let event = Event { ph: "i", name: &name, ts: Some(time), args: Map::new(), ..metadata("", HOST, 0, "") };
            self.append(&serde_json::to_vec(&event).unwrap_or_default());
        }
        self.held_bytes = 0;
        for (_, text) in std::mem::take(&mut self.held) {
            self.append(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the events of a timeline whose operations have their number as a name. Findings are made at some of them.
    fn names(start: usize, operations: usize, findings: &[usize]) -> (Vec<String>, usize) {
        let path = std::env::temp_dir().join(format!("cuarray-timeline-{start}-{}.json", std::process::id()));
        let timeline = Timeline::new(File::create(&path).unwrap());
        timeline.out.lock().unwrap().left = start;
        for number in 0..operations {
            let args = Map::from_iter([("text".to_owned(), "x".repeat(200).into())]);
            let slice =
                Slice { name: number.to_string(), args, device: 0, stream: CUstream(1), stream_kind: "blocking" };
            let found = findings.iter().filter(|at| **at <= number).count();
            timeline.operation(slice, None, (Instant::now(), Duration::ZERO), found);
        }
        timeline.end();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let events: Vec<Value> = serde_json::from_str(&text).unwrap();
        let shown = events.iter().filter(|event| event["ph"] != "M");
        (shown.map(|event| event["name"].as_str().unwrap().to_owned()).collect(), text.len())
    }

    #[test]
    fn long_timeline_has_its_start_its_end_and_the_events_around_findings() {
        let (names, size) = names(10_000, 60_000, &[30_000]);
        assert!(size < 10_000 + 4 * AROUND, "{size}");
        let has = |number: usize| names.contains(&number.to_string());
        let gaps: Vec<_> = names.iter().filter(|name| name.ends_with(" events are left out here")).collect();
        assert!(has(0) && has(29_000) && has(30_000) && has(34_000) && has(59_999), "{gaps:?}");
        assert!(!has(5_000) && !has(45_000), "{gaps:?}");
        assert_eq!(gaps.len(), 2);
        let left_out: usize = gaps.iter().map(|gap| gap.split(' ').next().unwrap().parse::<usize>().unwrap()).sum();
        assert_eq!(left_out + names.len() - gaps.len(), 60_000);
    }

    #[test]
    fn many_findings_do_not_make_a_long_timeline() {
        let findings: Vec<usize> = (0..1_000).map(|number| number * 400).collect();
        let (_, size) = names(20_000, 400_000, &findings);
        assert!(size < (FINDINGS + 2) * 2 * AROUND, "{size}");
        assert_eq!(names(START, 100, &[]).0.len(), 100);
    }
}
