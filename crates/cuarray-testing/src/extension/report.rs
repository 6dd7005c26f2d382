//! The report of a test of an extension module.

use std::fmt;

/// The outcome of one call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// The function returned.
    Accepted,
    /// The function raised an exception, which may be right; its text.
    Refused(String),
    /// The function did something that no caller expects; its description.
    Failed(String),
}

/// A call with one array or dictionary.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Case {
    /// The name of the array, or the clause and the entry of an illegal dictionary.
    pub name: String,
    /// Whether the text allows the array.
    pub is_legal: bool,
    /// The outcome.
    pub verdict: Verdict,
}

/// The outcomes of all calls.
#[derive(Clone, Debug, Default)]
pub struct Report {
    cases: Vec<Case>,
}

impl Report {
    pub(super) fn add(&mut self, name: String, is_legal: bool, verdict: Verdict) {
        self.cases.push(Case { name, is_legal, verdict });
    }

    /// All calls, in their order.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The number of legal arrays that the function accepted.
    pub fn accepted(&self) -> usize {
        self.cases.iter().filter(|case| case.is_legal && case.verdict == Verdict::Accepted).count()
    }

    /// The calls that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| matches!(case.verdict, Verdict::Failed(_)))
    }

    /// Panics with the failed calls, or if the function accepted no legal array, which would test nothing.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(self.failures().next().is_none(), "{self}");
        assert!(self.accepted() > 0, "the function accepts none of the legal arrays\n{self}");
    }
}

impl fmt::Display for Report {
    /// Writes the counts, and a line for each legal array and each failure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let illegal = self.cases.iter().filter(|case| !case.is_legal).count();
        let legal = self.cases.len() - illegal;
        writeln!(f, "{} of {legal} legal arrays accepted, {illegal} illegal ones", self.accepted())?;
        for case in &self.cases {
            match &case.verdict {
                Verdict::Failed(reason) => writeln!(f, "FAILED   {}: {reason}", case.name)?,
                Verdict::Refused(reason) if case.is_legal => writeln!(f, "refused  {}: {reason}", case.name)?,
                Verdict::Accepted if case.is_legal => writeln!(f, "accepted {}", case.name)?,
                Verdict::Accepted | Verdict::Refused(_) => {}
            }
        }
        Ok(())
    }
}
