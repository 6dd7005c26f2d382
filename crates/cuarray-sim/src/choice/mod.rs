//! Choices of a schedule: their notation, and the sources that they come from.

pub(crate) mod choices;
pub(crate) mod random;
pub(crate) mod scheduler;
