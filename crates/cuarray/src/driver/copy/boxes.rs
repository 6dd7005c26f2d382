//! Copies of boxes: rows that lie apart, in slices that lie apart, in one call of the driver.

use super::in_context;
use crate::{
    Error, Result,
    copy::strided_copy::CopyPlan,
    driver::{Context, Stream, call},
};
use cuarray_abi::{
    CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUdeviceptr, CUmemorytype,
};
use std::{ffi::c_void, ptr::null_mut};

/// Where one side of a [`Copy3d`] begins.
///
/// ```
/// use cuarray::driver::copy::CopyAddress;
///
/// let mut host = [0u8; 4];
/// assert_ne!(CopyAddress::Host(host.as_mut_ptr()), CopyAddress::Device(0x7f00_0000_0000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyAddress {
    /// In the host's memory.
    Host(*mut u8),
    /// In memory that the device reaches.
    Device(u64),
}

/// One side of a [`Copy3d`].
///
/// ```
/// use cuarray::driver::copy::{CopyAddress, CopySide};
///
/// // Every second row of a matrix whose rows take 512 bytes; it is one slice, so its pitch is never used.
/// let side = CopySide { address: CopyAddress::Device(0x7f00_0000_0000), pitch: 1024, slice_pitch: 1024 * 100 };
/// # assert_eq!(side.pitch, 1024);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopySide {
    /// The first byte.
    pub address: CopyAddress,
    /// Bytes from a row's start to the next row's; at least the width of a row.
    pub pitch: usize,
    /// Bytes from a slice's start to the next slice's; at least what its rows take.
    pub slice_pitch: usize,
}

/// A box of bytes to copy: `depth` slices of `height` rows of `width` bytes.
///
/// ```
/// # use cuarray::{Driver, driver::{Allocation, copy::{Copy3d, CopyAddress, CopySide}}};
/// # cuarray::__simulated!(driver);
/// let context = driver.default_context()?;
/// let (memory, mut host) = (Allocation::device(&context, 16)?, [0u8; 4]);
/// let corner = Copy3d {
///     // Two rows of two bytes from a matrix of 4 x 4 ...
///     src: CopySide { address: CopyAddress::Device(memory.device_ptr()), pitch: 4, slice_pitch: 16 },
///     // ... one behind the other.
///     dst: CopySide { address: CopyAddress::Host(host.as_mut_ptr()), pitch: 2, slice_pitch: 4 },
///     width: 2,
///     height: 2,
///     depth: 1,
/// };
/// assert_eq!(corner.width * corner.height * corner.depth, host.len());
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy3d {
    /// Where it comes from.
    pub src: CopySide,
    /// Where it goes.
    pub dst: CopySide,
    /// Bytes in a row.
    pub width: usize,
    /// Rows in a slice.
    pub height: usize,
    /// Slices.
    pub depth: usize,
}

/// Copies a box of bytes whose rows and slices lie apart.
///
/// The driver counts the distance of slices in rows. Where it is no whole number of rows, the slices are copied one by
/// one.
///
/// # Errors
/// [`Error::is_unsupported`] where rows or slices overlap (a pitch below the width, or a slice pitch below the rows'
/// extent) or the box exceeds the address space.
///
/// # Safety
/// Every row of `dst` is good for writing and every row of `src` for reading, until the copy is done, and nothing else
/// uses those of `dst` or writes those of `src` at the same time. `stream` belongs to `context`.
///
/// Driver API: [`cuMemcpy3D`, `cuMemcpy3DAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
pub unsafe fn copy_3d(context: &Context, copy: &Copy3d, stream: Option<&Stream>) -> Result<()> {
    // SAFETY: this function's contract.
    unsafe { copy_box(context, None, copy, stream) }
}

/// Copies a box of bytes whose rows and slices lie apart from the memory of one device to that of another.
///
/// # Errors
/// As [`copy_3d`].
///
/// # Safety
/// As [`copy_3d`]; both sides are device memory, each of its context's device.
///
/// Driver API: [`cuMemcpy3DPeer`,
/// `cuMemcpy3DPeerAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
pub unsafe fn copy_3d_peer(
    dst_context: &Context,
    src_context: &Context,
    copy: &Copy3d,
    stream: Option<&Stream>,
) -> Result<()> {
    // SAFETY: this function's contract.
    unsafe { copy_box(dst_context, Some(src_context), copy, stream) }
}

/// # Safety
/// As [`copy_3d`], or with a source context as [`copy_3d_peer`].
unsafe fn copy_box(
    context: &Context,
    src_context: Option<&Context>,
    copy: &Copy3d,
    stream: Option<&Stream>,
) -> Result<()> {
    let &Copy3d { mut src, mut dst, width, height, depth } = copy;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(());
    }
    src.check(copy)?;
    dst.check(copy)?;
    let (src_rows, dst_rows) = match (src.rows_per_slice(copy), dst.rows_per_slice(copy)) {
        (Some(src_rows), Some(dst_rows)) => (src_rows, dst_rows),
        _ => {
            let slice = Copy3d { depth: 1, ..*copy };
            for _ in 0..depth {
                // SAFETY: this function's contract, for the rows of one slice of the box.
                unsafe { copy_box(context, src_context, &Copy3d { src, dst, ..slice }, stream) }?;
                src.address = src.address.after(src.slice_pitch);
                dst.address = dst.address.after(dst.slice_pitch);
            }
            return Ok(());
        }
    };
    let (src_type, src_host, src_device) = src.address.parts();
    let (dst_type, dst_host, dst_device) = dst.address.parts();
    let driver = context.driver();
    if let Some(src_context) = src_context {
        let parameters = CUDA_MEMCPY3D_PEER {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: src_type,
            srcHost: src_host,
            srcDevice: src_device,
            srcArray: CUarray::NULL,
            srcContext: src_context.raw(),
            srcPitch: src.pitch,
            srcHeight: src_rows,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: dst_type,
            dstHost: dst_host,
            dstDevice: dst_device,
            dstArray: CUarray::NULL,
            dstContext: context.raw(),
            dstPitch: dst.pitch,
            dstHeight: dst_rows,
            WidthInBytes: width,
            Height: height,
            Depth: depth,
        };
        return in_context(context, stream, || match stream {
            // SAFETY: this function's contract; the driver reads the parameters during the call.
            Some(stream) => unsafe { call!(driver, cuMemcpy3DPeerAsync(&parameters, stream.raw())) },
            // SAFETY: as above.
            None => unsafe { call!(driver, cuMemcpy3DPeer(&parameters)) },
        });
    }
    let parameters = CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: src_type,
        srcHost: src_host,
        srcDevice: src_device,
        srcArray: CUarray::NULL,
        reserved0: null_mut(),
        srcPitch: src.pitch,
        srcHeight: src_rows,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: dst_type,
        dstHost: dst_host,
        dstDevice: dst_device,
        dstArray: CUarray::NULL,
        reserved1: null_mut(),
        dstPitch: dst.pitch,
        dstHeight: dst_rows,
        WidthInBytes: width,
        Height: height,
        Depth: depth,
    };
    in_context(context, stream, || match stream {
        // SAFETY: this function's contract; the driver reads the parameters during the call.
        Some(stream) => unsafe { call!(driver, cuMemcpy3DAsync_v2(&parameters, stream.raw())) },
        // SAFETY: as above.
        None => unsafe { call!(driver, cuMemcpy3D_v2(&parameters)) },
    })
}

impl Copy3d {
    /// One of the boxes of a plan, which begins at these addresses.
    pub(crate) fn of(plan: &CopyPlan, dst: CopyAddress, src: CopyAddress) -> Copy3d {
        let side = |address, pitch: usize, height: usize| CopySide { address, pitch, slice_pitch: pitch * height };
        Copy3d {
            dst: side(dst, plan.dst_pitch, plan.dst_height),
            src: side(src, plan.src_pitch, plan.src_height),
            width: plan.width,
            height: plan.rows,
            depth: plan.slices,
        }
    }
}

impl CopySide {
    fn check(&self, copy: &Copy3d) -> Result<()> {
        let rows = (copy.height - 1).checked_mul(self.pitch).and_then(|bytes| bytes.checked_add(copy.width));
        let slices = (copy.depth - 1).checked_mul(self.slice_pitch);
        let apart = (copy.height == 1 || self.pitch >= copy.width)
            && (copy.depth == 1 || rows.is_some_and(|rows| self.slice_pitch >= rows));
        let address = match self.address {
            CopyAddress::Host(address) => address.addr() as u64,
            CopyAddress::Device(address) => address,
        };
        let end = rows.zip(slices).and_then(|(rows, slices)| rows.checked_add(slices));
        if apart && end.is_some_and(|end| address.checked_add(end as u64).is_some()) {
            return Ok(());
        }
        Err(Error::unsupported(format!(
            "cannot copy a box of {}x{}x{} bytes with a pitch of {} and a slice pitch of {}: its rows overlap or exceed \
             the address space",
            copy.depth, copy.height, copy.width, self.pitch, self.slice_pitch
        )))
    }

    /// The distance of slices in rows, `None` if it is no whole number that the driver takes.
    fn rows_per_slice(&self, copy: &Copy3d) -> Option<usize> {
        if copy.depth == 1 {
            return Some(copy.height);
        }
        let whole = self.pitch != 0 && self.slice_pitch.is_multiple_of(self.pitch);
        whole.then(|| self.slice_pitch / self.pitch).filter(|rows| *rows >= copy.height)
    }
}

impl CopyAddress {
    fn after(self, bytes: usize) -> CopyAddress {
        match self {
            CopyAddress::Host(address) => CopyAddress::Host(address.wrapping_add(bytes)),
            CopyAddress::Device(address) => CopyAddress::Device(address.wrapping_add(bytes as u64)),
        }
    }

    fn parts(self) -> (CUmemorytype, *mut c_void, CUdeviceptr) {
        match self {
            CopyAddress::Host(address) => (CU_MEMORYTYPE_HOST, address.cast(), 0),
            CopyAddress::Device(address) => (CU_MEMORYTYPE_DEVICE, null_mut(), address),
        }
    }
}
