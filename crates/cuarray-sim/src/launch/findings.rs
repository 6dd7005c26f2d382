//! Findings within a launch: races between its threads, and accesses of single threads that are findings by themselves.

use super::arguments::{argument, pointing};
use super::reachable::PAGEABLE;
use super::shared_arrays::name_of;
use super::synchronization::{guards_of, missing_for_synchronization};
use super::terms::{self, Terms, source_of};
use crate::objects::launch::Launch;
use crate::site::with_line;
use crate::state::State;
use cuarray_ptx::{
    Access, Misuse, MisuseKind, Outcome, Race, Region, Scope, Used, Variable as Declared, Wait, Why, Writer,
};
use cuarray_races::finding::{AccessKind, KernelPlace, Kind, Range, Variable};
use cuarray_races::report::variable_name;
use cuarray_races::site::SourceLine;
use cuarray_races::{Advice, KernelMisuse, KernelRace};

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
    let region =
        regions.partition_point(|region| region.start <= race.address).checked_sub(1).map(|index| &regions[index]);
    // The bounds of an allocation in pageable memory are unknown, and so is the argument that points to it.
    let known = |region: &&Region| !race.shared && race.address < region.end && region.group != PAGEABLE;
    let region = region.filter(known);
    let argument_of = region.and_then(|region| pointing(launch, region.start..region.end - 1));
    let side = |access: &Access| {
        let kind = if access.writes { AccessKind::Write } else { AccessKind::Read };
        let block = index_in(launch.grid, access.block);
        let thread = index_in(launch.threads, access.thread.into());
        let place = place(launch, access.pc, block, thread, access.atomic);
        (kind, KernelPlace { argument: argument_of.clone(), ..place })
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
    let missing = match first_stray(regions, outcome, race) {
        Some(access) => Advice::CorrectAddressFirst { access },
        None if !race.shared && state.conditions.contains_key(&race.address) => Advice::SetConditionOnce,
        None => missing_order(launch, race, between, within_cluster, same_warp),
    };
    let width = match (between, same_warp) {
        (true, _) => 2,
        (false, false) => 1,
        (false, true) => 0,
    };
    let bytes = Range { address, length: race.size.into() };
    KernelRace { bytes, variable, sides: [side(one), side(other)], missing, width }
}

/// The access of a race that is out of bounds, as findings call it.
fn first_stray(regions: &[Region], outcome: &Outcome, race: &Race) -> Option<char> {
    let mut named = ['A', 'B'].into_iter().zip(&race.accesses);
    named.find(|(_, access)| is_out_of_bounds(regions, outcome, race, access)).map(|(name, _)| name)
}

/// The order that the two threads of a race lack.
fn missing_order(launch: &Launch, race: &Race, between: bool, within_cluster: bool, same_warp: bool) -> Advice {
    let [one, other] = &race.accesses;
    let (program, terms) = (&launch.program, Terms::of(terms::language(launch, one.pc.or(other.pc))));
    let element = |access: &Access| access.pc.and_then(|pc| program.shared_element(pc));
    let elements = element(one).zip(element(other)).filter(|(one, other)| one != other);
    let dynamic = race.shared && program.shared_variable_at(race.address).is_none();
    let pair = |load: &Access, store: &Access| {
        load.pc.zip(store.pc).filter(|_| !load.writes && store.writes && !load.atomic && !store.atomic)
    };
    let is_update = |load, store| pair(load, store).is_some_and(|(load, store)| program.is_update(load, store));
    let unordered = match (one.pending, race.why) {
        (Some(wait), _) => {
            return copy_wait(wait, one.writes, (one.block, one.thread) == (other.block, other.thread), terms);
        }
        (None, Some(why)) if !matches!(why, Why::EarlyAccess { .. }) => return hand_over(why, between, terms),
        _ if is_update(one, other) || is_update(other, one) => Advice::UpdateAtomically { atomic: terms.atomic },
        _ if between && within_cluster => Advice::ClusterBarrier,
        _ if between && one.atomic != other.atomic => Advice::MakeBothAtomicOrMove,
        _ if between && one.writes && other.writes => Advice::OrderWritesOfBlocks,
        _ if between => Advice::OrderBlocks,
        _ if one.atomic != other.atomic => Advice::MakeBothAtomic { barrier: terms.barrier },
        _ => match elements.filter(|_| dynamic) {
            Some((one, other)) => Advice::SeparateArrays { one, other, barrier: terms.barrier },
            None if same_warp => Advice::WarpBarrier { barrier: terms.warp_barrier },
            None => Advice::BlockBarrier { barrier: terms.barrier },
        },
    };
    let is_checked = |load, store| pair(load, store).is_some_and(|(load, store)| program.is_checked(load, store));
    if let Some(Why::EarlyAccess { first }) = race.why {
        return Advice::MoveBehindWait { access: letter(first), advice: unordered.to_string() };
    }
    let both_check =
        one.pc == other.pc && one.writes && !one.atomic && one.pc.is_some_and(|store| program.checks(store));
    if both_check || is_checked(one, other) || is_checked(other, one) {
        return Advice::CheckAtomically { swap: terms.swap, advice: unordered.to_string() };
    }
    if matches!(unordered, Advice::OrderBlocks | Advice::OrderWritesOfBlocks) && program.finds_writers(launch.kernel) {
        return Advice::HandOverElsewhere { advice: unordered.to_string() };
    }
    if one.atomic || other.atomic || !between && same_warp || !program.may_lack_fences(launch.kernel) {
        return unordered;
    }
    match unordered {
        Advice::UpdateAtomically { atomic } => Advice::UpdateAtomicallyOrFence { atomic, fences: terms.fences },
        other => Advice::FencesOfHandOver { fences: terms.fences, advice: other.to_string() },
    }
}

/// The letter of an access in a report.
fn letter(first: bool) -> char {
    if first { 'A' } else { 'B' }
}

/// Whether an access of a race is out of bounds: a misuse of its instruction in the memory of the race.
fn is_out_of_bounds(regions: &[Region], outcome: &Outcome, race: &Race, access: &Access) -> bool {
    let region = |address: u64| regions.partition_point(|region| region.start <= address);
    let is_of_race = |misuse: &Misuse| match misuse.kind {
        MisuseKind::BeyondRegion | MisuseKind::OtherRegion => {
            !race.shared && region(misuse.address) == region(race.address)
        }
        MisuseKind::BetweenShared => race.shared,
        _ => false,
    };
    outcome.misuses.iter().any(|misuse| Some(misuse.pc) == access.pc && is_of_race(misuse))
}

/// The advice for a race of threads that synchronize through memory, in one block or `between` blocks.
fn hand_over(why: Why, between: bool, terms: &Terms) -> Advice {
    use Scope::{Block, Cluster};
    match (why, between) {
        (Why::Plain, _) => Advice::MakeBothStrong,
        (Why::NarrowOperation(Block), _) => Advice::WidenAccessOfBlock { narrow: terms.narrow },
        (Why::NarrowOperation(_), _) => Advice::WidenAccessOfCluster,
        (Why::MixedSizes, _) => Advice::AccessEqualBytes,
        (Why::NarrowFence(Block), _) => Advice::WidenFenceOfBlock { narrow: terms.narrow, fence: terms.fence },
        (Why::NarrowFence(_), _) => Advice::WidenFenceOfCluster { fence: terms.fence },
        (Why::NoFence, true) => Advice::FenceBeforeFlag { release: terms.release },
        (Why::NoFence, false) => Advice::FenceOrBarrierBeforeFlag { fence: terms.block_fence, barrier: terms.barrier },
        (Why::BehindFlag, _) => Advice::AccessBeforeFlag { barrier: terms.barrier },
        (Why::OtherWriter { first }, _) => {
            Advice::BarrierBeforeHandOver { access: letter(first), barrier: terms.barrier }
        }
        (Why::OtherReader { first }, _) => Advice::BarrierBehindWait { access: letter(first), barrier: terms.barrier },
        (Why::NoAnswer, _) => Advice::AwaitAnswer,
        (Why::EarlyAccess { .. }, _) => Advice::OrderBlocks,
        (Why::NoAcquire(Block), _) => Advice::AcquireInBlock { fence: terms.block_fence },
        (Why::NoAcquire(Cluster), _) => Advice::AcquireInCluster,
        (Why::NoAcquire(_), _) => Advice::AcquireOnDevice { acquire: terms.acquire },
        (Why::NoProxyFence, _) => Advice::ProxyFence,
        (Why::ReadOnlyPath, _) => Advice::LoadPlainly,
        (Why::BarrierObject, _) => Advice::BarrierAroundObject { barrier: terms.barrier },
        (Why::OldValue, _) => Advice::FenceBehindData { fences: terms.fences },
        (Why::Texture, _) => Advice::LoadWithoutTexture,
        (Why::RestrictedFence, _) => Advice::UnrestrictedFence,
        (Why::PlainFlag, _) => Advice::WriteFlagStrongly,
    }
}

/// The wait that a race with an asynchronous copy lacks. `target` tells its target from its source, and `alone` one
/// thread from two.
fn copy_wait(wait: Wait, target: bool, alone: bool, terms: &Terms) -> Advice {
    match (wait, target, alone) {
        (Wait::Group, true, true) => Advice::AwaitGroup,
        (Wait::Group, true, false) => Advice::AwaitGroupAndBarrier { barrier: terms.barrier },
        (Wait::Group, false, _) => Advice::AwaitGroupRead,
        (Wait::BulkGroup, true, _) => Advice::AwaitBulkGroup,
        (Wait::BulkGroup, false, _) => Advice::AwaitBulkGroupRead,
        (Wait::Barrier, true, _) => Advice::AwaitPhase,
        (Wait::Barrier, false, _) => Advice::AwaitPhaseRead,
    }
}

/// The shared variable at an offset in shared memory.
pub(super) fn shared_variable(launch: &Launch, address: u64) -> Variable {
    let number = launch.program.shared_variable_at(address);
    let variable = number.map(|number| &launch.program.variables()[number]);
    let start = variable.map_or(launch.program.static_shared(), |variable| variable.offset);
    let offset = address.saturating_sub(start);
    let name = variable.map(|variable| name_of(launch, &variable.name).unwrap_or_else(|| variable.name.clone()));
    Variable { name, space: "shared", offset }
}

/// Converts misuses by threads of a launch into the form of findings.
pub(super) fn misuses(state: &State, launch: &Launch, regions: &[Region], outcome: &Outcome) -> Vec<KernelMisuse> {
    let line =
        |pc: u32| launch.program.location(pc).map(|location| (location.file, location.source_line, location.line));
    // An unordered read may precede the write that it should follow; the race is the finding then.
    let races = || outcome.races.iter().filter(|race| race.shared).flat_map(|race| &race.accesses);
    let raced = |misuse: &Misuse| {
        let read = misuse.undefined.map_or(misuse.pc, |(from, _)| from);
        races().any(|access| access.pc.and_then(line) == line(read))
    };
    let kept = |misuse: &&Misuse| misuse.kind != MisuseKind::UnwrittenShared || !raced(misuse);
    outcome.misuses.iter().filter(kept).map(|misuse| kernel_misuse(state, launch, regions, misuse)).collect()
}

/// Converts a misuse by a thread of a launch into the form of a finding.
fn kernel_misuse(state: &State, launch: &Launch, regions: &[Region], misuse: &Misuse) -> KernelMisuse {
    let Misuse { kind, pc, block, thread, address, size, other, write, undefined } = *misuse;
    let of = |(pc, thread): (u32, u32)| {
        let (block, thread) = (index_in(launch.grid, block), index_in(launch.threads, thread.into()));
        place(launch, Some(pc), block, thread, false)
    };
    let (place, other) = (of((pc, thread)), other.map(of));
    let access = if write { AccessKind::Write } else { AccessKind::Read };
    let generic = |address| cuarray_ptx::SHARED_WINDOW + address;
    let from = |pc: u32| source_of(&launch.program, pc);
    let misuse = |kind, address, variable, missing| {
        let bytes = Some(Range { address, length: size.into() });
        KernelMisuse { kind, bytes, owner: address, variable, access, place, other, missing, follows: false }
    };
    match kind {
        MisuseKind::BeyondRegion => {
            let index = regions.partition_point(|region| region.start <= address).saturating_sub(1);
            let Region { start, end, .. } = regions[index];
            let missing = Advice::KeepWithinRegion { size: end - start, beyond: address + u64::from(size) - end };
            KernelMisuse { owner: start, ..misuse(Kind::OutOfBounds, address, None, missing) }
        }
        MisuseKind::OtherRegion => misuse(Kind::OutOfBounds, address, None, aimed_at(state, launch, regions, pc)),
        MisuseKind::BetweenShared => {
            let (variable, missing) = variable_before(launch, address, size.into());
            misuse(Kind::OutOfBounds, generic(address), Some(variable), missing)
        }
        MisuseKind::UnwrittenShared => {
            let variable = Some(shared_variable(launch, address));
            let missing = match undefined {
                Some((read, used)) => Advice::WriteSharedBeforeUse { used: use_of(used), from: from(read) },
                None => Advice::WriteSharedFirst,
            };
            misuse(Kind::UninitializedRead, generic(address), variable, missing)
        }
        MisuseKind::UnwrittenLocal => {
            let (read, used) = undefined.unwrap_or((pc, Used::Operand));
            let variable = Some(Variable { name: None, space: "local", offset: address });
            let missing = Advice::WriteLocalBeforeUse { used: use_of(used), from: from(read) };
            misuse(Kind::UninitializedRead, cuarray_ptx::LOCAL_WINDOW + address, variable, missing)
        }
        MisuseKind::UnwrittenHeap => {
            let (read, used) = undefined.unwrap_or((pc, Used::Operand));
            let missing = Advice::WriteBlockBeforeUse { used: use_of(used), from: from(read) };
            misuse(Kind::UninitializedRead, address, None, missing)
        }
        MisuseKind::UnwrittenGlobal => {
            let (read, used) = undefined.unwrap_or((pc, Used::Operand));
            let missing = Advice::WriteBeforeUse { used: use_of(used), from: from(read) };
            KernelMisuse { follows: true, ..misuse(Kind::UninitializedRead, address, None, missing) }
        }
        MisuseKind::SourceOfEndedBlock => {
            let variable = Some(shared_variable(launch, address));
            misuse(Kind::UseAfterFree, generic(address), variable, Advice::AwaitReadBeforeBlockEnds)
        }
        MisuseKind::StrayRead => misuse(Kind::OutOfBounds, address, None, Advice::LeavePoison),
        MisuseKind::FreedBlock => misuse(Kind::UseAfterFree, address, None, Advice::FreeHeapBlockLater),
        MisuseKind::AbsentLane => {
            let (read, used) = undefined.unwrap_or((pc, Used::Operand));
            let missing = Advice::IncludeLane { lane: address, used: use_of(used), from: from(read) };
            KernelMisuse { bytes: None, ..misuse(Kind::UninitializedRead, 0, None, missing) }
        }
        _ => {
            let barrier = Terms::of(terms::language(launch, Some(pc))).barrier;
            let guard = guards_of(launch, pc, 1);
            let missing = missing_for_synchronization(kind, [address as u32, (address >> 32) as u32], barrier, guard);
            let access = AccessKind::Synchronize;
            KernelMisuse { bytes: None, access, ..misuse(Kind::SynchronizationError, 0, None, missing) }
        }
    }
}

/// The use of an undefined value, as the rest of a sentence.
fn use_of(used: Used) -> &'static str {
    match used {
        Used::Branch => "decides a branch",
        Used::Address => "is an address",
        Used::Guard => "decides whether an instruction is executed",
        Used::Operand => "is an operand of an instruction with an effect",
        Used::Store => "is stored",
    }
}

/// The variable before bytes of shared memory that no variable holds whole, with the advice.
fn variable_before(launch: &Launch, address: u64, length: u64) -> (Variable, Advice) {
    let last = address + length - 1;
    let (variable, end) = launch.program.shared_variable_before(last).unwrap_or_default();
    let Declared { name, offset, size, .. } = &launch.program.variables()[variable];
    let name = name_of(launch, name).unwrap_or_else(|| name.clone());
    let missing = Advice::KeepWithinVariable { size: *size, name: variable_name(&name), beyond: last + 1 - end };
    let offset = address.saturating_sub(*offset);
    (Variable { name: Some(name), space: "shared", offset }, missing)
}

/// The advice to keep within the allocations to which the parameters point from which the address of a store is computed.
fn aimed_at(state: &State, launch: &Launch, regions: &[Region], pc: u32) -> Advice {
    let parameters = &launch.program.functions()[launch.kernel as usize].parameters;
    let bounded = || regions.iter().filter(|region| region.group != PAGEABLE);
    let holding = |address: u64| bounded().find(|region| (region.start..=region.end).contains(&address));
    let pointers = launch.program.pointers_of_store(pc, &launch.parameters);
    let described = pointers.iter().filter_map(|(offset, address)| {
        let Region { start, end, .. } = *holding(*address)?;
        let parameter = parameters.iter().rposition(|parameter| parameter.offset <= *offset)?;
        let argument = argument(&launch.program, launch.kernel, parameter);
        let made = state.detector.block_at(start).and_then(|block| block.made());
        let made = made.map(|made| format!(", made at {}", with_line(&made.caller().site))).unwrap_or_default();
        Some(format!("the {} bytes at {start:#x}{made}, to which {argument} points", end - start))
    });
    let mut described: Vec<String> = described.collect();
    described.dedup();
    match described.is_empty() {
        true => Advice::KeepWithinModule,
        false => Advice::KeepWithinArguments { targets: described.join(", or ") },
    }
}

/// The index of a block or thread with a number.
fn index_in([x, y, _]: [u32; 3], number: u64) -> [u32; 3] {
    let (x, y) = (u64::from(x.max(1)), u64::from(y.max(1)));
    [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32]
}

/// The place of the instruction by which a thread has written what others read.
pub(super) fn place_of(launch: &Launch, writer: Writer) -> KernelPlace {
    let Writer { pc, block, thread, .. } = writer;
    place(launch, Some(pc), index_in(launch.grid, block), index_in(launch.threads, thread.into()), false)
}

/// The location of an instruction in a kernel, with its block and thread.
pub(super) fn place(launch: &Launch, pc: Option<u32>, block: [u32; 3], thread: [u32; 3], atomic: bool) -> KernelPlace {
    let program = &launch.program;
    let location = pc.and_then(|pc| program.location(pc));
    let line = |(file, line): (u32, u32)| {
        let file = program.file(file).filter(|_| line > 0)?.to_owned();
        Some(SourceLine { file, line })
    };
    let source = location.and_then(|location| line((location.file, location.source_line)));
    let inlined_at = location.and_then(|location| line(location.inlined_at));
    let ptx_line = location.map(|location| location.line);
    let (has_lines, language) = (program.has_lines(), terms::language(launch, pc));
    let place = KernelPlace {
        block,
        thread,
        atomic,
        source,
        inlined_at,
        text: None,
        argument: None,
        waits: None,
        ptx_line,
        has_lines,
        language,
    };
    let text = place.lines().0.and_then(|source| program.text(&source.file, source.line)).map(str::to_owned);
    KernelPlace { text, ..place }
}
