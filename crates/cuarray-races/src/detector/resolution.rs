//! Work whose accesses are known once it has run.

use super::effect::Effect;
use super::operation::{Heard, Ticket};
use super::region::{Manner, Region, Strength, Touch, Touched};
use super::{Detector, Fences};
use crate::finding::AccessKind;
use std::sync::Arc;

/// The accesses of work that has run: plain ones, strong ones, and written bytes that it had read before.
#[derive(Default)]
pub(super) struct Parted {
    pub touches: Vec<(Region, AccessKind)>,
    pub strong: Vec<(Region, AccessKind, Manner)>,
    pub updated: Vec<Region>,
}

impl Parted {
    pub(super) fn accesses(&self) -> impl Iterator<Item = (&Region, AccessKind)> {
        self.for_host(true)
    }

    /// The accesses that a host access can race or synchronize with.
    pub(super) fn for_host(&self, publishes: bool) -> impl Iterator<Item = (&Region, AccessKind)> {
        let strong = self.strong.iter().filter(move |(.., manner)| publishes || manner.strength != Strength::System);
        let strong = strong.map(|(region, access, _)| (region, *access));
        self.touches.iter().map(|(region, access)| (region, *access)).chain(strong)
    }

    pub(super) fn effect(self) -> Effect {
        Effect::Ran { touches: self.touches, strong: self.strong, updated: self.updated }
    }
}

impl Detector {
    /// The accesses of an operation with an [unknown](Effect::Unknown) effect, after it has run.
    pub fn resolve(&mut self, ticket: &Ticket, touched: &[Touched]) {
        self.resolve_dependent(ticket, [&[], touched], false);
    }

    /// As [`Detector::resolve`], with the accesses of a [dependent](Detector::issue_dependent) operation before its wait and behind it. Returns
    /// them as boxes if they are asked for, without those that no host access can race or synchronize with.
    pub fn resolve_dependent(
        &mut self,
        ticket: &Ticket,
        parts: [&[Touched]; 2],
        for_host: bool,
    ) -> Vec<(Region, AccessKind)> {
        let ([before_wait, effect], for_host) = self.resolved(ticket, parts, for_host);
        self.queue.resolve(ticket.operation.ordinal, effect, before_wait);
        self.examine_known();
        for_host
    }

    /// The effects of both parts of an operation that has run, and its accesses as [`Detector::resolve_dependent`] returns
    /// them.
    pub(super) fn resolved(
        &mut self,
        ticket: &Ticket,
        parts: [&[Touched]; 2],
        for_host: bool,
    ) -> ([Effect; 2], Vec<(Region, AccessKind)>) {
        let parts = parts.map(|touched| self.parted(touched));
        self.hand_on(ticket, &parts);
        let all = parts.iter().flat_map(Parted::accesses);
        let _ = ticket.operation.accesses.set(self.hulls(all));
        // A host read of bytes that the work publishes makes the host acquire.
        let publishes = ticket.operation.fences().releases == Strength::System;
        let asked = parts.iter().filter(|_| for_host);
        let for_host = asked.flat_map(|part| part.for_host(publishes));
        let for_host = for_host.map(|(region, access)| (region.clone(), access)).collect();
        (parts.map(Parted::effect), for_host)
    }

    /// Examines the operations at the front of the queue whose accesses are known.
    pub(super) fn examine_known(&mut self) {
        while let Some(entry) = self.queue.pop() {
            self.examine(entry);
        }
    }

    /// Follows the flags that work has read and written, in the order in which work runs.
    pub(super) fn hand_on(&mut self, ticket: &Ticket, parts: &[Parted]) {
        let Ticket { operation, clock, .. } = ticket;
        let fences = operation.fences();
        if fences == Fences::default() {
            return;
        }
        let device = self.lanes.get(clock.lane as usize).and_then(|lane| lane.device);
        let strong =
            parts.iter().flat_map(|part| &part.strong).filter(|(.., manner)| manner.strength != Strength::Weak);
        let all: Vec<&Region> = strong.clone().map(|(region, ..)| region).collect();
        let heard = self.flags.heard(&all, operation, device, &self.retired);
        if fences.releases != Strength::Weak {
            let told = Arc::new(Heard::of(operation.ordinal, clock, heard.as_ref(), &self.retired));
            let writes = strong.filter(|(_, access, _)| *access == AccessKind::Write).map(|(region, ..)| region);
            let writes: Vec<Region> = writes.flat_map(|region| self.shadow.everywhere(region)).collect();
            self.flags.tell(&writes, operation, device, &told, &self.retired);
        }
        if let Some(heard) = heard {
            let _ = operation.heard.set(heard);
        }
    }

    /// The accesses of work that has run, as boxes. None reaches beyond an allocation.
    pub(super) fn parted(&self, touched: &[Touched]) -> Parted {
        let mut parted = Parted::default();
        let mut add = |region, touch, manner| {
            let access = if touch == Touch::Read { AccessKind::Read } else { AccessKind::Write };
            match touch {
                Touch::Update => parted.updated.push(region),
                _ if manner == Manner::default() => parted.touches.push((region, access)),
                _ => parted.strong.push((region, access, manner)),
            }
        };
        let is_beyond = |region: &Region| {
            region.row_count() > 1 && self.blocks.at(region.start()).is_none_or(|block| block.end() < region.end())
        };
        for Touched { region, touch, manner } in touched {
            match is_beyond(region) {
                true => region.rows().for_each(|(start, end)| add(Region::row(start, end - start), *touch, *manner)),
                false => add(region.clone(), *touch, *manner),
            }
        }
        parted
    }
}
