//! Handles with their context and stream, and objects of parameters.

use crate::status::{INVALID_VALUE, Outcome};
use crate::types::cusolverStatus_t;
use cuarray_abi::CUstream;
use cuarray_stream_work::{Place, guarded};
use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// The settings of a handle.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) stream: CUstream,
    pub(crate) determinism: c_int,
}

/// The target of `cusolverDnHandle_t`.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) place: Place,
    settings: Mutex<Settings>,
}

impl Handle {
    pub(crate) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The types of objects of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameters {
    /// `cusolverDnParams_t`.
    Options,
    /// `syevjInfo_t`.
    Syevj,
    /// `gesvdjInfo_t`.
    Gesvdj,
}

#[derive(Default)]
struct Table {
    handles: HashMap<usize, Arc<Handle>>,
    /// Objects of parameters. No result depends on their options.
    parameters: HashMap<usize, Parameters>,
    made: usize,
}

impl Table {
    fn number(&mut self) -> usize {
        self.made += 1;
        // Distinct from small numbers and aligned, as an address is.
        0x6373_0000_0000 + self.made * 64
    }
}

static TABLE: OnceLock<RwLock<Table>> = OnceLock::new();

fn table() -> &'static RwLock<Table> {
    TABLE.get_or_init(RwLock::default)
}

/// Makes a handle in the current context.
pub(crate) fn create() -> Outcome<usize> {
    let place = Place::current().map_err(|_| cusolverStatus_t::NOT_INITIALIZED)?;
    let settings = Mutex::new(Settings { stream: CUstream::NULL, determinism: 1 });
    let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
    let number = table.number();
    table.handles.insert(number, Arc::new(Handle { place, settings }));
    Ok(number)
}

/// The handle of a number.
pub(crate) fn find(number: usize) -> Outcome<Arc<Handle>> {
    let table = table().read().unwrap_or_else(PoisonError::into_inner);
    table.handles.get(&number).cloned().ok_or(cusolverStatus_t::NOT_INITIALIZED)
}

/// Runs a function of a handle, under its name for the driver.
pub(crate) fn with_handle(name: &'static CStr, handle: usize, f: impl FnOnce(&Handle) -> Outcome) -> cusolverStatus_t {
    guarded(name, || f(&*find(handle)?))
}

/// Ends a handle, after the work of its context.
pub(crate) fn destroy(number: usize) -> Outcome {
    let removed = table().write().unwrap_or_else(PoisonError::into_inner).handles.remove(&number);
    removed.ok_or(cusolverStatus_t::NOT_INITIALIZED)?.place.destroy();
    Ok(())
}

/// Makes an object of parameters.
pub(crate) fn create_parameters(kind: Parameters) -> usize {
    let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
    let number = table.number();
    table.parameters.insert(number, kind);
    number
}

/// Checks that the object of parameters exists.
pub(crate) fn check_parameters(kind: Parameters, number: usize) -> Outcome {
    let table = table().read().unwrap_or_else(PoisonError::into_inner);
    if table.parameters.get(&number) == Some(&kind) { Ok(()) } else { Err(INVALID_VALUE) }
}

/// Ends an object of parameters.
pub(crate) fn destroy_parameters(kind: Parameters, number: usize) -> Outcome {
    check_parameters(kind, number)?;
    table().write().unwrap_or_else(PoisonError::into_inner).parameters.remove(&number);
    Ok(())
}
