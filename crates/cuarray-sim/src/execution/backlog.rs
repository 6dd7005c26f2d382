//! A limit to the pending operations of a stream.
//!
//! A GPU has one too: while the queue of a stream is full, the next call waits. So the memory of a program that never
//! synchronizes is bounded.

use super::{Patience, run};
use crate::driver::Driver;
use crate::objects::point::Point;
use crate::state::State;
use std::sync::atomic::Ordering;

/// The most pending operations of a stream.
const MOST: usize = 1 << 16;

/// Requests [`relieve`] if the queue of a stream, of this length, is full.
pub(super) fn note(state: &State, length: usize) {
    if length >= MOST {
        state.crowded.store(true, Ordering::Relaxed);
    }
}

/// At the end of a call, runs the older half of each full queue, as far as it runs without host functions and other
/// processes.
///
/// The calling thread may hold a lock that a pending host function takes. So it leaves host functions to other threads.
pub(crate) fn relieve(driver: &Driver) {
    if !driver.crowded.load(Ordering::Relaxed) || !driver.crowded.swap(false, Ordering::Relaxed) {
        return;
    }
    let mut state = driver.lock();
    let full = state.streams.iter().filter(|(_, stream)| stream.queue.len() >= MOST);
    let targets: Vec<Point> =
        full.map(|(handle, stream)| Point { stream: *handle, operation: stream.enqueued - MOST as u64 / 2 }).collect();
    // A stream that cannot go on does not delay the others.
    for target in targets {
        state = run(driver, state, vec![target], u64::MAX, Patience::Nothing);
    }
}
