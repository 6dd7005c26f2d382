//! Managed tensors of our own: an array, until a consumer calls the deleter.
//!
//! A consumer may do that anywhere: see [`KeptArray`]. The numbers that a tensor points to are the array's.

use super::capsule::Managed;
use crate::{
    Result,
    dlpack::abi::{DLManagedTensor, DLManagedTensorVersioned, IS_COPIED, READ_ONLY, VERSION},
    python::{device_array::PyDeviceArray, kept::KeptArray},
};
use pyo3::prelude::*;
use std::ptr::NonNull;

/// What a managed tensor keeps; `manager_ctx` is the box of it.
struct Kept<T> {
    tensor: T,
    _array: KeptArray,
}

/// A tensor of version 1, which says all that there is to say.
///
/// # Errors
/// As [`PyDeviceArray::tensor`].
pub(super) fn versioned(array: &Bound<'_, PyDeviceArray>, is_copy: bool) -> Result<Managed> {
    let flags =
        if array.get().interface().is_read_only() { READ_ONLY } else { 0 } | if is_copy { IS_COPIED } else { 0 };
    let tensor = DLManagedTensorVersioned {
        version: VERSION,
        manager_ctx: std::ptr::null_mut(),
        deleter: Some(delete_versioned),
        flags,
        dl_tensor: array.get().tensor()?,
    };
    let kept = keep(tensor, array);
    // SAFETY: `kept` is a box of ours; the tensor is in it.
    unsafe {
        let tensor = &raw mut (*kept.as_ptr()).tensor;
        (*tensor).manager_ctx = kept.as_ptr().cast();
        Ok(Managed::Versioned(NonNull::new_unchecked(tensor)))
    }
}

/// A tensor as it was before version 1, for a consumer that names no version. It cannot say that it is read-only, or a copy.
///
/// # Errors
/// As [`PyDeviceArray::tensor`].
pub(super) fn legacy(array: &Bound<'_, PyDeviceArray>) -> Result<Managed> {
    let dl_tensor = array.get().tensor()?;
    let tensor = DLManagedTensor { dl_tensor, manager_ctx: std::ptr::null_mut(), deleter: Some(delete_legacy) };
    let kept = keep(tensor, array);
    // SAFETY: `kept` is a box of ours; the tensor is in it.
    unsafe {
        let tensor = &raw mut (*kept.as_ptr()).tensor;
        (*tensor).manager_ctx = kept.as_ptr().cast();
        Ok(Managed::Legacy(NonNull::new_unchecked(tensor)))
    }
}

fn keep<T>(tensor: T, array: &Bound<'_, PyDeviceArray>) -> NonNull<Kept<T>> {
    NonNull::from(Box::leak(Box::new(Kept { tensor, _array: KeptArray::new(array) })))
}

/// # Safety
/// Called once, with a tensor of [`versioned`], or with null, which is let pass.
unsafe extern "C" fn delete_versioned(tensor: *mut DLManagedTensorVersioned) {
    if !tensor.is_null() {
        // SAFETY: this function's contract; the context is the box that the tensor is in.
        unsafe { drop(Box::from_raw((*tensor).manager_ctx.cast::<Kept<DLManagedTensorVersioned>>())) }
    }
}

/// # Safety
/// As [`delete_versioned`], of [`legacy`].
unsafe extern "C" fn delete_legacy(tensor: *mut DLManagedTensor) {
    if !tensor.is_null() {
        // SAFETY: this function's contract; the context is the box that the tensor is in.
        unsafe { drop(Box::from_raw((*tensor).manager_ctx.cast::<Kept<DLManagedTensor>>())) }
    }
}
