//! Steps of several instructions on processors for which none are written.

use crate::machine::program::Exec;

/// See `fused`.
pub(crate) const FIRST_USED: u32 = 1;
pub(crate) const SECOND_USED: u32 = 2;

/// Returns the function of the load alone.
pub(crate) fn loads_and_multiply_add(alone: Exec) -> Exec {
    alone
}
