//! Handles with their context, stream and pointer mode.

use crate::status::{INVALID_VALUE, Outcome, cusparseStatus_t, write};
use crate::types::*;
use cuarray_abi::CUstream;
use cuarray_stand_in::report_use;
use cuarray_stream_work::{Objects, Place, guarded};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, Once};

/// The version: that of the newest library whose functions are exported.
const VERSION: [c_int; 3] = [12, 9, 4];

/// The settings of a handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) stream: CUstream,
    /// Whether scalars and results are in device memory.
    pub(crate) on_device: bool,
}

/// The target of `cusparseHandle_t`.
pub(crate) type Handle = cuarray_stream_work::Handle<Settings>;

static HANDLES: Objects<Arc<Handle>, cusparseStatus_t> =
    Objects::new(0x637a_0000_0000, cusparseStatus_t::NOT_INITIALIZED);

/// Runs a function of a handle, under its name for the driver.
pub(crate) fn with_handle(name: &'static CStr, handle: usize, f: impl FnOnce(&Handle) -> Outcome) -> cusparseStatus_t {
    guarded(name, || f(&*HANDLES.get(handle)?))
}

/// `cusparseCreate`.
pub(crate) fn create(handle: *mut cusparseHandle_t) -> Outcome {
    if handle.is_null() {
        return Err(INVALID_VALUE);
    }
    static REPORT: Once = Once::new();
    REPORT.call_once(|| report_use("libcusparse.so.12"));
    let place = Place::current().map_err(|_| cusparseStatus_t::NOT_INITIALIZED)?;
    write(handle, HANDLES.add(Handle::new(place, Settings { stream: CUstream::NULL, on_device: false })))
}

/// `cusparseDestroy`. It waits for the work of the context.
pub(crate) fn destroy(handle: cusparseHandle_t) -> Outcome {
    HANDLES.remove(handle)?.place.destroy();
    Ok(())
}

/// `cusparseGetVersion`.
pub(crate) fn get_version(_: &Handle, to: *mut c_int) -> Outcome {
    let [major, minor, patch] = VERSION;
    write(to, major * 1000 + minor * 100 + patch)
}

/// `cusparseGetProperty`: a part of the version.
pub(crate) fn get_property(part: libraryPropertyType, to: *mut c_int) -> Outcome {
    let part = usize::try_from(part).map_err(|_| INVALID_VALUE)?;
    write(to, *VERSION.get(part).ok_or(INVALID_VALUE)?)
}

/// `cusparseSetStream`.
pub(crate) fn set_stream(handle: &Handle, stream: cudaStream_t) -> Outcome {
    handle.settings().stream = CUstream(stream.addr());
    Ok(())
}

/// `cusparseGetStream`.
pub(crate) fn get_stream(handle: &Handle, stream: *mut cudaStream_t) -> Outcome {
    write(stream, std::ptr::without_provenance_mut(handle.settings().stream.0))
}

/// `cusparseSetPointerMode`.
pub(crate) fn set_pointer_mode(handle: &Handle, mode: cusparsePointerMode_t) -> Outcome {
    if !matches!(mode, 0 | 1) {
        return Err(INVALID_VALUE);
    }
    handle.settings().on_device = mode == 1;
    Ok(())
}

/// `cusparseGetPointerMode`.
pub(crate) fn get_pointer_mode(handle: &Handle, mode: *mut cusparsePointerMode_t) -> Outcome {
    write(mode, handle.settings().on_device.into())
}

/// `cusparseLoggerSetCallback` and `cusparseLoggerSetFile`. Nothing is logged.
pub(crate) fn log_to(_: *mut c_void) -> Outcome {
    Ok(())
}

/// `cusparseLoggerOpenFile`. Nothing is logged.
pub(crate) fn log_to_file(_: *const c_char) -> Outcome {
    Ok(())
}

/// `cusparseLoggerSetLevel`.
pub(crate) fn log_level(level: c_int) -> Outcome {
    if (0..=5).contains(&level) { Ok(()) } else { Err(INVALID_VALUE) }
}

/// `cusparseLoggerSetMask`.
pub(crate) fn log_mask(_: c_int) -> Outcome {
    Ok(())
}

/// `cusparseLoggerForceDisable`.
pub(crate) fn log_nothing() -> Outcome {
    Ok(())
}
