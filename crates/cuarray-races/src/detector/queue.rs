//! Operations in the order of their calls, held back until their accesses are known.
//!
//! Accesses are checked in the order of the calls, so the findings do not depend on the schedule. In that order everything
//! comes after what it depends on. The addresses of copies and fills are known at the call. The addresses of a kernel are
//! known when it has run, and later calls wait in this queue until then.

use super::clock::Clock;
use super::effect::Effect;
use super::operation::Operation;
use std::collections::VecDeque;
use std::sync::Arc;

/// An operation, its clock and its effect.
pub(super) struct Entry {
    /// The ordinal of the operation, or of the operation in which it runs.
    pub place: u64,
    pub operation: Arc<Operation>,
    pub clock: Clock,
    pub effect: Effect,
    /// The part of a dependent operation before its wait.
    pub before_wait: Option<(Clock, Effect)>,
}

/// Entries behind one whose effect is unknown.
#[derive(Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.entries.push_back(entry);
    }

    /// Adds an entry in front of the operation in which it runs.
    pub(super) fn insert(&mut self, entry: Entry) {
        let behind = self.entries.partition_point(|other| other.place <= entry.place);
        self.entries.insert(behind.saturating_sub(1), entry);
    }

    /// Sets the effect of an operation that has run.
    pub(super) fn resolve(&mut self, ordinal: u64, effect: Effect, before_wait: Effect) {
        // The entries that run in an operation lie in front of it.
        let index = self.entries.partition_point(|entry| entry.place <= ordinal).checked_sub(1);
        let found = index.and_then(|index| self.entries.get_mut(index));
        if let Some(entry) = found.filter(|entry| entry.operation.ordinal == ordinal) {
            entry.effect = effect;
            if let Some((_, part)) = &mut entry.before_wait {
                *part = before_wait;
            }
        }
    }

    /// The next entry whose effect is known.
    pub(super) fn pop(&mut self) -> Option<Entry> {
        let known = self.entries.front().is_some_and(|entry| !matches!(entry.effect, Effect::Unknown));
        if known { self.entries.pop_front() } else { None }
    }
}
