//! [`Module`]: code loaded for a device, such as PTX, with its kernels.
//!
//! PTX is text and the same for every device. The driver compiles it for the device of the context. If the compiler
//! rejects the text, the error message contains its log. Loading PTX is safe: this library checks that it is text,
//! and terminates it with a nul byte. Loading a binary image is unsafe, because the driver trusts the lengths in the
//! image.
//!
//! A module holds the code of its kernels. It is unloaded when no [`Function`] and no clone holds it *and* its launched kernels are
//! done. A drop does not wait for them: the release is deferred, as for [memory](crate::sync::Memory).
//!
//! Driver API: [module management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html).

use super::{Function, function::Kernel};
use crate::driver::{Context, Stream, call, never_release};
use crate::{
    Error, Result,
    sync::{Deferred, Resource},
};
use cuarray_abi::{
    CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CUfunction, CUjit_option, CUmodule, CUresult,
};
use std::{
    borrow::Cow,
    ffi::{CStr, CString, c_char, c_uint, c_void},
    fmt, ptr,
    sync::Arc,
};

/// Code loaded into a context. A clone is the same module. [`Context::kernel`] is shorter for kernels that are used again and again.
///
/// ```
/// # use cuarray::{Driver, kernel::Module};
/// # cuarray::__simulated!(driver);
/// let context = driver.default_context()?;
/// let module = Module::load_ptx(
///     &context,
///     ".version 8.0
///      .target sm_80
///      .address_size 64
///      .visible .entry nothing() { ret; }",
/// )?;
/// let nothing = module.function("nothing")?;
///
/// let error = Module::load_ptx(&context, ".version 8.0 .target sm_80 .address_size 64 .visible .entry f() { fly; }").unwrap_err();
/// assert!(error.to_string().contains("fly"), "{error}"); // from the compiler's log
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone)]
pub struct Module(Kept);

/// The object that keeps a module loaded.
#[derive(Clone)]
enum Kept {
    /// The module's clones and launched kernels keep it loaded.
    Alone(Arc<Deferred<Loaded>>),
    /// The cache of the context keeps it loaded, until the context ends.
    WithContext(Context, CUmodule),
}

impl Module {
    /// Compiles and loads PTX: from `include_str!`, a string, bytes, or a C string's
    /// [`to_bytes_with_nul`](CStr::to_bytes_with_nul), which is not copied.
    ///
    /// # Errors
    /// A wrong argument, if the PTX is not text. `CUDA_ERROR_INVALID_PTX` and related errors, with the compiler's log.
    ///
    /// Driver API: [`cuModuleLoadDataEx`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html).
    pub fn load_ptx(context: &Context, ptx: impl AsRef<[u8]>) -> Result<Module> {
        let text = text(ptx.as_ref())?;
        // SAFETY: the text ends with a nul byte; without control characters, its first bytes are not those of a binary image.
        unsafe { Module::load(context, text.as_ptr().cast()) }
    }

    /// Loads an image of any kind that the driver accepts: a cubin, a fat binary, or PTX that ends with a nul byte.
    ///
    /// # Errors
    /// `CUDA_ERROR_NO_BINARY_FOR_GPU`: the image has no code for the context's device. `CUDA_ERROR_INVALID_IMAGE`.
    ///
    /// # Safety
    /// The image is complete and well formed. The driver does not receive its length, but reads it from the image.
    ///
    /// Driver API: [`cuModuleLoadDataEx`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html).
    pub unsafe fn load_image(context: &Context, image: &[u8]) -> Result<Module> {
        // SAFETY: this function's contract.
        unsafe { Module::load(context, image.as_ptr().cast()) }
    }

    /// # Safety
    /// `image` meets the requirements of the driver's manual during the call.
    unsafe fn load(context: &Context, image: *const c_void) -> Result<Module> {
        // Modules that were dropped while their kernels ran may be released now.
        context.driver().reclaim(false);
        // SAFETY: this function's contract.
        let raw = unsafe { Module::load_raw(context, image) }?;
        Ok(Module(Kept::Alone(Arc::new(Deferred::new(Loaded { context: context.clone(), raw })))))
    }

    /// Loads PTX into a context whose cache unloads it.
    pub(super) fn load_with_context(context: &Context, ptx: &str) -> Result<CUmodule> {
        let text = text(ptx.as_bytes())?;
        // SAFETY: the image is PTX with its terminating nul, and outlives the call.
        unsafe { Module::load_raw(context, text.as_ptr().cast()) }
    }

    /// A module that the cache of its context keeps loaded.
    pub(super) fn kept_with_context(context: &Context, raw: CUmodule) -> Module {
        Module(Kept::WithContext(context.clone(), raw))
    }

    /// # Safety
    /// As [`Module::load`].
    unsafe fn load_raw(context: &Context, image: *const c_void) -> Result<CUmodule> {
        let driver = context.driver();
        let _relaxed = driver.relaxed()?;
        let _current = context.push()?;
        let mut raw = CUmodule::NULL;
        let mut log = [0u8; 4096];
        let mut options: [CUjit_option; 2] = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(log.len())];
        // SAFETY: the image is valid by this function's contract. The driver writes one handle, the log, and the log's length into
        // the values; all of them outlive the call.
        let loaded = unsafe {
            let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            call!(driver, cuModuleLoadDataEx(&mut raw, image, 2, options, values))
        };
        match loaded {
            Ok(()) => Ok(raw),
            Err(error) => {
                let log = log.split(|byte| *byte == 0).next().unwrap_or_default();
                let log = String::from_utf8_lossy(log);
                Err(if log.trim().is_empty() { error } else { error.with_log(log.trim()) })
            }
        }
    }

    /// The kernel with a name, as in the PTX: a C++ kernel has its mangled name, unless it is `extern "C"`.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_FOUND`, with the names of the module's kernels, if the driver reports them (from CUDA 12.4 on).
    ///
    /// Driver API: [`cuModuleGetFunction`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html).
    pub fn function(&self, name: &str) -> Result<Function> {
        Ok(Function::new(self.clone(), Arc::new(self.kernel(name, None)?)))
    }

    /// The kernel with a name. `text` is the PTX of the module, if it is known.
    pub(super) fn kernel(&self, name: &str, text: Option<&str>) -> Result<Kernel> {
        let symbol = CString::new(name)
            .map_err(|_| Error::argument(format!("a kernel's name cannot contain a nul byte: {name:?}")))?;
        let _current = self.context().push()?;
        let mut raw = CUfunction::NULL;
        // SAFETY: the module is alive by this type's invariant; the name ends with a nul; the driver writes one handle.
        let found =
            unsafe { call!(self.context().driver(), cuModuleGetFunction(&mut raw, self.handle(), symbol.as_ptr())) };
        match found {
            // SAFETY: the module is alive by this type's invariant, and its context is current.
            Ok(()) => unsafe { Kernel::new(self.context().driver(), raw, name, text) },
            Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_NOT_FOUND) => {
                Err(error.with_log(match self.function_names() {
                    Ok(names) => format!("the module has no kernel {name:?}; it has {}", names.join(", ")),
                    Err(_) => format!("the module has no kernel {name:?}"),
                }))
            }
            Err(error) => Err(error),
        }
    }

    /// The names of all kernels of the module.
    ///
    /// # Errors
    /// A missing entry point (before CUDA 12.4).
    ///
    /// Driver API: [`cuModuleEnumerateFunctions`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html),
    /// [`cuFuncGetName`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).
    pub(crate) fn function_names(&self) -> Result<Vec<String>> {
        let (driver, raw) = (self.context().driver(), self.handle());
        let _current = self.context().push()?;
        let mut count: c_uint = 0;
        // SAFETY: the module is alive by this type's invariant; the driver writes one int.
        unsafe { call!(driver, cuModuleGetFunctionCount(&mut count, raw)) }?;
        let mut functions = vec![CUfunction::NULL; count as usize];
        // SAFETY: the module is alive by this type's invariant; the driver writes at most `count` handles, and the list has room for as
        // many.
        unsafe { call!(driver, cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, raw)) }?;
        let name = |function: CUfunction| {
            let mut name: *const c_char = ptr::null();
            // SAFETY: the function belongs to the module; the driver writes one address, which outlives the call.
            unsafe { call!(driver, cuFuncGetName(&mut name, function)) }?;
            // SAFETY: the string ends with a nul byte and lives as long as the module.
            Ok(if name.is_null() { Cow::default() } else { unsafe { CStr::from_ptr(name) }.to_string_lossy() }
                .into_owned())
        };
        functions.into_iter().map(name).collect()
    }

    /// The context that the module is loaded into.
    pub(crate) fn context(&self) -> &Context {
        match &self.0 {
            Kept::Alone(loaded) => &loaded.resource().context,
            Kept::WithContext(context, _) => context,
        }
    }

    fn handle(&self) -> CUmodule {
        match &self.0 {
            Kept::Alone(loaded) => loaded.resource().raw,
            Kept::WithContext(_, raw) => *raw,
        }
    }

    /// Keeps the module loaded until the work now in `stream` is done.
    pub(super) fn used_in(&self, stream: &Stream) {
        if let Kept::Alone(loaded) = &self.0
            && let Err(error) = loaded.used_in(stream)
        {
            // The kernel is launched, and its end cannot be observed, so the module is never unloaded.
            never_release(Box::new(self.clone()));
            self.context().driver().dropped(Err(error));
        }
    }
}

/// PTX as the driver expects it: terminated with a nul byte, and not a binary image, which the driver detects by its first bytes.
fn text(ptx: &[u8]) -> Result<Cow<'_, CStr>> {
    let refused = |why: &str| Error::argument(format!("not PTX: {why}; load other images with Module::load_image"));
    let body = ptx.strip_suffix(&[0]).unwrap_or(ptx);
    let body = str::from_utf8(body).map_err(|error| refused(&format!("it is not text, {error}")))?;
    if let Some(at) = body.find(|character: char| character.is_control() && !character.is_whitespace()) {
        return Err(refused(&format!("it is not text: it has the byte {:#04x} at {at}", body.as_bytes()[at])));
    }
    if let Ok(closed) = CStr::from_bytes_with_nul(ptx) {
        return Ok(Cow::Borrowed(closed));
    }
    CString::new(body).map(Cow::Owned).map_err(|_| refused("it contains a nul byte"))
}

/// The handle of a loaded module. Dropping it unloads the module.
#[derive(Debug)]
pub(super) struct Loaded {
    context: Context,
    raw: CUmodule,
}

impl Resource for Loaded {
    fn context(&self) -> &Context {
        &self.context
    }

    fn is_gone(&self) -> bool {
        self.raw.is_null()
    }

    fn release(&mut self) -> Result<()> {
        let _current = self.context.push()?;
        // SAFETY: the handle came from cuModuleLoadDataEx, and no other object holds it.
        unsafe { call!(self.context.driver(), cuModuleUnload(self.raw)) }?;
        self.raw = CUmodule::NULL;
        Ok(())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if !self.is_gone() {
            // Reached only if the pending work is unknown. A failed context has no pending work.
            let unloaded = self.context.synchronize().and(self.release());
            self.context.driver().dropped(unloaded);
        }
    }
}

impl PartialEq for Module {
    fn eq(&self, other: &Module) -> bool {
        self.handle() == other.handle() && self.context() == other.context()
    }
}

impl Eq for Module {}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({:#x})", self.handle().0)
    }
}
