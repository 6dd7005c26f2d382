//! Recorded accesses, and the context in which a new one is compared with them.

use super::super::clock::{Clock, Lane, LaneNumber, Retired};
use super::super::operation::Operation;
use super::super::region::{Manner, Strength};
use crate::finding::AccessKind;
use std::sync::Arc;

/// A recorded access.
#[derive(Clone)]
pub(in crate::detector) struct Record {
    pub lane: LaneNumber,
    pub time: u64,
    pub(super) access: AccessKind,
    pub(super) manner: Manner,
    device: Option<i32>,
    /// Whether the access was made through another range with the same bytes.
    pub(super) elsewhere: bool,
    pub operation: Arc<Operation>,
}

impl Record {
    pub(super) fn same(&self, other: &Record) -> bool {
        // The parts of a dependent operation have clocks of different lanes.
        Arc::ptr_eq(&self.operation, &other.operation) && self.lane == other.lane && self.kind() == other.kind()
    }

    pub(super) fn kind(&self) -> (AccessKind, Manner, Option<i32>, bool) {
        (self.access, self.manner, self.device, self.elsewhere)
    }

    /// The record of the same access in another range with the same bytes.
    pub(super) fn elsewhere(&self) -> Record {
        Record { elsewhere: true, ..self.clone() }
    }

    pub(in crate::detector) fn writes(&self) -> bool {
        self.access != AccessKind::Read
    }

    /// Whether both accesses are strong, and in each other's scope.
    fn meets(&self, other: &Record) -> bool {
        self.manner.strength.meets(other.manner.strength, self.device == other.device)
    }

    /// Whether unordered accesses of these kinds are a race.
    pub(super) fn conflicts(&self, other: &Record) -> bool {
        (self.writes() || other.writes()) && !self.meets(other)
    }

    /// Whether every access that conflicts with `older` conflicts with this one too.
    pub(super) fn stands_for(&self, older: &Record) -> bool {
        // A later acquire may order an access after this one, and not after the older one.
        let handed = |record: &Record| (record.manner.released, record.manner.acquired);
        match (self.access, self.manner.strength) {
            (AccessKind::Read, Strength::Weak) => !older.writes() && handed(self) == (false, false),
            _ => {
                (self.manner.strength, self.device) == (older.manner.strength, older.device)
                    && (self.writes() || !older.writes())
                    && (handed(self) == handed(older) || handed(self) == (false, false))
            }
        }
    }

    /// Whether this access may observe a release by the operation of an earlier access. [`Flags`](super::flags::Flags) follows
    /// the releases between launches.
    pub(super) fn observes(&self, other: &Record) -> bool {
        let host = |record: &Record| record.manner.strength == Strength::Host;
        let near = self.device == other.device && !host(self) && !host(other);
        let narrowest = if near { Strength::Device } else { Strength::System };
        self.meets(other)
            && other.writes()
            && (host(other) || other.operation.fences().releases >= narrowest)
            && (host(self) || self.operation.fences().acquires >= narrowest)
    }
}

/// The context of a new access: its operation, its clock, and the lane whose operations happen before every later
/// operation.
#[derive(Clone, Copy)]
pub(in crate::detector) struct Observer<'a> {
    pub operation: &'a Arc<Operation>,
    pub clock: &'a Clock,
    pub retired: &'a Retired,
    /// The lane whose operations happen before every later operation, if there is one.
    pub floor: Option<&'a Lane>,
    pub manner: Manner,
    /// The device of the lane.
    pub device: Option<i32>,
}

impl Observer<'_> {
    pub(super) fn follows(&self, record: &Record) -> bool {
        self.clock.contains(record.lane, record.time, self.retired)
    }

    /// Whether the record happens before every later operation.
    pub(super) fn settled(&self, record: &Record) -> bool {
        self.floor.is_some_and(|floor| floor.contains(record.lane, record.time, self.retired))
    }

    pub(super) fn record(&self, access: AccessKind) -> Record {
        let Clock { lane, time, .. } = *self.clock;
        let Observer { manner, device, .. } = *self;
        Record { lane, time, access, manner, device, elsewhere: false, operation: self.operation.clone() }
    }
}
