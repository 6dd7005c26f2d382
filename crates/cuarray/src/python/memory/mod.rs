//! Driver, streams, events and memory as Python classes, and the objects that keep memory alive.

pub(in crate::python) mod array_owner;
pub(in crate::python) mod bounds;
pub(in crate::python) mod c_array;
pub(in crate::python) mod capsule;
pub(in crate::python) mod contexts;
pub mod event;
pub(in crate::python) mod event_pools;
pub(in crate::python) mod owner;
pub(in crate::python) mod pointer;
pub(in crate::python) mod reach;
pub(in crate::python) mod runtime;
pub mod stream;
pub(in crate::python) mod tensor;
