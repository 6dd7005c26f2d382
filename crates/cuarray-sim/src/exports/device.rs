//! Devices.
//!
//! Driver API: [device management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html),
//! [peer access](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html).

use super::*;
use crate::config::identity;
use crate::config::textures::LINEAR_WIDTH;
use crate::objects::array::texel_size;
use crate::objects::pool::Place;
use crate::work::pools;
use std::ffi::CStr;

pub(super) unsafe fn cuDeviceGet(call: &Call<'_>, device: *mut CUdevice, ordinal: c_int) -> Result<(), CUresult> {
    present(device)?;
    let ordinal = call.lock().device(ordinal)?.ordinal;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(device, ordinal) }
}

pub(super) unsafe fn cuDeviceGetCount(call: &Call<'_>, count: *mut c_int) -> Result<(), CUresult> {
    let devices = call.lock().devices.len() as c_int;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(count, devices) }
}

/// Writes a string and its nul into a buffer of `length` bytes, truncated to fit.
unsafe fn put_text(buffer: *mut c_char, length: c_int, text: &str) -> Result<(), CUresult> {
    present(buffer)?;
    let room = usize::try_from(length).ok().and_then(|length| length.checked_sub(1));
    let room = room.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let text = &text.as_bytes()[..text.len().min(room)];
    // SAFETY: the buffer holds `length` bytes, by the driver's contract; text and nul do not exceed that.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), text.len());
        buffer.add(text.len()).write(0);
    }
    Ok(())
}

pub(super) unsafe fn cuDeviceGetName(
    call: &Call<'_>,
    name: *mut c_char,
    len: c_int,
    dev: CUdevice,
) -> Result<(), CUresult> {
    call.lock().device(dev)?;
    // SAFETY: the caller's buffer, by the driver's contract.
    unsafe { put_text(name, len, identity::NAME) }
}

pub(super) unsafe fn cuDeviceGetUuid(call: &Call<'_>, uuid: *mut CUuuid, dev: CUdevice) -> Result<(), CUresult> {
    let physical = call.lock().device(dev)?.physical;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(uuid, identity::uuid(physical)) }
}

pub(super) unsafe fn cuDeviceGetUuid_v2(call: &Call<'_>, uuid: *mut CUuuid, dev: CUdevice) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract; simulated devices have no MIG instances.
    unsafe { cuDeviceGetUuid(call, uuid, dev) }
}

pub(super) unsafe fn cuDeviceTotalMem_v2(call: &Call<'_>, bytes: *mut usize, dev: CUdevice) -> Result<(), CUresult> {
    let capacity = call.lock().device(dev)?.arena.capacity;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(bytes, capacity as usize) }
}

pub(super) unsafe fn cuDeviceGetAttribute(
    call: &Call<'_>,
    pi: *mut c_int,
    attrib: CUdevice_attribute,
    dev: CUdevice,
) -> Result<(), CUresult> {
    present(pi)?;
    let physical = call.lock().device(dev)?.physical;
    let value = match &call.driver.config {
        Ok(config) => identity::attribute(config, physical, attrib),
        Err(_) => None,
    };
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pi, value.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?) }
}

pub(super) unsafe fn cuDeviceComputeCapability(
    call: &Call<'_>,
    major: *mut c_int,
    minor: *mut c_int,
    dev: CUdevice,
) -> Result<(), CUresult> {
    present(minor)?;
    call.lock().device(dev)?;
    let capability = call.driver.settings().compute_capability;
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe {
        put(major, capability.0 as c_int)?;
        put(minor, capability.1 as c_int)
    }
}

/// The PCI address in the driver's format.
fn pci_bus_id_text(physical: i32) -> String {
    format!("0000:{:02X}:00.0", identity::pci_bus(physical))
}

pub(super) unsafe fn cuDeviceGetPCIBusId(
    call: &Call<'_>,
    pci_bus_id: *mut c_char,
    len: c_int,
    dev: CUdevice,
) -> Result<(), CUresult> {
    let physical = call.lock().device(dev)?.physical;
    // SAFETY: the caller's buffer, by the driver's contract.
    unsafe { put_text(pci_bus_id, len, &pci_bus_id_text(physical)) }
}

pub(super) unsafe fn cuDeviceGetByPCIBusId(
    call: &Call<'_>,
    dev: *mut CUdevice,
    pci_bus_id: *const c_char,
) -> Result<(), CUresult> {
    present(dev)?;
    present(pci_bus_id)?;
    // SAFETY: a nul-terminated string, by the driver's contract.
    let wanted = unsafe { CStr::from_ptr(pci_bus_id) }.to_string_lossy().to_ascii_uppercase();
    let state = call.lock();
    // The PCI domain and function may be left out.
    let found = state.devices.iter().find(|device| {
        let whole = pci_bus_id_text(device.physical);
        wanted == whole || wanted == whole[5..] || wanted == whole[..10] || wanted == whole[5..10]
    });
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(dev, found.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)?.ordinal) }
}

pub(super) unsafe fn cuDeviceGetDefaultMemPool(
    call: &Call<'_>,
    pool_out: *mut CUmemoryPool,
    dev: CUdevice,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let device = state.device(dev)?.ordinal as usize;
    let pool = pools::of_place(&mut state, Place::of_device(device)).default;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pool_out, pool) }
}

pub(super) unsafe fn cuDeviceGetMemPool(
    call: &Call<'_>,
    pool: *mut CUmemoryPool,
    dev: CUdevice,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let device = state.device(dev)?.ordinal as usize;
    let current = pools::of_place(&mut state, Place::of_device(device)).current;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pool, current) }
}

pub(super) unsafe fn cuDeviceSetMemPool(call: &Call<'_>, dev: CUdevice, pool: CUmemoryPool) -> Result<(), CUresult> {
    let mut state = call.lock();
    let device = state.device(dev)?.ordinal as usize;
    pools::set_current(&mut state, Place::of_device(device), pool)
}

pub(super) unsafe fn cuDeviceCanAccessPeer(
    call: &Call<'_>,
    can_access_peer: *mut c_int,
    dev: CUdevice,
    peer_dev: CUdevice,
) -> Result<(), CUresult> {
    let state = call.lock();
    state.device(dev)?;
    state.device(peer_dev)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(can_access_peer, c_int::from(dev != peer_dev)) }
}

/// Checks the two ends of a link.
///
/// # Errors
/// `CUDA_ERROR_INVALID_DEVICE` for an unknown device, and for two equal ones.
fn check_pair(call: &Call<'_>, source: CUdevice, target: CUdevice) -> Result<(), CUresult> {
    let state = call.lock();
    state.device(source)?;
    state.device(target)?;
    if source == target { Err(CUresult::CUDA_ERROR_INVALID_DEVICE) } else { Ok(()) }
}

pub(super) unsafe fn cuDeviceGetP2PAttribute(
    call: &Call<'_>,
    value: *mut c_int,
    attrib: CUdevice_P2PAttribute,
    src_device: CUdevice,
    dst_device: CUdevice,
) -> Result<(), CUresult> {
    check_pair(call, src_device, dst_device)?;
    let result = match attrib {
        CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK => 0,
        CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED => 1,
        CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED | CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED => 0,
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(value, result) }
}

/// The form of CUDA 3.1 and earlier, with a size of 32 bits; a larger size is returned as the largest number.
pub(super) unsafe fn cuDeviceTotalMem(call: &Call<'_>, bytes: *mut c_uint, dev: CUdevice) -> Result<(), CUresult> {
    let capacity = call.lock().device(dev)?.arena.capacity;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(bytes, c_uint::try_from(capacity).unwrap_or(c_uint::MAX)) }
}

pub(super) unsafe fn cuDeviceGetTexture1DLinearMaxWidth(
    call: &Call<'_>,
    max_width_in_elements: *mut usize,
    format: CUarray_format,
    num_channels: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    present(max_width_in_elements)?;
    call.lock().device(dev)?;
    texel_size(format, num_channels)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(max_width_in_elements, LINEAR_WIDTH as usize) }
}

/// Reports no support, because contexts here always use the whole device.
pub(super) unsafe fn cuDeviceGetExecAffinitySupport(
    call: &Call<'_>,
    pi: *mut c_int,
    kind: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    call.lock().device(dev)?;
    if kind != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pi, 0) }
}

/// Identifies a device to graphics interfaces of Windows, which this system does not have.
pub(super) unsafe fn cuDeviceGetLuid(
    call: &Call<'_>,
    luid: *mut c_char,
    device_node_mask: *mut c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    present(luid)?;
    present(device_node_mask)?;
    call.lock().device(dev)?;
    unsupported()
}

/// The number of atomic operations, `CU_ATOMIC_OPERATION_MAX`.
const ATOMIC_OPERATIONS: c_uint = 13;

/// Writes that a link supports no atomic operation natively, as the attributes of the devices say.
///
/// # Safety
/// Both lists are null, or hold `count` elements.
unsafe fn no_atomics(capabilities: *mut c_uint, operations: *const c_uint, count: c_uint) -> Result<(), CUresult> {
    present(capabilities)?;
    present(operations)?;
    // SAFETY: by this function's contract; the lists may be unaligned.
    unsafe {
        let is_known = |index| operations.add(index).read_unaligned() < ATOMIC_OPERATIONS;
        if count == 0 || !(0..count as usize).all(is_known) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        (0..count as usize).try_for_each(|index| put(capabilities.add(index), 0))
    }
}

pub(super) unsafe fn cuDeviceGetHostAtomicCapabilities(
    call: &Call<'_>,
    capabilities: *mut c_uint,
    operations: *const c_uint,
    count: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    call.lock().device(dev)?;
    // SAFETY: the caller's lists, by the driver's contract.
    unsafe { no_atomics(capabilities, operations, count) }
}

pub(super) unsafe fn cuDeviceGetP2PAtomicCapabilities(
    call: &Call<'_>,
    capabilities: *mut c_uint,
    operations: *const c_uint,
    count: c_uint,
    src_device: CUdevice,
    dst_device: CUdevice,
) -> Result<(), CUresult> {
    check_pair(call, src_device, dst_device)?;
    // SAFETY: the caller's lists, by the driver's contract.
    unsafe { no_atomics(capabilities, operations, count) }
}

/// The properties of CUDA 1, which are attributes now.
pub(super) unsafe fn cuDeviceGetProperties(
    call: &Call<'_>,
    prop: *mut CUdevprop,
    dev: CUdevice,
) -> Result<(), CUresult> {
    present(prop)?;
    let physical = call.lock().device(dev)?.physical;
    let settings = call.driver.settings();
    let of = |attribute| identity::attribute(&settings, physical, attribute).unwrap_or_default();
    let properties = CUdevprop {
        maxThreadsPerBlock: of(1),
        maxThreadsDim: [of(2), of(3), of(4)],
        maxGridSize: [of(5), of(6), of(7)],
        sharedMemPerBlock: of(8),
        totalConstantMemory: of(9),
        SIMDWidth: of(10),
        memPitch: of(11),
        regsPerBlock: of(12),
        clockRate: of(13),
        textureAlign: of(14),
    };
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(prop, properties) }
}
