//! A fat binary that a library has registered, and its image in the driver.

use super::kernel_handles;
use crate::driver::{self, NullStream, cu};
use crate::result::{Result, cudaError_t};
use cuarray_abi::{Api, CUkernel, CUlibrary};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The first word of a wrapper that nvcc writes.
const MAGIC: c_int = 0x466243b1;

/// The structure that nvcc passes to `__cudaRegisterFatBinary`.
#[repr(C)]
struct Wrapper {
    magic: c_int,
    version: c_int,
    data: *const c_void,
    /// The name of a file, or the list of fat binaries.
    _more: *const c_void,
}

/// The version of a wrapper that has a list of fat binaries, which `nvcc -rdc=true` writes.
const LINKED: c_int = 2;

/// The image of a wrapper; null if the argument is no wrapper. A driver reads the list of a wrapper by itself.
///
/// # Safety
/// `wrapper` is null, or points to 24 readable bytes.
pub(super) unsafe fn image(wrapper: *const c_void) -> *const c_void {
    if wrapper.is_null() {
        return ptr::null();
    }
    // SAFETY: by this function's contract.
    let read = unsafe { wrapper.cast::<Wrapper>().read_unaligned() };
    match read {
        Wrapper { magic: MAGIC, version: LINKED, .. } => wrapper,
        Wrapper { magic: MAGIC, data, .. } => data,
        _ => ptr::null(),
    }
}

/// A registered binary.
pub(crate) struct Binary {
    image: *const c_void,
    /// The result of loading the image, once it was tried.
    library: Mutex<Option<Result<CUlibrary>>>,
}

// SAFETY: the image is constant data of the program, and is only passed to the driver.
unsafe impl Send for Binary {}
// SAFETY: as above.
unsafe impl Sync for Binary {}

impl Binary {
    pub(super) fn new(image: *const c_void) -> Binary {
        Binary { image, library: Mutex::new(None) }
    }

    /// The driver's library of this binary, which the first call loads.
    pub(crate) fn library(&self, api: &Api) -> Result<CUlibrary> {
        let mut library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = *library {
            return known;
        }
        let loaded = self.load(api);
        // A missing context or a driver without memory may pass.
        if !matches!(loaded, Err(cudaError_t::cudaErrorDeviceUninitialized | cudaError_t::cudaErrorMemoryAllocation)) {
            *library = Some(loaded);
        }
        loaded
    }

    fn load(&self, api: &Api) -> Result<CUlibrary> {
        if self.image.is_null() {
            return Err(cudaError_t::cudaErrorInvalidKernelImage);
        }
        let mut library = CUlibrary::default();
        let none = ptr::null_mut();
        cu!(api.cuLibraryLoadData(
            &raw mut library,
            self.image,
            none,
            ptr::null_mut(),
            0,
            ptr::null_mut(),
            ptr::null_mut(),
            0
        ))?;
        Ok(library)
    }

    /// A kernel by its name in the image.
    pub(super) fn kernel(&self, api: &Api, name: *const c_char) -> Result<CUkernel> {
        let library = self.library(api)?;
        let mut kernel = CUkernel::default();
        match cu!(api.cuLibraryGetKernel(&raw mut kernel, library, name)) {
            Ok(()) => Ok(kernel),
            Err(cudaError_t::cudaErrorSymbolNotFound) => Err(cudaError_t::cudaErrorInvalidDeviceFunction),
            Err(error) => Err(error),
        }
    }

    /// Unloads the image. The driver may have ended before its programs do, so its result is not used.
    pub(super) fn unload(&self) {
        if driver::is_lost_by_fork() {
            return;
        }
        let library = self.library.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(Ok(library)), Some(driver)) = (library, driver::opened()) {
            kernel_handles::forget(library);
            let api = driver.api(NullStream::Legacy);
            let _ = cu!(api.cuLibraryUnload(library));
        }
    }
}
