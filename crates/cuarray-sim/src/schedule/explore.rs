//! Every schedule of a small program, one after the other.
//!
//! A program is run again and again. Each run replays the beginning of a schedule, goes on lazily, and has its choices
//! written down; the next schedule is the same but for the last choice that had an option left. When there is none, all
//! have been taken. Nothing but the choices of one run is remembered, and every run can be repeated from them. Their
//! number grows as that of the orders of the work, so there are bounds: on the schedules, and on how often each
//! deviates from the lazy one. Few deviations find most bugs.

use super::choices::Choices;
use crate::Sim;
use crate::config::{Config, Schedule};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How far [`explore`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most schedules to run.
    pub schedules: u64,
    /// The most choices of one schedule in which it does not do what the lazy one does; any number if `None`.
    pub deviations: Option<u64>,
}

impl Default for Bounds {
    /// 10,000 schedules with any number of deviations.
    fn default() -> Bounds {
        Bounds { schedules: 10_000, deviations: None }
    }
}

/// What [`explore`] has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exploration {
    /// How many schedules were run.
    pub schedules: u64,
    /// Whether these were all there are: no bound was hit.
    pub complete: bool,
    /// In how many of them the program panicked.
    pub failures: u64,
    /// The first of these.
    pub first_failure: Option<Failure>,
}

/// A schedule under which a program panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Runs the program so again: [`Config::schedule`] or `CUARRAY_SIM_SCHEDULE`.
    pub schedule: Schedule,
    /// What the panic said.
    pub message: String,
}

/// Runs a program under every schedule that it can have, within bounds; each time on a driver of its own, which the
/// calling thread has entered.
///
/// The program must do the same every time, but for what the schedule decides. Its panics are counted and do not end the
/// exploration.
///
/// ```
/// use cuarray_sim::{Bounds, Config, explore};
///
/// let exploration = explore(&Config::default(), Bounds::default(), |sim| {
///     // SAFETY: initialization takes no pointer.
///     assert!(unsafe { sim.api().cuInit.unwrap()(0) }.is_success());
/// });
/// assert_eq!(exploration.unwrap().schedules, 1);
/// ```
///
/// # Errors
/// A sentence that says so if the program does not do the same under the same schedule.
pub fn explore(config: &Config, bounds: Bounds, mut program: impl FnMut(&Sim)) -> Result<Exploration, String> {
    let mut exploration = Exploration { schedules: 0, complete: true, failures: 0, first_failure: None };
    let mut next = Some(Choices::default());
    while let Some(choices) = next {
        if exploration.schedules == bounds.schedules {
            exploration.complete = false;
            break;
        }
        exploration.schedules += 1;
        let sim = Sim::new(Config { schedule: Schedule::Replay(choices), ..config.clone() });
        let entered = sim.enter();
        let outcome = catch_unwind(AssertUnwindSafe(|| program(&sim)));
        drop(entered);
        let made = sim.choices();
        if let Err(panic) = outcome {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            exploration.failures += 1;
            let schedule = Schedule::Replay(made.clone());
            exploration.first_failure.get_or_insert(Failure { schedule, message: text.unwrap_or_default() });
        }
        if let Some(misfit) = sim.misfit() {
            return Err(misfit);
        }
        next = made.next(bounds.deviations);
        exploration.complete &= next == made.next(None);
    }
    Ok(exploration)
}
