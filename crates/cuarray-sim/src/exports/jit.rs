//! Loading of code: images, compiler options, and compiler messages.
//!
//! Of the options (`CUjit_option`), the log buffers and the register limit have an effect. All others are accepted,
//! because a program cannot observe their effect.

use super::*;
use crate::objects::build_log::{Buffer, Log};
use cuarray_ptx::{Image, ImageError, Program};
use std::ffi::CStr;
use std::sync::Arc;

/// The options that have an effect.
#[derive(Clone, Copy, Default)]
pub(super) struct Options {
    pub log: Log,
    pub max_registers: u32,
}

impl Options {
    /// Reads options and their values.
    ///
    /// # Safety
    /// The arrays are null or hold `count` elements.
    pub(super) unsafe fn read(
        count: c_uint,
        options: *const CUjit_option,
        values: *mut *mut c_void,
    ) -> Result<Options, CUresult> {
        let mut read = Options::default();
        if count == 0 {
            return Ok(read);
        }
        present(options)?;
        present(values)?;
        for index in 0..count as usize {
            // SAFETY: this function's contract; the arrays may be unaligned.
            let (option, place) = unsafe { (options.add(index).read_unaligned(), values.add(index)) };
            // SAFETY: as above. A value is a pointer, or a number stored as a pointer.
            let value = unsafe { place.read_unaligned() } as usize;
            match option {
                CU_JIT_MAX_REGISTERS => read.max_registers = u32::try_from(value).unwrap_or(0),
                CU_JIT_INFO_LOG_BUFFER => read.log.info.address = value,
                CU_JIT_ERROR_LOG_BUFFER => read.log.error.address = value,
                CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES => {
                    // The upper half of the value is undefined.
                    let size = value & 0xffff_ffff;
                    read.log.info = Buffer { size, written: place as usize, ..read.log.info };
                }
                CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES => {
                    let size = value & 0xffff_ffff;
                    read.log.error = Buffer { size, written: place as usize, ..read.log.error };
                }
                _ => {}
            }
        }
        Ok(read)
    }
}

/// Advice on how to get PTX instead of machine code.
const HOW: &str = "the simulated driver executes PTX, not machine code. \
numba-cuda passes PTX if nvidia-nvjitlink is not installed; cuda.core does if Program.compile targets \"ptx\"; \
nvcc does with -gencode arch=compute_90,code=compute_90";

/// Reports why an image was refused, in the log and once on standard error.
///
/// # Safety
/// The log's buffers belong to the program and are still valid.
pub(super) unsafe fn refused(call: &Call<'_>, log: &Log, error: ImageError) -> CUresult {
    match error {
        ImageError::MachineCode => {
            call.driver.refused_machine_code.fetch_add(1, Ordering::Relaxed);
            call.driver.explain(&format!("machine code was refused: {HOW}"));
            // SAFETY: this function's contract.
            unsafe { log.error.write(&format!("error   : {HOW}\n")) };
            CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        }
        ImageError::Unknown => CUresult::CUDA_ERROR_INVALID_IMAGE,
    }
}

/// Compiles an image to a program.
///
/// # Errors
/// `CUDA_ERROR_INVALID_PTX` for invalid PTX; `CUDA_ERROR_NOT_SUPPORTED` for PTX that this driver cannot execute. The
/// log names the error and its line.
///
/// # Safety
/// The log's buffers belong to the program and are still valid.
pub(super) unsafe fn compile(call: &Call<'_>, image: &Image, log: &Log) -> Result<Arc<Program>, CUresult> {
    let (info, error, result) = match cuarray_ptx::load(image) {
        Ok(program) => {
            let functions = program.functions().len();
            let info = format!("info    : {functions} functions, {} instructions\n", program.instructions());
            (info, String::new(), Ok(Arc::new(program)))
        }
        Err(error) => {
            let name = if error.module.is_empty() { "application ptx input" } else { &error.module };
            let text = format!("ptxas {name}, line {}; error   : '{}': {}\n", error.line, error.token, error.message);
            call.driver.refused_ptx.fetch_add(1, Ordering::Relaxed);
            call.driver.explain(&format!("PTX was refused: {error}"));
            let code = match error.unsupported {
                true => CUresult::CUDA_ERROR_NOT_SUPPORTED,
                false => CUresult::CUDA_ERROR_INVALID_PTX,
            };
            (String::new(), text, Err(code))
        }
    };
    // SAFETY: this function's contract.
    unsafe {
        log.info.write(&info);
        log.error.write(&error);
    }
    result
}

/// The program of an image in memory.
///
/// # Safety
/// `image` is null or an image, as the driver's contract defines; the log's buffers are valid.
pub(super) unsafe fn program_at(
    call: &Call<'_>,
    image: *const c_void,
    options: &Options,
) -> Result<Arc<Program>, CUresult> {
    present(image)?;
    // SAFETY: this function's contract.
    unsafe {
        let image = Image::from_ptr(image.cast()).map_err(|error| refused(call, &options.log, error))?;
        program_of(call, image, options)
    }
}

unsafe fn program_of(call: &Call<'_>, mut image: Image, options: &Options) -> Result<Arc<Program>, CUresult> {
    if image.modules.is_empty() {
        return Err(CUresult::CUDA_ERROR_INVALID_IMAGE);
    }
    if options.max_registers != 0 {
        image.max_registers = options.max_registers;
    }
    // SAFETY: the caller's contract.
    unsafe { compile(call, &image, &options.log) }
}

/// The program of an image in a file.
///
/// # Safety
/// `path` is null or a nul-terminated string; the log's buffers are valid.
pub(super) unsafe fn program_in(
    call: &Call<'_>,
    path: *const c_char,
    options: &Options,
) -> Result<Arc<Program>, CUresult> {
    // SAFETY: this function's contract.
    unsafe {
        let image = Image::read(&file(path)?).map_err(|error| refused(call, &options.log, error))?;
        program_of(call, image, options)
    }
}

/// The bytes of a file.
///
/// # Safety
/// `path` is null or a nul-terminated string.
pub(super) unsafe fn file(path: *const c_char) -> Result<Vec<u8>, CUresult> {
    use std::os::unix::ffi::OsStrExt as _;
    present(path)?;
    // SAFETY: this function's contract.
    let path = std::ffi::OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes());
    std::fs::read(path).map_err(|_| CUresult::CUDA_ERROR_FILE_NOT_FOUND)
}

/// A name that a program passed.
///
/// # Safety
/// `name` is null or a nul-terminated string.
pub(super) unsafe fn name(name: *const c_char) -> Result<String, CUresult> {
    present(name)?;
    // SAFETY: this function's contract.
    Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}
