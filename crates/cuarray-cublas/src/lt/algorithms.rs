//! Algorithms of products. There is one, whose settings have no effect.

use super::descriptors::number;
use super::problem::{Problem, types};
use super::record::{Attribute, Kind, give};
use crate::handle;
use crate::scalar::DataType;
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::types::{cublasComputeType_t, cublasHandle_t, cublasStatus_t, cudaDataType, cudaStream_t};
use cuarray_stream_work::write;
use std::ffi::{c_int, c_void};

const fn of(number: u32, size: usize, first: i64) -> Attribute {
    Attribute { number, size, first }
}

/// The number of the algorithm.
const ID: c_int = 0;

/// `cublasLtMatmulAlgo_t`: the number of the algorithm, and settings that have no effect.
static ALGORITHM: Kind = Kind {
    mark: 0x616c_676f,
    size: 64,
    attributes: &[
        of(0, 4, ID as i64),
        of(1, 4, 0),
        of(2, 4, 1),
        of(3, 4, 0),
        of(4, 4, 0),
        of(5, 4, 0),
        of(6, 4, 0),
        of(7, 2, 0),
        of(8, 2, 0),
    ],
};

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Debug)]
pub struct HeuristicResult {
    algorithm: [u64; 8],
    workspace: usize,
    state: cublasStatus_t,
    waves: f32,
    reserved: [c_int; 4],
}

/// The attribute of the number, which programs only read.
const CONFIG_ID: c_int = 0;

/// Checks that memory has an algorithm of this library.
pub(super) fn check(algorithm: *const c_void) -> Outcome {
    ALGORITHM.open(algorithm).map(drop)
}

/// The answer for a product that is supported.
fn result() -> Outcome<HeuristicResult> {
    let mut algorithm = [0_u64; 8];
    ALGORITHM.first().init(algorithm.as_mut_ptr().cast(), size_of_val(&algorithm))?;
    Ok(HeuristicResult { algorithm, workspace: 0, state: cublasStatus_t::SUCCESS, waves: 1.0, reserved: [0; 4] })
}

fn heuristic(
    handle: cublasHandle_t,
    descriptor: *const c_void,
    layouts: [*const c_void; 4],
    preference: *const c_void,
    requested: c_int,
    results: *mut HeuristicResult,
    count: *mut c_int,
) -> Outcome {
    handle::find_or_adopt(handle)?;
    super::descriptors::PREFERENCE.open(preference)?;
    if requested <= 0 || results.is_null() {
        return Err(INVALID_VALUE);
    }
    write::<_, cublasStatus_t>(count, 0)?;
    Problem::open(descriptor, layouts)?;
    write::<_, cublasStatus_t>(results, result()?)?;
    write(count, 1)
}

/// `cublasLtMatmulAlgoGetHeuristic`.
///
/// # Safety
/// The descriptors are null or valid, and `results` and `count` are null or may be written.
pub unsafe extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    _: c_int,
    handle: cublasHandle_t,
    descriptor: *const c_void,
    a: *const c_void,
    b: *const c_void,
    c: *const c_void,
    d: *const c_void,
    preference: *const c_void,
    requested: c_int,
    results: *mut HeuristicResult,
    count: *mut c_int,
) -> cublasStatus_t {
    cuarray_stream_work::guarded(c"cublasLtMatmulAlgoGetHeuristic", || {
        heuristic(handle, descriptor, [a, b, c, d], preference, requested, results, count)
    })
}

/// `cublasLtMatmulAlgoGetHeuristicForStream`, whose answer does not depend on the stream.
///
/// # Safety
/// As [`cublasLtMatmulAlgoGetHeuristic`].
pub unsafe extern "C" fn cublasLtMatmulAlgoGetHeuristicForStream(
    _: c_int,
    handle: cublasHandle_t,
    descriptor: *const c_void,
    a: *const c_void,
    b: *const c_void,
    c: *const c_void,
    d: *const c_void,
    preference: *const c_void,
    requested: c_int,
    results: *mut HeuristicResult,
    count: *mut c_int,
    _stream: cudaStream_t,
) -> cublasStatus_t {
    cuarray_stream_work::guarded(c"cublasLtMatmulAlgoGetHeuristicForStream", || {
        heuristic(handle, descriptor, [a, b, c, d], preference, requested, results, count)
    })
}

fn check_types(compute: cublasComputeType_t, scale: cudaDataType, matrices: [cudaDataType; 4]) -> Outcome {
    let [a, b, c, d] = matrices.map(DataType::of);
    types(compute, DataType::of(scale)?, [a?, b?, c?, d?]).map(drop)
}

/// `cublasLtMatmulAlgoGetIds`.
///
/// # Safety
/// `ids` and `count` are null or may be written.
pub unsafe extern "C" fn cublasLtMatmulAlgoGetIds(
    _: c_int,
    handle: cublasHandle_t,
    compute: cublasComputeType_t,
    scale: cudaDataType,
    a: cudaDataType,
    b: cudaDataType,
    c: cudaDataType,
    d: cudaDataType,
    requested: c_int,
    ids: *mut c_int,
    count: *mut c_int,
) -> cublasStatus_t {
    cuarray_stream_work::guarded(c"cublasLtMatmulAlgoGetIds", || {
        handle::find_or_adopt(handle)?;
        if requested <= 0 || ids.is_null() {
            return Err(INVALID_VALUE);
        }
        write::<_, cublasStatus_t>(count, 0)?;
        check_types(compute, scale, [a, b, c, d])?;
        write::<_, cublasStatus_t>(ids, ID)?;
        write(count, 1)
    })
}

/// `cublasLtMatmulAlgoInit`.
///
/// # Safety
/// `algorithm` is null or may be written.
pub unsafe extern "C" fn cublasLtMatmulAlgoInit(
    _: c_int,
    handle: cublasHandle_t,
    compute: cublasComputeType_t,
    scale: cudaDataType,
    a: cudaDataType,
    b: cudaDataType,
    c: cudaDataType,
    d: cudaDataType,
    id: c_int,
    algorithm: *mut c_void,
) -> cublasStatus_t {
    cuarray_stream_work::guarded(c"cublasLtMatmulAlgoInit", || {
        handle::find_or_adopt(handle)?;
        if id != ID {
            return Err(INVALID_VALUE);
        }
        check_types(compute, scale, [a, b, c, d])?;
        ALGORITHM.first().init(algorithm, ALGORITHM.size)
    })
}

fn check_algorithm(
    handle: cublasHandle_t,
    descriptor: *const c_void,
    layouts: [*const c_void; 4],
    algorithm: *const c_void,
    to: *mut HeuristicResult,
) -> Outcome {
    handle::find_or_adopt(handle)?;
    check(algorithm)?;
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    Problem::open(descriptor, layouts)?;
    let HeuristicResult { workspace, state, waves, .. } = result()?;
    // SAFETY: the pointer is not null, and by the contract of the C function may be written. The field `algo` stays as it is.
    unsafe {
        (&raw mut (*to).workspace).write_unaligned(workspace);
        (&raw mut (*to).state).write_unaligned(state);
        (&raw mut (*to).waves).write_unaligned(waves);
    }
    Ok(())
}

/// `cublasLtMatmulAlgoCheck`.
///
/// # Safety
/// The descriptors and the algorithm are null or valid, and `result` is null or may be written.
pub unsafe extern "C" fn cublasLtMatmulAlgoCheck(
    _: c_int,
    handle: cublasHandle_t,
    descriptor: *const c_void,
    a: *const c_void,
    b: *const c_void,
    c: *const c_void,
    d: *const c_void,
    algorithm: *const c_void,
    result: *mut HeuristicResult,
) -> cublasStatus_t {
    cuarray_stream_work::guarded(c"cublasLtMatmulAlgoCheck", || {
        check_algorithm(handle, descriptor, [a, b, c, d], algorithm, result)
    })
}

/// `cublasLtMatmulAlgoCheckForStream`, whose answer does not depend on the stream.
///
/// # Safety
/// As [`cublasLtMatmulAlgoCheck`].
pub unsafe extern "C" fn cublasLtMatmulAlgoCheckForStream(
    _: c_int,
    handle: cublasHandle_t,
    descriptor: *const c_void,
    a: *const c_void,
    b: *const c_void,
    c: *const c_void,
    d: *const c_void,
    algorithm: *const c_void,
    result: *mut HeuristicResult,
    _stream: cudaStream_t,
) -> cublasStatus_t {
    cuarray_stream_work::guarded(c"cublasLtMatmulAlgoCheckForStream", || {
        check_algorithm(handle, descriptor, [a, b, c, d], algorithm, result)
    })
}

/// The epilogues, as the bits of their numbers.
const EPILOGUES: u32 = 1 | 2 | 4 | 8 | 16 | 32 | 64 | 128 | 256 | 512;

/// `cublasLtMatmulAlgoCapGetAttribute`.
///
/// # Safety
/// `algorithm` is null or valid, `to` is null or has `size` bytes, and `written` is null or may be written.
pub unsafe extern "C" fn cublasLtMatmulAlgoCapGetAttribute(
    _: c_int,
    algorithm: *const c_void,
    attribute: c_int,
    to: *mut c_void,
    size: usize,
    written: *mut usize,
) -> cublasStatus_t {
    cuarray_stream_work::guarded(c"cublasLtMatmulAlgoCapGetAttribute", || {
        check(algorithm)?;
        let word = |value: u32| give(&value.to_le_bytes(), to, size, written);
        match attribute {
            // Parts of sums, their reduction, the order of tiles, triangles, options, orders in tiles, negative distances, counters, emulation
            // and groups: none.
            0..=2 | 5 | 7 | 10 | 14 | 20 | 22 | 23 => word(0),
            // Batches at constant distances and behind pointers, and results apart from C.
            3 | 4 | 21 => word(1),
            // Tiles and stages: their lists have one entry, which names none.
            6 | 13 => word(0),
            // All five pointer modes.
            11 => word(0x1f),
            12 => word(EPILOGUES),
            // Fused multiplications and additions, without tensor cores.
            15 => give(&1_u64.to_le_bytes(), to, size, written),
            16..=19 => word(1),
            _ => Err(INVALID_VALUE),
        }
    })
}

/// `cublasLtMatmulAlgoConfigSetAttribute`. The settings have no effect.
///
/// # Safety
/// `algorithm` is null or valid, and `from` is null or has `size` bytes.
pub unsafe extern "C" fn cublasLtMatmulAlgoConfigSetAttribute(
    _: c_int,
    algorithm: *mut c_void,
    attribute: c_int,
    from: *const c_void,
    size: usize,
) -> cublasStatus_t {
    cuarray_stream_work::guarded(c"cublasLtMatmulAlgoConfigSetAttribute", || {
        if attribute == CONFIG_ID {
            return Err(NOT_SUPPORTED);
        }
        ALGORITHM.set(algorithm, number(attribute)?, from, size)
    })
}

/// `cublasLtMatmulAlgoConfigGetAttribute`.
///
/// # Safety
/// `algorithm` is null or valid, `to` is null or has `size` bytes, and `written` is null or may be written.
pub unsafe extern "C" fn cublasLtMatmulAlgoConfigGetAttribute(
    _: c_int,
    algorithm: *const c_void,
    attribute: c_int,
    to: *mut c_void,
    size: usize,
    written: *mut usize,
) -> cublasStatus_t {
    cuarray_stream_work::guarded(c"cublasLtMatmulAlgoConfigGetAttribute", || {
        ALGORITHM.get(algorithm, number(attribute)?, to, size, written)
    })
}
