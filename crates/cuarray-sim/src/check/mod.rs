//! What is wrong with the program, computed from what comes before what.
//!
//! Every call that enqueues work gives it a [clock](clock::Clock) when it is made: what the calling thread had done and waited for,
//! what was in front of it in its stream, what the events that its stream waits for stood for, and what the legacy default
//! stream's rules add ([`edges`] has them all; `docs/explanation/happens-before.md` gives the manual's page for each). Nothing of
//! this depends on when work runs. Then its accesses are compared with the last ones to the same bytes ([`shadow`]), in the order of
//! the calls ([`queue`]), and two that conflict without either knowing of the other are a finding, whether or not anything went wrong
//! in this run.
//!
//! All of it is off with `CUARRAY_SIM_FINDINGS=0`, and costs a test of one flag then.

mod advice;
mod block;
mod clock;
mod edges;
mod found;
mod host;
mod operation;
mod queue;
mod report;
mod shadow;

pub(crate) use block::Block;
pub(crate) use clock::{Clock, Lane};
pub(crate) use host::Running;
pub(crate) use operation::{Operation, Region, Touch, Touched};
pub(crate) use queue::Doing;

use crate::finding::{Access, Deed, KernelPlace, Kind, LaneKind, Object, Range, Variable};
use crate::handle::Table;
use crate::site::Site;
use block::{Blocks, Handles};
use clock::{LaneNumber, Retired};
use found::{Findings, Found, Party};
use queue::{Entry, Queue};
use shadow::{Conflict, Observer, Shadow};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

/// How many operations the history keeps.
const HISTORY: usize = 10_000;
/// How many destroyed streams are waited for before one looks which of them everybody knows.
const DYING: usize = 64;

/// Who made the call that is being answered.
#[derive(Clone)]
pub(crate) struct Caller {
    pub thread: u64,
    pub call: &'static str,
    pub site: Arc<Site>,
    /// More about the call.
    pub detail: Option<Arc<str>>,
    /// For a node of a graph: the operation with which the launch began.
    pub launch: Option<u64>,
}

/// What reports say of a lane.
pub(crate) struct LaneInfo {
    pub kind: LaneKind,
    pub handle: u64,
    pub device: Option<i32>,
    /// The how-manieth stream of its kind.
    pub label: u32,
}

/// Two accesses of threads of one launch.
pub(crate) struct KernelRace {
    pub bytes: Range,
    pub variable: Option<Variable>,
    pub sides: [(Deed, KernelPlace); 2],
    pub missing: String,
}

/// What an operation is, and what it knows, for those who learn later what it touches.
pub(crate) struct Ticket {
    pub operation: Arc<Operation>,
    pub clock: Clock,
}

/// The checks of one driver.
pub(crate) struct Checks {
    /// Whether anything is checked at all.
    pub on: bool,
    /// Whether host threads are ordered by the driver's objects alone, and not by the order of their calls.
    pub strict: bool,
    /// Whether freeing memory waits for the work on it, as far as findings are concerned.
    pub free_synchronizes: bool,
    lanes: Vec<LaneInfo>,
    /// The lanes of host threads by their number; one for all, under 0, unless `strict`.
    hosts: Table<u64, Lane>,
    retired: Retired,
    /// Lanes that have ended, and their last operations.
    dying: Vec<(LaneNumber, u64)>,
    operations: u64,
    history: VecDeque<Arc<Operation>>,
    queue: Queue,
    shadow: Shadow,
    blocks: Blocks,
    handles: Handles,
    findings: Findings,
    /// What was found among the threads of launches, by their operations.
    races: HashMap<u64, Vec<KernelRace>>,
    /// What was handed over between host threads by hand.
    handed: HashMap<u64, Lane>,
}

impl Checks {
    pub(crate) fn new(on: bool, strict: bool, free_synchronizes: bool) -> Checks {
        Checks {
            on,
            strict,
            free_synchronizes,
            lanes: Vec::new(),
            hosts: Table::default(),
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

    /// A lane that has had no operation yet.
    fn new_lane(&mut self, kind: LaneKind, handle: u64, device: Option<i32>) -> Lane {
        let made = matches!(kind, LaneKind::Blocking | LaneKind::NonBlocking);
        let same = |other: &LaneInfo| made == matches!(other.kind, LaneKind::Blocking | LaneKind::NonBlocking);
        let label = self.lanes.iter().rev().find(|other| same(other)).map_or(0, |other| other.label) + 1;
        self.lanes.push(LaneInfo { kind, handle, device, label });
        Lane::new(self.lanes.len() as LaneNumber - 1)
    }

    /// The key of a thread's lane.
    fn host_key(&self, thread: u64) -> u64 {
        if self.strict { thread } else { 0 }
    }

    /// The lane of a host thread, and what is needed to work with it.
    fn host(&mut self, thread: u64) -> (&mut Lane, &Retired) {
        let key = self.host_key(thread);
        if !self.hosts.contains_key(&key) {
            let lane = self.new_lane(LaneKind::Host, thread, None);
            self.hosts.insert(key, lane);
        }
        let Checks { hosts, retired, .. } = self;
        (hosts.entry(key).or_insert_with(|| Lane::new(0)), retired)
    }

    /// Records an operation in the history.
    fn remember(&mut self, lane: LaneNumber, caller: Caller, after: Vec<u64>, doing: &Doing) -> Arc<Operation> {
        self.operations += 1;
        let accesses = OnceLock::new();
        if !matches!(doing, Doing::Unknown) {
            let _ = accesses.set(doing.accesses());
        }
        let operation = Arc::new(Operation {
            ordinal: self.operations,
            lane,
            thread: caller.thread,
            call: caller.call,
            detail: caller.detail,
            launch: caller.launch,
            site: caller.site,
            after: after.into_boxed_slice(),
            accesses,
        });
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(operation.clone());
        operation
    }

    /// An operation of the calling thread.
    fn host_operation(&mut self, caller: Caller, after: Vec<u64>, doing: Doing) -> Ticket {
        let next = self.operations + 1;
        let (host, _) = self.host(caller.thread);
        host.advance();
        host.last = next;
        let clock = host.clock();
        let operation = self.remember(clock.lane, caller, after, &doing);
        self.check(Entry { operation: operation.clone(), clock: clock.clone(), doing });
        Ticket { operation, clock }
    }

    /// Checks an operation now, or when it is known what those in front of it touch.
    fn check(&mut self, entry: Entry) {
        if self.queue.is_empty() && !matches!(entry.doing, Doing::Unknown) {
            return self.examine(entry);
        }
        self.queue.push(entry);
    }

    /// Says what an operation has touched when it ran, and what of that it read before it wrote it.
    fn resolve(&mut self, ticket: &Ticket, touches: Vec<(Region, Deed)>, updated: Vec<Region>) {
        let _ = ticket.operation.accesses.set(self.summary(&touches));
        self.queue.resolve(ticket.operation.ordinal, Doing::Ran { touches, updated });
        while let Some(entry) = self.queue.pop() {
            self.examine(entry);
        }
    }

    /// What the history says of many accesses: from the first byte to the last in each allocation.
    fn summary(&self, touches: &[(Region, Deed)]) -> Box<[Access]> {
        let mut hulls: BTreeMap<(u64, bool), (Deed, u64, u64)> = BTreeMap::new();
        for (region, deed) in touches {
            let block = self.blocks.at(region.start()).map_or(region.start(), |block| block.address);
            let hull = hulls.entry((block, *deed == Deed::Read)).or_insert((*deed, region.start(), region.end()));
            (hull.1, hull.2) = (hull.1.min(region.start()), hull.2.max(region.end()));
        }
        let access = |(deed, start, end)| Access { deed, bytes: Range { address: start, length: end - start } };
        hulls.into_values().map(access).collect()
    }

    /// Compares what an operation does with what was done before.
    fn examine(&mut self, entry: Entry) {
        let Entry { operation, clock, doing } = entry;
        let Checks { shadow, retired, hosts, queue, strict, .. } = self;
        // Whatever is called from now on knows what the host knows; what waits in the queue may not.
        let floor = if !*strict && queue.is_empty() { hosts.values().next() } else { None };
        let by = Observer { operation: &operation, clock: &clock, retired, floor };
        shadow.sweep(&by);
        let mut races = Vec::new();
        let mut unwritten = Vec::new();
        let mut stray = Vec::new();
        match &doing {
            Doing::Unknown => {}
            Doing::Fill(region) => races.push((shadow.access(region, Deed::Write, &by), Deed::Write)),
            Doing::Copy { from, to, exact } => {
                let mut holes = Vec::new();
                if let Some(from) = from {
                    if *exact {
                        unwritten.extend(shadow.unwritten_of(from, true));
                    } else {
                        holes = shadow.holes(from);
                    }
                    races.push((shadow.access(from, Deed::Read, &by), Deed::Read));
                }
                races.push((shadow.access(to, Deed::Write, &by), Deed::Write));
                shadow.unwrite(to, &holes);
            }
            Doing::Touches(touches) | Doing::Ran { touches, .. } => {
                if let Doing::Ran { updated, .. } = &doing {
                    unwritten.extend(updated.iter().filter_map(|region| shadow.unwritten_of(region, false)));
                }
                for (region, deed) in touches {
                    if !shadow.holds(region.start()) {
                        stray.push((*region, *deed));
                    } else if *deed == Deed::Read {
                        unwritten.extend(shadow.unwritten_of(region, false));
                    }
                    races.push((shadow.access(region, *deed, &by), *deed));
                }
            }
            Doing::Create { block, written, ordered } => {
                shadow.create(block.address, block.end(), *written, ordered.then_some(&by));
            }
            Doing::Release { block } => {
                let by_host = hosts.values().any(|host| host.number == operation.lane);
                for conflict in shadow.release(block.address, block.end(), &by) {
                    match conflict.deed {
                        // Without a stream only accesses have to be over.
                        Deed::Create if by_host => {}
                        Deed::Create => self.unordered(Kind::UseBeforeAllocation, conflict, &operation, Deed::Release),
                        _ => self.unordered(Kind::FreeBeforePendingWork, conflict, &operation, Deed::Release),
                    }
                }
                return;
            }
        }
        for (conflicts, deed) in races {
            for conflict in conflicts {
                let kind = match conflict.deed {
                    Deed::Create => Kind::UseBeforeAllocation,
                    _ => Kind::DataRace,
                };
                self.unordered(kind, conflict, &operation, deed);
            }
        }
        for (start, end) in unwritten {
            let party = Party::touching(&operation, Deed::Read, start, end);
            let missing = "write these bytes (a copy, a fill, a kernel) before they are read";
            self.find(Kind::UninitializedRead, Some((start, end)), None, vec![party], Some(missing.to_owned()));
        }
        for (region, deed) in stray {
            self.stray(Party::of(&operation, deed, Some(region.hull())), "");
        }
        for race in self.races.remove(&operation.ordinal).unwrap_or_default() {
            self.kernel_race(&operation, race);
        }
    }

    /// Two operations that nothing orders.
    fn unordered(&mut self, kind: Kind, conflict: Conflict, operation: &Arc<Operation>, deed: Deed) {
        let Conflict { other, deed: other_deed, start, end } = conflict;
        let missing = advice::missing(self, &other, operation);
        let parties =
            vec![Party::touching(&other, other_deed, start, end), Party::touching(operation, deed, start, end)];
        self.find(kind, Some((start, end)), None, parties, Some(missing));
    }

    /// An access to memory that is nobody's: that was given back, or never given out.
    ///
    /// `more` is said behind what is missing.
    fn stray(&mut self, party: Party, more: &str) {
        let Some(bytes) = party.bytes else { return };
        let operation = party.operation.clone();
        let range = Some((bytes.address, bytes.address.saturating_add(bytes.length)));
        let gone = match self.blocks.at(bytes.address) {
            Some(_) => None,
            None => self.blocks.gone_at(bytes.address, bytes.length).map(|(block, by)| (block.clone(), by.clone())),
        };
        match gone {
            // The schedule has put a release in front of work that was called before it: nothing orders the two.
            Some((block, by)) if by.ordinal > operation.ordinal => {
                let missing = advice::missing(self, &operation, &by) + more;
                let bytes = Some(Range { address: block.address, length: block.size });
                let freed = Party::of(&by, Deed::Release, bytes);
                self.find(Kind::FreeBeforePendingWork, range, None, vec![party, freed], Some(missing));
            }
            Some((block, by)) => {
                let bytes = Some(Range { address: block.address, length: block.size });
                let freed = Party::of(&by, Deed::Release, bytes);
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

    /// Two threads of a launch that nothing orders.
    fn kernel_race(&mut self, operation: &Arc<Operation>, race: KernelRace) {
        let KernelRace { bytes, variable, sides, missing } = race;
        let parties =
            sides.map(|(deed, place)| Party { place: Some(place), ..Party::of(operation, deed, Some(bytes)) });
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

    /// Keeps what was found among the threads of a launch until the launch is looked at in its place.
    pub(crate) fn threads_raced(&mut self, ticket: &Ticket, races: Vec<KernelRace>) {
        if !races.is_empty() {
            self.races.insert(ticket.operation.ordinal, races);
        }
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

    /// Whether nothing waits for work to say what it touches.
    pub(crate) fn knows_all(&self) -> bool {
        self.queue.is_empty()
    }

    /// The operation that made the live allocation that holds an address.
    pub(crate) fn maker_of(&self, address: u64) -> Option<&Arc<Operation>> {
        self.blocks.at(address)?.made()
    }

    /// The live streams, events and contexts: handles, kinds, and the operations that made them.
    pub(crate) fn handles(&self) -> impl Iterator<Item = (u64, &'static str, &Arc<Operation>)> {
        self.handles.live()
    }

    /// Forgets what was found so far.
    pub(crate) fn clear(&mut self) {
        self.findings.clear();
    }
}

impl Doing {
    /// The boxes that are known to be read and written.
    fn touches(&self) -> Vec<(Region, Deed)> {
        match self {
            Doing::Fill(region) => vec![(*region, Deed::Write)],
            Doing::Copy { from, to, .. } => {
                let from = from.iter().map(|from| (*from, Deed::Read));
                from.chain([(*to, Deed::Write)]).collect()
            }
            Doing::Touches(touches) | Doing::Ran { touches, .. } => touches.clone(),
            Doing::Unknown | Doing::Create { .. } | Doing::Release { .. } => Vec::new(),
        }
    }

    /// What is known to be touched.
    fn accesses(&self) -> Box<[Access]> {
        match self {
            Doing::Unknown => Box::default(),
            Doing::Fill(region) => Box::new([region.access(Deed::Write)]),
            Doing::Copy { from: None, to, .. } => Box::new([to.access(Deed::Write)]),
            Doing::Copy { from: Some(from), to, .. } => Box::new([from.access(Deed::Read), to.access(Deed::Write)]),
            Doing::Touches(touches) | Doing::Ran { touches, .. } => {
                touches.iter().map(|(region, deed)| region.access(*deed)).collect()
            }
            Doing::Create { block, .. } => Box::new([Region::row(block.address, block.size).access(Deed::Create)]),
            Doing::Release { block } => Box::new([Region::row(block.address, block.size).access(Deed::Release)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site;

    fn caller() -> Caller {
        Caller { thread: 1, call: "", detail: None, launch: None, site: site::unknown().clone() }
    }

    /// Enqueues an operation in a stream.
    fn enqueued(checks: &mut Checks, stream: &mut Lane, doing: Doing) -> Ticket {
        checks.host(1);
        stream.called_by(&checks.hosts[&0], &checks.retired);
        let clock = stream.clock();
        let operation = checks.remember(clock.lane, caller(), Vec::new(), &doing);
        checks.check(Entry { operation: operation.clone(), clock: clock.clone(), doing });
        Ticket { operation, clock }
    }

    #[test]
    fn what_a_kernel_touches_is_checked_in_its_place() {
        let mut checks = Checks::new(true, false, true);
        let [mut one, mut other] = [1, 2].map(|handle| checks.new_lane(LaneKind::NonBlocking, handle, Some(0)));
        let block = Block::new(0, 64, "device", 0);
        let created = Doing::Create { block: block.clone(), written: false, ordered: false };
        block.made_by(checks.host_operation(caller(), Vec::new(), created).operation);
        checks.blocks.add(block);
        let kernel = enqueued(&mut checks, &mut one, Doing::Unknown);
        let fill = enqueued(&mut checks, &mut other, Doing::Fill(Region::row(0, 16)));
        assert!(!checks.knows_all() && checks.report(false).findings.is_empty());
        checks.resolve(&kernel, vec![(Region::row(8, 4), Deed::Read), (Region::row(60, 8), Deed::Write)], Vec::new());
        assert!(checks.knows_all());
        let findings = checks.report(false).findings;
        let told: Vec<_> = findings.iter().map(|finding| (finding.kind, finding.sides.len())).collect();
        // The read is the first of all, so nothing was written before it.
        assert_eq!(told, [(Kind::UninitializedRead, 1), (Kind::DataRace, 2)]);
        let ordinals = findings[1].sides.iter().map(|side| side.ordinal).collect::<Vec<_>>();
        assert_eq!(ordinals, [kernel.operation.ordinal, fill.operation.ordinal]);
    }

    #[test]
    fn a_kernel_that_reaches_what_was_released_is_found() {
        let mut checks = Checks::new(true, false, true);
        let mut stream = checks.new_lane(LaneKind::NonBlocking, 1, Some(0));
        let block = Block::new(4096, 64, "device", 0);
        checks.blocks.add(block.clone());
        let freed = checks.host_operation(caller(), Vec::new(), Doing::Touches(Vec::new()));
        block.made_by(freed.operation.clone());
        checks.blocks.end(4096, freed.operation);
        let kernel = enqueued(&mut checks, &mut stream, Doing::Unknown);
        checks.resolve(
            &kernel,
            vec![(Region::row(4100, 4), Deed::Write), (Region::row(9000, 4), Deed::Write)],
            Vec::new(),
        );
        let kinds: Vec<Kind> = checks.report(false).findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [Kind::UseAfterFree, Kind::OutOfBounds]);
    }
}
