//! The order and the scope of an access, and what is noted of an atomic operation until its function is complete.

use super::in_place::Place;
use crate::machine::Strength;
use crate::machine::access_mode::{ACQUIRES, RELEASES, Scope, scope_bits, strength_bits};

/// The order and the scope that an access states.
pub(super) struct Ordering {
    /// Whether the access synchronizes, and so can reveal the order of blocks. Atomic operations are strong without this.
    pub strong: bool,
    pub releases: bool,
    pub acquires: bool,
    pub scope: Scope,
    /// Its strength for other launches, if it is strong or atomic.
    pub strength: Strength,
}

impl Ordering {
    /// The bits of an atomic operation's mode.
    pub(super) fn bits(&self) -> u32 {
        let order = if self.acquires { ACQUIRES } else { 0 } | if self.releases { RELEASES } else { 0 };
        order | scope_bits(self.scope) | strength_bits(self.strength)
    }
}

/// An atomic operation of a function.
pub(super) struct Atomic {
    pub place: Place,
    pub shared: bool,
    pub ordering: Ordering,
    /// Whether `red` has the operation.
    pub reducible: bool,
    /// Whether the memory behind several operations does not depend on their order.
    pub exact: bool,
}
