//! [`PointerAttributes`]: the driver's record of an address.
//!
//! An array from another library is an address. Only the driver knows its device, whether the host may read it, and the end of its
//! allocation. One call returns all of that: `cuPointerGetAttributes`. Unlike the singular `cuPointerGetAttribute`, it does not
//! fail for an unknown address, but leaves each value empty.
//!
//! Clause A1. Driver API: [unified addressing](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__UNIFIED.html).

use super::{CUcontext, CUresult, Driver, MemoryKind, call};
use crate::{DevicePtr, Result};
use cuarray_abi::{
    CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
    CUmemorytype,
};
use std::{
    ffi::{c_int, c_void},
    ops::Range,
};

/// The driver's record of an address.
///
/// ```
/// # use cuarray::{Driver, driver::{Allocation, MemoryKind, PointerAttributes}};
/// # cuarray::__simulated!(driver);
/// let context = driver.device(0)?.primary_context()?;
/// let memory = Allocation::device(&context, 1024)?;
/// let attributes = PointerAttributes::query(&driver, memory.device_ptr() + 100)?.unwrap();
/// assert_eq!((attributes.kind, attributes.device_ordinal), (MemoryKind::Device, Some(0)));
/// assert_eq!(attributes.range, Some(memory.device_ptr()..memory.device_ptr() + 1024));
/// assert_eq!(attributes.host_ptr, None);
///
/// let on_the_stack = [0u8; 4];
/// assert_eq!(PointerAttributes::query(&driver, on_the_stack.as_ptr().addr() as u64)?, None);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PointerAttributes {
    /// The context that the memory was allocated in. Stream-ordered and managed memory may have none.
    pub context: Option<CUcontext>,
    /// The device of the memory, or of its context.
    pub device_ordinal: Option<i32>,
    /// The kind of the memory, as far as the driver distinguishes kinds: it reports stream-ordered memory as [`MemoryKind::Device`],
    /// and all page-locked host memory as [`MemoryKind::Pinned`].
    pub kind: MemoryKind,
    /// The address for kernels.
    pub device_ptr: DevicePtr,
    /// The address for the host, if the host can access the memory.
    pub host_ptr: Option<u64>,
    /// The device addresses of the allocation that contains the address.
    pub range: Option<Range<DevicePtr>>,
}

impl PointerAttributes {
    /// The attributes of `ptr`; `None` if the driver does not know the address: ordinary host memory, or no memory.
    ///
    /// Driver API: [`cuPointerGetAttributes`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__UNIFIED.html).
    pub fn query(driver: &Driver, ptr: DevicePtr) -> Result<Option<PointerAttributes>> {
        let mut context = CUcontext::NULL;
        let mut memory_type: CUmemorytype = 0;
        let (mut device_ptr, mut host_ptr, mut start): (DevicePtr, usize, DevicePtr) = (0, 0, 0);
        let mut managed = 0u32;
        let mut ordinal: c_int = -1;
        let mut size = 0usize;
        let mut attributes = [
            CU_POINTER_ATTRIBUTE_CONTEXT,
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
            CU_POINTER_ATTRIBUTE_HOST_POINTER,
            CU_POINTER_ATTRIBUTE_IS_MANAGED,
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        ];
        let mut values: [*mut c_void; 8] = [
            (&raw mut context).cast(),
            (&raw mut memory_type).cast(),
            (&raw mut device_ptr).cast(),
            (&raw mut host_ptr).cast(),
            (&raw mut managed).cast(),
            (&raw mut ordinal).cast(),
            (&raw mut start).cast(),
            (&raw mut size).cast(),
        ];
        // SAFETY: there is one value per attribute, of at least the size in the manual. (The manual gives no size for the boolean;
        // it has four bytes, initially zero.) All outlive the call. The driver only looks the address up.
        let queried = unsafe {
            call!(
                driver,
                cuPointerGetAttributes(attributes.len() as u32, attributes.as_mut_ptr(), values.as_mut_ptr(), ptr)
            )
        };
        if let Err(error) = queried {
            // For memory that a graph has yet to allocate, some drivers fail instead of returning no attributes.
            let invalid = error.driver_code() == Some(CUresult::CUDA_ERROR_INVALID_VALUE);
            return if invalid && !is_known(driver, ptr)? { Ok(None) } else { Err(error) };
        }
        if memory_type == 0 {
            return Ok(None);
        }
        Ok(Some(PointerAttributes {
            context: (!context.is_null()).then_some(context),
            device_ordinal: (ordinal >= 0).then_some(ordinal),
            kind: match memory_type {
                _ if managed != 0 => MemoryKind::Managed,
                CU_MEMORYTYPE_HOST => MemoryKind::Pinned,
                CU_MEMORYTYPE_DEVICE => MemoryKind::Device,
                other => MemoryKind::Other(other),
            },
            device_ptr,
            host_ptr: (host_ptr != 0).then_some(host_ptr as u64),
            range: start.checked_add(size as u64).filter(|_| size != 0).map(|end| start..end),
        }))
    }

    /// Whether the host may read and write the memory at [`host_ptr`](Self::host_ptr).
    pub(crate) fn is_host_accessible(&self) -> bool {
        self.host_ptr.is_some()
    }
}

/// Whether the driver knows an address, by the call that fails for unknown ones.
#[cold]
fn is_known(driver: &Driver, ptr: DevicePtr) -> Result<bool> {
    let mut memory_type: CUmemorytype = 0;
    // SAFETY: the driver writes one int, which outlives the call. It only looks the address up.
    let queried = unsafe {
        call!(driver, cuPointerGetAttribute((&raw mut memory_type).cast(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr))
    };
    match queried {
        Ok(()) => Ok(true),
        Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_INVALID_VALUE) => Ok(false),
        Err(error) => Err(error),
    }
}
