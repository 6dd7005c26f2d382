//! Contexts of devices: the current one of the thread, or the primary one.

use super::runtime::driver;
use crate::{Error, Result, driver::Context, interpreter, lock::Lock};

/// A context of a device: the current context if it belongs to that device, else the primary one. The default context for memory
/// whose device is not known.
pub(in crate::python) fn context_by(device: Option<i32>) -> Result<Context> {
    let driver = driver()?;
    let Some(ordinal) = device else { return driver.default_context() };
    current_on(ordinal)?.map_or_else(|| driver.named_device(ordinal).primary_context(), Ok)
}

/// A context of the device with that ordinal: the current context if it belongs to the device, else the primary one. The primary context
/// is then retained for the life of the process, so that arrays do not create and destroy it.
///
/// # Errors
/// An invalid argument: there is no such device.
pub(in crate::python) fn context_on(ordinal: i32) -> Result<Context> {
    static RETAINED: Lock<Vec<(i32, Context)>> = Lock::new(Vec::new());
    let driver = driver()?;
    let count = driver.device_count()?;
    if !usize::try_from(ordinal).is_ok_and(|ordinal| ordinal < count) {
        return Err(Error::argument(format!("device is {ordinal}; an int from 0 to {} is expected", count.max(1) - 1)));
    }
    if let Some(current) = current_on(ordinal)? {
        return Ok(current);
    }
    // The whole block runs detached from the interpreter: it holds the lock during driver calls that can block.
    interpreter::detached(|| {
        let mut retained = interpreter::lock(&RETAINED);
        if let Some((_, context)) = retained.iter().find(|(device, _)| *device == ordinal) {
            return Ok(context.clone());
        }
        let context = driver.device(ordinal)?.primary_context()?;
        retained.push((ordinal, context.clone()));
        Ok(context)
    })
}

/// The current context, if it belongs to the device.
fn current_on(ordinal: i32) -> Result<Option<Context>> {
    let Some(current) = driver()?.current_context()? else { return Ok(None) };
    Ok((current.ordinal()? == ordinal).then_some(current))
}
