//! The registers of each instruction, and the second set of registers of a call.

use crate::grammar::types::Width;
use crate::machine::misuse::Origin;
use crate::machine::warp::Line;
use rustc_hash::FxHashMap;

/// How undefined values in the operands of an instruction reach its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// The results depend on the operands only, so the instruction can be executed again.
    Computes,
    /// As `Computes`; the order of two values decides.
    Compares,
    /// The function of the instruction follows the values through memory. The first operand is the address, unless it is constant.
    Accesses,
    /// The operands decide a branch.
    Branches,
    /// The instruction uses its operands. Its results are defined.
    Uses,
    /// As `Uses`; the thread does not go on behind the instruction.
    Ends,
}

/// A register of an instruction: its place in the frame, its width, and whether it has a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Register(u32);

const WIDTHS: [Width; 4] = [Width::Predicate, Width::W32, Width::W64, Width::W128];

impl Register {
    pub(crate) fn new(place: u32, width: Width, has_head: bool) -> Register {
        let number = WIDTHS.iter().position(|known| *known == width).unwrap_or(0) as u32;
        Register(place | number << 28 | u32::from(has_head) << 30)
    }

    pub(in crate::machine) fn place(self) -> u32 {
        self.0 & 0x0fff_ffff
    }

    pub(in crate::machine) fn width(self) -> Width {
        WIDTHS[(self.0 >> 28 & 3) as usize]
    }

    pub(in crate::machine) fn has_head(self) -> bool {
        self.0 >> 30 & 1 == 1
    }
}

/// The registers of one instruction: where they begin, how many are read and written, and the way.
#[derive(Clone, Copy)]
struct Entry {
    first: u32,
    read: u8,
    written: u8,
    way: Way,
}

/// The registers that each instruction of a program reads and writes, besides its guard.
#[derive(Default)]
pub(crate) struct Registers {
    entries: Vec<Entry>,
    list: Vec<Register>,
}

impl Registers {
    /// Adds those of the next instruction.
    pub(crate) fn push(
        &mut self,
        way: Way,
        read: impl Iterator<Item = Register>,
        written: impl Iterator<Item = Register>,
    ) {
        let first = self.list.len();
        self.list.extend(read);
        let middle = self.list.len();
        self.list.extend(written);
        let (read, written) = ((middle - first) as u8, (self.list.len() - middle) as u8);
        self.entries.push(Entry { first: first as u32, read, written, way });
    }

    pub(in crate::machine) fn way(&self, pc: usize) -> Way {
        self.entries[pc].way
    }

    pub(in crate::machine) fn read(&self, pc: usize) -> &[Register] {
        let Entry { first, read, .. } = self.entries[pc];
        &self.list[first as usize..][..read.into()]
    }

    pub(in crate::machine) fn written(&self, pc: usize) -> &[Register] {
        let Entry { first, read, written, .. } = self.entries[pc];
        &self.list[first as usize + usize::from(read)..][..written.into()]
    }
}

/// The registers of a call with other values instead of undefined ones.
pub(crate) struct Twin {
    pub(in crate::machine) registers: Vec<Line>,
    /// The sources of the undefined values, by the places of their registers. A place without undefined value may have one.
    pub(super) origins: FxHashMap<u32, Origin>,
}

impl Twin {
    /// The source of the undefined value in a register.
    pub(in crate::machine) fn origin_of(&self, place: u32) -> Option<Origin> {
        self.origins.get(&place).copied()
    }
}
