//! Contexts, which own streams, events and allocations.
//!
//! A device's primary context is one object with one handle. It becomes active when it is first retained, ends with the
//! last release, and can become active again. Contexts of `cuCtxCreate` live once. Everything created in a context ends
//! with it.

use crate::objects::coredump::Coredump;
use crate::objects::point::Point;
use cuarray_abi::*;
use cuarray_races::{Clock, Lane};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicU64;

/// One context.
pub(crate) struct Context {
    pub device: usize,
    pub primary: bool,
    /// Whether the context is active. A primary context that is not retained exists but is not active.
    pub active: bool,
    pub flags: u32,
    /// `cuCtxGetId`: unique in the process.
    pub id: u64,
    /// The legacy default stream.
    pub legacy: CUstream,
    /// The default streams of host threads, by their number.
    pub per_thread: HashMap<u64, CUstream>,
    /// All streams of the context, including destroyed ones that are not drained yet.
    pub streams: BTreeSet<CUstream>,
    /// Blocking streams with work that the legacy default stream is not yet ordered after.
    pub unordered: BTreeSet<CUstream>,
    /// The clocks of streams that have ended: of all, and of blocking ones. A wait for the context joins the first;
    /// the legacy default stream's next operation joins the second.
    pub ended: Option<Lane>,
    pub ended_blocking: Option<Lane>,
    pub peers: BTreeSet<CUcontext>,
    pub limits: [usize; 7],
    /// Whether a launched kernel uses what a limit is about, so that the limit can no longer change.
    pub limits_fixed: [bool; 7],
    pub cache_config: u32,
    pub shared_memory_config: u32,
    /// The count of `cuCtxAttach` minus `cuCtxDetach`.
    pub attached: usize,
    /// The error of a failed kernel, which every call in the context returns.
    pub failed: Option<CUresult>,
    /// The points that the context's future work follows, by their numbers.
    pub awaited: Vec<Awaited>,
    pub coredump: Coredump,
}

/// A point that all future work of a context, or of a green context, follows.
#[derive(Clone)]
pub(crate) struct Awaited {
    pub number: u64,
    /// The green context whose work follows the point, if it is not that of the whole context.
    pub green: Option<CUgreenCtx>,
    pub point: Point,
    pub clock: Option<Clock>,
}

impl Context {
    /// Makes the future work of the context, or of one of its green contexts, follow a point. A point replaces earlier points
    /// of its stream.
    pub(crate) fn await_point(&mut self, green: Option<CUgreenCtx>, point: Point, clock: Option<Clock>) {
        let number = self.awaited.last().map_or(1, |last| last.number + 1);
        self.awaited.retain(|other| {
            let covered = green.is_none() || other.green == green;
            !covered || other.point.stream != point.stream || other.point.operation > point.operation
        });
        self.awaited.push(Awaited { number, green, point, clock });
    }
}

pub(crate) static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The limits of a new context: stack, printf buffer, heap, depth, pending launches, L2 granularity, persisting L2.
pub(crate) const LIMITS: [usize; 7] = [1024, 1 << 20, 8 << 20, 2, 2048, 64, 0];
