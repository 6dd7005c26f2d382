//! Schedules as data: their kinds, their choices, and the sources of choices.
//!
//! Running work under a schedule is the subject of [`execution`](crate::execution).

pub(crate) mod choices;
pub(crate) mod mode;
pub(crate) mod random;
pub(crate) mod scheduler;

use choices::Choices;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;

/// The moment at which enqueued work runs.
///
/// The text form is the value of `CUARRAY_SIM_SCHEDULE`:
///
/// ```
/// use cuarray_sim::Schedule;
///
/// assert_eq!("random:7".parse(), Ok(Schedule::Random(7)));
/// assert_eq!(Schedule::Random(7).to_string(), "random:7");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// As late as the driver API allows: only work that a synchronization forces, at that moment.
    #[default]
    Lazy,
    /// At once, before the enqueuing call returns.
    Eager,
    /// In a random order from this seed (`random:7`; `random` draws a seed).
    Random(u64),
    /// As recorded (`replay:2:01-3:2`), and lazily after the end of the record.
    Replay(Choices),
}

impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Lazy => out.write_str("lazy"),
            Schedule::Eager => out.write_str("eager"),
            Schedule::Random(seed) => write!(out, "random:{seed}"),
            Schedule::Replay(choices) => write!(out, "replay:{choices}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    /// # Errors
    /// A sentence that names the text that cannot be parsed.
    fn from_str(text: &str) -> Result<Schedule, String> {
        match text.split_once(':') {
            None if text == "lazy" => Ok(Schedule::Lazy),
            None if text == "eager" => Ok(Schedule::Eager),
            // A few digits, because people type the seed.
            None if text == "random" => Ok(Schedule::Random(RandomState::new().hash_one(0) % 1_000_000_000)),
            Some(("random", seed)) => match seed.parse() {
                Ok(seed) => Ok(Schedule::Random(seed)),
                Err(_) => Err(format!("`{seed}` is not a seed; a number from 0 to {} is expected", u64::MAX)),
            },
            Some(("replay", choices)) => choices.parse().map(Schedule::Replay),
            _ => Err(format!(
                "`{text}` is not a schedule; lazy, eager, random, random:SEED or replay:CHOICES is expected"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;

    #[test]
    fn schedule_text_round_trips() {
        let schedule = |text: &str| text.parse::<Schedule>().unwrap();
        for text in ["lazy", "eager", "random:0", "random:18446744073709551615", "replay:", "replay:2:01-3:2"] {
            assert_eq!(schedule(text).to_string(), text);
        }
        assert!(matches!(schedule("random"), Schedule::Random(_)));
    }
}
