//! Fills with elements of one, two or four bytes, of contiguous bytes or of pitched rows.

use super::{INVALID_VALUE, SyncMode, captures, side, sync_memops, wait};
use crate::capture;
use crate::driver::Call;
use crate::execution::submit;
use crate::graph_structure::checks;
use crate::memory::races;
use crate::objects::allocation::{Declared, Side};
use crate::objects::copy::{End, Extent, Fill, Place};
use crate::objects::graph_data::{Action, FillNode};
use crate::objects::work::Work;
use crate::pages::arena::FRESH;
use crate::stream::lookup;
use cuarray_abi::*;
use cuarray_races::finding::AccessKind;
use std::ffi::c_uint;

/// Checks a fill, enqueues it, and waits for it if the call must.
fn fill(call: &Call<'_>, target: Place, value: (u32, u8), extent: Extent, mode: SyncMode) -> Result<(), CUresult> {
    let (mut state, current) = call.current_for(mode.stream())?;
    let stream = lookup::stream_of(&mut state, call, current, mode.stream())?;
    let captured = captures(call, &mut state, stream, mode)?;
    let context = state.streams.get(&stream).map_or(current, |stream| stream.context);
    let (value, value_size) = value;
    let aligned = target.address.is_multiple_of(u64::from(value_size))
        && (extent.height <= 1 || target.pitch.is_multiple_of(u64::from(value_size)));
    if !aligned {
        if !extent.is_empty() {
            races::misaligned(
                &mut state,
                AccessKind::Write,
                target.address,
                target.span(extent)?,
                u64::from(value_size),
            );
        }
        return Err(INVALID_VALUE);
    }
    if extent.is_empty() {
        return Ok(());
    }
    if extent.height > 1 && target.pitch < extent.width {
        return Err(INVALID_VALUE);
    }
    if captured {
        let node = FillNode::captured(&Fill { target, value, value_size, extent }, context);
        checks::check_fill(&state, &node).map_err(|refused| refused.report(&mut state))?;
        return capture::capture_node(&mut state, stream, Action::Fill(node)).map(|_| ());
    }
    let end = End::new(Declared::Device, target);
    let side = side(&mut state, context, end, extent, AccessKind::Write)?;
    let waits =
        matches!(mode, SyncMode::Plain) && (side != Side::Device || sync_memops(&state, current, target.address));
    let work = Work::Fill(Box::new(Fill { target, value, value_size, extent }));
    let (state, point) = submit(call, state, stream, work, Vec::new())?;
    if waits {
        wait(call, state, stream, point);
    }
    Ok(())
}

/// Overwrites memory in stream order with bytes that are no data.
pub(crate) fn overwrite(call: &Call<'_>, address: CUdeviceptr, size: usize, stream: CUstream) -> Result<(), CUresult> {
    fill(call, Place::row(address), (FRESH.into(), 1), Extent::row(size as u64), SyncMode::Async(stream))
}

/// The box of `height` rows of `width` elements of `size` bytes.
fn elements(width: usize, height: usize, size: u64) -> Result<Extent, CUresult> {
    let width = (width as u64).checked_mul(size).ok_or(INVALID_VALUE)?;
    Ok(Extent { width, height: height as u64, depth: 1 })
}

fn pitched(address: CUdeviceptr, pitch: usize) -> Place {
    Place { address, pitch: pitch as u64, slice: 0 }
}

pub(crate) fn cuMemsetD8_v2(call: &Call<'_>, dst_device: CUdeviceptr, uc: u8, n: usize) -> Result<(), CUresult> {
    fill(call, Place::row(dst_device), (u32::from(uc), 1), elements(n, 1, 1)?, SyncMode::Plain)
}

pub(crate) fn cuMemsetD8Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    uc: u8,
    n: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    fill(call, Place::row(dst_device), (u32::from(uc), 1), elements(n, 1, 1)?, SyncMode::Async(stream))
}

pub(crate) fn cuMemsetD2D8_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    uc: u8,
    width: usize,
    height: usize,
) -> Result<(), CUresult> {
    fill(call, pitched(dst_device, dst_pitch), (u32::from(uc), 1), elements(width, height, 1)?, SyncMode::Plain)
}

pub(crate) fn cuMemsetD2D8Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    uc: u8,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    fill(call, pitched(dst_device, dst_pitch), (u32::from(uc), 1), elements(width, height, 1)?, SyncMode::Async(stream))
}

pub(crate) fn cuMemsetD16_v2(call: &Call<'_>, dst_device: CUdeviceptr, us: u16, n: usize) -> Result<(), CUresult> {
    fill(call, Place::row(dst_device), (u32::from(us), 2), elements(n, 1, 2)?, SyncMode::Plain)
}

pub(crate) fn cuMemsetD16Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    us: u16,
    n: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    fill(call, Place::row(dst_device), (u32::from(us), 2), elements(n, 1, 2)?, SyncMode::Async(stream))
}

pub(crate) fn cuMemsetD2D16_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    us: u16,
    width: usize,
    height: usize,
) -> Result<(), CUresult> {
    fill(call, pitched(dst_device, dst_pitch), (u32::from(us), 2), elements(width, height, 2)?, SyncMode::Plain)
}

pub(crate) fn cuMemsetD2D16Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    us: u16,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    fill(call, pitched(dst_device, dst_pitch), (u32::from(us), 2), elements(width, height, 2)?, SyncMode::Async(stream))
}

pub(crate) fn cuMemsetD32_v2(call: &Call<'_>, dst_device: CUdeviceptr, ui: c_uint, n: usize) -> Result<(), CUresult> {
    fill(call, Place::row(dst_device), (ui, 4), elements(n, 1, 4)?, SyncMode::Plain)
}

pub(crate) fn cuMemsetD32Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    ui: c_uint,
    n: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    fill(call, Place::row(dst_device), (ui, 4), elements(n, 1, 4)?, SyncMode::Async(stream))
}

pub(crate) fn cuMemsetD2D32_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    ui: c_uint,
    width: usize,
    height: usize,
) -> Result<(), CUresult> {
    fill(call, pitched(dst_device, dst_pitch), (ui, 4), elements(width, height, 4)?, SyncMode::Plain)
}

pub(crate) fn cuMemsetD2D32Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    ui: c_uint,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    fill(call, pitched(dst_device, dst_pitch), (ui, 4), elements(width, height, 4)?, SyncMode::Async(stream))
}
