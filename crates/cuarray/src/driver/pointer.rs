//! [`PointerAttributes`]: what the driver knows of an address.
//!
//! An array from somebody else is an address; which device it is on, whether the host may read it, and where its
//! allocation ends, only the driver knows. One call answers all of it: the plural `cuPointerGetAttributes`, which,
//! unlike the singular one, does not fail for an address that the driver does not know but leaves each answer at
//! nothing.
//!
//! Clause A1. Driver API: [unified addressing](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__UNIFIED.html).

use super::{CUcontext, Driver, call};
use crate::Result;
use cuarray_abi::{
    CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
    CUdeviceptr, CUmemorytype,
};
use std::{
    ffi::{c_int, c_void},
    ops::Range,
};

/// Where the memory of an address physically is; managed memory counts as the device's.
///
/// ```
/// # use cuarray::{Driver, driver::{Allocation, MemoryType, PointerAttributes}};
/// # cuarray::__simulated!(driver);
/// let memory = Allocation::pinned(&driver.default_context()?, 64)?;
/// let known = PointerAttributes::query(&driver, memory.device_ptr())?.expect("it is the driver's");
/// assert_eq!(known.memory_type, MemoryType::Host);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryType {
    /// The host's memory.
    Host,
    /// A device's memory.
    Device,
    /// A type that only a newer version of this crate knows, by the driver's number.
    Other(CUmemorytype),
}

/// What the driver knows of an address.
///
/// ```
/// # use cuarray::{Driver, driver::{Allocation, MemoryType, PointerAttributes}};
/// # cuarray::__simulated!(driver);
/// let context = driver.device(0)?.primary_context()?;
/// let memory = Allocation::device(&context, 1024)?;
/// let known = PointerAttributes::query(&driver, memory.device_ptr() + 100)?.unwrap();
/// assert_eq!((known.memory_type, known.device_ordinal), (MemoryType::Device, Some(0)));
/// assert_eq!(known.range, Some(memory.device_ptr()..memory.device_ptr() + 1024));
/// assert!(!known.is_host_accessible());
///
/// let ours = [0u8; 4];
/// assert_eq!(PointerAttributes::query(&driver, ours.as_ptr().addr() as u64)?, None);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PointerAttributes {
    /// The context that the memory was allocated in; stream-ordered and managed memory may have none.
    pub context: Option<CUcontext>,
    /// The device that the memory is on, or that its context is of.
    pub device_ordinal: Option<i32>,
    /// Where the memory is.
    pub memory_type: MemoryType,
    /// The address by which kernels reach it.
    pub device_ptr: u64,
    /// The address by which the host reaches it, if it does.
    pub host_ptr: Option<u64>,
    /// Whether the driver moves the memory to whoever uses it.
    pub is_managed: bool,
    /// The device addresses of the whole allocation that the address lies in.
    pub range: Option<Range<u64>>,
}

impl PointerAttributes {
    /// What the driver knows of `ptr`, `None` if it knows nothing: ordinary host memory, or no memory at all.
    ///
    /// Driver API: [`cuPointerGetAttributes`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__UNIFIED.html).
    pub fn query(driver: &Driver, ptr: u64) -> Result<Option<PointerAttributes>> {
        let mut context = CUcontext::NULL;
        let mut memory_type: CUmemorytype = 0;
        let (mut device_ptr, mut host_ptr, mut start): (CUdeviceptr, usize, CUdeviceptr) = (0, 0, 0);
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
        let mut answers: [*mut c_void; 8] = [
            (&raw mut context).cast(),
            (&raw mut memory_type).cast(),
            (&raw mut device_ptr).cast(),
            (&raw mut host_ptr).cast(),
            (&raw mut managed).cast(),
            (&raw mut ordinal).cast(),
            (&raw mut start).cast(),
            (&raw mut size).cast(),
        ];
        // SAFETY: there are as many answers as attributes, each of at least the size that the manual gives its
        // attribute (for the boolean, which is given no size, four bytes that begin as zero), and all outlive the call.
        // The address is only looked up.
        unsafe {
            call!(
                driver,
                cuPointerGetAttributes(attributes.len() as u32, attributes.as_mut_ptr(), answers.as_mut_ptr(), ptr)
            )
        }?;
        if memory_type == 0 {
            return Ok(None);
        }
        Ok(Some(PointerAttributes {
            context: (!context.is_null()).then_some(context),
            device_ordinal: (ordinal >= 0).then_some(ordinal),
            memory_type: match memory_type {
                CU_MEMORYTYPE_HOST => MemoryType::Host,
                CU_MEMORYTYPE_DEVICE => MemoryType::Device,
                other => MemoryType::Other(other),
            },
            device_ptr,
            host_ptr: (host_ptr != 0).then_some(host_ptr as u64),
            is_managed: managed != 0,
            range: start.checked_add(size as u64).filter(|_| size != 0).map(|end| start..end),
        }))
    }

    /// Whether the host may read and write the memory at [`host_ptr`](Self::host_ptr).
    #[doc(hidden)]
    pub fn is_host_accessible(&self) -> bool {
        self.host_ptr.is_some()
    }
}
