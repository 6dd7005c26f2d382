//! The parts of a recorded access: its kind, its thread, its instruction, its time and the digest of its value.

use super::order::Order;

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read = 1,
    Write = 2,
    Atomic = 3,
}

impl Kind {
    /// Whether accesses of two kinds can conflict.
    #[inline(always)]
    pub(crate) fn conflicts(self, other: Kind) -> bool {
        self != other || self == Kind::Write
    }
}

/// A thread of a block, an instruction, and a kind of access in 10, 20 and 2 bits. Zero means none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Origin(pub u32);

/// The instruction number in place of all numbers that do not fit into 20 bits.
const FAR: u32 = (1 << 20) - 1;
const THREADS: u32 = 1023;

impl Origin {
    #[inline(always)]
    pub(crate) fn new(thread: u32, pc: u32, kind: Kind) -> Origin {
        Origin(thread | (kind as u32) << 10 | pc.min(FAR) << 12)
    }

    #[inline(always)]
    pub(crate) fn thread(self) -> u32 {
        self.0 & THREADS
    }

    /// Whether two accesses have one instruction and one kind.
    #[inline(always)]
    pub(crate) fn is_alike(self, other: Origin) -> bool {
        (self.0 ^ other.0) & !THREADS == 0
    }

    /// Moves the access to another thread.
    #[inline(always)]
    pub(crate) fn of(self, thread: u32) -> Origin {
        Origin(self.0 & !THREADS | thread)
    }

    #[inline(always)]
    pub(crate) fn pc(self) -> Option<u32> {
        (self.0 >> 12 != FAR).then_some(self.0 >> 12)
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> Kind {
        match self.0 >> 10 & 3 {
            1 => Kind::Read,
            2 => Kind::Write,
            _ => Kind::Atomic,
        }
    }

    #[inline(always)]
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// An access of a warp that is compared with recorded ones.
#[derive(Clone, Copy)]
pub(crate) struct Now {
    /// The access of the first lane.
    pub origin: Origin,
    pub kind: Kind,
    pub clock: u32,
    pub warp: u32,
    /// Accesses up to this time are ordered before the access, for all warps.
    pub settled: u32,
}

impl Now {
    #[inline(always)]
    pub(crate) fn new(order: &Order, warp: u32, pc: u32, kind: Kind) -> Now {
        let origin = Origin::new(warp * 32, pc, kind);
        Now { origin, kind, clock: order.now(warp), warp, settled: order.settled(warp) }
    }

    /// Moves the access to another instruction.
    pub(crate) fn at(&self, pc: u32) -> Now {
        Now { origin: Origin::new(self.origin.thread(), pc, self.kind), ..*self }
    }
}

/// A digest of a written value: the value itself up to 32 bits. Different values of 64 bits nearly always have different
/// digests.
#[inline(always)]
pub(crate) fn digest(value: u64) -> u32 {
    value as u32 ^ ((value >> 32) as u32).wrapping_mul(0x9e37_79b1)
}
