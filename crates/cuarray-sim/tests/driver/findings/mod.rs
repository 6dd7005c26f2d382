//! One pair of programs for each rule: one that breaks the rule, and a correct one without findings.

mod events;
mod frees;
mod graphs;
mod streams;

use crate::program::*;
use cuarray_sim::finding::{Finding, Kind};

/// The kinds of all findings, in order.
fn kinds(program: &Program) -> Vec<Kind> {
    program.sim.report().findings.iter().map(|finding| finding.kind).collect()
}

/// Returns the only finding.
fn only(program: &Program) -> Finding {
    let findings = program.sim.report().findings;
    assert_eq!(findings.len(), 1, "{}", program.sim.report().text(false));
    findings.into_iter().next().unwrap()
}

/// Asserts that there are no findings.
fn clean(program: &Program) {
    assert_eq!(program.sim.report().text(false), "");
}

/// Runs a program under several schedules; its findings must not depend on the schedule.
fn under_each_schedule(run: impl Fn(&Program)) {
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random(1), Schedule::Random(2)] {
        run(&Program::with(Config { schedule, ..Config::default() }));
    }
}
