//! The default and the current memory pool of a location.
//!
//! Driver API: [stream ordered memory
//! allocator](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html). The memory of devices, of the host
//! and of its NUMA node 0 have a pool each, and so has managed memory for each preferred location, and for none.

use crate::driver::Call;
use crate::memory::places;
use crate::objects::pool::Place;
use crate::parameters::{In, Out};
use crate::pool::accounting;
use crate::state::State;
use cuarray_abi::*;

/// The place that a location and a type of allocation mean.
///
/// # Errors
/// Those of [`places::place`]; `CUDA_ERROR_INVALID_VALUE` for a null location.
fn place(state: &State, location: In<'_, CUmemLocation>, kind: CUmemAllocationType) -> Result<Place, CUresult> {
    places::place(state, location.read()?, kind)
}

pub(crate) fn cuMemGetDefaultMemPool(
    call: &Call<'_>,
    pool_out: Out<'_, CUmemoryPool>,
    location: In<'_, CUmemLocation>,
    kind: CUmemAllocationType,
) -> Result<(), CUresult> {
    pool_out.present()?;
    let mut state = call.lock();
    let place = place(&state, location, kind)?;
    pool_out.put(accounting::of_place(&mut state, place).default)
}

pub(crate) fn cuMemGetMemPool(
    call: &Call<'_>,
    pool: Out<'_, CUmemoryPool>,
    location: In<'_, CUmemLocation>,
    kind: CUmemAllocationType,
) -> Result<(), CUresult> {
    pool.present()?;
    let mut state = call.lock();
    let place = place(&state, location, kind)?;
    pool.put(accounting::of_place(&mut state, place).current)
}

pub(crate) fn cuMemSetMemPool(
    call: &Call<'_>,
    location: In<'_, CUmemLocation>,
    kind: CUmemAllocationType,
    pool: CUmemoryPool,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let place = place(&state, location, kind)?;
    accounting::set_current(&mut state, place, pool)
}
