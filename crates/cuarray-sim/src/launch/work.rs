//! Launches: kernels in streams, which run when the schedule runs them.
//!
//! A launch is enqueued with all its inputs, except the reachable memory, which is collected when it runs. After a
//! failing kernel its context has failed, as on a GPU: every later call returns that error until the context is
//! destroyed.

use super::accessed::{self, strength};
use super::deadlocks::Others;
use super::failures::fail_launch;
use super::findings::{kernel_race, misuses};
use super::heap_changes::LaunchHeap;
use super::orders;
use super::reachable::reachable;
use super::watchdog::Watchdog;
use crate::launch::conditions;
use crate::memory_operations::work;
use crate::module::loading;
use crate::objects::code::Partly;
use crate::objects::heap::Heap;
use crate::objects::launch::Launch;
use crate::objects::work::Accesses;
use crate::state::State;
use crate::texture::work as textures;
use cuarray_abi::*;
use cuarray_ptx::{FaultKind, Outcome, Outlook, Region, Service, TouchedRange};
use cuarray_races::{Fences, Ticket, Unwritten, Values};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Instant;

/// The driver's services for the kernels of a launch.
struct Services<'a> {
    /// The memory that nothing has written.
    unwritten: Option<Unwritten<'a>>,
    heap: Option<&'a LaunchHeap>,
    assertions: &'a Mutex<Vec<String>>,
    /// The conditions that the kernel sets, in order.
    conditions: &'a Mutex<Vec<(CUgraphConditionalHandle, u32)>>,
    watchdog: Watchdog<'a>,
    others: Others<'a>,
}

impl Service for Services<'_> {
    fn allocate(&self, size: u64) -> u64 {
        self.heap.filter(|_| size > 0).map_or(0, |heap| heap.allocate(size))
    }

    fn free(&self, address: u64) -> u64 {
        self.heap.map_or(0, |heap| heap.free(address))
    }

    fn assertion(&self, text: &str) {
        self.assertions.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }

    fn unwritten(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        self.unwritten.as_ref().map(|unwritten| unwritten.parts(start, end)).unwrap_or_default()
    }

    fn set_condition(&self, handle: u64, value: u32) {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner).push((handle, value));
    }

    fn outlook(&self, addresses: &[u64]) -> Outlook {
        self.others.outlook(addresses)
    }

    fn tick(&self, pc: u32, finished: u64) -> Option<FaultKind> {
        self.watchdog.look(pc, finished)
    }
}

/// The index of the heap's limit in `cuCtxSetLimit`.
const HEAP_LIMIT: usize = CU_LIMIT_MALLOC_HEAP_SIZE as usize;

/// Fixes the limits that the manual lets a program change only before the launch of a kernel that uses them.
pub(crate) fn fix_limits(state: &mut State, launch: &Launch) {
    if let Some(context) = state.contexts.get_mut(&launch.context) {
        context.limits_fixed[HEAP_LIMIT] |= launch.program.allocates();
        context.limits_fixed[CU_LIMIT_PRINTF_FIFO_SIZE as usize] |= launch.program.prints();
    }
}

/// The time in nanoseconds that a launch takes besides that of its kernel.
const LAUNCH_TIME: u64 = 2_000;

/// Tells the detector of the races and misuses within a launch, and of the fences by which it synchronizes.
fn report_threads(state: &mut State, launch: &Launch, ticket: &Ticket, regions: &[Region], outcome: &Outcome) {
    let races = outcome.races.iter().map(|race| kernel_race(state, launch, regions, outcome, race)).collect();
    state.detector.threads_raced(ticket, races);
    let misuses = misuses(state, launch, regions, outcome);
    state.detector.threads_misused(ticket, misuses);
    let [releases, acquires] = outcome.handed_over.map(strength);
    state.detector.synchronizes(ticket, Fences { releases, acquires });
}

/// Executes a launch of a stream; returns its accesses to the program's memory, if findings need them.
#[expect(
    clippy::too_many_lines,
    reason = "the launch's parts are named once, and its outcome is reported in the order of its effects"
)]
pub(crate) fn execute(state: &mut State, launch: &Launch, stream: CUstream, ticket: Option<&Ticket>) -> Accesses {
    fix_limits(state, launch);
    let heap = if launch.program.allocates() { heap_of(state, launch.context) } else { None };
    let reachable = reachable(state, launch);
    let textures = textures::table(state);
    state.code.executed_launches += 1;
    let (heap, assertions, conditions) = (heap.map(LaunchHeap::new), Mutex::default(), Mutex::default());
    let services = Services {
        unwritten: ticket.map(|ticket| state.detector.unwritten_before(ticket)),
        heap: heap.as_ref(),
        assertions: &assertions,
        conditions: &conditions,
        watchdog: Watchdog::new(launch),
        others: Others::new(state, stream, launch.settings.memory_wait),
    };
    let kernel = cuarray_ptx::Launch {
        program: &launch.program,
        kernel: launch.kernel,
        constants: &launch.constants,
        grid: launch.grid,
        threads: launch.threads,
        cluster: launch.cluster,
        dynamic_shared: launch.dynamic_shared,
        parameters: &launch.parameters,
        regions: &reachable.regions,
        aliases: &reachable.aliases,
        record: ticket.is_some(),
        races: launch.settings.races && ticket.is_some(),
        dependent: launch.settings.races && ticket.is_some_and(|ticket| ticket.before_wait.is_some()),
        searched: launch.settings.searched,
        guesses: launch.settings.guesses,
        strict: launch.settings.strict,
        poisons: launch.settings.poisons,
        order: launch.settings.order,
        budget: launch.settings.budget,
        cooperative: launch.cooperative,
        time: state.time(),
        clock_rate: launch.settings.clock_rate,
        resident_warps: launch.settings.resident_warps,
        multiprocessors: launch.settings.multiprocessors,
        resident_blocks: launch.settings.resident_blocks as usize,
        number: state.code.executed_launches,
        workers: workers(launch.settings.cores),
        code: launch.settings.code,
        textures: &textures,
        service: &services,
    };
    let began = Instant::now();
    // SAFETY: the regions are the live allocations in order of address, mapped while the state is locked. The
    // constants belong to the launch's module.
    let outcome = unsafe {
        match launch.settings.every_order && kernel.races && !launch.program.allocates() {
            true => orders::execute(&kernel),
            false => cuarray_ptx::execute(&kernel),
        }
    };
    let time = began.elapsed();
    let follows = !kernel.dependent && kernel.aliases.is_empty();
    drop(services);
    state.time_passes(outcome.nanoseconds + LAUNCH_TIME);
    print(&outcome.printed);
    for text in assertions.into_inner().unwrap_or_else(PoisonError::into_inner) {
        eprintln!("{text}");
    }
    let conditions = conditions.into_inner().unwrap_or_else(PoisonError::into_inner);
    let set = conditions::set(state, launch, &conditions);
    state.code.has_executed(launch.name(), outcome.instructions, time);
    if let Some(fault) = &outcome.fault {
        fail_launch(state, launch, ticket, fault);
    }
    if let Some(ticket) = ticket {
        report_threads(state, launch, ticket, &reachable.regions, &outcome);
        if follows {
            // The memory of a failed launch counts as written.
            let undefined = if outcome.fault.is_none() { outcome.undefined.clone() } else { Vec::new() };
            let read = outcome.unwritten_reads.clone();
            state.detector.values_followed(ticket, Values { undefined, read });
        }
        if launch.settings.races {
            let touched = outcome.before_wait.iter().chain(&outcome.touched);
            note_partial_search(&mut state.code.partly_searched, launch.settings.searched, touched);
        }
        if let Some(heap) = &heap {
            let device = state.contexts.get(&launch.context).map_or(0, |context| context.device as i32);
            heap.report(state, ticket, device);
        }
    }
    let accessed = |touched| accessed::accessed(&state.memory, heap.as_ref(), touched);
    let (before_wait, mut touched) = (accessed(&outcome.before_wait), accessed(&outcome.touched));
    touched.extend(set);
    if let Some(ticket) = ticket
        && state.memory_waits > 0
        && outcome.handed_over[0] != cuarray_ptx::Strength::Weak
    {
        work::launch_published(state, ticket, &touched);
    }
    Accesses { before_wait, touched, ended_by: None }
}

/// Counts a launch that touched more memory than is searched for races.
fn note_partial_search<'a>(partly: &mut Partly, limit: u64, touched: impl Iterator<Item = &'a TouchedRange> + Clone) {
    let most: u64 = touched.clone().map(TouchedRange::bytes).sum();
    if most <= limit {
        return;
    }
    let mut ranges: Vec<(u64, u64)> = touched.flat_map(TouchedRange::pieces).collect();
    ranges.sort_unstable();
    let (mut bytes, mut reached) = (0, 0);
    for (start, end) in ranges {
        bytes += end.saturating_sub(start.max(reached));
        reached = reached.max(end);
    }
    // The search halves its part until it fits.
    let halvings = (0..64).find(|halvings| bytes >> halvings <= limit).unwrap_or(0);
    if halvings > 0 {
        partly.launches += 1;
        partly.touched += bytes;
        partly.searched += bytes >> halvings;
    }
}

/// The heap of a context's kernels; `None` if it cannot be allocated.
fn heap_of(state: &mut State, context: CUcontext) -> Option<Arc<Heap>> {
    if let Some(heap) = state.code.heaps.get(&context) {
        return Some(heap.clone());
    }
    let size = state.contexts.get(&context)?.limits[HEAP_LIMIT] as u64;
    let base = loading::take_for_code(state, context, size).ok()?;
    let heap = Arc::new(Heap::new(base, size));
    state.code.heaps.insert(context, heap.clone());
    Some(heap)
}

/// The number of threads that execute blocks.
fn workers(cores: usize) -> usize {
    /// The cores of the process. Counting them opens the files of its control group.
    static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    match cores {
        0 => *CORES,
        cores => cores,
    }
}

/// Writes the output of kernels to standard output.
fn print(mut text: &[u8]) {
    while !text.is_empty() {
        // SAFETY: the pointer and length are those of a slice.
        let written = unsafe { libc::write(libc::STDOUT_FILENO, text.as_ptr().cast(), text.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => text = &text[written..],
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The launches, touched bytes and searched bytes after a launch that touched ranges of MB.
    fn searched(ranges: &[(u64, u64)]) -> (u64, u64, u64) {
        let like = TouchedRange::new(cuarray_ptx::AccessKind::Write, cuarray_ptx::Strength::Weak);
        let touched: Vec<TouchedRange> = ranges.iter().map(|(start, end)| like.piece(start << 20, end << 20)).collect();
        let mut partly = Partly::default();
        note_partial_search(&mut partly, 32 << 20, touched.iter());
        (partly.launches, partly.touched >> 20, partly.searched >> 20)
    }

    #[test]
    fn launches_do_not_count_the_cores_again() {
        // The files of the control group are read to count them.
        let reads = || {
            let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
            text.lines().find_map(|line| line.strip_prefix("syscr: "))?.parse::<u64>().ok()
        };
        workers(0);
        let before = reads();
        (0..100).for_each(|_| assert!(workers(0) > 0));
        if let Some((before, after)) = before.zip(reads()) {
            assert!(after - before < 10, "{} reads", after - before);
        }
    }

    #[test]
    fn launch_over_more_memory_than_is_searched_is_counted_once_for_each_byte() {
        assert_eq!(searched(&[(0, 32)]), (0, 0, 0));
        assert_eq!(searched(&[(0, 20), (0, 20)]), (0, 0, 0));
        assert_eq!(searched(&[(0, 40)]), (1, 40, 20));
        assert_eq!(searched(&[(100, 140), (110, 120), (0, 60)]), (1, 100, 25));
    }
}
