//! The error log, as programs read it.
//!
//! Driver API: [error log management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__LOGS.html). These functions
//! work before `cuInit`.

use super::*;
use crate::error_log::{Dump, Receiver};
use std::ffi::CStr;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The first line of a dump without its oldest messages.
const TRUNCATED: &str = "[CUDA][W] The log is truncated: older messages are missing";

pub(super) unsafe fn cuLogsRegisterCallback(
    call: &Call<'_>,
    callback_func: CUlogsCallback,
    user_data: *mut c_void,
    callback_out: *mut CUlogsCallbackHandle,
) -> Result<(), CUresult> {
    let function = callback_func.ok_or(INVALID_VALUE)?;
    let handle = call.driver.log.register(Receiver { function, data: user_data });
    if callback_out.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(callback_out, handle) }
}

pub(super) unsafe fn cuLogsUnregisterCallback(call: &Call<'_>, callback: CUlogsCallbackHandle) -> Result<(), CUresult> {
    if call.driver.log.unregister(callback) { Ok(()) } else { Err(INVALID_VALUE) }
}

pub(super) unsafe fn cuLogsCurrent(
    call: &Call<'_>,
    iterator_out: *mut CUlogIterator,
    flags: c_uint,
) -> Result<(), CUresult> {
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(iterator_out, call.driver.log.position()) }
}

/// The messages from the caller's iterator on.
///
/// # Safety
/// `iterator` is null or readable.
unsafe fn dump(call: &Call<'_>, iterator: *const CUlogIterator) -> Dump {
    // SAFETY: by this function's contract; the iterator may be unaligned.
    let from = (!iterator.is_null()).then(|| unsafe { iterator.read_unaligned() });
    call.driver.log.dump(from)
}

/// Advances the caller's iterator, if there is one.
///
/// # Safety
/// `iterator` is null or writable.
unsafe fn advance(iterator: *mut CUlogIterator, next: CUlogIterator) -> Result<(), CUresult> {
    // SAFETY: by this function's contract.
    if iterator.is_null() { Ok(()) } else { unsafe { put(iterator, next) } }
}

/// The last lines that fit into a number of bytes with a newline each, after a line that says so if some do not fit.
fn fitting(dump: &Dump, room: usize) -> Option<String> {
    let whole = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let all = whole(&dump.lines);
    if !dump.lost && all.len() <= room {
        return Some(all);
    }
    let mut left = room.checked_sub(TRUNCATED.len() + 1)?;
    let fits = |line: &&String| {
        let rest = left.checked_sub(line.len() + 1);
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let count = dump.lines.iter().rev().take_while(fits).count();
    let last = &dump.lines[dump.lines.len() - count..];
    (count > 0).then(|| format!("{TRUNCATED}\n{}", whole(last)))
}

pub(super) unsafe fn cuLogsDumpToFile(
    call: &Call<'_>,
    iterator: *mut CUlogIterator,
    path_to_file: *const c_char,
    flags: c_uint,
) -> Result<(), CUresult> {
    present(path_to_file)?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: a nul-terminated string, by the driver's contract.
    let path = unsafe { CStr::from_ptr(path_to_file) }.to_str().map_err(|_| INVALID_VALUE)?;
    // SAFETY: the caller's iterator, by the driver's contract.
    let dump = unsafe { dump(call, iterator) };
    let text = fitting(&dump, usize::MAX).unwrap_or_default();
    std::fs::write(path, text).map_err(|_| INVALID_VALUE)?;
    // SAFETY: as above.
    unsafe { advance(iterator, dump.next) }
}

pub(super) unsafe fn cuLogsDumpToMemory(
    call: &Call<'_>,
    iterator: *mut CUlogIterator,
    buffer: *mut c_char,
    size: *mut usize,
    flags: c_uint,
) -> Result<(), CUresult> {
    present(buffer)?;
    present(size)?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's iterator and size, by the driver's contract; the size may be unaligned.
    let (dump, room) = unsafe { (dump(call, iterator), size.read_unaligned()) };
    let text = room.checked_sub(1).and_then(|room| fitting(&dump, room));
    let written = text.as_deref().unwrap_or_default();
    // SAFETY: the buffer has `room` bytes, by the driver's contract. The text has fewer, so its nul fits.
    unsafe {
        put(size, written.len())?;
        if room > 0 {
            std::ptr::copy_nonoverlapping(written.as_ptr(), buffer.cast(), written.len());
            buffer.add(written.len()).write(0);
        }
    }
    if text.is_none() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: as above.
    unsafe { advance(iterator, dump.next) }
}
