//! Host functions that are running.

use cuarray_races::Clock;

/// A running host function.
pub(crate) struct Running {
    /// The id of its thread in the operating system.
    pub thread: i32,
    /// The clock of its operation.
    pub clock: Clock,
}
