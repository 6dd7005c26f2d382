//! The driver's types for batches of 3-D copies.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use crate::arrays::CUarray;
use crate::attributes::CUmemcpySrcAccessOrder;
use crate::types::{CUdeviceptr, CUmemLocation};
use std::ffi::c_uint;

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
    assert!(size_of::<CUmemcpy3DOperand>() == 40);
    assert!(size_of::<CUDA_MEMCPY3D_BATCH_OP>() == 112);
};
