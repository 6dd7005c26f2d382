//! The detector: events in, findings out.
//!
//! Each call that enqueues work gives the work a [`Clock`]: the earlier operations of the calling thread, those it
//! has waited for, those before the work in its lane, and those the lane has [learned](Detector::learn). The clock does not depend on
//! when the work runs. Then the accesses are compared with the last accesses to the same bytes ([`shadow`]), in the order of the calls ([`queue`]). Two
//! conflicting accesses are a finding if neither comes after the other, whether or not this run went wrong.

mod advice;
mod block;
mod clock;
mod found;
mod operation;
mod queue;
mod refusal;
mod region;
mod shadow;
mod summary;

pub use block::Block;
pub use clock::{Clock, Lane, LaneNumber};
pub use operation::{Caller, Effect, Operation, Ticket};
pub use region::{Extent, Region, Touch, Touched};

use crate::finding::{Access, AccessKind, KernelPlace, Kind, LaneKind, Object, Range, Variable};
use block::{Blocks, Handles};
use clock::Retired;
use found::{Findings, Found, Party};
use queue::{Entry, Queue};
use shadow::{Conflict, Observer, Shadow};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

/// How many operations the history keeps.
const HISTORY: usize = 10_000;
/// How many ended lanes accumulate before the detector looks which of them can be retired.
const DYING: usize = 64;

/// How host threads are ordered among each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostThreads {
    /// By the order of their calls, as one lane. Locks and queues of the program are invisible, so this avoids false findings.
    #[default]
    InOrderOfCalls,
    /// Only by streams, and by [`Detector::hand_over`] and [`Detector::take_over`].
    Apart,
}

/// The data of a lane for reports.
struct LaneInfo {
    kind: LaneKind,
    handle: u64,
    device: Option<i32>,
    /// Its number among the streams that the program made, or among the others; counted from 1.
    label: u32,
}

/// A data race: two unordered accesses by threads of one kernel launch.
#[derive(Clone, Debug)]
pub struct KernelRace {
    /// The bytes that both touch.
    pub bytes: Range,
    /// The variable that holds them.
    pub variable: Option<Variable>,
    /// Both accesses, the earlier first.
    pub sides: [(AccessKind, KernelPlace); 2],
    /// The missing synchronization, as a sentence without its full stop.
    pub missing: String,
}

/// Computes the happens-before order of a program's operations, and its findings.
///
/// The [crate's documentation](crate) shows how it is fed.
pub struct Detector {
    on: bool,
    /// Whether each host thread is a lane of its own.
    strict: bool,
    lanes: Vec<LaneInfo>,
    /// The lanes of host threads by their numbers; one for all of them, under 0, unless `strict`.
    hosts: BTreeMap<u64, Lane>,
    retired: Retired,
    /// Ended lanes and their last operations.
    dying: Vec<(LaneNumber, u64)>,
    operations: u64,
    history: VecDeque<Arc<Operation>>,
    queue: Queue,
    shadow: Shadow,
    blocks: Blocks,
    handles: Handles,
    findings: Findings,
    /// Races among the threads of launches, by the ordinals of the launches.
    races: HashMap<u64, Vec<KernelRace>>,
    /// The lanes of [`Detector::hand_over`] by their keys.
    handed: HashMap<u64, Lane>,
}

impl Detector {
    /// A detector without events.
    pub fn new(threads: HostThreads) -> Detector {
        Detector {
            on: true,
            strict: threads == HostThreads::Apart,
            lanes: Vec::new(),
            hosts: BTreeMap::new(),
            retired: Retired::default(),
            dying: Vec::new(),
            operations: 0,
            history: VecDeque::new(),
            queue: Queue::default(),
            shadow: Shadow::default(),
            blocks: Blocks::default(),
            handles: Handles::default(),
            findings: Findings::default(),
            races: HashMap::new(),
            handed: HashMap::new(),
        }
    }

    /// A detector that is switched off, for a feeder that asks [`Detector::is_on`] before it builds an event.
    pub fn off() -> Detector {
        Detector { on: false, ..Detector::new(HostThreads::default()) }
    }

    /// Whether events are wanted.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on
    }

    // ---- Lanes and edges.

    /// A lane without operations: a stream. `handle` and `device` appear in reports.
    pub fn new_lane(&mut self, kind: LaneKind, handle: u64, device: Option<i32>) -> Lane {
        let made = matches!(kind, LaneKind::Blocking | LaneKind::NonBlocking);
        let same = |other: &LaneInfo| made == matches!(other.kind, LaneKind::Blocking | LaneKind::NonBlocking);
        let label = self.lanes.iter().rev().find(|other| same(other)).map_or(0, |other| other.label) + 1;
        self.lanes.push(LaneInfo { kind, handle, device, label });
        Lane::new(self.lanes.len() as LaneNumber - 1)
    }

    /// An edge: the next operation of `lane` comes after the operation of `clock`.
    #[inline]
    pub fn learn(&self, lane: &mut Lane, clock: &Clock) {
        if lane.number != clock.lane && lane.learn(clock, &self.retired) && clock.ordinal != 0 {
            lane.after.push(clock.ordinal);
        }
    }

    /// A synchronization: the calling thread has waited for these operations.
    pub fn synchronize(&mut self, caller: Caller, clocks: &[Clock]) {
        let (host, retired) = self.host(caller.thread);
        for clock in clocks {
            if host.learn(clock, retired) && clock.ordinal != 0 {
                host.after.push(clock.ordinal);
            }
        }
        self.host_operation(caller, Effect::none());
        self.retire();
    }

    /// The end of a lane. It leaves the clocks once every later operation comes after it.
    pub fn lane_ends(&mut self, lane: &Lane) {
        self.dying.push((lane.number, lane.time));
    }

    /// Adds an operation to a lane that stands for many ended ones, made when it is first needed.
    ///
    /// A wait for everything in a context is also a wait for streams that were destroyed: when their work happened to run
    /// is the schedule's choice and orders nothing.
    pub fn gather(&mut self, ended: &mut Option<Lane>, clock: &Clock) {
        let lane = ended.get_or_insert_with(|| self.new_lane(LaneKind::Internal, 0, None));
        if lane.learn(clock, &self.retired) {
            lane.advance();
        }
    }

    /// Whether every later operation comes after this one.
    pub fn everything_follows(&self, clock: &Clock) -> bool {
        !self.strict && self.hosts.values().next().is_some_and(|host| host.knows(clock.lane, clock.time, &self.retired))
    }

    /// Whether all host threads have waited for an operation.
    pub fn hosts_know(&self, clock: &Clock) -> bool {
        let knows = |host: &Lane| host.knows(clock.lane, clock.time, &self.retired);
        !self.hosts.is_empty() && self.hosts.values().all(knows)
    }

    /// Orders an operation before all later operations of host threads, unless they are ordered [apart](HostThreads::Apart).
    pub fn hosts_learn(&mut self, clock: &Clock) {
        if !self.strict {
            let Detector { hosts, retired, .. } = self;
            for host in hosts.values_mut() {
                host.learn(clock, retired);
                host.advance();
            }
        }
    }

    /// Whether one of two operations comes after the other.
    pub fn ordered(&self, one: &Clock, other: &Clock) -> bool {
        one.knows(other.lane, other.time, &self.retired) || other.knows(one.lane, one.time, &self.retired)
    }

    /// Orders a thread's operations so far before another thread's operations after [`Detector::take_over`] with the same key.
    ///
    /// Several threads may hand over under one key, as with a lock: a thread that takes over comes after all of them.
    pub fn hand_over(&mut self, key: u64, thread: u64) {
        let (host, _) = self.host(thread);
        host.advance();
        let clock = host.clock();
        if !self.handed.contains_key(&key) {
            let lane = self.new_lane(LaneKind::Internal, key, None);
            self.handed.insert(key, lane);
        }
        if let Some(lane) = self.handed.get_mut(&key) {
            lane.learn(&clock, &self.retired);
            lane.advance();
        }
    }

    /// Orders the operations handed over under a key before a thread's later operations.
    pub fn take_over(&mut self, key: u64, thread: u64) {
        let Some(clock) = self.handed.get(&key).map(Lane::clock) else { return };
        let (host, retired) = self.host(thread);
        host.learn(&clock, retired);
        host.advance();
    }

    /// Retires ended lanes that the host, and with it every later call, comes after.
    fn retire(&mut self) {
        if self.strict || self.dying.len() < DYING || !self.queue.is_empty() {
            return;
        }
        let Detector { dying, hosts, retired, .. } = self;
        let Some(host) = hosts.values().next() else { return };
        let (known, left): (Vec<_>, Vec<_>) =
            std::mem::take(dying).into_iter().partition(|(lane, time)| host.knows(*lane, *time, retired));
        *dying = left;
        known.into_iter().for_each(|(lane, _)| retired.add(lane));
    }

    /// The key of a thread's lane.
    #[inline]
    fn host_key(&self, thread: u64) -> u64 {
        if self.strict { thread } else { 0 }
    }

    /// The lane of a host thread.
    fn host(&mut self, thread: u64) -> (&mut Lane, &Retired) {
        let key = self.host_key(thread);
        if !self.hosts.contains_key(&key) {
            let lane = self.new_lane(LaneKind::Host, thread, None);
            self.hosts.insert(key, lane);
        }
        let Detector { hosts, retired, .. } = self;
        (hosts.entry(key).or_insert_with(|| Lane::new(0)), retired)
    }

    // ---- Operations.

    /// An operation that a thread enqueues in a lane.
    pub fn issue(&mut self, lane: &mut Lane, caller: Caller, effect: Effect) -> Ticket {
        let key = self.host_key(caller.thread);
        self.host(caller.thread);
        if let Some(host) = self.hosts.get(&key) {
            lane.called_by(host, &self.retired);
        }
        lane.last = self.operations + 1;
        let clock = lane.clock();
        let after = std::mem::take(&mut lane.after);
        let operation = self.remember(clock.lane, caller, after, &effect);
        match &effect {
            Effect::Allocate { block, .. } => {
                block.made_by(operation.clone());
                self.blocks.add(block.clone());
            }
            Effect::Free { block } => drop(self.blocks.end(block.address, operation.clone())),
            _ => {}
        }
        self.check(Entry { operation: operation.clone(), clock: clock.clone(), effect });
        Ticket { operation, clock }
    }

    /// A call that a thread makes itself, in no stream.
    pub fn host_operation(&mut self, caller: Caller, effect: Effect) -> Ticket {
        let next = self.operations + 1;
        let (host, _) = self.host(caller.thread);
        host.advance();
        host.last = next;
        let clock = host.clock();
        let after = std::mem::take(&mut host.after);
        let operation = self.remember(clock.lane, caller, after, &effect);
        self.check(Entry { operation: operation.clone(), clock: clock.clone(), effect });
        Ticket { operation, clock }
    }

    /// The accesses of an operation with an [unknown](Effect::Unknown) effect, after it has run. Returns them as boxes.
    pub fn resolve(&mut self, ticket: &Ticket, touched: &[Touched]) -> Vec<(Region, AccessKind)> {
        let (updates, touches): (Vec<_>, Vec<_>) =
            region::boxes(touched).into_iter().partition(|(_, touch)| *touch == Touch::Update);
        let access = |touch| if touch == Touch::Read { AccessKind::Read } else { AccessKind::Write };
        let touches: Vec<_> = touches.into_iter().map(|(region, touch)| (region, access(touch))).collect();
        let updated = updates.into_iter().map(|(region, _)| region).collect();
        let _ = ticket.operation.accesses.set(self.hulls(&touches));
        self.queue.resolve(ticket.operation.ordinal, Effect::Ran { touches: touches.clone(), updated });
        while let Some(entry) = self.queue.pop() {
            self.examine(entry);
        }
        touches
    }

    /// Memory that a thread allocates outside of any stream. `written` memory may hold data already.
    pub fn allocate(&mut self, caller: Caller, block: Arc<Block>, written: bool) {
        let effect = Effect::Allocate { block: block.clone(), written, ordered: false };
        let ticket = self.host_operation(caller, effect);
        block.made_by(ticket.operation);
        self.blocks.add(block);
    }

    /// Memory that a thread frees outside of any stream. Nothing happens if no allocation holds the address.
    pub fn free(&mut self, caller: Caller, address: u64) {
        let Some(block) = self.blocks.at(address).cloned() else { return };
        let ticket = self.host_operation(caller, Effect::Free { block: block.clone() });
        self.blocks.end(block.address, ticket.operation);
    }

    /// The live allocation that holds an address.
    pub fn block_at(&self, address: u64) -> Option<&Arc<Block>> {
        self.blocks.at(address)
    }

    /// A handle that a thread creates. `kind` appears in reports: `stream`, `event`, `context`.
    pub fn create_handle(&mut self, caller: Caller, kind: &'static str, handle: u64) {
        let ticket = self.host_operation(caller, Effect::none());
        self.handles.add(kind, handle, ticket.operation);
    }

    /// A handle that a thread destroys.
    pub fn destroy_handle(&mut self, caller: Caller, kind: &'static str, handle: u64) {
        let ticket = self.host_operation(caller, Effect::none());
        self.handles.end(kind, handle, ticket.operation);
    }

    /// Forgets that a handle was destroyed: it is in use again.
    pub fn revive_handle(&mut self, handle: u64) {
        self.handles.revive(handle);
    }

    /// The live handles: handle, kind, and the operation that made it.
    pub fn handles(&self) -> impl Iterator<Item = (u64, &'static str, &Arc<Operation>)> {
        self.handles.live()
    }

    /// An access that a host function makes while it runs as an operation of a lane. `uses` are uses of the same byte whose
    /// order is to be checked.
    pub fn host_function_access<'a>(
        &mut self,
        caller: Caller,
        function: &Clock,
        (address, access): (u64, AccessKind),
        uses: impl Iterator<Item = (&'a Arc<Operation>, &'a Clock, AccessKind)>,
    ) {
        let effect = Effect::Touches(vec![(Region::row(address, 1), access)]);
        let operation = self.remember(function.lane, caller, Vec::new(), &effect);
        for (other, clock, other_access) in uses {
            if !self.ordered(function, clock) {
                let conflict =
                    Conflict { other: other.clone(), access: other_access, start: address, end: address + 1 };
                self.unordered(Kind::DataRace, conflict, &operation, access);
            }
        }
    }

    /// Keeps races among the threads of a launch until the launch is checked in its place.
    pub fn threads_raced(&mut self, ticket: &Ticket, races: Vec<KernelRace>) {
        if !races.is_empty() {
            self.races.insert(ticket.operation.ordinal, races);
        }
    }

    /// Whether no operation waits for [`Detector::resolve`].
    pub fn is_settled(&self) -> bool {
        self.queue.is_empty()
    }

    /// Forgets the findings so far.
    pub fn clear(&mut self) {
        self.findings.clear();
    }

    // ---- Checks.

    /// Records an operation in the history.
    fn remember(&mut self, lane: LaneNumber, caller: Caller, after: Vec<u64>, effect: &Effect) -> Arc<Operation> {
        self.operations += 1;
        let accesses = OnceLock::new();
        if !matches!(effect, Effect::Unknown) {
            let _ = accesses.set(effect.accesses());
        }
        let after = after.into_boxed_slice();
        let operation = Arc::new(Operation { ordinal: self.operations, lane, caller, after, accesses });
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(operation.clone());
        operation
    }

    /// Checks an operation now, or after the operations in front of it are resolved.
    fn check(&mut self, entry: Entry) {
        if self.queue.is_empty() && !matches!(entry.effect, Effect::Unknown) {
            return self.examine(entry);
        }
        self.queue.push(entry);
    }

    /// The accesses as the history shows them: the bytes from the first to the last in each allocation.
    fn hulls(&self, touches: &[(Region, AccessKind)]) -> Box<[Access]> {
        let mut hulls: BTreeMap<(u64, bool), (AccessKind, u64, u64)> = BTreeMap::new();
        for (region, kind) in touches {
            let block = self.blocks.at(region.start()).map_or(region.start(), |block| block.address);
            let hull = hulls.entry((block, *kind == AccessKind::Read)).or_insert((*kind, region.start(), region.end()));
            (hull.1, hull.2) = (hull.1.min(region.start()), hull.2.max(region.end()));
        }
        let access = |(kind, start, end)| Access { kind, bytes: Range { address: start, length: end - start } };
        hulls.into_values().map(access).collect()
    }

    /// Compares an operation with the operations before it.
    fn examine(&mut self, entry: Entry) {
        let Entry { operation, clock, effect } = entry;
        let Detector { shadow, retired, hosts, queue, strict, .. } = self;
        // Every later call comes after the host's known operations. Operations in the queue may not.
        let floor = if !*strict && queue.is_empty() { hosts.values().next() } else { None };
        let by = Observer { operation: &operation, clock: &clock, retired, floor };
        shadow.sweep(&by);
        let mut races = Vec::new();
        let mut unwritten = Vec::new();
        let mut stray = Vec::new();
        match &effect {
            Effect::Unknown => {}
            Effect::Fill(region) => races.push((shadow.access(region, AccessKind::Write, &by), AccessKind::Write)),
            Effect::Copy { from, to, exact } => {
                let mut holes = Vec::new();
                if let Some(from) = from {
                    if *exact {
                        unwritten.extend(shadow.unwritten_of(from, true));
                    } else {
                        holes = shadow.holes(from);
                    }
                    races.push((shadow.access(from, AccessKind::Read, &by), AccessKind::Read));
                }
                races.push((shadow.access(to, AccessKind::Write, &by), AccessKind::Write));
                shadow.unwrite(to, &holes);
            }
            Effect::Touches(touches) | Effect::Ran { touches, .. } => {
                if let Effect::Ran { updated, .. } = &effect {
                    unwritten.extend(updated.iter().filter_map(|region| shadow.unwritten_of(region, false)));
                }
                for (region, access) in touches {
                    if !shadow.holds(region.start()) {
                        stray.push((*region, *access));
                    } else if *access == AccessKind::Read {
                        unwritten.extend(shadow.unwritten_of(region, false));
                    }
                    races.push((shadow.access(region, *access, &by), *access));
                }
            }
            Effect::Allocate { block, written, ordered } => {
                shadow.create(block.address, block.end(), *written, ordered.then_some(&by));
            }
            Effect::Free { block } => {
                let by_host = hosts.values().any(|host| host.number == operation.lane);
                for conflict in shadow.release(block.address, block.end(), &by) {
                    match conflict.access {
                        // A free outside of any stream has to come after accesses only.
                        AccessKind::Create if by_host => {}
                        AccessKind::Create => {
                            self.unordered(Kind::UseBeforeAllocation, conflict, &operation, AccessKind::Release);
                        }
                        _ => self.unordered(Kind::FreeBeforePendingWork, conflict, &operation, AccessKind::Release),
                    }
                }
                return;
            }
        }
        for (conflicts, access) in races {
            for conflict in conflicts {
                let kind = match conflict.access {
                    AccessKind::Create => Kind::UseBeforeAllocation,
                    _ => Kind::DataRace,
                };
                self.unordered(kind, conflict, &operation, access);
            }
        }
        for (start, end) in unwritten {
            let party = Party::touching(&operation, AccessKind::Read, start, end);
            let missing = "write these bytes (a copy, a fill, a kernel) before they are read";
            self.find(Kind::UninitializedRead, Some((start, end)), None, vec![party], Some(missing.to_owned()));
        }
        for (region, access) in stray {
            self.stray(Party::of(&operation, access, Some(region.hull())), "");
        }
        for race in self.races.remove(&operation.ordinal).unwrap_or_default() {
            self.kernel_race(&operation, race);
        }
    }

    /// Reports two unordered operations.
    fn unordered(&mut self, kind: Kind, conflict: Conflict, operation: &Arc<Operation>, access: AccessKind) {
        let Conflict { other, access: other_access, start, end } = conflict;
        let missing = advice::missing(self, &other, operation);
        let parties =
            vec![Party::touching(&other, other_access, start, end), Party::touching(operation, access, start, end)];
        self.find(kind, Some((start, end)), None, parties, Some(missing));
    }

    /// An access to memory that was freed or never allocated. `more` continues the advice.
    fn stray(&mut self, party: Party, more: &str) {
        let Some(bytes) = party.bytes else { return };
        let operation = party.operation.clone();
        let range = Some((bytes.address, bytes.address.saturating_add(bytes.length)));
        let gone = match self.blocks.at(bytes.address) {
            Some(_) => None,
            None => self.blocks.gone_at(bytes.address, bytes.length).map(|(block, by)| (block.clone(), by.clone())),
        };
        match gone {
            // The schedule ran a release before work that was called earlier: the two are unordered.
            Some((block, by)) if by.ordinal > operation.ordinal => {
                let missing = advice::missing(self, &operation, &by) + more;
                let bytes = Some(Range { address: block.address, length: block.size });
                let freed = Party::of(&by, AccessKind::Release, bytes);
                self.find(Kind::FreeBeforePendingWork, range, None, vec![party, freed], Some(missing));
            }
            Some((block, by)) => {
                let bytes = Some(Range { address: block.address, length: block.size });
                let freed = Party::of(&by, AccessKind::Release, bytes);
                let missing = format!("release the memory after its last use, or do not use it any more{more}");
                self.find(Kind::UseAfterFree, range, None, vec![freed, party], Some(missing));
            }
            None => {
                let missing = match self.blocks.at(bytes.address) {
                    Some(block) => format!(
                        "keep within the allocation: it ends {} bytes before the access does",
                        bytes.address.saturating_add(bytes.length) - block.end()
                    ),
                    None => "name memory that the driver has given out and not taken back".to_owned(),
                };
                self.find(Kind::OutOfBounds, range, None, vec![party], Some(missing + more));
            }
        }
    }

    /// Reports two unordered threads of a launch.
    fn kernel_race(&mut self, operation: &Arc<Operation>, race: KernelRace) {
        let KernelRace { bytes, variable, sides, missing } = race;
        let parties =
            sides.map(|(access, place)| Party { place: Some(place), ..Party::of(operation, access, Some(bytes)) });
        let block = self.blocks.at(bytes.address).cloned();
        self.findings.add(Kind::KernelRace, variable.clone().as_ref(), parties.into(), |parties| Found {
            kind: Kind::KernelRace,
            bytes: Some(bytes),
            block,
            variable,
            object: None,
            parties,
            missing: Some(missing),
            count: 1,
        });
    }

    fn find(
        &mut self,
        kind: Kind,
        range: Option<(u64, u64)>,
        object: Option<Object>,
        parties: Vec<Party>,
        missing: Option<String>,
    ) {
        let block = range.and_then(|(start, end)| {
            let live = self.blocks.at(start);
            live.or_else(|| self.blocks.gone_at(start, end - start).map(|(block, _)| block)).cloned()
        });
        let bytes = range.map(|(start, end)| Range { address: start, length: end - start });
        self.findings.add(kind, None, parties, |parties| Found {
            kind,
            bytes,
            block,
            variable: None,
            object,
            parties,
            missing,
            count: 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Caller {
        Caller::new(1, "")
    }

    fn touched(start: u64, end: u64, touch: Touch) -> Touched {
        Touched { start, end, touch }
    }

    #[test]
    fn kernel_accesses_are_checked_in_the_order_of_calls() {
        let mut detector = Detector::new(HostThreads::InOrderOfCalls);
        let [mut one, mut other] = [1, 2].map(|handle| detector.new_lane(LaneKind::NonBlocking, handle, Some(0)));
        detector.allocate(caller(), Block::new(0, 64, "device", 0), false);
        let kernel = detector.issue(&mut one, caller(), Effect::Unknown);
        let fill = detector.issue(&mut other, caller(), Effect::Fill(Region::row(0, 16)));
        assert!(!detector.is_settled() && detector.report(false).findings.is_empty());
        detector.resolve(&kernel, &[touched(8, 12, Touch::Read), touched(60, 68, Touch::Write)]);
        assert!(detector.is_settled());
        let findings = detector.report(false).findings;
        let told: Vec<_> = findings.iter().map(|finding| (finding.kind, finding.sides.len())).collect();
        // The kernel was called first, so nothing was written before its read.
        assert_eq!(told, [(Kind::UninitializedRead, 1), (Kind::DataRace, 2)]);
        let ordinals = findings[1].sides.iter().map(|side| side.ordinal).collect::<Vec<_>>();
        assert_eq!(ordinals, [kernel.operation.ordinal, fill.operation.ordinal]);
    }

    #[test]
    fn kernel_access_to_freed_memory_is_a_use_after_free() {
        let mut detector = Detector::new(HostThreads::InOrderOfCalls);
        let mut stream = detector.new_lane(LaneKind::NonBlocking, 1, Some(0));
        detector.allocate(caller(), Block::new(4096, 64, "device", 0), false);
        detector.free(caller(), 4096);
        let kernel = detector.issue(&mut stream, caller(), Effect::Unknown);
        detector.resolve(&kernel, &[touched(4100, 4104, Touch::Write), touched(9000, 9008, Touch::Write)]);
        let kinds: Vec<Kind> = detector.report(false).findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [Kind::UseAfterFree, Kind::OutOfBounds]);
    }
}
