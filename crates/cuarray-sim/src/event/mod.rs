//! Events: their C functions, and the records of events that processes share.
//!
//! An event as data is an [object](crate::objects::event), because the state holds it.

pub(crate) mod exports;
pub(crate) mod shared;
