//! Pools of memory: their C functions, and the memory that they hand out.
//!
//! Pools as data are [objects](crate::objects::pool), because the state holds them. Other folders return memory to a pool there.

pub(crate) mod accounting;
pub(crate) mod exports;
