//! The name of the present function of the runtime, for the simulated driver: its findings name the function that the program calls.

use crate::driver;
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;

type Name = unsafe extern "C" fn(*const u8, usize);

/// The function of the simulated driver; `None` for another driver.
#[inline]
fn name() -> Option<Name> {
    static NAME: OnceLock<Option<Name>> = OnceLock::new();
    *NAME.get_or_init(|| {
        let found = driver::find(c"cuarraySimRuntimeCall");
        // SAFETY: null is `None`; the function of this name has this type.
        unsafe { std::mem::transmute::<*const std::ffi::c_void, Option<Name>>(found) }
    })
}

/// A call of a function of the runtime, from [`RuntimeCall::begin`] until it is dropped in the same thread.
pub(crate) struct RuntimeCall {
    of_this_thread: PhantomData<*const ()>,
}

impl RuntimeCall {
    /// Begins a call. The driver is open.
    #[inline]
    pub(crate) fn begin(function: &'static str) -> RuntimeCall {
        // The functions that nvcc's headers call for the documented ones: `__cudaLaunchKernel`.
        let function = function.trim_start_matches('_');
        if let Some(name) = name() {
            // SAFETY: the bytes are static.
            unsafe { name(function.as_ptr(), function.len()) };
        }
        RuntimeCall { of_this_thread: PhantomData }
    }
}

impl Drop for RuntimeCall {
    #[inline]
    fn drop(&mut self) {
        if let Some(name) = name() {
            // SAFETY: null ends the call.
            unsafe { name(ptr::null(), 0) };
        }
    }
}
