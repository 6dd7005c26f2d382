//! Checks of the detector: compares an operation with earlier operations, and reports a finding if the two are
//! unordered.

use super::observed::{Meetings, Observed};
use super::*;

impl Detector {
    /// Records an operation in the history.
    pub(super) fn remember(
        &mut self,
        lane: LaneNumber,
        caller: Caller,
        after: Vec<u64>,
        effect: &Effect,
    ) -> Arc<Operation> {
        self.operations += 1;
        let accesses = OnceLock::new();
        if !matches!(effect, Effect::Unknown) {
            let _ = accesses.set(effect.accesses());
        }
        let after = after.into_boxed_slice();
        let (fences, published) = (OnceLock::new(), OnceLock::new());
        let operation = Arc::new(Operation {
            ordinal: self.operations,
            lane,
            caller,
            after,
            accesses,
            fences,
            published,
            heard: OnceLock::new(),
        });
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(operation.clone());
        operation
    }

    /// Checks an operation, after the earlier ones in the queue. An operation whose accesses are not known yet waits in the queue.
    pub(super) fn check(&mut self, entry: Entry) {
        if self.queue.is_empty() && !matches!(entry.effect, Effect::Unknown) {
            return self.examine(entry);
        }
        self.queue.push(entry);
    }

    /// The accesses as the history shows them: the bytes from the first to the last in each allocation.
    pub(super) fn hulls<'t>(&self, touches: impl Iterator<Item = (&'t Region, AccessKind)>) -> Box<[Access]> {
        let mut hulls: BTreeMap<(u64, bool), (AccessKind, u64, u64)> = BTreeMap::new();
        let mut last: Option<(&Block, AccessKind, (u64, u64))> = None;
        let mut add = |(block, kind, (start, end)): (u64, AccessKind, (u64, u64))| {
            let hull = hulls.entry((block, kind == AccessKind::Read)).or_insert((kind, start, end));
            (hull.1, hull.2) = (hull.1.min(start), hull.2.max(end));
        };
        // The boxes of an allocation follow each other.
        for (region, kind) in touches {
            let (start, end) = (region.start(), region.end());
            match last.as_mut().filter(|last| last.1 == kind && (last.0.address..last.0.end()).contains(&start)) {
                Some((.., hull)) => *hull = (hull.0.min(start), hull.1.max(end)),
                None => {
                    last.take().into_iter().for_each(|(block, kind, hull)| add((block.address, kind, hull)));
                    match self.blocks.at(start) {
                        Some(block) => last = Some((block, kind, (start, end))),
                        None => add((start, kind, (start, end))),
                    }
                }
            }
        }
        last.into_iter().for_each(|(block, kind, hull)| add((block.address, kind, hull)));
        let access = |(kind, start, end)| Access { kind, bytes: Range { address: start, length: end - start } };
        hulls.into_values().map(access).collect()
    }

    /// Compares an operation with the operations before it.
    pub(super) fn examine(&mut self, entry: Entry) {
        let Entry { operation, clock, effect, before_wait, .. } = entry;
        if let Some((clock, effect)) = before_wait {
            self.examine_part(&operation, &clock, &effect, true);
        }
        self.examine_part(&operation, &clock, &effect, false);
    }

    /// Compares a part of an operation with the operations before it. `before_wait` is set for the part of a dependent
    /// operation before its wait.
    fn examine_part(&mut self, operation: &Arc<Operation>, clock: &Clock, effect: &Effect, before_wait: bool) {
        let values = if before_wait { None } else { self.values.remove(&operation.ordinal) };
        if let Some(misuses) = self.misuses.get_mut(&operation.ordinal).filter(|_| values.is_some()) {
            let shadow = &self.shadow;
            // Another order of the calls may have written a value since the launch ran.
            let still = |bytes: Range| !shadow.unwritten(bytes.address, bytes.address + bytes.length).is_empty();
            misuses.retain(|misuse| !misuse.follows || misuse.bytes.is_none_or(still));
        }
        let accesses = effect.by_manner();
        let mut unwritten = match (&values, effect) {
            (Some(_), Effect::Ran { updated, .. }) => self.unwritten_updates(&accesses, updated),
            _ => Vec::new(),
        };
        let Detector { shadow, retired, hosts, queue, strict, lanes, blocks, .. } = self;
        unwritten.extend(values.iter().filter_map(|values| values.still_unwritten(shadow)));
        // Every later call is ordered after the host's checked operations, but perhaps not after operations in the
        // queue.
        let floor = if !*strict && queue.is_empty() { hosts.values().next() } else { None };
        let device = lanes.get(clock.lane as usize).and_then(|lane| lane.device);
        let by = Observer { operation, clock, retired, floor, manner: Manner::default(), device };
        shadow.sweep(&by);
        if let Effect::Free { block } = effect {
            let conflicts = shadow.release(block.address, block.end(), &by);
            return self.freed(conflicts, operation);
        }
        let heap = if before_wait { None } else { self.heap_changes.remove(&operation.ordinal) }.unwrap_or_default();
        // A pointer may be passed on through memory, so an allocation or a free is ordered as an access between an acquire and
        // a release.
        let handed = Observer { manner: Manner { strength: Strength::Weak, released: true, acquired: true }, ..by };
        for block in &heap.made {
            shadow.release(block.address, block.end(), &by);
            shadow.create(block.address, block.end(), false, Some(&handed));
        }
        let reads = Reads { values: values.as_ref(), blocks };
        let Observed { races, stray, unwritten: read } = Observed::of(shadow, (effect, &accesses), &by, &reads);
        unwritten.extend(read);
        let freed = heap.freed.iter().flat_map(|block| shadow.release(block.address, block.end(), &handed)).collect();
        // Work that has synchronized through memory is ordered, although the driver sees no edge.
        let met = std::mem::take(&mut shadow.met);
        self.join_met(&met, operation, clock);
        let meetings = Meetings { met: &met, operation, at: (clock.lane, clock.time), retired: &self.retired };
        let freed: Vec<Conflict> = meetings.unordered(freed).collect();
        let races: Vec<_> =
            races.into_iter().map(|(conflicts, access)| (meetings.widened(conflicts), access)).collect();
        // A launch that races with a write may have read the bytes too early. Its undefined results are a consequence of the race.
        let follows = |(conflicts, _): &(Vec<Conflict>, AccessKind)| {
            conflicts.iter().any(|conflict| matches!(conflict.access, AccessKind::Write | AccessKind::Create))
        };
        if !races.iter().any(follows) {
            for (start, end) in values.iter().flat_map(|values| &values.undefined) {
                self.shadow.unwrite(&Region::row(*start, end - start), &[(0, end - start)]);
            }
        }
        for (conflicts, access) in races {
            conflicts.into_iter().for_each(|conflict| self.race(conflict, operation, access, before_wait));
        }
        for conflict in freed {
            let kind = match conflict.access {
                AccessKind::Create => Kind::UseBeforeAllocation,
                _ => Kind::FreeBeforePendingWork,
            };
            self.unordered(kind, conflict, operation, AccessKind::Release);
        }
        for address in heap.wrong {
            let size = self.blocks.gone_at(address, 1).map_or(1, |(block, _)| block.end().saturating_sub(address));
            self.stray(Party::of(operation, AccessKind::Release, Some(Range { address, length: size })), None);
        }
        // A use of such bytes names its line.
        let is_used = |start: u64, end: u64| {
            let misuses = self.misuses.get(&operation.ordinal).into_iter().flatten();
            misuses
                .filter_map(|misuse| misuse.bytes.filter(|_| misuse.kind == Kind::UninitializedRead))
                .any(|bytes| (start..end).contains(&bytes.address))
        };
        unwritten.retain(|(start, end)| values.is_none() || !is_used(*start, *end));
        for (start, end) in unwritten {
            let party = Party::touching(operation, AccessKind::Read, start, end);
            self.find(Kind::UninitializedRead, Some((start, end)), None, vec![party], Advice::WriteFirst);
        }
        for (region, access) in stray {
            self.stray(Party::of(operation, access, Some(region.hull())), None);
        }
        for race in self.races.remove(&operation.ordinal).unwrap_or_default() {
            self.kernel_race(operation, race);
        }
        for misuse in self.misuses.remove(&operation.ordinal).unwrap_or_default() {
            self.kernel_misuse(operation, misuse);
        }
    }

    /// Reports the accesses that a free is not ordered after.
    fn freed(&mut self, conflicts: Vec<Conflict>, operation: &Arc<Operation>) {
        let by_host = self.hosts.values().any(|host| host.number == operation.lane);
        for conflict in conflicts {
            match conflict.access {
                // A free outside of any stream must be ordered after accesses, but not after the allocation.
                AccessKind::Create if by_host => {}
                AccessKind::Create => {
                    self.unordered(Kind::UseBeforeAllocation, conflict, operation, AccessKind::Release);
                }
                _ => self.unordered(Kind::FreeBeforePendingWork, conflict, operation, AccessKind::Release),
            }
        }
    }

    /// Orders the host, or a wait for a word of memory, after the operations that it has synchronized with.
    fn join_met(&mut self, met: &[Met], operation: &Arc<Operation>, clock: &Clock) {
        let is_host = self.hosts.values().any(|host| host.number == operation.lane);
        for Met { record, .. } in met.iter().filter(|met| is_host && met.forward) {
            self.hosts.values_mut().for_each(|host| host.join_operation(record.lane, record.time));
        }
        if !self.waits.is_empty() && self.waits.remove(&operation.ordinal) {
            for from in met.iter().filter(|met| met.forward).filter_map(|met| met.record.operation.published.get()) {
                self.retired.pass(clock, from);
            }
        }
    }

    /// Reports an access that is not ordered after another one.
    fn race(&mut self, conflict: Conflict, operation: &Arc<Operation>, access: AccessKind, before_wait: bool) {
        let kind = match conflict.access {
            AccessKind::Create => Kind::UseBeforeAllocation,
            _ => Kind::DataRace,
        };
        match missing_edge::wait(&conflict.other, operation).filter(|_| before_wait) {
            Some(missing) => self.unordered_without(missing, kind, conflict, operation, access),
            None => self.unordered(kind, conflict, operation, access),
        }
    }

    /// Reports two unordered operations.
    pub(super) fn unordered(&mut self, kind: Kind, conflict: Conflict, operation: &Arc<Operation>, access: AccessKind) {
        let missing = missing_edge::between(self, &conflict.other, operation, conflict.start);
        self.unordered_without(missing, kind, conflict, operation, access);
    }

    fn unordered_without(
        &mut self,
        missing: Advice,
        kind: Kind,
        conflict: Conflict,
        operation: &Arc<Operation>,
        access: AccessKind,
    ) {
        let Conflict { other, access: other_access, start, end, .. } = conflict;
        let parties =
            vec![Party::touching(&other, other_access, start, end), Party::touching(operation, access, start, end)];
        self.find(kind, Some((start, end)), None, parties, missing);
    }

    /// Reports an access to memory that was freed or never allocated. `more` continues the advice.
    pub(super) fn stray(&mut self, party: Party, more: Option<Advice>) {
        let Some(bytes) = party.bytes else { return };
        let operation = party.operation.clone();
        // More facts belong to the first remedy.
        let with = |missing: Advice| {
            let (text, more) = (missing.to_string(), more.map(|more| more.to_string()).unwrap_or_default());
            text.split_once('\n').map_or(format!("{text}{more}"), |(first, rest)| format!("{first}{more}\n{rest}"))
        };
        let range = Some((bytes.address, bytes.address.saturating_add(bytes.length)));
        // The schedule ran an allocation before work that was enqueued earlier.
        let later = self.blocks.at(bytes.address).and_then(|block| Some((block.clone(), block.made()?.clone())));
        if let Some((block, made)) = later.filter(|(_, made)| made.ordinal > operation.ordinal) {
            let bytes = Some(Range { address: block.address, length: block.size });
            let parties = vec![Party::of(&made, AccessKind::Create, bytes), party];
            return self.find(Kind::UseBeforeAllocation, range, None, parties, with(Advice::AllocateFirst));
        }
        let gone = match self.blocks.at(bytes.address) {
            Some(_) => None,
            None => self.blocks.gone_at(bytes.address, bytes.length).map(|(block, by)| (block.clone(), by.clone())),
        };
        match gone {
            // The schedule ran a release before work that was enqueued earlier: the two are unordered.
            Some((block, by)) if by.ordinal > operation.ordinal => {
                let missing = missing_edge::between(self, &operation, &by, bytes.address);
                let bytes = Some(Range { address: block.address, length: block.size });
                let freed = Party::of(&by, AccessKind::Release, bytes);
                self.find(Kind::FreeBeforePendingWork, range, None, vec![party, freed], with(missing));
            }
            Some((block, by)) => {
                let bytes = Some(Range { address: block.address, length: block.size });
                let freed = Party::of(&by, AccessKind::Release, bytes);
                self.find(Kind::UseAfterFree, range, None, vec![freed, party], with(Advice::ReleaseLater));
            }
            None => {
                let missing = match self.blocks.at(bytes.address) {
                    Some(block) => {
                        let beyond = bytes.address.saturating_add(bytes.length) - block.end();
                        Advice::KeepWithinAllocation { beyond }
                    }
                    None => Advice::UseLiveAddress,
                };
                self.find(Kind::OutOfBounds, range, None, vec![party], with(missing));
            }
        }
    }

    /// Reports two unordered threads of a launch.
    pub(super) fn kernel_race(&mut self, operation: &Arc<Operation>, race: KernelRace) {
        let KernelRace { bytes, variable, sides, missing, width } = race;
        let parties =
            sides.map(|(access, place)| Party { place: Some(place), ..Party::of(operation, access, Some(bytes)) });
        self.within_a_launch(Kind::KernelRace, bytes.address, Some(bytes), variable, parties.into(), (missing, width));
    }

    /// Reports an access of one thread of a launch.
    fn kernel_misuse(&mut self, operation: &Arc<Operation>, misuse: KernelMisuse) {
        let KernelMisuse { kind, bytes, owner, variable, access, place, other, missing, .. } = misuse;
        let party = |place| Party { place: Some(place), ..Party::of(operation, access, bytes) };
        let parties = std::iter::once(place).chain(other).map(party).collect();
        self.within_a_launch(kind, owner, bytes, variable, parties, (missing, 0));
    }

    /// Adds a finding about threads of one launch. `owner` is an address in the allocation that it concerns.
    fn within_a_launch(
        &mut self,
        kind: Kind,
        owner: u64,
        bytes: Option<Range>,
        variable: Option<Variable>,
        parties: Vec<Party>,
        (missing, width): (Advice, u8),
    ) {
        let block = self.blocks.at(owner).cloned();
        let variable = variable.or_else(|| block.as_ref()?.variable_at(bytes?.address));
        let missing = Some(missing.to_string());
        self.findings.add(Found { kind, bytes, block, variable, object: None, parties, missing, width });
    }

    pub(super) fn find(
        &mut self,
        kind: Kind,
        range: Option<(u64, u64)>,
        object: Option<Object>,
        parties: Vec<Party>,
        missing: impl ToString,
    ) {
        let missing = Some(missing.to_string());
        let block = range.and_then(|(start, end)| {
            let live = self.blocks.at(start);
            live.or_else(|| self.blocks.gone_at(start, end - start).map(|(block, _)| block)).cloned()
        });
        let bytes = range.map(|(start, end)| Range { address: start, length: end - start });
        let variable = range.and_then(|(start, _)| block.as_ref()?.variable_at(start));
        self.findings.add(Found { kind, bytes, block, variable, object, parties, missing, width: 0 });
    }
}
