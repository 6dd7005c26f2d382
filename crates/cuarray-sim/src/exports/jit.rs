//! How code gets in: images, the options of the compiler, and what it has to say.
//!
//! Of the options (`CUjit_option`) the log buffers and the limit of registers mean something here; all others are accepted, as they
//! change nothing that a program could see.

use super::*;
use crate::launch::{Buffer, Log};
use cuarray_ptx::{Image, Program, Refusal};
use std::ffi::CStr;
use std::sync::Arc;

/// What options ask for.
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
            // SAFETY: this function's contract; nothing is said of their alignment.
            let (option, place) = unsafe { (options.add(index).read_unaligned(), values.add(index)) };
            // SAFETY: as above. A value is a pointer or a number in a pointer's place.
            let value = unsafe { place.read_unaligned() } as usize;
            match option {
                CU_JIT_MAX_REGISTERS => read.max_registers = u32::try_from(value).unwrap_or(0),
                CU_JIT_INFO_LOG_BUFFER => read.log.info.address = value,
                CU_JIT_ERROR_LOG_BUFFER => read.log.error.address = value,
                CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES => {
                    // The upper half of the value may hold anything.
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

/// How to get PTX where machine code was handed over.
const HOW: &str = "no GPU is here to run machine code, and this driver executes PTX. \
numba-cuda hands over PTX if nvidia-nvjitlink is not installed; cuda.core if Program.compile is asked for \"ptx\"; \
nvcc if it is called with -gencode arch=compute_90,code=compute_90";

/// Says why an image is refused, in the log and once on standard error.
///
/// # Safety
/// The log's buffers are the program's, and still there.
pub(super) unsafe fn refused(call: &Call<'_>, log: &Log, refusal: Refusal) -> CUresult {
    match refusal {
        Refusal::MachineCode => {
            call.driver.explain(&format!("machine code was refused: {HOW}"));
            // SAFETY: this function's contract.
            unsafe { log.error.write(&format!("error   : {HOW}\n")) };
            CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        }
        Refusal::Unknown => CUresult::CUDA_ERROR_INVALID_IMAGE,
    }
}

/// Makes a program of an image.
///
/// # Errors
/// `CUDA_ERROR_INVALID_PTX` for PTX that is wrong; `CUDA_ERROR_NOT_SUPPORTED` for what this driver cannot execute. The log says
/// what and where.
///
/// # Safety
/// The log's buffers are the program's, and still there.
pub(super) unsafe fn compile(call: &Call<'_>, image: &Image, log: &Log) -> Result<Arc<Program>, CUresult> {
    let (info, error, answer) = match cuarray_ptx::load(image) {
        Ok(program) => {
            let functions = program.functions().len();
            let info = format!("info    : {functions} functions, {} instructions\n", program.instructions());
            (info, String::new(), Ok(Arc::new(program)))
        }
        Err((name, error)) => {
            let name = if name.is_empty() { "application ptx input" } else { &name };
            let text = format!("ptxas {name}, line {}; error   : '{}': {}\n", error.line, error.token, error.message);
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
    answer
}

/// The program of an image in memory.
///
/// # Safety
/// `image` is null or an image, as the driver's contract has it; the log's buffers are there.
pub(super) unsafe fn program_at(
    call: &Call<'_>,
    image: *const c_void,
    options: &Options,
) -> Result<Arc<Program>, CUresult> {
    present(image)?;
    // SAFETY: this function's contract.
    unsafe {
        let image = Image::at(image.cast()).map_err(|refusal| refused(call, &options.log, refusal))?;
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
/// `path` is null or a string that ends in a nul; the log's buffers are there.
pub(super) unsafe fn program_in(
    call: &Call<'_>,
    path: *const c_char,
    options: &Options,
) -> Result<Arc<Program>, CUresult> {
    // SAFETY: this function's contract.
    unsafe {
        let image = Image::read(&file(path)?).map_err(|refusal| refused(call, &options.log, refusal))?;
        program_of(call, image, options)
    }
}

/// The bytes of a file.
///
/// # Safety
/// `path` is null or a string that ends in a nul.
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
/// `name` is null or a string that ends in a nul.
pub(super) unsafe fn name(name: *const c_char) -> Result<String, CUresult> {
    present(name)?;
    // SAFETY: this function's contract.
    Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}
