//! Operations in the order of their calls, until it is known what they touch.
//!
//! Checking accesses in the order of the calls makes the findings the same whatever the schedule did. That order is one in which
//! everything comes after what it depends on, and for copies and fills the addresses are known at the call. A kernel's are
//! known when it has run: what was called after it waits here until then.

use super::block::Block;
use super::clock::Clock;
use super::operation::{Operation, Region};
use crate::finding::Deed;
use std::collections::VecDeque;
use std::sync::Arc;

/// What an operation does to memory.
pub(crate) enum Doing {
    /// Not known before it has run.
    Unknown,
    /// Reads and writes that are known at the call.
    Touches(Vec<(Region, Deed)>),
    /// Reads and writes of what has run, and the bytes among those written that it had read before.
    Ran {
        touches: Vec<(Region, Deed)>,
        updated: Vec<Region>,
    },
    /// A copy: `exact` if its bytes reach the host, which cannot pass over those that were never written.
    Copy {
        from: Option<Region>,
        to: Region,
        exact: bool,
    },
    Fill(Region),
    /// An allocation; `ordered` if it has its place in a stream.
    Create {
        block: Arc<Block>,
        written: bool,
        ordered: bool,
    },
    /// A release.
    Release {
        block: Arc<Block>,
    },
}

/// An operation with what it does and knows.
pub(crate) struct Entry {
    pub operation: Arc<Operation>,
    pub clock: Clock,
    pub doing: Doing,
}

/// Entries that something in front of them keeps from being checked.
#[derive(Default)]
pub(crate) struct Queue {
    entries: VecDeque<Entry>,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.entries.push_back(entry);
    }

    /// Says what an operation did.
    pub(crate) fn resolve(&mut self, ordinal: u64, doing: Doing) {
        let index = self.entries.binary_search_by_key(&ordinal, |entry| entry.operation.ordinal);
        if let Some(entry) = index.ok().and_then(|index| self.entries.get_mut(index)) {
            entry.doing = doing;
        }
    }

    /// The next entry of which everything is known.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let known = self.entries.front().is_some_and(|entry| !matches!(entry.doing, Doing::Unknown));
        if known { self.entries.pop_front() } else { None }
    }
}
