//! [`Function`]: a kernel of a module, with the limits of its launches.

use super::Module;
use crate::{Context, Result, driver::call};
use cuarray_abi::{
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CUfunction,
    CUfunction_attribute, CUresult,
};
use smallvec::SmallVec;
use std::{ffi::c_int, fmt, ptr};

/// A kernel, from [`Module::function`]. It keeps its module loaded. [`Function::launch`] launches it.
///
/// ```
/// # use cuarray::{Driver, kernel::Module};
/// # const PTX: &str = ".version 8.0 .target sm_80 .address_size 64 .visible .entry fill(.param .u64 to, .param .f32 value) { ret; }";
/// # cuarray::__simulated!(driver);
/// # let context = driver.default_context()?;
/// let mut fill = Module::load_ptx(&context, PTX)?.function("fill")?;
/// assert_eq!(fill.context(), &context);
/// fill.set_max_dynamic_shared(64 << 10)?; // more than 48 KiB has to be allowed first
/// # Ok::<(), cuarray::Error>(())
/// ```
pub struct Function {
    module: Module,
    raw: CUfunction,
    name: Box<str>,
    /// The size of each parameter in bytes, if the driver reports it.
    parameters: Option<SmallVec<[usize; 8]>>,
    max_threads_per_block: u32,
    max_dynamic_shared: u32,
}

impl Function {
    /// The module's context must be current.
    pub(super) fn new(module: &Module, raw: CUfunction, name: &str) -> Result<Function> {
        let mut function = Function {
            module: module.clone(),
            raw,
            name: name.into(),
            parameters: None,
            max_threads_per_block: 0,
            max_dynamic_shared: 0,
        };
        function.max_threads_per_block = function.attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        function.max_dynamic_shared = function.attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?;
        function.parameters = function.ask_parameters()?;
        Ok(function)
    }

    fn attribute(&self, attribute: CUfunction_attribute) -> Result<u32> {
        let mut value: c_int = 0;
        // SAFETY: the module, and so the function, is alive; the driver writes one int, which outlives the call.
        unsafe { call!(self.module.context().driver(), cuFuncGetAttribute(&mut value, attribute, self.raw)) }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    fn ask_parameters(&self) -> Result<Option<SmallVec<[usize; 8]>>> {
        let driver = self.module.context().driver();
        if driver.api().cuFuncGetParamInfo.is_none() {
            return Ok(None);
        }
        let mut sizes = SmallVec::new();
        loop {
            let (mut offset, mut size) = (0usize, 0usize);
            // SAFETY: the module, and so the function, is alive; the driver writes two sizes, which outlive the call.
            let told = unsafe {
                call!(driver, cuFuncGetParamInfo(self.raw, sizes.len(), &mut offset, ptr::from_mut(&mut size)))
            };
            match told {
                Ok(()) => sizes.push(size),
                // The documented answer for an index past the last parameter.
                Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_INVALID_VALUE) => {
                    return Ok(Some(sizes));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The kernel's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The module of the kernel.
    pub(crate) fn module(&self) -> &Module {
        &self.module
    }

    /// The context that the kernel is loaded in.
    pub fn context(&self) -> &Context {
        self.module.context()
    }

    /// The size of each parameter in bytes; `None` if the driver does not report sizes (before CUDA 12.4).
    ///
    /// Driver API: [`cuFuncGetParamInfo`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).
    pub(crate) fn parameters(&self) -> Option<&[usize]> {
        self.parameters.as_deref()
    }

    /// The maximum number of threads in a block. It is below the device's limit if the kernel needs many registers.
    ///
    /// Driver API: [`cuFuncGetAttribute`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).
    pub(crate) fn max_threads_per_block(&self) -> u32 {
        self.max_threads_per_block
    }

    /// The maximum dynamic shared memory of a launch, in bytes.
    pub(crate) fn max_dynamic_shared(&self) -> u32 {
        self.max_dynamic_shared
    }

    /// Sets the maximum dynamic shared memory of a launch, in bytes. A kernel starts with the 48 KiB that every device has.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`: the device has less.
    ///
    /// Driver API: [`cuFuncSetAttribute`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).
    pub fn set_max_dynamic_shared(&mut self, bytes: u32) -> Result<()> {
        let value = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        let _current = self.module.context().push()?;
        let attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the module, and so the function, is alive.
        unsafe { call!(self.module.context().driver(), cuFuncSetAttribute(self.raw, attribute, value)) }?;
        self.max_dynamic_shared = bytes;
        Ok(())
    }

    pub(super) fn handle(&self) -> CUfunction {
        self.raw
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name)
    }
}
