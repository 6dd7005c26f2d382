//! The types of the C interface.

#![allow(non_camel_case_types)]

use std::ffi::{c_int, c_void};

pub use crate::status::cufftResult;

/// `cufftHandle`: a number.
pub type cufftHandle = c_int;
/// `cufftType`.
pub type cufftType = c_int;
/// `cudaDataType`.
pub type cudaDataType = c_int;
/// `libraryPropertyType`.
pub type libraryPropertyType = c_int;
/// `cufftProperty`.
pub type cufftProperty = c_int;
/// `cufftXtSubFormat`.
pub type cufftXtSubFormat = c_int;
/// `cufftXtCopyType`.
pub type cufftXtCopyType = c_int;
/// `cufftXtQueryType`.
pub type cufftXtQueryType = c_int;
/// `cufftXtWorkAreaPolicy`.
pub type cufftXtWorkAreaPolicy = c_int;
/// `cudaStream_t`.
pub type cudaStream_t = *mut c_void;

/// The number of devices that a descriptor has room for.
pub(crate) const MOST_DEVICES: usize = 64;
/// `cudaXtDesc`.
#[allow(non_camel_case_types, non_snake_case, missing_docs)]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaXtDesc {
    pub version: c_int,
    pub nGPUs: c_int,
    pub GPUs: [c_int; MOST_DEVICES],
    pub data: [*mut c_void; MOST_DEVICES],
    pub size: [usize; MOST_DEVICES],
    pub cudaXtState: *mut c_void,
}

/// `cudaLibXtDesc`.
#[allow(non_camel_case_types, non_snake_case, missing_docs)]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaLibXtDesc {
    pub version: c_int,
    pub descriptor: *mut cudaXtDesc,
    pub library: c_int,
    pub subFormat: c_int,
    pub libDescriptor: *mut c_void,
}

/// `cufftXt1dFactors`.
#[allow(non_camel_case_types, non_snake_case, missing_docs)]
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cufftXt1dFactors {
    pub size: i64,
    pub stringCount: i64,
    pub stringLength: i64,
    pub substringLength: i64,
    pub factor1: i64,
    pub factor2: i64,
    pub stringMask: i64,
    pub substringMask: i64,
    pub factor1Mask: i64,
    pub factor2Mask: i64,
    pub stringShift: c_int,
    pub substringShift: c_int,
    pub factor1Shift: c_int,
    pub factor2Shift: c_int,
}
