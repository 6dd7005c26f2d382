//! The shadow memory's view of an operation: the conflicts of its accesses, and those that memory has ordered.

use super::shadow::{LISTED, ROWS};
use super::values::Touches;
use super::*;

/// The conflicts of the accesses of an operation, by the shadow memory.
#[derive(Default)]
pub(super) struct Observed {
    /// The conflicts of accesses of one kind.
    pub races: Vec<(Vec<Conflict>, AccessKind)>,
    /// Bytes that are read and were never written.
    pub unwritten: Vec<(u64, u64)>,
    /// Accesses to memory that was freed or never allocated.
    pub stray: Vec<(Region, AccessKind)>,
}

impl Observed {
    /// Enters an operation into the shadow memory, with the accesses of its effect. A free is entered by [`Shadow::release`] alone.
    pub(super) fn of(
        shadow: &mut Shadow,
        (effect, accesses): (&Effect, &[Touches]),
        by: &Observer<'_>,
        reads: &Reads<'_>,
    ) -> Observed {
        let mut observed = Observed::default();
        match effect {
            Effect::Unknown | Effect::Free { .. } => {}
            Effect::Fill(region) => observed.access(shadow, region, AccessKind::Write, by),
            Effect::Copy { from, to, exact } => {
                let mut holes = Vec::new();
                if let Some(from) = from {
                    if *exact {
                        observed.unwritten.extend(shadow.unwritten_of(from, true));
                    } else {
                        holes = shadow.holes(from);
                    }
                    observed.access(shadow, from, AccessKind::Read, by);
                }
                observed.access(shadow, to, AccessKind::Write, by);
                shadow.unwrite(to, &holes);
            }
            Effect::Touches(_) | Effect::Ran { .. } | Effect::HostAccess(..) => {
                observed.run(shadow, (effect, accesses), by, reads);
            }
            Effect::Allocate { block, written, ordered } => {
                shadow.create(block.address, block.end(), *written, ordered.then_some(by));
                block.same.iter().for_each(|other| shadow.unify(block.address, block.end(), *other));
            }
            Effect::Load { blocks } => {
                blocks.iter().for_each(|block| shadow.create(block.address, block.end(), true, None));
            }
            Effect::Unload { blocks } => {
                // The driver waits for the work that uses a module before it unloads the module.
                for block in blocks {
                    shadow.release(block.address, block.end(), by);
                }
            }
        }
        observed
    }

    fn access(&mut self, shadow: &mut Shadow, region: &Region, access: AccessKind, by: &Observer<'_>) {
        self.races.push((shadow.access(region, access, by), access));
    }

    /// Enters the accesses of code.
    fn run(
        &mut self,
        shadow: &mut Shadow,
        (effect, accesses): (&Effect, &[Touches]),
        by: &Observer<'_>,
        reads: &Reads<'_>,
    ) {
        if let Effect::Ran { updated, .. } = effect {
            for near in reads.near(updated, |region| region) {
                if shadow.has_unwritten(near[0].start(), near[near.len() - 1].end()) {
                    self.unwritten.extend(near.iter().filter_map(|region| reads.unwritten_of_update(shadow, region)));
                }
            }
        }
        for alike in accesses.chunk_by(|one, next| (one.1, one.2) == (next.1, next.2)) {
            for near in reads.near(alike, |(region, ..)| region) {
                match near.len() as u64 > ROWS && shadow.holds(near[0].0.start()) {
                    true => self.touch_together(shadow, near, by, reads),
                    false => near.iter().for_each(|touch| self.touch(shadow, touch, by, reads)),
                }
            }
        }
    }

    /// Enters many accesses of one kind to one allocation.
    fn touch_together(&mut self, shadow: &mut Shadow, touches: &[Touches], by: &Observer<'_>, reads: &Reads<'_>) {
        let (ref first, access, manner) = touches[0];
        let end = touches[touches.len() - 1].0.end();
        if access == AccessKind::Read && shadow.has_unwritten(first.start(), end) {
            self.unwritten.extend(touches.iter().filter_map(|(region, ..)| reads.unwritten(shadow, region)));
        }
        let by = Observer { manner, ..*by };
        let mut ranges = Vec::new();
        // A few long boxes are stored as boxes, and so are those with very many rows.
        let is_long = |region: &Region| region.row_count() > ROWS;
        let long = touches.iter().filter(|(region, ..)| is_long(region)).map(|(region, ..)| region.row_count());
        let few = long.clone().count() as u64 <= ROWS || long.fold(0, u64::saturating_add) > LISTED;
        for (region, ..) in touches {
            match few && is_long(region) {
                true => self.access(shadow, region, access, &by),
                false => ranges.extend(region.rows()),
            }
        }
        if !ranges.is_empty() {
            self.access(shadow, &Region::listed(ranges.into()), access, &by);
        }
    }

    fn touch(&mut self, shadow: &mut Shadow, touch: &Touches, by: &Observer<'_>, reads: &Reads<'_>) {
        let (ref region, access, manner) = *touch;
        if !shadow.holds(region.start()) && !shadow.admits(region.start()) {
            self.stray.push((region.clone(), access));
        } else if access == AccessKind::Read {
            self.unwritten.extend(reads.unwritten(shadow, region));
        }
        self.access(shadow, region, access, &Observer { manner, ..*by });
    }
}

/// The operations with which an operation has synchronized through memory.
pub(super) struct Meetings<'a> {
    pub met: &'a [Met],
    pub operation: &'a Arc<Operation>,
    /// The lane and the time of the operation.
    pub at: (LaneNumber, u64),
    pub retired: &'a Retired,
}

impl Meetings<'_> {
    /// The conflicts that memory has not ordered.
    pub(super) fn unordered(&self, conflicts: Vec<Conflict>) -> impl Iterator<Item = Conflict> {
        conflicts.into_iter().filter(|conflict| !self.orders(conflict))
    }

    /// The conflicts that memory has not ordered, one for each access of another operation.
    pub(super) fn widened(&self, conflicts: Vec<Conflict>) -> Vec<Conflict> {
        let mut widened: Vec<Conflict> = Vec::new();
        for conflict in self.unordered(conflicts) {
            let same = |known: &&mut Conflict| known.is_of(&conflict.other, conflict.access);
            match widened.iter_mut().find(same) {
                Some(known) => known.widen(conflict.start, conflict.end),
                None => widened.push(conflict),
            }
        }
        widened
    }

    fn orders(&self, conflict: &Conflict) -> bool {
        let Conflict { other, at, theirs, own, .. } = conflict;
        let of_it = self.met.iter().filter(|met| Arc::ptr_eq(&met.record.operation, other));
        let has_host = theirs.strength == Strength::Host || own.strength == Strength::Host;
        let host =
            |forward: bool| has_host && of_it.clone().any(|met| if forward { met.forward } else { met.backward });
        let knows = |knowing: &Arc<Operation>, of: &Arc<Operation>, at: (LaneNumber, u64), released: bool| {
            knowing.heard.get().is_some_and(|heard| heard.holds(of.ordinal, at, released, self.retired))
        };
        own.acquired && (knows(self.operation, other, *at, theirs.released) || theirs.released && host(true))
            || theirs.acquired && knows(other, self.operation, self.at, own.released)
            || theirs.acquired && own.released && host(false)
    }
}
