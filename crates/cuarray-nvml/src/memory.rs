//! Memory, utilization and processes of a device: those of this process.

use crate::device::{device, nvmlDevice_t};
use crate::driver::{self, Device};
use crate::result::{Outcome, answer, nvmlReturn_t, write};
use std::ffi::{c_uint, c_ulonglong};

/// `nvmlMemory_t`.
#[repr(C)]
pub(crate) struct Memory {
    total: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
pub(crate) struct Memory2 {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// `nvmlUtilization_t`, in percent.
#[repr(C)]
pub(crate) struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

/// `nvmlProcessInfo_v1_t`.
#[repr(C)]
pub(crate) struct Process1 {
    pid: c_uint,
    used: c_ulonglong,
}

/// `nvmlProcessInfo_t`, from version 2 on.
#[repr(C)]
pub(crate) struct Process {
    pid: c_uint,
    used: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

fn free(device: &Device) -> Result<u64, nvmlReturn_t> {
    Ok(driver::free_memory(device)?.unwrap_or(device.total).min(device.total))
}

/// `nvmlDeviceGetMemoryInfo`.
///
/// # Safety
/// `to` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvmlDeviceGetMemoryInfo(handle: nvmlDevice_t, to: *mut Memory) -> nvmlReturn_t {
    answer(device(handle).and_then(|device| {
        let free = free(device)?;
        // SAFETY: the contract is that of `write`.
        unsafe { write(to, Memory { total: device.total, free, used: device.total - free }) }
    }))
}

/// `nvmlDeviceGetMemoryInfo_v2`.
///
/// # Safety
/// `to` is null or points to an `nvmlMemory_v2_t` with its version.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(handle: nvmlDevice_t, to: *mut Memory2) -> nvmlReturn_t {
    answer(device(handle).and_then(|device| {
        if to.is_null() {
            return Err(nvmlReturn_t::INVALID_ARGUMENT);
        }
        // SAFETY: by the contract the pointer points to the structure, whose first field is its version.
        let version = unsafe { to.cast::<c_uint>().read_unaligned() };
        if version != (size_of::<Memory2>() as c_uint | 2 << 24) {
            return Err(nvmlReturn_t::ARGUMENT_VERSION_MISMATCH);
        }
        let free = free(device)?;
        let memory = Memory2 { version, total: device.total, reserved: 0, free, used: device.total - free };
        // SAFETY: the contract is that of `write`.
        unsafe { write(to, memory) }
    }))
}

/// `nvmlDeviceGetUtilizationRates`: simulated work takes no time of a device.
///
/// # Safety
/// `to` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvmlDeviceGetUtilizationRates(
    handle: nvmlDevice_t,
    to: *mut Utilization,
) -> nvmlReturn_t {
    // SAFETY: the contract is that of `write`.
    answer(device(handle).and_then(|_| unsafe { write(to, Utilization { gpu: 0, memory: 0 }) }))
}

/// Writes the processes of a device: this one if it has the primary context, and otherwise none.
///
/// # Safety
/// `count` is null or may be read and written; `to` is null or has room for that many entries.
unsafe fn processes<T>(
    handle: nvmlDevice_t,
    count: *mut c_uint,
    to: *mut T,
    is_listed: bool,
    entry: impl Fn(c_uint, u64) -> T,
) -> Outcome {
    let device = device(handle)?;
    if count.is_null() {
        return Err(nvmlReturn_t::INVALID_ARGUMENT);
    }
    // SAFETY: by the contract the pointer may be read.
    let room = unsafe { count.read_unaligned() };
    let used =
        if is_listed { driver::free_memory(device)?.map(|free| device.total.saturating_sub(free)) } else { None };
    // SAFETY: by the contract the pointer may be written.
    unsafe { count.write_unaligned(c_uint::from(used.is_some())) };
    let Some(used) = used else { return Ok(()) };
    if room == 0 {
        return Err(nvmlReturn_t::INSUFFICIENT_SIZE);
    }
    // SAFETY: by the contract there is room for an entry, or the pointer is null.
    unsafe { write(to, entry(std::process::id(), used)) }
}

/// Defines the functions that list processes. All have one signature.
macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident: $entry:ident, $is_listed:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `count` is null or may be read and written; `to` is null or has room for that many entries.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(handle: nvmlDevice_t, count: *mut c_uint, to: *mut $entry) -> nvmlReturn_t {
            // SAFETY: the contract is the same.
            answer(unsafe { processes(handle, count, to, $is_listed, $entry::new) })
        }
    )*};
}

impl Process1 {
    fn new(pid: c_uint, used: u64) -> Self {
        Self { pid, used }
    }
}

impl Process {
    fn new(pid: c_uint, used: u64) -> Self {
        Self { pid, used, gpu_instance: c_uint::MAX, compute_instance: c_uint::MAX }
    }
}

lists! {
    /// `nvmlDeviceGetComputeRunningProcesses`.
    nvmlDeviceGetComputeRunningProcesses: Process1, true;
    /// `nvmlDeviceGetComputeRunningProcesses_v2`.
    nvmlDeviceGetComputeRunningProcesses_v2: Process, true;
    /// `nvmlDeviceGetComputeRunningProcesses_v3`.
    nvmlDeviceGetComputeRunningProcesses_v3: Process, true;
    /// `nvmlDeviceGetGraphicsRunningProcesses`: none.
    nvmlDeviceGetGraphicsRunningProcesses: Process1, false;
    /// `nvmlDeviceGetGraphicsRunningProcesses_v2`: none.
    nvmlDeviceGetGraphicsRunningProcesses_v2: Process, false;
    /// `nvmlDeviceGetGraphicsRunningProcesses_v3`: none.
    nvmlDeviceGetGraphicsRunningProcesses_v3: Process, false;
    /// `nvmlDeviceGetMPSComputeRunningProcesses`: none.
    nvmlDeviceGetMPSComputeRunningProcesses: Process1, false;
    /// `nvmlDeviceGetMPSComputeRunningProcesses_v2`: none.
    nvmlDeviceGetMPSComputeRunningProcesses_v2: Process, false;
    /// `nvmlDeviceGetMPSComputeRunningProcesses_v3`: none.
    nvmlDeviceGetMPSComputeRunningProcesses_v3: Process, false;
}
