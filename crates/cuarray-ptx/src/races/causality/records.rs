//! The views that release patterns have released at a location.

use super::clusters::Clusters;
use super::threads::{SCOPES, Scope};
use super::times::Times;
use rustc_hash::FxHashMap;

/// The views that release patterns have released, by block and scope.
#[derive(Clone, Default)]
pub(super) struct Records {
    /// The views of the patterns of scope `.gpu`.
    wide: Times,
    blocks: FxHashMap<u32, [Times; SCOPES]>,
}

impl Records {
    pub(super) fn add(&mut self, block: u32, scope: usize, released: &Times) {
        if released.is_empty() {
            return;
        }
        if scope == SCOPES - 1 {
            self.wide.join(released);
        }
        self.blocks.entry(block).or_default()[scope].join(released);
    }

    /// The views that threads of a block have released, by the scope of their patterns.
    pub(super) fn of_block(&self, block: u32) -> Option<&[Times; SCOPES]> {
        self.blocks.get(&block)
    }

    /// The views that a thread of `block` can acquire, by the least scope that its fence needs.
    pub(super) fn observe(&self, block: u32, clusters: &Clusters) -> [Times; SCOPES] {
        let mut observed: [Times; SCOPES] = Default::default();
        if self.blocks.is_empty() {
            return observed;
        }
        for released in self.blocks.get(&block).into_iter().flatten() {
            observed[Scope::Block.index()].join(released);
        }
        for other in clusters.others(block) {
            for released in self.blocks.get(&other).into_iter().flat_map(|scopes| &scopes[Scope::Cluster.index()..]) {
                observed[Scope::Cluster.index()].join(released);
            }
        }
        observed[Scope::Device.index()].join(&self.wide);
        observed
    }

    /// Adds all that others have.
    pub(super) fn join(&mut self, others: Records) {
        self.wide.join(&others.wide);
        for (block, scopes) in others.blocks {
            let own = self.blocks.entry(block).or_default();
            own.iter_mut().zip(&scopes).for_each(|(all, one)| all.join(one));
        }
    }

    pub(super) fn clear(&mut self) {
        self.wide = Times::default();
        self.blocks.clear();
    }
}
