//! Functions, launches and occupancy: no code is ever loaded, so no function handle is valid.
//!
//! Driver API: [execution control](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html),
//! [occupancy](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__OCCUPANCY.html).

use super::*;

const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

pub(super) unsafe fn cuFuncGetAttribute(
    _: &Call<'_>,
    pi: *mut c_int,
    _attrib: CUfunction_attribute,
    _hfunc: CUfunction,
) -> Answer {
    present(pi)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuFuncSetAttribute(
    _: &Call<'_>,
    _hfunc: CUfunction,
    _attrib: CUfunction_attribute,
    _value: c_int,
) -> Answer {
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuFuncSetCacheConfig(_: &Call<'_>, _hfunc: CUfunction, _config: CUfunc_cache) -> Answer {
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuFuncGetModule(_: &Call<'_>, hmod: *mut CUmodule, _hfunc: CUfunction) -> Answer {
    present(hmod)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuFuncGetName(_: &Call<'_>, name: *mut *const c_char, _hfunc: CUfunction) -> Answer {
    present(name)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuLaunchKernel(
    call: &Call<'_>,
    _f: CUfunction,
    _grid_dim_x: c_uint,
    _grid_dim_y: c_uint,
    _grid_dim_z: c_uint,
    _block_dim_x: c_uint,
    _block_dim_y: c_uint,
    _block_dim_z: c_uint,
    _shared_mem_bytes: c_uint,
    stream: CUstream,
    _kernel_params: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> Answer {
    drop(super::stream::stream(call, stream)?);
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuLaunchKernelEx(
    _: &Call<'_>,
    config: *const CUlaunchConfig,
    _f: CUfunction,
    _kernel_params: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> Answer {
    present(config)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuLaunchCooperativeKernel(
    call: &Call<'_>,
    _f: CUfunction,
    _grid_dim_x: c_uint,
    _grid_dim_y: c_uint,
    _grid_dim_z: c_uint,
    _block_dim_x: c_uint,
    _block_dim_y: c_uint,
    _block_dim_z: c_uint,
    _shared_mem_bytes: c_uint,
    stream: CUstream,
    _kernel_params: *mut *mut c_void,
) -> Answer {
    drop(super::stream::stream(call, stream)?);
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    _: &Call<'_>,
    num_blocks: *mut c_int,
    _func: CUfunction,
    _block_size: c_int,
    _dynamic_smem_size: usize,
) -> Answer {
    present(num_blocks)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    _: &Call<'_>,
    num_blocks: *mut c_int,
    _func: CUfunction,
    _block_size: c_int,
    _dynamic_smem_size: usize,
    _flags: c_uint,
) -> Answer {
    present(num_blocks)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuOccupancyMaxPotentialBlockSize(
    _: &Call<'_>,
    min_grid_size: *mut c_int,
    block_size: *mut c_int,
    _func: CUfunction,
    _block_size_to_dynamic_smem_size: CUoccupancyB2DSize,
    _dynamic_smem_size: usize,
    _block_size_limit: c_int,
) -> Answer {
    present(min_grid_size)?;
    present(block_size)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    _: &Call<'_>,
    min_grid_size: *mut c_int,
    block_size: *mut c_int,
    _func: CUfunction,
    _block_size_to_dynamic_smem_size: CUoccupancyB2DSize,
    _dynamic_smem_size: usize,
    _block_size_limit: c_int,
    _flags: c_uint,
) -> Answer {
    present(min_grid_size)?;
    present(block_size)?;
    Err(INVALID_HANDLE)
}
