//! Streams: their C functions, the stream that a handle names, and the wait for a stream.
//!
//! A stream as data is an [object](crate::objects::stream), because the state holds it. Its pending work, and its end once it is
//! drained, are part of the [execution](crate::execution), which all work shares.

pub(crate) mod exports;
pub(crate) mod lookup;
pub(crate) mod synchronize;
