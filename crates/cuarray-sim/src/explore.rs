//! Exhaustive exploration of the schedules of a small program.
//!
//! The program runs repeatedly. Each run replays the beginning of a schedule, continues lazily, and records its
//! choices. The next schedule changes the last choice that has an option left; if no choice has one, all schedules have run.
//! Only the choices of one run are stored, and replaying them repeats the run exactly. The number of schedules grows with the number of
//! possible orders of the work. So there are bounds: on the schedules, and on the deviations of each from the lazy one. Few
//! deviations find most bugs.

use crate::Sim;
use crate::config::Config;
use crate::schedule::Schedule;
use crate::schedule::choices::Choices;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The bounds of [`explore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum number of schedules to run.
    pub schedules: u64,
    /// The maximum number of choices in a schedule that differ from the lazy one; `None` for any number.
    pub deviations: Option<u64>,
}

impl Default for Bounds {
    /// 10,000 schedules with any number of deviations.
    fn default() -> Bounds {
        Bounds { schedules: 10_000, deviations: None }
    }
}

/// The results of [`explore`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exploration {
    /// The number of schedules that ran.
    pub schedules: u64,
    /// Whether all schedules ran, without reaching a bound.
    pub complete: bool,
    /// The number of schedules under which the program panicked.
    pub failures: u64,
    /// The first failure.
    pub first_failure: Option<Failure>,
}

/// A schedule under which a program panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The schedule that repeats the failure, for [`Config::schedule`] or `CUARRAY_SIM_SCHEDULE`.
    pub schedule: Schedule,
    /// The message of the panic.
    pub message: String,
}

/// Runs a program under every possible schedule, within bounds. Each run has its own driver, which the calling thread
/// has entered.
///
/// The program must be deterministic apart from the schedule. Its panics are counted and do not end the exploration.
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
/// A sentence that names the first difference, if the program behaves differently under the same schedule.
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
        if let Some(mismatch) = sim.schedule_mismatch() {
            return Err(mismatch);
        }
        next = made.next(bounds.deviations);
        exploration.complete &= next == made.next(None);
    }
    Ok(exploration)
}
