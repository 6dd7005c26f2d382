//! Copies of raw memory.
//!
//! Each function takes an optional stream. With a stream, the copy is enqueued there and the call returns; the memory has to live
//! until the copy is done. Without one, the driver's blocking form runs after the legacy default stream's work. If host memory is
//! involved, that form returns when the host memory may be reused. (A copy within the device is ordered before all later
//! work of the default stream, but the host does not wait for it.)
//!
//! A copy of 0 bytes makes no call, so null addresses are valid for it. See [`fill`](super::fill) for fills.
//!
//! ```
//! # use cuarray::{Driver, Stream, driver::{Allocation, copy, fill}};
//! # cuarray::__simulated!(driver);
//! let context = driver.device(0)?.primary_context()?;
//! let stream = Stream::new(&context)?;
//! let memory = Allocation::device(&context, 8)?;
//! let mut back = [0u8; 8];
//! // SAFETY: both sides have 8 bytes, and nothing uses them before the stream is synchronized.
//! unsafe {
//!     fill::fill_bytes(&context, memory.device_ptr(), &[1, 2], 4, Some(&stream))?;
//!     copy::copy_device_to_host(&context, back.as_mut_ptr(), memory.device_ptr(), 8, Some(&stream))?;
//! }
//! stream.synchronize()?;
//! assert_eq!(back, [1, 2, 1, 2, 1, 2, 1, 2]);
//! # Ok::<(), cuarray::Error>(())
//! ```
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html),
//! [which copies wait](https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html).

mod boxes;
mod planned;

#[cfg(test)]
pub(crate) use boxes::CopySide;
pub(crate) use boxes::{Copy3d, CopyAddress, copy_3d, copy_3d_peer};
pub(crate) use planned::copy_planned;
#[cfg(feature = "python")]
pub(crate) use planned::copy_run;

use super::{Context, Stream, call};
use crate::{DevicePtr, Result};
use std::ffi::c_void;

/// Copies `len` bytes from the host to the device.
///
/// # Safety
/// Until the copy is done, `dst` is valid for writes and `src` for reads of `len` bytes. Meanwhile no other work uses `dst` or writes
/// `src`. `stream` belongs to `context`.
///
/// Driver API: [`cuMemcpyHtoD`,
/// `cuMemcpyHtoDAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
pub unsafe fn copy_host_to_device(
    context: &Context,
    dst: DevicePtr,
    src: *const u8,
    len: usize,
    stream: Option<&Stream>,
) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    let (driver, src) = (context.driver(), src.cast::<c_void>());
    in_context(context, stream, || match stream {
        // SAFETY: this function's contract.
        Some(stream) => unsafe { call!(driver, cuMemcpyHtoDAsync_v2(dst, src, len, stream.cu_stream())) },
        // SAFETY: this function's contract.
        None => unsafe { call!(driver, cuMemcpyHtoD_v2(dst, src, len)) },
    })
}

/// Copies `len` bytes from the device to the host.
///
/// # Safety
/// Until the copy is done, `dst` is valid for writes and `src` for reads of `len` bytes. Meanwhile no other work uses `dst` or writes
/// `src`. `stream` belongs to `context`.
///
/// Driver API: [`cuMemcpyDtoH`,
/// `cuMemcpyDtoHAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
pub unsafe fn copy_device_to_host(
    context: &Context,
    dst: *mut u8,
    src: DevicePtr,
    len: usize,
    stream: Option<&Stream>,
) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    let (driver, dst) = (context.driver(), dst.cast::<c_void>());
    in_context(context, stream, || match stream {
        // SAFETY: this function's contract.
        Some(stream) => unsafe { call!(driver, cuMemcpyDtoHAsync_v2(dst, src, len, stream.cu_stream())) },
        // SAFETY: this function's contract.
        None => unsafe { call!(driver, cuMemcpyDtoH_v2(dst, src, len)) },
    })
}

/// Copies `len` bytes within the device. The ranges must not overlap.
///
/// # Safety
/// Until the copy is done, `dst` is valid for writes and `src` for reads of `len` bytes. Meanwhile no other work uses `dst` or writes
/// `src`. `stream` belongs to `context`.
///
/// Driver API: [`cuMemcpyDtoD`,
/// `cuMemcpyDtoDAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
pub unsafe fn copy_device_to_device(
    context: &Context,
    dst: DevicePtr,
    src: DevicePtr,
    len: usize,
    stream: Option<&Stream>,
) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    let driver = context.driver();
    in_context(context, stream, || match stream {
        // SAFETY: this function's contract.
        Some(stream) => unsafe { call!(driver, cuMemcpyDtoDAsync_v2(dst, src, len, stream.cu_stream())) },
        // SAFETY: this function's contract.
        None => unsafe { call!(driver, cuMemcpyDtoD_v2(dst, src, len)) },
    })
}

/// Copies `len` bytes from one device's memory to another's. The devices need no access to each other's memory.
///
/// Without a stream, the copy is ordered after all earlier work of both contexts, and before all later work. The host does not wait.
///
/// # Safety
/// Until the copy is done, `dst` is valid for writes and `src` for reads of `len` bytes. Meanwhile no other work uses `dst` or writes
/// `src`. Each context belongs to the device of its address.
///
/// Driver API: [`cuMemcpyPeer`,
/// `cuMemcpyPeerAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
pub(crate) unsafe fn copy_peer(
    (dst_context, dst): (&Context, DevicePtr),
    (src_context, src): (&Context, DevicePtr),
    len: usize,
    stream: Option<&Stream>,
) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    let (driver, to, from) = (dst_context.driver(), dst_context.handle(), src_context.handle());
    in_context(dst_context, stream, || match stream {
        // SAFETY: this function's contract; both contexts are held.
        Some(stream) => unsafe { call!(driver, cuMemcpyPeerAsync(dst, to, src, from, len, stream.cu_stream())) },
        // SAFETY: this function's contract; both contexts are held.
        None => unsafe { call!(driver, cuMemcpyPeer(dst, to, src, from, len)) },
    })
}

pub(super) fn in_context(context: &Context, stream: Option<&Stream>, work: impl FnOnce() -> Result<()>) -> Result<()> {
    match stream {
        Some(stream) => {
            context.driver().check_same(stream.driver(), "stream")?;
            stream.in_context_or(context, work)
        }
        None => {
            let _current = context.push()?;
            work()
        }
    }
}
