//! Structures of memory: allocations, copies, and pools.

use super::*;
use cuarray_abi::CUmemPoolProps;

pub type cudaMemPoolProps = CUmemPoolProps;

/// The exported form of an allocation from a pool.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct cudaMemPoolPtrExportData {
    pub reserved: [u8; 64],
}

/// A position in a copy; `x` counts bytes if no array takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct cudaPos {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct cudaMemcpy3DParms {
    pub srcArray: cudaArray_t,
    pub srcPos: cudaPos,
    pub srcPtr: cudaPitchedPtr,
    pub dstArray: cudaArray_t,
    pub dstPos: cudaPos,
    pub dstPtr: cudaPitchedPtr,
    pub extent: cudaExtent,
    pub kind: cudaMemcpyKind,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct cudaMemcpy3DPeerParms {
    pub srcArray: cudaArray_t,
    pub srcPos: cudaPos,
    pub srcPtr: cudaPitchedPtr,
    pub srcDevice: c_int,
    pub dstArray: cudaArray_t,
    pub dstPos: cudaPos,
    pub dstPtr: cudaPitchedPtr,
    pub dstDevice: c_int,
    pub extent: cudaExtent,
}

// Sizes from the headers of both majors.
const _: () = {
    assert!(size_of::<cudaMemPoolProps>() == 88);
    assert!(size_of::<cudaMemPoolPtrExportData>() == 64);
    assert!(size_of::<cudaMemcpy3DParms>() == 160);
    assert!(size_of::<cudaMemcpy3DPeerParms>() == 168);
};
