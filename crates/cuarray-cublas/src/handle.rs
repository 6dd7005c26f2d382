//! Handles: their context, stream and modes.

use crate::status::{INVALID_VALUE, Outcome};
use crate::types::cublasStatus_t;
use cuarray_abi::CUstream;
use cuarray_stream_work::Place;
use std::collections::HashMap;
use std::ffi::c_int;
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
    let place = Place::current().map_err(|_| cublasStatus_t::NOT_INITIALIZED)?;
    let settings = Settings {
        stream: CUstream::NULL,
        on_device: false,
        math: 0,
        atomics: 0,
        processors: 0,
        emulation: [0; 5],
        emulation_count: 0,
    };
    let handle = Arc::new(Handle { place, settings: Mutex::new(settings) });
    let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
    table.made += 1;
    // Distinct from small numbers and aligned, as an address is.
    let number = 0x6375_0000_0000 + table.made * 64;
    table.handles.insert(number, handle);
    Ok(number)
}

/// The handle of a number.
pub(crate) fn find(number: usize) -> Outcome<Arc<Handle>> {
    let table = table().read().unwrap_or_else(PoisonError::into_inner);
    table.handles.get(&number).cloned().ok_or(cublasStatus_t::NOT_INITIALIZED)
}

/// Ends a handle, after the work of its context.
pub(crate) fn destroy(number: usize) -> Outcome {
    let removed = table().write().unwrap_or_else(PoisonError::into_inner).handles.remove(&number);
    removed.ok_or(cublasStatus_t::NOT_INITIALIZED)?.place.destroy();
    Ok(())
}

/// Writes through a pointer of the caller.
pub(crate) fn write<V>(to: *mut V, value: V) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the pointer is not null, and by the contract of the C function may be written. A caller may pass any alignment.
    unsafe { to.write_unaligned(value) };
    Ok(())
}
