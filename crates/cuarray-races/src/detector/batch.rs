//! Operations that one call enqueues without an order among them: the copies of a batch.
//!
//! A lane orders its operations, and a lane for each copy would cost more than the copies. All accesses of a batch are known at
//! the call, so they are compared with each other there.

use super::finding_list::Party;
use super::region::Region;
use super::{Detector, Operation};
use crate::advice::Advice;
use crate::finding::{AccessKind, Kind};
use std::sync::Arc;

/// An access of a batch: the number of its operation in the list, its bytes, and its kind.
type Member<'a> = (usize, &'a Region, AccessKind);

impl Detector {
    /// Reports operations of one call that share bytes which at least one of them writes. Each has its place in the history and
    /// its accesses.
    pub fn unordered_in_call(&mut self, operations: &[(u64, Vec<(Region, AccessKind)>)]) {
        let mut members: Vec<Member<'_>> = Vec::new();
        for (index, (_, touches)) in operations.iter().enumerate() {
            members.extend(touches.iter().map(|(region, access)| (index, region, *access)));
        }
        members.sort_by_key(|(index, region, _)| (region.start(), *index));
        // The accesses that may share bytes with the next one, apart by whether they write.
        let (mut writes, mut reads): (Vec<Member<'_>>, Vec<Member<'_>>) = (Vec::new(), Vec::new());
        for member in members {
            let (index, region, access) = member;
            writes.retain(|(_, other, _)| other.end() > region.start());
            reads.retain(|(_, other, _)| other.end() > region.start());
            let is_write = access != AccessKind::Read;
            let others = writes.iter().chain(reads.iter().filter(|_| is_write));
            let conflict = others.copied().find(|(other, bytes, _)| *other != index && bytes.overlaps(region));
            if let Some(other) = conflict {
                let [first, second] = if other.0 < index { [other, member] } else { [member, other] };
                self.unordered_members([first, second].map(|of| (operations[of.0].0, of)));
            }
            keep(if is_write { &mut writes } else { &mut reads }, member);
        }
    }

    fn unordered_members(&mut self, members: [(u64, Member<'_>); 2]) {
        let [(_, (_, one, _)), (_, (_, other, _))] = members;
        let (start, end) = (one.start().max(other.start()), one.end().min(other.end()));
        let parties = members.map(|(ordinal, (_, _, access))| {
            self.operation_at(ordinal).map(|operation| Party::touching(&operation, access, start, end))
        });
        let parties: Vec<Party> = parties.into_iter().flatten().collect();
        if parties.len() == 2 {
            self.find(Kind::DataRace, Some((start, end)), None, parties, Advice::SplitBatch);
        }
    }

    /// An operation by its place in the history.
    fn operation_at(&self, ordinal: u64) -> Option<Arc<Operation>> {
        let index = self.history.binary_search_by_key(&ordinal, |operation| operation.ordinal).ok()?;
        self.history.get(index).cloned()
    }
}

/// Adds an access to those that later ones are compared with, unless two others contain its later bytes. These two belong to
/// different operations, so a later access is compared with at least one of them.
fn keep<'a>(known: &mut Vec<Member<'a>>, member: Member<'a>) {
    let is_row = |region: &Region| region.row_count() == 1;
    let covers = |(_, other, _): &&Member<'_>| is_row(other) && other.end() >= member.1.end();
    if !is_row(member.1) || known.iter().filter(covers).count() < 2 {
        known.push(member);
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use crate::finding::AccessKind::{Read, Write};

    /// The number of findings about operations of one call with these accesses.
    fn found(operations: &[Vec<(Region, AccessKind)>]) -> u64 {
        let mut detector = Detector::new(HostThreads::InOrderOfCalls);
        let mut lane = detector.new_lane(LaneKind::NonBlocking, 1, Some(0));
        detector.allocate(Caller::new(1, ""), Block::new(0, 1000, "device", 0), true);
        let issued = operations.iter().map(|touches| {
            let ticket = detector.issue(&mut lane, Caller::new(1, "copy"), Effect::Touches(touches.clone()));
            (ticket.operation.ordinal, touches.clone())
        });
        let issued: Vec<_> = issued.collect();
        detector.unordered_in_call(&issued);
        detector.report(false).findings.iter().map(|finding| finding.count).sum()
    }

    fn copy(from: u64, to: u64, length: u64) -> Vec<(Region, AccessKind)> {
        vec![(Region::row(from, length), Read), (Region::row(to, length), Write)]
    }

    #[test]
    fn operations_that_share_written_bytes_are_found() {
        assert_eq!(found(&[copy(0, 100, 10), copy(0, 110, 10), copy(5, 120, 10)]), 0);
        assert_eq!(found(&[copy(0, 100, 10), copy(20, 109, 10)]), 1);
        // One copy reads what another writes, whichever comes first.
        assert_eq!(found(&[copy(0, 100, 10), copy(100, 200, 10)]), 1);
        assert_eq!(found(&[copy(100, 200, 10), copy(0, 100, 10)]), 1);
        assert_eq!(found(&[copy(0, 100, 10), copy(300, 400, 10), copy(20, 105, 1), copy(405, 500, 5)]), 2);
        // A copy does not race with itself here.
        assert_eq!(found(&[copy(0, 5, 10)]), 0);
    }

    #[test]
    fn boxes_beside_each_other_share_no_bytes() {
        let column = |start| {
            let extent = Extent { width: 8, height: 4, depth: 1 };
            vec![(Region::new(start, 64, 0, extent), Write)]
        };
        assert_eq!(found(&[column(0), column(8), column(16)]), 0);
        assert_eq!(found(&[column(0), column(7)]), 1);
    }

    #[test]
    fn each_further_copy_to_one_place_is_found() {
        let copies: Vec<_> = (0..5000).map(|_| copy(0, 100, 8)).collect();
        assert_eq!(found(&copies), 4999);
        // The second copy reads what the first one writes over its own source.
        assert_eq!(found(&[copy(0, 4, 8), copy(0, 100, 8), copy(0, 200, 8)]), 1);
    }
}
