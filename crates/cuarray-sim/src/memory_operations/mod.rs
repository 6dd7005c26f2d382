//! Operations of streams on words of memory: waits, writes and reductions, their C functions and their execution.
//!
//! An operation as data is an [object](crate::objects::memory_operation), because streams and graphs hold it. A wait that blocks
//! its stream is part of the [execution](crate::execution), which runs other work meanwhile.

pub(crate) mod exports;
pub(crate) mod work;
