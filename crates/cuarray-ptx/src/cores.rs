//! Work on several cores: the functions of a large module are parsed and resolved side by side.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The number of items for which a thread pays off.
const FEW: usize = 64;
/// The most threads.
const MOST: usize = 8;

/// Applies a function to each item, and hands the results to `take` in the order of the items. Many items are spread over the cores.
/// The calling thread takes results as soon as they are there, and works meanwhile.
///
/// # Errors
/// The first error of `take`; the items after it are left out.
pub(crate) fn map<T: Sync, R: Send, E>(
    items: &[T],
    apply: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(&T, R) -> Result<(), E>,
) -> Result<(), E> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(MOST);
    let workers = cores.min(items.len() / FEW);
    if workers < 2 {
        return items.iter().try_for_each(|item| take(item, apply(item)));
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let finished = || done.lock().unwrap_or_else(PoisonError::into_inner);
    let chunk = |start: usize| items.get(start..items.len().min(start + FEW)).filter(|chunk| !chunk.is_empty());
    let work = || {
        let start = next.fetch_add(FEW, Ordering::Relaxed);
        let Some(chunk) = chunk(start) else { return false };
        let results: Vec<R> = chunk.iter().map(&apply).collect();
        finished().insert(start, results);
        true
    };
    let mut taken = 0;
    let mut take_finished = || {
        let results = |start: usize| finished().remove(&start);
        while let Some((chunk, results)) = chunk(taken).zip(results(taken)) {
            taken += chunk.len();
            let taken = chunk.iter().zip(results).try_for_each(|(item, result)| take(item, result));
            // After an error, no thread begins another chunk.
            taken.inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // If no thread can be started, the other threads do its work.
            let thread = std::thread::Builder::new().name("cuarray-ptx".to_owned());
            drop(thread.spawn_scoped(scope, || while work() {}));
        }
        while work() {
            take_finished()?;
        }
        Ok(())
    })?;
    take_finished()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_taken_in_the_order_of_the_items() {
        for count in [0, 1, 63, 64, 128, 1000, 6913] {
            let items: Vec<usize> = (0..count).collect();
            let mut taken = Vec::new();
            let all = super::map(&items, usize::to_string, |item, result| {
                taken.push((*item, result));
                Ok::<_, ()>(())
            });
            let expected: Vec<(usize, String)> = items.iter().map(|item| (*item, item.to_string())).collect();
            assert_eq!((all, taken), (Ok(()), expected));
        }
    }

    #[test]
    fn items_after_an_error_are_left_out() {
        for count in [10, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let mut taken = 0;
            let failed = super::map(
                &items,
                |item| *item,
                |_, result| {
                    taken += 1;
                    if result == 7 { Err(result) } else { Ok(()) }
                },
            );
            assert_eq!((failed, taken), (Err(7), 8));
        }
    }
}
