//! Handles with their context and stream, and objects of parameters.

use crate::report::Report;
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::cusolverStatus_t;
use cuarray_abi::CUstream;
use cuarray_stream_work::{Objects, Place, guarded};
use std::ffi::{CStr, c_int};
use std::sync::Arc;

/// The settings of a handle.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) stream: CUstream,
    pub(crate) determinism: c_int,
}

/// The target of `cusolverDnHandle_t`.
pub(crate) type Handle = cuarray_stream_work::Handle<Settings>;

/// An object of parameters.
#[derive(Clone, Debug)]
struct Object {
    kind: Parameters,
    report: Report,
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

static HANDLES: Objects<Arc<Handle>, cusolverStatus_t> =
    Objects::new(0x6373_0000_0000, cusolverStatus_t::NOT_INITIALIZED);
/// Objects of parameters. No result depends on their options.
static PARAMETERS: Objects<Object, cusolverStatus_t> = Objects::new(0x6374_0000_0000, INVALID_VALUE);

/// Makes a handle in the current context.
pub(crate) fn create() -> Outcome<usize> {
    let place = Place::current().map_err(|_| cusolverStatus_t::NOT_INITIALIZED)?;
    Ok(HANDLES.add(Handle::new(place, Settings { stream: CUstream::NULL, determinism: 1 })))
}

/// Runs a function of a handle, under its name for the driver.
pub(crate) fn with_handle(name: &'static CStr, handle: usize, f: impl FnOnce(&Handle) -> Outcome) -> cusolverStatus_t {
    guarded(name, || f(&*HANDLES.get(handle)?))
}

/// Ends a handle, after the work of its context.
pub(crate) fn destroy(number: usize) -> Outcome {
    HANDLES.remove(number)?.place.destroy();
    Ok(())
}

/// Makes an object of parameters.
pub(crate) fn create_parameters(kind: Parameters) -> usize {
    PARAMETERS.add(Object { kind, report: Report::default() })
}

/// Checks that the object of parameters exists.
pub(crate) fn check_parameters(kind: Parameters, number: usize) -> Outcome {
    report(kind, number).map(drop)
}

/// The report of an object of parameters.
pub(crate) fn report(kind: Parameters, number: usize) -> Outcome<Report> {
    let object = PARAMETERS.get(number)?;
    if object.kind == kind { Ok(object.report) } else { Err(INVALID_VALUE) }
}

/// Ends an object of parameters.
pub(crate) fn destroy_parameters(kind: Parameters, number: usize) -> Outcome {
    check_parameters(kind, number)?;
    PARAMETERS.remove(number).map(drop)
}
