//! Fundamental types and state spaces of PTX.
//!
//! PTX manual: [state spaces, types and
//! variables](https://docs.nvidia.com/cuda/parallel-thread-execution/#state-spaces-types-and-variables).

/// A fundamental type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Type {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    U16x2,
    S16x2,
    F16x2,
    BF16,
    BF16x2,
    F32,
    F64,
    Pred,
}

impl Type {
    /// Looks up the type of a name without its dot.
    pub(crate) fn named(name: &str) -> Option<Type> {
        Some(match name {
            "b8" => Type::B8,
            "b16" => Type::B16,
            "b32" => Type::B32,
            "b64" => Type::B64,
            "b128" => Type::B128,
            "u8" => Type::U8,
            "u16" => Type::U16,
            "u32" => Type::U32,
            "u64" => Type::U64,
            "s8" => Type::S8,
            "s16" => Type::S16,
            "s32" => Type::S32,
            "s64" => Type::S64,
            "f16" => Type::F16,
            "u16x2" => Type::U16x2,
            "s16x2" => Type::S16x2,
            "f16x2" => Type::F16x2,
            "bf16" => Type::BF16,
            "bf16x2" => Type::BF16x2,
            "f32" => Type::F32,
            "f64" => Type::F64,
            "pred" => Type::Pred,
            _ => return None,
        })
    }

    /// The size in memory, in bytes.
    pub(crate) fn size(self) -> u64 {
        match self {
            Type::B8 | Type::U8 | Type::S8 | Type::Pred => 1,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::BF16 => 2,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 | Type::F16x2 | Type::BF16x2 => 4,
            Type::U16x2 | Type::S16x2 => 4,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
            Type::B128 => 16,
        }
    }

    pub(crate) fn bits(self) -> u32 {
        self.size() as u32 * 8
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::F16x2 | Type::BF16 | Type::BF16x2 | Type::F32 | Type::F64)
    }

    /// The width of the type's registers.
    pub(crate) fn width(self) -> Width {
        match self {
            Type::Pred => Width::Predicate,
            Type::B128 => Width::W128,
            _ if self.size() == 8 => Width::W64,
            _ => Width::W32,
        }
    }
}

/// The width of a register in a warp's register file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) enum Width {
    /// One bit for each lane: a mask of 32 bits.
    Predicate,
    /// 32 bits for each lane, also for types of 8 and 16 bits.
    W32,
    W64,
    /// Two registers of 64 bits, low half first.
    W128,
}

impl Width {
    /// Bytes in a warp's register file.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Width::Predicate => 4,
            Width::W32 => 128,
            Width::W64 => 256,
            Width::W128 => 512,
        }
    }

    /// Bits of one lane.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Width::Predicate => 1,
            Width::W32 => 32,
            Width::W64 => 64,
            Width::W128 => 128,
        }
    }
}

/// A state space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// Generic addresses, which reach every other space.
    Generic,
    /// Global memory.
    Global,
    /// Constant memory.
    Const,
    /// Shared memory of a block.
    Shared,
    /// Local memory of a thread.
    Local,
    /// Parameters of a kernel or function.
    Param,
}

impl Space {
    /// The memory of the space in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Space::Generic => "memory by generic addresses",
            Space::Global => "global memory",
            Space::Const => "constant memory",
            Space::Shared => "shared memory",
            Space::Local => "local memory",
            Space::Param => "parameters",
        }
    }

    /// Looks up the space of a name without its dot.
    pub(crate) fn named(name: &str) -> Option<Space> {
        Some(match name {
            "global" => Space::Global,
            "const" => Space::Const,
            "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
            "local" => Space::Local,
            "param" | "param::entry" | "param::func" => Space::Param,
            _ => return None,
        })
    }
}
