//! Copies of boxes: slices of rows with gaps between them, in one driver call.

use super::in_context;
use crate::{
    DevicePtr, Error, Result,
    copy::strided_copy::CopyPlan,
    driver::{Context, Stream, call},
};
use cuarray_abi::{CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUmemorytype};
use std::{ffi::c_void, ptr::null_mut};

/// The start of one side of a [`Copy3d`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyAddress {
    /// An address in host memory.
    Host(*mut u8),
    /// An address in memory that the device can access.
    Device(DevicePtr),
}

/// One side of a [`Copy3d`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopySide {
    /// The first byte.
    pub address: CopyAddress,
    /// The distance between row starts in bytes; at least a row's width.
    pub pitch: usize,
    /// The distance between slice starts in bytes; at least the extent of a slice's rows.
    pub slice_pitch: usize,
}

/// A box of bytes to copy: `depth` slices of `height` rows of `width` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy3d {
    /// The source.
    pub src: CopySide,
    /// The destination.
    pub dst: CopySide,
    /// The size of a row in bytes.
    pub width: usize,
    /// The number of rows in a slice.
    pub height: usize,
    /// The number of slices.
    pub depth: usize,
}

/// Copies a box of bytes, with gaps between rows and slices.
///
/// The driver measures the distance between slices in rows. If a slice pitch is not a whole number of rows, the slices are copied one by one.
///
/// # Errors
/// [`Error::is_unsupported`]: rows or slices overlap (a pitch below the width, or a slice pitch below the rows' extent), or the box
/// exceeds the address space.
///
/// # Safety
/// Until the copy is done, every row of `dst` is valid for writes and every row of `src` for reads. Meanwhile no other work uses
/// the rows of `dst` or writes those of `src`. `stream` belongs to `context`.
///
/// Driver API: [`cuMemcpy3D`, `cuMemcpy3DAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
pub unsafe fn copy_3d(context: &Context, copy: &Copy3d, stream: Option<&Stream>) -> Result<()> {
    // SAFETY: this function's contract.
    unsafe { copy_box(context, None, copy, stream) }
}

/// Copies a box of bytes, with gaps between rows and slices, from one device's memory to another's.
///
/// # Errors
/// As [`copy_3d`].
///
/// # Safety
/// As [`copy_3d`]. Both sides are device memory, each on its context's device.
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
/// As [`copy_3d`], or as [`copy_3d_peer`] with a source context.
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
                src.address = src.address.at(src.slice_pitch as isize);
                dst.address = dst.address.at(dst.slice_pitch as isize);
            }
            return Ok(());
        }
    };
    let (src_type, src_host, src_device) = src.address.parts();
    let (dst_type, dst_host, dst_device) = dst.address.parts();
    let driver = context.driver();
    // Both structures have these fields, and two more.
    macro_rules! parameters {
        ($kind:ident { $($field:ident: $value:expr),* }) => {
            $kind {
                srcXInBytes: 0,
                srcY: 0,
                srcZ: 0,
                srcLOD: 0,
                srcMemoryType: src_type,
                srcHost: src_host,
                srcDevice: src_device,
                srcArray: CUarray::NULL,
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
                dstPitch: dst.pitch,
                dstHeight: dst_rows,
                WidthInBytes: width,
                Height: height,
                Depth: depth,
                $($field: $value),*
            }
        };
    }
    if let Some(src_context) = src_context {
        let parameters =
            parameters!(CUDA_MEMCPY3D_PEER { srcContext: src_context.handle(), dstContext: context.handle() });
        return in_context(context, stream, || match stream {
            // SAFETY: this function's contract; the driver reads the parameters during the call.
            Some(stream) => unsafe { call!(driver, cuMemcpy3DPeerAsync(&parameters, stream.cu_stream())) },
            // SAFETY: this function's contract; the driver reads the parameters during the call.
            None => unsafe { call!(driver, cuMemcpy3DPeer(&parameters)) },
        });
    }
    let parameters = parameters!(CUDA_MEMCPY3D { reserved0: null_mut(), reserved1: null_mut() });
    in_context(context, stream, || match stream {
        // SAFETY: this function's contract; the driver reads the parameters during the call.
        Some(stream) => unsafe { call!(driver, cuMemcpy3DAsync_v2(&parameters, stream.cu_stream())) },
        // SAFETY: this function's contract; the driver reads the parameters during the call.
        None => unsafe { call!(driver, cuMemcpy3D_v2(&parameters)) },
    })
}

impl Copy3d {
    /// One box of a copy plan, with its start addresses.
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

    /// The distance between slices in rows; `None` if the driver does not accept it.
    fn rows_per_slice(&self, copy: &Copy3d) -> Option<usize> {
        if copy.depth == 1 {
            return Some(copy.height);
        }
        let whole = self.pitch != 0 && self.slice_pitch.is_multiple_of(self.pitch);
        whole.then(|| self.slice_pitch / self.pitch).filter(|rows| *rows >= copy.height)
    }
}

impl CopyAddress {
    /// The address at a distance in bytes.
    pub(super) fn at(self, offset: isize) -> CopyAddress {
        match self {
            CopyAddress::Host(address) => CopyAddress::Host(address.wrapping_offset(offset)),
            CopyAddress::Device(address) => CopyAddress::Device(address.wrapping_add_signed(offset as i64)),
        }
    }

    fn parts(self) -> (CUmemorytype, *mut c_void, DevicePtr) {
        match self {
            CopyAddress::Host(address) => (CU_MEMORYTYPE_HOST, address.cast(), 0),
            CopyAddress::Device(address) => (CU_MEMORYTYPE_DEVICE, null_mut(), address),
        }
    }
}
