//! The error log, as programs read it.
//!
//! Driver API: [error log management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__LOGS.html). These functions
//! work before `cuInit`.

use crate::driver::Call;
use crate::error_log::{Dump, Receiver};
use crate::parameters::{In, InOut, Out, Text};
use cuarray_abi::*;
use std::ffi::{c_char, c_uint, c_void};

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The first line of a dump without its oldest messages.
const TRUNCATED: &str = "[CUDA][W] The log is truncated: older messages are missing";

pub(crate) fn cuLogsRegisterCallback(
    call: &Call<'_>,
    callback_func: CUlogsCallback,
    user_data: *mut c_void,
    callback_out: Out<'_, CUlogsCallbackHandle>,
) -> Result<(), CUresult> {
    let function = callback_func.ok_or(INVALID_VALUE)?;
    let handle = call.driver.log.register(Receiver { function, data: user_data });
    callback_out.put_if_present(handle);
    Ok(())
}

pub(crate) fn cuLogsUnregisterCallback(call: &Call<'_>, callback: CUlogsCallbackHandle) -> Result<(), CUresult> {
    if call.driver.log.unregister(callback) { Ok(()) } else { Err(INVALID_VALUE) }
}

pub(crate) fn cuLogsCurrent(
    call: &Call<'_>,
    iterator_out: Out<'_, CUlogIterator>,
    flags: c_uint,
) -> Result<(), CUresult> {
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    iterator_out.put(call.driver.log.position())
}

/// The messages from the caller's iterator on.
fn dump(call: &Call<'_>, iterator: In<'_, CUlogIterator>) -> Dump {
    call.driver.log.dump(iterator.given())
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

pub(crate) fn cuLogsDumpToFile(
    call: &Call<'_>,
    iterator: InOut<'_, CUlogIterator>,
    path_to_file: Text<'_>,
    flags: c_uint,
) -> Result<(), CUresult> {
    path_to_file.present()?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let path = path_to_file.read()?.to_str().map_err(|_| INVALID_VALUE)?;
    let dump = dump(call, iterator.input);
    let text = fitting(&dump, usize::MAX).unwrap_or_default();
    std::fs::write(path, text).map_err(|_| INVALID_VALUE)?;
    iterator.output.put_if_present(dump.next);
    Ok(())
}

pub(crate) fn cuLogsDumpToMemory(
    call: &Call<'_>,
    iterator: InOut<'_, CUlogIterator>,
    buffer: Out<'_, c_char>,
    size: InOut<'_, usize>,
    flags: c_uint,
) -> Result<(), CUresult> {
    buffer.present()?;
    let room = size.read()?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let dump = dump(call, iterator.input);
    let text = room.checked_sub(1).and_then(|room| fitting(&dump, room));
    let written = text.as_deref().unwrap_or_default();
    size.put(written.len())?;
    if room > 0 {
        // SAFETY: by the manual, the buffer has this size.
        unsafe { buffer.put_text(written, room)? };
    }
    if text.is_none() {
        return Err(INVALID_VALUE);
    }
    iterator.output.put_if_present(dump.next);
    Ok(())
}
