//! Undefined values of launches that follow them: the bytes that nothing has written when a launch runs, and those that it leaves undefined.

use super::Detector;
use super::allocations::{Block, Blocks};
use super::effect::Effect;
use super::operation::Ticket;
use super::region::{Manner, Region};
use super::shadow::Shadow;
use crate::finding::AccessKind;
use std::sync::OnceLock;

/// The undefined values that a launch has followed.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// The bytes that the launch has written with undefined values. They count as unwritten afterwards.
    pub undefined: Vec<(u64, u64)>,
    /// The unwritten bytes that instructions have read that do not follow undefined values.
    pub read: Vec<(u64, u64)>,
}

/// The memory that nothing has written before an operation, in the order of the calls.
pub struct Unwritten<'a> {
    detector: &'a Detector,
    ordinal: u64,
    /// The ranges that operations before it write which have not been examined yet.
    waiting: OnceLock<Vec<(u64, u64)>>,
}

impl Unwritten<'_> {
    /// The unwritten parts of a range.
    pub fn parts(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut parts = self.detector.shadow.unwritten(start, end);
        if parts.is_empty() {
            return parts;
        }
        let waiting = self.waiting.get_or_init(|| {
            let effects = self.detector.queue.before(self.ordinal).map(|entry| &entry.effect);
            effects.flat_map(written).collect()
        });
        for (first, behind) in waiting.iter().filter(|(first, behind)| *first < end && start < *behind) {
            let without = |(from, to): (u64, u64)| [(from, to.min(*first)), (from.max(*behind), to)];
            parts = parts.into_iter().flat_map(without).filter(|(from, to)| from < to).collect();
        }
        parts
    }
}

/// The ranges that an effect writes.
fn written(effect: &Effect) -> Vec<(u64, u64)> {
    let mut regions: Vec<Region> = effect.touches().into_iter().filter(writes).map(|(region, _)| region).collect();
    if let Effect::Ran { strong, .. } = effect {
        let strong = strong.iter().filter(|(_, access, _)| *access == AccessKind::Write);
        regions.extend(strong.map(|(region, ..)| region.clone()));
    }
    regions.iter().flat_map(Region::rows).collect()
}

fn writes((_, access): &(Region, AccessKind)) -> bool {
    *access == AccessKind::Write
}

impl Detector {
    /// The memory that nothing has written before an operation.
    pub fn unwritten_before(&self, ticket: &Ticket) -> Unwritten<'_> {
        Unwritten { detector: self, ordinal: ticket.operation.ordinal, waiting: OnceLock::new() }
    }

    /// Stores the undefined values that a launch has followed, until the launch is examined.
    pub fn values_followed(&mut self, ticket: &Ticket, values: Values) {
        self.values.insert(ticket.operation.ordinal, values);
    }

    /// The unwritten bytes that a launch that follows undefined values has read and written, although nothing had written any byte of
    /// their allocation: there is nothing to copy. `touches` are its accesses, `updated` the bytes that it has read first.
    pub(super) fn unwritten_updates(&self, touches: &[Touches], updated: &[Region]) -> Vec<(u64, u64)> {
        let bytes = |regions: &mut dyn Iterator<Item = &Region>, block: &Block| -> u64 {
            let rows = regions.flat_map(Region::rows);
            rows.filter(|(start, _)| (block.address..block.end()).contains(start)).map(|(start, end)| end - start).sum()
        };
        let counts = |block: &Block| {
            let mut written = touches.iter().filter(|touch| touch.1 == AccessKind::Write).map(|touch| &touch.0);
            self.is_wholly_unwritten(block) && bytes(&mut updated.iter(), block) >= bytes(&mut written, block)
        };
        // The regions of an allocation follow each other.
        let (mut found, mut last): (_, Option<(&Block, bool)>) = (Vec::new(), None);
        for region in updated {
            let known = last.filter(|(block, _)| (block.address..block.end()).contains(&region.start()));
            let Some((block, counted)) = known.or_else(|| {
                let block = self.blocks.at(region.start())?;
                Some((&**block, counts(block)))
            }) else {
                continue;
            };
            last = Some((block, counted));
            if counted {
                found.push((region.start(), region.end()));
            }
        }
        found
    }

    fn is_wholly_unwritten(&self, block: &Block) -> bool {
        self.shadow.is_unwritten(block.address, block.end())
    }
}

/// An access of work that has run.
pub(super) type Touches = (Region, AccessKind, Manner);

impl Values {
    /// The unwritten bytes among those that the launch has read without following them.
    pub(super) fn still_unwritten(&self, shadow: &Shadow) -> Option<(u64, u64)> {
        let parts = self.read.iter().flat_map(|(start, end)| shadow.unwritten(*start, *end));
        parts.reduce(|(start, end), (first, behind)| (start.min(first), end.max(behind)))
    }
}

/// The rule by which reads of unwritten bytes are findings.
pub(super) struct Reads<'a> {
    /// Set for a launch that has followed undefined values.
    pub values: Option<&'a Values>,
    pub blocks: &'a Blocks,
}

impl Reads<'_> {
    /// The parts of a list whose accesses are in one allocation, each behind the one before.
    pub(super) fn near<'l, T>(
        &self,
        mut list: &'l [T],
        region: impl Fn(&T) -> &Region + Copy,
    ) -> impl Iterator<Item = &'l [T]> {
        std::iter::from_fn(move || {
            let first = region(list.first()?);
            let count = self.blocks.at(first.start()).map_or(1, |block| {
                let mut behind = block.address;
                let is_near = |next: &&T| {
                    let next = region(next);
                    let near = behind <= next.start() && next.end() <= block.end();
                    behind = next.end();
                    near
                };
                list.iter().take_while(is_near).count().max(1)
            });
            list.split_off(..count)
        })
    }

    /// The unwritten bytes of a read. Those of a launch that has followed undefined values count if nothing was written to their
    /// allocation.
    pub(super) fn unwritten(&self, shadow: &Shadow, region: &Region) -> Option<(u64, u64)> {
        if self.values.is_none() {
            return shadow.unwritten_of(region, false);
        }
        let block = self.blocks.at(region.start())?;
        shadow.is_unwritten(block.address, block.end()).then_some((region.start(), region.end()))
    }

    /// The unwritten bytes of an update that [`Detector::unwritten_updates`] leaves out.
    pub(super) fn unwritten_of_update(&self, shadow: &Shadow, region: &Region) -> Option<(u64, u64)> {
        if self.values.is_some() { None } else { shadow.unwritten_of(region, false) }
    }
}
