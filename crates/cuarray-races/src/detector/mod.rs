//! The detector: events in, findings out.
//!
//! Each call that enqueues work gives the work a [`Clock`]. It joins the earlier operations of the calling thread,
//! the operations that this thread has waited for, the earlier work in the lane, and the operations that the lane has
//! [joined](Detector::join). The clock does not depend on when the work runs. Then the accesses are compared with
//! the last accesses to the same bytes ([`shadow`]), in the order of the calls ([`queue`]). Two conflicting accesses
//! are a finding if they are unordered, whether or not this run gave a wrong result.

mod allocations;
mod batch;
mod checks;
mod clock;
mod effect;
mod finding_list;
mod flags;
mod handles;
mod lanes;
mod missing_edge;
mod nested;
mod observed;
mod operation;
mod queue;
mod refusal;
mod region;
mod resolution;
mod shadow;
mod suballocations;
mod summary;
mod values;

pub use allocations::Block;
pub use clock::{Clock, Lane, LaneNumber, Past};
pub use effect::Effect;
pub use operation::{Caller, Fences, Operation, Ticket};
pub use refusal::WaitingSide;
pub use region::{Extent, Manner, Region, Strength, Touch, Touched};
pub use values::{Unwritten, Values};

use crate::advice::Advice;
use crate::finding::{Access, AccessKind, KernelPlace, Kind, LaneKind, Object, Range, Variable, Watched};
use allocations::Blocks;
use clock::Retired;
use finding_list::{Findings, Found, Party};
use flags::Flags;
use handles::Handles;
use queue::{Entry, Queue};
use shadow::{Conflict, Met, Observer, Shadow};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, OnceLock};
use suballocations::Suballocations;
use values::Reads;

/// The number of operations in the history.
const HISTORY: usize = 10_000;
/// The number of ended lanes at which the detector looks for lanes that it can retire.
const DYING: usize = 64;

/// The rule that orders host threads.
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
    /// The number of the lane among the streams that the program created, or among the other lanes; counted from 1.
    label: u32,
    /// The call that made the stream.
    made: Option<Arc<Operation>>,
}

/// A data race: two unordered accesses by threads of one kernel launch.
#[derive(Clone, Debug)]
pub struct KernelRace {
    /// The bytes that both touch.
    pub bytes: Range,
    /// The variable that contains the bytes.
    pub variable: Option<Variable>,
    /// Both accesses, the earlier first.
    pub sides: [(AccessKind, KernelPlace); 2],
    /// The missing synchronization.
    pub missing: Advice,
    /// The width of that synchronization: 0 for threads of a warp, 1 for a block, 2 for several blocks. Of races that are one
    /// finding, the report shows the widest, because its synchronization orders the others too.
    pub width: u8,
}

/// An access of one thread of a kernel launch that is a finding by itself.
#[derive(Clone, Debug)]
pub struct KernelMisuse {
    /// The kind of finding.
    pub kind: Kind,
    /// The accessed bytes.
    pub bytes: Option<Range>,
    /// An address of the allocation in question, which need not hold the bytes.
    pub owner: u64,
    /// The variable in question.
    pub variable: Option<Variable>,
    /// The kind of access.
    pub access: AccessKind,
    /// The instruction, the block and the thread.
    pub place: KernelPlace,
    /// The instruction that another thread executes or waits at, if it is part of the error.
    pub other: Option<KernelPlace>,
    /// The remedy.
    pub missing: Advice,
    /// Whether the finding is the use of a value that the launch has followed from unwritten global memory, the bytes.
    pub follows: bool,
}

/// A change of the kernels' heap by one launch.
#[derive(Default)]
struct HeapChange {
    made: Vec<Arc<Block>>,
    freed: Vec<Arc<Block>>,
    /// Freed addresses at which no block was.
    wrong: Vec<u64>,
}

/// Computes the happens-before order of a program's operations, and its findings.
///
/// The [crate's documentation](crate) shows how to feed events to it.
pub struct Detector {
    on: bool,
    /// Whether each host thread is its own lane.
    strict: bool,
    lanes: Vec<LaneInfo>,
    /// The lanes of host threads by their numbers. Without `strict`, all threads share one lane, under 0.
    hosts: BTreeMap<u64, Lane>,
    retired: Retired,
    /// Ended lanes and their last operations.
    dying: Vec<(LaneNumber, u64)>,
    operations: u64,
    history: VecDeque<Arc<Operation>>,
    queue: Queue,
    shadow: Shadow,
    blocks: Blocks,
    suballocations: Suballocations,
    handles: Handles,
    findings: Findings,
    /// Races among the threads of launches, by the ordinals of the launches.
    races: HashMap<u64, Vec<KernelRace>>,
    /// Misuses by single threads of launches, by the ordinals of the launches.
    misuses: HashMap<u64, Vec<KernelMisuse>>,
    /// The undefined values that launches have followed, by the ordinals of the launches.
    values: HashMap<u64, Values>,
    /// Changes of the kernels' heap by launches, by the ordinals of the launches.
    heap_changes: HashMap<u64, HeapChange>,
    /// The lanes of [`Detector::hand_over`] by their keys.
    handed: HashMap<u64, Lane>,
    flags: Flags,
    /// The waits for words of memory whose writers are not known: the check finds them in the shadow memory.
    waits: HashSet<u64>,
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
            suballocations: Suballocations::default(),
            handles: Handles::default(),
            findings: Findings::default(),
            races: HashMap::new(),
            misuses: HashMap::new(),
            values: HashMap::new(),
            heap_changes: HashMap::new(),
            handed: HashMap::new(),
            flags: Flags::default(),
            waits: HashSet::new(),
        }
    }

    /// A detector that is switched off. Callers check [`Detector::is_on`] before they build an event.
    pub fn off() -> Detector {
        Detector { on: false, ..Detector::new(HostThreads::default()) }
    }

    /// Compares also the accesses to memory of the program that the driver has not allocated: all but these ranges.
    pub fn compare_outside(&mut self, ranges: Vec<(u64, u64)>) {
        self.shadow.admit_outside(ranges);
    }

    /// Whether the detector takes events.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// An operation that a thread enqueues in a lane.
    pub fn issue(&mut self, lane: &mut Lane, caller: Caller, effect: Effect) -> Ticket {
        self.issue_parts(lane, caller, effect, None)
    }

    /// An operation whose accesses follow only `past`, until it waits for the operations before it in its lane. Later
    /// operations of the lane follow both parts. Returns also the past of the part before the wait.
    ///
    /// The accesses of both parts are [resolved](Detector::resolve_dependent) when the operation has run.
    pub fn issue_dependent(&mut self, lane: &mut Lane, past: Past, caller: Caller) -> (Ticket, Past) {
        let key = self.host_key(caller.thread);
        self.host(caller.thread);
        let number = self.branch_of(lane);
        let mut branch = past.branch(number);
        if let Some(host) = self.hosts.get(&key) {
            branch.called_by(host, &self.retired);
        }
        branch.last = self.operations + 1;
        let clock = branch.clock();
        lane.follow(&clock);
        self.lane_ends(&branch);
        branch.time = 0;
        (self.issue_parts(lane, caller, Effect::Unknown, Some(clock)), branch.past(lane.number))
    }

    fn issue_parts(&mut self, lane: &mut Lane, caller: Caller, effect: Effect, before_wait: Option<Clock>) -> Ticket {
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
                self.flags.forget(block.address, block.end());
                self.suballocations.forget(block.address, block.end());
                self.blocks.add(block.clone());
            }
            Effect::Free { block } => drop(self.blocks.end(block.address, operation.clone())),
            _ => {}
        }
        let part = before_wait.clone().map(|clock| (clock, Effect::none()));
        self.check(Entry { operation: operation.clone(), clock: clock.clone(), effect, before_wait: part });
        Ticket { operation, clock, before_wait }
    }

    /// A call that takes effect in the calling thread, in no stream.
    pub fn host_operation(&mut self, caller: Caller, effect: Effect) -> Ticket {
        let next = self.operations + 1;
        let (host, _) = self.host(caller.thread);
        host.advance();
        host.last = next;
        let clock = host.clock();
        let after = std::mem::take(&mut host.after);
        let operation = self.remember(clock.lane, caller, after, &effect);
        self.check(Entry { operation: operation.clone(), clock: clock.clone(), effect, before_wait: None });
        Ticket { operation, clock, before_wait: None }
    }

    /// Memory that a thread allocates outside of any stream. `written` memory may hold data already.
    pub fn allocate(&mut self, caller: Caller, block: Arc<Block>, written: bool) {
        let effect = Effect::Allocate { block: block.clone(), written, ordered: false };
        let ticket = self.host_operation(caller, effect);
        block.made_by(ticket.operation);
        self.flags.forget(block.address, block.end());
        self.suballocations.forget(block.address, block.end());
        self.blocks.add(block);
    }

    /// Variables of a module that a thread loads. Their bytes hold data.
    pub fn load(&mut self, caller: Caller, blocks: Vec<Arc<Block>>) {
        let ticket = self.host_operation(caller, Effect::Load { blocks: blocks.clone() });
        for block in blocks {
            block.made_by(ticket.operation.clone());
            self.blocks.add(block);
        }
    }

    /// Unloads the variables in a range of addresses.
    pub fn unload(&mut self, caller: Caller, start: u64, end: u64) {
        let blocks = self.blocks.within(start, end);
        if !blocks.is_empty() {
            let ticket = self.host_operation(caller, Effect::Unload { blocks: blocks.clone() });
            blocks.iter().for_each(|block| drop(self.blocks.end(block.address, ticket.operation.clone())));
        }
    }

    /// Memory that a thread frees outside of any stream. Has no effect if no allocation holds the address.
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

    /// Reverses the destruction of a handle: it is in use again.
    pub fn revive_handle(&mut self, handle: u64) {
        self.handles.revive(handle);
    }

    /// The live handles: handle, kind, and the operation that created it.
    pub fn handles(&self) -> impl Iterator<Item = (u64, &'static str, &Arc<Operation>)> {
        self.handles.live()
    }

    /// An access that a host function makes while it runs as an operation of a lane. `uses` are other uses of some of the
    /// same bytes, which must be ordered with the access.
    pub fn host_function_access<'a>(
        &mut self,
        caller: Caller,
        function: &Clock,
        ((start, end), access): ((u64, u64), AccessKind),
        uses: impl Iterator<Item = (&'a Arc<Operation>, &'a Clock, (u64, u64), AccessKind)>,
    ) {
        let effect = Effect::Touches(vec![(Region::row(start, end - start), access)]);
        let operation = self.remember(function.lane, caller, Vec::new(), &effect);
        for (other, clock, bytes, other_access) in uses {
            if !self.ordered(function, clock) {
                let common = (start.max(bytes.0), end.min(bytes.1));
                let conflict = Conflict::new(other.clone(), other_access, common);
                self.unordered(Kind::DataRace, conflict, &operation, access);
            }
        }
    }

    /// A change of bytes by the host that is unordered with an operation that reads them.
    pub fn host_changed(&mut self, caller: Caller, (start, end): (u64, u64), reader: &Arc<Operation>) {
        let lane = self.host(caller.thread).0.number();
        let effect = Effect::Touches(vec![(Region::row(start, end - start), AccessKind::Write)]);
        let operation = self.remember(lane, caller, Vec::new(), &effect);
        let conflict = Conflict::new(reader.clone(), AccessKind::Read, (start, end));
        self.unordered(Kind::DataRace, conflict, &operation, AccessKind::Write);
    }

    /// Stores how an operation synchronizes through memory, before it is [resolved](Detector::resolve).
    pub fn synchronizes(&mut self, ticket: &Ticket, fences: Fences) {
        let _ = ticket.operation.fences.set(fences);
        if fences.releases != Strength::Weak {
            let _ = ticket.operation.published.set(ticket.clock.clone());
        }
    }

    /// Stores races among the threads of a launch until the launch is checked in the order of the calls.
    pub fn threads_raced(&mut self, ticket: &Ticket, races: Vec<KernelRace>) {
        if !races.is_empty() {
            self.races.insert(ticket.operation.ordinal, races);
        }
    }

    /// Stores misuses by single threads of a launch, as [`Detector::threads_raced`] does.
    pub fn threads_misused(&mut self, ticket: &Ticket, misuses: Vec<KernelMisuse>) {
        if !misuses.is_empty() {
            self.misuses.insert(ticket.operation.ordinal, misuses);
        }
    }

    /// Blocks of the kernels' heap that a launch has allocated and not freed, those of earlier launches that it has freed, and
    /// addresses that it has freed although no block was there. Called when the launch has run, before it is
    /// [resolved](Detector::resolve).
    pub fn heap_changed(&mut self, ticket: &Ticket, made: Vec<Arc<Block>>, freed: &[u64], wrong: Vec<u64>) {
        if made.is_empty() && freed.is_empty() && wrong.is_empty() {
            return;
        }
        let operation = &ticket.operation;
        let freed = freed.iter().filter_map(|address| self.blocks.end(*address, operation.clone())).collect();
        for block in &made {
            block.made_by(operation.clone());
            self.blocks.add(block.clone());
        }
        self.heap_changes.insert(operation.ordinal, HeapChange { made, freed, wrong });
    }

    /// Whether no operation waits for [`Detector::resolve`].
    pub fn is_settled(&self) -> bool {
        self.queue.is_empty()
    }

    /// The memory that is watched now, and what watching it takes. The caller knows what its launches left out.
    pub fn watched(&self) -> Watched {
        let (bytes, memory) = self.shadow.memory();
        let history = self.history.len() * (size_of::<Operation>() + size_of::<Arc<Operation>>());
        Watched { bytes, memory, history: history as u64, left_out: 0 }
    }

    /// The number of different findings so far.
    pub fn findings(&self) -> usize {
        self.findings.len()
    }

    /// Discards the findings so far.
    pub fn clear(&mut self) {
        self.findings.clear();
    }
}

#[cfg(test)]
mod tests;
