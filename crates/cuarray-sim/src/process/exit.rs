//! The report at process exit.
//!
//! A program rarely declares that it is done with CUDA, so a function that the C library calls at exit writes the
//! report. The function runs at the very end, after Python has finalized and destructors have run. Objects that are alive then
//! are leaks; objects that were released late are not. A process that is killed, or exits through `_exit`, writes no
//! report.
//!
//! Findings are printed on standard error, written to the file of `CUARRAY_SIM_REPORT`, and turned into the exit status
//! `CUARRAY_SIM_EXIT_STATUS` if the program would exit with 0.
//!
//! Afterwards the driver is shut down. Later calls, from earlier exit handlers or from running threads, return
//! `CUDA_ERROR_DEINITIALIZED`, as on real drivers.

use crate::driver::Driver;
use crate::execution::chosen;
use crate::process::{family, report, summary};
use crate::schedule::Schedule;
use cuarray_races::finding::Report;
use cuarray_races::report::Format;
use std::ffi::{OsString, c_int, c_void};
use std::io::{IsTerminal as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// The id of the process that created the driver; children of `fork` inherit its handlers and its settings.
static MADE_IN: AtomicU32 = AtomicU32::new(0);
/// The driver whose report the handler makes.
static WATCHED: OnceLock<Arc<Driver>> = OnceLock::new();
static OVER: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    /// Like `atexit`, for a function that receives the exit status; from the GNU C library.
    fn on_exit(function: extern "C" fn(status: c_int, argument: *mut c_void), argument: *mut c_void) -> c_int;
}

/// Registers the exit handler, which reports on a driver.
pub(crate) fn watch(driver: &Arc<Driver>) {
    let _ = WATCHED.set(driver.clone());
    MADE_IN.store(std::process::id(), Ordering::Release);
    // SAFETY: the handler is a function of this library, which stays loaded while the process lives (a Rust library
    // with thread-locals is never unloaded), and it does not unwind.
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
}

/// Whether the driver is shut down, because the process is exiting.
pub(crate) fn is_over() -> bool {
    OVER.load(Ordering::Relaxed)
}

/// Reports the findings of the process now, because a signal is about to end it, and no handler will run.
pub(crate) fn report_before_signal() {
    if let Some(driver) = WATCHED.get() {
        report_findings(driver);
    }
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    let guarded = AssertUnwindSafe(|| {
        let driver = WATCHED.get()?;
        // A child of `fork` runs its parent's handlers, but has no schedule.
        if driver.ready().is_ok() {
            report_schedule(driver);
        }
        report_findings(driver)
    });
    // A panic at the end of the process cannot be reported.
    let new = catch_unwind(guarded).unwrap_or(None);
    OVER.store(true, Ordering::Relaxed);
    // A child of `fork` shares the file.
    if let Some(trace) = WATCHED.get().and_then(|driver| driver.trace.as_ref())
        && let Some(timeline) = trace.timeline()
        && MADE_IN.load(Ordering::Acquire) == std::process::id()
    {
        timeline.end();
    }
    // The operating system keeps the lowest eight bits.
    if let Some(new) = new.filter(|_| status & 0xff == 0) {
        // SAFETY: the C library allows `exit` in a handler: it continues with the remaining handlers, flushes its
        // streams, and uses the new status.
        unsafe { libc::exit(c_int::from(new)) }
    }
}

/// Prints the seed at the start, because a crash leaves no report at exit.
pub(crate) fn print_seed(driver: &Driver) {
    let schedule = chosen::schedule_set(driver);
    if matches!(schedule, Schedule::Random(_)) && !driver.settings().quiet {
        eprintln!("cuarray-sim: CUARRAY_SIM_SCHEDULE={schedule}");
    }
}

/// Writes the schedule that ran, and prints how to repeat it.
fn report_schedule(driver: &Driver) {
    let settings = driver.settings();
    let schedule = chosen::schedule_set(driver);
    if let Some(path) = &settings.schedule_file
        && let Err(error) = std::fs::write(path, format!("{}\n", chosen::schedule_ran(driver)))
    {
        eprintln!("cuarray-sim: {}: {error}", path.display());
    }
    if let Some(mismatch) = chosen::mismatch(driver) {
        eprintln!("cuarray-sim: {mismatch}");
    } else if matches!(schedule, Schedule::Random(_)) && !settings.quiet {
        eprintln!("cuarray-sim: CUARRAY_SIM_SCHEDULE={schedule} runs the program under the same schedule again");
    }
}

/// Reports the findings; returns the exit status for a program that would exit with 0.
fn report_findings(driver: &Driver) -> Option<u8> {
    let config = driver.config.as_ref().ok().filter(|config| config.findings)?;
    let is_child = MADE_IN.load(Ordering::Acquire) != std::process::id();
    let report = match driver.ready() {
        Ok(()) => report::make_last(driver, config.leaks.unwrap_or_else(|| !is_python()))?,
        Err(_) if is_child => return None,
        // A program that never initialized the driver gets an empty report.
        Err(_) => Report::default(),
    };
    if !config.quiet && !is_child {
        for line in summary::lines(driver, Some(&report)) {
            eprintln!("cuarray-sim: {line}");
        }
    }
    if summary::unused(driver).is_none() {
        family::tell_ancestors();
    }
    let found = !report.findings.is_empty();
    if let Some(named) = &config.report {
        let path = path_of_this_process(named, is_child);
        // One of several processes writes a report only if it has findings.
        if (found || path == *named)
            && let Err(error) = report.write(&path, &report::source_root())
        {
            eprintln!("cuarray-sim: CUARRAY_SIM_REPORT={}: {error}", path.display());
        }
    }
    if found && !config.quiet {
        let mut out = std::io::stderr();
        let text = report.text(is_coloured(out.is_terminal(), |name| std::env::var_os(name)));
        // A failure to write to standard error cannot be reported.
        let _ = out.write_all(text.as_bytes());
        if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
            let _ = out.write_all(report.workflow_commands(&report::source_root()).as_bytes());
        }
    }
    config.exit_status.filter(|_| found)
}

/// Whether text is coloured. Users decide with the variables that other programs read too; an empty one counts as absent.
fn is_coloured(is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && (is_set("FORCE_COLOR") || is_terminal && variable("TERM").is_none_or(|term| term != "dumb"))
}

/// The path with the process id for `%p`; a child inserts the id before the extension, to keep its parent's file.
fn path_of_this_process(path: &Path, is_child: bool) -> PathBuf {
    let (number, text) = (std::process::id().to_string(), path.to_string_lossy());
    if text.contains("%p") {
        return PathBuf::from(text.replace("%p", &number));
    }
    match Format::of(path).filter(|_| is_child) {
        Some(format) => {
            let stem = text.len() - format.extension().len();
            PathBuf::from(format!("{}.{number}{}", &text[..stem], format.extension()))
        }
        None => path.to_owned(),
    }
}

/// Whether the process contains a Python interpreter: few Python programs free everything before exit.
fn is_python() -> bool {
    // SAFETY: looks up a name among the loaded libraries.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"Py_IsInitialized".as_ptr()) }.is_null()
}

#[cfg(test)]
mod tests {
    use super::is_coloured;

    #[test]
    fn users_decide_about_colour() {
        let coloured = |is_terminal, set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
            is_coloured(is_terminal, value)
        };
        assert!(coloured(true, &[]) && !coloured(false, &[]));
        assert!(!coloured(true, &[("NO_COLOR", "1")]) && coloured(true, &[("NO_COLOR", "")]));
        assert!(coloured(false, &[("FORCE_COLOR", "1")]) && !coloured(false, &[("FORCE_COLOR", "")]));
        assert!(!coloured(true, &[("TERM", "dumb")]) && coloured(true, &[("TERM", "xterm")]));
        assert!(coloured(false, &[("FORCE_COLOR", "1"), ("TERM", "dumb")]));
        assert!(!coloured(false, &[("FORCE_COLOR", "1"), ("NO_COLOR", "1")]));
    }
}
