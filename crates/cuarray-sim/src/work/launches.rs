//! Launches: kernels in streams, which run when the schedule runs them.
//!
//! A launch is enqueued with all its inputs, except the reachable memory, which is collected when it runs. After a
//! failing kernel its context has failed, as on a GPU: every later call returns that error until the context is
//! destroyed.

use crate::happens_before::calls;
use crate::memory::reservation::Reservation;
use crate::objects::allocation::{Allocation, Kind};
use crate::objects::code::Partly;
use crate::objects::heap::Heap;
use crate::objects::launch::Launch;
use crate::objects::work::Accesses;
use crate::state::State;
use crate::work::{allocations, contexts, modules};
use cuarray_abi::*;
use cuarray_ptx::{
    Access, AccessKind as TouchKind, Fault, FaultKind, Misuse, MisuseKind, Outcome, Program, RANK_SHIFT, Race, Region,
    Scope, Service, Space, TouchedRange, Variable as Declared, Wait, Why,
};
use cuarray_races::finding::{self, AccessKind, KernelPlace, Range, Variable};
use cuarray_races::report::kernel_name;
use cuarray_races::site::SourceLine;
use cuarray_races::{Fences, KernelMisuse, KernelRace, Strength, Ticket, Touch, Touched};
use std::sync::{Arc, Mutex, PoisonError};

/// The driver's services for the kernels of a launch.
struct Services {
    heap: Option<Arc<Heap>>,
    assertions: Mutex<Vec<String>>,
}

impl Service for Services {
    fn allocate(&self, size: u64) -> u64 {
        let Some(heap) = self.heap.as_ref().filter(|_| size > 0) else { return 0 };
        let mut inner = heap.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((offset, real)) = inner.0.take(size) else { return 0 };
        inner.1.insert(offset, real);
        heap.base + offset
    }

    fn free(&self, address: u64) {
        let Some(heap) = self.heap.as_ref() else { return };
        let mut inner = heap.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = address.wrapping_sub(heap.base);
        if let Some(real) = inner.1.remove(&offset) {
            inner.0.release(offset, real);
        }
    }

    fn assertion(&self, text: &str) {
        self.assertions.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }
}

/// The index of the heap's limit in `cuCtxSetLimit`.
const HEAP_LIMIT: usize = CU_LIMIT_MALLOC_HEAP_SIZE as usize;

/// The time in nanoseconds that a launch takes besides that of its kernel.
const LAUNCH_TIME: u64 = 2_000;

/// Executes a launch; returns its accesses to the program's memory, if findings need them.
pub(crate) fn execute(state: &mut State, launch: &Launch, ticket: Option<&Ticket>) -> Accesses {
    let heap = if launch.program.allocates() { heap_of(state, launch.context) } else { None };
    let regions = reachable(state, launch.context);
    let services = Services { heap, assertions: Mutex::default() };
    let kernel = cuarray_ptx::Launch {
        program: &launch.program,
        kernel: launch.kernel,
        constants: &launch.constants,
        grid: launch.grid,
        threads: launch.threads,
        cluster: launch.cluster,
        dynamic_shared: launch.dynamic_shared,
        parameters: &launch.parameters,
        regions: &regions,
        record: ticket.is_some(),
        races: launch.settings.races && ticket.is_some(),
        dependent: launch.settings.races && ticket.is_some_and(|ticket| ticket.before_wait.is_some()),
        searched: launch.settings.searched,
        guesses: launch.settings.guesses,
        strict: launch.settings.strict,
        budget: launch.settings.budget,
        cooperative: launch.cooperative,
        time: state.time(),
        clock_rate: launch.settings.clock_rate,
        workers: workers(launch.settings.cores),
        service: &services,
    };
    // SAFETY: the regions are the live allocations in order of address, mapped while the state is locked. The
    // constants belong to the launch's module.
    let outcome = unsafe { cuarray_ptx::execute(&kernel) };
    state.time_passes(outcome.nanoseconds + LAUNCH_TIME);
    print(&outcome.printed);
    for text in services.assertions.into_inner().unwrap_or_else(PoisonError::into_inner) {
        eprintln!("{text}");
    }
    state.code.executed_instructions += outcome.instructions;
    if let Some(fault) = &outcome.fault {
        fail_launch(state, launch, ticket, fault);
    }
    if let Some(ticket) = ticket {
        let races = outcome.races.iter().map(|race| kernel_race(launch, &regions, &outcome, race)).collect();
        state.detector.threads_raced(ticket, races);
        let misuses = misuses(state, launch, &regions, &outcome);
        state.detector.threads_misused(ticket, misuses);
        let cuarray_ptx::Synchronization { publishes, observes, .. } = launch.program.synchronization(launch.kernel);
        state.detector.synchronizes(ticket, Fences { publishes, observes });
    }
    if launch.settings.races && ticket.is_some() {
        let touched = outcome.before_wait.iter().chain(&outcome.touched);
        note_partial_search(&mut state.code.partly_searched, launch.settings.searched, touched);
    }
    let kept = |range: &TouchedRange| match state.memory.holding(range.start) {
        // Accesses to the heap of the kernels are not checked.
        Some(allocation) if matches!(allocation.kind, Kind::Code) => state.detector.block_at(range.start).is_some(),
        _ => true,
    };
    let converted = |touched| without_overwritten(touched).into_iter().filter(kept).map(noted).collect();
    Accesses { before_wait: converted(&outcome.before_wait), touched: converted(&outcome.touched) }
}

/// Counts a launch that touched more memory than is searched for races.
fn note_partial_search<'a>(partly: &mut Partly, limit: u64, touched: impl Iterator<Item = &'a TouchedRange> + Clone) {
    let most: u64 = touched.clone().map(|range| range.end - range.start).sum();
    if most <= limit {
        return;
    }
    let mut ranges: Vec<(u64, u64)> = touched.map(|range| (range.start, range.end)).collect();
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

/// Marks the context of a failed kernel as failed, and reports the failure.
fn fail_launch(state: &mut State, launch: &Launch, ticket: Option<&Ticket>, fault: &Fault) {
    let (mut what, place) = described(launch, fault);
    let closed = closed_to(state, launch.context, fault);
    if let Some((closed, _)) = &closed {
        what = what.replace(", where nothing is allocated", closed).replace(", in constant memory", closed);
    }
    let window = cuarray_ptx::in_window(fault.address);
    let illegal = fault.kind == FaultKind::IllegalAddress && fault.address >> 56 == 0;
    let nearest = || reserved_at(state, fault.address).or_else(|| nearest_to(state, fault.address));
    let more = illegal.then(nearest).flatten().filter(|_| closed.is_none());
    let more = more.unwrap_or_default();
    if !launch.settings.quiet {
        eprintln!("cuarray-sim: kernel {}: {what}; {place}{more}", kernel_name(launch.name()));
    }
    contexts::fail(state, launch.context, code(fault.kind));
    let access = matches!(fault.kind, FaultKind::IllegalAddress | FaultKind::Misaligned | FaultKind::ReadOnly);
    if let Some(ticket) = ticket.filter(|_| access && (window.is_some() || fault.address >> 56 == 0)) {
        let access = if fault.write { AccessKind::Write } else { AccessKind::Read };
        let bytes = Range { address: fault.address, length: fault.size.into() };
        let wrong = match fault.kind {
            FaultKind::IllegalAddress | FaultKind::ReadOnly if closed.is_some() => {
                closed.map(|(_, missing)| (finding::Kind::OutOfBounds, missing))
            }
            FaultKind::Misaligned => {
                Some((finding::Kind::MisalignedAccess, format!("use an address that is a multiple of {}", fault.size)))
            }
            FaultKind::ReadOnly => {
                let missing = "do not write constant memory in a kernel: only the host sets it";
                Some((finding::Kind::OutOfBounds, missing.to_owned()))
            }
            // Addresses in these windows are valid only in the kernel, and are not memory of the driver.
            _ => window.map(|_| (finding::Kind::OutOfBounds, format!("keep within it: {what}"))),
        };
        calls::launch_failed(state, ticket, (access, bytes), wrong, place, &more);
    }
}

/// For an access to memory of another device that is closed to the context: a description, and what is missing.
fn closed_to(state: &State, context: CUcontext, fault: &Fault) -> Option<(String, String)> {
    let allocation = state.memory.holding(fault.address)?;
    let access = allocations::kernel_access(state, context, allocation);
    let needed = if fault.write { CU_MEM_ACCESS_FLAGS_PROT_READWRITE } else { CU_MEM_ACCESS_FLAGS_PROT_READ };
    if access >= needed || !matches!(fault.kind, FaultKind::IllegalAddress | FaultKind::ReadOnly) {
        return None;
    }
    let (own, other) = (state.contexts.get(&context)?.device, allocation.device);
    let missing = match allocation.kind {
        Kind::Pool(_) => format!("give device {own} access to the memory of the pool with cuMemPoolSetAccess"),
        Kind::Graph { .. } => format!("give device {own} access in the parameters of the allocation node"),
        Kind::Mapped(_) => format!("give device {own} access to the mapped memory with cuMemSetAccess"),
        _ => format!("call cuCtxEnablePeerAccess in the context of device {own} for the context of device {other}"),
    };
    Some((format!(", in memory of device {other} that is closed to kernels of device {own}"), missing))
}

/// The advice for an address that is reserved and not mapped.
fn reserved_at(state: &State, address: u64) -> Option<String> {
    let unmapped = state.memory.holding(address).is_none() && state.reservation_of(address).is_some();
    unmapped.then(|| calls::UNMAPPED.to_owned())
}

/// A description of the program's allocation nearest to an address.
fn nearest_to(state: &State, address: u64) -> Option<String> {
    let own = state.memory.iter().filter(|allocation| !matches!(allocation.kind, Kind::Code));
    let distance = |start: u64, size: u64| {
        if address < start { start - address } else { address.saturating_sub(start + size) }
    };
    let nearest = own.min_by_key(|allocation| distance(allocation.address, allocation.size))?;
    let (start, size) = (nearest.address, nearest.size);
    let (away, side) = (distance(start, size), if address < start { "before" } else { "behind" });
    Some(format!("; the nearest allocation is {size} bytes at {start:#x}, {away} bytes {side} it"))
}

/// Converts a race between threads of a launch into the form of a finding.
fn kernel_race(launch: &Launch, regions: &[Region], outcome: &Outcome, race: &Race) -> KernelRace {
    let [one, other] = &race.accesses;
    let address = if race.shared { cuarray_ptx::SHARED_WINDOW + race.address } else { race.address };
    let variable = race.shared.then(|| shared_variable(launch, race.address));
    let side = |access: &Access| {
        let kind = if access.writes { AccessKind::Write } else { AccessKind::Read };
        let block = index_in(launch.grid, access.block);
        let thread = index_in(launch.threads, access.thread.into());
        (kind, place(&launch.program, access.pc, block, thread, access.atomic))
    };
    let within_cluster = launch.cluster.is_some_and(|extents| {
        let of = |access: &Access| {
            let index = index_in(launch.grid, access.block);
            [0, 1, 2].map(|axis| index[axis] / extents[axis])
        };
        of(one) == of(other)
    });
    let missing = if let Some(wait) = one.pending {
        copy_wait(wait, one.writes, (one.block, one.thread) == (other.block, other.thread))
    } else if let Some(why) = race.why {
        hand_over(why, one.block != other.block)
    } else if one.block != other.block && within_cluster {
        "put a barrier of the cluster (cluster.sync(), barrier.cluster.arrive and wait) between the two"
    } else if one.block != other.block {
        "give each block its own memory, use atomic operations, or order the blocks: two kernels in the place of one, or a barrier of \
         the grid in a cooperative launch"
    } else if one.atomic != other.atomic {
        "make both atomic, or put a barrier (__syncthreads, cuda.syncthreads) between the two"
    } else if one.thread / 32 == other.thread / 32 {
        "put __syncwarp (cuda.syncwarp) between the two: without it the threads of a warp are unordered"
    } else {
        "put a barrier (__syncthreads, cuda.syncthreads) between the two, which all threads of the block reach"
    };
    let between = one.block != other.block;
    let mut missing = missing.to_owned();
    let sides = [one, other].map(|access| is_out_of_bounds(regions, outcome, race, access));
    if let Some(letter) = ["A", "B"].into_iter().zip(sides).find_map(|(letter, stray)| stray.then_some(letter)) {
        missing = format!(
            "first correct the address of {letter}: its access is out of bounds, as another finding of this launch says, and \
             the race follows from that"
        );
    }
    let width = match (between, one.thread / 32 == other.thread / 32) {
        (true, _) => 2,
        (false, false) => 1,
        (false, true) => 0,
    };
    let bytes = Range { address, length: race.size.into() };
    KernelRace { bytes, variable, sides: [side(one), side(other)], missing, width }
}

/// Whether an access of a race is out of bounds: a misuse of its instruction in the memory of the race.
fn is_out_of_bounds(regions: &[Region], outcome: &Outcome, race: &Race, access: &Access) -> bool {
    let region = |address: u64| regions.partition_point(|region| region.start <= address);
    outcome.misuses.iter().any(|misuse| {
        Some(misuse.pc) == access.pc
            && match misuse.kind {
                MisuseKind::BeyondRegion | MisuseKind::OtherRegion => {
                    !race.shared && region(misuse.address) == region(race.address)
                }
                MisuseKind::BetweenShared => race.shared,
                MisuseKind::UnwrittenShared | MisuseKind::AbsentLane | MisuseKind::PartialWarp => false,
            }
    })
}

/// The advice for a race of threads that synchronize through memory, in one block or `between` blocks.
fn hand_over(why: Why, between: bool) -> &'static str {
    use Scope::{Block, Cluster};
    match (why, between) {
        (Why::Plain, _) => {
            "one access is plain and the other one is strong (atomic, volatile or with an order): make both strong, or order \
             them by a barrier, or by a fence and a flag"
        }
        (Why::NarrowOperation(Block), _) => {
            "an access has the scope of a block (.cta, thread_scope_block, atomicAdd_block) and the other one is in another \
             block: give both the scope of the device"
        }
        (Why::NarrowOperation(_), _) => {
            "an access has the scope of a cluster and the other one is in another cluster: give both the scope of the device"
        }
        (Why::MixedSizes, _) => "the two strong accesses overlap in a part of their bytes: access the same bytes",
        (Why::NarrowFence(Block), _) => {
            "the fence before the flag's write is of scope cta (__threadfence_block, memory_order_release in thread_scope_block): \
             it orders one block only; use __threadfence (scope gpu)"
        }
        (Why::NarrowFence(_), _) => {
            "the fence before the flag's write orders one cluster only: use __threadfence (scope gpu)"
        }
        (Why::NoFence, true) => {
            "no fence is between the data's access and the flag's write: put __threadfence (or a release of scope gpu) there"
        }
        (Why::NoFence, false) => {
            "no fence is between the data's access and the flag's write: put __threadfence_block (or a release) there, or a barrier"
        }
        (Why::NoAcquire(Block), _) => {
            "no fence is behind the read of the flag: put __threadfence_block (or use an acquiring read) there"
        }
        (Why::NoAcquire(Cluster), _) => {
            "no fence of scope cluster is behind the read of the flag: put fence.acq_rel.cluster, or a wider one, there"
        }
        (Why::NoAcquire(_), _) => {
            "no fence of scope gpu is behind the read of the flag: put __threadfence (or use an acquiring read of scope gpu) there"
        }
        (Why::PlainFlag, _) => {
            "the flag is written by a plain store, which hands over nothing: write it by an atomic or volatile store behind a fence"
        }
    }
}

/// The wait that a race with an asynchronous copy lacks. `target` tells its target from its source, and `alone` one
/// thread from two.
fn copy_wait(wait: Wait, target: bool, alone: bool) -> &'static str {
    match (wait, target, alone) {
        (Wait::Group, true, true) => {
            "wait for the copy (cp.async.wait_group, __pipeline_wait_prior, the consumer_wait of a cuda::pipeline) before \
             its target is accessed"
        }
        (Wait::Group, true, false) => {
            "let the copying thread wait (cp.async.wait_group, __pipeline_wait_prior, the consumer_wait of a cuda::pipeline), \
             and then put a barrier (__syncthreads) before other threads access the target"
        }
        (Wait::Group, false, _) => {
            "wait for the copy (cp.async.wait_group, __pipeline_wait_prior, the consumer_wait of a cuda::pipeline) before \
             its source is written"
        }
        (Wait::BulkGroup, true, _) => {
            "let the copying thread commit the copy and wait for it (cp.async.bulk.wait_group) before its target is accessed, \
             and put a barrier between that wait and other threads"
        }
        (Wait::BulkGroup, false, _) => {
            "let the copying thread commit the copy and wait for its read (cp.async.bulk.wait_group.read) before its source is \
             written, and put a barrier between that wait and other threads"
        }
        (Wait::Barrier, true, _) => {
            "wait at the mbarrier of the copy, for the phase that expects its bytes, before its target is accessed; if \
             the access should come first, put a barrier before the copy"
        }
        (Wait::Barrier, false, _) => {
            "wait at the mbarrier of the copy, for the phase that expects its bytes, before its source is written"
        }
    }
}

/// The shared variable at an offset in shared memory.
fn shared_variable(launch: &Launch, address: u64) -> Variable {
    let number = launch.program.shared_variable_at(address);
    let variable = number.map(|number| &launch.program.variables()[number]);
    let start = variable.map_or(launch.program.static_shared(), |variable| variable.offset);
    let offset = address.saturating_sub(start);
    Variable { name: variable.map(|variable| variable.name.clone()), space: "shared", offset }
}

/// Converts misuses by threads of a launch into the form of findings.
fn misuses(state: &State, launch: &Launch, regions: &[Region], outcome: &Outcome) -> Vec<KernelMisuse> {
    let line =
        |pc: u32| launch.program.location(pc).map(|location| (location.file, location.source_line, location.line));
    // An unordered read may precede the write that it should follow; the race is the finding then.
    let races = || outcome.races.iter().filter(|race| race.shared).flat_map(|race| &race.accesses);
    let raced = |misuse: &Misuse| races().any(|access| access.pc.and_then(line) == line(misuse.pc));
    let kept = |misuse: &&Misuse| misuse.kind != MisuseKind::UnwrittenShared || !raced(misuse);
    let converted = outcome.misuses.iter().filter(kept).map(|misuse| {
        let Misuse { kind, pc, block, thread, address, size, write } = *misuse;
        let place = place(
            &launch.program,
            Some(pc),
            index_in(launch.grid, block),
            index_in(launch.threads, thread.into()),
            false,
        );
        let access = if write { AccessKind::Write } else { AccessKind::Read };
        let bytes = |address| Some(Range { address, length: size.into() });
        let (kind, bytes, owner, variable, missing) = match kind {
            MisuseKind::BeyondRegion => {
                let index = regions.partition_point(|region| region.start <= address).saturating_sub(1);
                let Region { start, end, .. } = regions[index];
                let missing = format!(
                    "keep within the {} bytes: the access ends {} bytes behind them",
                    end - start,
                    address + u64::from(size) - end
                );
                (finding::Kind::OutOfBounds, bytes(address), start, None, missing)
            }
            MisuseKind::OtherRegion => {
                let missing = format!("keep within {}", aimed_at(state, launch, regions, pc));
                (finding::Kind::OutOfBounds, bytes(address), address, None, missing)
            }
            MisuseKind::BetweenShared => {
                let generic = cuarray_ptx::SHARED_WINDOW + address;
                let last = address + u64::from(size) - 1;
                let (variable, end) = launch.program.shared_variable_before(last).unwrap_or_default();
                let Declared { name, offset, size: whole, .. } = &launch.program.variables()[variable];
                let missing = format!(
                    "keep within the {whole} bytes of {name}: the access ends {} bytes behind them",
                    last + 1 - end
                );
                let offset = address.saturating_sub(*offset);
                let variable = Variable { name: Some(name.clone()), space: "shared", offset };
                (finding::Kind::OutOfBounds, bytes(generic), generic, Some(variable), missing)
            }
            MisuseKind::UnwrittenShared => {
                let missing = "write shared memory before it is read: each block starts with undefined bytes";
                let generic = cuarray_ptx::SHARED_WINDOW + address;
                let variable = Some(shared_variable(launch, address));
                (finding::Kind::UninitializedRead, bytes(generic), generic, variable, missing.to_owned())
            }
            MisuseKind::AbsentLane => {
                let missing = format!(
                    "let lane {address} execute the shuffle and put it into the mask, or do not use its value: \
                     the value of a lane that does not take part is undefined"
                );
                (finding::Kind::UninitializedRead, None, 0, None, missing)
            }
            MisuseKind::PartialWarp => {
                let missing = format!(
                    "let all 32 lanes of the warp execute the matrix instruction together: lane {address} does not take part, \
                     so the result is undefined"
                );
                (finding::Kind::UninitializedRead, None, 0, None, missing)
            }
        };
        KernelMisuse { kind, bytes, owner, variable, access, place, missing }
    });
    converted.collect()
}

/// The allocations to which the parameters point from which the address of a store is computed.
fn aimed_at(state: &State, launch: &Launch, regions: &[Region], pc: u32) -> String {
    let parameters = &launch.program.functions()[launch.kernel as usize].parameters;
    let holding = |address: u64| regions.iter().find(|region| (region.start..=region.end).contains(&address));
    let pointers = launch.program.pointers_of_store(pc, &launch.parameters);
    let described = pointers.iter().filter_map(|(offset, address)| {
        let Region { start, end, .. } = *holding(*address)?;
        let argument = parameters.iter().rposition(|parameter| parameter.offset <= *offset)? + 1;
        let made = state.detector.block_at(start).and_then(|block| block.made()).map(|made| made.ordinal);
        let made = made.map(|ordinal| format!(", made by operation {ordinal}")).unwrap_or_default();
        Some(format!("the {} bytes at {start:#x}{made}, to which argument {argument} points", end - start))
    });
    let mut described: Vec<String> = described.collect();
    described.dedup();
    if described.is_empty() {
        described.push("the variable of the module".to_owned());
    }
    format!("{}: the store reaches another allocation", described.join(", or "))
}

/// All memory that a kernel of a context can reach, in ascending order.
fn reachable(state: &State, context: CUcontext) -> Vec<Region> {
    let live = state.memory.iter().filter(|allocation| match &allocation.kind {
        Kind::Imported(imported) => imported.is_live(),
        // Variables follow one by one.
        Kind::Code => state.code.heaps.values().any(|heap| heap.base == allocation.address),
        _ => allocation.size > 0,
    });
    let live = live.map(|allocation| (allocation, allocations::kernel_access(state, context, allocation)));
    let open = live.filter(|(_, access)| *access != CU_MEM_ACCESS_FLAGS_PROT_NONE);
    let region = |(allocation, access): (&Allocation, _)| Region {
        start: allocation.address,
        end: allocation.address + allocation.size,
        host: match &allocation.kind {
            Kind::Imported(imported) => imported.shadow_of(allocation.address),
            _ => state.host_address(allocation.address),
        },
        writable: access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        // As on a GPU, the rest of the last granule of an allocation is accessible; using it is a finding.
        slack: allocation.taken.saturating_sub(allocation.size),
        group: 0,
    };
    let mut regions: Vec<Region> = Vec::new();
    let mut last_reservation: Option<&Reservation> = None;
    let mut last_is_registered = false;
    for (allocation, access) in open {
        let mut region = region((allocation, access));
        let reservation = match &allocation.kind {
            Kind::Mapped(mapping) => state.reservation_of(mapping.reservation),
            _ => None,
        };
        let both = reservation.zip(last_reservation);
        let is_same = both.is_some_and(|(one, other)| one.address == other.address);
        // A program may extend a reservation by another one beside it, and register host memory piece by piece.
        let extends =
            both.is_some_and(|(one, other)| one.address == other.address + other.size && (one.placed || other.placed));
        let is_registered = matches!(allocation.kind, Kind::Registered { .. });
        match regions.last_mut() {
            // Memory that is mapped side by side is contiguous.
            Some(last) if is_same && last.end == region.start && last.writable == region.writable => {
                last.end = region.end;
            }
            last => {
                region.group = reservation.map_or(0, |reservation| reservation.address);
                let registered = is_registered && last_is_registered;
                if let Some(last) = last.filter(|last| is_same || extends || registered && last.end == region.start) {
                    last.group = if last.group == 0 { last.start } else { last.group };
                    region.group = last.group;
                }
                regions.push(region);
            }
        }
        (last_reservation, last_is_registered) = (reservation, is_registered);
    }
    let before = regions.len();
    let is_open = |address: u64| {
        let access = |allocation| allocations::kernel_access(state, context, allocation);
        state.memory.holding(address).map(access) == Some(CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    };
    let variables = state.code.variables().filter(|(_, address)| is_open(*address));
    regions.extend(variables.map(|(variable, address)| Region {
        start: address,
        end: address + variable.size,
        host: state.host_address(address),
        writable: variable.space == Space::Global,
        slack: modules::gap(variable.size),
        group: 0,
    }));
    if regions.len() > before {
        regions.sort_unstable_by_key(|region| region.start);
    }
    regions
}

/// The heap of a context's kernels; `None` if it cannot be allocated.
fn heap_of(state: &mut State, context: CUcontext) -> Option<Arc<Heap>> {
    if let Some(heap) = state.code.heaps.get(&context) {
        return Some(heap.clone());
    }
    let size = state.contexts.get(&context)?.limits[HEAP_LIMIT] as u64;
    let base = modules::take_for_code(state, context, size).ok()?;
    let heap = Arc::new(Heap::new(base, size));
    state.code.heaps.insert(context, heap.clone());
    Some(heap)
}

/// Converts a range that a kernel accessed.
fn noted(range: TouchedRange) -> Touched {
    let touch = match range.kind {
        TouchKind::Read => Touch::Read,
        TouchKind::Write => Touch::Write,
        TouchKind::Update => Touch::Update,
    };
    let strength = match range.strength {
        cuarray_ptx::Strength::Weak => Strength::Weak,
        cuarray_ptx::Strength::Device => Strength::Device,
        cuarray_ptx::Strength::System => Strength::System,
    };
    Touched { start: range.start, end: range.end, touch, strength }
}

/// Removes written bytes from the reads of each strength, because a later access conflicts with the write anyway. Keeps
/// all other ranges.
fn without_overwritten(touched: &[TouchedRange]) -> Vec<TouchedRange> {
    let mut kept = Vec::new();
    for strength in [cuarray_ptx::Strength::Weak, cuarray_ptx::Strength::Device, cuarray_ptx::Strength::System] {
        let of = |kind| {
            let alike = move |range: &&TouchedRange| range.kind == kind && range.strength == strength;
            touched.iter().filter(alike).copied().collect::<Vec<_>>()
        };
        let (reads, writes) = (of(TouchKind::Read), of(TouchKind::Write));
        let mut next = 0;
        for read in reads {
            let mut start = read.start;
            while next < writes.len() && writes[next].end <= start {
                next += 1;
            }
            for write in writes[next..].iter().take_while(|write| write.start < read.end) {
                if start < write.start {
                    kept.push(TouchedRange { start, end: write.start, ..read });
                }
                start = start.max(write.end);
            }
            if start < read.end {
                kept.push(TouchedRange { start, ..read });
            }
        }
        kept.extend(writes);
    }
    kept.extend(touched.iter().filter(|range| range.kind == TouchKind::Update));
    kept
}

/// The number of threads that execute blocks.
fn workers(cores: usize) -> usize {
    match cores {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
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

/// The driver error for a kernel's failure.
fn code(kind: FaultKind) -> CUresult {
    match kind {
        FaultKind::IllegalAddress | FaultKind::ReadOnly => CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        FaultKind::Misaligned => CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
        FaultKind::Trap | FaultKind::BlockEnded => CUresult::CUDA_ERROR_LAUNCH_FAILED,
        FaultKind::Assert => CUresult::CUDA_ERROR_ASSERT,
        FaultKind::Stack => CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
        FaultKind::InvalidProgramCounter => CUresult::CUDA_ERROR_INVALID_PC,
        FaultKind::Deadlock | FaultKind::Budget => CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
        FaultKind::IllegalInstruction => CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
    }
}

/// The index of a block or thread with a number.
fn index_in([x, y, _]: [u32; 3], number: u64) -> [u32; 3] {
    let (x, y) = (u64::from(x.max(1)), u64::from(y.max(1)));
    [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32]
}

/// The location of an instruction in a kernel, with its block and thread.
fn place(program: &Program, pc: Option<u32>, block: [u32; 3], thread: [u32; 3], atomic: bool) -> KernelPlace {
    let location = pc.and_then(|pc| program.location(pc));
    let line = |(file, line): (u32, u32)| {
        let file = program.file(file).filter(|_| line > 0)?.to_owned();
        Some(SourceLine { file, line })
    };
    let source = location.and_then(|location| line((location.file, location.source_line)));
    let inlined_at = location.and_then(|location| line(location.inlined_at));
    let ptx_line = location.map(|location| location.line);
    KernelPlace { block, thread, atomic, source, inlined_at, ptx_line, has_lines: program.has_lines() }
}

/// A failure in words, and its location.
fn described(launch: &Launch, fault: &Fault) -> (String, KernelPlace) {
    let (access, size) = (if fault.write { "write" } else { "read" }, fault.size);
    let access = match cuarray_ptx::in_window(fault.address) {
        Some(("shared", offset)) if offset >> RANK_SHIFT != 0 => {
            let (rank, offset) = ((offset >> RANK_SHIFT) - 1, offset & ((1 << RANK_SHIFT) - 1));
            format!("{access} of {size} bytes at byte {offset} of shared memory of the cluster's block of rank {rank}")
        }
        Some((space, offset)) => format!("{access} of {size} bytes at byte {offset} of {space} memory"),
        None => format!("{access} of {size} bytes at {:#x}", fault.address),
    };
    let what = match fault.kind {
        FaultKind::IllegalAddress => match cuarray_ptx::in_window(fault.address) {
            Some(("shared", _)) => {
                let bytes = launch.program.shared_bytes(launch.kernel) + u64::from(launch.dynamic_shared);
                format!("{access}, beyond the {bytes} bytes of the block")
            }
            Some(_) => format!("{access}, beyond its end"),
            None => format!("{access}, where nothing is allocated"),
        },
        FaultKind::BlockEnded => {
            format!("{access}, which has ended; let the cluster synchronize before its blocks exit")
        }
        FaultKind::Misaligned => format!("{access}, which is not aligned to its size"),
        FaultKind::ReadOnly => format!("{access}, in constant memory"),
        FaultKind::Trap => "trap".to_owned(),
        FaultKind::Assert => "an assertion failed".to_owned(),
        FaultKind::Stack => "the calls of a thread overflowed its stack".to_owned(),
        FaultKind::InvalidProgramCounter => {
            format!("a jump or call to {:#x}, which is not the address of such code", fault.address)
        }
        FaultKind::Deadlock => "the threads wait for each other forever".to_owned(),
        FaultKind::Budget => {
            format!("the kernel did not end within {} instructions (CUARRAY_SIM_LAUNCH_BUDGET)", launch.settings.budget)
        }
        FaultKind::IllegalInstruction => "an instruction that cannot be executed".to_owned(),
    };
    let place = place(&launch.program, Some(fault.pc), fault.block, fault.thread, false);
    (what, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The launches, touched bytes and searched bytes after a launch that touched ranges of MB.
    fn searched(ranges: &[(u64, u64)]) -> (u64, u64, u64) {
        let touched: Vec<TouchedRange> = ranges
            .iter()
            .map(|(start, end)| TouchedRange {
                start: start << 20,
                end: end << 20,
                kind: TouchKind::Write,
                strength: cuarray_ptx::Strength::Weak,
            })
            .collect();
        let mut partly = Partly::default();
        note_partial_search(&mut partly, 32 << 20, touched.iter());
        (partly.launches, partly.touched >> 20, partly.searched >> 20)
    }

    #[test]
    fn launch_over_more_memory_than_is_searched_is_counted_once_for_each_byte() {
        assert_eq!(searched(&[(0, 32)]), (0, 0, 0));
        assert_eq!(searched(&[(0, 20), (0, 20)]), (0, 0, 0));
        assert_eq!(searched(&[(0, 40)]), (1, 40, 20));
        assert_eq!(searched(&[(100, 140), (110, 120), (0, 60)]), (1, 100, 25));
    }
}
