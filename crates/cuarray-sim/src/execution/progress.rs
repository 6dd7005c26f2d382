//! The progress thread, which runs host functions and polled kernels when the program makes no driver calls.
//!
//! A program such as an event loop may wait for a host function without calling the driver again. It may also poll
//! memory that a kernel writes for the host. On a GPU both run anyway. So while such work is pending, a thread runs
//! its streams up to the last host function or kernel of this kind. It does so when the program has made no driver call for a while, or when a query has found pending work.
//! If the program keeps calling the driver, the thread runs the work after one second.

use crate::driver::{Driver, Guard};
use crate::execution;
use crate::objects::point::Point;
use crate::state::State;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The interval without driver calls after which such work runs.
const SILENCE: Duration = Duration::from_millis(50);
/// The number of such intervals after which such work runs in any case.
const PATIENCE: u32 = 20;

/// Starts the progress thread, unless it is running or has nothing to do.
pub(crate) fn watch(driver: &Arc<Driver>, state: &mut Guard<'_>) {
    if !state.progress_thread && is_needed(state) {
        let driver = Arc::downgrade(driver);
        let thread = std::thread::Builder::new().name("cuarray-sim progress".to_owned());
        state.progress_thread = thread.spawn(move || run(&driver)).is_ok();
    }
}

fn is_needed(state: &State) -> bool {
    state.host_functions > 0 || state.streams.values().any(|stream| stream.needs_progress_to() > 0)
}

fn run(driver: &Weak<Driver>) {
    let (mut seen, mut waited) = (None, 0);
    loop {
        std::thread::sleep(SILENCE);
        let Some(driver) = driver.upgrade() else { return };
        let calls = Some(driver.calls());
        let silent = seen == calls;
        seen = calls;
        waited += 1;
        let mut state = driver.lock();
        if !is_needed(&state) {
            state.progress_thread = false;
            return;
        }
        if silent || state.host_function_wanted || waited >= PATIENCE {
            state.host_function_wanted = false;
            waited = 0;
            let points = state.streams.iter().map(|(handle, stream)| (*handle, stream.needs_progress_to()));
            let wanted = points.filter(|(_, operation)| *operation > 0);
            let targets: Vec<Point> = wanted.map(|(stream, operation)| Point { stream, operation }).collect();
            // This thread makes no choices, because the moment at which it runs is not part of the schedule.
            // A stream that waits for another process does not delay the others.
            for target in targets {
                state = execution::run(&driver, state, vec![target], u64::MAX, execution::Patience::HostFunctions);
            }
        }
    }
}
