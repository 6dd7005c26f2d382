//! The report of a driver: its findings with source lines, without the suppressed ones.

use crate::driver::{Driver, Guard};
use crate::site::add_lines;
use cuarray_abi::CUcontext;
use cuarray_races::finding::Report;

impl Driver {
    /// All findings, and if `leaks`, live objects as leaks. Pending work whose accesses are not known yet runs first.
    pub(crate) fn report(&self, leaks: bool) -> Report {
        let leaks = leaks && self.config.as_ref().is_ok_and(|config| config.leaks != Some(false));
        let report = self.known().detector.report(leaks);
        self.completed(report)
    }

    /// Like `report`, but at the end of the program and without running its code; `None` if another thread holds the
    /// lock.
    pub(crate) fn last_report(&self, leaks: bool) -> Option<Report> {
        let mut state = self.try_lock()?;
        state.take_host_accesses();
        let state = if state.host_functions == 0 { self.resolved(state) } else { state };
        let report = state.detector.report(leaks);
        drop(state);
        Some(self.completed(report))
    }

    /// Reads files, so the driver must not be locked.
    fn completed(&self, mut report: Report) -> Report {
        report.recorded_by =
            concat!("cuarray-sim ", env!("CARGO_PKG_VERSION"), ", the simulated CUDA driver").to_owned();
        add_lines(&mut report);
        if let Ok(config) = &self.config {
            report.suppress(&config.suppressions);
        }
        report
    }

    /// Discards the findings so far.
    pub(crate) fn clear_findings(&self) {
        self.known().detector.clear();
    }

    /// Locks the driver, and runs the work whose accesses are not known yet.
    fn known(&self) -> Guard<'_> {
        let mut state = self.lock();
        state.take_host_accesses();
        self.resolved(state)
    }

    fn resolved<'a>(&'a self, state: Guard<'a>) -> Guard<'a> {
        if state.detector.is_settled() {
            return state;
        }
        let contexts: Vec<CUcontext> = state.contexts.keys().copied().collect();
        self.exhaust(state, &contexts)
    }
}
