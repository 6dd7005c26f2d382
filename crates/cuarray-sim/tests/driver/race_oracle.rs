//! Random programs have a finding if and only if two of their accesses are unordered.
//!
//! The oracle has no clocks, lanes or shadow memory. For each stream and for the host it stores the set of all
//! operations that precede the next one, and it compares every access with every earlier access. The simulator stores
//! only the last accesses of each byte, so of several races it may report only some. It reports at least one, and
//! never a false one.

use crate::program::*;
use cuarray_sim::HostOrder;
use cuarray_sim::finding::Kind;
use proptest::prelude::*;
use std::collections::BTreeSet;

const EVENTS: usize = 2;
/// Stream 0 is the legacy default stream, 1 the per-thread one; 2 and 3 are blocking, 4 and 5 are not.
const STREAMS: usize = 6;
const BYTES: usize = 64;

#[derive(Clone, Copy, Debug)]
enum Step {
    Write { stream: usize },
    Read { stream: usize },
    Record { stream: usize, event: usize },
    Wait { stream: usize, event: usize },
    HostFunction { stream: usize },
    Launch { stream: usize },
    Destroy { stream: usize },
    Synchronize { stream: usize },
    SynchronizeEvent { event: usize },
    SynchronizeContext,
    Download,
}

/// The way in which memory is allocated or freed.
#[derive(Clone, Copy, Debug)]
enum AllocationKind {
    Plain,
    InStream(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (stream, event) = (0..STREAMS, 0..EVENTS);
    prop_oneof![
        6 => stream.clone().prop_map(|stream| Step::Write { stream }),
        4 => stream.clone().prop_map(|stream| Step::Read { stream }),
        4 => (stream.clone(), event.clone()).prop_map(|(stream, event)| Step::Record { stream, event }),
        5 => (stream.clone(), event.clone()).prop_map(|(stream, event)| Step::Wait { stream, event }),
        1 => stream.clone().prop_map(|stream| Step::HostFunction { stream }),
        2 => stream.clone().prop_map(|stream| Step::Launch { stream }),
        1 => (2..STREAMS).prop_map(|stream| Step::Destroy { stream }),
        2 => stream.prop_map(|stream| Step::Synchronize { stream }),
        2 => event.prop_map(|event| Step::SynchronizeEvent { event }),
        1 => Just(Step::SynchronizeContext),
        1 => Just(Step::Download),
    ]
}

fn allocation_kind() -> impl Strategy<Value = AllocationKind> {
    prop_oneof![2 => Just(AllocationKind::Plain), 3 => (0..STREAMS).prop_map(AllocationKind::InStream)]
}

/// A set of operations, by their numbers.
type Set = BTreeSet<u32>;

/// The predecessors of each stream's next operation.
#[derive(Default)]
struct Oracle {
    operations: u32,
    /// Operations that the program has waited for.
    host: Set,
    /// Operations before the next operation of each stream.
    streams: [Set; STREAMS],
    events: [Option<Set>; EVENTS],
    /// Operations before the next launch of the graph.
    graph: Set,
    /// The stream-ordered allocation.
    allocation: Option<u32>,
    /// The accesses, and whether each of them writes.
    accesses: Vec<(u32, bool)>,
    found: BTreeSet<&'static str>,
}

impl Oracle {
    /// Adds an operation to a stream; returns its number and its predecessors.
    fn work(&mut self, stream: usize) -> (u32, Set) {
        let mut before = &self.streams[stream] | &self.host;
        match stream {
            0 => (1..4).for_each(|blocking| before.extend(&self.streams[blocking])),
            1..4 => before.extend(&self.streams[0]),
            _ => {}
        }
        self.operations += 1;
        self.streams[stream] = before.clone();
        self.streams[stream].insert(self.operations);
        (self.operations, before)
    }

    fn access(&mut self, (operation, before): (u32, Set), writes: bool) {
        if self.allocation.is_some_and(|allocation| !before.contains(&allocation)) {
            self.found.insert("use-before-allocation");
        }
        let unordered = |(other, wrote): &(u32, bool)| (writes || *wrote) && !before.contains(other);
        if self.accesses.iter().any(unordered) {
            self.found.insert("data-race");
        }
        self.accesses.push((operation, writes));
    }

    fn release(&mut self, before: &Set, in_stream: bool) {
        if self.accesses.iter().any(|(other, _)| !before.contains(other)) {
            self.found.insert("free-before-pending-work");
        }
        if in_stream && self.allocation.is_some_and(|allocation| !before.contains(&allocation)) {
            self.found.insert("use-before-allocation");
        }
    }

    fn synchronize(&mut self, stream: usize) {
        let last = if stream == 0 { 0..4 } else { stream..stream + 1 };
        last.for_each(|stream| self.host.extend(&self.streams[stream]));
    }
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

/// A graph that fills the memory.
fn graph(p: &Program, memory: CUdeviceptr) -> CUgraphExec {
    let (stream, mut graph, mut exec) = (p.stream(CU_STREAM_NON_BLOCKING), CUgraph::NULL, CUgraphExec::NULL);
    ok!(p, cuStreamBeginCapture_v2(stream, 2));
    p.fill(memory, 3, BYTES, stream);
    ok!(p, cuStreamEndCapture(stream, &mut graph));
    ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    exec
}

/// Runs a program and the oracle side by side. Returns the kinds that the simulator found, and the kinds that the
/// oracle expects.
#[expect(clippy::too_many_lines, reason = "each step is made by the simulator and by the oracle side by side")]
fn run(
    steps: &[Step],
    (begin, end): (AllocationKind, Option<AllocationKind>),
    schedule: Schedule,
) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    // In the default order, the moment at which a host function runs would order later calls.
    let p = Program::with(Config { schedule, host_order: HostOrder::Driver, ..Config::default() });
    let handles: [CUstream; STREAMS] = std::array::from_fn(|stream| match stream {
        0 => CU_STREAM_LEGACY,
        1 => CU_STREAM_PER_THREAD,
        2 | 3 => p.stream(CU_STREAM_DEFAULT),
        _ => p.stream(CU_STREAM_NON_BLOCKING),
    });
    let events: [CUevent; EVENTS] = std::array::from_fn(|_| p.event());
    let (mut oracle, mut memory, mut alive) = (Oracle::default(), 0, [true; STREAMS]);
    match begin {
        AllocationKind::Plain => memory = p.alloc(BYTES),
        AllocationKind::InStream(stream) => {
            ok!(p, cuMemAllocAsync(&mut memory, BYTES, handles[stream]));
            oracle.allocation = Some(oracle.work(stream).0);
        }
    }
    let exec = graph(&p, memory);
    for step in steps {
        match *step {
            Step::Write { stream }
            | Step::Read { stream }
            | Step::Record { stream, .. }
            | Step::Wait { stream, .. }
            | Step::HostFunction { stream }
            | Step::Launch { stream }
            | Step::Destroy { stream }
            | Step::Synchronize { stream }
                if !alive[stream] => {}
            Step::Write { stream } => {
                p.fill(memory, 1, BYTES, handles[stream]);
                let work = oracle.work(stream);
                oracle.access(work, true);
            }
            Step::Read { stream } => {
                let copy = p.alloc(BYTES);
                ok!(p, cuMemcpyDtoDAsync_v2(copy, memory, BYTES, handles[stream]));
                let work = oracle.work(stream);
                oracle.access(work, false);
            }
            Step::Record { stream, event } => {
                ok!(p, cuEventRecord(events[event], handles[stream]));
                oracle.work(stream);
                oracle.events[event] = Some(oracle.streams[stream].clone());
            }
            Step::Wait { stream, event } => {
                ok!(p, cuStreamWaitEvent(handles[stream], events[event], 0));
                if let Some(recorded) = oracle.events[event].clone() {
                    oracle.streams[stream].extend(recorded);
                    oracle.work(stream);
                }
            }
            Step::HostFunction { stream } => {
                ok!(p, cuLaunchHostFunc(handles[stream], Some(nothing), std::ptr::null_mut()));
                oracle.work(stream);
            }
            Step::Launch { stream } => {
                ok!(p, cuGraphLaunch(exec, handles[stream]));
                let last = oracle.graph.clone();
                oracle.streams[stream].extend(last);
                let work = oracle.work(stream);
                oracle.graph = oracle.streams[stream].clone();
                oracle.access(work, true);
            }
            Step::Destroy { stream } => {
                ok!(p, cuStreamDestroy_v2(handles[stream]));
                alive[stream] = false;
            }
            Step::Synchronize { stream } => {
                ok!(p, cuStreamSynchronize(handles[stream]));
                oracle.synchronize(stream);
            }
            Step::SynchronizeEvent { event } => {
                ok!(p, cuEventSynchronize(events[event]));
                oracle.host.extend(oracle.events[event].iter().flatten());
            }
            Step::SynchronizeContext => {
                ok!(p, cuCtxSynchronize());
                (0..STREAMS).for_each(|stream| oracle.synchronize(stream));
            }
            Step::Download => {
                let mut bytes = [0_u8; BYTES];
                ok!(p, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, BYTES));
                let work = oracle.work(0);
                oracle.access(work, false);
                let known = oracle.streams[0].clone();
                oracle.host.extend(known);
            }
        }
    }
    match end {
        None => {}
        // Freeing an ordinary allocation with `cuMemFree` waits for all work on it.
        Some(AllocationKind::Plain) => {
            ok!(p, cuMemFree_v2(memory));
            if oracle.allocation.is_some() {
                let known = oracle.host.clone();
                oracle.release(&known, false);
            }
        }
        Some(AllocationKind::InStream(stream)) => {
            let stream = if alive[stream] { stream } else { 0 };
            ok!(p, cuMemFreeAsync(memory, handles[stream]));
            let (_, before) = oracle.work(stream);
            oracle.release(&before, true);
        }
    }
    let found = p.sim.report().findings;
    // Another test covers uninitialized reads.
    let found = found.iter().map(|finding| finding.kind).filter(|kind| *kind != Kind::UninitializedRead);
    (found.map(Kind::name).collect(), oracle.found)
}

/// The number of programs: `PROPTEST_CASES`, or 400.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn findings_match_the_unordered_accesses_of_the_oracle(
        steps in prop::collection::vec(step(), 1..16),
        begin in allocation_kind(),
        end in prop::option::of(allocation_kind()),
        seed in any::<u64>(),
    ) {
        for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random(seed)] {
            let (found, expected) = run(&steps, (begin, end), schedule.clone());
            prop_assert_eq!(found.is_empty(), expected.is_empty(), "{}: found {:?}, expected {:?}", schedule, found, expected);
            prop_assert!(found.is_subset(&expected), "{}: found {:?}, expected {:?}", schedule, found, expected);
        }
    }
}
