//! The order of the `fence.sc` operations of threads that access a location.

use super::Strong;
use super::clusters::Clusters;
use super::mark::Actor;
use super::records::Records;
use super::threads::{Released, SCOPES};
use super::times::Times;
use crate::races::cell::Kind;
use smallvec::SmallVec;

/// The most accesses whose views are not joined yet.
const MANY: usize = 32;

/// The accesses behind a `fence.sc`: those that write, and those that read.
#[derive(Clone, Default)]
pub(super) struct Totals {
    writes: Fences,
    reads: Fences,
}

/// Accesses behind a `fence.sc`. Most of them are never asked for, so their views are joined when one is.
#[derive(Clone, Default)]
struct Fences {
    recent: SmallVec<[Fenced; 2]>,
    /// The views at the fences, by the scope of the accesses.
    joined: Option<Box<[Records; SCOPES]>>,
}

/// An access, and the last fence of its thread.
#[derive(Clone)]
struct Fenced {
    by: Actor,
    /// The scope of the access, and that of the fence.
    scopes: (usize, usize),
    time: u32,
    view: Times,
}

impl Fences {
    fn add(&mut self, fenced: Fenced, height: u32) {
        let key = |fenced: &Fenced| (fenced.by, fenced.scopes, fenced.time);
        // A thread that polls would add the same again and again.
        if self.recent.last().is_some_and(|last| key(last) == key(&fenced)) {
            return;
        }
        if self.recent.len() == MANY {
            self.joined(height);
        }
        self.recent.push(fenced);
    }

    fn joined(&mut self, height: u32) -> Option<&[Records; SCOPES]> {
        for Fenced { by: Actor { block, warp, lane }, scopes, time, mut view } in self.recent.drain(..) {
            if time > 0 {
                view.raise_lanes(height, (block, warp), 1 << lane, time);
            }
            self.joined.get_or_insert_default()[scopes.0].add(block, scopes.1, &view);
        }
        self.joined.as_deref()
    }
}

impl Totals {
    /// The views at the fences that the next fence of a thread follows, because of its operation on the location.
    pub(super) fn before(&mut self, block: u32, op: Strong, clusters: &Clusters, height: u32) -> [Times; SCOPES] {
        let mut follows: [Times; SCOPES] = Default::default();
        let reads = (op.kind != Kind::Read).then_some(&mut self.reads);
        for fences in [Some(&mut self.writes), reads].into_iter().flatten() {
            for (scope, records) in fences.joined(height).into_iter().flatten().enumerate() {
                let known = records.observe(block, clusters);
                let both = scope.min(op.scope.index());
                follows[..=both].iter_mut().zip(&known).for_each(|(all, one)| all.join(one));
            }
        }
        follows
    }

    /// Adds an operation of a thread, with the last fences of the thread.
    pub(super) fn add(&mut self, by: Actor, op: Strong, total: &[Option<Released>; SCOPES], height: u32) {
        for (scope, fence) in total.iter().enumerate() {
            let Some(fence) = fence else { continue };
            let (scopes, time, view) = ((op.scope.index(), scope), fence.time, fence.view.clone());
            let fenced = Fenced { by, scopes, time, view };
            if op.kind != Kind::Read {
                self.writes.add(fenced.clone(), height);
            }
            if op.kind != Kind::Write {
                self.reads.add(fenced, height);
            }
        }
    }
}
