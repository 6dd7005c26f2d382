//! Copies and fills.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html) and [how calls
//! synchronize](https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html). Every call becomes work on a
//! box of bytes, which is checked, enqueued, and waited for if the manual requires it. Where the manual leaves a choice, the
//! call returns early, which reveals missing synchronization.

// Names and parameters are the driver's.
#![allow(non_snake_case, clippy::too_many_arguments)]

mod array;
mod batch;
pub(crate) mod box_batches;
mod boxes;
mod fill;
mod linear;
mod memory_batches;
pub(crate) mod prefetch;

use crate::capture;
use crate::driver::{Call, Guard};
use crate::execution;
use crate::happens_before::edges;
use crate::memory::{allocations, races};
use crate::objects::allocation::Side;
use crate::objects::copy::{End, Extent};
use crate::objects::point::Point;
use crate::state::State;
use array::in_array;
pub(crate) use array::*;
pub(crate) use batch::*;
pub(crate) use boxes::*;
use cuarray_abi::{CUcontext, CUresult, CUstream};
use cuarray_races::finding::AccessKind;
pub(crate) use fill::*;
pub(crate) use linear::*;
pub(crate) use memory_batches::*;
use std::ffi::c_uint;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The synchronization of a copy or fill with its caller.
#[derive(Clone, Copy)]
enum SyncMode {
    /// In a stream; returns when the work is enqueued, if the manual allows it.
    Async(CUstream),
    /// In the default stream; returns when the work is done, unless it only accesses device memory.
    Plain,
}

impl SyncMode {
    fn stream(self) -> CUstream {
        match self {
            SyncMode::Async(stream) => stream,
            SyncMode::Plain => CUstream::NULL,
        }
    }
}

/// `CU_CTX_SYNC_MEMOPS`: calls without a stream wait in this context.
const CU_CTX_SYNC_MEMOPS: c_uint = 0x80;

/// Whether the context, or the memory at an address, requires synchronous copies and fills
/// (`CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`).
fn sync_memops(state: &State, context: CUcontext, address: u64) -> bool {
    let of_context = state.context(context).is_ok_and(|context| context.flags & CU_CTX_SYNC_MEMOPS != 0);
    of_context || state.memory.find(address).is_some_and(|allocation| allocation.sync_memops)
}

/// Whether a copy or fill must become a captured node. A call that waits cannot be captured.
fn captures(call: &Call<'_>, state: &mut State, stream: CUstream, mode: SyncMode) -> Result<bool, CUresult> {
    if matches!(mode, SyncMode::Plain) {
        capture::forbid_in_capture(state, stream)?;
        capture::forbid_unsafe(state, call.thread, call.capture_mode())?;
    }
    capture::captures(state, stream)
}

/// Checks one side of a copy or fill.
fn side(state: &mut State, context: CUcontext, end: End, extent: Extent, access: AccessKind) -> Result<Side, CUresult> {
    let (address, span) = (end.place.address, end.place.span(extent)?);
    let context = end.context.unwrap_or(context);
    if !allocations::is_open_to(state, context, address, span, access) {
        allocations::refuse_closed(state, context, access, address, span);
        return Err(INVALID_VALUE);
    }
    let side = allocations::side(state, address, span, end.declared, access);
    if side.is_err() {
        races::refused(state, access, address, span);
    }
    side
}

/// Waits for the work that was just enqueued in a stream.
fn wait(call: &Call<'_>, state: Guard<'_>, stream: CUstream, point: Point) {
    let clock = edges::clock_of(&state, stream);
    let mut state = execution::force(call.driver, state, vec![point]);
    edges::host_joins(&mut state, clock.into_iter().collect());
}
