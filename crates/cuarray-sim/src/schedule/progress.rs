//! The thread that runs forgotten host functions.
//!
//! A program may enqueue a host function and then wait for it without ever calling the driver again: an event loop does. No
//! call would force that work, and on a GPU none is needed. So while host functions are pending a thread watches:
//! when the program has made no driver call for a while, or a query has met one of them, it runs the streams that hold
//! them, up to the last one. A program that polls something else for ever is not starved either: after a second it happens
//! in any case.

use super::Point;
use crate::driver::{Driver, Guard};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long a program must be silent.
const SILENCE: Duration = Duration::from_millis(50);
/// After how many of these times silence is no longer waited for.
const PATIENCE: u32 = 20;

impl Driver {
    /// Starts the thread, unless it is there.
    pub(crate) fn watch_host_functions(self: &Arc<Self>, state: &mut Guard<'_>) {
        if !state.progress_thread {
            let driver = Arc::downgrade(self);
            let thread = std::thread::Builder::new().name("cuarray-sim progress".to_owned());
            state.progress_thread = thread.spawn(move || watch(&driver)).is_ok();
        }
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
            // Without choices: when this thread comes by is no choice of the schedule either.
            drop(driver.run(state, targets, u64::MAX));
        }
    }
}
