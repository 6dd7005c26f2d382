//! [`Function`]: a kernel of a module, with the limits of its launches.

use super::{Module, ptx};
use crate::{
    Result,
    driver::{Driver, call},
};
use cuarray_abi::{
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CUfunction,
    CUfunction_attribute, CUresult,
};
use smallvec::SmallVec;
use std::{
    ffi::c_int,
    fmt, ptr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

/// A kernel, from [`Context::kernel`](crate::Context::kernel) or [`Module::function`]. It keeps its module loaded, and a clone is the
/// same kernel. [`Function::launch`] launches it.
///
/// ```
/// # use cuarray::{Driver, kernel::Module};
/// # const PTX: &str = ".version 8.0 .target sm_80 .address_size 64 .visible .entry fill(.param .u64 to, .param .f32 value) { ret; }";
/// # cuarray::__simulated!(driver);
/// # let context = driver.default_context()?;
/// let fill = Module::load_ptx(&context, PTX)?.function("fill")?;
/// fill.set_max_dynamic_shared(64 << 10)?; // more than 48 KiB has to be allowed first
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone)]
pub struct Function {
    module: Module,
    kernel: Arc<Kernel>,
}

/// A kernel's handle and its properties. The module that contains the kernel is kept elsewhere.
pub(super) struct Kernel {
    raw: CUfunction,
    name: Box<str>,
    /// The size of each parameter in bytes, if the driver reports it.
    parameters: Option<SmallVec<[usize; 8]>>,
    /// The parameters as the PTX states them, if the kernel came from PTX that was at hand.
    stated: Option<Vec<ptx::Parameter>>,
    max_threads_per_block: u32,
    max_dynamic_shared: AtomicU32,
}

impl Kernel {
    /// Asks the driver for the kernel's properties. `text` is the PTX of the module, if it is known.
    ///
    /// # Safety
    /// The kernel's module is loaded, and its context is current.
    pub(super) unsafe fn new(driver: &Driver, raw: CUfunction, name: &str, text: Option<&str>) -> Result<Kernel> {
        // SAFETY: this function's contract, here and below.
        let attribute = |attribute| unsafe { Kernel::attribute(driver, raw, attribute) };
        Ok(Kernel {
            raw,
            name: name.into(),
            stated: text.and_then(|text| ptx::parameters(text, name)),
            max_threads_per_block: attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            max_dynamic_shared: AtomicU32::new(attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?),
            // SAFETY: this function's contract.
            parameters: unsafe { Kernel::query_parameters(driver, raw) }?,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// # Safety
    /// As [`Kernel::new`].
    unsafe fn attribute(driver: &Driver, raw: CUfunction, attribute: CUfunction_attribute) -> Result<u32> {
        let mut value: c_int = 0;
        // SAFETY: this function's contract; the driver writes one int, which outlives the call.
        unsafe { call!(driver, cuFuncGetAttribute(&mut value, attribute, raw)) }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// # Safety
    /// As [`Kernel::new`].
    unsafe fn query_parameters(driver: &Driver, raw: CUfunction) -> Result<Option<SmallVec<[usize; 8]>>> {
        if driver.api().cuFuncGetParamInfo.is_none() {
            return Ok(None);
        }
        let mut sizes = SmallVec::new();
        loop {
            let (mut offset, mut size) = (0usize, 0usize);
            // SAFETY: this function's contract; the driver writes two sizes, which outlive the call.
            let result =
                unsafe { call!(driver, cuFuncGetParamInfo(raw, sizes.len(), &mut offset, ptr::from_mut(&mut size))) };
            match result {
                Ok(()) => sizes.push(size),
                // The documented answer for an index past the last parameter.
                Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_INVALID_VALUE) => {
                    return Ok(Some(sizes));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Function {
    /// A kernel of `module`.
    pub(super) fn new(module: Module, kernel: Arc<Kernel>) -> Function {
        Function { module, kernel }
    }

    /// The kernel's name.
    pub(crate) fn name(&self) -> &str {
        &self.kernel.name
    }

    /// The module of the kernel.
    pub(crate) fn module(&self) -> &Module {
        &self.module
    }

    /// The size of each parameter in bytes; `None` if the driver does not report sizes (before CUDA 12.4).
    ///
    /// Driver API: [`cuFuncGetParamInfo`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).
    pub(crate) fn parameters(&self) -> Option<&[usize]> {
        self.kernel.parameters.as_deref()
    }

    /// The parameters that the PTX states, if the kernel came from [`Context::kernel`](crate::Context::kernel).
    pub(super) fn stated_parameters(&self) -> Option<&[ptx::Parameter]> {
        self.kernel.stated.as_deref()
    }

    /// The maximum number of threads in a block. It is below the device's limit if the kernel needs many registers.
    ///
    /// Driver API: [`cuFuncGetAttribute`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).
    pub(crate) fn max_threads_per_block(&self) -> u32 {
        self.kernel.max_threads_per_block
    }

    /// The maximum dynamic shared memory of a launch, in bytes.
    pub(crate) fn max_dynamic_shared(&self) -> u32 {
        self.kernel.max_dynamic_shared.load(Relaxed)
    }

    /// Sets the maximum dynamic shared memory of a launch, in bytes. A kernel starts with the 48 KiB that every device has.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`: the device has less.
    ///
    /// Driver API: [`cuFuncSetAttribute`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).
    pub fn set_max_dynamic_shared(&self, bytes: u32) -> Result<()> {
        let value = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        let _current = self.module.context().push()?;
        let attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the module, and so the function, is alive.
        unsafe { call!(self.module.context().driver(), cuFuncSetAttribute(self.handle(), attribute, value)) }?;
        self.kernel.max_dynamic_shared.store(bytes, Relaxed);
        Ok(())
    }

    pub(super) fn handle(&self) -> CUfunction {
        self.kernel.raw
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name())
    }
}
