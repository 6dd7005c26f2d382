//! The mode of a memory access, as an operand of its instruction.

use super::region::Strength;
use crate::grammar::types::Space;
pub(crate) use crate::races::causality::Scope;
use crate::races::causality::Strong;
use crate::races::cell::Kind;

/// The access mode of an instruction, encoded in its operand `c`.
#[derive(Clone, Copy)]
pub(crate) struct Mode {
    pub space: Space,
    /// Whether the address has 64 bits.
    pub wide: bool,
    /// The number of elements.
    pub count: u32,
    /// Whether the access synchronizes (`volatile`, `relaxed`, `acquire`, `release`).
    pub strong: bool,
    /// Whether the access releases.
    pub releases: bool,
    /// Whether the access acquires.
    pub acquires: bool,
    /// The threads that a strong access includes.
    pub scope: Scope,
    /// Whether the written value depends on the old contents.
    pub updates: bool,
    /// The strength of the access for other launches and the host.
    pub strength: Strength,
    /// Whether the access reads by the read-only path (`ld.global.nc`).
    pub read_only: bool,
}

/// The three lowest bits are the state space.
pub(crate) const GENERIC: u32 = 0;
pub(crate) const GLOBAL: u32 = 1;
pub(crate) const SHARED: u32 = 2;
pub(crate) const LOCAL: u32 = 3;
pub(crate) const PARAM: u32 = 4;

/// The bit of addresses of 64 bits.
pub(crate) const WIDE: u32 = 1 << 3;

/// The lowest of the four bits of the number of elements.
const COUNT: u32 = 4;

/// Decodes the state space.
#[inline(always)]
pub(crate) fn space(code: u32) -> u32 {
    code & 7
}

/// Whether addresses have 64 bits.
#[inline(always)]
pub(crate) fn is_wide(code: u32) -> bool {
    code & WIDE != 0
}

/// The bit of a strong access.
pub(crate) const STRONG: u32 = 1 << 16;

/// The bit of a releasing access.
pub(crate) const RELEASES: u32 = 1 << 17;

/// The bit of an updating access.
pub(crate) const UPDATES: u32 = 1 << 18;

/// The bit of a plain read whose value only begins a loop of compare-and-swap operations.
pub(crate) const GUESS: u32 = 1 << 19;

/// The number of slots for shapes of addresses; see `direct`.
pub(crate) const SLOTS: usize = 15;

/// The lowest of the four bits of the slot, plus one. Zero is the slot of a shape that is used once.
const SLOT: u32 = 8;

/// The bit of an access whose slot holds the shape of its addresses.
pub(super) const KEPT: u32 = 1 << 12;

/// Encodes the slot of an access that observes a shape for others.
pub(crate) fn slot_bits(slot: usize) -> u32 {
    (slot as u32 + 1) << SLOT
}

/// Encodes the slot of an access that finds a shape there.
pub(crate) fn kept_bits(slot: usize) -> u32 {
    slot_bits(slot) | KEPT
}

/// Decodes the slot, plus one.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
pub(crate) fn slot(code: u32) -> usize {
    (code >> SLOT & 0xf) as usize
}

/// Whether an earlier access has observed the shape.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
pub(crate) fn is_kept(code: u32) -> bool {
    code & KEPT != 0
}

/// The bit of a load that may update in place, and of a store that its value reaches.
pub(crate) const IN_PLACE: u32 = 1 << 22;

/// The bit of a read by the read-only path.
pub(crate) const READ_ONLY: u32 = 1 << 23;

/// The lowest of the two bits of the strength.
const STRENGTH: u32 = 20;

/// The lowest of the two bits of the scope.
const SCOPE: u32 = 28;

/// The bit of an acquiring access.
pub(crate) const ACQUIRES: u32 = 1 << 30;

/// The bit of a compare-and-swap operation, which may write nothing.
pub(crate) const COMPARES: u32 = 1 << 31;

/// The scopes by their codes. The scope of the device has no bits.
const SCOPES: [Scope; 4] = [Scope::Device, Scope::Block, Scope::Cluster, Scope::System];

/// Encodes a scope in two bits.
pub(super) fn scope_code(scope: Scope) -> u32 {
    match scope {
        Scope::Device => 0,
        Scope::Block => 1,
        Scope::Cluster => 2,
        Scope::System => 3,
    }
}

/// Decodes a scope of the lowest two bits.
pub(super) fn scope_of(code: u32) -> Scope {
    SCOPES[code as usize & 3]
}

/// The strength of a fence for other launches, by its scope.
pub(super) fn strength_of(scope: Scope) -> Strength {
    match scope {
        Scope::System => Strength::System,
        Scope::Device => Strength::Device,
        Scope::Block | Scope::Cluster => Strength::Weak,
    }
}

/// Encodes the scope of an access.
pub(crate) fn scope_bits(scope: Scope) -> u32 {
    scope_code(scope) << SCOPE
}

/// Decodes a strong operation. `result` states whether it has one.
pub(super) fn strong(code: u32, kind: Kind, result: bool) -> Strong {
    let scope = scope_of(code >> SCOPE);
    Strong { kind, scope, acquires: code & ACQUIRES != 0, releases: code & RELEASES != 0, result, step: None }
}

/// Decodes the strength.
#[inline(always)]
pub(super) fn strength(code: u32) -> Strength {
    match code >> STRENGTH & 3 {
        0 => Strength::Weak,
        1 => Strength::Device,
        _ => Strength::System,
    }
}

/// Encodes a strength.
pub(crate) fn strength_bits(strength: Strength) -> u32 {
    (strength as u32) << STRENGTH
}

/// The lowest of the bits with the number of last elements whose values nothing uses.
const UNUSED: u32 = 24;

/// Decodes the number of last elements whose values nothing uses.
pub(super) fn unused_elements(code: u32) -> u32 {
    code >> UNUSED & 0xf
}

/// Encodes the number of last elements whose values nothing uses.
pub(crate) fn unused_bits(count: u32) -> u32 {
    count << UNUSED
}

/// Decodes the number of elements.
pub(super) fn elements(code: u32) -> u32 {
    code >> COUNT & 0xf
}

impl Mode {
    /// The mode of one element without memory ordering.
    pub(crate) fn new(space: Space, wide: bool) -> Mode {
        Mode {
            space,
            wide,
            count: 1,
            strong: false,
            releases: false,
            acquires: false,
            scope: Scope::Device,
            updates: false,
            strength: Strength::Weak,
            read_only: false,
        }
    }

    pub(crate) fn code(self) -> u32 {
        let space = match self.space {
            Space::Generic => GENERIC,
            Space::Global | Space::Const => GLOBAL,
            Space::Shared => SHARED,
            Space::Local => LOCAL,
            Space::Param => PARAM,
        };
        let flags = [
            (self.wide, WIDE),
            (self.strong, STRONG),
            (self.releases, RELEASES),
            (self.acquires, ACQUIRES),
            (self.updates, UPDATES),
            (self.read_only, READ_ONLY),
        ];
        let flags = flags.iter().fold(0, |code, (holds, bit)| if *holds { code | bit } else { code });
        space | self.count << COUNT | flags | scope_bits(self.scope) | strength_bits(self.strength)
    }
}
