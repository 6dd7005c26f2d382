//! The mode of a schedule: lazy, eager, or a source of choices.

use crate::schedule::Schedule;
use crate::schedule::choices::Choices;
use crate::schedule::random::Random;
use crate::schedule::scheduler::{Replay, Scheduler};
use cuarray_abi::*;
use std::collections::BTreeSet;

/// The schedule of a driver at run time.
pub(crate) enum Mode {
    Lazy,
    Eager,
    Chosen(Box<Chooser>),
}

/// The state of a chosen schedule.
pub(crate) struct Chooser {
    pub schedule: Schedule,
    pub scheduler: Box<dyn Scheduler>,
    pub made: Choices,
    /// The reason why the schedule does not fit the program.
    pub mismatch: Option<String>,
    /// The stream that ran last.
    pub last: Option<CUstream>,
    /// Pending operations that the program can observe without a call.
    pub visible: BTreeSet<(CUstream, u64)>,
    /// The number of such operations that have run.
    pub seen: u64,
    /// Whether a call enqueued, waited or queried since the program could last observe operations.
    pub stirred: bool,
    /// Whether the last query returned *not ready*, and no operation has run since.
    pub polled: bool,
}

impl Mode {
    pub(crate) fn of(schedule: &Schedule) -> Mode {
        let scheduler: Box<dyn Scheduler> = match schedule {
            Schedule::Lazy => return Mode::Lazy,
            Schedule::Eager => return Mode::Eager,
            Schedule::Random(seed) => Box::new(Random::new(*seed)),
            Schedule::Replay(choices) => Box::new(Replay::new(choices.clone())),
        };
        Mode::Chosen(Box::new(Chooser {
            schedule: schedule.clone(),
            scheduler,
            made: Choices::default(),
            mismatch: None,
            last: None,
            visible: BTreeSet::new(),
            seen: 0,
            stirred: false,
            polled: false,
        }))
    }

    pub(crate) fn chooser(&mut self) -> Option<&mut Chooser> {
        if let Mode::Chosen(chooser) = self { Some(chooser) } else { None }
    }

    /// The choices that were made.
    pub(crate) fn choices(&self) -> Choices {
        if let Mode::Chosen(chooser) = self { chooser.made.clone() } else { Choices::default() }
    }
}
