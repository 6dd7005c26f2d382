//! The driver's types for copies of rows and boxes, one by one and in batches.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use crate::arrays::CUarray;
use crate::attributes::CUmemcpySrcAccessOrder;
use crate::types::{CUcontext, CUdeviceptr, CUmemLocation, CUmemorytype};
use std::ffi::{c_uint, c_void};

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_MEMCPY2D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_MEMCPY3D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcZ: usize,
    pub srcLOD: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub reserved0: *mut c_void,
    pub srcPitch: usize,
    pub srcHeight: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstZ: usize,
    pub dstLOD: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub reserved1: *mut c_void,
    pub dstPitch: usize,
    pub dstHeight: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
    pub Depth: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_MEMCPY3D_PEER {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcZ: usize,
    pub srcLOD: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub srcContext: CUcontext,
    pub srcPitch: usize,
    pub srcHeight: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstZ: usize,
    pub dstLOD: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub dstContext: CUcontext,
    pub dstPitch: usize,
    pub dstHeight: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
    pub Depth: usize,
}

/// `CUmemcpy3DOperand.type`.
pub type CUmemcpy3DOperandType = c_uint;
pub const CU_MEMCPY_OPERAND_TYPE_POINTER: CUmemcpy3DOperandType = 1;
pub const CU_MEMCPY_OPERAND_TYPE_ARRAY: CUmemcpy3DOperandType = 2;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUoffset3D {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUextent3D {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// An operand in memory. Lengths are numbers of elements; 0 is that of the copy.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemcpy3DPointer {
    pub ptr: CUdeviceptr,
    pub rowLength: usize,
    pub layerHeight: usize,
    pub locHint: CUmemLocation,
}

/// An operand in an array, from an offset in elements on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemcpy3DArray {
    pub array: CUarray,
    pub offset: CUoffset3D,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub union CUmemcpy3DOperandValue {
    pub ptr: CUmemcpy3DPointer,
    pub array: CUmemcpy3DArray,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct CUmemcpy3DOperand {
    pub kind: CUmemcpy3DOperandType,
    pub op: CUmemcpy3DOperandValue,
}

/// One copy of a batch. The extent is in elements.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CUDA_MEMCPY3D_BATCH_OP {
    pub src: CUmemcpy3DOperand,
    pub dst: CUmemcpy3DOperand,
    pub extent: CUextent3D,
    pub srcAccessOrder: CUmemcpySrcAccessOrder,
    pub flags: c_uint,
}

const _: () = {
    assert!(size_of::<CUDA_MEMCPY2D>() == 128);
    assert!(size_of::<CUDA_MEMCPY3D>() == 200);
    assert!(size_of::<CUDA_MEMCPY3D_PEER>() == 200);
    assert!(size_of::<CUmemcpy3DOperand>() == 40);
    assert!(size_of::<CUDA_MEMCPY3D_BATCH_OP>() == 112);
};
