//! What the process's driver says when the process ends.
//!
//! A program rarely says when it is done with CUDA, so what is to be said at the end is said by a function that the C
//! library calls at exit. It is the very end, after Python has finalized and destructors have run: what is alive then is a
//! leak, and what was released late was released. A process that is killed, or leaves by `_exit`, gets none of it.
//!
//! What was found is printed on standard error, written to the file that `CUARRAY_SIM_REPORT` names, and turned into the exit
//! status of `CUARRAY_SIM_EXIT_STATUS` where the program would have ended well.
//!
//! The driver is over then: calls that come later, from functions that were to run at exit and were registered before the driver
//! was first used, or from threads that go on, are answered `CUDA_ERROR_DEINITIALIZED`, as the real one answers them.

use crate::config::Schedule;
use crate::driver::Driver;
use cuarray_races::finding::Report;
use cuarray_races::report::Format;
use std::ffi::{c_int, c_void};
use std::io::{IsTerminal as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The process in which the driver was made; its children by `fork` inherit its handlers and its settings.
static MADE_IN: AtomicU32 = AtomicU32::new(0);
static OVER: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    /// As `atexit`, for a function that learns the exit status; from the GNU C library.
    fn on_exit(function: extern "C" fn(status: c_int, argument: *mut c_void), argument: *mut c_void) -> c_int;
}

/// Has the end noticed.
pub(crate) fn watch() {
    MADE_IN.store(std::process::id(), Ordering::Release);
    // SAFETY: the handler is a function of this library, which stays loaded while the process lives (a Rust library with
    // thread-locals is never unloaded), and nothing unwinds out of it.
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
}

/// Whether the driver has come to its end, and the process is about to.
pub(crate) fn is_over() -> bool {
    OVER.load(Ordering::Relaxed)
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    let guarded = AssertUnwindSafe(|| {
        let driver = Driver::of_the_process_if_any()?;
        // Not in a child of `fork`, which leaves with its parent's handlers.
        if driver.ready().is_ok() {
            tell_schedule(driver);
        }
        tell_findings(driver)
    });
    // A process that is about to end has nobody to tell of a panic.
    let new = catch_unwind(guarded).unwrap_or(None);
    OVER.store(true, Ordering::Relaxed);
    // The system keeps the lowest eight bits.
    if let Some(new) = new.filter(|_| status & 0xff == 0) {
        // SAFETY: the C library allows `exit` in a handler: it goes on with the handlers that are left, flushes its streams, and
        // ends with the new status.
        unsafe { libc::exit(c_int::from(new)) }
    }
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

/// Tells what was found; answers the exit status that a program without one of its own is to end with.
fn tell_findings(driver: &Driver) -> Option<u8> {
    let config = driver.config.as_ref().ok().filter(|config| config.findings)?;
    let is_child = MADE_IN.load(Ordering::Acquire) != std::process::id();
    let report = match driver.ready() {
        Ok(()) => driver.last_report(config.leaks.unwrap_or_else(|| config.report.is_some() || !is_python()))?,
        Err(_) if is_child => return None,
        // Nothing was found in a program that never asked for a device, and its report says so.
        Err(_) => Report::default(),
    };
    let found = !report.findings.is_empty();
    if let Some(named) = &config.report {
        let path = path_of_this_process(named, is_child);
        // One process among several says nothing where it has nothing to say.
        if (found || path == *named)
            && let Err(error) = report.write(&path)
        {
            eprintln!("cuarray-sim: CUARRAY_SIM_REPORT={}: {error}", path.display());
        }
    }
    if found && !config.quiet {
        let mut out = std::io::stderr();
        let text = report.text(out.is_terminal());
        // Where standard error is gone there is nobody to tell.
        let _ = out.write_all(text.as_bytes());
    }
    config.exit_status.filter(|_| found)
}

/// The path with the number of this process for `%p`, or before its extension in a child that would write its parent's file.
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

/// Whether the process is a Python interpreter, or has one inside: few Python programs release everything before they end.
fn is_python() -> bool {
    // SAFETY: looks a name up among what is loaded.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"Py_IsInitialized".as_ptr()) }.is_null()
}
