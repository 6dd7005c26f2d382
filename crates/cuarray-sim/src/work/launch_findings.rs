//! Findings within a launch: races between its threads, and accesses of single threads that are findings by themselves.

use crate::objects::launch::Launch;
use crate::state::State;
use cuarray_ptx::{Access, Misuse, MisuseKind, Outcome, Program, Race, Region, Scope, Variable as Declared, Wait, Why};
use cuarray_races::finding::{self, AccessKind, KernelPlace, Range, Variable};
use cuarray_races::site::SourceLine;
use cuarray_races::{KernelMisuse, KernelRace};

/// Converts a race between threads of a launch into the form of a finding.
pub(super) fn kernel_race(
    state: &State,
    launch: &Launch,
    regions: &[Region],
    outcome: &Outcome,
    race: &Race,
) -> KernelRace {
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
    let between = one.block != other.block;
    let same_warp = one.thread / 32 == other.thread / 32;
    let stray =
        ["A", "B"].into_iter().zip([one, other]).find(|(_, access)| is_out_of_bounds(regions, outcome, race, access));
    let advice = if !race.shared && state.conditions.contains_key(&race.address) {
        "let one thread call cudaGraphSetConditional, or order the calls: possibly concurrent calls for one condition are undefined, \
         even with one value"
    } else if let Some(wait) = one.pending {
        copy_wait(wait, one.writes, (one.block, one.thread) == (other.block, other.thread))
    } else if let Some(why) = race.why {
        hand_over(why, between)
    } else if between && within_cluster {
        "put a barrier of the cluster (cluster.sync(), barrier.cluster.arrive and wait) between the two"
    } else if between {
        "give each block its own memory, use atomic operations, or order the blocks: two kernels in the place of one, or a barrier of \
         the grid in a cooperative launch"
    } else if one.atomic != other.atomic {
        "make both atomic, or put a barrier (__syncthreads, cuda.syncthreads) between the two"
    } else if same_warp {
        "put __syncwarp (cuda.syncwarp) between the two: without it the threads of a warp are unordered"
    } else {
        "put a barrier (__syncthreads, cuda.syncthreads) between the two, which all threads of the block reach"
    };
    let missing = match stray {
        Some((letter, _)) => format!(
            "first correct the address of {letter}: its access is out of bounds, as another finding of this launch says, and \
             the race follows from that"
        ),
        None => advice.to_owned(),
    };
    let width = match (between, same_warp) {
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
                MisuseKind::UnwrittenShared
                | MisuseKind::AbsentLane
                | MisuseKind::PartialWarp
                | MisuseKind::SourceOfEndedBlock
                | MisuseKind::FreedBlock => false,
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
        (Why::NoProxyFence, _) => {
            "a bulk copy reads by another path than threads write: put fence.proxy.async (cuda::ptx::fence_proxy_async) behind the \
             write, before the barrier that the copying thread waits at"
        }
        (Why::ReadOnlyPath, _) => {
            "ld.global.nc (const __restrict__, __ldg) may read only what no thread of the launch writes: read it by a plain load"
        }
        (Why::BarrierObject, _) => {
            "one access initializes or overwrites the barrier object that the other one uses: put a barrier (__syncthreads, or that of the \
             cluster) between mbarrier.init and the first use, and between the last use and mbarrier.inval"
        }
        (Why::Texture, _) => {
            "a texture fetch or a surface load need not see what its own launch has written, even behind a barrier: read the bytes \
             by a plain load, or in another launch"
        }
        (Why::RestrictedFence, _) => {
            "a fence between the two is restricted to shared memory (.sync_restrict), and the bytes are in global memory: use \
             fence.acq_rel.cluster, or a wider one"
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
pub(super) fn misuses(state: &State, launch: &Launch, regions: &[Region], outcome: &Outcome) -> Vec<KernelMisuse> {
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
            MisuseKind::SourceOfEndedBlock => {
                let missing = "wait until the bulk copy has read its source (cp.async.bulk.wait_group.read) before the block ends: its \
                               shared memory ends with it";
                let generic = cuarray_ptx::SHARED_WINDOW + address;
                let variable = Some(shared_variable(launch, address));
                (finding::Kind::UseAfterFree, bytes(generic), generic, variable, missing.to_owned())
            }
            MisuseKind::FreedBlock => {
                let missing = "free the block after its last use: malloc may give its bytes to another thread at once";
                (finding::Kind::UseAfterFree, bytes(address), address, None, missing.to_owned())
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

/// The index of a block or thread with a number.
fn index_in([x, y, _]: [u32; 3], number: u64) -> [u32; 3] {
    let (x, y) = (u64::from(x.max(1)), u64::from(y.max(1)));
    [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32]
}

/// The location of an instruction in a kernel, with its block and thread.
pub(super) fn place(
    program: &Program,
    pc: Option<u32>,
    block: [u32; 3],
    thread: [u32; 3],
    atomic: bool,
) -> KernelPlace {
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
