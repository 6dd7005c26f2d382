//! `__cuda_array_c_interface__` between Python objects (clause X1): capsules with the structure of [`crate::c_interface`].
//!
//! Ordering is that of the dictionary: the same streams, the same events, by the same code. [`produce`] is what a `DeviceArray`
//! answers, [`consume`] what `as_cuda_array` does with another library's.

pub(super) mod consume;
mod owner;
pub(super) mod produce;

pub(super) use owner::PyCArray;

use std::ffi::CStr;

/// The name of a capsule whose structure is there for the taking.
static UNTAKEN: &CStr = c"cuda_array_c_interface";
/// The name of a capsule whose structure somebody else releases.
static TAKEN: &CStr = c"used_cuda_array_c_interface";
