//! The clusters of the blocks of a grid.

use rustc_hash::FxHashMap;

/// The blocks of each cluster; empty if each block is its own.
#[derive(Default)]
pub(crate) struct Clusters {
    of: FxHashMap<u32, u64>,
    blocks: FxHashMap<u64, Vec<u32>>,
}

impl Clusters {
    pub(crate) fn add(&mut self, block: u32, cluster: u64) {
        if self.of.insert(block, cluster).is_none() {
            self.blocks.entry(cluster).or_default().push(block);
        }
    }

    /// Whether each block is its own cluster, so that no other one can access its shared memory.
    pub(super) fn are_blocks(&self) -> bool {
        self.of.is_empty()
    }

    pub(super) fn same(&self, one: u32, other: u32) -> bool {
        one == other || self.of.get(&one).is_some_and(|cluster| self.of.get(&other) == Some(cluster))
    }

    pub(super) fn others(&self, block: u32) -> impl Iterator<Item = u32> {
        let all = self.of.get(&block).and_then(|cluster| self.blocks.get(cluster));
        all.into_iter().flatten().copied().filter(move |other| *other != block)
    }
}
