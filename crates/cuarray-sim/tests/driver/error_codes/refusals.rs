//! Calls are refused before `cuInit`, with null arguments, with handles of ended objects, and without a current context.

use super::objects::Objects;
use super::sweeps::{Outcome, before_init, ended_handles, zeros};
use super::*;

/// The entry points that the manual documents to work before `cuInit`.
const BEFORE_INIT: [&str; 12] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetExportTable",
    "cuLogsRegisterCallback",
    "cuLogsUnregisterCallback",
    "cuLogsCurrent",
    "cuLogsDumpToFile",
    "cuLogsDumpToMemory",
];

#[test]
fn every_entry_point_requires_the_initialization() {
    let sim = Sim::new(Config { quiet: true, ..Config::default() });
    let (api, _entered) = (sim.api(), sim.enter());
    let mut initialized = false;
    for Outcome { symbol, result: outcome, .. } in zeros(&api, || {}) {
        // `cuInit(0)` is the first of the list.
        initialized |= symbol == "cuInit" && outcome.is_success();
        assert_ne!(outcome, CUresult::CUDA_ERROR_UNKNOWN, "{symbol}");
    }
    assert!(initialized);
    for Outcome { symbol, result: outcome, .. } in before_init() {
        let expected = if BEFORE_INIT.contains(&symbol) { None } else { Some(CUresult::CUDA_ERROR_NOT_INITIALIZED) };
        assert!(expected.is_none_or(|expected| outcome == expected), "{symbol}: {outcome:?}");
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
const OTHER_CODES: [(&str, CUresult); 8] = [
    ("cuGreenCtx", CUresult::CUDA_ERROR_INVALID_CONTEXT),
    ("cuCtx", CUresult::CUDA_ERROR_INVALID_CONTEXT),
    ("cuMemcpyPeer", CUresult::CUDA_ERROR_INVALID_CONTEXT),
    ("cuMemGetAddressRange", CUresult::CUDA_ERROR_NOT_FOUND),
    ("cuDeviceGetP2P", CUresult::CUDA_ERROR_INVALID_DEVICE),
    ("cuStreamBegin", CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    ("cuStreamEndCapture", CUresult::CUDA_ERROR_ILLEGAL_STATE),
    ("cuStreamUpdateCaptureDependencies", CUresult::CUDA_ERROR_ILLEGAL_STATE),
];

#[test]
fn null_arguments_are_refused() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let (sim, context) = (p.sim.clone(), p.context);
    let outcomes = zeros(&sim.api(), || {
        // Some calls change the current context, or end it.
        if !call!(p, cuCtxSetCurrent(context)).is_success() {
            p.primary(0);
            ok!(p, cuCtxSetCurrent(context));
        }
    });
    for Outcome { symbol, result: outcome, .. } in outcomes {
        let valid = ZEROS_ARE_VALID.iter().any(|(_, symbols)| symbols.contains(&symbol));
        let usual = [CUresult::CUDA_ERROR_INVALID_VALUE, CUresult::CUDA_ERROR_INVALID_HANDLE].contains(&outcome);
        let other = OTHER_CODES.iter().any(|(prefix, code)| symbol.starts_with(prefix) && outcome == *code);
        assert!(if valid { outcome.is_success() } else { usual || other }, "{symbol}: {outcome:?}");
    }
}

/// The codes by which the manual refuses an object that has ended. A code per object, because a call checks them in any order.
const REFUSALS: [CUresult; 5] = [
    CUresult::CUDA_ERROR_INVALID_VALUE,
    CUresult::CUDA_ERROR_INVALID_HANDLE,
    CUresult::CUDA_ERROR_INVALID_CONTEXT,
    CUresult::CUDA_ERROR_NOT_FOUND,
    CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED,
];

/// The calls that succeed with such arguments, and the reason.
const HARMLESS: [(&str, &[&str]); 2] = [
    ("0 bytes are copied or filled at any address", &["cuMemcpy", "cuMemset", "cuMemcpyHtoD", "cuMemcpyDtoH"]),
    ("a query of several attributes outcomes with zeros", &["cuPointerGetAttributes"]),
];

#[test]
fn handles_of_ended_objects_are_refused() {
    for findings in [false, true] {
        let p = Program::with(Config { findings, ..Config::default() });
        let (ended, sim, context) = (Objects::new(&p), p.sim.clone(), p.context);
        ended.end(&p);
        let outcomes = ended_handles(&sim.api(), &ended, || {
            if !call!(p, cuCtxSetCurrent(context)).is_success() {
                p.primary(0);
                ok!(p, cuCtxSetCurrent(context));
            }
        });
        assert!(outcomes.len() > 200, "{}", outcomes.len());
        for Outcome { symbol, result: outcome, .. } in outcomes {
            let harmless =
                HARMLESS.iter().any(|(_, prefixes)| prefixes.iter().any(|prefix| symbol.starts_with(prefix)));
            assert!(REFUSALS.contains(&outcome) || harmless && outcome.is_success(), "{symbol}: {outcome:?}");
        }
        // The driver still works.
        let memory = p.alloc(16);
        p.fill(memory, 7, 16, p.stream(0));
        ok!(p, cuCtxSynchronize());
        assert_eq!(p.peek(memory), 7);
    }
}

#[test]
fn no_call_crashes_without_a_current_context() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let ended = Objects::new(&p);
    ended.end(&p);
    let outcomes = ended_handles(&p.sim.api(), &ended, || ok!(p, cuCtxSetCurrent(CUcontext::NULL)));
    for Outcome { symbol, result: outcome, .. } in outcomes {
        let harmless = HARMLESS.iter().any(|(_, prefixes)| prefixes.iter().any(|prefix| symbol.starts_with(prefix)));
        assert!(REFUSALS.contains(&outcome) || harmless && outcome.is_success(), "{symbol}: {outcome:?}");
    }
}

#[test]
fn each_refused_call_is_an_entry_of_the_error_log() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let position = || {
        let mut at = 0;
        ok!(p, cuLogsCurrent(&mut at, 0));
        at
    };
    // The positions after the previous call, and before the next one.
    let mut marks = Vec::new();
    let outcomes = zeros(&p.api, || {
        let after = position();
        if !call!(p, cuCtxSetCurrent(p.context)).is_success() {
            p.primary(0);
            ok!(p, cuCtxSetCurrent(p.context));
        }
        marks.push((after, position()));
    });
    marks.push((position(), 0));
    for (index, Outcome { symbol, result, .. }) in outcomes.into_iter().enumerate() {
        let entries = marks[index + 1].0 - marks[index].1;
        assert_eq!(entries > 0, !result.is_success(), "{symbol}: {result:?} has {entries} entries");
    }
}
