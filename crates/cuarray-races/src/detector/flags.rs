//! Flags in memory: which releases the strong writes to each byte have told of.
//!
//! Work that is unordered by calls may order itself: one launch writes data, releases, and sets a flag; another one reads the
//! flag, acquires, and reads the data. The order in which the two *ran* decides which one observes the other, so flags are
//! followed in that order, and accesses are compared later in the order of the calls.

use super::clock::Retired;
use super::operation::{Heard, Operation};
use super::region::{Region, Strength};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The releases that strong writes to some bytes have told of.
#[derive(Clone)]
struct Told {
    strength: Strength,
    device: Option<i32>,
    heard: Arc<Heard>,
}

/// The flags: by first address, the address after the last, and the releases.
#[derive(Default)]
pub(super) struct Flags {
    flags: BTreeMap<u64, (u64, Vec<Told>)>,
}

impl Flags {
    /// The knowledge that an operation of a device gains by strong accesses, if its widest acquire includes the releases.
    pub(super) fn heard(
        &self,
        regions: &[&Region],
        operation: &Operation,
        device: Option<i32>,
        retired: &Retired,
    ) -> Option<Heard> {
        let acquires = operation.fences().acquires;
        let mut all: Option<Heard> = None;
        if acquires == Strength::Weak || self.flags.is_empty() {
            return None;
        }
        let mut seen: Vec<Arc<Heard>> = Vec::new();
        for (start, end) in regions.iter().flat_map(|region| region.rows()) {
            let first = self.flags.range(..=start).next_back().map_or(start, |(key, _)| *key);
            let met = self.flags.range(first..end).filter(|(_, (behind, _))| *behind > start);
            for told in met.flat_map(|(_, (_, told))| told) {
                let narrowest = if told.device == device { Strength::Device } else { Strength::System };
                let included = told.strength >= narrowest && acquires >= narrowest;
                if included && !seen.iter().any(|heard| Arc::ptr_eq(heard, &told.heard)) {
                    seen.push(told.heard.clone());
                    match all.as_mut() {
                        Some(all) => all.join(&told.heard, retired),
                        None => all = Some(Heard::clone(&told.heard)),
                    }
                }
            }
        }
        all
    }

    /// Records strong writes of an operation that releases.
    pub(super) fn tell(
        &mut self,
        regions: &[Region],
        operation: &Operation,
        device: Option<i32>,
        heard: &Arc<Heard>,
        retired: &Retired,
    ) {
        let strength = operation.fences().releases;
        for (start, end) in regions.iter().flat_map(|region| region.rows()) {
            self.cover(start, end);
            for (_, told) in self.flags.range_mut(start..end).map(|(_, flag)| flag) {
                match told.iter_mut().find(|told| (told.strength, told.device) == (strength, device)) {
                    // A later atomic operation continues the release of an earlier one, so both are known.
                    Some(told) if !Arc::ptr_eq(&told.heard, heard) => {
                        let mut all = Heard::clone(&told.heard);
                        all.join(heard, retired);
                        told.heard = Arc::new(all);
                    }
                    Some(_) => {}
                    None => told.push(Told { strength, device, heard: heard.clone() }),
                }
            }
        }
    }

    /// Forgets the flags in memory that is allocated anew.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        if !self.flags.is_empty() {
            self.split(start);
            self.split(end);
            self.flags.retain(|key, _| !(start..end).contains(key));
        }
    }

    fn split(&mut self, at: u64) {
        let before = self.flags.range_mut(..at).next_back();
        if let Some((_, flag)) = before.filter(|(_, (end, _))| *end > at) {
            let behind = (flag.0, flag.1.clone());
            flag.0 = at;
            self.flags.insert(at, behind);
        }
    }

    /// Makes flags begin and end at both ends of `start..end`, and fills the gaps.
    fn cover(&mut self, start: u64, end: u64) {
        self.split(start);
        self.split(end);
        let held: Vec<(u64, u64)> = self.flags.range(start..end).map(|(key, (behind, _))| (*key, *behind)).collect();
        let mut at = start;
        for (first, behind) in held {
            if at < first {
                self.flags.insert(at, (first, Vec::new()));
            }
            at = behind;
        }
        if at < end {
            self.flags.insert(at, (end, Vec::new()));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::finding::{Kind, LaneKind};
    use crate::{Block, Caller, Detector, Effect, Fences, HostThreads, Manner, Strength, Touch, Touched};

    const DATA: (u64, u64) = (0, 4);
    const FLAG: (u64, u64) = (32, 36);

    fn touched((start, end): (u64, u64), touch: Touch, manner: Manner) -> Touched {
        Touched { manner, ..Touched::new(start, end, touch) }
    }

    /// Two launches on devices: one passes data to the other, with a release and an acquire of these strengths. The
    /// producer runs first. Returns the kinds of findings.
    fn pass(devices: [i32; 2], [releases, acquires]: [Strength; 2], consumer_first: bool) -> Vec<Kind> {
        let mut detector = Detector::new(HostThreads::InOrderOfCalls);
        let caller = || Caller::new(1, "launch");
        let mut lanes =
            [0, 1].map(|index| detector.new_lane(LaneKind::NonBlocking, index + 1, Some(devices[index as usize])));
        detector.allocate(caller(), Block::new(0, 64, "device", 0), true);
        let mut tickets = [None, None];
        for index in if consumer_first { [1, 0] } else { [0, 1] } {
            tickets[index] = Some(detector.issue(&mut lanes[index], caller(), Effect::Unknown));
        }
        let [Some(producer), Some(consumer)] = tickets else { unreachable!() };
        let flag = Manner { strength: Strength::System, ..Manner::default() };
        let data = Manner { released: releases != Strength::Weak, ..Manner::default() };
        detector.synchronizes(&producer, Fences { releases, acquires: Strength::Weak });
        detector.resolve(&producer, &[touched(DATA, Touch::Write, data), touched(FLAG, Touch::Write, flag)]);
        let data = Manner { acquired: acquires != Strength::Weak, ..Manner::default() };
        detector.synchronizes(&consumer, Fences { releases: Strength::Weak, acquires });
        detector.resolve(&consumer, &[touched(FLAG, Touch::Read, flag), touched(DATA, Touch::Read, data)]);
        detector.report(false).findings.iter().map(|finding| finding.kind).collect()
    }

    #[test]
    fn release_and_acquire_of_the_device_order_its_launches_in_either_order_of_calls() {
        use Strength::{Device, System, Weak};
        for consumer_first in [false, true] {
            let within = |fences| pass([0, 0], fences, consumer_first);
            assert_eq!(within([Device, Device]), []);
            assert_eq!(within([System, Device]), []);
            assert_eq!(within([Weak, Device]), [Kind::DataRace]);
            assert_eq!(within([Device, Weak]), [Kind::DataRace]);
        }
    }

    #[test]
    fn two_devices_need_a_release_and_an_acquire_of_the_system() {
        use Strength::{Device, System};
        let between = |fences| pass([0, 1], fences, false);
        assert_eq!(between([System, System]), []);
        assert_eq!(between([Device, System]), [Kind::DataRace]);
        assert_eq!(between([System, Device]), [Kind::DataRace]);
    }

    #[test]
    fn memory_counts_the_bytes_of_live_allocations() {
        let mut detector = Detector::new(HostThreads::InOrderOfCalls);
        detector.allocate(Caller::new(1, "alloc"), Block::new(64, 1000, "device", 0), true);
        detector.allocate(Caller::new(1, "alloc"), Block::new(4096, 24, "device", 0), true);
        assert_eq!(detector.watched().bytes, 1024);
        detector.free(Caller::new(1, "free"), 64);
        let watched = detector.watched();
        assert_eq!(watched.bytes, 24);
        assert!(watched.memory > 0 && watched.history > 0, "{watched:?}");
        assert_eq!(detector.report(false).watched, watched);
    }
}
