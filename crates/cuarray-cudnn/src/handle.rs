//! Handles with their context and stream, and the versions.

use crate::descriptor_table::Kind;
use crate::status::{NULL_POINTER, Outcome, cudnnStatus_t, write};
use crate::types::*;
use cuarray_abi::CUstream;
use cuarray_stand_in::report_use;
use cuarray_stream_work::{Objects, Place};
use std::ffi::c_int;
use std::sync::{Arc, Once};

/// The version of the interface: that of the newest cuDNN 9 whose functions are exported.
pub(crate) const VERSION: [c_int; 3] = [9, 28, 1];

/// The settings of a handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) stream: CUstream,
}

/// The target of `cudnnHandle_t`.
pub(crate) type Handle = cuarray_stream_work::Handle<Settings>;

static HANDLES: Objects<Arc<Handle>, cudnnStatus_t> = Kind::Handle.objects(cudnnStatus_t::NOT_INITIALIZED);

/// The handle of a number.
pub(crate) fn find(handle: cudnnHandle_t) -> Outcome<Arc<Handle>> {
    if handle == 0 { Err(NULL_POINTER) } else { HANDLES.get(handle) }
}

/// `cudnnCreate`.
pub(crate) fn create(handle: *mut cudnnHandle_t) -> Outcome {
    if handle.is_null() {
        return Err(NULL_POINTER);
    }
    static REPORT: Once = Once::new();
    REPORT.call_once(|| report_use("libcudnn.so.9"));
    let place = Place::current().map_err(|_| cudnnStatus_t::NOT_INITIALIZED)?;
    write(handle, HANDLES.add(Handle::new(place, Settings { stream: CUstream::NULL })))
}

/// `cudnnDestroy`. It waits for the work of the context.
pub(crate) fn destroy(handle: cudnnHandle_t) -> Outcome {
    find(handle)?;
    HANDLES.remove(handle)?.place.destroy();
    Ok(())
}

/// `cudnnSetStream`.
pub(crate) fn set_stream(handle: &Handle, stream: cudaStream_t) -> Outcome {
    handle.settings().stream = CUstream(stream.addr());
    Ok(())
}

/// `cudnnGetStream`.
pub(crate) fn get_stream(handle: &Handle, stream: *mut cudaStream_t) -> Outcome {
    write(stream, std::ptr::without_provenance_mut(handle.settings().stream.0))
}

/// `cudnnGetProperty`: a part of the version.
pub(crate) fn get_property(part: libraryPropertyType, to: *mut c_int) -> Outcome {
    let part = usize::try_from(part).ok().and_then(|part| VERSION.get(part));
    write(to, *part.ok_or(cudnnStatus_t::BAD_PARAM)?)
}

/// The checks of the sub-libraries, whose functions are all in this file.
pub(crate) fn check_version() -> Outcome {
    Ok(())
}
