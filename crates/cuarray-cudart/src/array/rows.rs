//! Copies of rows to and from arrays.

use crate::result::Result;
use crate::transfer::{Order, Side, copy_rows};
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::c_void;

pub(crate) unsafe fn cudaMemcpy2DToArray(
    api: &Api,
    dst: cudaArray_t,
    w_offset: usize,
    h_offset: usize,
    src: *const c_void,
    spitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Result {
    let (to, from) = (Side::Array { array: dst, x: w_offset, y: h_offset }, Side::Memory { ptr: src, pitch: spitch });
    copy_rows(api, to, from, (width, height), kind, Order::Plain)
}

pub(crate) unsafe fn cudaMemcpy2DToArrayAsync(
    api: &Api,
    dst: cudaArray_t,
    w_offset: usize,
    h_offset: usize,
    src: *const c_void,
    spitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result {
    let (to, from) = (Side::Array { array: dst, x: w_offset, y: h_offset }, Side::Memory { ptr: src, pitch: spitch });
    copy_rows(api, to, from, (width, height), kind, Order::InStream(stream))
}

pub(crate) unsafe fn cudaMemcpy2DFromArray(
    api: &Api,
    dst: *mut c_void,
    dpitch: usize,
    src: cudaArray_const_t,
    w_offset: usize,
    h_offset: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Result {
    let (to, from) = (Side::Memory { ptr: dst, pitch: dpitch }, Side::Array { array: src, x: w_offset, y: h_offset });
    copy_rows(api, to, from, (width, height), kind, Order::Plain)
}

pub(crate) unsafe fn cudaMemcpy2DFromArrayAsync(
    api: &Api,
    dst: *mut c_void,
    dpitch: usize,
    src: cudaArray_const_t,
    w_offset: usize,
    h_offset: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result {
    let (to, from) = (Side::Memory { ptr: dst, pitch: dpitch }, Side::Array { array: src, x: w_offset, y: h_offset });
    copy_rows(api, to, from, (width, height), kind, Order::InStream(stream))
}

pub(crate) unsafe fn cudaMemcpy2DArrayToArray(
    api: &Api,
    dst: cudaArray_t,
    w_offset_dst: usize,
    h_offset_dst: usize,
    src: cudaArray_const_t,
    w_offset_src: usize,
    h_offset_src: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Result {
    let to = Side::Array { array: dst, x: w_offset_dst, y: h_offset_dst };
    let from = Side::Array { array: src, x: w_offset_src, y: h_offset_src };
    copy_rows(api, to, from, (width, height), kind, Order::Plain)
}
