//! The types of device resources, which green contexts divide.
//!
//! Driver API: [green contexts](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GREEN__CONTEXTS.html).
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use crate::types::{constants, handles};
use crate::{CUdevice, CUresult};
use std::ffi::c_uint;

handles! {
    /// A description of resources, from which green contexts are created. It is valid for the process's lifetime.
    CUdevResourceDesc;
}

constants! {
    CUdevResourceType = c_uint {
        CU_DEV_RESOURCE_TYPE_INVALID = 0, CU_DEV_RESOURCE_TYPE_SM = 1, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG = 1000,
        CU_DEV_RESOURCE_TYPE_WORKQUEUE = 10000,
    }
    CUgreenCtxCreate_flags = c_uint { CU_GREEN_CTX_NONE = 0, CU_GREEN_CTX_DEFAULT_STREAM = 1 }
    CUdevSmResourceGroup_flags = c_uint {
        CU_DEV_SM_RESOURCE_GROUP_BACKFILL = 1, CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID = 2,
        CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_SUPPLEMENTAL_SMS = 4,
    }
    CUdevSmResourceSplitByCount_flags = c_uint {
        CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING = 1, CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE = 2,
    }
    CUdevWorkqueueConfigScope = c_uint {
        CU_WORKQUEUE_SCOPE_DEVICE_CTX = 0, CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED = 1,
    }
}

/// Multiprocessors of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUdevSmResource {
    pub smCount: c_uint,
    pub minSmPartitionSize: c_uint,
    pub smCoscheduledAlignment: c_uint,
    pub flags: c_uint,
    pub localityDomainId: c_uint,
}

/// The expected use of a device's work queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUdevWorkqueueConfigResource {
    pub device: CUdevice,
    pub wqConcurrencyLimit: c_uint,
    pub sharingScope: CUdevWorkqueueConfigScope,
}

/// The work queues of a context. Its contents belong to the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUdevWorkqueueResource {
    pub reserved: [c_uint; 10],
}

/// The member of a resource that its type names.
#[derive(Clone, Copy)]
#[repr(C)]
pub union CUdevResourceMember {
    pub sm: CUdevSmResource,
    pub wqConfig: CUdevWorkqueueConfigResource,
    pub wq: CUdevWorkqueueResource,
}

/// A resource of a device. `internal` belongs to the driver.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CUdevResource {
    pub kind: CUdevResourceType,
    pub internal: [c_uint; 23],
    pub member: CUdevResourceMember,
    pub nextResource: *mut CUdevResource,
}

impl Default for CUdevResource {
    fn default() -> Self {
        CUdevResource {
            kind: CU_DEV_RESOURCE_TYPE_INVALID,
            internal: [0; 23],
            member: CUdevResourceMember { wq: CUdevWorkqueueResource::default() },
            nextResource: std::ptr::null_mut(),
        }
    }
}

impl CUdevResource {
    /// The multiprocessors.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_RESOURCE_TYPE` for a resource of another type.
    pub fn sm(&self) -> Result<CUdevSmResource, CUresult> {
        match self.kind {
            // SAFETY: all members consist of integers, and every member lies within the 40 bytes of `wq`.
            CU_DEV_RESOURCE_TYPE_SM => Ok(unsafe { self.member.sm }),
            _ => Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE),
        }
    }

    /// The work queues.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_RESOURCE_TYPE` for a resource of another type.
    pub fn workqueue(&self) -> Result<CUdevWorkqueueResource, CUresult> {
        match self.kind {
            // SAFETY: all members consist of integers, and this is the longest one.
            CU_DEV_RESOURCE_TYPE_WORKQUEUE => Ok(unsafe { self.member.wq }),
            _ => Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE),
        }
    }

    /// The use of work queues.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_RESOURCE_TYPE` for a resource of another type.
    pub fn workqueue_config(&self) -> Result<CUdevWorkqueueConfigResource, CUresult> {
        match self.kind {
            // SAFETY: all members consist of integers, and every member lies within the 40 bytes of `wq`.
            CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG => Ok(unsafe { self.member.wqConfig }),
            _ => Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE),
        }
    }
}

/// The requirements of a group of multiprocessors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CU_DEV_SM_RESOURCE_GROUP_PARAMS {
    pub smCount: c_uint,
    pub coscheduledSmCount: c_uint,
    pub preferredCoscheduledSmCount: c_uint,
    pub flags: c_uint,
    pub localityDomainId: c_uint,
    pub reserved: [c_uint; 11],
}

const _: () = assert!(size_of::<CUdevResource>() == 144 && size_of::<CU_DEV_SM_RESOURCE_GROUP_PARAMS>() == 64);
