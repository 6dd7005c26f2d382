//! Iterative refinement with objects of parameters, which name the types of the matrices and of the factors.
//!
//! The types of factors, tolerances and numbers of iterations are checked and have no effect: factors have double precision.

use crate::handle::Handle;
use crate::refined;
use crate::scalar::{Complex32, Complex64};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::*;
use cuarray_stream_work::{Objects, write};
use std::ffi::{c_int, c_void};
use std::ptr;

/// An object of parameters.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// `cusolverPrecType_t` of the matrices, and of the factors. They are 0 until they are set.
    main: c_int,
    lowest: c_int,
    /// `cusolverIRSRefinement_t`.
    refinement: c_int,
    most_iterations: c_int,
}

static PARAMETERS: Objects<Parameters, cusolverStatus_t> =
    Objects::new(0x6375_0000_0000, cusolverStatus_t::IRS_PARAMS_NOT_INITIALIZED);
/// The largest number of iterations of the last call with an object of information.
static INFORMATION: Objects<c_int, cusolverStatus_t> =
    Objects::new(0x6376_0000_0000, cusolverStatus_t::IRS_INFOS_NOT_INITIALIZED);

/// `CUSOLVER_IRS_REFINE_NOT_SET`.
const REFINE_NOT_SET: c_int = 1100;

/// The types of matrices, each with those of its factors: the same and all with less precision.
const PRECISIONS: [(c_int, &[c_int]); 4] = [
    (1203, &[1203, 1204, 1205, 1206, 1207]),
    (1204, &[1204, 1205, 1206, 1207]),
    (1213, &[1213, 1214, 1215, 1216, 1217]),
    (1214, &[1214, 1215, 1216, 1217]),
];

fn change(params: usize, change: impl FnOnce(&mut Parameters) -> Outcome) -> Outcome {
    PARAMETERS.change(params, change)
}

fn precision(number: c_int) -> Outcome<c_int> {
    if PRECISIONS.iter().any(|(_, lower)| lower.contains(&number)) { Ok(number) } else { Err(INVALID_VALUE) }
}

/// `cusolverDnIRSParamsCreate`. 50 iterations are the default, as documented.
pub(crate) fn create_params(_: c_int, to: *mut cusolverDnIRSParams_t) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    let unset = Parameters { main: 0, lowest: 0, refinement: REFINE_NOT_SET, most_iterations: 50 };
    write(to, PARAMETERS.add(unset))
}

/// `cusolverDnIRSParamsDestroy`.
pub(crate) fn destroy_params(_: c_int, params: cusolverDnIRSParams_t) -> Outcome {
    PARAMETERS.remove(params).map(drop)
}

/// `cusolverDnIRSParamsSetRefinementSolver`.
pub(crate) fn set_refinement(_: c_int, params: cusolverDnIRSParams_t, solver: c_int) -> Outcome {
    change(params, |known| {
        if !(REFINE_NOT_SET..=1106).contains(&solver) {
            return Err(INVALID_VALUE);
        }
        known.refinement = solver;
        Ok(())
    })
}

/// `cusolverDnIRSParamsSetSolverMainPrecision`.
pub(crate) fn set_main(_: c_int, params: cusolverDnIRSParams_t, main: c_int) -> Outcome {
    change(params, |known| {
        known.main = precision(main)?;
        Ok(())
    })
}

/// `cusolverDnIRSParamsSetSolverLowestPrecision`.
pub(crate) fn set_lowest(_: c_int, params: cusolverDnIRSParams_t, lowest: c_int) -> Outcome {
    change(params, |known| {
        known.lowest = precision(lowest)?;
        Ok(())
    })
}

/// `cusolverDnIRSParamsSetSolverPrecisions`.
pub(crate) fn set_precisions(_: c_int, params: cusolverDnIRSParams_t, main: c_int, lowest: c_int) -> Outcome {
    change(params, |known| {
        (known.main, known.lowest) = (precision(main)?, precision(lowest)?);
        Ok(())
    })
}

/// `cusolverDnIRSParamsSetTol` and `cusolverDnIRSParamsSetTolInner`.
pub(crate) fn set_tolerance(_: c_int, params: cusolverDnIRSParams_t, _: f64) -> Outcome {
    PARAMETERS.get(params).map(drop)
}

/// `cusolverDnIRSParamsSetMaxIters`.
pub(crate) fn set_iterations(_: c_int, params: cusolverDnIRSParams_t, most: c_int) -> Outcome {
    change(params, |known| {
        if most < 1 {
            return Err(INVALID_VALUE);
        }
        known.most_iterations = most;
        Ok(())
    })
}

/// `cusolverDnIRSParamsSetMaxItersInner`.
pub(crate) fn set_inner_iterations(_: c_int, params: cusolverDnIRSParams_t, most: c_int) -> Outcome {
    PARAMETERS.get(params)?;
    if most < 1 { Err(INVALID_VALUE) } else { Ok(()) }
}

/// `cusolverDnIRSParamsGetMaxIters`.
pub(crate) fn iterations(_: c_int, params: cusolverDnIRSParams_t, to: *mut c_int) -> Outcome {
    write(to, PARAMETERS.get(params)?.most_iterations)
}

/// `cusolverDnIRSParamsEnableFallback` and `cusolverDnIRSParamsDisableFallback`. No solution needs another one.
pub(crate) fn set_fallback(_: c_int, params: cusolverDnIRSParams_t) -> Outcome {
    PARAMETERS.get(params).map(drop)
}

/// `cusolverDnIRSInfosCreate`.
pub(crate) fn create_infos(_: c_int, to: *mut cusolverDnIRSInfos_t) -> Outcome {
    if to.is_null() { Err(INVALID_VALUE) } else { write(to, INFORMATION.add(0)) }
}

/// `cusolverDnIRSInfosDestroy`.
pub(crate) fn destroy_infos(_: c_int, infos: cusolverDnIRSInfos_t) -> Outcome {
    INFORMATION.remove(infos).map(drop)
}

/// `cusolverDnIRSInfosGetNiters` and `cusolverDnIRSInfosGetOuterNiters`: no iterations are needed.
pub(crate) fn used_iterations(_: c_int, infos: cusolverDnIRSInfos_t, to: *mut c_int) -> Outcome {
    INFORMATION.get(infos)?;
    write(to, 0)
}

/// `cusolverDnIRSInfosGetMaxIters`: that of the parameters of the last call.
pub(crate) fn known_iterations(_: c_int, infos: cusolverDnIRSInfos_t, to: *mut c_int) -> Outcome {
    write(to, INFORMATION.get(infos)?)
}

/// The type of the matrices, after the parameters are checked.
fn checked(params: usize) -> Outcome<Parameters> {
    let known = PARAMETERS.get(params)?;
    let fits = |(main, lower): &(c_int, &[c_int])| *main == known.main && lower.contains(&known.lowest);
    if !PRECISIONS.iter().any(fits) {
        return Err(cusolverStatus_t::IRS_PARAMS_INVALID_PREC);
    }
    if known.refinement == REFINE_NOT_SET {
        return Err(cusolverStatus_t::IRS_PARAMS_INVALID_REFINE);
    }
    Ok(known)
}

/// Runs an expression with the type of the matrices.
macro_rules! with_type {
    ($known:expr, $t:ident => $call:expr) => {
        match $known.main {
            1203 => {
                type $t = f64;
                $call
            }
            1204 => {
                type $t = f32;
                $call
            }
            1213 => {
                type $t = Complex64;
                $call
            }
            _ => {
                type $t = Complex32;
                $call
            }
        }
    };
}

/// `cusolverDnIRSXgesv_bufferSize`.
pub(crate) fn gesv_size(
    handle: &Handle,
    params: cusolverDnIRSParams_t,
    n: i64,
    columns: i64,
    bytes: *mut usize,
) -> Outcome {
    let known = checked(params)?;
    let (none, lead) = (ptr::null_mut(), n.max(1));
    with_type!(known, T => {
        let matrix = ptr::null_mut::<T>();
        refined::gesv_size(handle, n, columns, matrix, lead, none, matrix, lead, matrix, lead, ptr::null_mut(), bytes)
    })
}

/// `cusolverDnIRSXgesv`.
pub(crate) fn gesv(
    handle: &Handle,
    params: cusolverDnIRSParams_t,
    infos: cusolverDnIRSInfos_t,
    n: i64,
    columns: i64,
    a: *mut c_void,
    lda: i64,
    b: *mut c_void,
    ldb: i64,
    x: *mut c_void,
    ldx: i64,
    workspace: *mut c_void,
    given: usize,
    iterations: *mut c_int,
    info: *mut c_int,
) -> Outcome {
    let known = checked(params)?;
    INFORMATION.get(infos)?;
    with_type!(known, T => {
        let (a, b, x) = (a.cast::<T>(), b.cast(), x.cast());
        let pivots = ptr::null_mut();
        refined::gesv(handle, n, columns, a, lda, pivots, b, ldb, x, ldx, workspace, given, iterations, info)
    })?;
    tell(infos, known)
}

/// `cusolverDnIRSXgels_bufferSize`.
pub(crate) fn gels_size(
    handle: &Handle,
    params: cusolverDnIRSParams_t,
    m: i64,
    n: i64,
    columns: i64,
    bytes: *mut usize,
) -> Outcome {
    let known = checked(params)?;
    let (rows, lead) = (m.max(1), n.max(1));
    with_type!(known, T => {
        let matrix = ptr::null_mut::<T>();
        refined::gels_size(handle, m, n, columns, matrix, rows, matrix, rows, matrix, lead, ptr::null_mut(), bytes)
    })
}

/// `cusolverDnIRSXgels`.
pub(crate) fn gels(
    handle: &Handle,
    params: cusolverDnIRSParams_t,
    infos: cusolverDnIRSInfos_t,
    m: i64,
    n: i64,
    columns: i64,
    a: *mut c_void,
    lda: i64,
    b: *mut c_void,
    ldb: i64,
    x: *mut c_void,
    ldx: i64,
    workspace: *mut c_void,
    given: usize,
    iterations: *mut c_int,
    info: *mut c_int,
) -> Outcome {
    let known = checked(params)?;
    INFORMATION.get(infos)?;
    with_type!(known, T => {
        let (a, b, x) = (a.cast::<T>(), b.cast(), x.cast());
        refined::gels(handle, m, n, columns, a, lda, b, ldb, x, ldx, workspace, given, iterations, info)
    })?;
    tell(infos, known)
}

/// Keeps the parameters of a call.
fn tell(infos: usize, known: Parameters) -> Outcome {
    INFORMATION.change(infos, |most| {
        *most = known.most_iterations;
        Ok(())
    })
}
