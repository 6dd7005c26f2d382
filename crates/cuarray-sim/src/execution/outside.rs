//! Functions of the program, which run without the driver's lock.

use super::thread_sanitizer;
use crate::driver::{Driver, Guard};
use crate::objects::host_function::HostFunction;
use crate::thread;
use cuarray_abi::CUresult;

/// Calls the destructors of objects without references.
pub(crate) fn bury<'a>(driver: &'a Driver, mut state: Guard<'a>) -> Guard<'a> {
    while !state.dead_objects.is_empty() {
        let dead = std::mem::take(&mut state.dead_objects);
        drop(state);
        dead.into_iter().for_each(call_outside);
        state = driver.lock();
    }
    state
}

/// Calls a host function in this thread. The function must not make driver calls.
pub(crate) fn call_outside(function: HostFunction) {
    thread::with(|thread| thread.in_host_function.set(true));
    thread_sanitizer::host_function_begins();
    // SAFETY: the program enqueued the function with its data to be called once, after the earlier work.
    unsafe {
        match function {
            HostFunction::Launched { function, data } | HostFunction::OfLibrary { function, data } => function(data),
            HostFunction::Callback { function, stream, data } => function(stream, CUresult::CUDA_SUCCESS, data),
        }
    }
    thread_sanitizer::host_function_ends();
    thread::with(|thread| thread.in_host_function.set(false));
}
