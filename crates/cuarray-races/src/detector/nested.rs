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

    /// As [`Detector::issue_dependent`], within another operation. `branch` is a [nested lane](Detector::nested_lane) for
    /// the part before the wait; it may be used again for an operation that follows this one.
    pub fn issue_dependent_within(
        &mut self,
        lane: &mut Lane,
        branch: &mut Lane,
        past: Past,
        caller: Caller,
    ) -> (Ticket, Past) {
        let time = branch.time;
        *branch = past.branch(branch.number);
        (branch.time, branch.last) = (time + 1, self.operations + 1);
        let clock = branch.clock();
        lane.follow(&clock);
        let mut before = branch.past(lane.number);
        before.before.time = time;
        (Ticket { before_wait: Some(clock), ..self.issue_within(lane, caller) }, before)
    }

    /// The known effect of an operation that ran within another one.
    pub fn ran_within(&mut self, outer: &Ticket, ticket: &Ticket, effect: Effect) -> Vec<(Region, AccessKind)> {
        let _ = ticket.operation.accesses.set(effect.accesses());
        let touches = effect.touches();
        self.insert_within(outer, ticket, effect, Effect::none());
        touches
    }

    /// The accesses of an operation that ran within another one, as [`Detector::resolve_dependent`] returns them.
    pub fn resolve_within(
        &mut self,
        outer: &Ticket,
        ticket: &Ticket,
        parts: [&[Touched]; 2],
        for_host: bool,
    ) -> Vec<(Region, AccessKind)> {
        let ([before_wait, effect], for_host) = self.resolved(ticket, parts, for_host);
        self.insert_within(outer, ticket, effect, before_wait);
        for_host
    }

    fn insert_within(&mut self, outer: &Ticket, ticket: &Ticket, effect: Effect, before_wait: Effect) {
        let (operation, clock) = (ticket.operation.clone(), ticket.clock.clone());
        let before_wait = ticket.before_wait.clone().map(|clock| (clock, before_wait));
        self.queue.insert(outer.operation.ordinal, Entry { operation, clock, effect, before_wait });
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
    /// are issued before them: one that follows the conditional operation, and one in another stream. Each fills a first address and a length.
    fn races(nested: [(u64, u64); 2], joined: bool, following: (u64, u64), beside: (u64, u64)) -> Vec<[u64; 2]> {
        let fill = |(start, length)| Effect::Fill(Region::row(start, length));
        let mut detector = Detector::new(HostThreads::InOrderOfCalls);
        let [mut one, mut other] = [1, 2].map(|handle| detector.new_lane(LaneKind::NonBlocking, handle, Some(0)));
        detector.allocate(caller(), Block::new(0, 64, "device", 0), true);
        let outer = detector.issue(&mut one, caller(), Effect::Unknown);
        let [(mut first, promise), (mut second, also)] = [0, 1].map(|_| detector.nested_lane(Some(0)));
        [promise, also].iter().for_each(|promise| detector.join(&mut one, promise));
        detector.issue(&mut one, caller(), fill(following));
        detector.issue(&mut other, caller(), fill(beside));
        detector.join(&mut first, &outer.clock);
        let ticket = detector.issue_within(&mut first, caller());
        detector.ran_within(&outer, &ticket, fill(nested[0]));
        detector.join(&mut second, if joined { &ticket.clock } else { &outer.clock });
        let ticket = detector.issue_within(&mut second, caller());
        detector.ran_within(&outer, &ticket, fill(nested[1]));
        detector.resolve(&outer, &[]);
        assert!(detector.is_settled());
        let findings = detector.report(false).findings;
        findings.iter().map(|finding| [finding.sides[0].ordinal, finding.sides[1].ordinal]).collect()
    }

    #[test]
    fn nested_operations_come_before_what_follows_their_operation() {
        let all = (0, 64);
        assert_eq!(races([all, all], true, all, (64, 1)), Vec::<[u64; 2]>::new());
    }

    #[test]
    fn nested_operations_race_with_each_other_without_an_edge() {
        let (all, none) = ((0, 64), (64, 1));
        // The allocation is operation 1, the outer one 2; two others are issued before the nested ones.
        assert_eq!(races([all, all], false, none, none), [[5, 6]]);
    }

    #[test]
    fn part_before_the_wait_of_a_nested_operation_follows_only_its_past() {
        for before_wait in [true, false] {
            let mut detector = Detector::new(HostThreads::InOrderOfCalls);
            let mut stream = detector.new_lane(LaneKind::NonBlocking, 1, Some(0));
            detector.allocate(caller(), Block::new(0, 64, "device", 0), true);
            let outer = detector.issue(&mut stream, caller(), Effect::Unknown);
            let [(mut lane, _), (mut branch, _)] = [(); 2].map(|()| detector.nested_lane(Some(0)));
            detector.join(&mut lane, &outer.clock);
            for _ in 0..2 {
                let past = detector.past(&lane);
                let first = detector.issue_within(&mut lane, caller());
                detector.ran_within(&outer, &first, Effect::Fill(Region::row(0, 64)));
                let (second, _) = detector.issue_dependent_within(&mut lane, &mut branch, past, caller());
                let touched = [Touched::new(0, 4, Touch::Read)];
                let none: &[Touched] = &[];
                let parts = if before_wait { (&touched[..], none) } else { (none, &touched[..]) };
                detector.resolve_within(&outer, &second, [parts.0, parts.1], false);
            }
            detector.resolve(&outer, &[]);
            let counts: Vec<u64> = detector.report(false).findings.iter().map(|finding| finding.count).collect();
            assert_eq!(counts, if before_wait { vec![2] } else { vec![] });
        }
    }

    #[test]
    fn nested_operation_races_with_another_stream() {
        let (all, none) = ((0, 64), (64, 1));
        let races = races([all, all], true, none, (0, 8));
        assert_eq!(races, [[6, 4]]);
    }
}
