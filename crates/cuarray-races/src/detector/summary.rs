//! The report: the findings and the history as plain data.

use super::finding_list::{Again, Findings, Found, Party};
use super::operation::Operation;
use super::{Block, Detector, missing_edge};
use crate::advice::Advice;
use crate::finding::{self, AccessKind, Finding, Kind, LaneKind, Object, Range, Report, Side};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The lanes of a report, numbered in the order in which they are asked for.
#[derive(Default)]
struct Lanes {
    numbers: BTreeMap<(u32, u64), u32>,
    lanes: Vec<finding::Lane>,
}

impl Lanes {
    fn number(&mut self, detector: &Detector, operation: &Operation) -> u32 {
        let info = detector.lanes.get(operation.lane as usize);
        let kind = info.map_or(LaneKind::Host, |info| info.kind);
        // Host threads may share a lane for the ordering; a reader wants to see each.
        let thread = if kind == LaneKind::Host { operation.caller.thread } else { 0 };
        let next = self.lanes.len() as u32;
        *self.numbers.entry((operation.lane, thread)).or_insert_with(|| {
            let handle = if kind == LaneKind::Host { thread } else { info.map_or(0, |info| info.handle) };
            let name = missing_edge::lane(detector, operation);
            self.lanes.push(finding::Lane {
                number: next,
                kind,
                handle,
                device: info.and_then(|info| info.device),
                name,
                made: info.and_then(|info| info.made.as_ref()).map(|made| made.caller.site.clone()),
                variable: None,
            });
            next
        })
    }
}

impl Detector {
    /// The findings so far, with the history. With `leaks`, live allocations and handles are findings too; those are not
    /// remembered, since they may yet be released.
    pub fn report(&self, leaks: bool) -> Report {
        self.report_with(self.history.iter(), leaks)
    }

    /// Like [`report`](Detector::report), without the operations that no finding is about.
    pub fn report_findings(&self, leaks: bool) -> Report {
        self.report_with(std::iter::empty(), leaks)
    }

    fn report_with<'a>(&'a self, history: impl Iterator<Item = &'a Arc<Operation>>, leaks: bool) -> Report {
        let mut lanes = Lanes::default();
        let mut operations: BTreeMap<u64, &Arc<Operation>> =
            history.map(|operation| (operation.ordinal, operation)).collect();
        let leaked = if leaks { self.leaks() } else { Vec::new() };
        let found = || self.findings.all.iter().chain(&leaked);
        for party in found().flat_map(|(found, _)| &found.parties) {
            operations.insert(party.operation.ordinal, &party.operation);
        }
        let operation = |lanes: &mut Lanes, operation: &Operation| finding::Operation {
            ordinal: operation.ordinal,
            lane: lanes.number(self, operation),
            call: operation.caller.call,
            detail: operation.caller.detail.as_deref().map(str::to_owned),
            site: operation.caller.site.clone(),
            after: operation.after.to_vec(),
            orders: operation.caller.orders,
            accesses: operation.accesses.get().map_or_else(Vec::new, |accesses| accesses.to_vec()),
        };
        let operations: Vec<finding::Operation> = operations.values().map(|each| operation(&mut lanes, each)).collect();
        let side = |lanes: &mut Lanes, party: &Party| Side {
            call: party.operation.caller.call,
            detail: party.operation.caller.detail.as_deref().map(str::to_owned),
            access: party.access,
            lane: lanes.number(self, &party.operation),
            bytes: party.bytes,
            site: party.operation.caller.site.clone(),
            place: party.place.clone(),
            graph: party.operation.caller.graph.clone(),
            ordinal: party.operation.ordinal,
        };
        let findings = found().zip(1..).map(|((found, again), number)| Finding {
            number,
            kind: found.kind,
            fingerprint: String::new(),
            bytes: found.bytes,
            offset: offset(found),
            allocation: found.block.as_deref().and_then(allocation),
            more_allocations: again.more(found.block.as_ref()).filter_map(|block| allocation(block)).collect(),
            variable: found.variable.clone(),
            object: found.object.clone(),
            sides: found.parties.iter().map(|party| side(&mut lanes, party)).collect(),
            missing: found.missing.clone(),
            count: again.count,
            allocations: again.blocks.len() as u64,
        });
        let findings = findings.collect();
        let forgotten = self.operations.saturating_sub(operations.len() as u64);
        Report {
            findings,
            not_kept: self.findings.not_kept,
            suppressed: Vec::new(),
            recorded_by: String::new(),
            lanes: lanes.lanes,
            operations,
            forgotten,
            watched: self.watched(),
        }
    }

    /// The live allocations and handles. Objects made by calls from the same site are one finding.
    fn leaks(&self) -> Vec<(Found, Again)> {
        let mut leaks = Findings::default();
        for block in self.blocks.live() {
            let Some(made) = block.made().filter(|_| block.variable.is_none()) else { continue };
            let bytes = Range { address: block.address, length: block.size };
            let party = Party::of(made, AccessKind::Create, Some(bytes));
            leaks.add(Found {
                kind: Kind::Leak,
                bytes: Some(bytes),
                block: Some(block.clone()),
                variable: None,
                object: None,
                parties: vec![party],
                missing: Some(Advice::ReleaseAtEnd.to_string()),
                width: 0,
            });
        }
        for (handle, kind, made) in self.handles.live() {
            leaks.add(Found {
                kind: Kind::Leak,
                bytes: None,
                block: None,
                variable: None,
                object: Some(Object { kind, handle }),
                parties: vec![Party::naming(made, AccessKind::Create)],
                missing: Some(Advice::DestroyAtEnd { kind }.to_string()),
                width: 0,
            });
        }
        leaks.all
    }
}

fn offset(found: &Found) -> Option<u64> {
    let (bytes, block) = (found.bytes?, found.block.as_ref().filter(|block| block.variable.is_none())?);
    bytes.address.checked_sub(block.address)
}

fn allocation(block: &Block) -> Option<finding::Allocation> {
    let made = block.made().filter(|_| block.variable.is_none())?;
    let Block { address, size, kind, device, .. } = *block;
    let (call, site, ordinal) = (made.caller.call, made.caller.site.clone(), made.ordinal);
    Some(finding::Allocation { address, size, kind, device, call, site, ordinal })
}
