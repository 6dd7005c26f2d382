//! A random program has only the outcomes that the order of its operations allows. All schedules together produce
//! every such outcome.
//!
//! The oracle has no queues, points or choices. It reads a program once, and records for each access the accesses
//! that precede it: by stream order, events, the legacy default stream, synchronizations, or the program's own order.
//! Then it runs the accesses in every order that these relations allow.

use crate::program::*;
use cuarray_sim::{Bounds, explore};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;

const CELLS: usize = 3;
const EVENTS: usize = 2;
/// Stream 0 is the legacy default stream, 1 and 2 are blocking, 3 is not.
const STREAMS: usize = 4;
const BLOCKING: [usize; 2] = [1, 2];
const MAX_ACCESSES: usize = 8;

#[derive(Clone, Copy, Debug)]
enum Step {
    Write {
        stream: usize,
        cell: usize,
    },
    Copy {
        stream: usize,
        from: usize,
        to: usize,
    },
    Record {
        stream: usize,
        event: usize,
    },
    Wait {
        stream: usize,
        event: usize,
    },
    Synchronize {
        stream: usize,
    },
    SynchronizeEvent {
        event: usize,
    },
    /// The program reads a cell on the host. Skipped if the cells are not in pinned memory.
    HostRead {
        cell: usize,
    },
}

/// The values that a program observes: the cells that it read on the host, then all cells at the end.
type Outcome = Vec<u8>;

fn step() -> impl Strategy<Value = Step> {
    let (stream, cell, event) = (0..STREAMS, 0..CELLS, 0..EVENTS);
    prop_oneof![
        4 => (stream.clone(), cell.clone()).prop_map(|(stream, cell)| Step::Write { stream, cell }),
        3 => (stream.clone(), cell.clone(), 1..CELLS).prop_map(|(stream, from, by)| Step::Copy { stream, from, to: (from + by) % CELLS }),
        2 => (stream.clone(), event.clone()).prop_map(|(stream, event)| Step::Record { stream, event }),
        // The manual does not say whether a wait for completed work counts as work of the legacy default stream.
        2 => (1..STREAMS, event.clone()).prop_map(|(stream, event)| Step::Wait { stream, event }),
        1 => stream.prop_map(|stream| Step::Synchronize { stream }),
        1 => event.prop_map(|event| Step::SynchronizeEvent { event }),
        2 => cell.prop_map(|cell| Step::HostRead { cell }),
    ]
}

/// Programs with few enough accesses that the oracle can try every order.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..16).prop_map(|mut steps| {
        let mut accesses = 0;
        steps.retain(|step| {
            accesses += usize::from(matches!(step, Step::Write { .. } | Step::Copy { .. } | Step::HostRead { .. }));
            accesses <= MAX_ACCESSES || matches!(step, Step::Record { .. } | Step::Wait { .. })
        });
        steps
    })
}

/// The value that step `index` writes.
fn value(index: usize) -> u8 {
    100 + index as u8
}

/// Runs a program on the simulated driver.
fn run(program: &Program, steps: &[Step], pinned: bool) -> Outcome {
    let at = if pinned { program.pinned(CELLS) as CUdeviceptr } else { program.alloc(CELLS) };
    ok!(program, cuMemsetD8_v2(at, 0, CELLS));
    ok!(program, cuCtxSynchronize());
    let streams = [CU_STREAM_LEGACY, program.stream(0), program.stream(0), program.stream(CU_STREAM_NON_BLOCKING)];
    let idle = program.stream(CU_STREAM_NON_BLOCKING);
    let events = [(); EVENTS].map(|()| program.event());
    let place = |cell: usize| at + cell as u64;
    let mut outcome = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        match *step {
            Step::Write { stream, cell } => program.fill(place(cell), value(index), 1, streams[stream]),
            Step::Copy { stream, from, to } => {
                ok!(program, cuMemcpyDtoDAsync_v2(place(to), place(from), 1, streams[stream]));
            }
            Step::Record { stream, event } => ok!(program, cuEventRecord(events[event], streams[stream])),
            Step::Wait { stream, event } => ok!(program, cuStreamWaitEvent(streams[stream], events[event], 0)),
            Step::Synchronize { stream } => ok!(program, cuStreamSynchronize(streams[stream])),
            Step::SynchronizeEvent { event } => ok!(program, cuEventSynchronize(events[event])),
            // Work runs only during driver calls. Without this call, no schedule could run work between two reads.
            Step::HostRead { cell } if pinned => {
                ok!(program, cuStreamQuery(idle));
                outcome.push(read(place(cell) as *const u8));
            }
            Step::HostRead { .. } => {}
        }
    }
    ok!(program, cuCtxSynchronize());
    let mut scratch = [0_u8; CELLS];
    ok!(program, cuMemcpyDtoH_v2(scratch.as_mut_ptr().cast(), at, CELLS));
    outcome.extend(scratch);
    outcome
}

/// An access, and the accesses that must precede it, one bit for each.
struct Access {
    step: usize,
    before: u32,
}

/// Whether a wait for an event in a blocking stream follows the work of the legacy default stream. The manual leaves it open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    FollowLegacy,
    Alone,
}

/// The accesses of a program and their order, by the manual's rules alone.
fn accesses(steps: &[Step], pinned: bool, waits: Waits) -> Vec<Access> {
    let mut accesses: Vec<Access> = Vec::new();
    let (mut done, mut host) = ([0_u32; STREAMS], 0_u32);
    let mut events = [0_u32; EVENTS];
    for (index, step) in steps.iter().enumerate() {
        // Work in the legacy default stream follows the work of the blocking streams, and precedes their later work.
        if let Step::Write { stream, .. } | Step::Copy { stream, .. } | Step::Record { stream, .. } = *step {
            match stream {
                0 => BLOCKING.into_iter().for_each(|other| done[0] |= done[other]),
                stream if BLOCKING.contains(&stream) => done[stream] |= done[0],
                _ => {}
            }
        }
        match *step {
            Step::Write { stream, .. } | Step::Copy { stream, .. } => {
                let bit = 1 << accesses.len();
                accesses.push(Access { step: index, before: done[stream] | host });
                done[stream] |= bit;
                // A copy between two host pointers is done when the call returns.
                host |= if pinned && matches!(step, Step::Copy { .. }) { done[stream] } else { 0 };
            }
            Step::Record { stream, event } => events[event] = done[stream],
            Step::Wait { stream, event } => {
                done[stream] |= events[event];
                if waits == Waits::FollowLegacy && BLOCKING.contains(&stream) {
                    done[stream] |= done[0];
                }
            }
            Step::Synchronize { stream: 0 } => {
                host |= BLOCKING.into_iter().fold(done[0], |all, other| all | done[other])
            }
            Step::Synchronize { stream } => host |= done[stream],
            Step::SynchronizeEvent { event } => host |= events[event],
            Step::HostRead { .. } if pinned => {
                let bit = 1 << accesses.len();
                accesses.push(Access { step: index, before: host });
                host |= bit;
            }
            Step::HostRead { .. } => {}
        }
    }
    accesses
}

/// The outcomes of all orders that the rules allow.
fn allowed(steps: &[Step], pinned: bool, waits: Waits) -> BTreeSet<Outcome> {
    let accesses = accesses(steps, pinned, waits);
    let host_reads = accesses.iter().filter(|access| matches!(steps[access.step], Step::HostRead { .. })).count();
    let (mut outcomes, mut visited) = (BTreeSet::new(), HashSet::new());
    let mut states = vec![(0_u32, [0_u8; CELLS], Vec::new())];
    while let Some(state) = states.pop() {
        if !visited.insert(state.clone()) {
            continue;
        }
        let (done, cells, seen) = state;
        if done.count_ones() as usize == accesses.len() {
            assert_eq!(seen.len(), host_reads);
            outcomes.insert([seen, cells.to_vec()].concat());
            continue;
        }
        for (bit, access) in accesses.iter().enumerate().map(|(index, access)| (1 << index, access)) {
            if done & bit != 0 || access.before & !done != 0 {
                continue;
            }
            let (mut cells, mut seen) = (cells, seen.clone());
            match steps[access.step] {
                Step::Write { cell, .. } => cells[cell] = value(access.step),
                Step::Copy { from, to, .. } => cells[to] = cells[from],
                Step::HostRead { cell } => seen.push(cells[cell]),
                _ => unreachable!("not an access"),
            }
            states.push((done | bit, cells, seen));
        }
    }
    outcomes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_schedules_have_only_allowed_outcomes(steps in steps(), pinned: bool, seed: u64) {
        let allowed = allowed(&steps, pinned, Waits::Alone);
        let schedules = [Schedule::Lazy, Schedule::Eager].into_iter().chain((0..8).map(|n| Schedule::Random(seed ^ n)));
        for schedule in schedules {
            let program = Program::with(Config { schedule: schedule.clone(), ..Config::default() });
            let outcome = run(&program, &steps, pinned);
            prop_assert!(allowed.contains(&outcome), "{schedule}: {outcome:?} is not in {allowed:?}");
        }
    }

    #[test]
    fn all_schedules_together_have_every_allowed_outcome(steps in steps(), pinned: bool) {
        let (allowed, expected) = (allowed(&steps, pinned, Waits::Alone), allowed(&steps, pinned, Waits::FollowLegacy));
        let outcomes = Mutex::new(BTreeSet::new());
        let bounds = Bounds { schedules: 400, deviations: None };
        let exploration = explore(&Config::default(), bounds, |sim| {
            outcomes.lock().unwrap().insert(run(&Program::over(sim), &steps, pinned));
        });
        let (exploration, outcomes) = (exploration.unwrap(), outcomes.into_inner().unwrap());
        prop_assert!(outcomes.is_subset(&allowed), "the outcomes {outcomes:?} are not all in {allowed:?}");
        if exploration.complete {
            prop_assert!(outcomes.is_superset(&expected), "the outcomes {outcomes:?} lack some of {expected:?}");
        }
    }
}
