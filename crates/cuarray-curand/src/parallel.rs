//! Loops over the cores of the host.

use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::thread::{self, Builder};

/// The number of results from which a loop uses several threads: starting them takes as long as some thousand results.
const WORTHWHILE: usize = 1 << 15;

/// The number of threads for `count` results.
pub(crate) fn threads(count: usize) -> usize {
    if count < WORTHWHILE { 1 } else { thread::available_parallelism().map_or(1, NonZero::get) }
}

/// Runs a function for each item, each in its own thread.
pub(crate) fn each<I: Send>(items: Vec<I>, f: impl Fn(I) + Sync) {
    let mut items = items.into_iter();
    let Some(first) = items.next() else { return };
    thread::scope(|scope| {
        for item in items {
            let f = &f;
            let place = Arc::new(Mutex::new(Some(item)));
            let taken = Arc::clone(&place);
            let run = move || {
                if let Some(item) = taken.lock().ok().and_then(|mut item| item.take()) {
                    f(item);
                }
            };
            // Without a new thread, this one does the work.
            if Builder::new().spawn_scoped(scope, run).is_err()
                && let Some(item) = place.lock().ok().and_then(|mut item| item.take())
            {
                f(item);
            }
        }
        f(first);
    });
}

/// Runs a function for contiguous parts of a slice, with the index of the first element. Parts begin at multiples of `step`.
pub(crate) fn parts<T: Send>(all: &mut [T], step: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    let size = all.len().div_ceil(threads(all.len())).next_multiple_of(step).max(step);
    let parts: Vec<_> = all.chunks_mut(size).enumerate().collect();
    each(parts, |(index, part)| f(index * size, part));
}
