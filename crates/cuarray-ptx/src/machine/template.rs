//! The operations of instructions for which [`native`](super::native) generates code.
//!
//! An instruction holds the function that executes it, which does not tell what it computes. The resolver knows, and states it here. An
//! instruction without a template is executed by its function.

use super::linear::Operation;

/// An operation on registers that [`Operation`] does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arithmetic {
    Minimum {
        signed: bool,
    },
    Maximum {
        signed: bool,
    },
    /// A product of numbers of 32 bits plus a number of 64 bits.
    MultiplyAddWide {
        signed: bool,
    },
    FloatAdd,
    FloatSubtract,
    FloatMultiply,
    FloatFused,
    FloatDivide,
    FloatRoot,
    FloatReciprocal,
    FloatNegate,
    FloatAbsolute,
    FloatMinimum,
    FloatMaximum,
    /// Sets a predicate. The number is the comparison as AVX encodes it.
    FloatCompare(u8),
    /// From an integer of 32 bits with a sign.
    FloatFromSigned,
    /// From `f32` to `f64`, and back.
    FloatWiden,
    FloatNarrow,
    /// From `f32` to an integer of 32 bits with a sign, towards zero.
    SignedFromFloat,
    MaskAnd,
    MaskOr,
    MaskXor,
    MaskNot,
}

/// The operation of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Template {
    Integer(Operation),
    Further(Arithmetic),
    /// A plain load or store of one element that fills its register.
    Load,
    Store,
    /// Jumps to `imm`: always, or where the predicate `a` differs from `b`.
    Branch,
    BranchIf,
}

/// An element of fewer than 32 bits: its bytes, whether a load extends its sign, and whether it is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Narrow {
    pub size: u8,
    pub signed: bool,
    pub stores: bool,
}

/// The operation of an atomic instruction on integers, with the sign if it matters, or on floating-point numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Update {
    Add,
    And,
    Or,
    Xor,
    Exchange,
    Minimum { signed: bool },
    Maximum { signed: bool },
    FloatAdd,
}

/// The facts that generated code uses of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pattern {
    /// The operation. It may have a guard if it is `Integer` or `Further`.
    pub template: Option<Template>,
    /// Whether the result, or the compared values, have 64 bits.
    pub wide: bool,
    /// Whether `extra` has the bits of `machine::linear`.
    pub has_kinds: bool,
    /// Whether the instruction loads or stores, and `c` is a mode.
    pub accesses: bool,
    /// The element of a load or store of fewer than 32 bits.
    pub narrow: Option<Narrow>,
    /// The operation of an atomic instruction, and whether its word has 64 bits.
    pub update: Option<(Update, bool)>,
    /// Whether execution can continue with the next instruction.
    pub falls: bool,
    /// Whether the instruction jumps to one of several places.
    pub indexed: bool,
}
