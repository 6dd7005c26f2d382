//! What is not CUDA's: findings, ordering calls that are left out, and what threads hand to each other, for tools that have
//! loaded the shared library. `docs/reference/simulator.md` lists them.

use super::statistics::give;
use super::*;
use std::ffi::CStr;

/// Calls `f` with the calling thread's driver, where that may be used in this process.
fn with_driver(f: impl FnOnce(&Driver) -> Answer) -> CUresult {
    let guarded = AssertUnwindSafe(|| {
        let driver = Driver::of_this_thread().ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        if driver.initialized_elsewhere() {
            return Err(CUresult::CUDA_ERROR_NOT_INITIALIZED);
        }
        f(&driver)
    });
    match catch_unwind(guarded) {
        Ok(Ok(())) => CUresult::CUDA_SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => CUresult::CUDA_ERROR_UNKNOWN,
    }
}

/// Text instead of JSON.
const TEXT: c_uint = 1;
/// Coloured text.
const COLOURED: c_uint = 2;
/// What is alive now is a finding too, unless `CUARRAY_SIM_LEAKS=0`.
const LEAKS: c_uint = 4;
/// A page.
const HTML: c_uint = 8;
/// The trace-event format of timeline viewers.
const TRACE: c_uint = 16;

/// Writes the report of the calling thread's driver, and a nul, to `buf`: JSON, or what `flags` asks for. Work that is pending is
/// run first where it is not known yet what it touches. Buffer and length as for `cuarraySimStatistics`.
///
/// # Safety
/// `buf` is null or has room for `cap` bytes; `len` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimFindings(
    flags: c_uint,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> CUresult {
    with_driver(|driver| {
        let report = || driver.report(flags & LEAKS != 0);
        let text = match flags & !LEAKS {
            0 => report().json(),
            TEXT => report().text(false),
            COLOURED => report().text(true),
            HTML => report().html(),
            TRACE => report().trace(),
            _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        };
        // SAFETY: this function's contract.
        unsafe { give(&text, buf, cap, len) }
    })
}

/// Forgets what was found so far, work that is pending included.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuarraySimClearFindings() -> CUresult {
    with_driver(|driver| {
        driver.clear_findings();
        Ok(())
    })
}

/// Counts ordering calls from now on, and lets the `n`-th do nothing but answer success (0: none). Where `library` is not null, only
/// the calls of the library of that name are meant, as findings name libraries; this needs findings to be on.
///
/// # Safety
/// `library` is null or a string that ends with a nul.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimDropOrdering(n: u64, library: *const c_char) -> CUresult {
    with_driver(|driver| {
        // SAFETY: by this function's contract.
        let library = (!library.is_null()).then(|| unsafe { CStr::from_ptr(library) }.to_string_lossy().into_owned());
        driver.ordering_calls.drop_nth(n, library);
        Ok(())
    })
}

/// How many ordering calls were made since [`cuarraySimDropOrdering`], the one that was left out included, and whether (1 or 0) one was.
///
/// # Safety
/// Both are null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimOrderingCalls(made: *mut u64, dropped: *mut c_int) -> CUresult {
    with_driver(|driver| {
        let (count, left_out) = driver.ordering_calls.made();
        // SAFETY: this function's contract.
        unsafe {
            if !made.is_null() {
                put(made, count)?;
            }
            if dropped.is_null() { Ok(()) } else { put(dropped, c_int::from(left_out)) }
        }
    })
}

/// Under `CUARRAY_SIM_HOST_ORDER=driver`: what the calling thread has done comes before whatever a thread does after
/// [`cuarraySimTakeOver`] with the same key. To be called before a lock is released, a queue is filled, a flag is set.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuarraySimHandOver(key: *const c_void) -> CUresult {
    with_driver(|driver| {
        let thread = thread::with(|thread| thread.number).ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        driver.lock().checks.hand_over(key as u64, thread);
        Ok(())
    })
}

/// The other half of [`cuarraySimHandOver`]: to be called after the lock is taken, the queue read, the flag seen.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuarraySimTakeOver(key: *const c_void) -> CUresult {
    with_driver(|driver| {
        let thread = thread::with(|thread| thread.number).ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        driver.lock().checks.take(key as u64, thread);
        Ok(())
    })
}
