//! Streams that wait for a word of memory.
//!
//! All streams of a GPU run concurrently, so any pending work may write the word. A forced stream that waits therefore
//! runs other work: first the pending writes of this word with their dependencies, then any other ready work, one
//! operation at a time. When nothing is left, only the host can write the word, from another thread. That is given a
//! time limit, because a wait that never ends would stop the program without an explanation.

use super::{Step, chosen, execute_next};
use crate::driver::{Driver, Guard};
use crate::execution::words;
use crate::objects::memory_operation::Word;
use crate::objects::point::Point;
use crate::objects::work::Work;
use crate::signals::Signals;
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::finding::Range;
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// The interval at which a waiting thread looks at the word.
const INTERVAL: Duration = Duration::from_millis(1);

/// The pending writes of a word.
fn writes_of(state: &State, word: Word) -> Vec<Point> {
    let mut points = Vec::new();
    for (handle, stream) in &state.streams {
        let first = stream.enqueued - stream.queue.len() as u64 + 1;
        let writes = stream.queue.iter().position(|operation| match &operation.work {
            Work::Memory(operation) => operation.writes() && operation.word().is_some_and(|other| other.overlaps(word)),
            _ => false,
        });
        points.extend(writes.map(|index| Point { stream: *handle, operation: first + index as u64 }));
    }
    points
}

/// Runs one operation besides those of a blocked stream. Returns [`Step::Blocked`] if none can run.
pub(super) fn run_other_work(state: &mut State, stream: CUstream, leaves_host_functions: bool) -> Step {
    let Some(word) = words::awaited(state, stream) else { return Step::Done };
    let needed = chosen::needed_for(state, writes_of(state, word));
    let ready = chosen::ready_streams(state, &needed);
    let is_needed = |state: &State, handle: &CUstream| {
        let executed = state.streams.get(handle).map_or(0, |stream| stream.executed);
        needed.get(handle).is_some_and(|last| *last > executed)
    };
    let next = ready.iter().find(|handle| is_needed(state, handle)).or(ready.first()).copied();
    let next = next.or_else(|| {
        // A host function may be what writes the word.
        let everything: BTreeMap<CUstream, u64> = state.streams.keys().map(|handle| (*handle, u64::MAX)).collect();
        let calls = |handle: &CUstream| {
            let front = state.streams.get(handle).and_then(|stream| stream.queue.front());
            matches!(front.map(|operation| &operation.work), Some(Work::HostFunction(_)))
        };
        chosen::ready_streams(state, &everything).into_iter().find(calls)
    });
    let Some(next) = next else { return Step::Blocked(stream) };
    let front = state.streams.get(&next).and_then(|stream| stream.queue.front());
    if leaves_host_functions && front.is_some_and(|operation| operation.work.depends_on_others()) {
        state.host_function_wanted = true;
        return Step::Busy;
    }
    execute_next(state, next)
}

/// A wait for the host.
pub(super) struct Waiting {
    since: Instant,
    signals: Option<Signals>,
}

/// Waits a moment for the host, or another thread's calls. Fails the context of the stream after the time limit, or by a signal.
pub(super) fn wait_for_the_host<'a>(
    driver: &'a Driver,
    state: Guard<'a>,
    stream: CUstream,
    waiting: &mut Option<Waiting>,
) -> Guard<'a> {
    let (limit, interrupts) =
        driver.config.as_ref().map_or((Duration::ZERO, false), |config| (config.memory_wait, config.interrupts));
    let mut state = state;
    let begun = || Waiting { since: Instant::now(), signals: interrupts.then(Signals::await_them) };
    let Waiting { since, signals } = waiting.get_or_insert_with(begun);
    let interrupted = signals.as_ref().is_some_and(Signals::came);
    if interrupted || since.elapsed() >= limit {
        *waiting = None;
        give_up(&mut state, stream, (!interrupted).then_some(limit));
        return state;
    }
    let waited = driver.finished.wait_timeout(state, INTERVAL);
    waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Fails the context of a stream whose wait has not ended within a limit, or was interrupted.
fn give_up(state: &mut State, stream: CUstream, limit: Option<Duration>) {
    let Some(context) = state.streams.get(&stream).map(|stream| stream.context) else { return };
    if let Some(limit) = limit
        && let Some(Word { address, size }) = words::awaited(state, stream)
    {
        let front = state.streams.get(&stream).and_then(|stream| stream.queue.front());
        if let Some(ticket) = front.and_then(|operation| operation.ticket.clone()) {
            state.detector.stream_waits_forever(&ticket, Range { address, length: size });
        }
        if !state.quiet {
            eprintln!(
                "cuarray-sim: a stream waits for the {size} bytes at {address:#x} (cuStreamWaitValue, cuStreamBatchMemOp), and no \
                 pending work and no host thread wrote the value within {} seconds; the context has failed with \
                 CUDA_ERROR_LAUNCH_TIMEOUT. Enqueue the write before the call that waits, or set CUARRAY_SIM_MEMORY_WAIT to a \
                 longer time",
                limit.as_secs_f64()
            );
        }
    }
    state.fail_context(context, CUresult::CUDA_ERROR_LAUNCH_TIMEOUT);
}
