//! The launch interface that preceded `cuLaunchKernel`. Old programs and PyCUDA use it.
//!
//! Driver API: [execution control,
//! deprecated](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC__DEPRECATED.html). A function stores
//! block shape, shared memory and argument bytes between calls; the launch itself is an ordinary launch.

use crate::driver::Call;
use crate::launch::exports::{self as execution, Arguments, PARAM_BUFFER_POINTER, PARAM_BUFFER_SIZE, PARAM_END, Shape};
use crate::objects::code::NextLaunch;
use crate::parameters::In;
use cuarray_abi::*;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The maximum size of a kernel's parameters in bytes.
const MAX_PARAMETER_BYTES: usize = 4096;

fn change(
    call: &Call<'_>,
    handle: CUfunction,
    change: impl FnOnce(&mut NextLaunch) -> Result<(), CUresult>,
) -> Result<(), CUresult> {
    let (mut state, _) = call.current()?;
    let function = state.code.functions.get_mut(&handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    change(&mut function.next)
}

/// Writes bytes to the stored arguments of a function.
fn set(call: &Call<'_>, handle: CUfunction, offset: c_int, bytes: &[u8]) -> Result<(), CUresult> {
    let start = usize::try_from(offset).map_err(|_| INVALID_VALUE)?;
    let end = start.checked_add(bytes.len()).filter(|end| *end <= MAX_PARAMETER_BYTES).ok_or(INVALID_VALUE)?;
    change(call, handle, |next| {
        if next.arguments.len() < end {
            next.arguments.resize(end, 0);
        }
        next.arguments[start..end].copy_from_slice(bytes);
        Ok(())
    })
}

pub(crate) fn cuFuncSetBlockShape(
    call: &Call<'_>,
    hfunc: CUfunction,
    x: c_int,
    y: c_int,
    z: c_int,
) -> Result<(), CUresult> {
    let most = call.current()?.0.code.resolve(hfunc)?.max_threads();
    let threads = [x, y, z].map(|extent| u32::try_from(extent).unwrap_or(0));
    let product = threads.iter().try_fold(1_u32, |product, extent| product.checked_mul(*extent));
    if product.is_none_or(|product| product == 0 || product > most) || threads[2] > 64 {
        return Err(INVALID_VALUE);
    }
    change(call, hfunc, |next| {
        next.threads = threads;
        Ok(())
    })
}

pub(crate) fn cuFuncSetSharedSize(call: &Call<'_>, hfunc: CUfunction, bytes: c_uint) -> Result<(), CUresult> {
    let most = execution::dynamic_shared(&call.current()?.0.code.resolve(hfunc)?);
    if bytes > most {
        return Err(INVALID_VALUE);
    }
    change(call, hfunc, |next| {
        next.shared = bytes;
        Ok(())
    })
}

pub(crate) fn cuParamSetSize(call: &Call<'_>, hfunc: CUfunction, numbytes: c_uint) -> Result<(), CUresult> {
    if numbytes as usize > MAX_PARAMETER_BYTES {
        return Err(INVALID_VALUE);
    }
    change(call, hfunc, |next| {
        next.arguments.resize(numbytes as usize, 0);
        Ok(())
    })
}

pub(crate) fn cuParamSeti(call: &Call<'_>, hfunc: CUfunction, offset: c_int, value: c_uint) -> Result<(), CUresult> {
    set(call, hfunc, offset, &value.to_ne_bytes())
}

pub(crate) fn cuParamSetf(call: &Call<'_>, hfunc: CUfunction, offset: c_int, value: f32) -> Result<(), CUresult> {
    set(call, hfunc, offset, &value.to_ne_bytes())
}

/// Checks the arguments and changes nothing: a kernel reads the references of its module in any case.
pub(crate) fn cuParamSetTexRef(
    call: &Call<'_>,
    hfunc: CUfunction,
    texunit: c_int,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let (state, _) = call.current()?;
    let known = state.textures.references.get(&tex_ref).is_some_and(|reference| reference.variable.is_some());
    if texunit != CU_PARAM_TR_DEFAULT || !known || !state.code.functions.contains_key(&hfunc) {
        return Err(INVALID_VALUE);
    }
    Ok(())
}

pub(crate) fn cuParamSetv(
    call: &Call<'_>,
    hfunc: CUfunction,
    offset: c_int,
    ptr: In<'_, c_void>,
    numbytes: c_uint,
) -> Result<(), CUresult> {
    ptr.present()?;
    if numbytes as usize > MAX_PARAMETER_BYTES {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the manual gives the buffer this length.
    let bytes = unsafe { ptr.cast::<u8>().list(numbytes as usize)? };
    set(call, hfunc, offset, &bytes)
}

pub(crate) fn cuLaunch(call: &Call<'_>, f: CUfunction) -> Result<(), CUresult> {
    cuLaunchGridAsync(call, f, 1, 1, CUstream::NULL)
}

pub(crate) fn cuLaunchGrid(
    call: &Call<'_>,
    f: CUfunction,
    grid_width: c_int,
    grid_height: c_int,
) -> Result<(), CUresult> {
    cuLaunchGridAsync(call, f, grid_width, grid_height, CUstream::NULL)
}

pub(crate) fn cuLaunchGridAsync(
    call: &Call<'_>,
    f: CUfunction,
    grid_width: c_int,
    grid_height: c_int,
    stream: CUstream,
) -> Result<(), CUresult> {
    let next =
        call.current_for(stream)?.0.code.functions.get(&f).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?.next.clone();
    let [width, height] = [grid_width, grid_height].map(|extent| u32::try_from(extent).unwrap_or(0));
    let shape = Shape { grid: [width, height, 1], threads: next.threads, shared: next.shared, ..Shape::default() };
    let mut bytes = next.arguments;
    let mut size = bytes.len();
    let word = |number: usize| ptr::without_provenance_mut::<c_void>(number);
    let mut extra = [
        word(PARAM_BUFFER_POINTER),
        bytes.as_mut_ptr().cast(),
        word(PARAM_BUFFER_SIZE),
        (&raw mut size).cast(),
        word(PARAM_END),
    ];
    // SAFETY: the list is terminated, and has the buffer of the function's arguments with its size.
    let arguments = unsafe { Arguments::of(ptr::null_mut(), extra.as_mut_ptr()) };
    execution::launch(call, f, &shape, stream, arguments)
}
