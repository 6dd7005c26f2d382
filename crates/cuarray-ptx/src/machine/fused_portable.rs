//! Steps of several instructions on processors for which none are written.

use crate::machine::program::Exec;

/// Returns the function of the load alone.
pub(crate) fn loads_and_multiply_add(alone: Exec) -> Exec {
    alone
}
