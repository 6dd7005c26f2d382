//! Code before registers have offsets: drafts of instructions, their operands, blocks and constants.

use crate::grammar::types::Width;
use crate::machine::linear::Operation;
use crate::machine::program::{Constant, Exec, Location, constant_bytes};
use crate::machine::template::{Arithmetic, Update};
use crate::machine::undefined::Way;
use rustc_hash::FxHashMap;

/// An operand before registers have offsets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Operand {
    /// No operand.
    Nothing,
    /// A register, by its number.
    Register(u32),
    /// A constant, by its index in the function's list of constants.
    Constant(u32),
    /// A number for the executing function.
    Number(u32),
}

/// The successors of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Next {
    On,
    /// A block; also the next instruction if the jump is conditional.
    Jump {
        to: usize,
        always: bool,
    },
    /// One of several blocks.
    Indexed(Vec<usize>),
    /// No successor.
    End,
}

/// An instruction before registers have offsets.
#[derive(Clone)]
pub(super) struct Draft {
    pub exec: Exec,
    /// The written operand; the others are read.
    pub d: Operand,
    pub a: Operand,
    pub b: Operand,
    pub c: Operand,
    /// Further operands; the first `written` ones are written.
    pub extra: Vec<Operand>,
    pub written: usize,
    pub imm: i64,
    /// The register of the guard, and whether it is negated.
    pub guard: Option<(u32, bool)>,
    pub next: Next,
    pub location: Location,
    /// The use of the results that the encoder looks for.
    pub results: Results,
    /// The access to memory, if the instruction is a plain load or store.
    pub access: Access,
    /// Whether the instruction is a plain load that extends the sign of its element.
    pub signed: bool,
    /// Whether each lane computes its result from its own registers, without another effect.
    pub per_lane: bool,
    /// Whether each lane computes its result from operand `a` of the warp's lanes, without another effect. Other operands
    /// select the lanes.
    pub exchange: bool,
    /// The operation of `machine::linear` that gives the same result.
    pub linear: Option<Operation>,
    /// The operation that `machine::linear` does not have.
    pub arithmetic: Option<Arithmetic>,
    /// The operation of an atomic instruction, and whether its word has 64 bits.
    pub update: Option<(Update, bool)>,
    /// How undefined values in its operands reach its results.
    pub way: Way,
}

/// A plain access to memory, with its size in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Access {
    #[default]
    None,
    Load(u32),
    Store(u32),
    /// A load of a kernel's parameter, at the offset in `imm`.
    Parameter(u32),
}

/// The instructions for which the uses of their results matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Results {
    #[default]
    Any,
    /// A load of a vector, whose last elements may be unused. Operand `c` is the mode.
    Vector,
    /// A plain load of one element. Operand `c` is the mode.
    Load,
    /// A compare-and-swap operation.
    CompareAndSwap,
    /// A sum of the integers `a` and `b` of 64 bits.
    Sum,
}

/// A basic block: instructions that run one after the other.
#[derive(Default)]
pub(super) struct Block {
    pub drafts: Vec<Draft>,
}

/// The constants of a function without duplicates.
#[derive(Default)]
pub(super) struct Constants {
    pub list: Vec<(Constant, Width)>,
    indices: FxHashMap<(Constant, Width), u32>,
}

impl Constants {
    pub(super) fn index(&mut self, constant: Constant, width: Width) -> u32 {
        *self.indices.entry((constant, width)).or_insert_with(|| {
            self.list.push((constant, width));
            self.list.len() as u32 - 1
        })
    }
}

/// The places of all functions' constants in the program.
#[derive(Default)]
pub(super) struct ProgramConstants {
    pub list: Vec<(Constant, Width)>,
    places: FxHashMap<(Constant, Width), u32>,
    end: u32,
}

impl ProgramConstants {
    pub(super) fn place(&mut self, constant: Constant, width: Width) -> u32 {
        *self.places.entry((constant, width)).or_insert_with(|| {
            let place = self.end;
            self.end += constant_bytes(width);
            self.list.push((constant, width));
            place
        })
    }
}

/// The registers that an instruction reads.
pub(super) fn reads(draft: &Draft) -> impl Iterator<Item = u32> {
    sources(draft).chain(draft.guard.map(|(register, _)| register))
}

/// The registers that an instruction reads besides its guard.
pub(super) fn sources(draft: &Draft) -> impl Iterator<Item = u32> {
    let further = &draft.extra[draft.written.min(draft.extra.len())..];
    let operands = [draft.a, draft.b, draft.c].into_iter().chain(further.iter().copied());
    operands.filter_map(|operand| match operand {
        Operand::Register(register) => Some(register),
        _ => None,
    })
}

/// The registers that an instruction writes.
pub(super) fn writes(draft: &Draft) -> impl Iterator<Item = u32> {
    let further = &draft.extra[..draft.written.min(draft.extra.len())];
    [draft.d].into_iter().chain(further.iter().copied()).filter_map(|operand| match operand {
        Operand::Register(register) => Some(register),
        _ => None,
    })
}
