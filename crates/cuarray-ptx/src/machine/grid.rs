//! A launch: all blocks of a grid.
//!
//! Results must not depend on the number of cores. A kernel whose blocks can observe their order runs them in order,
//! in one host thread. Blocks can observe their order through results of atomics, floating-point reductions, volatile
//! memory, or a grid barrier. Blocks that wait for other blocks take turns. The blocks of all other kernels are
//! distributed over the cores.

use super::Machine;
use super::asynchronous::Copying;
use super::block::{Block, BlockPause, GridBarrier, Round};
use super::cluster::{Cluster, RANK_SHIFT};
use super::deadlock::Search;
use super::direct::Shapes;
use super::fault::{Fault, FaultKind, Progress};
use super::grid_sync::{self, GridWord};
use super::launch::{Launch, Outcome};
use super::misuse::Misuses;
use super::native::Native;
#[cfg(target_arch = "x86_64")]
use super::native::{Cohort, Following, Journal};
use super::pattern::{Chains, Pattern};
use super::polls::Polls;
use super::recorder::Recorder;
use super::region::Strength;
use super::succession::Supply;
use super::touched_range::TouchedRange;
use super::turns::{KernelOrder, Turns};
use super::warp::Warp;
use crate::races::Races;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time that a launch is expected to take in one host thread, from which on it starts further ones. To start one takes about a tenth of it.
const LONG: Duration = Duration::from_micros(400);
/// The number of instructions in a block's turn, if blocks run in order.
const TURN: u64 = 2_000_000;
/// The number of instructions in a turn of a cluster's block.
const CLUSTER_TURN: u64 = 100_000;
/// The instructions for which blocks begin in place of ended ones before the time is compared with [`LONG`].
const BRIEF: u64 = 20_000;
/// The maximum number of unfinished blocks, if blocks start in another order than that of a device.
const RESIDENT: usize = 4096;

/// Executes a launch.
///
/// # Panics
/// If the program has no such function, if the constants belong to another program, or if the parameters are too
/// short.
///
/// # Safety
/// The host memory of each region is valid until the call returns, and writable if the region is. Other threads access
/// it by atomic operations only. `start` and `host` of a region are equal modulo 8.
///
/// Regions are in ascending order and do not overlap. The constants come from `Program::constants` of the same
/// program.
pub unsafe fn execute(launch: &Launch<'_>) -> Outcome {
    let (kernel, program) = (launch.kernel, launch.program);
    assert!((kernel as usize) < program.functions.len(), "the program has no function {kernel}");
    assert_eq!(launch.constants.len(), program.constant_words(), "the constants belong to another program");
    assert!(size_of_val(launch.parameters) >= program.parameter_bytes(kernel) as usize, "parameters are missing");
    let reached = launch.program.reachable(launch.kernel);
    let functions = reached.iter().map(|number| &launch.program.functions[*number as usize]);
    let in_order = launch.cooperative
        || launch.follows_memory_model()
        || functions.clone().any(|function| function.ordered || function.grid_wide);
    let extents = launch.cluster_extents();
    assert!(
        (0..3).all(|axis| extents[axis] > 0 && launch.grid[axis].is_multiple_of(extents[axis])),
        "the clusters do not fit"
    );
    assert!(launch.block_threads() <= 1024, "the block has too many threads");
    assert!(launch.cluster_blocks() < 255, "the cluster has too many blocks");
    let shared = program.shared + u64::from(launch.dynamic_shared);
    assert!(launch.cluster.is_none() || shared < 1 << RANK_SHIFT, "a block of a cluster has too much shared memory");
    if !launch.cooperative {
        return if in_order { in_turns(launch) } else { spread(launch) };
    }
    let mut workspace = grid_sync::Workspace::default();
    let mut regions = launch.regions.to_vec();
    regions.push(workspace.region());
    let mut outcome = in_turns(&Launch { regions: &regions, ..*launch });
    outcome.touched.retain(|range| range.start < grid_sync::ADDRESS);
    outcome.before_wait.retain(|range| range.start < grid_sync::ADDRESS);
    outcome
}

impl<'a> Machine<'a> {
    /// Starts a block that is not in a cluster with other blocks.
    pub(super) fn start_alone(&mut self, number: u64) {
        self.turns.begin(number);
        self.clusters[0].start(number, [0; 3], 1, self.launch.block_threads());
        self.clusters[0].index = self.launch.block_index(number, 0);
        self.start_block(0, 0);
    }

    fn new(launch: &'a Launch<'a>, finished: &'a AtomicU64) -> Machine<'a> {
        let races = Races::new(launch.races, launch.searched, launch.rank_bits());
        Machine {
            bases: [std::ptr::null_mut(), launch.constants.as_ptr().cast_mut().cast()],
            pc: 0,
            limit: u32::MAX,
            active: 0,
            mask: 0,
            write: 0,
            frame: 0,
            local_base: 0,
            resumed: false,
            forced: false,
            together: None,
            rotated: false,
            executed: 0,
            lanes: 0,
            turn_end: 0,
            warp_end: 0,
            warp: Warp::ended(),
            block: Block::default(),
            grid: GridBarrier { live: u64::MAX, ..GridBarrier::default() },
            clusters: vec![Cluster::default()],
            round: Round::default(),
            block_turn: 0,
            nanoseconds: 0,
            grid_word: GridWord::of(launch),
            fault: None,
            found: vec![0; launch.program.code.len()],
            without_gaps: (0, 0),
            region: u32::MAX,
            only_read: launch.only_read(),
            shared: launch.program.shared_range(launch.kernel),
            addresses: [0; 32],
            pattern: Pattern::Other,
            chains: Chains::default(),
            pointers: [std::ptr::null_mut(); 32],
            local_lanes: 0,
            waited: false,
            shapes: Shapes::new(launch.record || launch.races, launch.program.direct, launch.program.code.len()),
            recorder: Recorder::new(launch.record, launch.regions.len())
                .ordered(launch.hands_over())
                .following(!launch.dependent && launch.aliases.is_empty()),
            misuses: Misuses::default(),
            undefined: launch.program.follows.then(Box::default),
            unwritten_reads: Vec::new(),
            repeats: false,
            freed: BTreeMap::new(),
            allocated: BTreeMap::new(),
            last_errors: BTreeMap::new(),
            poison: [u64::MAX; 8],
            unused: 0,
            races,
            causality: None,
            copying: Copying::default(),
            turns: Turns::new(launch.order),
            polls: Polls::new(launch.order.is_fixed()),
            search: Search::default(),
            finished,
            supply: None,
            taken: 0..0,
            ended: 0,
            native: Some(Box::new(Native::new(launch))),
            #[cfg(target_arch = "x86_64")]
            journal: Journal::new(launch),
            #[cfg(target_arch = "x86_64")]
            cohort: Cohort::default(),
            #[cfg(target_arch = "x86_64")]
            following: Following::default(),
            panic: None,
            launch,
            program: launch.program,
        }
    }
}

/// The instructions that a block may execute next: few enough to notice an exhausted budget.
fn turn(launch: &Launch<'_>, used: u64) -> u64 {
    launch.budget.saturating_sub(used).saturating_add(1).min(TURN)
}

/// The state that workers share.
#[derive(Default)]
struct Shared {
    supply: Supply,
    sum: Mutex<Sum>,
}

#[derive(Default)]
struct Sum {
    fault: Option<(u64, Fault)>,
    lanes: u64,
    nanoseconds: u64,
    recorder: Option<Recorder>,
    races: Option<Races>,
    misuses: Misuses,
    undefined: Vec<(u64, u64)>,
    unwritten_reads: Vec<(u64, u64)>,
    printed: Vec<(u64, Vec<u8>)>,
}

fn spread(launch: &Launch<'_>) -> Outcome {
    let shared = Shared::default();
    if launch.workers.min(launch.cluster_count() as usize) < 2 {
        work(launch, &shared, None::<fn()>);
        return spread_outcome(launch, shared);
    }
    std::thread::scope(|scope| {
        let helpers = || {
            for _ in 1..launch.workers {
                // If no thread can be started, the other threads run its blocks.
                let worker = std::thread::Builder::new().name("cuarray-ptx".to_owned());
                drop(worker.spawn_scoped(scope, || work(launch, &shared, None::<fn()>)));
            }
        };
        work(launch, &shared, Some(helpers));
    });
    spread_outcome(launch, shared)
}

/// The outcome of a launch whose blocks were spread over the cores.
fn spread_outcome(launch: &Launch<'_>, shared: Shared) -> Outcome {
    let mut sum = shared.sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.printed.sort_by_key(|(block, _)| *block);
    let failed = sum.fault.as_ref().map(|(cluster, _)| *cluster);
    Outcome {
        races: launch.with_strong_stores(sum.races.map(|races| races.finish(launch, failed)).unwrap_or_default()),
        fault: sum.fault.map(|(_, fault)| fault),
        misuses: sum.misuses.finish(failed, |block| launch.cluster_of(block)),
        undefined: sum.undefined,
        unwritten_reads: sum.unwritten_reads,
        instructions: sum.lanes,
        nanoseconds: sum.nanoseconds,
        before_wait: before_wait(launch, sum.recorder.as_ref()),
        handed_over: sum.recorder.as_ref().map_or([Strength::Weak; 2], Recorder::handed_over),
        touched: sum.recorder.map(|recorder| recorder.touched(launch.regions)).unwrap_or_default(),
        printed: sum.printed.into_iter().flat_map(|(_, text)| text).collect(),
    }
}

/// The ranges that a dependent launch accessed before it waited for its prerequisite grids.
fn before_wait(launch: &Launch<'_>, recorder: Option<&Recorder>) -> Vec<TouchedRange> {
    let recorder = recorder.filter(|_| launch.dependent);
    recorder.map(|recorder| recorder.touched_before_wait(launch.regions)).unwrap_or_default()
}

/// Runs clusters until none is left. Calls `help` once, if that is expected to take longer than [`LONG`].
fn work(launch: &Launch<'_>, shared: &Shared, mut help: Option<impl FnOnce()>) {
    let (total, started) = (launch.cluster_count(), Instant::now());
    let mut machine = Machine::new(launch, &shared.supply.finished);
    let mut call_if_long = || {
        if help.is_some() {
            let begun = shared.supply.next.load(Ordering::Relaxed);
            // The blocks that have not begun are taken to be as long as the others.
            let expected = started.elapsed().as_nanos() * u128::from(total);
            if begun < total && expected > LONG.as_nanos() * u128::from(begun) {
                help.take().into_iter().for_each(|help| help());
            }
        }
        help.is_none()
    };
    machine.races.grid.sequential = launch.cluster_blocks() == 1;
    let (mut printed, mut blocks) = (Vec::new(), Vec::new());
    while let Some(number) = shared.supply.take(launch, &mut machine.taken) {
        let before = machine.executed;
        if launch.cluster_blocks() > 1 {
            machine.turns.begin(number);
            run_cluster(&mut machine, &mut blocks, number, shared, || {
                call_if_long();
            });
        } else {
            let until = if call_if_long() { u64::MAX } else { before + BRIEF };
            machine.supply = Some((&shared.supply, until));
            machine.start_alone(number);
            run_alone(&mut machine, before, shared, || {
                call_if_long();
            });
        }
        let number = machine.clusters[machine.block.cluster].number;
        shared.supply.executed.fetch_add(machine.executed - before, Ordering::Relaxed);
        let ended = std::mem::take(&mut machine.ended) + u64::from(launch.cluster_blocks());
        shared.supply.finished.fetch_add(ended, Ordering::Relaxed);
        blocks.iter_mut().for_each(|block| machine.settle_updates(Some(block)));
        machine.settle_updates(None);
        for block in blocks.iter_mut().chain([&mut machine.block]).filter(|block| !block.printed.is_empty()) {
            printed.push((block.number, std::mem::take(&mut block.printed)));
        }
        if let Some(mut fault) = machine.fault.take() {
            if fault.is_hang() {
                let all = || blocks.iter().chain([&machine.block]);
                fault.waiting = machine.waiting_threads(all());
                let started = u64::from(launch.cluster_blocks());
                fault.progress.ended =
                    started * u64::from(launch.block_threads()) - all().map(|block| u64::from(block.live)).sum::<u64>();
            }
            shared.supply.failed.fetch_min(number, Ordering::Relaxed);
            let mut sum = shared.sum.lock().unwrap_or_else(PoisonError::into_inner);
            if sum.fault.as_ref().is_none_or(|(first, _)| number < *first) {
                sum.fault = Some((number, *fault));
            }
        }
    }
    launch.program.generated.executed(launch.program, launch.kernel, machine.executed);
    let mut undefined = machine.undefined_ranges();
    let mut sum = shared.sum.lock().unwrap_or_else(PoisonError::into_inner);
    sum.undefined.append(&mut undefined);
    sum.unwritten_reads.append(&mut machine.unwritten_reads);
    sum.lanes += machine.lanes;
    sum.nanoseconds = sum.nanoseconds.max(machine.nanoseconds);
    sum.printed.append(&mut printed);
    match sum.recorder.as_mut() {
        Some(recorder) => recorder.merge(machine.recorder),
        None => sum.recorder = Some(machine.recorder),
    }
    sum.misuses.merge(machine.misuses);
    match sum.races.as_mut() {
        Some(races) => races.merge(machine.races),
        None => sum.races = Some(machine.races),
    }
}

/// Runs a block that is not in a cluster with other blocks, and those that begin in its place.
fn run_alone(machine: &mut Machine<'_>, before: u64, shared: &Shared, mut between: impl FnMut()) {
    loop {
        let used = shared.supply.executed.load(Ordering::Relaxed) + (machine.executed - before);
        if used > machine.launch.budget {
            return machine.fail_block(FaultKind::Budget);
        }
        let longest = turn(machine.launch, used).min(machine.search.until_due(machine.executed));
        match machine.run_block(1, longest, &mut between) {
            BlockPause::Turn | BlockPause::Waits => {}
            BlockPause::Blocked => return machine.fail_block(FaultKind::Deadlock),
            BlockPause::Still => {
                if machine.end_deadlock([].iter()) {
                    return;
                }
            }
            BlockPause::Done => return machine.end_block(),
            BlockPause::Failed => return,
        }
    }
}

/// Runs the blocks of a cluster in turns.
fn run_cluster(
    machine: &mut Machine<'_>,
    blocks: &mut Vec<Block>,
    number: u64,
    shared: &Shared,
    mut between: impl FnMut(),
) {
    let before = machine.executed;
    machine.start_cluster(0, number, blocks);
    while machine.clusters[0].live_blocks > 0 && machine.fault.is_none() {
        let live: Vec<usize> = (0..blocks.len()).filter(|index| blocks[*index].live > 0).collect();
        for index in live.iter().copied() {
            let used = shared.supply.executed.load(Ordering::Relaxed) + (machine.executed - before);
            std::mem::swap(&mut machine.block, &mut blocks[index]);
            match machine.run_block(live.len(), turn(machine.launch, used).min(CLUSTER_TURN), &mut between) {
                BlockPause::Done => machine.end_block(),
                _ if used > machine.launch.budget => machine.fail_block(FaultKind::Budget),
                BlockPause::Still => {
                    let others = live.iter().filter(|other| **other != index).map(|other| &blocks[*other]);
                    if others.clone().all(|block| block.live == 0 || block.is_still(&machine.search)) {
                        machine.end_deadlock(others);
                    }
                }
                BlockPause::Turn | BlockPause::Blocked | BlockPause::Waits | BlockPause::Failed => {}
            }
            std::mem::swap(&mut machine.block, &mut blocks[index]);
            if machine.fault.is_some() {
                return;
            }
        }
    }
}

fn in_turns(launch: &Launch<'_>) -> Outcome {
    let total = launch.cluster_count();
    let size = launch.cluster_blocks() as usize;
    let finished = AtomicU64::new(0);
    let mut machine = Machine::new(launch, &finished);
    machine.follow_memory_model();
    machine.grid.live = total.saturating_mul(launch.block_threads().into()).saturating_mul(size as u64);
    let mut waiting: VecDeque<Block> = VecDeque::new();
    // Blocks of the last started cluster that have not run yet.
    let mut fresh: VecDeque<Block> = VecDeque::new();
    let (mut spare, mut slots): (Vec<Block>, Vec<usize>) = (Vec::new(), vec![0]);
    let (mut next, mut printed) = (0, Vec::new());
    machine.turns.begin(0);
    // Code that waits for blocks with lower numbers relies on their order.
    let resident = if launch.order == KernelOrder::Forward { launch.resident_blocks.max(1) } else { RESIDENT };
    while machine.fault.is_none() {
        let may_begin = next < total && (launch.cooperative || waiting.len() < resident);
        if fresh.is_empty() && may_begin {
            let slot = slots.pop().unwrap_or_else(|| {
                machine.clusters.push(Cluster::default());
                machine.clusters.len() - 1
            });
            let mut blocks: Vec<Block> = (0..size).filter_map(|_| spare.pop()).collect();
            let number = machine.turns.next_cluster(next, total);
            machine.start_cluster(slot, number, &mut blocks);
            fresh.extend(blocks);
            next += 1;
        }
        let begins = !fresh.is_empty() && (waiting.is_empty() || !machine.turns.waits_first());
        let chosen = match begins {
            true => fresh.remove(machine.turns.fresh(fresh.len())),
            false if waiting.is_empty() => None,
            false => waiting.remove(machine.turns.waiting(waiting.len())),
        };
        match chosen {
            Some(block) => machine.block = block,
            None => break,
        }
        let before = machine.executed;
        // Blocks of a cluster wait for each other, so they take short turns, as in `run_cluster`.
        let longest = if size > 1 { CLUSTER_TURN } else { TURN };
        let longest = machine.turns.length(turn(launch, before).min(longest));
        let pause = machine.run_block(waiting.len() + 1, longest, || {});
        if machine.executed > launch.budget {
            machine.fail_block(FaultKind::Budget);
        }
        if pause == BlockPause::Still
            && fresh.is_empty()
            && !may_begin
            && waiting.iter().all(|block| block.is_still(&machine.search))
            && machine.fault.is_none()
        {
            machine.end_deadlock(waiting.iter());
        }
        match pause {
            BlockPause::Done => {
                machine.end_block();
                finished.fetch_add(1, Ordering::Relaxed);
                machine.settle_updates(None);
                printed.push((machine.block.number, std::mem::take(&mut machine.block.printed)));
                if machine.clusters[machine.block.cluster].live_blocks == 0 {
                    slots.push(machine.block.cluster);
                }
                spare.push(std::mem::take(&mut machine.block));
            }
            _ => waiting.push_back(std::mem::take(&mut machine.block)),
        }
    }
    let started = next * size as u64 - fresh.len() as u64;
    ended(machine, waiting, (started, total * size as u64), printed)
}

/// The outcome of a launch whose blocks have run in turns, from the numbers of started blocks and of all. Waiting blocks have not ended.
fn ended(
    mut machine: Machine<'_>,
    mut waiting: VecDeque<Block>,
    (started, blocks): (u64, u64),
    mut printed: Vec<(u64, Vec<u8>)>,
) -> Outcome {
    let launch = machine.launch;
    launch.program.generated.executed(launch.program, launch.kernel, machine.executed);
    let mut fault = machine.fault.take().map(|fault| *fault);
    if let Some(fault) = fault.as_mut().filter(|fault| fault.is_hang()) {
        fault.waiting = machine.waiting_threads(waiting.iter());
        let live: u64 = waiting.iter().map(|block| u64::from(block.live)).sum();
        // Each block has as many live threads as the one with the most, but for those that ended early.
        let most = waiting.iter().map(|block| u64::from(block.live)).max().unwrap_or(0);
        fault.progress = Progress {
            ended: started * u64::from(launch.block_threads()) - live,
            ended_early: started * most - live,
            ended_blocks: started - waiting.len() as u64,
            not_started: blocks - started,
        };
    }
    machine.settle_updates(None);
    waiting.iter_mut().for_each(|block| machine.settle_updates(Some(block)));
    printed.extend(waiting.iter_mut().map(|block| (block.number, std::mem::take(&mut block.printed))));
    printed.sort_by_key(|(block, _)| *block);
    let undefined = machine.undefined_ranges();
    Outcome {
        fault,
        races: launch.with_strong_stores(machine.races.finish(launch, None)),
        misuses: machine.misuses.finish(None, |block| block),
        undefined,
        unwritten_reads: machine.unwritten_reads,
        instructions: machine.lanes,
        nanoseconds: machine.nanoseconds,
        before_wait: before_wait(launch, Some(&machine.recorder)),
        handed_over: machine.recorder.handed_over(),
        touched: machine.recorder.touched(launch.regions),
        printed: printed.into_iter().flat_map(|(_, text)| text).collect(),
    }
}
