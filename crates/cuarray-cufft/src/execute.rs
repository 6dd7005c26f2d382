//! Transforms are enqueued.

use crate::kinds::{Direction, Kind, Precision, Types};
use crate::plans::{self, Plan};
use crate::status::{INVALID_VALUE, Outcome};
use crate::transform::{Sides, run};
use crate::types::{cufftHandle, cufftResult};
use cuarray_stream_work::Work;
use half::{bf16, f16};
use std::ffi::{CStr, c_int, c_void};

/// The names of the arguments of a function.
pub(crate) type Names = [&'static CStr; 2];

const DATA: Names = [c"idata", c"odata"];

/// Enqueues the transform of a plan.
pub(crate) fn execute(
    plan: &Plan,
    types: Option<Types>,
    names: Names,
    (input, output): (u64, u64),
    direction: Option<c_int>,
) -> Outcome {
    let settings = plan.settings().clone();
    let problem = plan.problem()?;
    if types.is_some_and(|types| types != problem.types) {
        return Err(cufftResult::INVALID_TYPE);
    }
    let direction = match problem.types.0 {
        Kind::ComplexToComplex => Direction::of(direction.ok_or(INVALID_VALUE)?)?,
        // Documented: such a transform has one direction, and the parameter is ignored.
        Kind::RealToComplex => Direction::Forward,
        Kind::ComplexToReal => Direction::Inverse,
    };
    // Documented: also real arrays have the alignment of complex numbers.
    let alignment = 2 * problem.types.1.bytes() as u64;
    if [input, output].iter().any(|address| *address == 0 || address % alignment != 0) {
        return Err(INVALID_VALUE);
    }
    if !settings.allocates && settings.work_area == 0 {
        return Err(cufftResult::NO_WORKSPACE);
    }
    let in_place = input == output;
    let (from, to) = (problem.input.layout(in_place), problem.output.layout(in_place));
    let mut work = Work::new();
    if settings.work_area != 0 {
        work.scratch(c"workArea", settings.work_area, problem.work_size());
    }
    let read = work.reads(names[0], from.region(input, problem.input.bytes)?);
    let written = work.writes(names[1], to.region(output, problem.output.bytes)?);
    let sides = Sides { input: (read, from.view()), output: (written, to.view()) };
    let run = match problem.types.1 {
        Precision::Half => run::<f16>,
        Precision::Bfloat => run::<bf16>,
        Precision::Single => run::<f32>,
        Precision::Double => run::<f64>,
    };
    Ok(plan.place.enqueue(settings.stream, work, move |data| run(&problem, direction, &sides, data))?)
}

fn addresses(input: *const c_void, output: *mut c_void) -> (u64, u64) {
    (input.addr() as u64, output.addr() as u64)
}

/// `cufftXtExec`.
pub(crate) fn any(plan: cufftHandle, input: *mut c_void, output: *mut c_void, direction: c_int) -> Outcome {
    execute(&*plans::find(plan)?, None, [c"input", c"output"], addresses(input, output), Some(direction))
}

fn typed(
    plan: cufftHandle,
    types: Types,
    input: *mut c_void,
    output: *mut c_void,
    direction: Option<c_int>,
) -> Outcome {
    execute(&*plans::find(plan)?, Some(types), DATA, addresses(input, output), direction)
}

/// The types of the functions, by the letters of their names.
pub(crate) const C2C: Types = (Kind::ComplexToComplex, Precision::Single);
pub(crate) const Z2Z: Types = (Kind::ComplexToComplex, Precision::Double);
pub(crate) const R2C: Types = (Kind::RealToComplex, Precision::Single);
pub(crate) const D2Z: Types = (Kind::RealToComplex, Precision::Double);
pub(crate) const C2R: Types = (Kind::ComplexToReal, Precision::Single);
pub(crate) const Z2D: Types = (Kind::ComplexToReal, Precision::Double);

macro_rules! complex {
    ($($name:ident $types:ident;)*) => {$(
        pub(crate) fn $name(plan: cufftHandle, idata: *mut c_void, odata: *mut c_void, direction: c_int) -> Outcome {
            typed(plan, $types, idata, odata, Some(direction))
        }
    )*};
}

macro_rules! real {
    ($($name:ident $types:ident;)*) => {$(
        pub(crate) fn $name(plan: cufftHandle, idata: *mut c_void, odata: *mut c_void) -> Outcome {
            typed(plan, $types, idata, odata, None)
        }
    )*};
}

complex! { c2c C2C; z2z Z2Z; }
real! { r2c R2C; d2z D2Z; c2r C2R; z2d Z2D; }
