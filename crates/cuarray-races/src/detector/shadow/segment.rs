//! Segments of memory: bytes with one history.

use super::super::region::Strength;
use super::conflict::Found;
use super::record::{Observer, Record};

/// Bytes with the same history, from the key of the table to `end`.
pub(super) struct Segment {
    pub end: u64,
    /// The last plain write.
    pub write: Option<Record>,
    /// Reads and strong accesses since then.
    pub since: Vec<Record>,
    /// Whether an allocation starts here. Segments of two allocations never unite.
    pub first: bool,
    /// Whether an allocation ends here.
    pub last: bool,
}

impl Segment {
    pub(super) fn same(&self, other: &Segment) -> bool {
        let same_write = match (&self.write, &other.write) {
            (None, None) => true,
            (Some(one), Some(other)) => one.same(other),
            _ => false,
        };
        same_write
            && self.since.len() == other.since.len()
            && self.since.iter().zip(&other.since).all(|(one, other)| one.same(other))
    }

    /// Splits off the part from `at` on.
    pub(super) fn split(&mut self, at: u64) -> Segment {
        let behind = Segment {
            end: self.end,
            write: self.write.clone(),
            since: self.since.clone(),
            first: false,
            last: self.last,
        };
        self.end = at;
        self.last = false;
        behind
    }

    /// Records an access, and adds the accesses that it conflicts with, or has met.
    pub(super) fn touch(&mut self, start: u64, new: &Record, by: &Observer<'_>, found: &mut Found) {
        self.write.take_if(|write| by.settled(write));
        for record in self.write.iter().chain(&self.since).filter(|record| !by.follows(record)) {
            found.compare(new, record, start, self.end);
        }
        if new.writes() && new.manner.strength == Strength::Weak {
            self.write = Some(new.clone());
            self.since.clear();
        } else {
            self.since.retain(|record| !(by.settled(record) || by.follows(record) && new.stands_for(record)));
            self.since.push(new.clone());
        }
    }
}
