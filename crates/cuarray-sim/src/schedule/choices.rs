//! The choices of a schedule, and their text form.
//!
//! A run under a chosen schedule makes a series of choices among numbered options. Together with the program, the
//! choices determine the whole schedule. The text form includes the number of options, so that it can go into a bug
//! report, and a program that makes other choices is detected at the first difference.
//!
//! `2:01-3:2-2:0{15}` reads: two choices of two options, which took the first and the second; one choice of three
//! options, which took the third; fifteen choices of two options, which took the first. Options are numbered from 0
//! in base 36, with as many digits as the largest number needs. The lazy schedule always takes the first option. So a
//! schedule of zeros is the lazy schedule, and the number of other choices is the distance from it.

use std::fmt;
use std::str::FromStr;

/// One choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// The number of options, at least two.
    pub options: u32,
    /// The option taken, counted from 0; less than `options`.
    pub chosen: u32,
}

/// The choices of a run, in order.
///
/// ```
/// use cuarray_sim::Choices;
///
/// let choices: Choices = "2:01-3:2".parse().unwrap();
/// assert_eq!(choices.len(), 3);
/// assert_eq!(choices.to_string(), "2:01-3:2");
/// assert_eq!(choices.deviations(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Choices(Vec<Choice>);

/// The maximum number of choices. No schedule that is written down has as many.
const MOST: usize = 1 << 26;
/// The least number of equal choices that are written as one choice with a count.
const RUN: usize = 4;

impl Choices {
    /// The number of choices.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no choices.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends a choice; returns `false`, and appends nothing, if it is not valid.
    pub fn push(&mut self, choice: Choice) -> bool {
        let fits = choice.options >= 2 && choice.chosen < choice.options && self.0.len() < MOST;
        if fits {
            self.0.push(choice);
        }
        fits
    }

    /// The choice at an index, counted from 0.
    pub fn get(&self, index: usize) -> Option<Choice> {
        self.0.get(index).copied()
    }

    /// The number of choices that differ from the lazy schedule.
    pub fn deviations(&self) -> u64 {
        self.0.iter().filter(|choice| choice.chosen != 0).count() as u64
    }

    /// The beginning of the next schedule in lexicographic order; its further choices are those of the lazy schedule.
    ///
    /// `most_deviations` skips schedules with more deviations from the lazy one. Returns `None` after the last
    /// schedule.
    ///
    /// ```
    /// use cuarray_sim::Choices;
    ///
    /// let last: Choices = "2:0-3:2".parse().unwrap();
    /// assert_eq!(last.next(None).unwrap().to_string(), "2:1");
    /// let last: Choices = "2:1-3:0".parse().unwrap();
    /// assert_eq!(last.next(Some(1)), None);
    /// ```
    pub fn next(&self, most_deviations: Option<u64>) -> Option<Choices> {
        let mut before = self.deviations();
        for (index, choice) in self.0.iter().enumerate().rev() {
            before -= u64::from(choice.chosen != 0);
            if choice.chosen + 1 < choice.options && most_deviations.is_none_or(|most| before < most) {
                let mut next = self.0[..index].to_vec();
                next.push(Choice { chosen: choice.chosen + 1, ..*choice });
                return Some(Choices(next));
            }
        }
        None
    }
}

/// The number of digits of a choice among `options` options.
fn digits(options: u32) -> usize {
    let (mut largest, mut digits) = (options.saturating_sub(1) / 36, 1);
    while largest > 0 {
        largest /= 36;
        digits += 1;
    }
    digits
}

fn write_number(out: &mut fmt::Formatter<'_>, number: u32, digits: usize) -> fmt::Result {
    for place in (0..digits as u32).rev() {
        let digit = number / 36_u32.pow(place) % 36;
        write!(out, "{}", char::from_digit(digit, 36).unwrap_or('0'))?;
    }
    Ok(())
}

impl fmt::Display for Choices {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = 0;
        for equal in self.0.chunk_by(|one, other| one == other) {
            let choice = equal[0];
            if choice.options != options {
                write!(out, "{}{}:", if options == 0 { "" } else { "-" }, choice.options)?;
                options = choice.options;
            }
            let written = if equal.len() < RUN { equal.len() } else { 1 };
            (0..written).try_for_each(|_| write_number(out, choice.chosen, digits(options)))?;
            if equal.len() >= RUN {
                write!(out, "{{{}}}", equal.len())?;
            }
        }
        Ok(())
    }
}

impl FromStr for Choices {
    type Err = String;

    /// # Errors
    /// A sentence that names the invalid part.
    fn from_str(text: &str) -> Result<Choices, String> {
        let mut choices = Choices::default();
        for part in text.split('-').filter(|_| !text.is_empty()) {
            let wrong =
                || format!("`{part}` is not part of a schedule; a part such as 3:0120 or 2:0{{15}} is expected");
            let (options, numbers) = part.split_once(':').ok_or_else(wrong)?;
            let options: u32 = options.parse().map_err(|_| wrong())?;
            let mut rest = numbers;
            while !rest.is_empty() {
                let number = rest.get(..digits(options)).ok_or_else(wrong)?;
                rest = &rest[number.len()..];
                let mut times = 1;
                if let Some(run) = rest.strip_prefix('{') {
                    let (count, behind) = run.split_once('}').ok_or_else(wrong)?;
                    times = count.parse().map_err(|_| wrong())?;
                    rest = behind;
                }
                // `from_str_radix` would accept a sign.
                let plain = number.chars().all(|digit| digit.is_ascii_digit() || digit.is_ascii_lowercase());
                let chosen = u32::from_str_radix(number, 36).ok().filter(|_| plain).ok_or_else(wrong)?;
                if times == 0 || times > MOST {
                    return Err(wrong());
                }
                (0..times)
                    .try_for_each(|_| choices.push(Choice { options, chosen }).then_some(()).ok_or_else(wrong))?;
            }
        }
        Ok(choices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::random::Random;
    use crate::schedule::scheduler::Scheduler;

    #[test]
    fn written_choices_are_read_back() {
        let mut random = Random::new(1);
        for round in 0..2000 {
            let mut choices = Choices::default();
            let most = [2, 3, 36, 37, 1297, 100_000][round % 6];
            while let length @ 1.. = random.choose(40).unwrap() {
                let options = 2 + random.choose(most).unwrap();
                let choice = Choice { options, chosen: random.choose(options).unwrap() };
                (0..length * (round as u32 % 2) + 1).for_each(|_| assert!(choices.push(choice)));
            }
            assert_eq!(choices.to_string().parse(), Ok(choices));
        }
        assert_eq!("".parse(), Ok(Choices::default()));
        assert_eq!(Choices::default().to_string(), "");
    }

    #[test]
    fn equal_choices_are_counted() {
        let text = "2:0{15}1-40:010zz-2:111";
        let options_of_more_digits: Result<Choices, _> = "40:010zz".parse();
        assert!(options_of_more_digits.is_err(), "an odd number of digits, and zz is not less than 40");
        let text_of_two_digits = text.replace("010zz", "0111");
        let choices: Choices = text_of_two_digits.parse().unwrap();
        assert_eq!((choices.len(), choices.to_string()), (21, text_of_two_digits));
    }

    #[test]
    fn invalid_text_is_refused() {
        for text in ["2", "2:2", "1:0", "0:0", "x:0", "2:01-", "-2:0", "2:0{", "2:0{}", "2:0{0}", "2:{3}", "2:0{x}"]
            .into_iter()
            .chain(["2:+", "2:0 1", "37:0", "37:+1", "2:é", "2:0{99999999999}", "2:0{67108865}", "36:A"])
        {
            assert!(text.parse::<Choices>().is_err(), "{text}");
        }
    }

    /// All schedules of a program. `options_after` maps the choices so far to the number of options of the next one.
    fn all(options_after: impl Fn(&[u32]) -> Option<u32>, most: Option<u64>) -> Vec<String> {
        let (mut schedules, mut next) = (Vec::new(), Some(Choices::default()));
        while let Some(mut choices) = next {
            let mut chosen: Vec<u32> = choices.0.iter().map(|choice| choice.chosen).collect();
            while let Some(options) = options_after(&chosen) {
                chosen.push(0);
                choices.push(Choice { options, chosen: 0 });
            }
            schedules.push(choices.to_string());
            next = choices.next(most);
        }
        schedules
    }

    #[test]
    fn next_visits_every_schedule_once() {
        // Two choices of two options; if the first took option 1, a third choice of three options.
        let options_after = |choices: &[u32]| match choices {
            [] | [_] => Some(2),
            [1, _] => Some(3),
            _ => None,
        };
        let expected = ["2:00", "2:01", "2:10-3:0", "2:10-3:1", "2:10-3:2", "2:11-3:0", "2:11-3:1", "2:11-3:2"];
        assert_eq!(all(options_after, None), expected);
        assert_eq!(all(options_after, Some(0)), ["2:00"]);
        assert_eq!(all(options_after, Some(1)), ["2:00", "2:01", "2:10-3:0"]);
        let two: Vec<_> = expected.into_iter().filter(|text| !matches!(*text, "2:11-3:1" | "2:11-3:2")).collect();
        assert_eq!(all(options_after, Some(2)), two);
    }
}
