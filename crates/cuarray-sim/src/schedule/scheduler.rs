//! Who makes the choices of a schedule.
//!
//! What can be chosen is found out elsewhere; a scheduler only answers with a number. So one is a few lines, and all
//! schedules there are (random ones, one that was written down, every one in turn) differ in nothing else.

use super::choices::{Choice, Choices};

/// Answers which of `options` is taken, counted from 0; the first is what the lazy schedule does.
pub(crate) trait Scheduler: Send {
    /// # Errors
    /// A sentence that says why there is no answer: the program is not the one that the schedule was made for.
    fn choose(&mut self, options: u32) -> Result<u32, String>;

    /// How many answers are prepared that nobody has asked for yet.
    fn left(&self) -> usize {
        0
    }
}

/// Answers as written down, and behind the end lazily.
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
                "the schedule does not fit the program: its choice {number} is one of {expected} options, the program \
                 has {options} there; it was made by another program, or the program does not do the same every time"
            )
        })
    }

    fn left(&self) -> usize {
        self.choices.len().saturating_sub(self.next)
    }
}
