//! Work on several cores: the functions of a large module are parsed and resolved side by side.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The number of items for which a thread pays off.
const FEW: usize = 64;
/// The most threads.
const MOST: usize = 8;

/// Applies a function to each item, and returns the results in the order of the items. Many items are spread over the cores.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], apply: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(MOST);
    let workers = cores.min(items.len() / FEW);
    if workers < 2 {
        return items.iter().map(apply).collect();
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let start = next.fetch_add(FEW, Ordering::Relaxed);
            let Some(chunk) = items.get(start..items.len().min(start + FEW)).filter(|chunk| !chunk.is_empty()) else {
                return;
            };
            let results: Vec<R> = chunk.iter().map(&apply).collect();
            done.lock().unwrap_or_else(PoisonError::into_inner).push((start, results));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // If no thread can be started, the other threads do its work.
            drop(std::thread::Builder::new().name("cuarray-ptx".to_owned()).spawn_scoped(scope, work));
        }
        work();
    });
    let mut chunks = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    chunks.sort_unstable_by_key(|(start, _)| *start);
    chunks.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_have_the_order_of_the_items() {
        for count in [0, 1, 63, 64, 128, 1000, 6913] {
            let items: Vec<usize> = (0..count).collect();
            let expected: Vec<String> = items.iter().map(usize::to_string).collect();
            assert_eq!(super::map(&items, usize::to_string), expected);
        }
    }
}
