//! Handles, streams, versions and objects of parameters.

use crate::handle::{self, Handle, Parameters};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::*;
use cuarray_abi::CUstream;
use cuarray_stand_in::report_use;
use cuarray_stream_work::write;
use std::ffi::c_int;
use std::sync::Once;

/// The versions whose functions are exported: those of CUDA 12.9 and 13.
fn version(major: c_int) -> [c_int; 3] {
    if major == 11 { [11, 7, 5] } else { [12, 4, 1] }
}

/// `cusolverDnCreate`.
pub(crate) fn create(major: c_int, handle: *mut cusolverDnHandle_t) -> Outcome {
    if handle.is_null() {
        return Err(INVALID_VALUE);
    }
    static REPORT: Once = Once::new();
    REPORT.call_once(|| report_use(&format!("libcusolver.so.{major}")));
    write(handle, handle::create()?)
}

/// `cusolverDnDestroy`. It waits for the work of the context.
pub(crate) fn destroy(_: c_int, handle: cusolverDnHandle_t) -> Outcome {
    handle::destroy(handle)
}

/// `cusolverGetVersion`.
pub(crate) fn get_version(major: c_int, to: *mut c_int) -> Outcome {
    let [major, minor, patch] = version(major);
    write(to, major * 1000 + minor * 100 + patch)
}

/// `cusolverGetProperty`: a part of the version.
pub(crate) fn get_property(major: c_int, part: libraryPropertyType, to: *mut c_int) -> Outcome {
    let part = usize::try_from(part).map_err(|_| INVALID_VALUE)?;
    write(to, *version(major).get(part).ok_or(INVALID_VALUE)?)
}

/// `cusolverDnSetStream`.
pub(crate) fn set_stream(handle: &Handle, stream: cudaStream_t) -> Outcome {
    handle.settings().stream = CUstream(stream.addr());
    Ok(())
}

/// `cusolverDnGetStream`.
pub(crate) fn get_stream(handle: &Handle, stream: *mut cudaStream_t) -> Outcome {
    write(stream, std::ptr::without_provenance_mut(handle.settings().stream.0))
}

/// `cusolverDnSetDeterministicMode`. Results are the same in both modes.
pub(crate) fn set_determinism(handle: &Handle, mode: cusolverDeterministicMode_t) -> Outcome {
    if !matches!(mode, 1 | 2) {
        return Err(INVALID_VALUE);
    }
    handle.settings().determinism = mode;
    Ok(())
}

/// `cusolverDnGetDeterministicMode`.
pub(crate) fn get_determinism(handle: &Handle, mode: *mut cusolverDeterministicMode_t) -> Outcome {
    write(mode, handle.settings().determinism)
}

/// `cusolverDnCreateParams`.
pub(crate) fn create_params(_: c_int, params: *mut cusolverDnParams_t) -> Outcome {
    if params.is_null() {
        return Err(INVALID_VALUE);
    }
    write(params, handle::create_parameters(Parameters::Options))
}

/// `cusolverDnDestroyParams`.
pub(crate) fn destroy_params(_: c_int, params: cusolverDnParams_t) -> Outcome {
    handle::destroy_parameters(Parameters::Options, params)
}

/// `cusolverDnSetAdvOptions`. There is one algorithm for each function.
pub(crate) fn set_options(
    _: c_int,
    params: cusolverDnParams_t,
    _: cusolverDnFunction_t,
    algorithm: cusolverAlgMode_t,
) -> Outcome {
    handle::check_parameters(Parameters::Options, params)?;
    if matches!(algorithm, 0..=2) { Ok(()) } else { Err(INVALID_VALUE) }
}
