//! Version vectors: what comes before what, as far as the program has said so.
//!
//! A *lane* does one thing after the other: a stream, or the host. Its operations are numbered, and a vector holds for each
//! lane up to which of its operations everything is known to have happened. Operation B comes after operation A exactly if
//! B's vector reaches A's number in A's lane, so a check is one look-up.
//!
//! Most operations learn nothing but that the host made one more call. So a clock keeps its own number and that of its
//! caller apart from the rest, and the rest, which only synchronization changes, is shared between all clocks that agree on it:
//! an operation's clock costs no more than a pointer. Vectors are sparse, and lanes that every later operation is ordered after
//! leave them (see [`Retired`]).

use std::sync::Arc;

/// The number of a lane; never used twice in a driver.
pub(crate) type LaneNumber = u32;

/// Lanes of which every operation, that is or is yet to come, knows everything.
#[derive(Default)]
pub(crate) struct Retired {
    lanes: Vec<bool>,
}

impl Retired {
    pub(crate) fn holds(&self, lane: LaneNumber) -> bool {
        self.lanes.get(lane as usize).copied().unwrap_or(false)
    }

    pub(crate) fn add(&mut self, lane: LaneNumber) {
        let index = lane as usize;
        if self.lanes.len() <= index {
            self.lanes.resize(index + 1, false);
        }
        self.lanes[index] = true;
    }
}

/// Up to which operation each lane is known; lanes that are missing are not known at all. Sorted by lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vector(Vec<(LaneNumber, u64)>);

impl Vector {
    fn get(&self, lane: LaneNumber) -> u64 {
        self.0.binary_search_by_key(&lane, |entry| entry.0).map_or(0, |index| self.0[index].1)
    }

    fn raise(&mut self, lane: LaneNumber, time: u64) {
        match self.0.binary_search_by_key(&lane, |entry| entry.0) {
            Ok(index) => self.0[index].1 = self.0[index].1.max(time),
            Err(index) => self.0.insert(index, (lane, time)),
        }
    }

    /// The greater of both, lane by lane, without the lanes that nobody needs to know any more.
    fn joined(&self, other: &Vector, retired: &Retired) -> Vector {
        let mut all = Vec::with_capacity(self.0.len().max(other.0.len()) + 2);
        let (mut left, mut right) = (self.0.as_slice(), other.0.as_slice());
        loop {
            let entry = match (left, right) {
                ([], []) => return Vector(all),
                ([a, rest @ ..], []) => {
                    left = rest;
                    *a
                }
                ([], [b, rest @ ..]) => {
                    right = rest;
                    *b
                }
                ([a, rest_of_left @ ..], [b, rest_of_right @ ..]) => {
                    if a.0 <= b.0 {
                        left = rest_of_left;
                    }
                    if b.0 <= a.0 {
                        right = rest_of_right;
                    }
                    match a.0.cmp(&b.0) {
                        std::cmp::Ordering::Less => *a,
                        std::cmp::Ordering::Greater => *b,
                        std::cmp::Ordering::Equal => (a.0, a.1.max(b.1)),
                    }
                }
            };
            if !retired.holds(entry.0) {
                all.push(entry);
            }
        }
    }
}

/// What one operation knows: which operations come before it.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// Its lane, and its number there.
    pub lane: LaneNumber,
    pub time: u64,
    /// The host lane that made the call, and that lane's number then.
    caller: (LaneNumber, u64),
    rest: Arc<Vector>,
    /// Its place in the history, or 0.
    pub ordinal: u64,
}

impl Clock {
    /// Whether an operation comes before this one, or is this one.
    pub(crate) fn knows(&self, lane: LaneNumber, time: u64, retired: &Retired) -> bool {
        (lane == self.lane && time <= self.time)
            || (lane == self.caller.0 && time <= self.caller.1)
            || self.rest.get(lane) >= time
            || retired.holds(lane)
    }
}

/// What a lane knows now: the clock of the operation that comes next in it.
#[derive(Debug)]
pub(crate) struct Lane {
    pub number: LaneNumber,
    /// How many operations it had.
    pub time: u64,
    caller: (LaneNumber, u64),
    rest: Arc<Vector>,
    /// What its last caller knew: as long as that stays the same there is nothing to join.
    from_caller: Option<Arc<Vector>>,
    /// The place in the history of its last operation.
    pub last: u64,
}

impl Lane {
    pub(crate) fn new(number: LaneNumber) -> Lane {
        Lane { number, time: 0, caller: (number, 0), rest: Arc::default(), from_caller: None, last: 0 }
    }

    /// The clock of its last operation.
    pub(crate) fn clock(&self) -> Clock {
        let Lane { number, time, caller, .. } = *self;
        Clock { lane: number, time, caller, rest: self.rest.clone(), ordinal: self.last }
    }

    /// Puts everything that an operation knows before what this lane does next. Answers whether it was news.
    ///
    /// Whoever knows an operation knows all that the operation knew, since a lane that learns something advances its number before
    /// anybody can learn from it.
    pub(crate) fn learn(&mut self, from: &Clock, retired: &Retired) -> bool {
        if self.knows(from.lane, from.time, retired) {
            return false;
        }
        let mut rest = self.rest.joined(&from.rest, retired);
        for (lane, time) in [(from.lane, from.time), from.caller] {
            if lane != self.number && !retired.holds(lane) {
                rest.raise(lane, time);
            }
        }
        self.rest = Arc::new(rest);
        true
    }

    /// Whether it knows an operation.
    pub(crate) fn knows(&self, lane: LaneNumber, time: u64, retired: &Retired) -> bool {
        (lane == self.number && time <= self.time)
            || (lane == self.caller.0 && time <= self.caller.1)
            || self.rest.get(lane) >= time
            || retired.holds(lane)
    }

    /// The next operation of this lane, which the host lane `host` calls: it comes after what that one has done.
    pub(crate) fn called_by(&mut self, host: &Lane, retired: &Retired) {
        let caller = (host.number, host.time);
        if self.caller.0 != caller.0 && self.caller.0 != self.number {
            let (lane, time) = self.caller;
            Arc::make_mut(&mut self.rest).raise(lane, time);
        }
        self.caller = caller;
        if !self.from_caller.as_ref().is_some_and(|known| Arc::ptr_eq(known, &host.rest)) {
            self.rest = Arc::new(self.rest.joined(&host.rest, retired));
            self.from_caller = Some(host.rest.clone());
        }
        self.time += 1;
    }

    /// The next operation of a host lane.
    pub(crate) fn advance(&mut self) {
        self.time += 1;
        self.caller = (self.number, self.time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_orders_and_nothing_else_does() {
        let retired = Retired::default();
        let (host, mut a, mut b) = (Lane::new(0), Lane::new(1), Lane::new(2));
        a.called_by(&host, &retired);
        let first = a.clock();
        a.called_by(&host, &retired);
        let second = a.clock();
        b.called_by(&host, &retired);
        assert!(second.knows(first.lane, first.time, &retired));
        assert!(!b.clock().knows(first.lane, first.time, &retired));
        assert!(b.learn(&first, &retired));
        assert!(!b.learn(&first, &retired));
        b.called_by(&host, &retired);
        assert!(b.clock().knows(first.lane, first.time, &retired));
        assert!(!b.clock().knows(second.lane, second.time, &retired));
    }

    #[test]
    fn the_host_hands_on_what_it_has_waited_for() {
        let retired = Retired::default();
        let (mut host, mut a, mut b) = (Lane::new(0), Lane::new(1), Lane::new(2));
        a.called_by(&host, &retired);
        host.learn(&a.clock(), &retired);
        host.advance();
        b.called_by(&host, &retired);
        assert!(b.clock().knows(1, 1, &retired));
        // What the host does after the call does not come before it.
        let before = host.time;
        host.advance();
        assert!(!b.clock().knows(0, before + 1, &retired));
    }

    #[test]
    fn two_host_lanes_know_of_each_other_only_through_a_stream() {
        let retired = Retired::default();
        let (mut one, mut two, mut stream) = (Lane::new(0), Lane::new(1), Lane::new(2));
        one.advance();
        stream.called_by(&one, &retired);
        assert!(!two.knows(0, 1, &retired));
        stream.called_by(&two, &retired);
        assert!(stream.clock().knows(0, 1, &retired));
        two.learn(&stream.clock(), &retired);
        assert!(two.knows(0, 1, &retired));
    }

    #[test]
    fn a_retired_lane_is_known_to_all_and_leaves_the_vectors() {
        let mut retired = Retired::default();
        let (mut host, mut a) = (Lane::new(0), Lane::new(1));
        a.called_by(&host, &retired);
        host.learn(&a.clock(), &retired);
        retired.add(1);
        let mut b = Lane::new(2);
        b.called_by(&host, &retired);
        assert!(b.rest.0.is_empty());
        assert!(b.knows(1, 1, &retired));
    }
}
