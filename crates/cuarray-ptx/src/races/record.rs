//! The accesses of all blocks by one instruction to a piece of memory, as far as they decide which blocks conflict.
//!
//! Records of several cores are joined in any order, with one result.

use super::cell::{Kind, Origin};

/// An access of a block. The default is no access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Slot {
    pub block: u32,
    pub origin: Origin,
}

impl Slot {
    pub(super) fn is_none(self) -> bool {
        self.origin.is_none()
    }

    /// The access of another lane of the warp.
    #[inline(always)]
    pub(super) fn of(self, lane: u32) -> Slot {
        Slot { origin: self.origin.of(self.origin.thread() & !31 | lane), ..self }
    }

    /// The smaller of two accesses. One may be missing.
    pub(super) fn or(self, other: Slot) -> Slot {
        if self.is_none() || !other.is_none() && other < self { other } else { self }
    }
}

/// The accesses by one instruction to a piece. A unit is a cluster, or a block if there are no clusters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// The access of the smallest block and thread.
    pub one: Slot,
    /// The smallest access of another unit.
    other: Slot,
    /// The smallest access of another unit that wrote another value than `one`.
    different: Slot,
    /// The digest of the value that `one` wrote, and the smallest access of its unit that wrote another value.
    value: u32,
    varied: Slot,
}

impl Record {
    pub(super) fn new(one: Slot, value: u32, varied: Slot) -> Record {
        Record { one, other: Slot::default(), different: Slot::default(), value, varied }
    }

    /// Whether the accesses are of one unit.
    pub(super) fn is_of_one(&self) -> bool {
        self.other.is_none() && self.different.is_none()
    }

    pub(super) fn kind(&self) -> Kind {
        self.one.origin.kind()
    }

    /// Adds the accesses of another record of the same instruction. Blocks of a unit differ in `ranks` bits.
    pub(super) fn join(&mut self, other: &Record, ranks: u32) {
        let mut with = *other;
        if with.one < self.one {
            std::mem::swap(self, &mut with);
        }
        if self.one.block >> ranks == with.one.block >> ranks {
            self.varied = self.varied.or(if self.value == with.value { with.varied } else { with.one });
            self.other = self.other.or(with.other);
            self.different = self.different.or(with.different);
        } else {
            self.other = self.other.or(with.one);
            let same = with.varied.or(with.different);
            self.different = self.different.or(if self.value == with.value { same } else { with.one });
        }
        if !self.varied.is_none() {
            self.different = self.other;
        }
    }

    /// Whether a further access by the same instruction, which writes no value, leaves the record as it is.
    #[inline(always)]
    pub(super) fn covers(&self, slot: Slot, ranks: u32) -> bool {
        let has_other = !self.other.is_none() && self.other <= slot;
        self.kind() != Kind::Write && self.one <= slot && (self.one.block >> ranks == slot.block >> ranks || has_other)
    }

    /// Returns a conflict of two units within the record.
    pub(super) fn conflict(&self) -> Option<[Slot; 2]> {
        (self.kind() == Kind::Write && !self.different.is_none()).then_some([self.one, self.different])
    }

    /// Returns the smallest conflict of two units between two records.
    pub(super) fn conflict_with(&self, with: &Record, ranks: u32) -> Option<[Slot; 2]> {
        if !self.kind().conflicts(with.kind()) {
            return None;
        }
        let writes = self.kind() == Kind::Write && with.kind() == Kind::Write;
        let differ = !writes || self.value != with.value;
        let varied = !self.varied.is_none() || !with.varied.is_none();
        // Of a record with several values, it is not known which block wrote which one. It conflicts with itself.
        let others = |record: &Record| match (writes, differ || varied) {
            (false, _) => record.other,
            (_, false) => record.different,
            (_, true) if record.different.is_none() => record.other,
            _ => Slot::default(),
        };
        let pairs = [
            if differ { [self.one, with.one] } else { [self.varied, with.one] },
            if differ { Default::default() } else { [self.one, with.varied] },
            [self.one, others(with)],
            [others(self), with.one],
        ];
        let apart = |pair: &[Slot; 2]| {
            !pair[0].is_none() && !pair[1].is_none() && pair[0].block >> ranks != pair[1].block >> ranks
        };
        pairs.into_iter().filter(apart).min_by_key(|pair| {
            let mut sorted = *pair;
            sorted.sort_unstable();
            sorted
        })
    }
}
