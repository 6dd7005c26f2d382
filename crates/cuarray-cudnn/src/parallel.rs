//! Parts of a result on all cores.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// The number of operations below which one thread computes: starting another takes as long as those.
const FEW: usize = 1 << 20;

/// Calls a function with each part of a result and its number, on as many threads as `operations` are worth. Parts have `size` elements.
pub(crate) fn each_part<V: Send>(result: &mut [V], size: usize, operations: usize, f: impl Fn(usize, &mut [V]) + Sync) {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = if operations < FEW { 1 } else { cores().min(operations / FEW) };
    let parts = result.chunks_mut(size.max(1)).enumerate();
    if threads <= 1 {
        return parts.for_each(|(index, part)| f(index, part));
    }
    let parts = Mutex::new(parts);
    let work = || {
        loop {
            let next = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, part)) = next else { break };
            f(index, part);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // The calling thread works too, so all parts are done although no other thread starts.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}
