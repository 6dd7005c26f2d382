//! A launch: all blocks of a grid.
//!
//! Results must not depend on the number of cores. A kernel whose blocks can observe their order runs them in order,
//! in one host thread. Blocks can observe their order through results of atomics, floating-point reductions, volatile
//! memory, or a grid barrier. Blocks that wait for other blocks take turns. The blocks of all other kernels are
//! distributed over the cores.

use super::Machine;
use super::block::{Block, BlockPause, GridBarrier};
use super::fault::{Fault, FaultKind};
use super::launch::{Launch, Outcome};
use super::misuse::Misuses;
use super::pattern::{Chains, Pattern};
use super::region::Recorder;
use super::warp::Warp;
use crate::races::Races;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time after which a launch starts further host threads.
const ALONE: Duration = Duration::from_micros(200);
/// The number of instructions in a block's turn, if blocks run in order.
const TURN: u64 = 2_000_000;
/// The maximum number of unfinished blocks, if blocks run in order.
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
    let in_order = launch.cooperative || functions.clone().any(|function| function.ordered || function.grid_wide);
    if in_order { in_turns(launch) } else { spread(launch) }
}

impl<'a> Machine<'a> {
    fn new(launch: &'a Launch<'a>) -> Machine<'a> {
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
            rotated: false,
            executed: 0,
            lanes: 0,
            turn_end: 0,
            warp_end: 0,
            warp: Warp::default(),
            block: Block::default(),
            grid: GridBarrier { live: u64::MAX, ..GridBarrier::default() },
            fault: None,
            found: vec![0; launch.program.code.len()],
            addresses: [0; 32],
            pattern: Pattern::Other,
            chains: Chains::default(),
            pointers: [std::ptr::null_mut(); 32],
            local_lanes: 0,
            recorder: Recorder::new(launch.record, launch.regions.len()),
            misuses: Misuses::default(),
            unused: 0,
            races: Races::new(launch.races),
            launch,
            program: launch.program,
        }
    }
}

fn blocks(launch: &Launch<'_>) -> u64 {
    launch.grid.iter().map(|extent| u64::from(*extent)).product()
}

/// The instructions that a block may execute next: few enough to notice an exhausted budget.
fn turn(launch: &Launch<'_>, used: u64) -> u64 {
    launch.budget.saturating_sub(used).saturating_add(1).min(TURN)
}

/// The state that workers share.
struct Shared {
    next: AtomicU64,
    /// The first failed block.
    failed: AtomicU64,
    executed: AtomicU64,
    sum: Mutex<Sum>,
}

#[derive(Default)]
struct Sum {
    fault: Option<(u64, Fault)>,
    lanes: u64,
    recorder: Option<Recorder>,
    races: Option<Races>,
    misuses: Misuses,
    printed: Vec<(u64, Vec<u8>)>,
}

fn spread(launch: &Launch<'_>) -> Outcome {
    let shared = Shared {
        next: AtomicU64::new(0),
        failed: AtomicU64::new(u64::MAX),
        executed: AtomicU64::new(0),
        sum: Mutex::default(),
    };
    std::thread::scope(|scope| {
        let helpers = || {
            for _ in 1..launch.workers {
                // If no thread can be started, the other threads run its blocks.
                let worker = std::thread::Builder::new().name("cuarray-ptx".to_owned());
                drop(worker.spawn_scoped(scope, || work(launch, &shared, || {})));
            }
        };
        work(launch, &shared, helpers);
    });
    let mut sum = shared.sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.printed.sort_by_key(|(block, _)| *block);
    let failed = sum.fault.as_ref().map(|(block, _)| *block);
    Outcome {
        races: sum.races.map(|races| races.finish(launch, failed)).unwrap_or_default(),
        fault: sum.fault.map(|(_, fault)| fault),
        misuses: sum.misuses.finish(failed),
        instructions: sum.lanes,
        touched: sum.recorder.map(|recorder| recorder.touched(launch.regions)).unwrap_or_default(),
        printed: sum.printed.into_iter().flat_map(|(_, text)| text).collect(),
    }
}

/// Runs blocks until none is left. Calls `help` once, if that takes longer than [`ALONE`].
fn work(launch: &Launch<'_>, shared: &Shared, help: impl FnOnce()) {
    let (total, started) = (blocks(launch), Instant::now());
    let mut machine = Machine::new(launch);
    let mut help = Some(help);
    let mut call_if_long = || {
        if help.is_some() && started.elapsed() > ALONE && shared.next.load(Ordering::Relaxed) < total {
            help.take().into_iter().for_each(|help| help());
        }
    };
    let mut printed = Vec::new();
    loop {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        // Blocks after a failed one need not run. A block before it may still fail earlier.
        if number >= total || number > shared.failed.load(Ordering::Relaxed) {
            break;
        }
        let before = machine.executed;
        machine.start_block(number);
        loop {
            let used = shared.executed.load(Ordering::Relaxed) + (machine.executed - before);
            if used > launch.budget {
                machine.fail_block(FaultKind::Budget);
                break;
            }
            match machine.run_block(turn(launch, used), &mut call_if_long) {
                BlockPause::Turn => {}
                BlockPause::Blocked => {
                    machine.fail_block(FaultKind::Deadlock);
                    break;
                }
                BlockPause::Done | BlockPause::Failed => break,
            }
        }
        shared.executed.fetch_add(machine.executed - before, Ordering::Relaxed);
        if !machine.block.printed.is_empty() {
            printed.push((number, std::mem::take(&mut machine.block.printed)));
        }
        if let Some(fault) = machine.fault.take() {
            shared.failed.fetch_min(number, Ordering::Relaxed);
            let mut sum = shared.sum.lock().unwrap_or_else(PoisonError::into_inner);
            if sum.fault.as_ref().is_none_or(|(first, _)| number < *first) {
                sum.fault = Some((number, *fault));
            }
        }
    }
    let mut sum = shared.sum.lock().unwrap_or_else(PoisonError::into_inner);
    sum.lanes += machine.lanes;
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

fn in_turns(launch: &Launch<'_>) -> Outcome {
    let total = blocks(launch);
    let mut machine = Machine::new(launch);
    let threads: u64 = launch.threads.iter().map(|extent| u64::from(*extent)).product();
    machine.grid.live = total.saturating_mul(threads);
    let mut waiting: VecDeque<Block> = VecDeque::new();
    let mut spare: Vec<Block> = Vec::new();
    let (mut next, mut printed) = (0, Vec::new());
    // The number of consecutive blocks that could not run.
    let mut idle = 0;
    while machine.fault.is_none() {
        let may_begin = next < total && (launch.cooperative || waiting.len() < RESIDENT);
        if may_begin {
            machine.block = spare.pop().unwrap_or_default();
            machine.start_block(next);
            next += 1;
        } else if let Some(block) = waiting.pop_front() {
            machine.block = block;
        } else {
            break;
        }
        let before = machine.executed;
        let pause = machine.run_block(turn(launch, before), || {});
        if machine.executed > launch.budget {
            machine.fail_block(FaultKind::Budget);
        }
        idle = if machine.executed == before { idle + 1 } else { 0 };
        match pause {
            BlockPause::Done => {
                printed.push((machine.block.number, std::mem::take(&mut machine.block.printed)));
                spare.push(std::mem::take(&mut machine.block));
            }
            BlockPause::Blocked if !may_begin && idle > waiting.len() => machine.fail_block(FaultKind::Deadlock),
            BlockPause::Blocked | BlockPause::Turn | BlockPause::Failed => {
                waiting.push_back(std::mem::take(&mut machine.block));
            }
        }
    }
    printed.extend(waiting.iter_mut().map(|block| (block.number, std::mem::take(&mut block.printed))));
    printed.sort_by_key(|(block, _)| *block);
    Outcome {
        fault: machine.fault.take().map(|fault| *fault),
        races: machine.races.finish(launch, None),
        misuses: machine.misuses.finish(None),
        instructions: machine.lanes,
        touched: machine.recorder.touched(launch.regions),
        printed: printed.into_iter().flat_map(|(_, text)| text).collect(),
    }
}
