//! Operations in the order of their calls, held back until their accesses are known.
//!
//! Accesses are checked in the order of the calls, so the findings do not depend on the schedule. In that order everything
//! comes after what it depends on. The addresses of copies and fills are known at the call. The addresses of a kernel are
//! known when it has run, and later calls wait in this queue until then. A wait for a word of memory may be called before
//! the write that ends it. Then the wait, and the work that follows it, move behind the write.

use super::clock::Clock;
use super::effect::Effect;
use super::operation::Operation;
use std::collections::VecDeque;
use std::sync::Arc;

/// An operation, its clock and its effect.
pub(super) struct Entry {
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

    /// The entries before an operation.
    pub(super) fn before(&self, ordinal: u64) -> impl Iterator<Item = &Entry> {
        let own = self.position(ordinal).unwrap_or(self.entries.len());
        self.entries.iter().take(own)
    }

    /// Adds an entry in front of the operation `outer`, in which it runs.
    pub(super) fn insert(&mut self, outer: u64, entry: Entry) {
        let index = self.position(outer).unwrap_or(0);
        self.entries.insert(index, entry);
    }

    /// Sets the effect of an operation that has run.
    pub(super) fn resolve(&mut self, ordinal: u64, effect: Effect, before_wait: Effect) {
        let index = self.position(ordinal);
        if let Some(entry) = index.and_then(|index| self.entries.get_mut(index)) {
            entry.effect = effect;
            if let Some((_, part)) = &mut entry.before_wait {
                *part = before_wait;
            }
        }
    }

    /// The index of an operation. The entries are in the order of their ordinals, except those that were moved or inserted.
    fn position(&self, ordinal: u64) -> Option<usize> {
        // Mostly the first entry is the one that has run. A search reads entries all over a long queue.
        if self.entries.front().is_some_and(|entry| entry.operation.ordinal == ordinal) {
            return Some(0);
        }
        let index = self.entries.binary_search_by_key(&ordinal, |entry| entry.operation.ordinal);
        index.ok().or_else(|| self.entries.iter().position(|entry| entry.operation.ordinal == ordinal))
    }

    /// Moves the operation `first`, and those after it that `follow` it, behind the operation `last`.
    pub(super) fn move_behind(&mut self, first: u64, last: u64, follow: impl Fn(&Clock) -> bool) {
        let (Some(from), Some(to)) = (self.position(first), self.position(last)) else { return };
        if from < to {
            let range: Vec<Entry> = self.entries.drain(from..=to).collect();
            let (behind, before): (Vec<Entry>, Vec<Entry>) = range.into_iter().partition(|entry| follow(&entry.clock));
            for (offset, entry) in before.into_iter().chain(behind).enumerate() {
                self.entries.insert(from + offset, entry);
            }
        }
    }

    /// The next entry whose effect is known.
    pub(super) fn pop(&mut self) -> Option<Entry> {
        let known = self.entries.front().is_some_and(|entry| !matches!(entry.effect, Effect::Unknown));
        if known { self.entries.pop_front() } else { None }
    }
}
