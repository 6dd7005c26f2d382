//! Functions of the program that run in stream order.

use cuarray_abi::*;
use std::ffi::c_void;

/// A function of the program that runs in stream order.
#[derive(Clone, Copy)]
pub(crate) enum HostFunction {
    /// `cuLaunchHostFunc`.
    Launched { function: unsafe extern "C" fn(*mut c_void), data: *mut c_void },
    /// `cuLaunchHostFunc` by a stand-in for a library, which computes there. The program does not see it.
    OfLibrary { function: unsafe extern "C" fn(*mut c_void), data: *mut c_void },
    /// `cuStreamAddCallback`, with the stream handle that the program passed.
    Callback { function: unsafe extern "C" fn(CUstream, CUresult, *mut c_void), stream: CUstream, data: *mut c_void },
}

impl HostFunction {
    /// Whether the function is code of the program, which may wait, and from which other threads may learn something.
    pub(crate) fn is_of_program(&self) -> bool {
        !matches!(self, Self::OfLibrary { .. })
    }
}

// SAFETY: the driver never follows the pointer. By enqueuing the function the program allows calling it with the
// pointer in any thread.
unsafe impl Send for HostFunction {}
