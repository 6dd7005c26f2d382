//! Handles: their context, stream and modes.

use crate::status::Outcome;
use crate::types::cublasStatus_t;
use cuarray_abi::CUstream;
use cuarray_stream_work::{Place, guarded};
use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// The settings of a handle.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) stream: CUstream,
    /// Whether scalars and results are in device memory.
    pub(crate) on_device: bool,
    pub(crate) math: c_int,
    pub(crate) atomics: c_int,
    pub(crate) processors: c_int,
    /// The modes of emulation, by the number of the function that sets it.
    pub(crate) emulation: [c_int; 5],
    pub(crate) emulation_count: usize,
}

/// The target of `cublasHandle_t`.
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

#[derive(Default)]
struct Table {
    handles: HashMap<usize, Arc<Handle>>,
    made: usize,
}

static TABLE: OnceLock<RwLock<Table>> = OnceLock::new();

fn table() -> &'static RwLock<Table> {
    TABLE.get_or_init(RwLock::default)
}

/// Makes a handle in the current context.
pub(crate) fn create() -> Outcome<usize> {
    create_from(FIRST)
}

/// As [`create`], for the other library: its numbers are apart from those of this one.
pub(crate) fn create_lt() -> Outcome<usize> {
    create_from(FIRST_LT)
}

/// The numbers of handles of cuBLAS lie after this one. They are distinct from small numbers and aligned, as an address is.
const FIRST: usize = 0x6375_0000_0000;
/// The numbers of handles of cublasLt lie after this one.
const FIRST_LT: usize = 0x6376_0000_0000;

fn handle_in(place: Place) -> Arc<Handle> {
    let settings = Settings {
        stream: CUstream::NULL,
        on_device: false,
        math: 0,
        atomics: 0,
        processors: 0,
        emulation: [0; 5],
        emulation_count: 0,
    };
    Arc::new(Handle { place, settings: Mutex::new(settings) })
}

fn create_from(first: usize) -> Outcome<usize> {
    let handle = handle_in(Place::current().map_err(|_| cublasStatus_t::NOT_INITIALIZED)?);
    let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
    table.made += 1;
    let number = first + table.made * 64;
    table.handles.insert(number, handle);
    Ok(number)
}

/// The handle of a number.
pub(crate) fn find(number: usize) -> Outcome<Arc<Handle>> {
    let table = table().read().unwrap_or_else(PoisonError::into_inner);
    table.handles.get(&number).cloned().ok_or(cublasStatus_t::NOT_INITIALIZED)
}

/// Runs a function of a handle, under its name for the driver.
pub(crate) fn with_handle(name: &'static CStr, handle: usize, f: impl FnOnce(&Handle) -> Outcome) -> cublasStatus_t {
    guarded(name, || f(&*find(handle)?))
}

/// The handle of a number, in cublasLt. A handle of cuBLAS is one of cublasLt too, which belongs to the other shared library: at its first use
/// it gets the current context, which is that of its device.
pub(crate) fn find_or_adopt(number: usize) -> Outcome<Arc<Handle>> {
    if let Ok(handle) = find(number) {
        return Ok(handle);
    }
    if !(FIRST + 1..FIRST_LT).contains(&number) || !number.is_multiple_of(64) {
        return Err(cublasStatus_t::NOT_INITIALIZED);
    }
    // The program destroys the handle in the other library, so this one shares its memory with the others of the context.
    let made = handle_in(Place::shared().map_err(|_| cublasStatus_t::NOT_INITIALIZED)?);
    let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
    Ok(Arc::clone(table.handles.entry(number).or_insert(made)))
}

/// Ends a handle, after the work of its context.
pub(crate) fn destroy(number: usize) -> Outcome {
    let removed = table().write().unwrap_or_else(PoisonError::into_inner).handles.remove(&number);
    removed.ok_or(cublasStatus_t::NOT_INITIALIZED)?.place.destroy();
    Ok(())
}
