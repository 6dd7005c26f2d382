//! Batches of copies, and copies with attributes. The structures and the errors are those of the driver.

use crate::call::present;
use crate::driver::cu;
use crate::memory::address;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::{Api, CUdeviceptr};
use std::ffi::{c_ulonglong, c_void};

pub(crate) unsafe fn cudaMemcpyBatchAsync(
    api: &Api,
    dsts: *const *mut c_void,
    srcs: *const *const c_void,
    sizes: *const usize,
    count: usize,
    attrs: *mut cudaMemcpyAttributes,
    attrs_idxs: *mut usize,
    num_attrs: usize,
    stream: cudaStream_t,
) -> Result {
    let (to, from) = (dsts.cast_mut().cast::<CUdeviceptr>(), srcs.cast_mut().cast::<CUdeviceptr>());
    cu!(api.cuMemcpyBatchAsync_v2(to, from, sizes.cast_mut(), count, attrs, attrs_idxs, num_attrs, stream))
}

/// The batch of CUDA 12, which returns the index of the copy that failed.
pub(crate) unsafe fn cudaMemcpyBatchAsync_v1(
    api: &Api,
    dsts: *mut *mut c_void,
    srcs: *mut *mut c_void,
    sizes: *mut usize,
    count: usize,
    attrs: *mut cudaMemcpyAttributes,
    attrs_idxs: *mut usize,
    num_attrs: usize,
    fail_idx: *mut usize,
    stream: cudaStream_t,
) -> Result {
    let (to, from) = (dsts.cast::<CUdeviceptr>(), srcs.cast::<CUdeviceptr>());
    cu!(api.cuMemcpyBatchAsync(to, from, sizes, count, attrs, attrs_idxs, num_attrs, fail_idx, stream))
}

pub(crate) unsafe fn cudaMemcpyWithAttributesAsync(
    api: &Api,
    dst: *mut c_void,
    src: *const c_void,
    size: usize,
    attr: *mut cudaMemcpyAttributes,
    stream: cudaStream_t,
) -> Result {
    present(attr)?;
    cu!(api.cuMemcpyWithAttributesAsync(address(dst), address(src), size, attr, stream))
}

pub(crate) unsafe fn cudaMemcpy3DBatchAsync(
    api: &Api,
    num_ops: usize,
    op_list: *mut cudaMemcpy3DBatchOp,
    flags: c_ulonglong,
    stream: cudaStream_t,
) -> Result {
    cu!(api.cuMemcpy3DBatchAsync_v2(num_ops, op_list, flags, stream))
}

/// The batch of CUDA 12, which returns the index of the copy that failed.
pub(crate) unsafe fn cudaMemcpy3DBatchAsync_v1(
    api: &Api,
    num_ops: usize,
    op_list: *mut cudaMemcpy3DBatchOp,
    fail_idx: *mut usize,
    flags: c_ulonglong,
    stream: cudaStream_t,
) -> Result {
    cu!(api.cuMemcpy3DBatchAsync(num_ops, op_list, fail_idx, flags, stream))
}

pub(crate) unsafe fn cudaMemcpy3DWithAttributesAsync(
    api: &Api,
    op: *mut cudaMemcpy3DBatchOp,
    flags: c_ulonglong,
    stream: cudaStream_t,
) -> Result {
    present(op)?;
    cu!(api.cuMemcpy3DWithAttributesAsync(op, flags, stream))
}
