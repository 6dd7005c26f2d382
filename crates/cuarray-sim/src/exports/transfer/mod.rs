//! Copies and fills.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html) and
//! [how calls synchronize](https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html). Every function becomes a box of
//! bytes, which is checked, enqueued, and waited for where the manual says that the call does. Where it leaves a
//! choice, the call returns early: that is what shows a missing synchronization.

mod copy;
mod fill;

pub(super) use copy::*;
pub(super) use fill::*;

use crate::copy::{End, Extent};
use crate::driver::{Call, Guard};
use crate::memory::Side;
use crate::schedule::chosen::Mode;
use crate::schedule::{Point, Work};
use crate::state::State;
use cuarray_abi::{CUcontext, CUresult, CUstream};
use cuarray_races::finding::AccessKind;
use std::ffi::c_uint;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// How a copy or fill was called.
#[derive(Clone, Copy)]
enum Manner {
    /// In a stream; returns when the work is enqueued, where that is allowed.
    Async(CUstream),
    /// In the default stream; returns when the work is done, unless it concerns device memory alone.
    Plain,
}

impl Manner {
    fn stream(self) -> CUstream {
        match self {
            Manner::Async(stream) => stream,
            Manner::Plain => CUstream::NULL,
        }
    }
}

/// Enqueues work; under the eager schedule, runs it.
pub(super) fn submit<'a>(
    call: &Call<'a>,
    mut state: Guard<'a>,
    stream: CUstream,
    work: Work,
    after: Vec<Point>,
) -> Result<(Guard<'a>, Point), CUresult> {
    let point = state.enqueue(stream, work, after)?;
    if matches!(state.mode, Mode::Eager) {
        state = call.driver.force(state, vec![point]);
    }
    Ok((state, point))
}

/// `CU_CTX_SYNC_MEMOPS`: calls without a stream wait in this context.
const CU_CTX_SYNC_MEMOPS: c_uint = 0x80;

/// Whether the context, or the memory at an address, asks for synchronous copies and fills.
fn sync_memops(state: &State, context: CUcontext, address: u64) -> bool {
    let of_context = state.context(context).is_ok_and(|context| context.flags & CU_CTX_SYNC_MEMOPS != 0);
    of_context || state.memory.find(address).is_some_and(|allocation| allocation.sync_memops)
}

/// What capture means for a copy or a fill: whether it is to become a node. One that waits cannot.
fn captures(call: &Call<'_>, state: &mut State, stream: CUstream, manner: Manner) -> Result<bool, CUresult> {
    if matches!(manner, Manner::Plain) {
        state.forbid_in_capture(stream)?;
        state.forbid_unsafe(call.thread, call.capture_mode())?;
    }
    state.captures(stream)
}

/// Checks one side of a copy or fill.
fn side(state: &mut State, end: End, extent: Extent, access: AccessKind) -> Result<Side, CUresult> {
    let (address, span) = (end.place.address, end.place.span(extent)?);
    let side = state.side(address, span, end.declared);
    if side.is_err() {
        state.refused(access, address, span);
    }
    side
}

/// Waits for what was just enqueued in a stream.
fn wait(call: &Call<'_>, state: Guard<'_>, stream: CUstream, point: Point) {
    let clock = state.clock_of(stream);
    let mut state = call.driver.force(state, vec![point]);
    state.host_learns(clock.into_iter().collect());
}
