//! Operations that run in another operation: the nodes in the bodies of a conditional node.
//!
//! How often a body runs is known only when the conditional node runs, and then later operations have been issued. So
//! two things are arranged when the conditional node is issued. Its effect is unknown, which holds back all later
//! operations in the queue. And the operations that follow it join a *promise* of each lane of its bodies: a clock that
//! no operation of these lanes will pass. The operations in the bodies are examined where they run: before the
//! conditional node's own entry, after everything that was issued before it.

use super::*;

/// The number that no operation of a lane for bodies reaches.
const PROMISED: u64 = u64::MAX >> 1;

impl Detector {
    /// A lane for operations that run in another operation, and the promise of these operations: what follows the other
    /// operation joins it.
    pub fn nested_lane(&mut self, device: Option<i32>) -> (Lane, Clock) {
        let lane = self.new_lane(LaneKind::Internal, 0, device);
        let promise = lane.clock_at(PROMISED);
        (lane, promise)
    }

    /// Records the end of a lane of [`Detector::nested_lane`].
    pub fn nested_lane_ends(&mut self, lane: &Lane) {
        self.dying.push((lane.number, PROMISED));
    }

    /// An operation that begins now, within another operation. Its accesses are recorded with
    /// [`Detector::resolve_within`] or [`Detector::ran_within`].
    pub fn issue_within(&mut self, lane: &mut Lane, caller: Caller) -> Ticket {
        lane.time += 1;
        lane.last = self.operations + 1;
        let clock = lane.clock();
        let after = std::mem::take(&mut lane.after);
        let operation = self.remember(clock.lane, caller, after, &Effect::Unknown);
        Ticket { operation, clock, before_wait: None }
    }

    /// The known effect of an operation that ran within another one.
    pub fn ran_within(&mut self, outer: &Ticket, ticket: &Ticket, effect: Effect) -> Vec<(Region, AccessKind)> {
        let _ = ticket.operation.accesses.set(effect.accesses());
        let touches = effect.touches();
        self.insert_within(outer, ticket, effect);
        touches
    }

    /// The accesses of an operation that ran within another one, as [`Detector::resolve`] returns them.
    pub fn resolve_within(
        &mut self,
        outer: &Ticket,
        ticket: &Ticket,
        touched: &[Touched],
    ) -> Vec<(Region, AccessKind)> {
        let parted = self.parted(touched);
        self.hand_on(ticket, std::slice::from_ref(&parted));
        let _ = ticket.operation.accesses.set(self.hulls(parted.accesses()));
        let for_host = parted.for_host(ticket.operation.fences().releases == Strength::System).collect();
        self.insert_within(outer, ticket, parted.effect());
        for_host
    }

    fn insert_within(&mut self, outer: &Ticket, ticket: &Ticket, effect: Effect) {
        let (operation, clock) = (ticket.operation.clone(), ticket.clock.clone());
        self.queue.insert(outer.operation.ordinal, Entry { operation, clock, effect, before_wait: None });
        self.examine_known();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Caller {
        Caller::new(1, "")
    }

    /// The ordinals of the two sides of each race after a conditional operation with two nested fills. Other operations
    /// are issued before them: one that follows the conditional operation, and one in another stream.
    fn races(nested: [Region; 2], joined: bool, following: Region, beside: Region) -> Vec<[u64; 2]> {
        let mut detector = Detector::new(HostThreads::InOrderOfCalls);
        let [mut one, mut other] = [1, 2].map(|handle| detector.new_lane(LaneKind::NonBlocking, handle, Some(0)));
        detector.allocate(caller(), Block::new(0, 64, "device", 0), true);
        let outer = detector.issue(&mut one, caller(), Effect::Unknown);
        let [(mut first, promise), (mut second, also)] = [0, 1].map(|_| detector.nested_lane(Some(0)));
        [promise, also].iter().for_each(|promise| detector.join(&mut one, promise));
        detector.issue(&mut one, caller(), Effect::Fill(following));
        detector.issue(&mut other, caller(), Effect::Fill(beside));
        detector.join(&mut first, &outer.clock);
        let ticket = detector.issue_within(&mut first, caller());
        detector.ran_within(&outer, &ticket, Effect::Fill(nested[0]));
        detector.join(&mut second, if joined { &ticket.clock } else { &outer.clock });
        let ticket = detector.issue_within(&mut second, caller());
        detector.ran_within(&outer, &ticket, Effect::Fill(nested[1]));
        detector.resolve(&outer, &[]);
        assert!(detector.is_settled());
        let findings = detector.report(false).findings;
        findings.iter().map(|finding| [finding.sides[0].ordinal, finding.sides[1].ordinal]).collect()
    }

    #[test]
    fn nested_operations_come_before_what_follows_their_operation() {
        let all = Region::row(0, 64);
        assert_eq!(races([all, all], true, all, Region::row(64, 1)), Vec::<[u64; 2]>::new());
    }

    #[test]
    fn nested_operations_race_with_each_other_without_an_edge() {
        let (all, none) = (Region::row(0, 64), Region::row(64, 1));
        // The allocation is operation 1, the outer one 2; two others are issued before the nested ones.
        assert_eq!(races([all, all], false, none, none), [[5, 6]]);
    }

    #[test]
    fn nested_operation_races_with_another_stream() {
        let (all, none) = (Region::row(0, 64), Region::row(64, 1));
        let races = races([all, all], true, none, Region::row(0, 8));
        assert_eq!(races, [[6, 4]]);
    }
}
