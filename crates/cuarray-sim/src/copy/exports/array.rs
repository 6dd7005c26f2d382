//! Copies of contiguous texels of arrays.
//!
//! By the manual, the arrays have one dimension. In other arrays a copy may cover a part of one row, or whole rows, because
//! their texels have no other order that a program knows.

use super::linear::transfer;
use super::{INVALID_VALUE, SyncMode};
use crate::driver::Call;
use crate::happens_before::handles;
use crate::objects::allocation::Declared;
use crate::objects::array::Corner;
use crate::objects::copy::{End, Extent, Place};
use crate::state::State;
use cuarray_abi::*;
use std::ffi::c_void;

/// The box of an array whose corner and extent are given.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an unknown array, for a box outside of it, and for a row that is not a number of texels.
pub(super) fn in_array(state: &mut State, array: CUarray, origin: [u64; 3], extent: Extent) -> Result<End, CUresult> {
    let Some(known) = state.arrays.arrays.get(&array) else {
        handles::refused_handle(state, array.0 as u64);
        return Err(INVALID_VALUE);
    };
    let (rows, [x, y, z]) = (known.rows(), origin);
    let fits = |start: u64, length: u64, all: u64| start.checked_add(length).is_some_and(|end| end <= all);
    let inside =
        fits(x, extent.width, rows.pitch) && fits(y, extent.height, rows.height) && fits(z, extent.depth, rows.depth);
    if !inside || !x.is_multiple_of(rows.texel) || !extent.width.is_multiple_of(rows.texel) {
        return Err(INVALID_VALUE);
    }
    let address = known.address + z * rows.slice() + y * rows.pitch + x;
    let place = Place { address, pitch: rows.pitch, slice: rows.slice() };
    Ok(End::new(Declared::Array(Corner { array, origin }), place))
}

/// The box of an array that holds contiguous bytes: a part of one row, or whole rows of one slice.
fn contiguous(state: &mut State, array: CUarray, offset: usize, count: usize) -> Result<(End, Extent), CUresult> {
    let rows = match state.arrays.arrays.get(&array) {
        Some(known) => known.rows(),
        None => return in_array(state, array, [0; 3], Extent::row(0)).map(|end| (end, Extent::row(0))),
    };
    let (offset, count) = (offset as u64, count as u64);
    let (x, row) = (offset % rows.pitch, offset / rows.pitch);
    let extent = if count <= rows.pitch - x {
        Extent::row(count)
    } else if x == 0 && count.is_multiple_of(rows.pitch) {
        Extent { width: rows.pitch, height: count / rows.pitch, depth: 1 }
    } else {
        return Err(INVALID_VALUE);
    };
    let end = in_array(state, array, [x, row % rows.height, row / rows.height], extent)?;
    Ok((end, extent))
}

/// Memory beside an array: rows without gaps.
fn dense(end: End, extent: Extent) -> End {
    End { place: Place { pitch: extent.width, slice: 0, ..end.place }, ..end }
}

pub(crate) fn cuMemcpyAtoA_v2(
    call: &Call<'_>,
    dst_array: CUarray,
    dst_offset: usize,
    src_array: CUarray,
    src_offset: usize,
    byte_count: usize,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let (target, extent) = contiguous(&mut state, dst_array, dst_offset, byte_count)?;
    let (source, same) = contiguous(&mut state, src_array, src_offset, byte_count)?;
    let texel = |array: &CUarray| state.arrays.arrays.get(array).map(|array| array.rows().texel);
    if extent != same || texel(&dst_array) != texel(&src_array) {
        return Err(INVALID_VALUE);
    }
    drop(state);
    transfer(call, target, source, extent, SyncMode::Plain)
}

pub(crate) fn cuMemcpyAtoD_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_array: CUarray,
    src_offset: usize,
    byte_count: usize,
) -> Result<(), CUresult> {
    let (source, extent) = contiguous(&mut call.lock(), src_array, src_offset, byte_count)?;
    transfer(call, dense(End::device(dst_device), extent), source, extent, SyncMode::Plain)
}

pub(crate) fn cuMemcpyDtoA_v2(
    call: &Call<'_>,
    dst_array: CUarray,
    dst_offset: usize,
    src_device: CUdeviceptr,
    byte_count: usize,
) -> Result<(), CUresult> {
    let (target, extent) = contiguous(&mut call.lock(), dst_array, dst_offset, byte_count)?;
    transfer(call, target, dense(End::device(src_device), extent), extent, SyncMode::Plain)
}

/// Copies from an array to the host.
fn to_host(
    call: &Call<'_>,
    host: *mut c_void,
    (array, offset, count): (CUarray, usize, usize),
    mode: SyncMode,
) -> Result<(), CUresult> {
    let (source, extent) = contiguous(&mut call.lock(), array, offset, count)?;
    transfer(call, dense(End::host(host), extent), source, extent, mode)
}

/// Copies from the host to an array.
fn to_array(
    call: &Call<'_>,
    host: *const c_void,
    (array, offset, count): (CUarray, usize, usize),
    mode: SyncMode,
) -> Result<(), CUresult> {
    let (target, extent) = contiguous(&mut call.lock(), array, offset, count)?;
    transfer(call, target, dense(End::host(host), extent), extent, mode)
}

pub(crate) fn cuMemcpyAtoH_v2(
    call: &Call<'_>,
    dst_host: *mut c_void,
    src_array: CUarray,
    src_offset: usize,
    byte_count: usize,
) -> Result<(), CUresult> {
    to_host(call, dst_host, (src_array, src_offset, byte_count), SyncMode::Plain)
}

pub(crate) fn cuMemcpyHtoA_v2(
    call: &Call<'_>,
    dst_array: CUarray,
    dst_offset: usize,
    src_host: *const c_void,
    byte_count: usize,
) -> Result<(), CUresult> {
    to_array(call, src_host, (dst_array, dst_offset, byte_count), SyncMode::Plain)
}

pub(crate) fn cuMemcpyAtoHAsync_v2(
    call: &Call<'_>,
    dst_host: *mut c_void,
    src_array: CUarray,
    src_offset: usize,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    to_host(call, dst_host, (src_array, src_offset, byte_count), SyncMode::Async(stream))
}

pub(crate) fn cuMemcpyHtoAAsync_v2(
    call: &Call<'_>,
    dst_array: CUarray,
    dst_offset: usize,
    src_host: *const c_void,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    to_array(call, src_host, (dst_array, dst_offset, byte_count), SyncMode::Async(stream))
}
