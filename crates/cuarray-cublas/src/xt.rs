//! cublasXt: level 3 for matrices in any memory, of the host or of a device. A call returns when its result is there.
//!
//! A handle computes on the first of its devices, in a separate stream there, by the functions of level 3.

use crate::arguments::choice;
use crate::handle::{Handle, handle_in};
use crate::management::report;
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::types::{cublasHandle_t, cublasStatus_t};
use cuarray_stream_work::{Objects, Place, device_count, guarded, read, write};
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;

/// The numbers of handles lie after this one.
const FIRST: usize = 0x6377_0000_0000;
/// The dimension of tiles of a new handle. The manual does not say NVIDIA's.
const TILE: c_int = 2048;
/// The number of operations of `cublasXtBlasOp_t`, and of types of `cublasXtOpType_t`.
const OPERATIONS: c_int = 12;
const TYPES: c_int = 4;

/// The target of `cublasXtHandle_t`.
#[derive(Clone, Debug)]
struct XtHandle {
    /// The handle of the first device, once the program has chosen devices.
    computing: Option<Arc<Handle>>,
    tile: c_int,
    is_pinning: bool,
}

static HANDLES: Objects<XtHandle, cublasStatus_t> = Objects::new(FIRST, cublasStatus_t::NOT_INITIALIZED);

/// Runs a function of level 3 for a handle, under its name for the driver, and waits for the result.
pub(crate) fn with_handle(name: &'static CStr, handle: usize, f: impl FnOnce(&Handle) -> Outcome) -> cublasStatus_t {
    guarded(name, || {
        let handle = HANDLES.get(handle)?.computing.ok_or(cublasStatus_t::NOT_INITIALIZED)?;
        let outcome = f(&handle);
        // A call that failed may have enqueued copies to memory of the program.
        let waited = handle.place.wait(handle.settings().stream);
        outcome.and(Ok(waited?))
    })
}

/// `cublasXtCreate`.
pub(crate) fn create(major: c_int, handle: *mut cublasHandle_t) -> Outcome {
    if handle.is_null() {
        return Err(INVALID_VALUE);
    }
    report(major);
    write(handle, HANDLES.add(XtHandle { computing: None, tile: TILE, is_pinning: false }))
}

/// `cublasXtDestroy`.
pub(crate) fn destroy(handle: cublasHandle_t) -> Outcome {
    HANDLES.remove(handle)?.computing.iter().for_each(end);
    Ok(())
}

fn end(handle: &Arc<Handle>) {
    handle.place.destroy_stream(handle.settings().stream);
    handle.place.destroy();
}

/// Checks the devices of a call, and returns the first one.
fn devices(count: c_int, numbers: *const c_int) -> Outcome<c_int> {
    let count = usize::try_from(count).map_err(|_| INVALID_VALUE)?;
    let numbers = read::<c_int, cublasStatus_t>(numbers, count)?;
    let known = 0..device_count()?;
    let first = numbers.first().filter(|_| numbers.iter().all(|number| known.contains(number)));
    first.copied().ok_or(INVALID_VALUE)
}

/// `cublasXtDeviceSelect`.
pub(crate) fn select(handle: cublasHandle_t, count: c_int, numbers: *const c_int) -> Outcome {
    HANDLES.get(handle)?;
    let place = Place::of_device(devices(count, numbers)?)?.with_any_memory();
    let stream = place.create_stream()?;
    let made = handle_in(place, stream);
    let before = HANDLES.change(handle, |handle| Ok(handle.computing.replace(made)))?;
    before.iter().for_each(end);
    Ok(())
}

/// `cublasXtGetNumBoards`: each device is a board.
pub(crate) fn boards(count: c_int, numbers: *const c_int, boards: *mut c_int) -> Outcome {
    devices(count, numbers)?;
    write(boards, count)
}

/// `cublasXtMaxBoards`.
pub(crate) fn most_boards(boards: *mut c_int) -> Outcome {
    write(boards, device_count()?)
}

/// `cublasXtSetBlockDim`. A result is computed as one tile.
pub(crate) fn set_tile(handle: cublasHandle_t, tile: c_int) -> Outcome {
    HANDLES.change(handle, |handle| {
        if tile <= 0 {
            return Err(INVALID_VALUE);
        }
        handle.tile = tile;
        Ok(())
    })
}

/// `cublasXtGetBlockDim`.
pub(crate) fn get_tile(handle: cublasHandle_t, tile: *mut c_int) -> Outcome {
    write(tile, HANDLES.get(handle)?.tile)
}

/// `cublasXtSetPinningMemMode`. Memory of the host is never registered.
pub(crate) fn set_pinning(handle: cublasHandle_t, mode: c_int) -> Outcome {
    HANDLES.change(handle, |handle| {
        handle.is_pinning = choice(mode)?;
        Ok(())
    })
}

/// `cublasXtGetPinningMemMode`.
pub(crate) fn get_pinning(handle: cublasHandle_t, mode: *mut c_int) -> Outcome {
    write(mode, HANDLES.get(handle)?.is_pinning.into())
}

/// Checks an operation and its type. With NVIDIA's library, the host computes a part of the first operation, the product, on request.
fn hybrid(handle: cublasHandle_t, operation: c_int, data: c_int) -> Outcome {
    HANDLES.get(handle)?;
    if !(0..OPERATIONS).contains(&operation) || !(0..TYPES).contains(&data) {
        return Err(INVALID_VALUE);
    }
    if operation == 0 { Ok(()) } else { Err(NOT_SUPPORTED) }
}

/// `cublasXtSetCpuRoutine`. The function is never called.
pub(crate) fn set_host_function(handle: cublasHandle_t, operation: c_int, data: c_int, _: *mut c_void) -> Outcome {
    hybrid(handle, operation, data)
}

/// `cublasXtSetCpuRatio`. The device computes everything.
pub(crate) fn set_host_share(handle: cublasHandle_t, operation: c_int, data: c_int, _: f32) -> Outcome {
    hybrid(handle, operation, data)
}
