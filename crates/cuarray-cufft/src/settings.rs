//! Streams, work areas, versions and properties.

use crate::distribution::Factors;
use crate::plans;
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::types::*;
use cuarray_abi::CUstream;
use cuarray_stream_work::{read, write};
use std::ffi::{c_int, c_void};

/// The versions whose functions are exported, by their major number.
fn version(major: c_int) -> [c_int; 3] {
    if major == 11 { [11, 4, 1] } else { [12, 5, 0] }
}

/// `cufftGetVersion`.
pub(crate) fn get_version(major: c_int, to: *mut c_int) -> Outcome {
    let [major, minor, patch] = version(major);
    write(to, major * 1000 + minor * 100 + patch)
}

/// `cufftGetProperty`: a part of the version.
pub(crate) fn get_property(major: c_int, part: libraryPropertyType, to: *mut c_int) -> Outcome {
    let part = usize::try_from(part).map_err(|_| INVALID_VALUE)?;
    write(to, *version(major).get(part).ok_or(INVALID_VALUE)?)
}

/// `cufftSetStream`.
pub(crate) fn set_stream(plan: cufftHandle, stream: cudaStream_t) -> Outcome {
    plans::find(plan)?.settings().stream = CUstream(stream.addr());
    Ok(())
}

/// `cufftSetWorkArea`.
pub(crate) fn set_work_area(plan: cufftHandle, area: *mut c_void) -> Outcome {
    plans::find(plan)?.settings().work_areas = vec![area.addr() as u64];
    Ok(())
}

/// `cufftXtSetWorkArea`: a work area for each device.
pub(crate) fn set_work_areas(plan: cufftHandle, areas: *const *mut c_void) -> Outcome {
    let plan = plans::find(plan)?;
    let mut settings = plan.settings();
    let areas = read::<_, cufftResult>(areas, settings.device_count())?;
    settings.work_areas = areas.into_iter().map(|area| area.addr() as u64).collect();
    Ok(())
}

/// `cufftXtQueryPlan`: the factors of one transform of one dimension on several devices.
pub(crate) fn query(plan: cufftHandle, to: *mut c_void, kind: cufftXtQueryType) -> Outcome {
    let plan = plans::find(plan)?;
    let (problem, devices) = (plan.problem()?, plan.settings().device_count());
    match problem.sizes[..] {
        [size] if kind == 0 && problem.batch == 1 && devices > 1 => {
            write(to.cast(), Factors::new(size, devices).described())
        }
        _ => Err(INVALID_VALUE),
    }
}

/// `cufftSetAutoAllocation`.
pub(crate) fn set_auto_allocation(plan: cufftHandle, auto_allocate: c_int) -> Outcome {
    let plan = plans::find(plan)?;
    if !matches!(auto_allocate, 0 | 1) {
        return Err(INVALID_VALUE);
    }
    plan.settings().allocates = auto_allocate == 1;
    Ok(())
}

/// `cufftXtSetWorkAreaPolicy`. The least and the usual work area are the same.
pub(crate) fn set_work_area_policy(plan: cufftHandle, policy: cufftXtWorkAreaPolicy, size: *mut usize) -> Outcome {
    let plan = plans::find(plan)?;
    let needed = plan.problem()?.work_sizes(plan.settings().device_count());
    match policy {
        0 | 2 if size.is_null() => Ok(()),
        0 | 2 => plans::write_sizes(size, &needed),
        1 => Err(NOT_SUPPORTED),
        _ => Err(INVALID_VALUE),
    }
}

/// The number of the last property of a major version.
fn last_property(major: c_int) -> cufftProperty {
    if major == 11 { 2 } else { 4 }
}

/// The property for the number of threads that compile.
const THREADS: cufftProperty = 2;

/// `cufftSetPlanPropertyInt64`. Properties have no effect, because nothing is compiled.
pub(crate) fn set_plan_property(major: c_int, plan: cufftHandle, property: cufftProperty, value: i64) -> Outcome {
    let plan = plans::find(plan)?;
    let mut settings = plan.settings();
    let fits = if property == THREADS { value >= 1 } else { matches!(value, 0 | 1) };
    if !(1..=last_property(major)).contains(&property) || settings.problem.is_some() {
        return Err(NOT_SUPPORTED);
    }
    if !fits {
        return Err(INVALID_VALUE);
    }
    settings.properties.insert(property, value);
    Ok(())
}

/// `cufftGetPlanPropertyInt64`.
pub(crate) fn get_plan_property(major: c_int, plan: cufftHandle, property: cufftProperty, to: *mut i64) -> Outcome {
    let plan = plans::find(plan)?;
    if !(1..=last_property(major)).contains(&property) {
        return Err(NOT_SUPPORTED);
    }
    let usual = i64::from(property == THREADS);
    let value = plan.settings().properties.get(&property).copied().unwrap_or(usual);
    write(to, value)
}

/// `cufftResetPlanProperty`.
pub(crate) fn reset_plan_property(major: c_int, plan: cufftHandle, property: cufftProperty) -> Outcome {
    let plan = plans::find(plan)?;
    let mut settings = plan.settings();
    if !(1..=last_property(major)).contains(&property) || settings.problem.is_some() {
        return Err(NOT_SUPPORTED);
    }
    settings.properties.remove(&property);
    Ok(())
}
