//! Devices.
//!
//! Driver API: [device management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html),
//! [peer access](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html).

use crate::config::identity;
use crate::config::textures::LINEAR_WIDTH;
use crate::driver::Call;
use crate::objects::array::texel_size;
use crate::objects::pool::Place;
use crate::parameters::{In, Out, Text, unsupported};
use crate::pool::accounting;
use cuarray_abi::*;
use std::ffi::{c_char, c_int, c_uint};

pub(crate) fn cuDeviceGet(call: &Call<'_>, device: Out<'_, CUdevice>, ordinal: c_int) -> Result<(), CUresult> {
    device.present()?;
    let ordinal = call.lock().device(ordinal)?.ordinal;
    device.put(ordinal)
}

pub(crate) fn cuDeviceGetCount(call: &Call<'_>, count: Out<'_, c_int>) -> Result<(), CUresult> {
    let devices = call.lock().devices.len() as c_int;
    count.put(devices)
}

/// Writes a string into a buffer whose length the program states, without the part that does not fit.
fn put_text(buffer: Out<'_, c_char>, length: c_int, text: &str) -> Result<(), CUresult> {
    let room = usize::try_from(length).unwrap_or(0);
    // SAFETY: by the manual, the buffer has this length.
    unsafe { buffer.put_text(text, room) }
}

pub(crate) fn cuDeviceGetName(
    call: &Call<'_>,
    name: Out<'_, c_char>,
    len: c_int,
    dev: CUdevice,
) -> Result<(), CUresult> {
    call.lock().device(dev)?;
    put_text(name, len, identity::NAME)
}

pub(crate) fn cuDeviceGetUuid(call: &Call<'_>, uuid: Out<'_, CUuuid>, dev: CUdevice) -> Result<(), CUresult> {
    let physical = call.lock().device(dev)?.physical;
    uuid.put(identity::uuid(physical))
}

pub(crate) fn cuDeviceGetUuid_v2(call: &Call<'_>, uuid: Out<'_, CUuuid>, dev: CUdevice) -> Result<(), CUresult> {
    cuDeviceGetUuid(call, uuid, dev)
}

pub(crate) fn cuDeviceTotalMem_v2(call: &Call<'_>, bytes: Out<'_, usize>, dev: CUdevice) -> Result<(), CUresult> {
    let capacity = call.lock().device(dev)?.arena.capacity;
    bytes.put(capacity as usize)
}

pub(crate) fn cuDeviceGetAttribute(
    call: &Call<'_>,
    pi: Out<'_, c_int>,
    attrib: CUdevice_attribute,
    dev: CUdevice,
) -> Result<(), CUresult> {
    pi.present()?;
    let physical = call.lock().device(dev)?.physical;
    let value = match &call.driver.config {
        Ok(config) => identity::attribute(config, physical, attrib),
        Err(_) => None,
    };
    pi.put(value.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?)
}

pub(crate) fn cuDeviceComputeCapability(
    call: &Call<'_>,
    major: Out<'_, c_int>,
    minor: Out<'_, c_int>,
    dev: CUdevice,
) -> Result<(), CUresult> {
    minor.present()?;
    call.lock().device(dev)?;
    let capability = call.driver.settings().compute_capability;
    major.put(capability.0 as c_int)?;
    minor.put(capability.1 as c_int)
}

/// The PCI address in the driver's format.
fn pci_bus_id_text(physical: i32) -> String {
    format!("0000:{:02X}:00.0", identity::pci_bus(physical))
}

pub(crate) fn cuDeviceGetPCIBusId(
    call: &Call<'_>,
    pci_bus_id: Out<'_, c_char>,
    len: c_int,
    dev: CUdevice,
) -> Result<(), CUresult> {
    let physical = call.lock().device(dev)?.physical;
    put_text(pci_bus_id, len, &pci_bus_id_text(physical))
}

pub(crate) fn cuDeviceGetByPCIBusId(
    call: &Call<'_>,
    dev: Out<'_, CUdevice>,
    pci_bus_id: Text<'_>,
) -> Result<(), CUresult> {
    dev.present()?;
    let wanted = pci_bus_id.name()?.to_ascii_uppercase();
    let state = call.lock();
    // The PCI domain and function may be left out.
    let found = state.devices.iter().find(|device| {
        let whole = pci_bus_id_text(device.physical);
        wanted == whole || wanted == whole[5..] || wanted == whole[..10] || wanted == whole[5..10]
    });
    dev.put(found.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)?.ordinal)
}

pub(crate) fn cuDeviceGetDefaultMemPool(
    call: &Call<'_>,
    pool_out: Out<'_, CUmemoryPool>,
    dev: CUdevice,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let device = state.device(dev)?.ordinal as usize;
    let pool = accounting::of_place(&mut state, Place::of_device(device)).default;
    pool_out.put(pool)
}

pub(crate) fn cuDeviceGetMemPool(call: &Call<'_>, pool: Out<'_, CUmemoryPool>, dev: CUdevice) -> Result<(), CUresult> {
    let mut state = call.lock();
    let device = state.device(dev)?.ordinal as usize;
    let current = accounting::of_place(&mut state, Place::of_device(device)).current;
    pool.put(current)
}

pub(crate) fn cuDeviceSetMemPool(call: &Call<'_>, dev: CUdevice, pool: CUmemoryPool) -> Result<(), CUresult> {
    let mut state = call.lock();
    let device = state.device(dev)?.ordinal as usize;
    accounting::set_current(&mut state, Place::of_device(device), pool)
}

pub(crate) fn cuDeviceCanAccessPeer(
    call: &Call<'_>,
    can_access_peer: Out<'_, c_int>,
    dev: CUdevice,
    peer_dev: CUdevice,
) -> Result<(), CUresult> {
    let state = call.lock();
    state.device(dev)?;
    state.device(peer_dev)?;
    can_access_peer.put(c_int::from(dev != peer_dev))
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

pub(crate) fn cuDeviceGetP2PAttribute(
    call: &Call<'_>,
    value: Out<'_, c_int>,
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
    value.put(result)
}

/// The form of CUDA 3.1 and earlier, with a size of 32 bits; a larger size is returned as the largest number.
pub(crate) fn cuDeviceTotalMem(call: &Call<'_>, bytes: Out<'_, c_uint>, dev: CUdevice) -> Result<(), CUresult> {
    let capacity = call.lock().device(dev)?.arena.capacity;
    bytes.put(c_uint::try_from(capacity).unwrap_or(c_uint::MAX))
}

pub(crate) fn cuDeviceGetTexture1DLinearMaxWidth(
    call: &Call<'_>,
    max_width_in_elements: Out<'_, usize>,
    format: CUarray_format,
    num_channels: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    max_width_in_elements.present()?;
    call.lock().device(dev)?;
    texel_size(format, num_channels)?;
    max_width_in_elements.put(LINEAR_WIDTH as usize)
}

/// Reports no support, because contexts here always use the whole device.
pub(crate) fn cuDeviceGetExecAffinitySupport(
    call: &Call<'_>,
    pi: Out<'_, c_int>,
    kind: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    call.lock().device(dev)?;
    if kind != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    pi.put(0)
}

/// Identifies a device to graphics interfaces of Windows, which this system does not have.
pub(crate) fn cuDeviceGetLuid(
    call: &Call<'_>,
    luid: Out<'_, c_char>,
    device_node_mask: Out<'_, c_uint>,
    dev: CUdevice,
) -> Result<(), CUresult> {
    luid.present()?;
    device_node_mask.present()?;
    call.lock().device(dev)?;
    unsupported()
}

/// The number of atomic operations, `CU_ATOMIC_OPERATION_MAX`.
const ATOMIC_OPERATIONS: c_uint = 13;

/// Writes that a link supports no atomic operation natively, as the attributes of the devices say.
fn no_atomics(capabilities: Out<'_, c_uint>, operations: In<'_, c_uint>, count: c_uint) -> Result<(), CUresult> {
    capabilities.present()?;
    operations.present()?;
    let count = count as usize;
    // SAFETY: the manual gives both lists this length.
    let operations = unsafe { operations.list(count)? };
    if operations.is_empty() || !operations.iter().all(|operation| *operation < ATOMIC_OPERATIONS) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: as above.
    unsafe { capabilities.put_all(std::iter::repeat_n(0, count)) }
}

pub(crate) fn cuDeviceGetHostAtomicCapabilities(
    call: &Call<'_>,
    capabilities: Out<'_, c_uint>,
    operations: In<'_, c_uint>,
    count: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    call.lock().device(dev)?;
    no_atomics(capabilities, operations, count)
}

pub(crate) fn cuDeviceGetP2PAtomicCapabilities(
    call: &Call<'_>,
    capabilities: Out<'_, c_uint>,
    operations: In<'_, c_uint>,
    count: c_uint,
    src_device: CUdevice,
    dst_device: CUdevice,
) -> Result<(), CUresult> {
    check_pair(call, src_device, dst_device)?;
    no_atomics(capabilities, operations, count)
}

/// The properties of CUDA 1, which are attributes now.
pub(crate) fn cuDeviceGetProperties(call: &Call<'_>, prop: Out<'_, CUdevprop>, dev: CUdevice) -> Result<(), CUresult> {
    prop.present()?;
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
    prop.put(properties)
}
