//! Kernel launches, ordered with other work on their arrays.
//!
//! **Addresses come from guards.** A launch goes to one stream. An array argument is a guard, `Acquired` or `AcquiredMut`,
//! which orders that stream after the array's producer, and the producer after that stream. A guard for another stream is an
//! error, because it orders nothing here. So is a guard for the per-thread default stream of another thread. The launch borrows
//! its guards, so they are released after it, and later work is ordered after it.
//!
//! **Checked**: the grid and block dimensions, the threads and shared memory against the kernel's limits, and the stream's context.
//! From CUDA 12.4 on, the driver reports the kernel's parameters, and the number and sizes of the arguments are checked too.
//!
//! **Not checked**: the code of the kernel, so [`Function::launch`] is `unsafe`. A kernel takes an address and computes others
//! from it. Only its code decides whether it stays within the array, uses the right element type, and leaves arrays that were
//! acquired for reading unchanged.
//!
//! Driver API: [execution control](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).

use super::{
    Function, LaunchConfig,
    arguments::{Arguments, LaunchGuard, Passed, passed},
};
use crate::{
    Error, Owner, Result,
    driver::{Stream, call, keep_with_graph},
    sync,
};
use smallvec::SmallVec;
use std::{ffi::c_void, ptr};

impl Function {
    /// Enqueues the kernel in `stream`. The host does not wait. Memory that the guards keep is freed after the kernel.
    ///
    /// If the stream captures a graph, the graph keeps the module and the arrays of the guards. Launches of the graph are not
    /// ordered with other work on the arrays; the program that launches it orders them.
    ///
    /// # Errors
    /// A wrong argument, with the kernel's name. The configuration is empty or beyond the kernel's limits, the stream is of another
    /// context than the module, a guard is for another stream, or the arguments have a wrong number or size. Errors of the driver. A
    /// kernel that fails while it runs makes later calls fail.
    ///
    /// # Safety
    /// The arguments match the kernel: it reads and writes through each address only elements of the array, of their type, and
    /// writes through no address of an [`Acquired`](crate::Acquired). Addresses passed otherwise (as a `u64`, in a structure, in memory) are valid, and
    /// the work on their memory is ordered. The number and sizes of the arguments are right, if the driver does not report the
    /// parameters.
    ///
    /// Driver API: [`cuLaunchKernel`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).
    pub unsafe fn launch(&self, stream: &Stream, config: LaunchConfig, arguments: impl Arguments) -> Result<()> {
        config.check(self)?;
        let context = self.module().context();
        if stream.known_context()?.is_some_and(|of_stream| of_stream != *context) {
            return Err(self.refused(format!("{stream:?} belongs to another context than the module")));
        }
        let stream = &stream.resolve_in(context);
        let capture = sync::capture_of(stream)?;
        passed(arguments, |passed| {
            self.check_arguments(stream, capture, passed)?;
            let _current = context.push()?;
            if capture.is_some() {
                let arrays: Vec<Owner> =
                    passed.iter().filter_map(|argument| argument.guard.and_then(LaunchGuard::keep)).collect();
                keep_with_graph(stream, (arrays, self.module().clone()))?;
            }
            let mut values: SmallVec<[*mut c_void; 16]> =
                passed.iter().map(|argument| argument.value.cast_mut()).collect();
            let LaunchConfig { grid: [gx, gy, gz], block: [bx, by, bz], dynamic_shared } = config;
            // SAFETY: the function is alive as its module is, the stream by its type's invariant. The driver reads one value per
            // parameter, of the parameter's size: both were compared above, or are the caller's promise. The values outlive the
            // call. The caller promises that the kernel's accesses are valid.
            unsafe {
                let (values, none) = (values.as_mut_ptr(), ptr::null_mut());
                call!(
                    context.driver(),
                    cuLaunchKernel(
                        self.handle(),
                        gx,
                        gy,
                        gz,
                        bx,
                        by,
                        bz,
                        dynamic_shared,
                        stream.cu_stream(),
                        values,
                        none
                    )
                )
            }?;
            self.module().used_in(stream);
            Ok(())
        })
    }

    fn check_arguments(&self, stream: &Stream, capture: Option<u64>, passed: &[Passed<'_>]) -> Result<()> {
        if let Some(sizes) = self.parameters() {
            if sizes.len() != passed.len() {
                return Err(self.refused(format!("the kernel takes {} arguments, got {}", sizes.len(), passed.len())));
            }
            let wrong = sizes.iter().zip(passed).position(|(size, argument)| *size != argument.size);
            if let Some(index) = wrong {
                let (size, bytes) = (sizes[index], passed[index].size);
                return Err(self.refused(format!("parameter {index} has {size} bytes, and the argument has {bytes}")));
            }
        }
        for (index, argument) in passed.iter().enumerate() {
            let Some(guard) = argument.guard else { continue };
            if guard.stream() != stream {
                return Err(self.refused(format!(
                    "argument {index} is an array acquired for {:?}, and the launch goes to {stream:?}; acquire the array for that stream",
                    guard.stream()
                )));
            }
            guard.check_order(capture).map_err(|error| self.refused(format!("argument {index}: {error}")))?;
        }
        Ok(())
    }

    fn refused(&self, why: String) -> Error {
        Error::argument(format!("kernel {:?}: {why}", self.name()))
    }
}
