//! Contexts: a thread gets the primary context of its device at its first call that needs one.
//!
//! A context that the program has made current through the driver is used as it is. Otherwise the primary context of
//! the thread's device is retained once for the process, and made current. A thread that has had a context is not asked
//! again: if the driver then refuses a call for want of a context, [`call`](crate::call) binds the thread anew and
//! repeats the call.

use crate::driver::cu;
use crate::result::{Result, cudaError_t};
use crate::thread;
use cuarray_abi::{Api, CUcontext};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The devices that a process can use. The driver numbers them from 0.
const MAX_DEVICES: usize = 256;

/// The primary contexts that this runtime has retained, by device; 0 where it has retained none.
static PRIMARY: [AtomicUsize; MAX_DEVICES] = [const { AtomicUsize::new(0) }; MAX_DEVICES];
/// Held while a primary context is retained or reset.
static RETAIN: Mutex<()> = Mutex::new(());
/// Counts from 1, and changes when a device is reset, so that every thread looks for its context again.
static GENERATION: AtomicU64 = AtomicU64::new(1);

/// Makes sure that the calling thread has a current context.
#[inline]
pub(crate) fn bind(api: &Api) -> Result {
    let generation = GENERATION.load(Ordering::Acquire);
    if thread::with(|thread| thread.bound.get()) == generation { Ok(()) } else { bind_now(api, generation) }
}

/// Forgets that the calling thread has a context, and returns whether it had one.
pub(crate) fn unbind() -> bool {
    thread::with(|thread| thread.bound.replace(0)) != 0
}

#[cold]
fn bind_now(api: &Api, generation: u64) -> Result {
    if current(api)?.is_none() {
        let context = primary(api, thread::with(|thread| thread.device.get()))?;
        cu!(api.cuCtxSetCurrent(context))?;
    }
    thread::with(|thread| thread.bound.set(generation));
    Ok(())
}

/// The current context of the calling thread.
pub(crate) fn current(api: &Api) -> Result<Option<CUcontext>> {
    let mut context = CUcontext::default();
    cu!(api.cuCtxGetCurrent(&raw mut context))?;
    Ok((context != CUcontext::default()).then_some(context))
}

/// The primary context of a device, retained at the first call.
pub(crate) fn primary(api: &Api, device: c_int) -> Result<CUcontext> {
    let slot = usize::try_from(device).ok().and_then(|device| PRIMARY.get(device));
    let slot = slot.ok_or(cudaError_t::cudaErrorInvalidDevice)?;
    let known = slot.load(Ordering::Acquire);
    if known != 0 {
        return Ok(CUcontext(known));
    }
    let _lock = RETAIN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = slot.load(Ordering::Acquire);
    if known != 0 {
        return Ok(CUcontext(known));
    }
    let mut context = CUcontext::default();
    cu!(api.cuDevicePrimaryCtxRetain(&raw mut context, device))?;
    slot.store(context.0, Ordering::Release);
    Ok(context)
}

/// Makes the primary context of a device current, and the device that of the thread.
pub(crate) fn set_device(api: &Api, device: c_int) -> Result {
    let context = primary(api, device)?;
    cu!(api.cuCtxSetCurrent(context))?;
    thread::with(|thread| {
        thread.device.set(device);
        thread.bound.set(GENERATION.load(Ordering::Acquire));
    });
    Ok(())
}

/// The device of the calling thread: that of its current context, otherwise the chosen one.
pub(crate) fn device(api: &Api) -> Result<c_int> {
    let mut device = 0;
    match cu!(api.cuCtxGetDevice(&raw mut device)) {
        Ok(()) => Ok(device),
        Err(cudaError_t::cudaErrorDeviceUninitialized) => Ok(thread::with(|thread| thread.device.get())),
        Err(error) => Err(error),
    }
}

/// Resets the primary context of a device. Its threads retain it again at their next call.
pub(crate) fn reset(api: &Api, device: c_int) -> Result {
    let _lock = RETAIN.lock().unwrap_or_else(PoisonError::into_inner);
    cu!(api.cuDevicePrimaryCtxReset_v2(device))?;
    let slot = usize::try_from(device).ok().and_then(|device| PRIMARY.get(device));
    if let Some(slot) = slot
        && slot.swap(0, Ordering::AcqRel) != 0
    {
        // The reset keeps the reference that `primary` took.
        let _ = cu!(api.cuDevicePrimaryCtxRelease_v2(device));
        let _ = cu!(api.cuCtxSetCurrent(CUcontext::default()));
    }
    GENERATION.fetch_add(1, Ordering::AcqRel);
    Ok(())
}
