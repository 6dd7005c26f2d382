//! Extensions for tools that have loaded the shared library: findings, dropped ordering calls, and hand-over of work
//! between threads.
//!
//! `docs/reference/simulator.md` lists them.

use crate::driver::Driver;
use crate::parameters::{Out, Received, Text};
use crate::process::exports::statistics::write_text;
use crate::process::{current, exit, report};
use crate::thread;
use cuarray_abi::*;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

/// Calls `f` with the calling thread's driver, if that driver works in this process.
pub(crate) fn with_driver(f: impl FnOnce(&Driver) -> Result<(), CUresult>) -> CUresult {
    let guarded = AssertUnwindSafe(|| {
        let driver = current::driver().ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
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

/// Flag: text instead of JSON.
const TEXT: c_uint = 1;
/// Flag: coloured text.
const COLOURED: c_uint = 2;
/// Flag: reports live objects as leaks too, unless `CUARRAY_SIM_LEAKS=0`.
const LEAKS: c_uint = 4;
/// Flag: an HTML page.
const HTML: c_uint = 8;
/// Flag: the trace-event format of timeline viewers.
const TRACE: c_uint = 16;
/// Flag: SARIF.
const SARIF: c_uint = 32;
/// Flag: commands of GitHub's workflows.
const WORKFLOW_COMMANDS: c_uint = 64;
/// Flag: JSON without the operations that no finding is about.
const FINDINGS_ALONE: c_uint = 128;

/// Writes the report of the calling thread's driver, and a nul, to `buf`: JSON, or the format in `flags`. Pending work
/// whose accesses are not known yet runs first. Buffer and length are as for `cuarraySimStatistics`.
///
/// # Safety
/// `buf` is null or has room for `cap` bytes; `len` is null or writable.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimFindings(
    flags: c_uint,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> CUresult {
    with_driver(|driver| {
        let format = flags & !LEAKS;
        let history = matches!(format, 0 | HTML | TRACE);
        let report = || report::make(driver, flags & LEAKS != 0, history);
        let text = match format {
            0 | FINDINGS_ALONE => report().json(),
            TEXT => report().text(false),
            COLOURED => report().text(true),
            HTML => report().html(),
            TRACE => report().trace(),
            SARIF => report().sarif(&report::source_root()),
            WORKFLOW_COMMANDS => report().workflow_commands(&report::source_root()),
            _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        };
        // SAFETY: this function's contract.
        unsafe { write_text(&text, buf, cap, len) }
    })
}

/// Reports the findings as the end of the process does: on standard error, and in the file of `CUARRAY_SIM_REPORT`. For a process that a
/// signal is about to end.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuarraySimReport() -> CUresult {
    with_driver(|_| {
        exit::report_before_signal();
        Ok(())
    })
}

/// Discards the findings so far, and drops pending work from the detector.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuarraySimClearFindings() -> CUresult {
    with_driver(|driver| {
        report::clear_findings(driver);
        Ok(())
    })
}

/// Begins (`change` is 1) or ends (-1) a part of the program that tries modules and has others for those that are refused.
/// Refusals in such a part are no findings.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuarraySimExpectRefusals(change: c_int) -> CUresult {
    with_driver(|driver| {
        if !matches!(change, -1 | 1) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        driver.expects_refusals.fetch_add(change.into(), Ordering::Relaxed);
        Ok(())
    })
}

/// Counts ordering calls from now on, and drops call number `n` (0 drops none). The dropped call only returns
/// success. A `library` that is not null limits the count to calls of that library, by its name in findings; this
/// needs findings to be on.
///
/// # Safety
/// `library` is null or a string that ends with a nul.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimDropOrdering(n: u64, library: *const c_char) -> CUresult {
    with_driver(|driver| {
        // SAFETY: by this function's contract.
        let library = unsafe { Text::received(library) }.name().ok();
        driver.ordering_calls.drop_nth(n, library);
        Ok(())
    })
}

/// Returns the number of ordering calls since [`cuarraySimDropOrdering`], including a dropped call, and whether a
/// call was dropped.
///
/// # Safety
/// Both pointers are null or writable.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimOrderingCalls(made: *mut u64, dropped: *mut c_int) -> CUresult {
    with_driver(|driver| {
        let (count, left_out) = driver.ordering_calls.made();
        // SAFETY: this function's contract.
        unsafe { Out::received(made) }.put_if_present(count);
        // SAFETY: this function's contract.
        unsafe { Out::received(dropped) }.put_if_present(c_int::from(left_out));
        Ok(())
    })
}

/// Under `CUARRAY_SIM_HOST_ORDER=driver`, orders the calling thread's earlier calls before the calls that any thread
/// makes after [`cuarraySimTakeOver`] with the same key. Call it before a lock is released, a queue is filled or a
/// flag is set.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuarraySimHandOver(key: *const c_void) -> CUresult {
    with_driver(|driver| {
        let thread = thread::with(|thread| thread.number).ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        driver.lock().detector.hand_over(key as u64, thread);
        Ok(())
    })
}

/// The counterpart of [`cuarraySimHandOver`]; call it after the lock is taken, the queue is read or the flag is seen.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuarraySimTakeOver(key: *const c_void) -> CUresult {
    with_driver(|driver| {
        let thread = thread::with(|thread| thread.number).ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        driver.lock().detector.take_over(key as u64, thread);
        Ok(())
    })
}
