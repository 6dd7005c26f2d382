//! Unified addressing: what a pointer points to.
//!
//! Memory that the driver does not know is of the type *unregistered*, which is no error.
//!
//! Runtime API: [unified addressing](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__UNIFIED.html).

use crate::call::put;
use crate::driver::cu;
use crate::memory::{address, pointer};
use crate::result::Result;
use crate::types::*;
use cuarray_abi::{
    Api, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
    CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

/// `cudaMemoryTypeUnregistered`
const UNREGISTERED: cudaMemoryType = 0;
/// `cudaMemoryTypeManaged`
const MANAGED: cudaMemoryType = 3;
/// `cudaInvalidDeviceId`
const INVALID_DEVICE: c_int = -2;

/// The attributes of CUDA 12; CUDA 13 adds reserved words.
#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
#[repr(C)]
struct cudaPointerAttributes_of_12 {
    kind: cudaMemoryType,
    device: c_int,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
}

/// The attributes of CUDA 13.
#[allow(non_camel_case_types)]
#[repr(C)]
struct cudaPointerAttributes_of_13 {
    attributes: cudaPointerAttributes_of_12,
    /// −1: the allocation is in no locality domain.
    locality_domain: c_int,
    padding: c_int,
    reserved: [i64; 7],
}

fn attributes(api: &Api, ptr: *const c_void) -> Result<cudaPointerAttributes_of_12> {
    let (mut kind, mut managed): (c_uint, c_uint) = (0, 0);
    let (mut device, mut device_pointer, mut host_pointer) = (INVALID_DEVICE, 0_u64, ptr::null_mut::<c_void>());
    let mut names = [
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER,
        CU_POINTER_ATTRIBUTE_IS_MANAGED,
    ];
    let mut values: [*mut c_void; 5] = [
        (&raw mut kind).cast(),
        (&raw mut device).cast(),
        (&raw mut device_pointer).cast(),
        (&raw mut host_pointer).cast(),
        (&raw mut managed).cast(),
    ];
    cu!(api.cuPointerGetAttributes(names.len() as c_uint, names.as_mut_ptr(), values.as_mut_ptr(), address(ptr)))?;
    if kind == UNREGISTERED {
        let host_pointer = ptr.cast_mut();
        return Ok(cudaPointerAttributes_of_12 {
            kind,
            device: INVALID_DEVICE,
            device_pointer: ptr::null_mut(),
            host_pointer,
        });
    }
    let kind = if managed != 0 { MANAGED } else { kind };
    Ok(cudaPointerAttributes_of_12 { kind, device, device_pointer: pointer(device_pointer), host_pointer })
}

pub(crate) unsafe fn cudaPointerGetAttributes(
    api: &Api,
    attributes_out: *mut cudaPointerAttributes,
    ptr: *const c_void,
) -> Result {
    let attributes = attributes(api, ptr)?;
    let value = cudaPointerAttributes_of_13 { attributes, locality_domain: -1, padding: 0, reserved: [0; 7] };
    // SAFETY: by the contract of this function.
    unsafe { put(attributes_out.cast(), value) }
}

/// The attributes with the structure of CUDA 12.
pub(crate) unsafe fn cudaPointerGetAttributes_v1(
    api: &Api,
    attributes_out: *mut cudaPointerAttributes,
    ptr: *const c_void,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { put(attributes_out.cast(), attributes(api, ptr)?) }
}

const _: () = {
    assert!(size_of::<cudaPointerAttributes_of_12>() == 24);
    assert!(size_of::<cudaPointerAttributes_of_13>() == 88);
};
