//! The types of the C interface.

#![allow(non_camel_case_types)]

use std::ffi::{c_int, c_void};

pub use crate::descriptor::{cudaLibXtDesc, cudaXtDesc};
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
/// `cufftXtWorkAreaPolicy`.
pub type cufftXtWorkAreaPolicy = c_int;
/// `cudaStream_t`.
pub type cudaStream_t = *mut c_void;
