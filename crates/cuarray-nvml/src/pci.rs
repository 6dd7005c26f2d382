//! The place of a device on the bus.

use crate::device::{self, nvmlDevice_t};
use crate::driver::Device;
use crate::result::{answer, nvmlReturn_t, write};
use std::ffi::{c_char, c_uint};

/// NVIDIA's vendor number, without a device number: no product is simulated.
const VENDOR: c_uint = 0x10de;

/// The fields that all versions of `nvmlPciInfo_t` begin with.
#[repr(C)]
struct Start {
    legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    id: c_uint,
}

/// Version 2: a subsystem and four reserved numbers.
#[repr(C)]
pub(crate) struct Info2 {
    start: Start,
    subsystem: c_uint,
    reserved: [c_uint; 4],
}

/// Version 3: a subsystem, and a name with a longer domain.
#[repr(C)]
pub(crate) struct Info3 {
    start: Start,
    subsystem: c_uint,
    name: [c_char; 32],
}

/// Version 1, without a subsystem.
#[repr(transparent)]
pub(crate) struct Info1(Start);

/// `nvmlPciInfoExt_v1_t`.
#[repr(C)]
pub(crate) struct InfoExt {
    version: c_uint,
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    id: c_uint,
    subsystem: c_uint,
    class: c_uint,
    subclass: c_uint,
    name: [c_char; 32],
}

fn padded<const N: usize>(text: &str) -> [c_char; N] {
    let mut bytes = [0; N];
    for (to, from) in bytes.iter_mut().zip(text.bytes().take(N - 1)) {
        *to = from as c_char;
    }
    bytes
}

fn start(device: &Device) -> Start {
    Start { legacy: padded(&device.bus_id(4)), domain: device.domain, bus: device.bus, device: device.slot, id: VENDOR }
}

/// `nvmlDeviceGetPciInfo`.
///
/// # Safety
/// `to` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvmlDeviceGetPciInfo(handle: nvmlDevice_t, to: *mut Info1) -> nvmlReturn_t {
    // SAFETY: the contract is that of `write`.
    answer(device::device(handle).and_then(|device| unsafe { write(to, Info1(start(device))) }))
}

/// `nvmlDeviceGetPciInfo_v2`.
///
/// # Safety
/// `to` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvmlDeviceGetPciInfo_v2(handle: nvmlDevice_t, to: *mut Info2) -> nvmlReturn_t {
    let info = |device| Info2 { start: start(device), subsystem: 0, reserved: [0; 4] };
    // SAFETY: the contract is that of `write`.
    answer(device::device(handle).and_then(|device| unsafe { write(to, info(device)) }))
}

/// `nvmlDeviceGetPciInfo_v3`.
///
/// # Safety
/// `to` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(handle: nvmlDevice_t, to: *mut Info3) -> nvmlReturn_t {
    let info = |device: &Device| Info3 { start: start(device), subsystem: 0, name: padded(&device.bus_id(8)) };
    // SAFETY: the contract is that of `write`.
    answer(device::device(handle).and_then(|device| unsafe { write(to, info(device)) }))
}

/// `nvmlDeviceGetPciInfoExt`: the class of a 3D controller.
///
/// # Safety
/// `to` is null or points to an `nvmlPciInfoExt_t` with its version.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvmlDeviceGetPciInfoExt(handle: nvmlDevice_t, to: *mut InfoExt) -> nvmlReturn_t {
    let outcome = || {
        let device = device::device(handle)?;
        if to.is_null() {
            return Err(nvmlReturn_t::INVALID_ARGUMENT);
        }
        // SAFETY: by the contract the pointer points to the structure, whose first field is its version.
        let version = unsafe { to.cast::<c_uint>().read_unaligned() };
        if version != (size_of::<InfoExt>() as c_uint | 1 << 24) {
            return Err(nvmlReturn_t::ARGUMENT_VERSION_MISMATCH);
        }
        let info = InfoExt {
            version,
            domain: device.domain,
            bus: device.bus,
            device: device.slot,
            id: VENDOR,
            subsystem: 0,
            class: 3,
            subclass: 2,
            name: padded(&device.bus_id(8)),
        };
        // SAFETY: the contract is that of `write`.
        unsafe { write(to, info) }
    };
    answer(outcome())
}
