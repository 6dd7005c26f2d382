//! Copies between the primary contexts of two devices.

use super::*;
use crate::context;
use crate::driver::cu;
use cuarray_abi::Api;
use std::ffi::c_int;

pub(crate) unsafe fn cudaMemcpyPeer(
    api: &Api,
    dst: *mut c_void,
    dst_device: c_int,
    src: *const c_void,
    src_device: c_int,
    count: usize,
) -> Result {
    let (to, from) = (context::primary(api, dst_device)?, context::primary(api, src_device)?);
    if count == 0 {
        return Ok(());
    }
    cu!(api.cuMemcpyPeer(address(dst), to, address(src), from, count))
}

pub(crate) unsafe fn cudaMemcpyPeerAsync(
    api: &Api,
    dst: *mut c_void,
    dst_device: c_int,
    src: *const c_void,
    src_device: c_int,
    count: usize,
    stream: cudaStream_t,
) -> Result {
    let (to, from) = (context::primary(api, dst_device)?, context::primary(api, src_device)?);
    if count == 0 {
        return Ok(());
    }
    cu!(api.cuMemcpyPeerAsync(address(dst), to, address(src), from, count, stream))
}
