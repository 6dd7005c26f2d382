//! Detection of `fork`, after which the child cannot use the driver.
//!
//! In the child every driver call fails, usually with `CUDA_ERROR_NOT_INITIALIZED`, which does not tell the reason. So the process
//! that initializes a driver is remembered, and an error in another process names the fork.
//!
//! Python: [start methods](https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods).

use super::CUresult;
use crate::{Error, lock};
use std::process;

/// The error of a refused call, with the reason if this process is a child of `fork`.
#[cold]
pub(super) fn explained(call: &'static str, code: CUresult) -> Error {
    let error = Error::driver(call, code);
    let this = process::id();
    let Some(parent) = lock::forked_from().filter(|_| code != CUresult::CUDA_ERROR_NOT_READY) else { return error };
    error.with_log(format!(
        "this process, {this}, was forked from process {parent} after CUDA was initialized there, and a driver does not work in the \
         child of a fork; start processes with the method 'spawn' (`multiprocessing.set_start_method(\"spawn\")`), or fork before the \
         first CUDA call"
    ))
}
