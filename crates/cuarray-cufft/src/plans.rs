//! Plans: their context, transform and settings.

use crate::problem::{Problem, Request};
use crate::status::{INVALID_PLAN, Outcome};
use crate::types::{cufftHandle, cufftResult};
use cuarray_abi::CUstream;
use cuarray_stand_in::report_use;
use cuarray_stream_work::{Error, Place};
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
    /// The user's work area.
    pub(crate) work_area: u64,
    /// The properties that were set, by their numbers.
    pub(crate) properties: HashMap<c_int, i64>,
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

    /// Makes the plan, once. Returns the size of its work area.
    pub(crate) fn make(&self, request: &Request) -> Outcome<usize> {
        let mut settings = self.settings();
        if settings.problem.is_some() {
            return Err(INVALID_PLAN);
        }
        let problem = Problem::new(request)?;
        let size = problem.work_size();
        settings.problem = Some(Arc::new(problem));
        Ok(size)
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
    let settings =
        Settings { problem: None, stream: CUstream::NULL, allocates: true, work_area: 0, properties: HashMap::new() };
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
