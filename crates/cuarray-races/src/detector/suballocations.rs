//! The parts of allocations that a caching allocator of the program gives out.
//!
//! PyTorch and CuPy keep released memory and give it out again without a call of the driver. They tell of both, so that a race
//! between the work of two tensors names the tensors.

use super::Detector;
use crate::site::Site;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most suballocations at one address that are remembered.
const KEPT: usize = 8;

/// A part of an allocation that the program uses as one array.
#[derive(Clone, Debug)]
pub struct Suballocation {
    /// The allocator: `torch`, `cupy`.
    pub allocator: Arc<str>,
    /// The place that asked for it.
    pub site: Arc<Site>,
    /// The last operation before it was given out.
    made: u64,
    /// The last operation before it was released; `None` before that.
    released: Option<u64>,
}

impl Suballocation {
    /// Whether it was in use when an operation was called.
    fn holds(&self, operation: u64) -> bool {
        self.made < operation && self.released.is_none_or(|released| operation <= released)
    }

    /// Whether both were in use during one operation, so that they share no byte.
    fn is_beside(&self, other: &Suballocation) -> bool {
        let before = |one: &Suballocation, other: &Suballocation| one.released.is_some_and(|end| end <= other.made);
        !before(self, other) && !before(other, self)
    }
}

/// The tensors of two operations on the same bytes.
pub(super) enum Reuse {
    /// One tensor.
    None,
    /// Two: the later one got the bytes of the earlier one, which may be forgotten.
    Of { earlier: Option<Suballocation>, later: Suballocation },
}

/// The suballocations of all allocators, the last ones at each address.
#[derive(Default)]
pub(super) struct Suballocations {
    at: BTreeMap<u64, Vec<Suballocation>>,
}

impl Suballocations {
    /// Forgets those in an allocation that ends or begins.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        while let Some(address) = self.at.range(start..end).next().map(|(address, _)| *address) {
            self.at.remove(&address);
        }
    }

    /// The suballocation that held an address when an operation was called, in an allocation from `start` on.
    ///
    /// PyTorch does not tell sizes, so it is the one that starts last before the address. It ends before any other one that was in use
    /// beside it.
    fn held(&self, (start, address): (u64, u64), operation: u64) -> Option<&Suballocation> {
        let mut nearer: Vec<&Suballocation> = Vec::new();
        for one in self.at.range(start..=address).rev().flat_map(|(_, all)| all.iter().rev()) {
            if one.holds(operation) {
                return nearer.iter().all(|other| !one.is_beside(other)).then_some(one);
            }
            nearer.push(one);
        }
        None
    }

    /// How the bytes at an address, in an allocation from `at.0` on, were reused between two operations; `None` if no allocator has told.
    pub(super) fn reuse(&self, at: (u64, u64), first: u64, second: u64) -> Option<Reuse> {
        let later = self.held(at, second)?;
        if later.made < first {
            return Some(Reuse::None);
        }
        Some(Reuse::Of { earlier: self.held(at, first).cloned(), later: later.clone() })
    }
}

impl Detector {
    /// A caching allocator gives out memory at an address, which it has from the driver.
    pub fn suballocate(&mut self, allocator: Arc<str>, address: u64, site: Arc<Site>) {
        let made = self.operations;
        let all = self.suballocations.at.entry(address).or_default();
        if let Some(last) = all.last_mut() {
            last.released.get_or_insert(made);
        }
        if all.len() == KEPT {
            all.remove(0);
        }
        all.push(Suballocation { allocator, site, made, released: None });
    }

    /// A caching allocator takes memory back.
    pub fn release_suballocation(&mut self, address: u64) {
        let now = self.operations;
        if let Some(last) = self.suballocations.at.get_mut(&address).and_then(|all| all.last_mut()) {
            last.released.get_or_insert(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::LaneKind;
    use crate::site::Frame;
    use crate::{Block, Caller, Effect, HostThreads, Region};

    fn at(line: u32) -> Arc<Site> {
        let user = Some(Frame { file: "/me/a.py".into(), line, function: "f".into() });
        Arc::new(Site { user, library: Some("torch".into()), ..Site::default() })
    }

    /// The advice for two fills of the first 16 bytes, in two streams, with an allocator's actions in front of each.
    fn advice(before: impl Fn(&mut Detector), between: impl Fn(&mut Detector)) -> String {
        let mut detector = Detector::new(HostThreads::InOrderOfCalls);
        let [mut one, mut other] = [1, 2].map(|handle| detector.new_lane(LaneKind::NonBlocking, handle, Some(0)));
        let caller = |line| Caller { site: at(line), ..Caller::new(1, "fill") };
        detector.allocate(caller(1), Block::new(0x1000, 4096, "device", 0), false);
        before(&mut detector);
        detector.issue(&mut one, caller(20), Effect::Fill(Region::row(0x1100, 16)));
        between(&mut detector);
        detector.issue(&mut other, caller(40), Effect::Fill(Region::row(0x1100, 16)));
        let mut report = detector.report(false);
        report.identify();
        report.findings[0].missing.clone().unwrap()
    }

    fn makes(detector: &mut Detector, allocator: &str, address: u64, line: u32) {
        detector.suballocate(allocator.into(), address, at(line));
    }

    #[test]
    fn advice_for_a_reused_tensor_is_record_stream_with_both_lines() {
        let text = advice(
            |detector| makes(detector, "torch", 0x1100, 10),
            |detector| {
                detector.release_suballocation(0x1100);
                makes(detector, "torch", 0x1100, 30);
            },
        );
        assert_eq!(
            text,
            "call record_stream on the tensor made at a.py:10, with stream 1, before its release: its bytes are now those of the tensor \
             made at a.py:30, and PyTorch's allocator does not know that stream 1 still uses them\n\
             keep a reference to the earlier tensor until stream 2 has waited for stream 1 after fill at a.py:20"
        );
    }

    #[test]
    fn advice_for_one_tensor_is_a_wait_alone() {
        let text = advice(|detector| makes(detector, "torch", 0x1000, 10), |_| ());
        assert!(text.contains("wait_stream") && !text.contains("record_stream"), "{text}");
    }

    #[test]
    fn advice_for_a_reused_array_of_another_pool_is_to_keep_it() {
        let reuse = |detector: &mut Detector| {
            detector.release_suballocation(0x1100);
            makes(detector, "cupy", 0x1100, 30);
        };
        let text = advice(|detector| makes(detector, "cupy", 0x1100, 10), reuse);
        assert!(text.starts_with("keep a reference to the array made at a.py:10 until stream 2"), "{text}");
    }

    #[test]
    fn memory_of_a_forgotten_tensor_belongs_to_no_tensor_beside_it() {
        // The bytes were those of a tensor that has ended, and the live one before them does not reach so far.
        let text = advice(
            |detector| {
                makes(detector, "torch", 0x1000, 10);
                makes(detector, "torch", 0x1100, 11);
                detector.host_operation(Caller::new(1, "call"), Effect::none());
                detector.release_suballocation(0x1100);
            },
            |_| (),
        );
        assert!(text.contains("if the later call has a new tensor"), "{text}");
    }
}
