//! NVLink and its fabric, which no simulated device has: programs that ask get that answer, and no error.

use crate::device::{device, nvmlDevice_t};
use crate::result::{answer, nvmlReturn_t, write};
use std::ffi::{c_int, c_uint};

/// `NVML_GPU_FABRIC_STATE_NOT_SUPPORTED`.
const NOT_SUPPORTED: u8 = 0;

/// `nvmlGpuFabricInfo_t`.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct nvmlGpuFabricInfo_t {
    cluster_uuid: [u8; 16],
    status: nvmlReturn_t,
    clique: c_uint,
    state: u8,
}

/// `nvmlGpuFabricInfo_v2_t`.
#[repr(C)]
struct Version2 {
    version: c_uint,
    info: nvmlGpuFabricInfo_t,
    health_mask: c_uint,
}

/// `nvmlGpuFabricInfo_v3_t`.
#[repr(C)]
struct Version3 {
    base: Version2,
    health_summary: u8,
}

fn no_fabric() -> nvmlGpuFabricInfo_t {
    let status = nvmlReturn_t::NOT_SUPPORTED;
    nvmlGpuFabricInfo_t { cluster_uuid: [0; 16], status, clique: 0, state: NOT_SUPPORTED }
}

/// The version of a structure, as NVML's macros make it: the size, and the number in the highest byte.
const fn version<T>(number: c_uint) -> c_uint {
    size_of::<T>() as c_uint | number << 24
}

/// `nvmlDeviceGetGpuFabricInfo`: the device has no fabric.
///
/// # Safety
/// `to` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuFabricInfo(
    handle: nvmlDevice_t,
    to: *mut nvmlGpuFabricInfo_t,
) -> nvmlReturn_t {
    answer(device(handle).and_then(|_| {
        // SAFETY: the contract is that of `write`.
        unsafe { write(to, no_fabric()) }
    }))
}

/// `nvmlDeviceGetGpuFabricInfoV`: the device has no fabric. The caller sets the version of the structure.
///
/// # Safety
/// `to` is null or points to a structure of the version in its first field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuFabricInfoV(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    let (two, three) = (version::<Version2>(2), version::<Version3>(3));
    answer(device(handle).and_then(|_| {
        if to.is_null() {
            return Err(nvmlReturn_t::INVALID_ARGUMENT);
        }
        // SAFETY: the pointer is not null, and each version begins with its number.
        let given = unsafe { to.read_unaligned() };
        let base = |version| Version2 { version, info: no_fabric(), health_mask: 0 };
        // SAFETY: by the contract the structure has the version that it names.
        unsafe {
            match given {
                _ if given == two => write(to.cast(), base(two)),
                _ if given == three => write(to.cast(), Version3 { base: base(three), health_summary: 0 }),
                _ => Err(nvmlReturn_t::ARGUMENT_VERSION_MISMATCH),
            }
        }
    }))
}

/// `nvmlFieldValue_t`.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nvmlFieldValue_t {
    field: c_uint,
    scope: c_uint,
    timestamp: i64,
    latency: i64,
    kind: c_uint,
    result: nvmlReturn_t,
    value: u64,
}

/// `NVML_FI_DEV_NVLINK_LINK_COUNT`.
const LINK_COUNT: c_uint = 91;
/// `NVML_VALUE_TYPE_UNSIGNED_INT`.
const UNSIGNED_INT: c_uint = 1;

/// `nvmlDeviceGetFieldValues`: each field has its own result. The number of links is 0; other fields are not supported.
///
/// # Safety
/// `values` is null or points to `count` structures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(
    handle: nvmlDevice_t,
    count: c_int,
    values: *mut nvmlFieldValue_t,
) -> nvmlReturn_t {
    answer(device(handle).and_then(|_| {
        if values.is_null() || count < 1 {
            return Err(nvmlReturn_t::INVALID_ARGUMENT);
        }
        for index in 0..count as usize {
            // SAFETY: by the contract there are `count` structures.
            let place = unsafe { values.add(index) };
            // SAFETY: as above; the caller has set the field and its scope.
            let mut value = unsafe { place.read_unaligned() };
            let is_count = value.field == LINK_COUNT;
            value.result = if is_count { nvmlReturn_t::SUCCESS } else { nvmlReturn_t::NOT_SUPPORTED };
            (value.kind, value.value, value.timestamp, value.latency) = (UNSIGNED_INT, 0, 0, 0);
            // SAFETY: as above.
            unsafe { write(place, value)? };
        }
        Ok(())
    }))
}
