//! Modules and links: no code runs here, and what comes is refused by name.
//!
//! Driver API: [module management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html). Machine code is for a GPU that is not
//! there (`CUDA_ERROR_NO_BINARY_FOR_GPU`); PTX would need a compiler that this driver has not
//! (`CUDA_ERROR_JIT_COMPILER_NOT_FOUND`); anything else is no image (`CUDA_ERROR_INVALID_IMAGE`). A line on standard error says so once.

use super::*;
use std::ffi::CStr;
use std::fs::File;
use std::io::Read as _;

/// What every image is recognised by.
const MAGIC: usize = 4;

/// Why an image that starts with these bytes is refused.
pub(super) fn refuse_image(call: &Call<'_>, start: &[u8]) -> CUresult {
    let machine_code = start == b"\x7fELF"
        || [0xba55_ed50_u32, 0x4662_43b1].iter().any(|magic| start == magic.to_le_bytes())
        || start == b"!<ar";
    if machine_code {
        call.driver.explain("machine code (a cubin or a fat binary) was refused: no GPU is here to run it");
        return CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    // PTX is text: comments, or `.version` at once.
    let text = !start.is_empty() && start.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    if text {
        call.driver.explain("PTX was refused: this simulated driver copies and orders, but executes no kernels");
        return CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    }
    CUresult::CUDA_ERROR_INVALID_IMAGE
}

/// The first bytes of an image in memory, of which only its start is known to be readable.
///
/// # Safety
/// `image` is null or an image: machine code, or text that ends in a nul.
pub(super) unsafe fn start_of<'a>(image: *const c_void) -> Result<&'a [u8], CUresult> {
    present(image)?;
    let bytes = image.cast::<u8>();
    // SAFETY: each byte is read only if the one before it was not the nul that ends a text; an image of machine code
    // is longer than its magic number. Host memory that the program owns while its call lasts.
    let length = (0..MAGIC).take_while(|index| unsafe { bytes.add(*index).read() } != 0).count();
    // SAFETY: as many bytes have just been read.
    Ok(unsafe { std::slice::from_raw_parts(bytes, length) })
}

/// Why the image in a file is refused.
pub(super) unsafe fn refuse_file(call: &Call<'_>, path: *const c_char) -> Answer {
    present(path)?;
    // SAFETY: a nul-terminated string, by the driver's contract.
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
    let mut file = File::open(&*path).map_err(|_| CUresult::CUDA_ERROR_FILE_NOT_FOUND)?;
    let mut start = [0; MAGIC];
    let length = file.read(&mut start).map_err(|_| CUresult::CUDA_ERROR_FILE_NOT_FOUND)?;
    Err(refuse_image(call, &start[..length]))
}

pub(super) unsafe fn cuModuleLoad(call: &Call<'_>, module: *mut CUmodule, fname: *const c_char) -> Answer {
    present(module)?;
    drop(call.current()?);
    // SAFETY: the caller's string, by the driver's contract.
    unsafe { refuse_file(call, fname) }
}

pub(super) unsafe fn cuModuleLoadData(call: &Call<'_>, module: *mut CUmodule, image: *const c_void) -> Answer {
    present(module)?;
    drop(call.current()?);
    // SAFETY: the caller's image, by the driver's contract.
    Err(refuse_image(call, unsafe { start_of(image)? }))
}

pub(super) unsafe fn cuModuleLoadDataEx(
    call: &Call<'_>,
    module: *mut CUmodule,
    image: *const c_void,
    _num_options: c_uint,
    _options: *mut CUjit_option,
    _option_values: *mut *mut c_void,
) -> Answer {
    // SAFETY: the same contract.
    unsafe { cuModuleLoadData(call, module, image) }
}

pub(super) unsafe fn cuModuleLoadFatBinary(call: &Call<'_>, module: *mut CUmodule, fat_cubin: *const c_void) -> Answer {
    // SAFETY: the same contract.
    unsafe { cuModuleLoadData(call, module, fat_cubin) }
}

pub(super) unsafe fn cuModuleUnload(_: &Call<'_>, _hmod: CUmodule) -> Answer {
    Err(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

pub(super) unsafe fn cuModuleGetFunction(
    _: &Call<'_>,
    hfunc: *mut CUfunction,
    _hmod: CUmodule,
    name: *const c_char,
) -> Answer {
    present(hfunc)?;
    present(name)?;
    Err(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

pub(super) unsafe fn cuModuleGetGlobal_v2(
    _: &Call<'_>,
    _dptr: *mut CUdeviceptr,
    _bytes: *mut usize,
    _hmod: CUmodule,
    name: *const c_char,
) -> Answer {
    present(name)?;
    Err(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

pub(super) unsafe fn cuModuleGetLoadingMode(_: &Call<'_>, mode: *mut CUmoduleLoadingMode) -> Answer {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(mode, CU_MODULE_LAZY_LOADING) }
}

/// A link can be begun; what is added to it is refused as a module would be, and nothing can come out of it.
pub(super) unsafe fn cuLinkCreate_v2(
    call: &Call<'_>,
    num_options: c_uint,
    options: *mut CUjit_option,
    option_values: *mut *mut c_void,
    state_out: *mut CUlinkState,
) -> Answer {
    present(state_out)?;
    if num_options > 0 {
        present(options)?;
        present(option_values)?;
    }
    let (mut state, context) = call.current()?;
    let link = CUlinkState(crate::handle::fresh());
    state.links.insert(link, context);
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(state_out, link) }
}

/// Checks the handle of a link.
fn known(call: &Call<'_>, link: CUlinkState) -> Answer {
    call.lock().links.get(&link).map(|_| ()).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

pub(super) unsafe fn cuLinkAddData_v2(
    call: &Call<'_>,
    state: CUlinkState,
    _kind: CUjitInputType,
    data: *mut c_void,
    size: usize,
    _name: *const c_char,
    _num_options: c_uint,
    _options: *mut CUjit_option,
    _option_values: *mut *mut c_void,
) -> Answer {
    known(call, state)?;
    present(data)?;
    // SAFETY: the program's buffer of `size` bytes, readable while its call lasts, by the driver's contract.
    let start = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size.min(MAGIC)) };
    Err(refuse_image(call, start))
}

pub(super) unsafe fn cuLinkAddFile_v2(
    call: &Call<'_>,
    state: CUlinkState,
    _kind: CUjitInputType,
    path: *const c_char,
    _num_options: c_uint,
    _options: *mut CUjit_option,
    _option_values: *mut *mut c_void,
) -> Answer {
    known(call, state)?;
    // SAFETY: the caller's string, by the driver's contract.
    unsafe { refuse_file(call, path) }
}

pub(super) unsafe fn cuLinkComplete(
    call: &Call<'_>,
    state: CUlinkState,
    cubin_out: *mut *mut c_void,
    _size_out: *mut usize,
) -> Answer {
    known(call, state)?;
    present(cubin_out)?;
    Err(CUresult::CUDA_ERROR_INVALID_IMAGE)
}

pub(super) unsafe fn cuLinkDestroy(call: &Call<'_>, state: CUlinkState) -> Answer {
    call.lock().links.remove(&state).map(|_| ()).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}
