//! Jobs on all cores.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

/// The number of elements below which one thread transforms: starting another takes as long as those.
const FEW: usize = 1 << 15;

/// The number of threads for a transform of so many elements.
pub(crate) fn threads(elements: usize) -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    if elements < FEW {
        return 1;
    }
    // Asking the system takes as long as a small transform.
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Runs a function with each job. The calling thread works too, so all jobs are done although no other thread starts.
pub(crate) fn share<J>(jobs: impl Iterator<Item = J> + Send, threads: usize, f: impl Fn(J) + Sync)
where
    J: Send,
{
    if threads <= 1 {
        return jobs.for_each(f);
    }
    let queue = Mutex::new(jobs);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(job) = next() {
            f(job);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}

/// The number of rows of a job, for `rows` rows and a number of threads.
pub(crate) fn rows_of_a_job(rows: usize, threads: usize) -> usize {
    // Several jobs for each thread: another process may slow one down.
    if threads <= 1 { rows.max(1) } else { rows.div_ceil(threads * 4).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_is_done_once() {
        for threads in [1, 3] {
            let mut values = vec![0; 100];
            share(values.chunks_mut(7).enumerate(), threads, |(number, chunk)| {
                chunk.iter_mut().for_each(|value| *value += number + 1);
            });
            assert!(values.iter().enumerate().all(|(index, value)| *value == index / 7 + 1));
        }
    }
}
