//! Copies in flight, as data: what was started, and has not run.

use crate::races::causality::times::Times;
use crate::races::cell::Kind;

/// The place of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// An address in global memory.
    Global(u64),
    /// The rank of a block, and an offset in its shared memory.
    Shared(u32, u64),
}

impl Place {
    /// Whether two ranges have bytes in common.
    pub(super) fn meets(self, size: u64, other: Place, other_size: u64) -> bool {
        let (one, other) = match (self, other) {
            (Place::Global(one), Place::Global(other)) => (one, other),
            (Place::Shared(rank, one), Place::Shared(of, other)) if rank == of => (one, other),
            _ => return false,
        };
        one < other + other_size && other < one + size
    }
}

/// A barrier object that a copy names.
#[derive(Clone, Copy)]
pub(super) struct Object {
    pub word: *mut u8,
    /// The address in the memory of the search for races.
    pub address: u64,
}

/// The copies of a warp that were started and have not run, in that order.
#[derive(Default)]
pub(super) struct Copies {
    /// The number of groups that each lane has committed.
    pub committed: [u32; 32],
    pub list: Vec<Entry>,
}

pub(super) enum Entry {
    Copy(Box<Copy>),
    Arrival(Box<Arrival>),
}

/// A copy by several lanes of a warp.
pub(super) struct Copy {
    pub pc: u32,
    pub lanes: u32,
    /// The bytes that each lane writes, and those that it reads. The rest is zero.
    pub size: u32,
    pub counts: [u8; 32],
    /// The number of groups that the lanes had committed.
    pub group: u32,
    pub pointers: [*mut u8; 32],
    pub sources: [u64; 32],
    /// Offsets in the shared memory of the block.
    pub targets: [u64; 32],
    /// Bounds of the sources.
    pub low: u64,
    pub high: u64,
}

/// Arrivals at an `mbarrier` once the earlier copies of the lanes have run.
pub(super) struct Arrival {
    pub number: u64,
    pub lanes: u32,
    pub objects: [Object; 32],
    /// The view of each thread at the start, for the search for races.
    pub known: Vec<Times>,
}

impl Arrival {
    /// The lanes that arrive at a barrier.
    pub(super) fn lanes_at(&self, barrier: *mut u8) -> u32 {
        let lanes = (0..32).filter(|lane| self.lanes >> lane & 1 == 1 && self.objects[*lane].word == barrier);
        lanes.fold(0, |lanes, lane| lanes | 1 << lane)
    }
}

impl Copy {
    /// The first lane whose target an access meets, or whose source a write meets; `true` for the target.
    pub(super) fn meets(
        &self,
        rank: u32,
        place: Place,
        size: u64,
        writes: bool,
        kept: &impl Fn(Option<u64>) -> bool,
    ) -> Option<(u32, bool)> {
        if let Place::Global(address) = place
            && (!writes || address >= self.high || address + size <= self.low)
        {
            return None;
        }
        (0..32_u32).filter(|lane| self.lanes >> lane & 1 == 1).find_map(|lane| {
            let index = lane as usize;
            let (source, target) = (Place::Global(self.sources[index]), Place::Shared(rank, self.targets[index]));
            if target.meets(self.size.into(), place, size) && kept(Some(self.sources[index])) {
                return Some((lane, true));
            }
            (writes && source.meets(self.counts[index].into(), place, size)).then_some((lane, false))
        })
    }
}

/// An operation on an element in memory and an element of the source.
pub(super) type Operation = fn(u64, u64) -> u64;

/// A copy that was started and has not run.
pub(super) struct Bulk {
    pub number: u64,
    pub pc: u32,
    pub block: u64,
    pub thread: u32,
    pub rank: u32,
    /// The source in memory; `None` if the bytes are held already.
    pub source: Option<(Place, *mut u8)>,
    pub held: Vec<u8>,
    pub target: (Place, *mut u8),
    pub size: u64,
    /// The bytes of each 16 that are written, as bits.
    pub bytes: u16,
    /// The reduction, and the size of its elements.
    pub operation: Option<(Operation, u32)>,
    /// The number of bulk groups that the thread had committed, if the copy belongs to a group.
    pub group: Option<u32>,
    pub object: Option<Object>,
    /// The view of the thread at the start, for the search for races.
    pub known: Times,
}

impl Bulk {
    /// Whether an access meets the target (`true`), or a write meets the source.
    pub(super) fn meets(
        &self,
        place: Place,
        size: u64,
        kind: Kind,
        kept: &impl Fn(Option<u64>) -> bool,
    ) -> Option<bool> {
        // Atomic operations do not race with each other.
        let atomic = kind == Kind::Atomic && self.operation.is_some();
        if !atomic && self.target.0.meets(self.size, place, size) && kept(self.source_address()) {
            return Some(true);
        }
        let source = self.source.filter(|_| kind != Kind::Read);
        source.is_some_and(|(source, _)| source.meets(self.size, place, size)).then_some(false)
    }

    pub(super) fn source_address(&self) -> Option<u64> {
        match self.source?.0 {
            Place::Global(address) => Some(address),
            Place::Shared(..) => None,
        }
    }
}
