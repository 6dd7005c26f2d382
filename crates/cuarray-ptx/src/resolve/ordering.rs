//! The order and scope of accesses, and the notes that the searches for races need about them.
//!
//! PTX manual: [memory consistency model](https://docs.nvidia.com/cuda/parallel-thread-execution/#memory-consistency-model).

use super::atomic_operation::Ordering;
use super::builder::Builder;
use super::operand::Modifiers;
use crate::machine::Strength;
use crate::machine::access_mode::Scope;

impl<'a> Builder<'_, 'a> {
    /// Takes the order and scope.
    pub(super) fn ordering(&mut self, words: &mut Modifiers<'a>) -> Ordering {
        let releases = words.one_of(&["release", "acq_rel", "seq_cst"]);
        // A volatile access is a relaxed one of the whole system.
        let volatile = words.one_of(&["volatile", "mmio"]).is_some();
        let order = words.one_of(&["relaxed", "acquire"]);
        let strong = order.is_some() || releases.is_some() || volatile;
        words.take("weak");
        words.take("mmio");
        let (strength, scope) = match words.one_of(&["sys", "gpu", "cluster", "cta"]) {
            _ if volatile => (Strength::System, Scope::System),
            Some(0) => (Strength::System, Scope::System),
            Some(1) | None => (Strength::Device, Scope::Device),
            Some(2) => (Strength::Weak, Scope::Cluster),
            Some(_) => (Strength::Weak, Scope::Block),
        };
        let acquires = order == Some(1) || releases.is_some_and(|order| order > 0);
        Ordering { strong, releases: releases.is_some(), acquires, scope, strength }
    }

    /// Notes that an access releases or acquires for threads of other launches.
    pub(super) fn note_ordering(&mut self, releases: bool, acquires: bool, strength: Strength) {
        if strength != Strength::Weak {
            let built = self.built();
            built.publishes |= releases;
            built.observes |= acquires;
        }
    }

    /// Notes an atomic operation, for the choice of the search for races.
    pub(super) fn note_hand_over(&mut self, shared: bool, ordering: &Ordering, has_result: bool) {
        let narrow = !shared && ordering.scope < Scope::Device;
        let hand_over = &mut self.built().hand_over;
        hand_over.strong |= narrow || ordering.acquires || ordering.releases;
        hand_over.results |= has_result;
    }

    /// Notes an atomic operation in global memory.
    pub(super) fn note_atomic(&mut self, releases: bool, has_result: bool, strength: Strength) {
        self.built().publishes_to_host |= strength == Strength::System;
        self.note_ordering(releases, has_result, strength);
    }
}
