//! Managed tensors that this module creates: an array, or a copy of one in host memory, until a consumer calls the
//! deleter.
//!
//! The consumer may call the deleter in any thread: see [`Kept`]. It may be in C, so a panic ends in the deleter. The tensor of an array points to numbers that the
//! array owns.

use crate::python::memory::capsule::Managed;
use crate::{
    Interface, Result, TypeStr,
    exchange::dlpack::{
        abi::{DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor, IS_COPIED, READ_ONLY, VERSION},
        tensor::Prepared,
    },
    owner::drop_without_unwinding,
    python::{array::PyDeviceArray, ffi::kept::Kept, values::host::HostArray},
};
use pyo3::prelude::*;
use std::ptr::NonNull;

/// An array that a C structure keeps alive.
pub(super) type KeptArray = Kept<PyDeviceArray>;

/// A tensor with the object that it keeps alive; `manager_ctx` is the box that contains both.
struct Keeping<T, K> {
    tensor: T,
    _kept: K,
}

/// A tensor of version 1, which describes the array completely.
///
/// # Errors
/// As [`PyDeviceArray::tensor`].
pub(in crate::python) fn versioned(array: &Bound<'_, PyDeviceArray>, is_copy: bool) -> Result<Managed> {
    let flags =
        if array.get().interface().is_read_only() { READ_ONLY } else { 0 } | if is_copy { IS_COPIED } else { 0 };
    Ok(new_versioned(array.get().tensor()?, flags, KeptArray::new(array)))
}

/// A tensor from before version 1, for a consumer that names no version. It cannot mark an array read-only or copied.
///
/// # Errors
/// As [`PyDeviceArray::tensor`].
pub(in crate::python) fn legacy(array: &Bound<'_, PyDeviceArray>) -> Result<Managed> {
    Ok(new_legacy(array.get().tensor()?, KeptArray::new(array)))
}

/// The tensor of a copy in host memory that was made for the consumer, with elements of type `typestr`.
///
/// # Errors
/// As [`Prepared::new`].
pub(in crate::python) fn host_copy(
    host: &HostArray<'_>,
    typestr: TypeStr,
    device: DLDevice,
    is_versioned: bool,
) -> Result<Managed> {
    let interface = Interface::new(host.interface.data(), typestr, host.interface.layout().clone())?;
    let prepared = Prepared::new(&interface, device)?;
    let (tensor, kept) = (prepared.tensor(), (prepared, Kept::new(&host.array)));
    Ok(if is_versioned { new_versioned(tensor, IS_COPIED, kept) } else { new_legacy(tensor, kept) })
}

fn new_versioned<K>(dl_tensor: DLTensor, flags: u64, kept: K) -> Managed {
    let tensor = DLManagedTensorVersioned {
        version: VERSION,
        manager_ctx: std::ptr::null_mut(),
        deleter: Some(delete_versioned::<K>),
        flags,
        dl_tensor,
    };
    let keeping = keep(tensor, kept);
    // SAFETY: `keeping` is a leaked box, and the tensor is in it.
    unsafe {
        let tensor = &raw mut (*keeping.as_ptr()).tensor;
        (*tensor).manager_ctx = keeping.as_ptr().cast();
        Managed::Versioned(NonNull::new_unchecked(tensor))
    }
}

fn new_legacy<K>(dl_tensor: DLTensor, kept: K) -> Managed {
    let tensor = DLManagedTensor { dl_tensor, manager_ctx: std::ptr::null_mut(), deleter: Some(delete_legacy::<K>) };
    let keeping = keep(tensor, kept);
    // SAFETY: `keeping` is a leaked box, and the tensor is in it.
    unsafe {
        let tensor = &raw mut (*keeping.as_ptr()).tensor;
        (*tensor).manager_ctx = keeping.as_ptr().cast();
        Managed::Legacy(NonNull::new_unchecked(tensor))
    }
}

fn keep<T, K>(tensor: T, kept: K) -> NonNull<Keeping<T, K>> {
    NonNull::from(Box::leak(Box::new(Keeping { tensor, _kept: kept })))
}

/// # Safety
/// Called once with a tensor of [`new_versioned`] that keeps a `K`, or with null, which is ignored.
unsafe extern "C" fn delete_versioned<K>(tensor: *mut DLManagedTensorVersioned) {
    if !tensor.is_null() {
        // SAFETY: this function's contract; the context is the box that the tensor is in.
        let keeping = unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Keeping<DLManagedTensorVersioned, K>>()) };
        drop_without_unwinding(keeping);
    }
}

/// # Safety
/// As [`delete_versioned`], for [`new_legacy`].
unsafe extern "C" fn delete_legacy<K>(tensor: *mut DLManagedTensor) {
    if !tensor.is_null() {
        // SAFETY: this function's contract; the context is the box that the tensor is in.
        let keeping = unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Keeping<DLManagedTensor, K>>()) };
        drop_without_unwinding(keeping);
    }
}
