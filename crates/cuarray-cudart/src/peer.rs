//! Access to the memory of other devices.
//!
//! Runtime API: [peer device memory access](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__PEER.html).

use crate::call::present;
use crate::context;
use crate::driver::cu;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_int, c_uint};

pub(crate) unsafe fn cudaDeviceGetP2PAttribute(
    api: &Api,
    value: *mut c_int,
    attr: cudaDeviceP2PAttr,
    src_device: c_int,
    dst_device: c_int,
) -> Result {
    present(value)?;
    cu!(api.cuDeviceGetP2PAttribute(value, attr, src_device, dst_device))
}

pub(crate) unsafe fn cudaDeviceCanAccessPeer(
    api: &Api,
    can_access_peer: *mut c_int,
    device: c_int,
    peer_device: c_int,
) -> Result {
    present(can_access_peer)?;
    cu!(api.cuDeviceCanAccessPeer(can_access_peer, device, peer_device))
}

/// Lets the current context access the memory of another device's primary context.
pub(crate) unsafe fn cudaDeviceEnablePeerAccess(api: &Api, peer_device: c_int, flags: c_uint) -> Result {
    cu!(api.cuCtxEnablePeerAccess(context::primary(api, peer_device)?, flags))
}

pub(crate) unsafe fn cudaDeviceDisablePeerAccess(api: &Api, peer_device: c_int) -> Result {
    cu!(api.cuCtxDisablePeerAccess(context::primary(api, peer_device)?))
}

pub(crate) unsafe fn cudaDeviceGetP2PAtomicCapabilities(
    api: &Api,
    capabilities: *mut c_uint,
    operations: *const cudaAtomicOperation,
    count: c_uint,
    src_device: c_int,
    dst_device: c_int,
) -> Result {
    present(capabilities)?;
    present(operations)?;
    cu!(api.cuDeviceGetP2PAtomicCapabilities(capabilities, operations, count, src_device, dst_device))
}
