//! The phases of a barrier object (`mbarrier`).
//!
//! An arrival with release semantics releases to the threads that wait for the phase in which it arrives. A wait that finds a phase
//! complete acquires from the arrivals of that phase and of those before it, and from no arrival of the running phase. PTX manual:
//! [mbarrier.test_wait](https://docs.nvidia.com/cuda/parallel-thread-execution/#parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait).

use super::clusters::Clusters;
use super::records::Records;
use super::threads::SCOPES;
use super::times::Times;

/// The part of an operation in the phases of a barrier object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// An operation that counts arrivals or bytes; `ends` if it completes the phase.
    Counts { ends: bool },
    /// The start of a copy that will arrive at the object.
    Names,
    /// A wait; `complete` if it finds its phase complete.
    Waits { complete: bool },
}

/// The views that the arrivals at a barrier object have released.
#[derive(Clone, Default)]
pub(super) struct Phases {
    /// In the running phase.
    running: Records,
    /// In the completed phases.
    complete: Records,
}

impl Phases {
    /// Adds what a thread of `block` releases by an arrival.
    pub(super) fn arrive(&mut self, block: u32, scope: usize, released: &Times) {
        self.running.add(block, scope, released);
    }

    /// Completes the running phase.
    pub(super) fn end(&mut self) {
        self.complete.join(std::mem::take(&mut self.running));
    }

    /// The views that a thread of `block` acquires by a wait, by the least scope that the wait needs.
    pub(super) fn observe(&self, block: u32, clusters: &Clusters) -> [Times; SCOPES] {
        self.complete.observe(block, clusters)
    }
}
