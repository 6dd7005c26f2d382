//! The records of registered kernels, in memory that is never returned to the system.
//!
//! A program keeps the address of a record as its handle, and may launch it in one thread while another thread closes the
//! library or exits. Records are therefore read without a lock, through atomics, and a freed record is used again only as
//! a record. One range of addresses holds all of them, so an address outside the range is a handle of the driver.

use crate::types::cudaKernel_t;
use cuarray_abi::CUkernel;
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

    /// The handle of the binary.
    pub(super) fn binary(&self) -> *mut *mut c_void {
        self.binary.load(Ordering::Acquire)
    }

    /// The name in the image.
    pub(super) fn name(&self) -> *const c_char {
        self.name.load(Ordering::Relaxed)
    }

    /// Keeps the driver's kernel, which was loaded from a binary. Unregistering may have emptied the record in the meantime.
    pub(super) fn set_loaded(&self, binary: *mut *mut c_void, kernel: CUkernel) {
        if self.binary() == binary {
            self.loaded.store(kernel.0, Ordering::Release);
        }
    }

    /// The driver's kernel, if it is loaded.
    #[inline]
    pub(super) fn loaded_now(&self) -> Option<CUkernel> {
        Some(CUkernel(self.loaded.load(Ordering::Acquire))).filter(|kernel| !kernel.is_null())
    }
}
