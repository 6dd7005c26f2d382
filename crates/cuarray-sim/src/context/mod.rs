//! Contexts and devices: their C functions, and the begin and end of a context with everything that it owns.
//!
//! Contexts and devices as data are [objects](crate::objects::context), because the state holds them. A synchronization of a
//! context is part of the [execution](crate::execution), which runs its pending work.

pub(crate) mod exports;
mod lifetime;
mod resources;
