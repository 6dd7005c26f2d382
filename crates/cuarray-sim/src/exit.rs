//! What the process's driver says when the process ends.
//!
//! A program rarely says when it is done with CUDA, so what is to be said at the end is said by a function that the C
//! library calls at exit. A process that is killed, or leaves by `_exit`, gets none of it.
//!
//! Findings are written to the file that `CUARRAY_SIM_REPORT` names. Without one, a program prints them on standard error, unless
//! it is a Python program: the launcher and the pytest plugin know more of what happened there.

use crate::config::Schedule;
use crate::driver::Driver;
use crate::finding::Report;
use std::io::{IsTerminal as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Has the end noticed.
pub(crate) fn watch() {
    // SAFETY: the handler is a function of this library, which stays loaded while the process lives (a Rust library with
    // thread-locals is never unloaded), and nothing unwinds out of it.
    unsafe { libc::atexit(at_exit) };
}

extern "C" fn at_exit() {
    let guarded = AssertUnwindSafe(|| {
        // Not in a child of `fork`, which leaves with its parent's handlers.
        if let Some(driver) = Driver::of_the_process_if_used() {
            tell_findings(driver);
            tell_schedule(driver);
        }
    });
    // A process that is about to end has nobody to tell of a panic.
    drop(catch_unwind(guarded));
}

/// Says under which seed the program begins: where it crashes, nothing is said at its end.
pub(crate) fn tell_seed(driver: &Driver) {
    let schedule = driver.schedule();
    if matches!(schedule, Schedule::Random(_)) && !driver.settings().quiet {
        eprintln!("cuarray-sim: CUARRAY_SIM_SCHEDULE={schedule}");
    }
}

/// Writes down the schedule that ran, and says how to have it again.
fn tell_schedule(driver: &Driver) {
    let settings = driver.settings();
    let schedule = driver.schedule();
    if let Some(path) = &settings.schedule_file
        && let Err(error) = std::fs::write(path, format!("{}\n", driver.schedule_ran()))
    {
        eprintln!("cuarray-sim: {}: {error}", path.display());
    }
    if let Some(misfit) = driver.misfit() {
        eprintln!("cuarray-sim: {misfit}");
    } else if matches!(schedule, Schedule::Random(_)) && !settings.quiet {
        eprintln!("cuarray-sim: CUARRAY_SIM_SCHEDULE={schedule} runs the program under the same schedule again");
    }
}

fn tell_findings(driver: &Driver) {
    let Ok(config) = &driver.config else { return };
    if !config.findings {
        return;
    }
    let Some(report) = driver.last_report() else { return };
    if let Some(path) = &config.report {
        if let Err(error) = write(&report, path) {
            eprintln!("cuarray-sim: CUARRAY_SIM_REPORT={}: {error}", path.display());
        }
    } else if !report.findings.is_empty() && !is_python() {
        let mut out = std::io::stderr();
        let text = report.text(out.is_terminal());
        // Where standard error is gone there is nobody to tell.
        let _ = write!(out, "cuarray-sim: {} findings\n{text}", report.findings.len());
    }
}

fn write(report: &Report, path: &Path) -> std::io::Result<()> {
    let json = path.extension().is_some_and(|extension| extension == "json");
    std::fs::write(path, if json { report.json() } else { report.text(false) })
}

/// Whether the process is a Python interpreter, or has one inside.
fn is_python() -> bool {
    // SAFETY: looks a name up among what is loaded.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"Py_IsInitialized".as_ptr()) }.is_null()
}
