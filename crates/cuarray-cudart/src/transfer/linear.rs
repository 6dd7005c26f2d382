//! Copies of consecutive bytes.

use super::*;
use crate::driver::cu;
use cuarray_abi::Api;

pub(crate) unsafe fn cudaMemcpy(
    api: &Api,
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Result {
    check_kind(kind)?;
    if count == 0 {
        return Ok(());
    }
    match kind {
        HOST_TO_DEVICE => cu!(api.cuMemcpyHtoD_v2(address(dst), src, count)),
        DEVICE_TO_HOST => cu!(api.cuMemcpyDtoH_v2(dst, address(src), count)),
        DEVICE_TO_DEVICE => cu!(api.cuMemcpyDtoD_v2(address(dst), address(src), count)),
        _ => cu!(api.cuMemcpy(address(dst), address(src), count)),
    }
}

pub(crate) unsafe fn cudaMemcpyAsync(
    api: &Api,
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result {
    check_kind(kind)?;
    if count == 0 {
        return Ok(());
    }
    match kind {
        HOST_TO_DEVICE => cu!(api.cuMemcpyHtoDAsync_v2(address(dst), src, count, stream)),
        DEVICE_TO_HOST => cu!(api.cuMemcpyDtoHAsync_v2(dst, address(src), count, stream)),
        DEVICE_TO_DEVICE => cu!(api.cuMemcpyDtoDAsync_v2(address(dst), address(src), count, stream)),
        _ => cu!(api.cuMemcpyAsync(address(dst), address(src), count, stream)),
    }
}
