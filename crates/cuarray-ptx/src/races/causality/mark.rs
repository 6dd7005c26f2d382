//! Recorded accesses of threads of the grid.

use super::Why;
use super::view::View;
use crate::races::cell::Kind;
use smallvec::SmallVec;

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
    /// Whether it is an access of the engine that makes bulk copies.
    pub by_copy: bool,
    /// Whether it is a read by the read-only path, which races with each write of the launch.
    pub read_only: bool,
}

/// The plain accesses to a piece of memory: mostly a write, or a write and a read.
pub(super) type Cell = SmallVec<[Mark; 2]>;

impl Mark {
    /// The lanes other than the thread itself whose access is not ordered before an access with a view.
    #[inline]
    pub(super) fn unknown(&self, view: &View, actor: Actor) -> u32 {
        let warp = u32::from(self.warp);
        let own = if self.block == actor.block && warp == actor.warp { 1 << actor.lane } else { 0 };
        match self.lanes & !own {
            0 => 0,
            lanes => view.unknown((self.block, warp), lanes, self.stamp),
        }
    }
}

impl Mark {
    /// The conflict of the access with another one, whatever orders them, if one reads by the read-only path and the other one writes.
    pub(super) fn meets_read_only(&self, other: &Mark) -> Option<Conflict> {
        let one = |read: &Mark, write: &Mark| read.read_only && write.kind != Kind::Read;
        let found = Conflict { mark: *self, lane: self.lanes.trailing_zeros(), why: Some(Why::ReadOnlyPath) };
        (one(self, other) || one(other, self)).then_some(found)
    }
}

/// A recorded access that an access races with.
#[derive(Clone, Copy)]
pub(crate) struct Conflict {
    pub mark: Mark,
    pub lane: u32,
    pub why: Option<Why>,
}
