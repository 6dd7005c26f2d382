//! DLPack between Python objects: capsules, the methods of the array API standard, and the C exchange table.
//!
//! The structures and what they mean are in [`crate::dlpack`]; ordering is done by [`crate::order`], as for the CUDA Array
//! Interface. [`consume`] is `from_dlpack`, [`produce`] is `__dlpack__`, [`exchange`] both ways at the speed of C.

mod capsule;
pub(super) mod consume;
pub(super) mod exchange;
mod managed;
mod owner;
pub(super) mod produce;

pub(super) use capsule::Managed;
pub(super) use owner::PyDLPackTensor;
