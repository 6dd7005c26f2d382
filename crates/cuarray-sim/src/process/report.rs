//! The report of a driver: its findings with source lines, without the suppressed ones.

use crate::driver::{Driver, Guard};
use crate::execution::drain;
use crate::happens_before::host;
use crate::process::statistics::watched;
use crate::site::add_lines;
use crate::state::State;
use cuarray_abi::CUcontext;
use cuarray_races::finding::Report;
use cuarray_races::suppression;
use std::path::PathBuf;

/// All findings, and if `leaks`, live objects as leaks. Pending work whose accesses are not known yet runs first. With `history`, the report
/// has the operations that no finding is about, too.
pub(crate) fn make(driver: &Driver, leaks: bool, history: bool) -> Report {
    let leaks = leaks && driver.config.as_ref().is_ok_and(|config| config.leaks != Some(false));
    let report = of(&known(driver), leaks, history);
    completed(driver, report)
}

/// Like [`make`], for the end of the program: runs no code of the program. Returns `None` if another thread holds the
/// lock.
pub(crate) fn make_last(driver: &Driver, leaks: bool) -> Option<Report> {
    let mut state = driver.try_lock()?;
    host::take_host_accesses(&mut state);
    let state = if state.host_functions == 0 { resolved(driver, state) } else { state };
    let report = of(&state, leaks, true);
    drop(state);
    Some(completed(driver, report))
}

/// The report of the detector, with the memory that launches left out.
fn of(state: &State, leaks: bool, history: bool) -> Report {
    let report = if history { state.detector.report(leaks) } else { state.detector.report_findings(leaks) };
    Report { watched: watched(state), ..report }
}

/// Adds source lines and suppressions to a report. The driver must not be locked, because this reads files.
fn completed(driver: &Driver, mut report: Report) -> Report {
    report.recorded_by = concat!("cuarray-sim ", env!("CARGO_PKG_VERSION"), ", the simulated CUDA driver").to_owned();
    add_lines(&mut report);
    report.identify();
    if let Ok(config) = &driver.config {
        let known = if config.strict_kernel_races { Vec::new() } else { suppression::of_libraries() };
        report.suppress(&[&known[..], &config.suppressions].concat());
        report.suppressed.retain(|each| each.line > 0 || each.count > 0);
    }
    report
}

/// The folder from which code hosts name files: that of the checkout in a workflow of GitHub, else the current one.
pub(crate) fn source_root() -> PathBuf {
    let root = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from).or_else(|| std::env::current_dir().ok());
    root.unwrap_or_default()
}

/// Discards the findings so far.
pub(crate) fn clear_findings(driver: &Driver) {
    known(driver).detector.clear();
}

/// Locks the driver, and runs the work whose accesses are not known yet.
fn known(driver: &Driver) -> Guard<'_> {
    let mut state = driver.lock();
    host::take_host_accesses(&mut state);
    resolved(driver, state)
}

fn resolved<'a>(driver: &'a Driver, state: Guard<'a>) -> Guard<'a> {
    if state.detector.is_settled() {
        return state;
    }
    let contexts: Vec<CUcontext> = state.contexts.keys().copied().collect();
    drain::exhaust(driver, state, &contexts)
}
