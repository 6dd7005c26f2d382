//! Vector clocks: the operations that happen before each operation.
//!
//! A *lane* is a stream or a host thread; its operations happen one after the other. The operations of a lane are
//! numbered. A vector holds, for each lane, the number of its last operation that happens before the vector's
//! operation. Operation A happens before operation B exactly if B's vector reaches A's number in A's lane, so each
//! comparison is one look-up.
//!
//! The clocks of most operations differ from the previous clock only in the last call of the host. A clock therefore
//! stores its own number and its caller's number apart from the vector. Only synchronization changes the vector, and
//! all equal vectors are shared: the clock of an operation costs no more than a pointer. Vectors are sparse. A lane
//! leaves them when its operations happen before every later operation (see [`Retired`]).

use std::sync::Arc;

/// The number of a lane. A detector never reuses a number.
pub type LaneNumber = u32;

/// A wait for a word of memory, and the operations before the write that ended the wait.
///
/// The write may be called after the wait, when later operations already have clocks. So the edge is looked up.
struct Passage {
    lane: LaneNumber,
    time: u64,
    from: Clock,
}

/// Lanes whose operations all happen before every later operation, and edges that were found when work ran.
#[derive(Default)]
pub(super) struct Retired {
    lanes: Vec<bool>,
    passages: Vec<Passage>,
}

impl Retired {
    /// Orders the operations of the clock `from` before everything that follows the wait.
    pub(super) fn pass(&mut self, wait: &Clock, from: &Clock) {
        // With the clocks of earlier passages joined, no look-up has to follow a chain of them.
        let mut whole = from.clone();
        for passage in self.passages.iter().filter(|passage| from.reaches(passage.lane, passage.time)) {
            whole = whole.joined(&passage.from, self);
        }
        self.passages.push(Passage { lane: wait.lane, time: wait.time, from: whole });
    }

    /// The clocks of the passages that `reaches` contains.
    fn passed(&self, reaches: impl Fn(LaneNumber, u64) -> bool) -> impl Iterator<Item = &Clock> {
        self.passages.iter().filter(move |passage| reaches(passage.lane, passage.time)).map(|passage| &passage.from)
    }

    /// Removes the passages that every later operation contains, with their clocks.
    pub(super) fn forget_passages(&mut self, host: &Lane) {
        self.passages.retain(|passage| {
            !(host.reaches(passage.lane, passage.time) && host.reaches(passage.from.lane, passage.from.time))
        });
    }

    pub(super) fn holds(&self, lane: LaneNumber) -> bool {
        self.lanes.get(lane as usize).copied().unwrap_or(false)
    }

    pub(super) fn add(&mut self, lane: LaneNumber) {
        let index = lane as usize;
        if self.lanes.len() <= index {
            self.lanes.resize(index + 1, false);
        }
        self.lanes[index] = true;
    }
}

/// The last ordered operation of each lane, sorted by lane. A missing lane has none.
#[derive(Clone, Debug, Default)]
struct Vector(Vec<(LaneNumber, u64)>);

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

    /// The maximum of both vectors in each lane, without retired lanes.
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

/// The operations that happen before one operation.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The operation's lane.
    pub lane: LaneNumber,
    /// The operation's number in its lane.
    pub time: u64,
    /// The host lane that made the call, and that lane's number at the call.
    caller: (LaneNumber, u64),
    rest: Arc<Vector>,
    /// The operation's place in the history, or 0.
    pub ordinal: u64,
}

impl Clock {
    /// Whether an operation happens before this one, or is this one.
    #[inline]
    pub(super) fn contains(&self, lane: LaneNumber, time: u64, retired: &Retired) -> bool {
        self.reaches(lane, time)
            || retired.holds(lane)
            || retired.passed(|lane, time| self.reaches(lane, time)).any(|from| from.reaches(lane, time))
    }

    #[inline]
    fn reaches(&self, lane: LaneNumber, time: u64) -> bool {
        (lane == self.lane && time <= self.time)
            || (lane == self.caller.0 && time <= self.caller.1)
            || self.rest.get(lane) >= time
    }

    /// The clock of this operation with the operations of another clock before it.
    pub(super) fn joined(&self, other: &Clock, retired: &Retired) -> Clock {
        let mut rest = self.rest.joined(&other.rest, retired);
        for (lane, time) in [(other.lane, other.time), other.caller] {
            if !retired.holds(lane) {
                rest.raise(lane, time);
            }
        }
        Clock { rest: Arc::new(rest), ..self.clone() }
    }
}

/// A stream or a host thread, with the clock of its next operation.
#[derive(Debug)]
pub struct Lane {
    pub(super) number: LaneNumber,
    /// The number of the lane's last operation.
    pub(super) time: u64,
    caller: (LaneNumber, u64),
    rest: Arc<Vector>,
    /// The vector of its last caller. While the caller's vector is the same, there is nothing to join.
    from_caller: Option<Arc<Vector>>,
    /// The place of the lane's last operation in the history.
    pub(super) last: u64,
    /// The operations of other lanes that happen before the lane's next operation, but not before its last one.
    pub(super) after: Vec<u64>,
}

impl Lane {
    pub(super) fn new(number: LaneNumber) -> Lane {
        let (rest, after) = (Arc::default(), Vec::new());
        Lane { number, time: 0, caller: (number, 0), rest, from_caller: None, last: 0, after }
    }

    /// The lane's number.
    pub fn number(&self) -> LaneNumber {
        self.number
    }

    /// Whether the lane has no operation yet.
    pub fn is_unused(&self) -> bool {
        self.time == 0
    }

    /// The clock of the lane's last operation.
    #[inline]
    pub fn clock(&self) -> Clock {
        let Lane { number, time, caller, .. } = *self;
        Clock { lane: number, time, caller, rest: self.rest.clone(), ordinal: self.last }
    }

    /// The clock of an operation with a later number, which the lane may never have.
    pub(super) fn clock_at(&self, time: u64) -> Clock {
        Clock { time, ..self.clock() }
    }

    /// Orders an operation, and everything that happens before it, before the next operation of this lane. Returns
    /// whether this changed the clock.
    ///
    /// If the lane's clock already contains the operation, it also contains the whole clock of that operation. This
    /// holds because a lane that joins a clock advances its own number before another lane can join from it.
    pub(super) fn join(&mut self, from: &Clock, retired: &Retired) -> bool {
        if self.contains(from.lane, from.time, retired) {
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

    /// Whether an operation happens before the lane's next operation.
    #[inline]
    pub(super) fn contains(&self, lane: LaneNumber, time: u64, retired: &Retired) -> bool {
        self.reaches(lane, time)
            || retired.holds(lane)
            || retired.passed(|lane, time| self.reaches(lane, time)).any(|from| from.reaches(lane, time))
    }

    #[inline]
    fn reaches(&self, lane: LaneNumber, time: u64) -> bool {
        (lane == self.number && time <= self.time)
            || (lane == self.caller.0 && time <= self.caller.1)
            || self.rest.get(lane) >= time
    }

    /// Joins the clocks of the passages that the lane contains.
    pub(super) fn join_passages(&mut self, retired: &Retired) {
        let passed: Vec<Clock> = retired.passed(|lane, time| self.reaches(lane, time)).cloned().collect();
        for from in passed.iter().filter(|from| !self.reaches(from.lane, from.time)).collect::<Vec<_>>() {
            let mut rest = self.rest.joined(&from.rest, retired);
            for (lane, time) in [(from.lane, from.time), from.caller] {
                if lane != self.number && !retired.holds(lane) {
                    rest.raise(lane, time);
                }
            }
            self.rest = Arc::new(rest);
        }
    }

    /// Begins the next operation of this lane. The host lane `host` makes the call, so the operations of the host
    /// happen before it.
    pub(super) fn called_by(&mut self, host: &Lane, retired: &Retired) {
        let caller = (host.number, host.time);
        if self.caller.0 != caller.0 && self.caller.0 != self.number {
            let (lane, time) = self.caller;
            Arc::make_mut(&mut self.rest).raise(lane, time);
        }
        self.caller = caller;
        if !self.from_caller.as_ref().is_some_and(|joined| Arc::ptr_eq(joined, &host.rest)) {
            self.rest = Arc::new(self.rest.joined(&host.rest, retired));
            self.from_caller = Some(host.rest.clone());
        }
        self.time += 1;
    }

    /// Orders an operation before the next operation of this lane, which follows everything else in its clock anyway.
    pub(super) fn follow(&mut self, clock: &Clock) {
        Arc::make_mut(&mut self.rest).raise(clock.lane, clock.time);
    }

    /// The operations before the lane's next operation, without that operation. `of` is the lane whose operation it is.
    pub(super) fn past(&self, of: LaneNumber) -> Past {
        let Lane { number, time, caller, last, .. } = *self;
        let (rest, from_caller) = (self.rest.clone(), self.from_caller.clone());
        Past { before: Lane { number, time, caller, rest, from_caller, last, after: Vec::new() }, of }
    }

    /// Orders the operations of a past before the next operation of this lane.
    pub(super) fn join_past(&mut self, past: &Past, retired: &Retired) {
        let from = past.before.clock();
        let mut rest = self.rest.joined(&from.rest, retired);
        for (lane, time) in [(from.lane, from.time), from.caller] {
            if lane != self.number && time > 0 && !retired.holds(lane) {
                rest.raise(lane, time);
            }
        }
        self.rest = Arc::new(rest);
    }

    /// Orders one operation of another lane, and the earlier ones of that lane, before the next operation of this lane.
    pub(super) fn join_operation(&mut self, lane: LaneNumber, time: u64) {
        if lane != self.number {
            Arc::make_mut(&mut self.rest).raise(lane, time);
            self.advance();
        }
    }

    /// Begins the next operation of a host lane.
    pub(super) fn advance(&mut self) {
        self.time += 1;
        self.caller = (self.number, self.time);
    }
}

/// The operations that happen before one operation of a lane. A [dependent](super::Detector::issue_dependent) operation may follow it.
#[derive(Debug)]
pub struct Past {
    pub(super) before: Lane,
    /// The lane of the operation.
    pub(super) of: LaneNumber,
}

impl Past {
    /// Adds an operation, and everything that happens before it.
    pub(super) fn absorb(&mut self, from: &Clock, retired: &Retired) {
        let before = &mut self.before;
        let mut rest = before.rest.joined(&from.rest, retired);
        for (lane, time) in [(from.lane, from.time), from.caller] {
            if lane == before.number {
                before.time = before.time.max(time);
            } else if time > 0 && !retired.holds(lane) {
                rest.raise(lane, time);
            }
        }
        before.rest = Arc::new(rest);
    }

    /// A lane of this number whose first operation follows the past.
    pub(super) fn branch(self, number: LaneNumber) -> Lane {
        let mut lane = self.before;
        if lane.time > 0 {
            Arc::make_mut(&mut lane.rest).raise(lane.number, lane.time);
        }
        if lane.caller.0 == lane.number {
            lane.caller = (number, 0);
        }
        (lane.number, lane.time) = (number, 0);
        lane
    }
}

impl Clone for Past {
    fn clone(&self) -> Past {
        self.before.past(self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_joined_clock_orders_two_lanes() {
        let retired = Retired::default();
        let (host, mut a, mut b) = (Lane::new(0), Lane::new(1), Lane::new(2));
        a.called_by(&host, &retired);
        let first = a.clock();
        a.called_by(&host, &retired);
        let second = a.clock();
        b.called_by(&host, &retired);
        assert!(second.contains(first.lane, first.time, &retired));
        assert!(!b.clock().contains(first.lane, first.time, &retired));
        assert!(b.join(&first, &retired));
        assert!(!b.join(&first, &retired));
        b.called_by(&host, &retired);
        assert!(b.clock().contains(first.lane, first.time, &retired));
        assert!(!b.clock().contains(second.lane, second.time, &retired));
    }

    #[test]
    fn call_is_ordered_after_work_that_the_host_waited_for() {
        let retired = Retired::default();
        let (mut host, mut a, mut b) = (Lane::new(0), Lane::new(1), Lane::new(2));
        a.called_by(&host, &retired);
        host.join(&a.clock(), &retired);
        host.advance();
        b.called_by(&host, &retired);
        assert!(b.clock().contains(1, 1, &retired));
        // Later host operations do not happen before the call.
        let before = host.time;
        host.advance();
        assert!(!b.clock().contains(0, before + 1, &retired));
    }

    #[test]
    fn host_lanes_are_ordered_through_a_stream() {
        let retired = Retired::default();
        let (mut one, mut two, mut stream) = (Lane::new(0), Lane::new(1), Lane::new(2));
        one.advance();
        stream.called_by(&one, &retired);
        assert!(!two.contains(0, 1, &retired));
        stream.called_by(&two, &retired);
        assert!(stream.clock().contains(0, 1, &retired));
        two.join(&stream.clock(), &retired);
        assert!(two.contains(0, 1, &retired));
    }

    #[test]
    fn retired_lane_is_ordered_before_all_and_leaves_the_vectors() {
        let mut retired = Retired::default();
        let (mut host, mut a) = (Lane::new(0), Lane::new(1));
        a.called_by(&host, &retired);
        host.join(&a.clock(), &retired);
        retired.add(1);
        let mut b = Lane::new(2);
        b.called_by(&host, &retired);
        assert!(b.rest.0.is_empty());
        assert!(b.contains(1, 1, &retired));
    }
}
