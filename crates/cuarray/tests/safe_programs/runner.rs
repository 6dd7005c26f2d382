//! Runs programs, checks their end, and shrinks those that fail.

use super::{
    driver_fixture::Alive,
    interpreter::Interpreter,
    program::{Action, In, Program, Step},
    rig::Rig,
};
use cuarray_sim::{Schedule, finding::Kind};
use std::{
    any::Any,
    fmt::Write,
    panic::{self, AssertUnwindSafe},
};

/// The number of programs that may use one driver.
pub const BATCH: u64 = 64;

pub enum Outcome {
    Passed,
    Failed(String),
}

pub struct Ran {
    pub outcome: Outcome,
    pub ordering_calls: u64,
}

/// Runs programs one after the other. Programs without injected failures share a driver.
pub struct Runner {
    rig: Option<Rig>,
}

impl Runner {
    pub fn new() -> Runner {
        Runner { rig: None }
    }

    /// Runs a program, in which ordering call number `dropped` has no effect, if it is not 0.
    pub fn run(&mut self, seed: u64, program: &Program, steps: &[Step], dropped: u64) -> Ran {
        // The thread's calls use the driver that it has entered last.
        let known = if program.faults { None } else { self.rig.take() };
        let mut rig = known.unwrap_or_else(|| Rig::new(schedule(seed)));
        if steps.iter().any(|step| step.thread == In::Helper) {
            rig.with_helper();
        }
        let before = rig.alive();
        rig.shared.sim.drop_ordering(dropped);
        let mut freeing_failed = false;
        let mut leaks_contexts = false;
        let ran = panic::catch_unwind(AssertUnwindSafe(|| {
            let mut interpreter = Interpreter::new(&rig.shared, program.devices);
            for step in steps {
                rig.run_in(step.thread, || interpreter.step(step));
            }
            interpreter.finish(seed.is_multiple_of(2));
            freeing_failed = interpreter.freeing_failed;
            leaks_contexts = interpreter.leaks_contexts;
            interpreter.failure.take()
        }));
        rig.keeps_contexts |= leaks_contexts;
        let ordering_calls = rig.shared.sim.ordering_calls();
        rig.shared.sim.drop_ordering(0);
        let mut why = match ran {
            Ok(failure) => failure,
            Err(payload) => {
                // The state of the driver is unknown.
                std::mem::forget(rig);
                return Ran { outcome: Outcome::Failed(message(&*payload)), ordering_calls };
            }
        };
        let report = rig.shared.sim.report();
        // Programs may read empty arrays. If driver calls fail, the library may have to wait for a context although a stream captures.
        let is_allowed =
            |kind: Kind| kind == Kind::UninitializedRead || kind == Kind::CapturedStreamSynchronized && program.faults;
        if let Some(finding) = report.findings.iter().find(|finding| !is_allowed(finding.kind)) {
            let _ = write!(why.get_or_insert_default(), "{:?}\n{}", finding.kind, report.text(false));
        }
        if why.is_none() {
            let leaked = |after: Alive, before: Alive| {
                !freeing_failed && (after.allocations > before.allocations || after.streams > before.streams)
            };
            let after = rig.alive();
            if leaked(after, before) {
                why = Some(format!(
                    "a leak: {after:?} after {before:?}\n{}",
                    rig.shared.sim.report_with_leaks().text(false)
                ));
            }
        }
        if program.faults || why.is_some() {
            let is_clean = why.is_none() && !freeing_failed;
            let left = rig.end();
            if is_clean && left != Alive::NOTHING {
                why = Some(format!("a leak at the driver's end: {left:?}"));
            }
        } else {
            rig.shared.sim.clear_findings();
            self.rig = Some(rig);
        }
        Ran { outcome: why.map_or(Outcome::Passed, Outcome::Failed), ordering_calls }
    }

    /// Ends the drivers, and checks that nothing is left.
    pub fn end(&mut self) {
        if let Some(rig) = self.rig.take() {
            assert_eq!(rig.end(), Alive::NOTHING, "a leak at the driver's end");
        }
    }
}

/// The schedule of a program's batch.
fn schedule(seed: u64) -> Schedule {
    let batch = seed / BATCH;
    match batch % 4 {
        0 => Schedule::Random(batch),
        _ => Schedule::Lazy,
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
    format!("a panic: {}", text.unwrap_or_else(|| "without a message".to_owned()))
}

/// Shrinks a program that fails, and describes it.
pub fn explained(seed: u64, batch: u64, program: &Program, steps: Vec<Step>, why: &str) -> String {
    let fails = |steps: &[Step]| match Runner::new().run(seed, program, steps, 0).outcome {
        Outcome::Passed => None,
        Outcome::Failed(why) => Some(why),
    };
    let Some(mut why_alone) = fails(&steps) else {
        return format!(
            "the program with seed {seed} fails after the programs from seed {batch}, and not alone: {why}\n{}\nreplay: \
             CUARRAY_PROGRAM_FIRST={batch} CUARRAY_PROGRAMS={}",
            listed(&steps),
            seed + 1 - batch
        );
    };
    let mut steps = steps;
    let mut shrinks = true;
    while shrinks {
        shrinks = false;
        let mut index = 0;
        while index < steps.len() {
            let candidates = [
                without(&steps, index),
                with(&steps, index, |step| Step { thread: In::Main, ..step }),
                with(&steps, index, |step| Step { current: None, ..step }),
                with(&steps, index, simpler),
            ];
            let smaller =
                candidates.into_iter().flatten().find_map(|smaller| fails(&smaller).map(|why| (smaller, why)));
            match smaller {
                Some((smaller, why)) => {
                    (steps, why_alone) = (smaller, why);
                    shrinks = true;
                }
                None => index += 1,
            }
        }
    }
    format!(
        "the program with seed {seed} on {} device(s) fails: {why_alone}\nshrunk:\n{}\nreplay: CUARRAY_PROGRAM_SEED={seed}",
        program.devices,
        listed(&steps)
    )
}

fn without(steps: &[Step], index: usize) -> Option<Vec<Step>> {
    let mut steps = steps.to_vec();
    steps.remove(index);
    Some(steps)
}

fn with(steps: &[Step], index: usize, change: impl FnOnce(Step) -> Step) -> Option<Vec<Step>> {
    let mut changed = steps.to_vec();
    changed[index] = change(changed[index]);
    (format!("{:?}", changed[index]) != format!("{:?}", steps[index])).then_some(changed)
}

/// A step without additions.
fn simpler(step: Step) -> Step {
    let action = match step.action {
        Action::Acquire { array, stream, writes, launches: true } => {
            Action::Acquire { array, stream, writes, launches: false }
        }
        Action::EndCapture { capture, launches: true } => Action::EndCapture { capture, launches: false },
        Action::Exchange { array, with_event: true } => Action::Exchange { array, with_event: false },
        other => other,
    };
    Step { action, ..step }
}

pub fn listed(steps: &[Step]) -> String {
    steps.iter().fold(String::new(), |mut listed, Step { action, thread, current }| {
        let _ = write!(listed, "  {action:?}");
        if *thread != In::Main {
            let _ = write!(listed, " in {thread:?}");
        }
        if let Some(current) = current {
            let _ = write!(listed, " with device {current} current");
        }
        listed.push('\n');
        listed
    })
}
