//! The effect of an operation on memory.

use super::allocations::Block;
use super::region::{Manner, Region};
use crate::finding::{Access, AccessKind};
use std::sync::Arc;

/// The effect of an operation on memory.
#[derive(Debug)]
pub enum Effect {
    /// Unknown until the operation has run: see [`Detector::resolve`](super::Detector::resolve).
    Unknown,
    /// Reads and writes.
    Touches(Vec<(Region, AccessKind)>),
    /// Writes one box.
    Fill(Region),
    /// Copies bytes.
    Copy {
        /// The source, if it is memory that the detector knows.
        from: Option<Region>,
        /// The target.
        to: Region,
        /// Whether every byte of the source counts as read. Otherwise, as for copies between devices, unwritten bytes
        /// of the source are no finding; they make the target's bytes unwritten.
        exact: bool,
    },
    /// Allocates memory.
    Allocate {
        /// The allocation.
        block: Arc<Block>,
        /// Whether its bytes may hold data already.
        written: bool,
        /// Whether the allocation takes place in a stream, so that uses have to be ordered after it.
        ordered: bool,
    },
    /// Frees memory.
    Free {
        /// The allocation.
        block: Arc<Block>,
    },
    /// Loads the variables of a module.
    Load {
        /// The variables.
        blocks: Vec<Arc<Block>>,
    },
    /// Unloads the variables of a module.
    Unload {
        /// The variables.
        blocks: Vec<Arc<Block>>,
    },
    /// Reads and writes of work that has run.
    #[doc(hidden)]
    Ran {
        /// The accesses.
        touches: Vec<(Region, AccessKind)>,
        /// Accesses that synchronize, or that a release or an acquire orders.
        strong: Vec<(Region, AccessKind, Manner)>,
        /// The written bytes that the work had read before.
        updated: Vec<Region>,
    },
    /// A host access to memory that devices use too.
    HostAccess(Region, AccessKind),
}

impl Effect {
    /// An operation that touches no memory.
    pub fn none() -> Effect {
        Effect::Touches(Vec::new())
    }

    /// The boxes that are known to be read and written.
    pub fn touches(&self) -> Vec<(Region, AccessKind)> {
        match self {
            Effect::Fill(region) => vec![(region.clone(), AccessKind::Write)],
            Effect::Copy { from, to, .. } => {
                let from = from.iter().map(|from| (from.clone(), AccessKind::Read));
                from.chain([(to.clone(), AccessKind::Write)]).collect()
            }
            Effect::Touches(touches) | Effect::Ran { touches, .. } => touches.clone(),
            Effect::HostAccess(region, access) => vec![(region.clone(), *access)],
            Effect::Unknown | Effect::Allocate { .. } | Effect::Free { .. } => Vec::new(),
            Effect::Load { .. } | Effect::Unload { .. } => Vec::new(),
        }
    }

    /// The accesses of work that has run, and of the host.
    pub(super) fn by_manner(&self) -> Vec<(Region, AccessKind, Manner)> {
        let weak = |(region, access): &(Region, AccessKind)| (region.clone(), *access, Manner::default());
        match self {
            Effect::Ran { touches, strong, .. } => {
                let mut all = Vec::with_capacity(strong.len() + touches.len());
                // Writes come first: the work reads no unwritten bytes where it has written before.
                for reads in [false, true] {
                    let alike = |access: &AccessKind| (*access == AccessKind::Read) == reads;
                    all.extend(strong.iter().filter(|(_, access, _)| alike(access)).cloned());
                    all.extend(touches.iter().filter(|(_, access)| alike(access)).map(weak));
                }
                all
            }
            Effect::HostAccess(region, access) => vec![(region.clone(), *access, Manner::HOST)],
            Effect::Touches(touches) => touches.iter().map(weak).collect(),
            _ => Vec::new(),
        }
    }

    /// The accesses that the history shows.
    pub(super) fn accesses(&self) -> Box<[Access]> {
        let whole = |block: &Block, kind| Region::row(block.address, block.size).access(kind);
        match self {
            Effect::Unknown | Effect::Load { .. } | Effect::Unload { .. } => Box::default(),
            Effect::Fill(region) => Box::new([region.access(AccessKind::Write)]),
            Effect::Copy { from: None, to, .. } => Box::new([to.access(AccessKind::Write)]),
            Effect::Copy { from: Some(from), to, .. } => {
                Box::new([from.access(AccessKind::Read), to.access(AccessKind::Write)])
            }
            Effect::Touches(touches) | Effect::Ran { touches, .. } => {
                touches.iter().map(|(region, access)| region.access(*access)).collect()
            }
            Effect::HostAccess(region, access) => Box::new([region.access(*access)]),
            Effect::Allocate { block, .. } => Box::new([whole(block, AccessKind::Create)]),
            Effect::Free { block } => Box::new([whole(block, AccessKind::Release)]),
        }
    }
}
