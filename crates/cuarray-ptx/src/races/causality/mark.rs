//! Recorded accesses of threads of the grid.

use super::Why;
use super::times::Times;
use crate::races::cell::Kind;

/// A thread of the grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Actor {
    pub block: u32,
    pub warp: u32,
    pub lane: u32,
}

/// A recorded access by lanes of a warp.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    pub block: u32,
    pub pc: u32,
    pub stamp: u32,
    pub lanes: u32,
    /// The digest of a written value.
    pub value: u32,
    pub warp: u8,
    pub kind: Kind,
}

impl Mark {
    /// The lanes other than the thread itself whose access is not ordered before an access with a view.
    #[inline]
    pub(super) fn unknown(&self, view: &Times, height: u32, actor: Actor) -> u32 {
        let warp = u32::from(self.warp);
        let own = if self.block == actor.block && warp == actor.warp { 1 << actor.lane } else { 0 };
        match self.lanes & !own {
            0 => 0,
            lanes => view.unknown(height, (self.block, warp), lanes, self.stamp),
        }
    }
}

/// A recorded access that an access races with.
#[derive(Clone, Copy)]
pub(crate) struct Conflict {
    pub mark: Mark,
    pub lane: u32,
    pub why: Option<Why>,
}
