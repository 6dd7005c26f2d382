//! What the process's driver says when the process ends.
//!
//! A program rarely says when it is done with CUDA, so what is to be said at the end is said by a function that the C
//! library calls at exit. A process that is killed, or leaves by `_exit`, gets none of it.

use crate::config::Schedule;
use crate::driver::Driver;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
