//! The source of a schedule's choices.
//!
//! A scheduler only picks the number of an option; other modules find the options. So a scheduler is a few lines, and
//! random, replayed and exhaustive schedules differ only in their scheduler.

use crate::schedule::choices::{Choice, Choices};

/// Picks one of `options`, counted from 0; the lazy schedule always picks the first.
pub(crate) trait Scheduler: Send {
    /// # Errors
    /// A sentence that gives the reason why no option fits: the schedule was made for another program.
    fn choose(&mut self, options: u32) -> Result<u32, String>;

    /// The number of prepared choices that are not used yet.
    fn left(&self) -> usize {
        0
    }
}

/// Replays recorded choices, and then picks the first option always.
pub(crate) struct Replay {
    choices: Choices,
    next: usize,
}

impl Replay {
    pub(crate) fn new(choices: Choices) -> Replay {
        Replay { choices, next: 0 }
    }
}

impl Scheduler for Replay {
    fn choose(&mut self, options: u32) -> Result<u32, String> {
        let Some(choice) = self.choices.get(self.next) else { return Ok(0) };
        self.next += 1;
        let Choice { options: expected, chosen } = choice;
        let number = self.next;
        (expected == options).then_some(chosen).ok_or_else(|| {
            format!(
                "the schedule does not fit the program: its choice {number} has {expected} options, but the program \
                 has {options}; the schedule is of another program, or the program is not deterministic"
            )
        })
    }

    fn left(&self) -> usize {
        self.choices.len().saturating_sub(self.next)
    }
}
