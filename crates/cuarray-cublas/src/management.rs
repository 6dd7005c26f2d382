//! Handles, versions, streams, modes and logging.

use crate::handle::{self, Handle};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::*;
use cuarray_abi::CUstream;
use cuarray_stand_in::report_use;
use cuarray_stream_work::write;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The versions whose functions are exported: those of CUDA 12.9 and 13.
pub(crate) fn version(major: c_int) -> [c_int; 3] {
    if major == 12 { [12, 9, 3] } else { [13, 10, 0] }
}

/// `cublasCreate_v2`.
pub(crate) fn create(major: c_int, handle: *mut cublasHandle_t) -> Outcome {
    if handle.is_null() {
        return Err(INVALID_VALUE);
    }
    report(major);
    write(handle, handle::create()?)
}

/// Tells the package once that the program uses the library.
pub(crate) fn report(major: c_int) {
    static REPORT: Once = Once::new();
    REPORT.call_once(|| report_use(&format!("libcublas.so.{major}")));
}

/// `cublasDestroy_v2`. It waits for the work of the context.
pub(crate) fn destroy(_: c_int, handle: cublasHandle_t) -> Outcome {
    handle::destroy(handle)
}

/// `cublasGetVersion_v2`.
pub(crate) fn get_version(major: c_int, _: cublasHandle_t, to: *mut c_int) -> Outcome {
    let [major, minor, patch] = version(major);
    write(to, major * 10_000 + minor * 100 + patch)
}

/// `cublasGetProperty`: a part of the version.
pub(crate) fn get_property(major: c_int, part: libraryPropertyType, to: *mut c_int) -> Outcome {
    let part = usize::try_from(part).map_err(|_| INVALID_VALUE)?;
    write(to, *version(major).get(part).ok_or(INVALID_VALUE)?)
}

/// `cublasSetStream_v2`. It also sets the workspace to the default one, which this library has no use for.
pub(crate) fn set_stream(handle: &Handle, stream: cudaStream_t) -> Outcome {
    handle.settings().stream = CUstream(stream.addr());
    Ok(())
}

/// `cublasGetStream_v2`.
pub(crate) fn get_stream(handle: &Handle, stream: *mut cudaStream_t) -> Outcome {
    write(stream, std::ptr::without_provenance_mut(handle.settings().stream.0))
}

/// `cublasSetWorkspace_v2`. The memory is not used.
pub(crate) fn set_workspace(_: &Handle, workspace: *mut c_void, bytes: usize) -> Outcome {
    let is_aligned = workspace.addr().is_multiple_of(256);
    if is_aligned && (bytes == 0 || !workspace.is_null()) { Ok(()) } else { Err(INVALID_VALUE) }
}

/// `cublasSetPointerMode_v2`.
pub(crate) fn set_pointer_mode(handle: &Handle, mode: cublasPointerMode_t) -> Outcome {
    handle.settings().on_device = crate::arguments::choice(mode)?;
    Ok(())
}

/// `cublasGetPointerMode_v2`.
pub(crate) fn get_pointer_mode(handle: &Handle, mode: *mut cublasPointerMode_t) -> Outcome {
    write(mode, handle.settings().on_device.into())
}

/// `cublasSetAtomicsMode`. Results are the same in both modes.
pub(crate) fn set_atomics_mode(handle: &Handle, mode: cublasAtomicsMode_t) -> Outcome {
    handle.settings().atomics = crate::arguments::choice(mode)?.into();
    Ok(())
}

/// `cublasGetAtomicsMode`.
pub(crate) fn get_atomics_mode(handle: &Handle, mode: *mut cublasAtomicsMode_t) -> Outcome {
    write(mode, handle.settings().atomics)
}

/// `cublasSetMathMode`. Sums always have the full precision of their type.
pub(crate) fn set_math_mode(handle: &Handle, mode: cublasMath_t) -> Outcome {
    if !matches!(mode & !16, 0..=4 | 8) {
        return Err(INVALID_VALUE);
    }
    handle.settings().math = mode;
    Ok(())
}

/// `cublasGetMathMode`.
pub(crate) fn get_math_mode(handle: &Handle, mode: *mut cublasMath_t) -> Outcome {
    write(mode, handle.settings().math)
}

/// `cublasSetSmCountTarget`.
pub(crate) fn set_sm_count_target(handle: &Handle, count: c_int) -> Outcome {
    if count < 0 {
        return Err(INVALID_VALUE);
    }
    handle.settings().processors = count;
    Ok(())
}

/// `cublasGetSmCountTarget`.
pub(crate) fn get_sm_count_target(handle: &Handle, count: *mut c_int) -> Outcome {
    write(count, handle.settings().processors)
}

/// The setters of the modes of emulation, which has no use here: sums have the full precision of their type.
macro_rules! emulation {
    ($($set:ident $get:ident $index:literal;)*) => {$(
        pub(crate) fn $set(handle: &Handle, value: c_int) -> Outcome {
            handle.settings().emulation[$index] = value;
            Ok(())
        }

        pub(crate) fn $get(handle: &Handle, value: *mut c_int) -> Outcome {
            write(value, handle.settings().emulation[$index])
        }
    )*};
}

emulation! {
    set_emulation_strategy get_emulation_strategy 0;
    set_emulation_special get_emulation_special 1;
    set_mantissa_control get_mantissa_control 2;
    set_mantissa_maximum get_mantissa_maximum 3;
    set_mantissa_offset get_mantissa_offset 4;
}

/// `cublasSetFixedPointEmulationMantissaBitCountPointer`. The count is never written, because nothing is emulated.
pub(crate) fn set_mantissa_count(handle: &Handle, pointer: *mut c_int) -> Outcome {
    handle.settings().emulation_count = pointer.addr();
    Ok(())
}

/// `cublasGetFixedPointEmulationMantissaBitCountPointer`.
pub(crate) fn get_mantissa_count(handle: &Handle, pointer: *mut *mut c_int) -> Outcome {
    write(pointer, std::ptr::without_provenance_mut(handle.settings().emulation_count))
}

/// `cublasLoggerConfigure`. Nothing is logged.
pub(crate) fn logger_configure(_: c_int, _on: c_int, _out: c_int, _error: c_int, _file: *const c_char) -> Outcome {
    Ok(())
}

static CALLBACK: AtomicUsize = AtomicUsize::new(0);

/// `cublasSetLoggerCallback`. The callback is kept, and never called.
pub(crate) fn set_logger_callback(_: c_int, callback: cublasLogCallback) -> Outcome {
    CALLBACK.store(callback.map_or(0, |callback| callback as usize), Ordering::Relaxed);
    Ok(())
}

/// `cublasGetLoggerCallback`.
pub(crate) fn get_logger_callback(_: c_int, callback: *mut cublasLogCallback) -> Outcome {
    write(callback.cast::<usize>(), CALLBACK.load(Ordering::Relaxed))
}
