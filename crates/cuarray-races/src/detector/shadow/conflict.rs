//! The unordered accesses that an access meets.

use super::super::clock::LaneNumber;
use super::super::operation::Operation;
use super::super::region::Manner;
use super::record::Record;
use crate::finding::AccessKind;
use std::sync::Arc;

/// The unordered accesses that an access is compared with.
#[derive(Default)]
pub(super) struct Found {
    pub conflicts: Vec<Conflict>,
    /// Accesses of other operations that the access has synchronized with through memory.
    pub met: Vec<Met>,
}

/// An access of another operation that an access has synchronized with through memory.
pub(in crate::detector) struct Met {
    pub record: Record,
    /// Whether the later call observes the earlier one.
    pub forward: bool,
    /// Whether the earlier call observes the later one, which ran before it.
    pub backward: bool,
}

impl Found {
    pub(super) fn compare(&mut self, new: &Record, record: &Record, start: u64, end: u64) {
        if new.conflicts(record) {
            return note(&mut self.conflicts, (record, new), start, end);
        }
        let (forward, backward) = (new.observes(record), record.observes(new));
        let known = |met: &Met| met.record.same(record) && (met.forward, met.backward) == (forward, backward);
        if (forward || backward) && !self.met.iter().any(known) {
            self.met.push(Met { record: record.clone(), forward, backward });
        }
    }
}

/// Two unordered accesses.
pub(in crate::detector) struct Conflict {
    /// The earlier access.
    pub other: Arc<Operation>,
    pub access: AccessKind,
    /// The first address of the shared bytes, and the address after the last.
    pub start: u64,
    pub end: u64,
    /// The lane of the earlier access, and its number there.
    pub at: (LaneNumber, u64),
    /// How the earlier and the later access synchronize.
    pub theirs: Manner,
    pub own: Manner,
}

impl Conflict {
    /// A conflict with a plain access.
    pub(in crate::detector) fn new(other: Arc<Operation>, access: AccessKind, (start, end): (u64, u64)) -> Conflict {
        let at = (other.lane, 0);
        Conflict { other, access, start, end, at, theirs: Manner::default(), own: Manner::default() }
    }

    /// Whether the earlier access is of this kind, by this operation.
    pub(in crate::detector) fn is_of(&self, other: &Arc<Operation>, access: AccessKind) -> bool {
        Arc::ptr_eq(&self.other, other) && self.access == access
    }

    /// Adds shared bytes.
    pub(in crate::detector) fn widen(&mut self, start: u64, end: u64) {
        (self.start, self.end) = (self.start.min(start), self.end.max(end));
    }
}

/// Adds a conflict of a record with a new access, or extends the conflict with the same record.
pub(super) fn note(conflicts: &mut Vec<Conflict>, (record, new): (&Record, &Record), start: u64, end: u64) {
    let known = conflicts.iter_mut().find(|known| {
        known.is_of(&record.operation, record.access) && (known.theirs, known.own) == (record.manner, new.manner)
    });
    match known {
        Some(known) => known.widen(start, end),
        None => conflicts.push(Conflict {
            at: (record.lane, record.time),
            theirs: record.manner,
            own: new.manner,
            ..Conflict::new(record.operation.clone(), record.access, (start, end))
        }),
    }
}
