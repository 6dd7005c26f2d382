//! Pointer attributes, and hints for managed memory.
//!
//! Driver API: [unified addressing](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__UNIFIED.html). For an
//! unknown address the query of one attribute fails, and the query of several returns zeros. Only the query of the device
//! pointer needs a current context.

use crate::driver::Call;
use crate::memory::allocations;
use crate::objects::allocation::{Advice, Allocation, Declared, Kind, Mapping};
use crate::parameters::{In, Out, Received};
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::finding::AccessKind;
use std::ffi::{c_uint, c_void};

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// An attribute's value, of the width that it has in memory.
enum Value {
    Bool(bool),
    Int(i32),
    Unsigned(u32),
    Word(u64),
}

impl Value {
    /// The zero of an attribute's type; `None` for an unknown attribute.
    fn zero(attribute: CUpointer_attribute) -> Option<Value> {
        Some(match attribute {
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE | CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => Value::Unsigned(0),
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Int(CU_DEVICE_INVALID),
            CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
            | CU_POINTER_ATTRIBUTE_IS_MANAGED
            | CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
            | CU_POINTER_ATTRIBUTE_MAPPED
            | CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
            | CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Value::Bool(false),
            1..=20 => Value::Word(0),
            _ => return None,
        })
    }

    /// Writes the value.
    ///
    /// # Safety
    /// The place has the type of the attribute.
    unsafe fn put(self, data: Out<'_, c_void>) -> Result<(), CUresult> {
        // SAFETY: this function's contract.
        unsafe {
            match self {
                Value::Bool(value) => data.cast().put(u8::from(value)),
                Value::Int(value) => data.cast().put(value),
                Value::Unsigned(value) => data.cast().put(value),
                Value::Word(value) => data.cast().put(value),
            }
        }
    }
}

/// The calling thread's current context, which may have ended; for a green context, the primary context.
fn current(state: &State, call: &Call<'_>) -> Option<CUcontext> {
    let top = call.top_context().filter(|handle| !handle.is_null())?;
    Some(state.scope(top).map_or(top, |scope| scope.context))
}

/// An attribute of an address within an allocation, for a thread's current context.
fn attribute(
    state: &State,
    current: Option<CUcontext>,
    allocation: &Allocation,
    attribute: CUpointer_attribute,
    ptr: CUdeviceptr,
) -> Result<Value, CUresult> {
    let access = current.map(|current| allocations::kernel_access(state, current, allocation));
    let on_device = allocation.kind.on_device();
    let mapping = match &allocation.kind {
        Kind::Mapped(mapping) => Some(mapping),
        _ => None,
    };
    let reservation = mapping.and_then(|mapping| state.reservations.get(&mapping.reservation));
    let managed = allocation.kind.is_managed();
    let value = match attribute {
        CU_POINTER_ATTRIBUTE_CONTEXT => Value::Word(allocation.context.0 as u64),
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE if on_device || managed => Value::Unsigned(CU_MEMORYTYPE_DEVICE),
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE => Value::Unsigned(CU_MEMORYTYPE_HOST),
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER if access.is_none_or(|access| access == CU_MEM_ACCESS_FLAGS_PROT_NONE) => {
            return Err(INVALID_VALUE);
        }
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER => Value::Word(ptr),
        CU_POINTER_ATTRIBUTE_HOST_POINTER if on_device || mapping.is_some_and(is_closed_to_host) => {
            return Err(INVALID_VALUE);
        }
        CU_POINTER_ATTRIBUTE_HOST_POINTER => Value::Word(ptr),
        // Tokens for peer access by third-party kernel modules, which the simulator cannot support.
        CU_POINTER_ATTRIBUTE_P2P_TOKENS => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => Value::Bool(allocation.sync_memops),
        CU_POINTER_ATTRIBUTE_BUFFER_ID => Value::Word(allocation.id),
        CU_POINTER_ATTRIBUTE_IS_MANAGED => Value::Bool(managed),
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL if mapping.is_some_and(|mapping| mapping.on_host) => {
            Value::Int(CU_DEVICE_CPU)
        }
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Int(allocation.device as i32),
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => Value::Bool(matches!(allocation.kind, Kind::Device)),
        // By the manual, this is the range of `cuMemAddressReserve`, not the mapping.
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => {
            Value::Word(reservation.map_or(allocation.address, |reservation| reservation.address))
        }
        CU_POINTER_ATTRIBUTE_RANGE_SIZE => {
            Value::Word(reservation.map_or(allocation.size, |reservation| reservation.size))
        }
        CU_POINTER_ATTRIBUTE_MAPPED => Value::Bool(true),
        CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => {
            let physical = mapping.and_then(|mapping| state.physical.get(&mapping.handle));
            Value::Word(physical.map_or(0, |physical| physical.backing.label.handle_types.into()))
        }
        CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE => Value::Bool(false),
        CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => Value::Unsigned(access.unwrap_or(CU_MEM_ACCESS_FLAGS_PROT_NONE)),
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => Value::Word(allocation.kind.pool().map_or(0, |pool| pool.0 as u64)),
        CU_POINTER_ATTRIBUTE_MAPPING_SIZE => Value::Word(allocation.size),
        CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => Value::Word(allocation.address),
        CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => Value::Word(allocation.id),
        CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Value::Bool(false),
        _ => return Err(INVALID_VALUE),
    };
    Ok(value)
}

fn is_closed_to_host(mapping: &Mapping) -> bool {
    mapping.host_access == CU_MEM_ACCESS_FLAGS_PROT_NONE
}

/// An attribute of an address that is reserved and not mapped.
fn reserved_attribute(state: &State, attribute: CUpointer_attribute, ptr: CUdeviceptr) -> Result<Value, CUresult> {
    let reservation = state.reservation_of(ptr).ok_or(INVALID_VALUE)?;
    match attribute {
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => Ok(Value::Word(reservation.address)),
        CU_POINTER_ATTRIBUTE_RANGE_SIZE => Ok(Value::Word(reservation.size)),
        CU_POINTER_ATTRIBUTE_MAPPED => Ok(Value::Bool(false)),
        _ => Err(INVALID_VALUE),
    }
}

pub(crate) fn cuPointerGetAttribute(
    call: &Call<'_>,
    data: Out<'_, c_void>,
    attribute: CUpointer_attribute,
    ptr: CUdeviceptr,
) -> Result<(), CUresult> {
    let state = call.lock();
    let current = current(&state, call);
    if attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER && current.is_none() {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    let value = match state.memory.visible(ptr) {
        Some(allocation) => self::attribute(&state, current, allocation, attribute, ptr)?,
        None => reserved_attribute(&state, attribute, ptr)?,
    };
    // SAFETY: by the manual, the place has the attribute's type.
    unsafe { value.put(data) }
}

pub(crate) fn cuPointerGetAttributes(
    call: &Call<'_>,
    num_attributes: c_uint,
    attributes: In<'_, CUpointer_attribute>,
    data: In<'_, *mut c_void>,
    ptr: CUdeviceptr,
) -> Result<(), CUresult> {
    if num_attributes == 0 {
        return Err(INVALID_VALUE);
    }
    attributes.present()?;
    data.present()?;
    let state = call.lock();
    let current = current(&state, call);
    let allocation = state.memory.visible(ptr);
    let count = num_attributes as usize;
    // SAFETY: the manual gives both lists this length.
    let (attributes, places) = unsafe { (attributes.list(count)?, data.list(count)?) };
    for (attribute, data) in attributes.into_iter().zip(places) {
        let zero = Value::zero(attribute).ok_or(INVALID_VALUE)?;
        let value = match allocation {
            Some(allocation) => self::attribute(&state, current, allocation, attribute, ptr),
            None => reserved_attribute(&state, attribute, ptr),
        };
        let value = value.unwrap_or(zero);
        // SAFETY: by the manual, each place of the list has the attribute's type.
        unsafe { value.put(Out::received(data))? };
    }
    Ok(())
}

pub(crate) fn cuPointerSetAttribute(
    call: &Call<'_>,
    value: In<'_, c_void>,
    attribute: CUpointer_attribute,
    ptr: CUdeviceptr,
) -> Result<(), CUresult> {
    value.present()?;
    if attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
        return Err(INVALID_VALUE);
    }
    let mut state = call.lock();
    let may_be_set = |kind: &Kind| (kind.on_device() || kind.is_managed()) && !matches!(kind, Kind::Array);
    let allocation = state.memory.find_mut(ptr).filter(|allocation| may_be_set(&allocation.kind));
    // SAFETY: by the manual, the value is an unsigned int.
    allocation.ok_or(INVALID_VALUE)?.sync_memops = unsafe { value.cast::<c_uint>() }.read()? != 0;
    Ok(())
}

/// A range of managed memory.
pub(crate) fn managed(state: &mut State, address: u64, count: usize) -> Result<&mut Allocation, CUresult> {
    let allocation = state.memory.find_mut(address).ok_or(INVALID_VALUE)?;
    let fits = count > 0 && count as u64 <= allocation.size - (address - allocation.address);
    let managed = allocation.kind.is_managed();
    (fits && managed).then_some(allocation).ok_or(INVALID_VALUE)
}

/// A range that can migrate: of managed memory, or `None` for pageable memory that devices access.
pub(crate) fn migratable(state: &mut State, address: u64, count: usize) -> Result<Option<&mut Allocation>, CUresult> {
    if state.pageable_memory && count > 0 && state.memory.holding(address).is_none() {
        return allocations::side(state, address, count as u64, Declared::Unified, AccessKind::Read).map(|_| None);
    }
    managed(state, address, count).map(Some)
}

/// The location of a range: of managed memory that of the last prefetch, and the host without one; of the program's own memory
/// the host.
pub(crate) fn locations(state: &State, address: u64, count: usize) -> Result<CUmemLocation, CUresult> {
    let host = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_HOST, id: 0 };
    let Some(allocation) = state.memory.find(address) else {
        allocations::side(state, address, count as u64, Declared::Unified, AccessKind::Read)?;
        return Ok(host);
    };
    let fits = count as u64 <= allocation.size - (address - allocation.address);
    if !fits || !allocation.kind.is_managed() {
        return Err(INVALID_VALUE);
    }
    Ok(allocation.advice.prefetched.unwrap_or(host))
}

/// The values of an attribute of a range of managed memory, for a buffer of `size` bytes.
fn range_attribute(advice: &Advice, attribute: CUmem_range_attribute, size: usize) -> Result<Vec<i32>, CUresult> {
    let (words, single) = (size / 4, size == 4);
    let value = match attribute {
        CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY if words > 0 && size.is_multiple_of(4) => {
            let mut places = advice.accessed_by.clone();
            // The host follows the devices, by the tests of cuda.bindings.
            places.sort_unstable_by_key(|place| (*place == CU_DEVICE_CPU, *place));
            places.resize(words, CU_DEVICE_INVALID);
            return Ok(places);
        }
        CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY if single => i32::from(advice.read_mostly),
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION if single => device_of(advice.preferred),
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION if single => device_of(advice.prefetched),
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE if single => kind_of(advice.preferred),
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE if single => kind_of(advice.prefetched),
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID if single => id_of(advice.preferred),
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID if single => id_of(advice.prefetched),
        _ => return Err(INVALID_VALUE),
    };
    Ok(vec![value])
}

/// A location as a device ordinal.
fn device_of(location: Option<CUmemLocation>) -> CUdevice {
    match location {
        None => CU_DEVICE_INVALID,
        Some(CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id }) => id,
        Some(_) => CU_DEVICE_CPU,
    }
}

fn kind_of(location: Option<CUmemLocation>) -> i32 {
    location.map_or(CU_MEM_LOCATION_TYPE_INVALID, |location| location.kind) as i32
}

fn id_of(location: Option<CUmemLocation>) -> i32 {
    location.map_or(CU_DEVICE_INVALID, |location| location.id)
}

/// Returns advice. Advice always applies to the whole allocation.
pub(crate) fn cuMemRangeGetAttribute(
    call: &Call<'_>,
    data: Out<'_, c_void>,
    data_size: usize,
    attribute: CUmem_range_attribute,
    dev_ptr: CUdeviceptr,
    count: usize,
) -> Result<(), CUresult> {
    data.present()?;
    let mut state = call.lock();
    let values = range_attribute(&managed(&mut state, dev_ptr, count)?.advice, attribute, data_size)?;
    // SAFETY: by the manual, the buffer has `data_size` bytes, and so room for these values.
    unsafe { data.cast::<i32>().put_all(values) }
}

pub(crate) fn cuMemRangeGetAttributes(
    call: &Call<'_>,
    data: In<'_, *mut c_void>,
    data_sizes: In<'_, usize>,
    attributes: In<'_, CUmem_range_attribute>,
    num_attributes: usize,
    dev_ptr: CUdeviceptr,
    count: usize,
) -> Result<(), CUresult> {
    data.present()?;
    data_sizes.present()?;
    attributes.present()?;
    if num_attributes == 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the manual gives the three lists this length.
    let (data, sizes) = unsafe { (data.list(num_attributes)?, data_sizes.list(num_attributes)?) };
    // SAFETY: as above.
    let attributes = unsafe { attributes.list(num_attributes)? };
    for ((data, size), attribute) in data.into_iter().zip(sizes).zip(attributes) {
        // SAFETY: by the manual, each place of the list is a buffer of its size.
        let data = unsafe { Out::received(data) };
        cuMemRangeGetAttribute(call, data, size, attribute, dev_ptr, count)?;
    }
    Ok(())
}

/// The location that a device ordinal of an older form of a call means.
pub(crate) fn location_of(state: &State, device: CUdevice) -> Result<CUmemLocation, CUresult> {
    if device == CU_DEVICE_CPU {
        return Ok(CUmemLocation { kind: CU_MEM_LOCATION_TYPE_HOST, id: 0 });
    }
    Ok(CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: state.device(device)?.ordinal })
}

/// Checks a location. The current node of the host becomes node 0.
pub(crate) fn checked(state: &State, location: CUmemLocation) -> Result<CUmemLocation, CUresult> {
    match location.kind {
        CU_MEM_LOCATION_TYPE_DEVICE => state.device(location.id).map(|_| location),
        CU_MEM_LOCATION_TYPE_HOST | CU_MEM_LOCATION_TYPE_HOST_NUMA => Ok(location),
        CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Ok(CUmemLocation { kind: CU_MEM_LOCATION_TYPE_HOST_NUMA, id: 0 }),
        _ => Err(INVALID_VALUE),
    }
}

/// Whether advice names a location.
fn names_location(advice: CUmem_advise) -> bool {
    matches!(
        advice,
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION | CU_MEM_ADVISE_SET_ACCESSED_BY | CU_MEM_ADVISE_UNSET_ACCESSED_BY
    )
}

fn advise(
    state: &mut State,
    dev_ptr: CUdeviceptr,
    count: usize,
    advice: CUmem_advise,
    location: Option<CUmemLocation>,
) -> Result<(), CUresult> {
    let device = device_of(location);
    // No query returns the advice of pageable memory, by the manual.
    let mut unseen = Advice::default();
    let kept = migratable(state, dev_ptr, count)?.map_or(&mut unseen, |allocation| &mut allocation.advice);
    match advice {
        CU_MEM_ADVISE_SET_READ_MOSTLY => kept.read_mostly = true,
        CU_MEM_ADVISE_UNSET_READ_MOSTLY => kept.read_mostly = false,
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION => kept.preferred = location,
        CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => kept.preferred = None,
        CU_MEM_ADVISE_SET_ACCESSED_BY if !kept.accessed_by.contains(&device) => kept.accessed_by.push(device),
        CU_MEM_ADVISE_SET_ACCESSED_BY => {}
        CU_MEM_ADVISE_UNSET_ACCESSED_BY => kept.accessed_by.retain(|other| *other != device),
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}

pub(crate) fn cuMemAdvise(
    call: &Call<'_>,
    dev_ptr: CUdeviceptr,
    count: usize,
    advice: CUmem_advise,
    device: CUdevice,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let location = names_location(advice).then(|| location_of(&state, device)).transpose()?;
    advise(&mut state, dev_ptr, count, advice, location)
}

pub(crate) fn cuMemAdvise_v2(
    call: &Call<'_>,
    dev_ptr: CUdeviceptr,
    count: usize,
    advice: CUmem_advise,
    location: CUmemLocation,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let location = names_location(advice).then(|| checked(&state, location)).transpose()?;
    advise(&mut state, dev_ptr, count, advice, location)
}
