//! The place of memory that a program means.

use crate::objects::pool::Place;
use crate::state::State;
use cuarray_abi::*;

/// The place that a program means by a location and a type of allocation. The host has one NUMA node, with number 0.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an unknown type, and a location that has no pools of this type;
/// `CUDA_ERROR_INVALID_DEVICE`; `CUDA_ERROR_NOT_SUPPORTED` for a part of a device's memory.
pub(crate) fn place(state: &State, location: CUmemLocation, kind: CUmemAllocationType) -> Result<Place, CUresult> {
    let managed = match kind {
        CU_MEM_ALLOCATION_TYPE_PINNED => false,
        CU_MEM_ALLOCATION_TYPE_MANAGED => true,
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    let id = match location.kind {
        CU_MEM_LOCATION_TYPE_DEVICE => state.device(location.id)?.ordinal,
        CU_MEM_LOCATION_TYPE_HOST => 0,
        CU_MEM_LOCATION_TYPE_HOST_NUMA if location.id == 0 => 0,
        CU_MEM_LOCATION_TYPE_NONE if managed => 0,
        CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN if !managed => {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    Ok(Place { managed, location: CUmemLocation { kind: location.kind, id } })
}
