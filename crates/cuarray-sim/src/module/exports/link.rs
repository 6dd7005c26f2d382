//! Links: PTX of several sources, combined into one image.
//!
//! Driver API: [module management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html). The
//! resulting image is a container of the inputs that only this driver reads. It is resolved before it is returned, so
//! that undefined symbols are errors of the link.

use crate::driver::Call;
use crate::module::jit::{Options, assembler_message, capability, check_headers, compile, file, refused};
use crate::objects::code::Link;
use crate::pages::probe;
use crate::parameters::{In, Out, Text};
use cuarray_abi::*;
use cuarray_ptx::{Error, Image};
use std::ffi::{c_uint, c_void};

const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

pub(crate) fn cuLinkCreate_v2(
    call: &Call<'_>,
    num_options: c_uint,
    options: In<'_, CUjit_option>,
    option_values: In<'_, *mut c_void>,
    state_out: Out<'_, CUlinkState>,
) -> Result<(), CUresult> {
    state_out.present()?;
    // SAFETY: the manual gives the lists this length.
    let options = unsafe { Options::read(num_options, options, option_values)? };
    let (mut state, context) = call.current()?;
    let handle = CUlinkState(crate::handle::fresh());
    let Options { log, max_registers } = options;
    let link = Link { context, inputs: Vec::new(), image: Vec::new(), log, max_registers };
    state.links.insert(handle, link);
    state_out.put(handle)
}

/// Adds an input.
fn add(call: &Call<'_>, link: CUlinkState, bytes: &[u8], name: String) -> Result<(), CUresult> {
    let log = call.lock().links.get(&link).ok_or(INVALID_HANDLE)?.log;
    let image = Image::read_for(bytes, capability(call)).and_then(Image::for_link);
    let image = image.map_err(|error| refused(call, &log, error))?;
    check_headers(call, &image, &log)?;
    let mut state = call.lock();
    let link = state.links.get_mut(&link).ok_or(INVALID_HANDLE)?;
    link.inputs.extend(image.modules.into_iter().map(|(_, text)| (name.clone(), text)));
    Ok(())
}

pub(crate) fn cuLinkAddData_v2(
    call: &Call<'_>,
    state: CUlinkState,
    _kind: CUjitInputType,
    data: In<'_, c_void>,
    size: usize,
    name: Text<'_>,
    _num_options: c_uint,
    _options: In<'_, CUjit_option>,
    _option_values: In<'_, *mut c_void>,
) -> Result<(), CUresult> {
    if !call.lock().links.contains_key(&state) {
        return Err(INVALID_HANDLE);
    }
    data.present()?;
    if !probe::is_each_page_readable(data.pointer() as u64, size as u64) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let name = name.name().unwrap_or_default();
    // SAFETY: by the manual, the buffer has `size` bytes, and the program does not change them during the call.
    add(call, state, unsafe { std::slice::from_raw_parts(data.pointer().cast::<u8>(), size) }, name)
}

pub(crate) fn cuLinkAddFile_v2(
    call: &Call<'_>,
    state: CUlinkState,
    _kind: CUjitInputType,
    path: Text<'_>,
    _num_options: c_uint,
    _options: In<'_, CUjit_option>,
    _option_values: In<'_, *mut c_void>,
) -> Result<(), CUresult> {
    if !call.lock().links.contains_key(&state) {
        return Err(INVALID_HANDLE);
    }
    add(call, state, &file(path)?, path.name()?)
}

/// The message for an error of a link. By cuda.core's tests, that for an undefined name has no end of line.
fn linker_message(error: &Error) -> String {
    error.undefined_reference().unwrap_or_else(|| assembler_message(error))
}

/// Completes the link. The link owns the image, and frees it.
pub(crate) fn cuLinkComplete(
    call: &Call<'_>,
    state: CUlinkState,
    cubin_out: Out<'_, *mut c_void>,
    size_out: Out<'_, usize>,
) -> Result<(), CUresult> {
    cubin_out.present()?;
    let (image, log) = {
        let state_of = call.lock();
        let link = state_of.links.get(&state).ok_or(INVALID_HANDLE)?;
        (Image { modules: link.inputs.clone(), max_registers: link.max_registers, ..Image::default() }, link.log)
    };
    if image.modules.is_empty() {
        return Err(CUresult::CUDA_ERROR_INVALID_IMAGE);
    }
    compile(call, &image, &log, linker_message)?;
    let mut locked = call.lock();
    let link = locked.links.get_mut(&state).ok_or(INVALID_HANDLE)?;
    link.image = image.to_bytes();
    cubin_out.put(link.image.as_mut_ptr().cast())?;
    size_out.put_if_present(link.image.len());
    Ok(())
}

pub(crate) fn cuLinkDestroy(call: &Call<'_>, state: CUlinkState) -> Result<(), CUresult> {
    call.lock().links.remove(&state).map(|_| ()).ok_or(INVALID_HANDLE)
}

// Older symbols with the same signature.
pub(crate) use self::cuLinkAddData_v2 as cuLinkAddData;
pub(crate) use self::cuLinkAddFile_v2 as cuLinkAddFile;
pub(crate) use self::cuLinkCreate_v2 as cuLinkCreate;
