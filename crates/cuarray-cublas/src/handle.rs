//! Handles: their context, stream and modes.

use crate::status::Outcome;
use crate::types::cublasStatus_t;
use cuarray_abi::CUstream;
use cuarray_stream_work::{Objects, Place, guarded};
use std::ffi::{CStr, c_int};
use std::sync::Arc;

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
pub(crate) type Handle = cuarray_stream_work::Handle<Settings>;

/// The numbers of handles of cuBLAS lie after this one.
const FIRST: usize = 0x6375_0000_0000;
/// The numbers of handles of cublasLt lie after this one.
const FIRST_LT: usize = 0x6376_0000_0000;

type Handles = Objects<Arc<Handle>, cublasStatus_t>;

static HANDLES: Handles = Objects::new(FIRST, cublasStatus_t::NOT_INITIALIZED);
static LT_HANDLES: Handles = Objects::new(FIRST_LT, cublasStatus_t::NOT_INITIALIZED);

/// A handle for work in a place, in a stream.
pub(crate) fn handle_in(place: Place, stream: CUstream) -> Arc<Handle> {
    let settings = Settings {
        stream,
        on_device: false,
        math: 0,
        atomics: 0,
        processors: 0,
        emulation: [0; 5],
        emulation_count: 0,
    };
    Handle::new(place, settings)
}

fn create_in(handles: &Handles) -> Outcome<usize> {
    let place = Place::current().map_err(|_| cublasStatus_t::NOT_INITIALIZED)?;
    Ok(handles.add(handle_in(place, CUstream::NULL)))
}

/// Makes a handle in the current context.
pub(crate) fn create() -> Outcome<usize> {
    create_in(&HANDLES)
}

/// As [`create`], for the other library.
pub(crate) fn create_lt() -> Outcome<usize> {
    create_in(&LT_HANDLES)
}

/// Runs a function of a handle, under its name for the driver.
pub(crate) fn with_handle(name: &'static CStr, handle: usize, f: impl FnOnce(&Handle) -> Outcome) -> cublasStatus_t {
    guarded(name, || f(&*HANDLES.get(handle)?))
}

/// The handle of a number, in cublasLt. A handle of cuBLAS is one of cublasLt too, which belongs to the other shared library: at its first use
/// it gets the current context, which is that of its device.
pub(crate) fn find_or_adopt(number: usize) -> Outcome<Arc<Handle>> {
    let found = LT_HANDLES.get(number);
    if found.is_ok() || !(FIRST + 1..FIRST_LT).contains(&number) || !number.is_multiple_of(64) {
        return found;
    }
    // The program destroys the handle in the other library, so this one shares its memory with the others of the context.
    let place = Place::shared().map_err(|_| cublasStatus_t::NOT_INITIALIZED)?;
    Ok(LT_HANDLES.get_or_add(number, handle_in(place, CUstream::NULL)))
}

/// Ends a handle, after the work of its context.
pub(crate) fn destroy(number: usize) -> Outcome {
    HANDLES.remove(number)?.place.destroy();
    Ok(())
}

/// As [`destroy`], for the other library.
pub(crate) fn destroy_lt(number: usize) -> Outcome {
    LT_HANDLES.remove(number)?.place.destroy();
    Ok(())
}
