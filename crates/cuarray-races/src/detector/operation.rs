//! Operations: one call each.

use super::clock::{Clock, LaneNumber};
use crate::finding::Access;
use crate::site::Site;
use std::sync::{Arc, OnceLock};

/// The call that an operation belongs to.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The number of the thread that called.
    pub thread: u64,
    /// The name of the function that was called, as reports print it.
    pub call: &'static str,
    /// The call site.
    pub site: Arc<Site>,
    /// A further detail of the call: the name of a kernel.
    pub detail: Option<Arc<str>>,
    /// For a node of a graph: the ordinal of the operation that launched the graph.
    pub launch: Option<u64>,
    /// Whether the function exists to order other work: it records, waits or queries.
    pub orders: bool,
}

impl Caller {
    /// A call from an unknown site.
    pub fn new(thread: u64, call: &'static str) -> Caller {
        Caller { thread, call, site: Site::unknown().clone(), detail: None, launch: None, orders: false }
    }
}

/// One operation of a lane, shared by the history and the shadow memory.
#[derive(Debug)]
pub struct Operation {
    /// The place of the operation among all operations, counted from 1 in the order of the calls.
    pub ordinal: u64,
    pub(crate) lane: LaneNumber,
    pub(crate) caller: Caller,
    /// The operations of other lanes that an edge of this call orders before the operation.
    pub(crate) after: Box<[u64]>,
    /// The accessed bytes. For work that computes its addresses, they are set when the work has run.
    pub(crate) accesses: OnceLock<Box<[Access]>>,
    /// How the operation synchronizes with operations that it is unordered with, once that is known.
    pub(crate) fences: OnceLock<Fences>,
    /// The operation's clock, if it publishes.
    pub(crate) published: OnceLock<Clock>,
}

/// How work synchronizes through memory with other work, if both access the same bytes by strong accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fences {
    /// Whether the work releases: it has a fence or a releasing access.
    pub publishes: bool,
    /// Whether the work acquires: it reads by strong accesses.
    pub observes: bool,
}

impl Operation {
    pub(super) fn fences(&self) -> Fences {
        self.fences.get().copied().unwrap_or_default()
    }

    /// The call that made the operation.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }
}

/// An issued operation, for [`Detector::resolve`](super::Detector::resolve) once its accesses are known.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// The operation.
    pub operation: Arc<Operation>,
    /// The operations that happen before the operation, and the operation itself.
    pub clock: Clock,
    /// For a [dependent](super::Detector::issue_dependent) operation: the clock of its part before the wait.
    pub before_wait: Option<Clock>,
}
