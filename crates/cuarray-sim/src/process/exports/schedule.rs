//! C functions beyond the driver API, with which tools set and read the schedule.

use crate::execution::chosen;
use crate::parameters::{Received, Text};
use crate::process::current;
use crate::process::exports::statistics::write_text;
use crate::schedule::Schedule;
use crate::schedule::choices::Choices;
use cuarray_abi::*;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Reads a string that a tool passed.
pub(crate) fn read(text: Text<'_>) -> Result<&str, CUresult> {
    text.read()?.to_str().map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// Keeps panics of these functions from crossing into C, and converts results to codes.
pub(crate) fn tool(body: impl FnOnce() -> Result<(), CUresult>) -> CUresult {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => CUresult::CUDA_SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => CUresult::CUDA_ERROR_UNKNOWN,
    }
}

/// Sets the schedule of the calling thread's driver: `lazy`, `eager`, `random:7`, `replay:2:01`. All pending work runs
/// first, host functions in the calling thread. Returns `CUDA_ERROR_INVALID_VALUE` if the text is no schedule.
///
/// # Safety
/// `schedule` is null or a nul-terminated string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimSetSchedule(schedule: *const c_char) -> CUresult {
    tool(|| {
        // SAFETY: by this function's contract.
        let text = read(unsafe { Text::received(schedule) })?;
        let schedule: Schedule = text.parse().map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let driver = current::driver().ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        if driver.initialized_elsewhere() {
            return Err(CUresult::CUDA_ERROR_NOT_INITIALIZED);
        }
        chosen::set_schedule(&driver, &schedule);
        Ok(())
    })
}

/// Writes the schedule that the calling thread's driver has run since it was set, as text for replay, into `buf` as
/// `cuarraySimStatistics` does. If a replayed schedule does not fit the program, writes the reason and returns
/// `CUDA_ERROR_ILLEGAL_STATE`.
///
/// # Safety
/// `buf` is null or has room for `cap` bytes; `len` is null or writable.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimSchedule(buf: *mut c_char, cap: usize, len: *mut usize) -> CUresult {
    tool(|| {
        let driver = current::driver().ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        if driver.initialized_elsewhere() {
            return Err(CUresult::CUDA_ERROR_NOT_INITIALIZED);
        }
        let mismatch = chosen::mismatch(&driver);
        let text = mismatch.clone().unwrap_or_else(|| chosen::schedule_ran(&driver).to_string());
        // SAFETY: by this function's contract.
        unsafe { write_text(&text, buf, cap, len)? };
        if mismatch.is_some() { Err(CUresult::CUDA_ERROR_ILLEGAL_STATE) } else { Ok(()) }
    })
}

/// Writes the schedule that follows `schedule` in the order of all schedules, or an empty text after the last one. `schedule` has
/// the form `replay:CHOICES`. With a non-negative `deviations`, schedules with more deviations from the lazy one are skipped.
///
/// # Safety
/// `schedule` is null or a nul-terminated string; `buf` is null or has room for `cap` bytes; `len` is null or writable.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimNextSchedule(
    schedule: *const c_char,
    deviations: i64,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> CUresult {
    tool(|| {
        // SAFETY: by this function's contract.
        let text = read(unsafe { Text::received(schedule) })?;
        let Ok(Schedule::Replay(choices)) = text.parse() else { return Err(CUresult::CUDA_ERROR_INVALID_VALUE) };
        let next: Option<Choices> = choices.next(deviations.try_into().ok());
        let text = next.map(|choices| Schedule::Replay(choices).to_string()).unwrap_or_default();
        // SAFETY: by this function's contract.
        unsafe { write_text(&text, buf, cap, len) }
    })
}
