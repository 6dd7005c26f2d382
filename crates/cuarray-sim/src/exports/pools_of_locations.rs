//! The default and the current memory pool of a location.
//!
//! Driver API: [stream ordered memory
//! allocator](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html). The memory of devices, of the host
//! and of its NUMA node 0 have a pool each, and so has managed memory for each preferred location, and for none.

use super::*;
use crate::objects::pool::Place;
use crate::state::State;
use crate::work::pools;

/// The place that a location and a type of allocation mean.
///
/// # Errors
/// Those of [`pools::place`]; `CUDA_ERROR_INVALID_VALUE` for a null location.
///
/// # Safety
/// `location` is null or readable.
unsafe fn place(state: &State, location: *const CUmemLocation, kind: CUmemAllocationType) -> Result<Place, CUresult> {
    present(location)?;
    // SAFETY: by this function's contract; the location may be unaligned.
    pools::place(state, unsafe { location.read_unaligned() }, kind)
}

pub(super) unsafe fn cuMemGetDefaultMemPool(
    call: &Call<'_>,
    pool_out: *mut CUmemoryPool,
    location: *mut CUmemLocation,
    kind: CUmemAllocationType,
) -> Result<(), CUresult> {
    present(pool_out)?;
    let mut state = call.lock();
    // SAFETY: the caller's pointer, by the driver's contract.
    let place = unsafe { place(&state, location, kind)? };
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pool_out, pools::of_place(&mut state, place).default) }
}

pub(super) unsafe fn cuMemGetMemPool(
    call: &Call<'_>,
    pool: *mut CUmemoryPool,
    location: *mut CUmemLocation,
    kind: CUmemAllocationType,
) -> Result<(), CUresult> {
    present(pool)?;
    let mut state = call.lock();
    // SAFETY: the caller's pointer, by the driver's contract.
    let place = unsafe { place(&state, location, kind)? };
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pool, pools::of_place(&mut state, place).current) }
}

pub(super) unsafe fn cuMemSetMemPool(
    call: &Call<'_>,
    location: *mut CUmemLocation,
    kind: CUmemAllocationType,
    pool: CUmemoryPool,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    // SAFETY: the caller's pointer, by the driver's contract.
    let place = unsafe { place(&state, location, kind)? };
    pools::set_current(&mut state, place, pool)
}
