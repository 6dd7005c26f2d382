//! Capsules pass a managed tensor from one Python library to another.
//!
//! The name of a capsule says whether its tensor can still be taken. A consumer renames the capsule, and must then call the deleter. A
//! capsule whose tensor was not taken calls the deleter itself. So the tensor always has exactly one owner, and its deleter is called once.

use super::reach;
use crate::python::ffi::{capsule, inspect::type_name};
use crate::{
    Error, Interface, Result,
    exchange::dlpack::{
        abi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor, IS_COPIED, READ_ONLY, SUBBYTE_PADDED, VERSION},
        tensor,
    },
};
use pyo3::{ffi, prelude::*, types::PyCapsule};
use std::{ffi::CStr, ptr::NonNull};

const LEGACY: &CStr = c"dltensor";
const LEGACY_USED: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const VERSIONED_USED: &CStr = c"used_dltensor_versioned";

/// A managed tensor that this library has to delete.
pub(in crate::python) enum Managed {
    Legacy(NonNull<DLManagedTensor>),
    Versioned(NonNull<DLManagedTensorVersioned>),
}

// SAFETY: a managed tensor allows its consumer to read it, and to call its deleter, in any thread.
unsafe impl Send for Managed {}
// SAFETY: through a shared reference it is only read.
unsafe impl Sync for Managed {}

impl Managed {
    /// Takes a tensor out of a capsule.
    ///
    /// # Errors
    /// [`Error::is_not_an_array`]: the object is no capsule of that name. Invalid argument: the tensor was already taken.
    pub(in crate::python) fn take(capsule: &Bound<'_, PyAny>) -> Result<Managed> {
        let Ok(capsule) = capsule.cast::<PyCapsule>() else {
            return Err(Error::not_an_array(format!(
                "__dlpack__ returned a {}; a PyCapsule is expected",
                type_name(capsule)
            )));
        };
        if let Some(tensor) = capsule::take(capsule, VERSIONED, VERSIONED_USED)? {
            return Ok(Managed::Versioned(tensor.cast()));
        }
        if let Some(tensor) = capsule::take(capsule, LEGACY, LEGACY_USED)? {
            return Ok(Managed::Legacy(tensor.cast()));
        }
        let is = |name| capsule::content(capsule, name).is_some();
        if is(VERSIONED_USED) || is(LEGACY_USED) {
            return Err(Error::argument(
                "the tensor of this DLPack capsule was taken already; a new capsule is expected",
            ));
        }
        Err(Error::not_an_array(
            "a PyCapsule of another protocol; a capsule named 'dltensor_versioned' or 'dltensor' is expected",
        ))
    }

    /// Puts the tensor into a capsule.
    pub(in crate::python) fn into_capsule(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let (tensor, name) = match &self {
            Managed::Legacy(tensor) => (tensor.cast(), LEGACY),
            Managed::Versioned(tensor) => (tensor.cast(), VERSIONED),
        };
        // SAFETY: the pointer is not null and the name is static; the result is an owned capsule, or null with an error set.
        let capsule = unsafe {
            let capsule = ffi::PyCapsule_New(tensor.as_ptr(), name.as_ptr(), Some(delete_untaken));
            Bound::from_owned_ptr_or_err(py, capsule)?
        };
        std::mem::forget(self); // The capsule owns the tensor now.
        Ok(capsule)
    }

    /// The tensor for a consumer in C, which must call its deleter. A legacy tensor is deleted, and gives `None`.
    pub(in crate::python) fn into_versioned(self) -> Option<NonNull<DLManagedTensorVersioned>> {
        let Managed::Versioned(tensor) = self else { return None };
        std::mem::forget(self);
        Some(tensor)
    }

    /// The interface of the tensor, without a stream.
    ///
    /// # Errors
    /// As [`tensor::read`]; the version is unknown.
    #[inline]
    pub(in crate::python) fn interface(&self) -> Result<Box<Interface>> {
        let (tensor, flags) = self.tensor()?;
        // SAFETY: a tensor has one length and one stride for each dimension.
        let mut interface = match unsafe { tensor::read(&tensor) } {
            Err(refused) if tensor.device.device_type == tensor::CPU => self.page_locked(refused)?,
            read => read?,
        };
        interface.set_read_only(flags & READ_ONLY != 0);
        Ok(interface)
    }

    /// The interface of a tensor in host memory that devices reach: PyTorch names the CPU for page-locked memory too.
    ///
    /// # Errors
    /// `refused`: the driver does not know the memory.
    #[cold]
    fn page_locked(&self, refused: Error) -> Result<Box<Interface>> {
        let host = self.host_interface()?;
        let device =
            reach::attributes(host.data()).ok().flatten().and_then(|found| reach::of_device(&found, host.data()));
        match device {
            Some(address) => Ok(Box::new(Interface::new(address, host.typestr(), host.layout().clone())?)),
            None => Err(refused),
        }
    }

    /// The interface of a tensor in host memory.
    ///
    /// # Errors
    /// As [`tensor::read_host`]; the version is unknown.
    pub(in crate::python) fn host_interface(&self) -> Result<Box<Interface>> {
        let (tensor, _) = self.tensor()?;
        // SAFETY: a tensor has one length and one stride for each dimension.
        unsafe { tensor::read_host(&tensor) }
    }

    /// Refuses a tensor that is marked as a copy, if `copy` is `Some(false)`.
    pub(in crate::python) fn refuse_copy(&self, object: &Bound<'_, PyAny>, copy: Option<bool>) -> Result<()> {
        if copy == Some(false) && self.tensor()?.1 & IS_COPIED != 0 {
            return Err(Error::unsupported(format!(
                "copy is False, and the DLPack tensor of a {} is marked as a copy (DLPACK_FLAG_BITMASK_IS_COPIED)",
                type_name(object)
            )));
        }
        Ok(())
    }

    /// The tensor and its flags.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: the major version is unknown, so only the offset of the deleter is certain; values of less than a
    /// byte have a byte each.
    pub(in crate::python) fn tensor(&self) -> Result<(DLTensor, u64)> {
        match self {
            // SAFETY: the capsule's name promises this structure, which lives until its deleter is called.
            Managed::Legacy(tensor) => Ok((unsafe { (&raw const (*tensor.as_ptr()).dl_tensor).read_unaligned() }, 0)),
            Managed::Versioned(tensor) => {
                let tensor = tensor.as_ptr();
                // SAFETY: the capsule's name promises this structure, which lives until its deleter is called; every version begins
                // with the version.
                let version = unsafe { (&raw const (*tensor).version).read_unaligned() };
                if version.major != VERSION.major {
                    return Err(Error::unsupported(format!(
                        "a DLPack tensor of version {}.{}; version {}.x is expected",
                        version.major, version.minor, VERSION.major
                    )));
                }
                // SAFETY: the structure lives until its deleter is called; this version has the other members at these offsets.
                let (tensor, flags) = unsafe {
                    ((&raw const (*tensor).dl_tensor).read_unaligned(), (&raw const (*tensor).flags).read_unaligned())
                };
                if flags & SUBBYTE_PADDED != 0 && tensor.dtype.bits < 8 {
                    return Err(padded());
                }
                Ok((tensor, flags))
            }
        }
    }
}

#[cold]
fn padded() -> Error {
    Error::unsupported(
        "the DLPack elements have less than 8 bits, padded to a byte each (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED); packed vectors of whole bytes are expected",
    )
}

impl Drop for Managed {
    /// Calls the deleter. It may wait for a thread that needs the GIL, so the caller should release the GIL first.
    fn drop(&mut self) {
        // SAFETY: the structure lives until its deleter is called, which happens once, here. Every version has the deleter at
        // the same offset.
        unsafe {
            match self {
                Managed::Legacy(tensor) => {
                    let tensor = tensor.as_ptr();
                    if let Some(delete) = (&raw const (*tensor).deleter).read_unaligned() {
                        delete(tensor);
                    }
                }
                Managed::Versioned(tensor) => {
                    let tensor = tensor.as_ptr();
                    if let Some(delete) = (&raw const (*tensor).deleter).read_unaligned() {
                        delete(tensor);
                    }
                }
            }
        }
    }
}

/// The destructor of this library's capsules.
///
/// # Safety
/// Called by Python with a capsule.
unsafe extern "C" fn delete_untaken(capsule: *mut ffi::PyObject) {
    // SAFETY: `capsule` is a capsule of this library, whose name tells its content.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            if let Some(tensor) = NonNull::new(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr())) {
                drop(Managed::Versioned(tensor.cast()));
            }
        } else if ffi::PyCapsule_IsValid(capsule, LEGACY.as_ptr()) != 0
            && let Some(tensor) = NonNull::new(ffi::PyCapsule_GetPointer(capsule, LEGACY.as_ptr()))
        {
            drop(Managed::Legacy(tensor.cast()));
        }
    }
}
