//! Plans are created, made, measured and destroyed.

use crate::kinds::{Types, types_of, types_of_data};
use crate::plans::{self, Plan};
use crate::problem::{Embedding, Problem, Request};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::*;
use cuarray_stream_work::{read, write};
use std::ffi::c_int;

/// `CUFFT_PLAN_NULL` of cuFFT 12: no plan, which may be destroyed.
const PLAN_NULL: cufftHandle = -1;

/// The basic layout of a transform with these sizes.
fn basic(sizes: &[c_int], number: cufftType, batch: c_int) -> Outcome<Request> {
    let sizes = sizes.iter().map(|size| i64::from(*size)).collect();
    Ok(Request { sizes, embeddings: None, batch: batch.into(), types: types_of(number)? })
}

/// A side of the advanced layout as a call gives it: the sizes of the whole array, and the distances of elements and of arrays.
type Given<N> = (*const N, N, N);

/// Any layout.
fn many<N: Copy + Into<i64>>(
    (rank, n): (c_int, *const N),
    input: Given<N>,
    output: Given<N>,
    batch: i64,
    types: Types,
) -> Outcome<Request> {
    let rank = usize::try_from(rank).ok().filter(|rank| (1..=3).contains(rank)).ok_or(INVALID_VALUE)?;
    let list = |from: *const N| -> Outcome<Vec<i64>> {
        Ok(read::<_, cufftResult>(from, rank)?.into_iter().map(Into::into).collect())
    };
    let sizes = list(n)?;
    // Documented: a null embedding means the basic layout, and all distances are ignored.
    let embeddings = if input.0.is_null() || output.0.is_null() {
        None
    } else {
        let side = |(embed, step, distance): Given<N>| -> Outcome<Embedding> {
            Ok(Embedding { embed: list(embed)?, step: step.into(), distance: distance.into() })
        };
        Some([side(input)?, side(output)?])
    };
    Ok(Request { sizes, embeddings, batch, types })
}

/// `cufftCreate`.
pub(crate) fn create(major: c_int, plan: *mut cufftHandle) -> Outcome {
    if plan.is_null() {
        return Err(INVALID_VALUE);
    }
    write(plan, plans::create(major)?)
}

/// `cufftDestroy`.
pub(crate) fn destroy(major: c_int, plan: cufftHandle) -> Outcome {
    if plan == PLAN_NULL && major >= 12 { Ok(()) } else { plans::destroy(plan) }
}

/// Creates a plan and makes it. If that fails, there is no plan.
fn plan(major: c_int, to: *mut cufftHandle, request: Outcome<Request>) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    let request = request?;
    let number = plans::create(major)?;
    if let Err(status) = plans::find(number).and_then(|plan| plan.make(&request)) {
        plans::destroy(number)?;
        return Err(status);
    }
    write(to, number)
}

/// `cufftPlan1d`.
pub(crate) fn plan_1d(major: c_int, to: *mut cufftHandle, nx: c_int, number: cufftType, batch: c_int) -> Outcome {
    plan(major, to, basic(&[nx], number, batch))
}

/// `cufftPlan2d`.
pub(crate) fn plan_2d(major: c_int, to: *mut cufftHandle, nx: c_int, ny: c_int, number: cufftType) -> Outcome {
    plan(major, to, basic(&[nx, ny], number, 1))
}

/// `cufftPlan3d`.
pub(crate) fn plan_3d(
    major: c_int,
    to: *mut cufftHandle,
    nx: c_int,
    ny: c_int,
    nz: c_int,
    number: cufftType,
) -> Outcome {
    plan(major, to, basic(&[nx, ny, nz], number, 1))
}

/// `cufftPlanMany`.
pub(crate) fn plan_many(
    major: c_int,
    to: *mut cufftHandle,
    rank: c_int,
    n: *const c_int,
    inembed: *const c_int,
    istride: c_int,
    idist: c_int,
    onembed: *const c_int,
    ostride: c_int,
    odist: c_int,
    number: cufftType,
    batch: c_int,
) -> Outcome {
    let request = types_of(number)
        .and_then(|types| many((rank, n), (inembed, istride, idist), (onembed, ostride, odist), batch.into(), types));
    plan(major, to, request)
}

/// A function that a handle and a place for the size of the work area go to.
fn sized(
    plan: cufftHandle,
    to: *mut usize,
    request: Outcome<Request>,
    f: impl FnOnce(&Plan, &Request) -> Outcome<Vec<usize>>,
) -> Outcome {
    let plan = plans::find(plan)?;
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    plans::write_sizes(to, &f(&plan, &request?)?)
}

fn make(plan: cufftHandle, to: *mut usize, request: Outcome<Request>) -> Outcome {
    sized(plan, to, request, Plan::make)
}

fn measure(plan: cufftHandle, to: *mut usize, request: Outcome<Request>) -> Outcome {
    sized(plan, to, request, |plan, request| Ok(Problem::new(request)?.work_sizes(plan.settings().device_count())))
}

fn estimate(to: *mut usize, request: Outcome<Request>) -> Outcome {
    write(to, Problem::new(&request?)?.work_size())
}

/// The functions of a handle, which all have the parameters of `cufftMakePlan1d` and the like.
macro_rules! of_handle {
    ($($f:ident: $one:ident $two:ident $three:ident $many:ident $many_64:ident $typed:ident;)*) => {$(
        pub(crate) fn $one(plan: cufftHandle, nx: c_int, number: cufftType, batch: c_int, size: *mut usize) -> Outcome {
            $f(plan, size, basic(&[nx], number, batch))
        }

        pub(crate) fn $two(plan: cufftHandle, nx: c_int, ny: c_int, number: cufftType, size: *mut usize) -> Outcome {
            $f(plan, size, basic(&[nx, ny], number, 1))
        }

        pub(crate) fn $three(
            plan: cufftHandle,
            nx: c_int,
            ny: c_int,
            nz: c_int,
            number: cufftType,
            size: *mut usize,
        ) -> Outcome {
            $f(plan, size, basic(&[nx, ny, nz], number, 1))
        }

        pub(crate) fn $many(
            plan: cufftHandle,
            rank: c_int,
            n: *const c_int,
            inembed: *const c_int,
            istride: c_int,
            idist: c_int,
            onembed: *const c_int,
            ostride: c_int,
            odist: c_int,
            number: cufftType,
            batch: c_int,
            size: *mut usize,
        ) -> Outcome {
            let request = types_of(number).and_then(|types| {
                many((rank, n), (inembed, istride, idist), (onembed, ostride, odist), batch.into(), types)
            });
            $f(plan, size, request)
        }

        pub(crate) fn $many_64(
            plan: cufftHandle,
            rank: c_int,
            n: *const i64,
            inembed: *const i64,
            istride: i64,
            idist: i64,
            onembed: *const i64,
            ostride: i64,
            odist: i64,
            number: cufftType,
            batch: i64,
            size: *mut usize,
        ) -> Outcome {
            let request = types_of(number)
                .and_then(|types| many((rank, n), (inembed, istride, idist), (onembed, ostride, odist), batch, types));
            $f(plan, size, request)
        }

        pub(crate) fn $typed(
            plan: cufftHandle,
            rank: c_int,
            n: *const i64,
            inembed: *const i64,
            istride: i64,
            idist: i64,
            inputtype: cudaDataType,
            onembed: *const i64,
            ostride: i64,
            odist: i64,
            outputtype: cudaDataType,
            batch: i64,
            size: *mut usize,
            executiontype: cudaDataType,
        ) -> Outcome {
            let request = types_of_data(inputtype, outputtype, executiontype)
                .and_then(|types| many((rank, n), (inembed, istride, idist), (onembed, ostride, odist), batch, types));
            $f(plan, size, request)
        }
    )*};
}

of_handle! {
    make: make_1d make_2d make_3d make_many make_many_64 make_typed;
    measure: size_1d size_2d size_3d size_many size_many_64 size_typed;
}

/// `cufftEstimate1d`.
pub(crate) fn estimate_1d(nx: c_int, number: cufftType, batch: c_int, size: *mut usize) -> Outcome {
    estimate(size, basic(&[nx], number, batch))
}

/// `cufftEstimate2d`.
pub(crate) fn estimate_2d(nx: c_int, ny: c_int, number: cufftType, size: *mut usize) -> Outcome {
    estimate(size, basic(&[nx, ny], number, 1))
}

/// `cufftEstimate3d`.
pub(crate) fn estimate_3d(nx: c_int, ny: c_int, nz: c_int, number: cufftType, size: *mut usize) -> Outcome {
    estimate(size, basic(&[nx, ny, nz], number, 1))
}

/// `cufftEstimateMany`.
pub(crate) fn estimate_many(
    rank: c_int,
    n: *const c_int,
    inembed: *const c_int,
    istride: c_int,
    idist: c_int,
    onembed: *const c_int,
    ostride: c_int,
    odist: c_int,
    number: cufftType,
    batch: c_int,
    size: *mut usize,
) -> Outcome {
    let request = types_of(number)
        .and_then(|types| many((rank, n), (inembed, istride, idist), (onembed, ostride, odist), batch.into(), types));
    estimate(size, request)
}

/// `cufftGetSize`.
pub(crate) fn size(plan: cufftHandle, size: *mut usize) -> Outcome {
    let plan = plans::find(plan)?;
    let sizes = plan.problem()?.work_sizes(plan.settings().device_count());
    if size.is_null() { Err(INVALID_VALUE) } else { plans::write_sizes(size, &sizes) }
}
