//! The records of registered kernels, in memory that is never returned to the system.
//!
//! A program keeps the address of a record as its handle, and may launch it in one thread while another thread closes the
//! library or exits. Records are therefore read without a lock, through atomics, and a freed record is used again only as
//! a record. One range of addresses holds all of them, so an address outside the range is a handle of the driver.

use super::table;
use crate::result::{Result, cudaError_t};
use crate::types::cudaKernel_t;
use cuarray_abi::{Api, CUkernel, CUlibrary};
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The most kernels that can be registered at a time. Only the pages that hold records take memory.
const MAX_KERNELS: usize = 1 << 20;

/// A registered kernel; all zero where there is none.
#[repr(align(32))]
pub(crate) struct Kernel {
    /// The handle of the binary.
    binary: AtomicPtr<*mut c_void>,
    /// The name in the image.
    name: AtomicPtr<c_char>,
    /// The driver's kernel; 0 before the first use.
    loaded: AtomicUsize,
}

/// All records.
fn records() -> Option<&'static [Kernel]> {
    static RECORDS: OnceLock<Option<&'static [Kernel]>> = OnceLock::new();
    *RECORDS.get_or_init(|| {
        let size = MAX_KERNELS * size_of::<Kernel>();
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a new range is asked for, and no existing one changes.
        let range = unsafe { libc::mmap(ptr::null_mut(), size, access, kind, -1, 0) };
        if range == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the range is mapped forever and zero, which is a valid record; a page is aligned for records.
        Some(unsafe { std::slice::from_raw_parts(range.cast::<Kernel>(), MAX_KERNELS) })
    })
}

impl Kernel {
    /// The record with the given index.
    pub(super) fn at(index: usize) -> Option<&'static Kernel> {
        records()?.get(index)
    }

    /// Fills a free record.
    pub(super) fn set(&self, binary: *mut *mut c_void, name: *const c_char) {
        self.name.store(name.cast_mut(), Ordering::Relaxed);
        self.loaded.store(0, Ordering::Relaxed);
        self.binary.store(binary, Ordering::Release);
    }

    /// Empties the record.
    pub(super) fn clear(&self) {
        self.binary.store(ptr::null_mut(), Ordering::Release);
        self.loaded.store(0, Ordering::Release);
    }

    /// The handle that `__cudaGetKernel` gives a program.
    pub(super) fn handle(&self) -> cudaKernel_t {
        CUkernel(ptr::from_ref(self).addr())
    }

    /// The record of a handle; `None` for a handle of the driver.
    #[inline]
    pub(super) fn of_handle(handle: cudaKernel_t) -> Option<&'static Kernel> {
        let records = records()?;
        let offset = handle.0.wrapping_sub(records.as_ptr().addr());
        if offset % size_of::<Kernel>() != 0 {
            return None;
        }
        records.get(offset / size_of::<Kernel>())
    }

    /// The driver's kernel, which the first call loads.
    #[inline]
    pub(crate) fn loaded(&self, api: &Api) -> Result<CUkernel> {
        match self.loaded.load(Ordering::Acquire) {
            0 => self.load(api),
            kernel => Ok(CUkernel(kernel)),
        }
    }

    /// The driver's library of the kernel's binary.
    pub(super) fn library(&self, api: &Api) -> Result<CUlibrary> {
        let binary = table::binary(self.binary.load(Ordering::Acquire));
        binary.ok_or(cudaError_t::cudaErrorInvalidDeviceFunction)?.library(api)
    }

    /// The driver's kernel, if it is loaded.
    pub(super) fn loaded_now(&self) -> Option<CUkernel> {
        Some(CUkernel(self.loaded.load(Ordering::Acquire))).filter(|kernel| !kernel.is_null())
    }

    #[cold]
    fn load(&self, api: &Api) -> Result<CUkernel> {
        let handle = self.binary.load(Ordering::Acquire);
        let binary = table::binary(handle).ok_or(cudaError_t::cudaErrorInvalidDeviceFunction)?;
        let kernel = binary.kernel(api, self.name.load(Ordering::Relaxed))?;
        // Unregistering may have emptied the record in the meantime.
        if self.binary.load(Ordering::Acquire) == handle {
            self.loaded.store(kernel.0, Ordering::Release);
        }
        Ok(kernel)
    }
}
