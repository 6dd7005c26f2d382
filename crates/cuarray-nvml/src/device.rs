//! Handles of devices, and their properties.

use crate::bus_name;
use crate::driver::{self, Device};
use crate::result::{Outcome, answer, nvmlReturn_t, write, write_text};
use crate::system::{devices, find, text};
use std::ffi::{c_char, c_int, c_uint};
use std::ptr;

/// `nvmlDevice_t`: the address of a record of this library. It is compared, never read through.
#[allow(non_camel_case_types)]
pub(crate) type nvmlDevice_t = *const Device;

/// `nvmlUUID_t`.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct nvmlUUID_t {
    version: c_uint,
    kind: c_uint,
    value: [u8; 41],
}

/// The device of a handle.
pub(crate) fn device(handle: nvmlDevice_t) -> Result<&'static Device, nvmlReturn_t> {
    devices()?.iter().find(|device| ptr::eq(*device, handle)).ok_or(nvmlReturn_t::INVALID_ARGUMENT)
}

/// Defines functions that write a number about a device: its property, or the reason why there is none.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $ty:ty = |$device:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `to` is null or may be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: nvmlDevice_t, to: *mut $ty) -> nvmlReturn_t {
            answer(device(handle).and_then(|$device| {
                let value: $ty = $value;
                // SAFETY: the contract is that of `write`.
                unsafe { write(to, value) }
            }))
        }
    )*};
}

/// Defines functions that write a text about a device.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident = |$device:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `to` is null or has `length` bytes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: nvmlDevice_t, to: *mut c_char, length: c_uint) -> nvmlReturn_t {
            answer(device(handle).and_then(|$device| {
                let value: &str = &$value;
                // SAFETY: the contract is that of `write_text`.
                unsafe { write_text(to, length, value) }
            }))
        }
    )*};
}

texts! {
    /// `nvmlDeviceGetName`.
    nvmlDeviceGetName = |device| device.name;
    /// `nvmlDeviceGetUUID`.
    nvmlDeviceGetUUID = |device| device.uuid_text();
    /// `nvmlDeviceGetSerial`.
    nvmlDeviceGetSerial = |device| device.serial();
}

numbers! {
    /// `nvmlDeviceGetIndex`.
    nvmlDeviceGetIndex: c_uint = |device| device.index;
    /// `nvmlDeviceGetMinorNumber`.
    nvmlDeviceGetMinorNumber: c_uint = |device| device.index;
    /// `nvmlDeviceGetBoardId`.
    nvmlDeviceGetBoardId: c_uint = |device| device.bus << 8;
    /// `nvmlDeviceGetMultiGpuBoard`: each device has its own board.
    nvmlDeviceGetMultiGpuBoard: c_uint = |_device| 0;
    /// `nvmlDeviceGetBrand`: `NVML_BRAND_NVIDIA`.
    nvmlDeviceGetBrand: c_uint = |_device| 14;
    /// `nvmlDeviceGetArchitecture`: the architecture of the compute capability.
    nvmlDeviceGetArchitecture: c_uint = |device| match device.capability {
        (5, _) => 3,
        (6, _) => 4,
        (7, ..5) => 5,
        (7, _) => 6,
        (8, 9) => 8,
        (8, _) => 7,
        (9, _) => 9,
        (10..13, _) => 10,
        _ => c_uint::MAX,
    };
    /// `nvmlDeviceGetNumGpuCores`: 128 for each multiprocessor.
    nvmlDeviceGetNumGpuCores: c_uint = |device| device.multiprocessors.saturating_mul(128);
    /// `nvmlDeviceGetMemoryBusWidth`.
    nvmlDeviceGetMemoryBusWidth: c_uint = |device| device.bus_width;
    /// `nvmlDeviceGetComputeMode`: `NVML_COMPUTEMODE_DEFAULT`.
    nvmlDeviceGetComputeMode: c_uint = |_device| 0;
    /// `nvmlDeviceGetPersistenceMode`: disabled.
    nvmlDeviceGetPersistenceMode: c_uint = |_device| 0;
    /// `nvmlDeviceGetDisplayMode`: no display.
    nvmlDeviceGetDisplayMode: c_uint = |_device| 0;
    /// `nvmlDeviceGetDisplayActive`: no display.
    nvmlDeviceGetDisplayActive: c_uint = |_device| 0;
    /// `nvmlDeviceGetBusType`: `NVML_BUS_TYPE_PCIE`.
    nvmlDeviceGetBusType: c_uint = |_device| 2;
    /// `nvmlDeviceGetMaxPcieLinkGeneration`: that of a server GPU.
    nvmlDeviceGetMaxPcieLinkGeneration: c_uint = |_device| 5;
    /// `nvmlDeviceGetGpuMaxPcieLinkGeneration`.
    nvmlDeviceGetGpuMaxPcieLinkGeneration: c_uint = |_device| 5;
    /// `nvmlDeviceGetCurrPcieLinkGeneration`.
    nvmlDeviceGetCurrPcieLinkGeneration: c_uint = |_device| 5;
    /// `nvmlDeviceGetMaxPcieLinkWidth`.
    nvmlDeviceGetMaxPcieLinkWidth: c_uint = |_device| 16;
    /// `nvmlDeviceGetCurrPcieLinkWidth`.
    nvmlDeviceGetCurrPcieLinkWidth: c_uint = |_device| 16;
    /// `nvmlDeviceGetPcieSpeed`: 32,000 MT/s for each lane, as in generation 5.
    nvmlDeviceGetPcieSpeed: c_uint = |_device| 32_000;
    /// `nvmlDeviceIsMigDeviceHandle`.
    nvmlDeviceIsMigDeviceHandle: c_uint = |_device| 0;
    /// `nvmlDeviceGetMaxMigDeviceCount`.
    nvmlDeviceGetMaxMigDeviceCount: c_uint = |_device| 0;
}

/// `nvmlDeviceGetCudaComputeCapability`.
///
/// # Safety
/// The pointers are null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(
    handle: nvmlDevice_t,
    major: *mut c_int,
    minor: *mut c_int,
) -> nvmlReturn_t {
    answer(device(handle).and_then(|device| {
        // SAFETY: the contract is that of `write`.
        unsafe { write(major, device.capability.0).and(write(minor, device.capability.1)) }
    }))
}

/// `nvmlDeviceGetEccMode`.
///
/// # Safety
/// The pointers are null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEccMode(
    handle: nvmlDevice_t,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> nvmlReturn_t {
    answer(device(handle).and_then(|device| {
        let enabled = c_uint::from(device.ecc);
        // SAFETY: the contract is that of `write`.
        unsafe { write(current, enabled).and(write(pending, enabled)) }
    }))
}

/// `nvmlDeviceOnSameBoard`.
///
/// # Safety
/// `same` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceOnSameBoard(
    first: nvmlDevice_t,
    second: nvmlDevice_t,
    same: *mut c_int,
) -> nvmlReturn_t {
    let outcome = || {
        let (first, second) = (device(first)?, device(second)?);
        // SAFETY: the contract is that of `write`.
        unsafe { write(same, c_int::from(first.index == second.index)) }
    };
    answer(outcome())
}

/// `nvmlDeviceGetP2PStatus`: whether the driver lets one device access the memory of the other.
///
/// # Safety
/// `status` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetP2PStatus(
    first: nvmlDevice_t,
    second: nvmlDevice_t,
    index: c_uint,
    status: *mut c_uint,
) -> nvmlReturn_t {
    let outcome = || {
        let (first, second) = (device(first)?, device(second)?);
        // Read, write, NVLink, atomics, PCI.
        if first.index == second.index || index > 4 {
            return Err(nvmlReturn_t::INVALID_ARGUMENT);
        }
        let through_pci = matches!(index, 0 | 1 | 4) && driver::can_access(first, second)?;
        // SAFETY: the contract is that of `write`.
        unsafe { write(status, if through_pci { 0 } else { 5 }) }
    };
    answer(outcome())
}

/// Writes the number of devices.
///
/// # Safety
/// `count` is null or may be written.
unsafe fn write_count(count: *mut c_uint) -> nvmlReturn_t {
    // SAFETY: the contract is that of `write`.
    answer(devices().and_then(|devices| unsafe { write(count, devices.len() as c_uint) }))
}

/// Writes the handle of a device.
///
/// # Safety
/// `to` is null or may be written.
unsafe fn write_handle(to: *mut nvmlDevice_t, found: Result<&'static Device, nvmlReturn_t>) -> Outcome {
    // SAFETY: the contract is that of `write`.
    found.and_then(|device| unsafe { write(to, ptr::from_ref(device)) })
}

fn by_index(index: c_uint) -> Result<&'static Device, nvmlReturn_t> {
    devices()?.get(index as usize).ok_or(nvmlReturn_t::INVALID_ARGUMENT)
}

/// The device of a UUID as text: its digits, with `GPU-` before them or, as cuda.core passes them, without.
fn by_uuid(uuid: &str) -> Result<&'static Device, nvmlReturn_t> {
    find(|device| {
        let text = device.uuid_text();
        text.eq_ignore_ascii_case(uuid)
            || text.strip_prefix("GPU-").is_some_and(|digits| digits.eq_ignore_ascii_case(uuid))
    })
}

/// `nvmlDeviceGetCount`.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount(count: *mut c_uint) -> nvmlReturn_t {
    // SAFETY: the contract is the same.
    unsafe { write_count(count) }
}

/// `nvmlDeviceGetCount_v2`.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> nvmlReturn_t {
    // SAFETY: the contract is the same.
    unsafe { write_count(count) }
}

/// `nvmlDeviceGetHandleByIndex`.
///
/// # Safety
/// `to` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex(index: c_uint, to: *mut nvmlDevice_t) -> nvmlReturn_t {
    // SAFETY: the contract is the same.
    answer(unsafe { write_handle(to, by_index(index)) })
}

/// `nvmlDeviceGetHandleByIndex_v2`.
///
/// # Safety
/// `to` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, to: *mut nvmlDevice_t) -> nvmlReturn_t {
    // SAFETY: the contract is the same.
    answer(unsafe { write_handle(to, by_index(index)) })
}

/// `nvmlDeviceGetHandleBySerial`.
///
/// # Safety
/// `serial` is null or a string; `to` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleBySerial(serial: *const c_char, to: *mut nvmlDevice_t) -> nvmlReturn_t {
    // SAFETY: the contract is that of both functions.
    answer(unsafe { write_handle(to, text(serial).and_then(|serial| find(|device| device.serial() == serial))) })
}

/// `nvmlDeviceGetHandleByUUID`.
///
/// # Safety
/// `uuid` is null or a string; `to` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, to: *mut nvmlDevice_t) -> nvmlReturn_t {
    // SAFETY: the contract is that of both functions.
    answer(unsafe { write_handle(to, text(uuid).and_then(|uuid| by_uuid(&uuid))) })
}

/// `nvmlDeviceGetHandleByUUIDV`: the UUID as text or as 16 bytes.
///
/// # Safety
/// `uuid` is null or points to an `nvmlUUID_t`; `to` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUIDV(uuid: *const nvmlUUID_t, to: *mut nvmlDevice_t) -> nvmlReturn_t {
    let outcome = || {
        devices()?;
        if uuid.is_null() {
            return Err(nvmlReturn_t::INVALID_ARGUMENT);
        }
        // SAFETY: by the contract the pointer points to the structure.
        let uuid = unsafe { uuid.read_unaligned() };
        if uuid.version != (size_of::<nvmlUUID_t>() as c_uint | 1 << 24) {
            return Err(nvmlReturn_t::ARGUMENT_VERSION_MISMATCH);
        }
        let found = match uuid.kind {
            1 => {
                let end = uuid.value.iter().position(|&byte| byte == 0).unwrap_or(uuid.value.len());
                by_uuid(&String::from_utf8_lossy(&uuid.value[..end]))
            }
            2 => find(|device| device.uuid.bytes[..] == uuid.value[..16]),
            _ => Err(nvmlReturn_t::INVALID_ARGUMENT),
        };
        // SAFETY: the contract is the same.
        unsafe { write_handle(to, found) }
    };
    answer(outcome())
}

/// `nvmlDeviceGetHandleByPciBusId`.
///
/// # Safety
/// `name` is null or a string; `to` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId(name: *const c_char, to: *mut nvmlDevice_t) -> nvmlReturn_t {
    // SAFETY: the contract is that of both functions.
    answer(unsafe { write_handle(to, text(name).and_then(|name| bus_name::device(&name))) })
}

/// `nvmlDeviceGetHandleByPciBusId_v2`.
///
/// # Safety
/// `name` is null or a string; `to` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(name: *const c_char, to: *mut nvmlDevice_t) -> nvmlReturn_t {
    // SAFETY: the contract is that of both functions.
    answer(unsafe { write_handle(to, text(name).and_then(|name| bus_name::device(&name))) })
}
