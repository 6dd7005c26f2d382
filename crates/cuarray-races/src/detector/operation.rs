//! Operations: one call each.

use super::clock::{Clock, LaneNumber, Retired};
use super::region::Strength;
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
    /// For a node of a graph: the place of the call that launched the graph.
    pub graph: Option<Arc<Site>>,
    /// Whether the function exists to order other work: it records, waits or queries.
    pub orders: bool,
}

impl Caller {
    /// A call from an unknown site.
    pub fn new(thread: u64, call: &'static str) -> Caller {
        Caller { thread, call, site: Site::unknown().clone(), detail: None, launch: None, graph: None, orders: false }
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
    /// The operations that this one has heard of through memory, once it has run.
    pub(super) heard: OnceLock<Heard>,
    /// The operation's clock, if it publishes.
    pub(crate) published: OnceLock<Clock>,
}

/// How work synchronizes through memory with other work, if both access the same bytes by strong accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fences {
    /// The widest release of the work: a fence with a strong write behind it, or a releasing write. Weak if it has none.
    pub releases: Strength,
    /// The widest acquire of the work: a strong read with a fence behind it, or an acquiring read. Weak if it has none.
    pub acquires: Strength,
}

/// The operations that work knows of through memory.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    /// All operations before the releases that were observed.
    past: Clock,
    /// The ordinals of the operations that released, of whose accesses only the released ones are known.
    from: Vec<u64>,
}

/// The most operations whose unreleased accesses are known. Those of older operations count as released.
const APART: usize = 256;

impl Heard {
    /// The knowledge that an operation passes on, given what it has heard itself.
    pub(super) fn of(ordinal: u64, clock: &Clock, heard: Option<&Heard>, retired: &Retired) -> Heard {
        let mut all = Heard { past: clock.clone(), from: vec![ordinal] };
        heard.into_iter().for_each(|heard| all.join(heard, retired));
        all
    }

    /// Adds the knowledge of another operation.
    pub(super) fn join(&mut self, other: &Heard, retired: &Retired) {
        self.past = self.past.joined(&other.past, retired);
        self.from.extend(&other.from);
        self.from.sort_unstable();
        self.from.dedup();
        let oldest = self.from.len().saturating_sub(APART);
        self.from.drain(..oldest);
    }

    /// Whether an access of an operation is known. `released` tells whether a release of the operation followed it.
    pub(super) fn holds(
        &self,
        ordinal: u64,
        (lane, time): (LaneNumber, u64),
        released: bool,
        retired: &Retired,
    ) -> bool {
        match self.from.binary_search(&ordinal) {
            Ok(_) => released,
            Err(_) => self.past.contains(lane, time, retired),
        }
    }
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
