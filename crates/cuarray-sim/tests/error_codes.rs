//! Every implemented entry point, called before `cuInit`, with null arguments, and without a current context.
#[macro_use]
mod program;

use program::*;
use std::ffi::{c_char, c_int, c_uint};

type Answer = (&'static str, CUresult);

macro_rules! sweep {
    ($($group:ident { $($name:literal @ $since:literal $([$($flag:ident)*])? fn $symbol:ident($($arg:ident: $ty:ty),*) $(per_thread $per_thread:ident)?;)* })*) => {
        /// Calls every entry point with arguments of zeros. `before` runs before each call.
        fn answers(api: &Api, mut before: impl FnMut()) -> Vec<Answer> {
            let mut answers = Vec::new();
            $($({
                before();
                let function = api.$symbol.unwrap();
                // SAFETY: zero is a value of every parameter. A null pointer is an argument that the driver must refuse.
                let answer = unsafe { function($({ let $arg: $ty = std::mem::zeroed(); $arg }),*) };
                answers.push((stringify!($symbol), answer));
            })*)*
            answers
        }
    };
}
cuarray_abi::entry_points!(sweep);

/// The entry points that the manual documents to work before `cuInit`.
const BEFORE_INIT: [&str; 7] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetExportTable",
];

#[test]
fn every_entry_point_requires_the_initialization() {
    let sim = Sim::new(Config { quiet: true, ..Config::default() });
    let (api, _entered) = (sim.api(), sim.enter());
    let mut initialized = false;
    for (symbol, answer) in answers(&api, || {}) {
        // `cuInit(0)` is the first of the list.
        initialized |= symbol == "cuInit" && answer.is_success();
        assert_ne!(answer, CUresult::CUDA_ERROR_UNKNOWN, "{symbol}");
    }
    assert!(initialized);
    let failing = Sim::new(Config { quiet: true, visible: Some(Vec::new()), ..Config::default() });
    let (api, _entered) = (failing.api(), failing.enter());
    for (symbol, answer) in answers(&api, || {}) {
        let expected = if BEFORE_INIT.contains(&symbol) { None } else { Some(CUresult::CUDA_ERROR_NOT_INITIALIZED) };
        assert!(expected.is_none_or(|expected| answer == expected), "{symbol}: {answer:?}");
    }
}

/// The entry points for which zeros are valid, and the reason.
const ZEROS_ARE_VALID: [(&str, &[&str]); 7] = [
    (
        "device 0 and the flags 0 exist",
        &[
            "cuInit",
            "cuDevicePrimaryCtxRelease",
            "cuDevicePrimaryCtxRelease_v2",
            "cuDevicePrimaryCtxSetFlags",
            "cuDevicePrimaryCtxSetFlags_v2",
            "cuDevicePrimaryCtxReset",
            "cuDevicePrimaryCtxReset_v2",
            "cuDeviceGraphMemTrim",
        ],
    ),
    (
        "a null context means none, or the current one",
        &[
            "cuCtxSetCurrent",
            "cuCtxSynchronize",
            "cuCtxSynchronize_v2",
            "cuCtxResetPersistingL2Cache",
            "cuProfilerStart",
            "cuProfilerStop",
        ],
    ),
    ("the output is optional", &["cuCtxPopCurrent", "cuCtxPopCurrent_v2", "cuCtxGetStreamPriorityRange"]),
    (
        "0 is a value of the setting",
        &["cuCtxSetFlags", "cuCtxSetLimit", "cuCtxSetCacheConfig", "cuCtxSetSharedMemConfig"],
    ),
    ("a release of null has no effect", &["cuMemFree_v2", "cuMemFreeHost", "cuMemFreeAsync"]),
    (
        "no byte is copied or filled",
        &[
            "cuMemcpy",
            "cuMemcpyHtoD_v2",
            "cuMemcpyDtoH_v2",
            "cuMemcpyDtoD_v2",
            "cuMemcpyAsync",
            "cuMemcpyHtoDAsync_v2",
            "cuMemcpyDtoHAsync_v2",
            "cuMemcpyDtoDAsync_v2",
            "cuMemsetD8_v2",
            "cuMemsetD16_v2",
            "cuMemsetD32_v2",
            "cuMemsetD2D8_v2",
            "cuMemsetD2D16_v2",
            "cuMemsetD2D32_v2",
            "cuMemsetD8Async",
            "cuMemsetD16Async",
            "cuMemsetD32Async",
            "cuMemsetD2D8Async",
            "cuMemsetD2D16Async",
            "cuMemsetD2D32Async",
            "cuStreamBatchMemOp",
            "cuStreamBatchMemOp_v2",
        ],
    ),
    ("a null stream is the default stream", &["cuStreamSynchronize", "cuStreamQuery", "cuStreamCopyAttributes"]),
];

/// The prefixes of entry points that refuse zeros by another code than that of an invalid value or handle.
const OTHER_CODES: [(&str, CUresult); 7] = [
    ("cuCtx", CUresult::CUDA_ERROR_INVALID_CONTEXT),
    ("cuMemcpyPeer", CUresult::CUDA_ERROR_INVALID_CONTEXT),
    ("cuMemGetAddressRange", CUresult::CUDA_ERROR_NOT_FOUND),
    ("cuDeviceGetP2P", CUresult::CUDA_ERROR_INVALID_DEVICE),
    ("cuStreamBeginCapture", CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    ("cuStreamEndCapture", CUresult::CUDA_ERROR_ILLEGAL_STATE),
    ("cuStreamUpdateCaptureDependencies", CUresult::CUDA_ERROR_ILLEGAL_STATE),
];

#[test]
fn null_arguments_are_refused() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let (sim, context) = (p.sim.clone(), p.context);
    let answers = answers(&sim.api(), || {
        // Some calls change the current context, or end it.
        if !call!(p, cuCtxSetCurrent(context)).is_success() {
            p.primary(0);
            ok!(p, cuCtxSetCurrent(context));
        }
    });
    for (symbol, answer) in answers {
        let valid = ZEROS_ARE_VALID.iter().any(|(_, symbols)| symbols.contains(&symbol));
        let usual = [CUresult::CUDA_ERROR_INVALID_VALUE, CUresult::CUDA_ERROR_INVALID_HANDLE].contains(&answer);
        let other = OTHER_CODES.iter().any(|(prefix, code)| symbol.starts_with(prefix) && answer == *code);
        assert!(if valid { answer.is_success() } else { usual || other }, "{symbol}: {answer:?}");
    }
}
