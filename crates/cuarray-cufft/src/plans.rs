//! Plans: their context, transform and settings.

use crate::devices::Devices;
use crate::distribution;
use crate::problem::{Problem, Request};
use crate::status::{INVALID_PLAN, Outcome};
use crate::types::{cufftHandle, cufftResult};
use cuarray_abi::CUstream;
use cuarray_stand_in::report_use;
use cuarray_stream_work::{Error, Place, write};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError, RwLock};

/// The settings of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The transform, once the plan is made.
    pub(crate) problem: Option<Arc<Problem>>,
    pub(crate) stream: CUstream,
    /// Whether the library allocates the work area.
    pub(crate) allocates: bool,
    /// The user's work areas, one for each device.
    pub(crate) work_areas: Vec<u64>,
    /// The devices that `cufftXtSetGPUs` gave.
    pub(crate) devices: Option<Devices>,
    /// The properties that were set, by their numbers.
    pub(crate) properties: HashMap<c_int, i64>,
}

impl Settings {
    pub(crate) fn device_count(&self) -> usize {
        self.devices.as_ref().map_or(1, Devices::len)
    }
}

/// A plan.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) place: Place,
    settings: Mutex<Settings>,
}

impl Plan {
    pub(crate) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The transform.
    pub(crate) fn problem(&self) -> Outcome<Arc<Problem>> {
        self.settings().problem.clone().ok_or(INVALID_PLAN)
    }

    /// Makes the plan, once. Returns the sizes of its work areas.
    pub(crate) fn make(&self, request: &Request) -> Outcome<Vec<usize>> {
        let mut settings = self.settings();
        if settings.problem.is_some() {
            return Err(INVALID_PLAN);
        }
        let (problem, devices) = (Problem::new(request)?, settings.device_count());
        distribution::check(&problem, devices)?;
        let sizes = problem.work_sizes(devices);
        settings.problem = Some(Arc::new(problem));
        Ok(sizes)
    }
}

#[derive(Default)]
struct Table {
    plans: HashMap<cufftHandle, Arc<Plan>>,
    made: cufftHandle,
}

static TABLE: OnceLock<RwLock<Table>> = OnceLock::new();

fn table() -> &'static RwLock<Table> {
    TABLE.get_or_init(RwLock::default)
}

/// Makes a plan without a transform in the current context, for the library of a major version.
pub(crate) fn create(major: c_int) -> Outcome<cufftHandle> {
    let place = Place::shared().map_err(|error| match error {
        Error::NoDriver => cufftResult::SETUP_FAILED,
        error if error.is_out_of_memory() => cufftResult::ALLOC_FAILED,
        _ => cufftResult::INTERNAL_ERROR,
    })?;
    static REPORT: Once = Once::new();
    REPORT.call_once(|| report_use(&format!("libcufft.so.{major}")));
    let settings = Settings {
        problem: None,
        stream: CUstream::NULL,
        allocates: true,
        work_areas: Vec::new(),
        devices: None,
        properties: HashMap::new(),
    };
    let plan = Arc::new(Plan { place, settings: Mutex::new(settings) });
    let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
    // No number comes twice, so a destroyed plan is found. 0, the value of a forgotten variable, is none.
    table.made = table.made.checked_add(1).ok_or(cufftResult::ALLOC_FAILED)?;
    let number = table.made;
    table.plans.insert(number, plan);
    Ok(number)
}

/// The plan of a number.
pub(crate) fn find(number: cufftHandle) -> Outcome<Arc<Plan>> {
    let table = table().read().unwrap_or_else(PoisonError::into_inner);
    table.plans.get(&number).cloned().ok_or(INVALID_PLAN)
}

/// Ends a plan. Its work in streams goes on.
pub(crate) fn destroy(number: cufftHandle) -> Outcome {
    let removed = table().write().unwrap_or_else(PoisonError::into_inner).plans.remove(&number);
    removed.map(drop).ok_or(INVALID_PLAN)
}

/// Writes the sizes of work areas: an array with one for each device.
pub(crate) fn write_sizes(to: *mut usize, sizes: &[usize]) -> Outcome {
    sizes.iter().enumerate().try_for_each(|(index, size)| write(to.wrapping_add(index), *size))
}
