//! The protocol: element types, layouts, masks, streams and versions. Plain data, without a driver and without Python.

pub(crate) mod descr;
pub(crate) mod element;
pub(crate) mod interface;
pub(crate) mod layout;
pub(crate) mod padding;
pub(crate) mod stream_entry;
pub(crate) mod typestr;
pub(crate) mod version;
