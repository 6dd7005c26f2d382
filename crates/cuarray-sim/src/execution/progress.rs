//! The progress thread, which runs host functions when the program makes no driver calls.
//!
//! A program such as an event loop may wait for a host function without calling the driver again. On a GPU the
//! function runs anyway. So while host functions are pending, a thread runs their streams up to the last host
//! function. It does so when the program has made no driver call for a while, or when a query has found pending work.
//! If the program keeps calling the driver, the thread runs the functions after one second.

use crate::driver::{Driver, Guard};
use crate::execution;
use crate::objects::work::Point;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The interval without driver calls after which host functions run.
const SILENCE: Duration = Duration::from_millis(50);
/// The number of such intervals after which host functions run in any case.
const PATIENCE: u32 = 20;

/// Starts the progress thread, unless it is running.
pub(crate) fn watch_host_functions(driver: &Arc<Driver>, state: &mut Guard<'_>) {
    if !state.progress_thread {
        let driver = Arc::downgrade(driver);
        let thread = std::thread::Builder::new().name("cuarray-sim progress".to_owned());
        state.progress_thread = thread.spawn(move || watch(&driver)).is_ok();
    }
}

fn watch(driver: &Weak<Driver>) {
    let (mut seen, mut waited) = (None, 0);
    loop {
        std::thread::sleep(SILENCE);
        let Some(driver) = driver.upgrade() else { return };
        let calls = Some(driver.calls());
        let silent = seen == calls;
        seen = calls;
        waited += 1;
        let mut state = driver.lock();
        if state.host_functions == 0 {
            state.progress_thread = false;
            return;
        }
        if silent || state.host_function_wanted || waited >= PATIENCE {
            state.host_function_wanted = false;
            waited = 0;
            let holding = state.streams.iter().filter(|(_, stream)| stream.last_host_function > stream.executed);
            let point = |stream, operation| Point { stream, operation };
            let targets = holding.map(|(handle, stream)| point(*handle, stream.last_host_function)).collect();
            // This thread makes no choices, because the moment at which it runs is not part of the schedule.
            drop(execution::run(&driver, state, targets, u64::MAX));
        }
    }
}
