//! Initialization, versions, and the system's counts.

use crate::driver::{self, Device};
use crate::result::{Outcome, answer, nvmlReturn_t, read_text, write, write_text};
use cuarray_stand_in::report_use;
use std::ffi::{c_char, c_int, c_uint};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// `nvmlInit` calls without their `nvmlShutdown`.
static INITIALIZED: AtomicU32 = AtomicU32::new(0);

/// The devices, for a caller that has initialized NVML.
pub(crate) fn devices() -> Result<&'static [Device], nvmlReturn_t> {
    initialized()?;
    driver::devices()
}

fn initialized() -> Outcome {
    if INITIALIZED.load(Ordering::Acquire) == 0 { Err(nvmlReturn_t::UNINITIALIZED) } else { Ok(()) }
}

fn initialize() -> nvmlReturn_t {
    if !driver::is_present() {
        return nvmlReturn_t::DRIVER_NOT_LOADED;
    }
    static REPORT: Once = Once::new();
    REPORT.call_once(|| report_use("libnvidia-ml.so.1"));
    INITIALIZED.fetch_add(1, Ordering::AcqRel);
    nvmlReturn_t::SUCCESS
}

/// `nvmlInit`.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> nvmlReturn_t {
    initialize()
}

/// `nvmlInit_v2`.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    initialize()
}

/// `nvmlInitWithFlags`: no flag changes anything without hardware.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> nvmlReturn_t {
    initialize()
}

/// `nvmlShutdown`.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    let ended = INITIALIZED.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| count.checked_sub(1));
    if ended.is_ok() { nvmlReturn_t::SUCCESS } else { nvmlReturn_t::UNINITIALIZED }
}

/// A version of NVIDIA's driver that supports a version of CUDA.
fn driver_version(cuda: c_int) -> &'static str {
    match cuda {
        ..12_040 => "535.54.03",
        12_040..12_050 => "550.54.14",
        12_050..12_080 => "560.28.03",
        12_080..13_000 => "570.124.06",
        13_000..13_010 => "580.65.06",
        13_010..13_020 => "590.44.01",
        _ => "595.45.04",
    }
}

/// `nvmlSystemGetDriverVersion`: a driver with the CUDA version of `cuDriverGetVersion`.
///
/// # Safety
/// `version` is null or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) -> nvmlReturn_t {
    // SAFETY: the contract is that of `write_text`.
    let outcome = || unsafe { write_text(version, length, driver_version(driver::cuda_version()?)) };
    answer(initialized().and_then(|()| outcome()))
}

/// `nvmlSystemDriverBranchInfo_v1_t`.
#[repr(C)]
pub(crate) struct DriverBranch {
    version: c_uint,
    branch: [c_char; 80],
}

/// `nvmlSystemGetDriverBranch`: the branch of the version of `nvmlSystemGetDriverVersion`, such as `r580_00`.
///
/// # Safety
/// `to` is null or points to an `nvmlSystemDriverBranchInfo_t` with its version.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvmlSystemGetDriverBranch(to: *mut DriverBranch, length: c_uint) -> nvmlReturn_t {
    let outcome = || {
        if to.is_null() {
            return Err(nvmlReturn_t::INVALID_ARGUMENT);
        }
        // SAFETY: by the contract the pointer points to the structure, whose first field is its version.
        if unsafe { (&raw const (*to).version).read_unaligned() } != (size_of::<DriverBranch>() as c_uint | 1 << 24) {
            return Err(nvmlReturn_t::ARGUMENT_VERSION_MISMATCH);
        }
        let version = driver_version(driver::cuda_version()?);
        let branch = format!("r{}_00", version.split('.').next().unwrap_or_default());
        // SAFETY: by the contract the pointer points to the structure, whose text has 80 bytes.
        unsafe { write_text((&raw mut (*to).branch).cast(), length.min(80), &branch) }
    };
    answer(initialized().and_then(|()| outcome()))
}

/// `nvmlSystemGetNVMLVersion`.
///
/// # Safety
/// `version` is null or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetNVMLVersion(version: *mut c_char, length: c_uint) -> nvmlReturn_t {
    let outcome = || {
        let cuda = driver::cuda_version()?;
        // SAFETY: the contract is that of `write_text`.
        unsafe { write_text(version, length, &format!("{}.{}", cuda / 1000, driver_version(cuda))) }
    };
    answer(initialized().and_then(|()| outcome()))
}

/// `nvmlSystemGetCudaDriverVersion`, which needs no initialization.
///
/// # Safety
/// `version` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion(version: *mut c_int) -> nvmlReturn_t {
    // SAFETY: the contract is that of `write`.
    answer(driver::cuda_version().and_then(|cuda| unsafe { write(version, cuda) }))
}

/// `nvmlSystemGetCudaDriverVersion_v2`.
///
/// # Safety
/// `version` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) -> nvmlReturn_t {
    // SAFETY: the contract is that of `write`.
    answer(driver::cuda_version().and_then(|cuda| unsafe { write(version, cuda) }))
}

/// `nvmlSystemGetProcessName`: the program's path.
///
/// # Safety
/// `name` is null or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetProcessName(pid: c_uint, name: *mut c_char, length: c_uint) -> nvmlReturn_t {
    let outcome = || {
        if name.is_null() || length == 0 {
            return Err(nvmlReturn_t::INVALID_ARGUMENT);
        }
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).map_err(|_| nvmlReturn_t::NOT_FOUND)?;
        let path = String::from_utf8_lossy(line.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned();
        // NVML truncates the name to the buffer.
        let mut room = (length as usize - 1).min(path.len());
        while !path.is_char_boundary(room) {
            room -= 1;
        }
        // SAFETY: the contract is that of `write_text`.
        unsafe { write_text(name, length, &path[..room]) }
    };
    answer(initialized().and_then(|()| outcome()))
}

/// `nvmlUnitGetCount`: there are no units.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlUnitGetCount(count: *mut c_uint) -> nvmlReturn_t {
    // SAFETY: the contract is that of `write`.
    answer(initialized().and_then(|()| unsafe { write(count, 0) }))
}

/// `nvmlGetExcludedDeviceCount`: no device is excluded.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGetExcludedDeviceCount(count: *mut c_uint) -> nvmlReturn_t {
    // SAFETY: the contract is that of `write`.
    answer(unsafe { write(count, 0) })
}

/// The index of the device that a test accepts.
pub(crate) fn find(accepts: impl Fn(&Device) -> bool) -> Result<&'static Device, nvmlReturn_t> {
    devices()?.iter().find(|device| accepts(device)).ok_or(nvmlReturn_t::NOT_FOUND)
}

/// A text of the caller, once NVML is initialized.
///
/// # Safety
/// The pointer is null or points to a string.
pub(crate) unsafe fn text(from: *const c_char) -> Result<String, nvmlReturn_t> {
    initialized()?;
    // SAFETY: the contract is that of `read_text`.
    unsafe { read_text(from) }
}
