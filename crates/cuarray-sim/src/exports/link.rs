//! Links: PTX of several sources, combined into one image.
//!
//! Driver API: [module management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html). The
//! resulting image is a container of the inputs that only this driver reads. It is resolved before it is returned, so
//! that undefined symbols are errors of the link.

use super::jit::{Options, assembler_message, capability, check_headers, compile, file, refused};
use super::*;
use crate::memory::probe;
use crate::objects::code::Link;
use crate::parameters::name;
use cuarray_ptx::{Error, Image};

const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

pub(super) unsafe fn cuLinkCreate_v2(
    call: &Call<'_>,
    num_options: c_uint,
    options: *mut CUjit_option,
    option_values: *mut *mut c_void,
    state_out: *mut CUlinkState,
) -> Result<(), CUresult> {
    present(state_out)?;
    // SAFETY: the caller's arrays, by the driver's contract; they stay valid until the link is destroyed.
    let options = unsafe { Options::read(num_options, options, option_values)? };
    let (mut state, context) = call.current()?;
    let handle = CUlinkState(crate::handle::fresh());
    let Options { log, max_registers } = options;
    let link = Link { context, inputs: Vec::new(), image: Vec::new(), log, max_registers };
    state.links.insert(handle, link);
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(state_out, handle) }
}

/// Adds an input.
unsafe fn add(call: &Call<'_>, link: CUlinkState, bytes: &[u8], name: String) -> Result<(), CUresult> {
    let log = call.lock().links.get(&link).ok_or(INVALID_HANDLE)?.log;
    // SAFETY: the log's buffers stay until the link is destroyed, by the driver's contract.
    let image = Image::read_for(bytes, capability(call)).map_err(|error| unsafe { refused(call, &log, error) })?;
    // SAFETY: as above.
    unsafe { check_headers(call, &image, &log)? };
    let mut state = call.lock();
    let link = state.links.get_mut(&link).ok_or(INVALID_HANDLE)?;
    link.inputs.extend(image.modules.into_iter().map(|(_, text)| (name.clone(), text)));
    Ok(())
}

pub(super) unsafe fn cuLinkAddData_v2(
    call: &Call<'_>,
    state: CUlinkState,
    _kind: CUjitInputType,
    data: *mut c_void,
    size: usize,
    name: *const c_char,
    _num_options: c_uint,
    _options: *mut CUjit_option,
    _option_values: *mut *mut c_void,
) -> Result<(), CUresult> {
    if !call.lock().links.contains_key(&state) {
        return Err(INVALID_HANDLE);
    }
    present(data)?;
    if !probe::is_each_page_readable(data as u64, size as u64) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the program's buffer of `size` bytes and its string are readable during the call, by the driver's
    // contract.
    unsafe {
        let name = if name.is_null() { String::new() } else { self::name(name)? };
        add(call, state, std::slice::from_raw_parts(data.cast::<u8>(), size), name)
    }
}

pub(super) unsafe fn cuLinkAddFile_v2(
    call: &Call<'_>,
    state: CUlinkState,
    _kind: CUjitInputType,
    path: *const c_char,
    _num_options: c_uint,
    _options: *mut CUjit_option,
    _option_values: *mut *mut c_void,
) -> Result<(), CUresult> {
    if !call.lock().links.contains_key(&state) {
        return Err(INVALID_HANDLE);
    }
    // SAFETY: the caller's string, by the driver's contract.
    unsafe { add(call, state, &file(path)?, name(path)?) }
}

/// The message for an error of a link. By cuda.core's tests, that for an undefined name has no end of line.
fn linker_message(error: &Error) -> String {
    error.undefined_reference().unwrap_or_else(|| assembler_message(error))
}

/// Completes the link. The link owns the image, and frees it.
pub(super) unsafe fn cuLinkComplete(
    call: &Call<'_>,
    state: CUlinkState,
    cubin_out: *mut *mut c_void,
    size_out: *mut usize,
) -> Result<(), CUresult> {
    present(cubin_out)?;
    let (image, log) = {
        let state_of = call.lock();
        let link = state_of.links.get(&state).ok_or(INVALID_HANDLE)?;
        (Image { modules: link.inputs.clone(), max_registers: link.max_registers }, link.log)
    };
    if image.modules.is_empty() {
        return Err(CUresult::CUDA_ERROR_INVALID_IMAGE);
    }
    // SAFETY: the log's buffers stay until the link is destroyed, by the driver's contract.
    unsafe { compile(call, &image, &log, linker_message)? };
    let mut locked = call.lock();
    let link = locked.links.get_mut(&state).ok_or(INVALID_HANDLE)?;
    link.image = image.to_bytes();
    // SAFETY: the caller's pointers, by the driver's contract; the size is optional.
    unsafe {
        put(cubin_out, link.image.as_mut_ptr().cast())?;
        if !size_out.is_null() {
            put(size_out, link.image.len())?;
        }
    }
    Ok(())
}

pub(super) unsafe fn cuLinkDestroy(call: &Call<'_>, state: CUlinkState) -> Result<(), CUresult> {
    call.lock().links.remove(&state).map(|_| ()).ok_or(INVALID_HANDLE)
}

// Older symbols with the same signature.
pub(super) use self::cuLinkAddData_v2 as cuLinkAddData;
pub(super) use self::cuLinkAddFile_v2 as cuLinkAddFile;
pub(super) use self::cuLinkCreate_v2 as cuLinkCreate;
