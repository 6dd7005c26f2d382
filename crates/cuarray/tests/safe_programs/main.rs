//! Random programs over the safe interface: no race, no use after free, no leak, no deadlock.
//!
//! A program is a sequence of steps, drawn from a seed. It runs on a simulated driver, which reports races and uses after free, and frees
//! memory without a wait. All contracts of `unsafe` functions are met. A program that fails is shrunk and printed.
//!
//! | variable | meaning |
//! |---|---|
//! | `CUARRAY_PROGRAMS` | the number of programs |
//! | `CUARRAY_PROGRAM_FIRST` | the seed of the first program |
//! | `CUARRAY_PROGRAM_SEED` | the seed of the only program: a replay |

#[path = "../driver_fixture/mod.rs"]
mod driver_fixture;
mod foreign;
mod interpreter;
mod program;
mod rig;
mod runner;
mod world;

use program::Program;
use runner::{Outcome, Runner};
use std::{
    env,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The number of programs without a variable.
const USUAL: u64 = 500;

/// The number of programs that also run without each of their ordering calls.
const SPOILED: u64 = 80;

/// A program that runs longer than this has deadlocked.
const LONGEST: Duration = Duration::from_secs(60);

const WORKERS: u64 = 2;

fn variable(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name}: {value:?} is not a number")))
}

#[test]
fn random_safe_programs_have_no_findings_and_no_leaks() {
    if let Some(seed) = variable("CUARRAY_PROGRAM_SEED") {
        println!("{}", runner::listed(&Program::of(seed).steps(seed)));
        return watched(&[AtomicU64::new(seed)], |worker, running| run(seed..seed + 1, worker, running));
    }
    let (first, count) =
        (variable("CUARRAY_PROGRAM_FIRST").unwrap_or(0), variable("CUARRAY_PROGRAMS").unwrap_or(USUAL));
    let next = AtomicU64::new(first);
    let running: Vec<AtomicU64> = (0..WORKERS).map(|_| AtomicU64::new(first)).collect();
    watched(&running, |worker, running| {
        loop {
            let start = next.fetch_add(runner::BATCH, Ordering::Relaxed);
            if start >= first + count {
                return;
            }
            run(start..(start + runner::BATCH).min(first + count), worker, running);
        }
    });
}

/// Runs a batch of programs; the thread of the test fails with the first that fails.
fn run(seeds: std::ops::Range<u64>, worker: usize, running: &[AtomicU64]) {
    let mut runner = Runner::new();
    for seed in seeds.clone() {
        running[worker].store(seed, Ordering::Relaxed);
        let program = Program::of(seed);
        let steps = program.steps(seed);
        if let Outcome::Failed(why) = runner.run(seed, &program, &steps, 0).outcome {
            // Shrinking takes time, and is no deadlock.
            running[worker].store(DONE, Ordering::Relaxed);
            panic!("{}", runner::explained(seed, seeds.start, &program, steps, &why));
        }
    }
    runner.end();
}

/// Runs workers, and ends the process with a message if one of them makes no progress.
fn watched(running: &[AtomicU64], work: impl Fn(usize, &[AtomicU64]) + Sync) {
    let done = AtomicBool::new(false);
    let work = &work;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..running.len()).map(|worker| scope.spawn(move || work(worker, running))).collect();
        let done = &done;
        scope.spawn(move || {
            let mut seen: Vec<(u64, Instant)> = running.iter().map(|_| (u64::MAX, Instant::now())).collect();
            while !done.load(Ordering::Relaxed) {
                thread::park_timeout(Duration::from_millis(100));
                for (seen, running) in seen.iter_mut().zip(running) {
                    let seed = running.load(Ordering::Relaxed);
                    if seen.0 != seed {
                        *seen = (seed, Instant::now());
                    } else if seen.1.elapsed() > LONGEST && seed != DONE {
                        eprintln!("no progress: replay with CUARRAY_PROGRAM_SEED={seed}");
                        std::process::exit(1);
                    }
                }
            }
        });
        let mut failed = Vec::new();
        for (worker, running) in workers.into_iter().zip(running) {
            failed.extend(worker.join().err());
            running.store(DONE, Ordering::Relaxed);
        }
        done.store(true, Ordering::Relaxed);
        if let Some(payload) = failed.pop() {
            std::panic::resume_unwind(payload);
        }
    });
}

const DONE: u64 = u64::MAX;

/// The check can fail: many programs have findings if one of their ordering calls has no effect.
#[test]
fn programs_without_one_ordering_call_have_findings() {
    let mut found = 0;
    let mut runner = Runner::new();
    for seed in 0..SPOILED {
        let program = Program { faults: false, captures: false, ..Program::of(seed) };
        let steps = program.steps(seed);
        let calls = runner.run(seed, &program, &steps, 0).ordering_calls;
        let fails = |dropped: &u64| matches!(runner.run(seed, &program, &steps, *dropped).outcome, Outcome::Failed(_));
        found += u64::from((1..=calls).find(fails).is_some());
    }
    assert!(found * 8 >= SPOILED, "{found} of {SPOILED} programs have findings");
    println!("{found} of {SPOILED} programs have findings without one ordering call");
}
