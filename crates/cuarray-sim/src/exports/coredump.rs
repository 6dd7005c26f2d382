//! The settings of core dumps, for all contexts and for the current one.
//!
//! Driver API: [core dump attributes](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__COREDUMP.html). The environment
//! variables of CUDA-GDB are not read. A program that asks for core dumps gets a warning in the error log, because none is
//! written: the report names the access at which a kernel failed.

use super::*;
use crate::objects::coredump::{NAME_SIZE, Value, initial};
use crate::state::State;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const NOT_PERMITTED: CUresult = CUresult::CUDA_ERROR_NOT_PERMITTED;

const NOT_WRITTEN: &str = "core dumps are only settings here: the simulated driver writes no file; the report of findings \
                           names the access at which a kernel fails";

/// The host's name and the process, as names of core dumps contain them.
fn place() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer has this length, and its last byte stays 0.
    let found = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } == 0;
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    let host = if found { String::from_utf8_lossy(&name[..length]) } else { "localhost".into() };
    format!("{host}.{}", std::process::id())
}

/// The value of a setting: that of the context, or else that of all contexts.
fn value_of(state: &State, context: Option<CUcontext>, setting: CUcoredumpSettings) -> Result<Value, CUresult> {
    let own = context.and_then(|context| state.contexts.get(&context)?.coredump.chosen.get(&setting));
    let chosen = own.or_else(|| state.coredump.chosen.get(&setting)).cloned();
    chosen.or_else(|| initial(setting, &place())).ok_or(INVALID_VALUE)
}

/// Writes a value, or the size that it needs if there is no buffer.
///
/// # Safety
/// `size` is null or valid, and `value` is null or has as many bytes as `size` says.
unsafe fn get(found: &Value, value: *mut c_void, size: *mut usize) -> Result<(), CUresult> {
    present(size)?;
    if value.is_null() {
        // SAFETY: by this function's contract.
        return unsafe { put(size, found.size()) };
    }
    // SAFETY: by this function's contract; the size may be unaligned.
    let room = unsafe { size.read_unaligned() };
    let bytes = match found {
        Value::Switch(on) => vec![u8::from(*on)],
        Value::Name(name) => [name.as_slice(), &[0]].concat(),
        Value::Flags(flags) => flags.to_ne_bytes().to_vec(),
    };
    if bytes.len() > room {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the buffer has `room` bytes, which are enough.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), bytes.len()) };
    Ok(())
}

/// Reads a value of the same kind as `old`; `None` if the call only asks for its size, which is written.
///
/// # Safety
/// As for [`get`].
unsafe fn read(old: &Value, value: *const c_void, size: *mut usize) -> Result<Option<Value>, CUresult> {
    present(size)?;
    if value.is_null() {
        // SAFETY: by this function's contract.
        unsafe { put(size, old.size())? };
        return Ok(None);
    }
    // SAFETY: by this function's contract; the size may be unaligned.
    let room = unsafe { size.read_unaligned() };
    let least = if let Value::Name(_) = old { 1 } else { old.size() };
    if room < least {
        return Err(INVALID_VALUE);
    }
    let bytes = value.cast::<u8>();
    Ok(Some(match old {
        // SAFETY: the value has at least one byte.
        Value::Switch(_) => Value::Switch(unsafe { bytes.read() } != 0),
        Value::Flags(_) => {
            // SAFETY: the value has at least four bytes, and may be unaligned.
            let flags = unsafe { value.cast::<u32>().read_unaligned() };
            if flags & !CU_COREDUMP_ALL_FLAGS != 0 {
                return Err(INVALID_VALUE);
            }
            Value::Flags(flags)
        }
        Value::Name(_) => {
            // SAFETY: the value has `room` bytes, and the iterator stops at a nul.
            let name = (0..room).map(|index| unsafe { bytes.add(index).read() });
            let name: Vec<u8> = name.take(NAME_SIZE).take_while(|byte| *byte != 0).collect();
            if name.is_empty() || name.len() >= NAME_SIZE {
                return Err(INVALID_VALUE);
            }
            Value::Name(name)
        }
    }))
}

/// Warns a program that switches core dumps on.
fn warn(call: &Call<'_>, setting: CUcoredumpSettings, value: &Value) {
    let switches = matches!(setting, CU_COREDUMP_ENABLE_ON_EXCEPTION | CU_COREDUMP_ENABLE_USER_TRIGGER);
    if switches && *value == Value::Switch(true) {
        call.driver.log.add(CU_LOG_LEVEL_WARNING, call.thread, NOT_WRITTEN);
    }
}

pub(super) unsafe fn cuCoredumpGetAttribute(
    call: &Call<'_>,
    attrib: CUcoredumpSettings,
    value: *mut c_void,
    size: *mut usize,
) -> Result<(), CUresult> {
    let (state, context) = call.current()?;
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe { get(&value_of(&state, Some(context), attrib)?, value, size) }
}

pub(super) unsafe fn cuCoredumpGetAttributeGlobal(
    call: &Call<'_>,
    attrib: CUcoredumpSettings,
    value: *mut c_void,
    size: *mut usize,
) -> Result<(), CUresult> {
    let state = call.lock();
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe { get(&value_of(&state, None, attrib)?, value, size) }
}

/// Sets a value for the current context. The pipe and its switch belong to all contexts.
pub(super) unsafe fn cuCoredumpSetAttribute(
    call: &Call<'_>,
    attrib: CUcoredumpSettings,
    value: *mut c_void,
    size: *mut usize,
) -> Result<(), CUresult> {
    let (mut state, context) = call.current()?;
    let old = value_of(&state, Some(context), attrib)?;
    // SAFETY: the caller's pointers, by the driver's contract.
    let Some(new) = (unsafe { read(&old, value, size)? }) else { return Ok(()) };
    if matches!(attrib, CU_COREDUMP_ENABLE_USER_TRIGGER | CU_COREDUMP_PIPE) {
        return Err(NOT_PERMITTED);
    }
    warn(call, attrib, &new);
    state.context_mut(context)?.coredump.chosen.insert(attrib, new);
    Ok(())
}

/// Sets a value for all contexts. The pipe stays as it is once its switch is on.
pub(super) unsafe fn cuCoredumpSetAttributeGlobal(
    call: &Call<'_>,
    attrib: CUcoredumpSettings,
    value: *mut c_void,
    size: *mut usize,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let old = value_of(&state, None, attrib)?;
    // SAFETY: the caller's pointers, by the driver's contract.
    let Some(new) = (unsafe { read(&old, value, size)? }) else { return Ok(()) };
    let is_monitored = value_of(&state, None, CU_COREDUMP_ENABLE_USER_TRIGGER)? == Value::Switch(true);
    if attrib == CU_COREDUMP_PIPE && is_monitored {
        return Err(NOT_PERMITTED);
    }
    warn(call, attrib, &new);
    state.coredump.chosen.insert(attrib, new);
    Ok(())
}
