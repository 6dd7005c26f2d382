//! The thread that runs the work before records of shared events, when another process waits for one.
//!
//! The thread never blocks: it leaves host functions to the progress thread, and returns to a stream that waits for
//! another process. So two processes that wait for each other's earlier work always get on.

use super::{Patience, run};
use crate::driver::Driver;
use crate::state::State;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The interval at which the thread looks for wanted records.
const INTERVAL: Duration = Duration::from_millis(1);

/// Starts the thread, unless it is running or no record is pending.
pub(crate) fn watch(driver: &Arc<Driver>, state: &mut State) {
    if !state.service_thread && !state.published.is_empty() {
        let driver = Arc::downgrade(driver);
        let thread = std::thread::Builder::new().name("cuarray-sim service".to_owned());
        state.service_thread = thread.spawn(move || serve(&driver)).is_ok();
    }
}

fn serve(driver: &Weak<Driver>) {
    loop {
        std::thread::sleep(INTERVAL);
        let Some(driver) = driver.upgrade() else { return };
        let mut state = driver.lock();
        if state.published.is_empty() {
            state.service_thread = false;
            return;
        }
        let wanted = state.published.iter().filter(|record| record.event.is_wanted(record.generation));
        let points: Vec<_> = wanted.map(|record| record.point).collect();
        for point in points {
            state = run(&driver, state, vec![point], u64::MAX, Patience::Nothing);
        }
    }
}
