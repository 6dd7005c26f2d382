//! The settings of core dumps, for all contexts and for the current one.
//!
//! Driver API: [core dump attributes](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__COREDUMP.html). The environment
//! variables of CUDA-GDB are not read. A program that asks for core dumps gets a warning in the error log, because none is
//! written: the report names the access at which a kernel failed.

use crate::driver::Call;
use crate::objects::coredump::{NAME_SIZE, Value, initial};
use crate::parameters::{In, InOut, Out};
use crate::state::State;
use cuarray_abi::*;
use std::ffi::c_void;

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
fn get(found: &Value, value: Out<'_, c_void>, size: InOut<'_, usize>) -> Result<(), CUresult> {
    if value.is_null() {
        return size.put(found.size());
    }
    let room = size.read()?;
    let bytes = match found {
        Value::Switch(on) => vec![u8::from(*on)],
        Value::Name(name) => [name.as_slice(), &[0]].concat(),
        Value::Flags(flags) => flags.to_ne_bytes().to_vec(),
    };
    if bytes.len() > room {
        return Err(INVALID_VALUE);
    }
    // SAFETY: by the manual, the buffer has `room` bytes, which are enough.
    unsafe { value.cast::<u8>().put_all(bytes) }
}

/// Reads a value of the same kind as `old`; `None` if the call only asks for its size, which is written.
fn read(old: &Value, value: In<'_, c_void>, size: InOut<'_, usize>) -> Result<Option<Value>, CUresult> {
    if value.is_null() {
        size.put(old.size())?;
        return Ok(None);
    }
    let room = size.read()?;
    let least = if let Value::Name(_) = old { 1 } else { old.size() };
    if room < least {
        return Err(INVALID_VALUE);
    }
    Ok(Some(match old {
        // SAFETY: the value has at least one byte.
        Value::Switch(_) => Value::Switch(unsafe { value.cast::<u8>() }.read()? != 0),
        Value::Flags(_) => {
            // SAFETY: the value has at least four bytes.
            let flags = unsafe { value.cast::<u32>() }.read()?;
            if flags & !CU_COREDUMP_ALL_FLAGS != 0 {
                return Err(INVALID_VALUE);
            }
            Value::Flags(flags)
        }
        Value::Name(_) => {
            // SAFETY: the value has `room` bytes, and the iterator stops at a nul.
            let name = (0..room).map(|index| unsafe { value.pointer().cast::<u8>().add(index).read() });
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

pub(crate) fn cuCoredumpGetAttribute(
    call: &Call<'_>,
    attrib: CUcoredumpSettings,
    value: Out<'_, c_void>,
    size: InOut<'_, usize>,
) -> Result<(), CUresult> {
    let (state, context) = call.current()?;
    get(&value_of(&state, Some(context), attrib)?, value, size)
}

pub(crate) fn cuCoredumpGetAttributeGlobal(
    call: &Call<'_>,
    attrib: CUcoredumpSettings,
    value: Out<'_, c_void>,
    size: InOut<'_, usize>,
) -> Result<(), CUresult> {
    let state = call.lock();
    get(&value_of(&state, None, attrib)?, value, size)
}

/// Sets a value for the current context. The pipe and its switch belong to all contexts.
pub(crate) fn cuCoredumpSetAttribute(
    call: &Call<'_>,
    attrib: CUcoredumpSettings,
    value: In<'_, c_void>,
    size: InOut<'_, usize>,
) -> Result<(), CUresult> {
    let (mut state, context) = call.current()?;
    let old = value_of(&state, Some(context), attrib)?;
    let Some(new) = read(&old, value, size)? else { return Ok(()) };
    if matches!(attrib, CU_COREDUMP_ENABLE_USER_TRIGGER | CU_COREDUMP_PIPE) {
        return Err(NOT_PERMITTED);
    }
    warn(call, attrib, &new);
    state.context_mut(context)?.coredump.chosen.insert(attrib, new);
    Ok(())
}

/// Sets a value for all contexts. The pipe stays as it is once its switch is on.
pub(crate) fn cuCoredumpSetAttributeGlobal(
    call: &Call<'_>,
    attrib: CUcoredumpSettings,
    value: In<'_, c_void>,
    size: InOut<'_, usize>,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let old = value_of(&state, None, attrib)?;
    let Some(new) = read(&old, value, size)? else { return Ok(()) };
    let is_monitored = value_of(&state, None, CU_COREDUMP_ENABLE_USER_TRIGGER)? == Value::Switch(true);
    if attrib == CU_COREDUMP_PIPE && is_monitored {
        return Err(NOT_PERMITTED);
    }
    warn(call, attrib, &new);
    state.coredump.chosen.insert(attrib, new);
    Ok(())
}
