//! Transforms are enqueued.

use crate::kinds::{Direction, Kind, Precision, Types};
use crate::layout::View;
use crate::plans::{self, Plan};
use crate::problem::{Problem, Side};
use crate::status::{INVALID_PLAN, INVALID_VALUE, Outcome};
use crate::transform::{Staged, run};
use crate::types::{cufftHandle, cufftResult};
use cuarray_stream_work::{Region, Work};
use half::{bf16, f16};
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;

/// The names of the arguments of a function.
pub(crate) type Names = [&'static CStr; 2];

const DATA: Names = [c"idata", c"odata"];

/// Both sides of a transform: their bytes in device memory, and their places in staging memory.
pub(crate) struct Sides {
    pub(crate) input: (Region, View),
    pub(crate) output: (Region, View),
}

/// Enqueues the transform of a plan.
pub(crate) fn enqueue(
    plan: &Plan,
    problem: &Arc<Problem>,
    names: Names,
    sides: Sides,
    direction: Option<c_int>,
) -> Outcome {
    let settings = plan.settings().clone();
    let direction = match problem.types.0 {
        Kind::ComplexToComplex => Direction::of(direction.ok_or(INVALID_VALUE)?)?,
        // Documented: such a transform has one direction, and the parameter is ignored.
        Kind::RealToComplex => Direction::Forward,
        Kind::ComplexToReal => Direction::Inverse,
    };
    let sizes = problem.work_sizes(settings.device_count());
    if !settings.allocates && settings.work_areas.iter().filter(|area| **area != 0).count() < sizes.len() {
        return Err(cufftResult::NO_WORKSPACE);
    }
    let mut work = Work::new();
    for (area, size) in settings.work_areas.iter().zip(&sizes).filter(|(area, _)| **area != 0) {
        work.scratch(c"workArea", *area, *size);
    }
    let read = work.reads(names[0], sides.input.0);
    let written = work.writes(names[1], sides.output.0);
    let staged = Staged { input: (read, sides.input.1), output: (written, sides.output.1) };
    let run = match problem.types.1 {
        Precision::Half => run::<f16>,
        Precision::Bfloat => run::<bf16>,
        Precision::Single => run::<f32>,
        Precision::Double => run::<f64>,
    };
    let problem = Arc::clone(problem);
    Ok(plan.place.enqueue(settings.stream, work, move |data| run(&problem, direction, &staged, data))?)
}

/// Enqueues the transform of arrays at two addresses.
fn execute(
    plan: &Plan,
    types: Option<Types>,
    names: Names,
    (input, output): (u64, u64),
    direction: Option<c_int>,
) -> Outcome {
    let problem = plan.problem()?;
    if plan.settings().device_count() > 1 {
        // The arrays of such a plan have descriptors.
        return Err(INVALID_PLAN);
    }
    if types.is_some_and(|types| types != problem.types) {
        return Err(cufftResult::INVALID_TYPE);
    }
    // Documented: also real arrays have the alignment of complex numbers.
    let alignment = 2 * problem.types.1.bytes() as u64;
    if [input, output].iter().any(|address| *address == 0 || address % alignment != 0) {
        return Err(INVALID_VALUE);
    }
    let in_place = input == output;
    let side = |side: &Side, address: u64| -> Outcome<_> {
        let layout = side.layout(in_place);
        Ok((layout.region(address, side.bytes)?, layout.view()))
    };
    let sides = Sides { input: side(&problem.input, input)?, output: side(&problem.output, output)? };
    enqueue(plan, &problem, names, sides, direction)
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
