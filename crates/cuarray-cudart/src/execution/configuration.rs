//! The configuration of a launch between `<<<...>>>` and the function that the compiler makes for a kernel.
//!
//! The arguments of a kernel may themselves launch kernels, so a thread has a short stack of configurations.

use crate::call::put;
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::CUstream;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_uint, c_void};

/// The deepest nesting of launches within the arguments of launches.
const DEPTH: usize = 32;

#[derive(Clone, Copy)]
struct Configuration {
    grid_dim: dim3,
    block_dim: dim3,
    shared_mem: usize,
    stream: cudaStream_t,
}

impl Configuration {
    const EMPTY: Configuration = {
        let none = dim3 { x: 0, y: 0, z: 0 };
        Configuration { grid_dim: none, block_dim: none, shared_mem: 0, stream: CUstream(0) }
    };
}

/// The configurations of a thread. It needs no destructor.
struct Stack {
    depth: Cell<usize>,
    configurations: UnsafeCell<[Configuration; DEPTH]>,
}

thread_local! {
    static STACK: Stack = const { Stack { depth: Cell::new(0), configurations: UnsafeCell::new([Configuration::EMPTY; DEPTH]) } };
}

/// Pushes a configuration, and returns 0; a launch follows only then.
pub(crate) unsafe fn __cudaPushCallConfiguration(
    grid_dim: dim3,
    block_dim: dim3,
    shared_mem: usize,
    stream: cudaStream_t,
) -> c_uint {
    STACK.with(|stack| {
        let depth = stack.depth.get();
        // SAFETY: only this thread reaches the stack, and no call is in progress while this one runs.
        let configurations = unsafe { &mut *stack.configurations.get() };
        match configurations.get_mut(depth) {
            Some(slot) => {
                *slot = Configuration { grid_dim, block_dim, shared_mem, stream };
                stack.depth.set(depth + 1);
                0
            }
            None => crate::thread::remember(cudaError_t::cudaErrorLaunchMaxDepthExceeded).0,
        }
    })
}

pub(crate) unsafe fn __cudaPopCallConfiguration(
    grid_dim: *mut dim3,
    block_dim: *mut dim3,
    shared_mem: *mut usize,
    stream: *mut c_void,
) -> Result {
    let top = STACK.with(|stack| {
        let depth = stack.depth.get().checked_sub(1)?;
        stack.depth.set(depth);
        // SAFETY: only this thread reaches the stack, and no call is in progress while this one runs.
        unsafe { &*stack.configurations.get() }.get(depth).copied()
    });
    let top = top.ok_or(cudaError_t::cudaErrorMissingConfiguration)?;
    // SAFETY: by the contract of this function.
    unsafe {
        put(grid_dim, top.grid_dim)?;
        put(block_dim, top.block_dim)?;
        put(shared_mem, top.shared_mem)?;
        put(stream.cast::<cudaStream_t>(), top.stream)
    }
}
