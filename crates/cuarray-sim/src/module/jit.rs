//! Loading of code: images, compiler options, and compiler messages.
//!
//! Of the options (`CUjit_option`), the log buffers and the register limit have an effect. All others are accepted,
//! because a program cannot observe their effect.

use crate::driver::Call;
use crate::module::races;
use crate::objects::build_log::Log;
use crate::pages::probe;
use crate::parameters::{In, Text};
use cuarray_abi::*;
use cuarray_ptx::{Error, Image, ImageError, Program};
use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
    /// The lists are the program's, with `count` elements.
    pub(super) unsafe fn read(
        count: c_uint,
        options: In<'_, CUjit_option>,
        values: In<'_, *mut c_void>,
    ) -> Result<Options, CUresult> {
        let mut read = Options::default();
        let count = count as usize;
        // SAFETY: this function's contract.
        let (options, given) = unsafe { (options.list(count)?, values.list(count)?) };
        for (index, (option, value)) in options.into_iter().zip(given).enumerate() {
            // A value is a pointer, or a number stored as a pointer.
            let value = value as usize;
            if option == CU_JIT_MAX_REGISTERS {
                read.max_registers = u32::try_from(value).unwrap_or(0);
            }
            // SAFETY: this function's contract.
            unsafe { read.log.take(option, value, values.pointer().wrapping_add(index) as usize) };
        }
        Ok(read)
    }
}

/// Advice on how to get PTX instead of machine code.
const HOW: &str = "the simulated driver executes PTX, not machine code. \
`python -m cuarray_sim` and `pytest --cuarray-sim` make nvJitLink, NVRTC and ptxas produce PTX, unless a variable such as \
CUARRAY_SIM_NVRTC=0 turns this off; nvcc does with -gencode arch=compute_90,code=compute_90";

/// The variable in which the Python package names another `ptxas` that libraries run; see `cuarray_sim/ptxas.py`.
const OTHER_PTXAS: &str = "CUARRAY_OTHER_PTXAS";

/// The advice, with the sentences about another `ptxas`, if the package has found one.
fn how() -> String {
    match std::env::var(OTHER_PTXAS) {
        Ok(other) if !other.is_empty() => format!("{HOW}. {other}"),
        _ => HOW.to_owned(),
    }
}

/// Advice on how to get PTX from the code of a compiler.
const LINK_FIRST: &str = "link LTO-IR with nvJitLink (-lto -ptx), or compile NVVM IR with libNVVM, and load the PTX";

/// Advice on how to get PTX beside LTO-IR, or from it.
const ADD_PTX: &str = "let nvcc add PTX with -gencode arch=compute_90,code=compute_90, or link the LTO-IR with nvJitLink (-lto -ptx) and \
load the PTX";

/// Reports why an image was refused, in the log and once on standard error.
pub(super) fn refused(call: &Call<'_>, log: &Log, error: ImageError) -> CUresult {
    let (reason, code) = match error {
        ImageError::MachineCode => {
            call.driver.refused_machine_code.fetch_add(1, Ordering::Relaxed);
            let how = how();
            call.driver.explain(&format!("machine code was refused: {how}"));
            note_refusal(call, &how);
            log.error.write(&format!("error   : {how}\n"));
            return CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU;
        }
        ImageError::Intermediate => (format!("{error}; {LINK_FIRST}"), CUresult::CUDA_ERROR_INVALID_IMAGE),
        ImageError::LtoIr => {
            let reason = format!("{error}; {ADD_PTX}");
            note_refusal(call, &reason);
            (reason, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU)
        }
        ImageError::NewerTarget(_) => (error.to_string(), CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU),
        ImageError::Unknown => return CUresult::CUDA_ERROR_INVALID_IMAGE,
    };
    call.driver.explain(&format!("an image was refused: {reason}"));
    log.error.write(&format!("error   : {reason}\n"));
    code
}

/// Reports a module as refused that a driver can load.
fn note_refusal(call: &Call<'_>, reason: &str) {
    let expected = call.driver.expects_refusals.load(Ordering::Relaxed) > 0;
    if call.driver.settings().refusals && !expected {
        races::refused_module(&mut call.lock(), reason.to_owned());
    }
}

/// Ten times the compute capability of the devices.
pub(super) fn capability(call: &Call<'_>) -> u32 {
    let (major, minor) = call.driver.settings().compute_capability;
    major * 10 + minor
}

/// The newest version of PTX that a driver reads, by the release history in the PTX manual.
fn newest_ptx(driver_version: i32) -> (u32, u32) {
    match (driver_version as u32 / 1000, driver_version as u32 % 1000 / 10) {
        (11, minor) => (7, minor),
        (12, minor @ ..=5) => (8, minor),
        (12, minor) => (8, minor - 1),
        (major, minor) => (major - 4, minor),
    }
}

/// Checks that the driver reads the version of each module, and that the devices run its target, or machine code in its place.
///
/// # Errors
/// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION` for a version that is too new. `CUDA_ERROR_INVALID_PTX` for another target, as
/// for every failure of the driver's compiler.
pub(super) fn check_headers(call: &Call<'_>, image: &Image, log: &Log) -> Result<(), CUresult> {
    // A module without a header is refused when it is parsed.
    let Ok(headers) = cuarray_ptx::headers(image) else { return Ok(()) };
    let (driver, device) = (call.driver.settings().driver_version, capability(call));
    let newest = newest_ptx(driver);
    for (header, (name, _)) in headers.iter().zip(&image.modules) {
        let target = header.target;
        let suffix = header.suffix.map(String::from).unwrap_or_default();
        let (line, text, code) = if header.version > newest {
            let (major, minor) = header.version;
            let text = format!(
                "PTX .version {major}.{minor} is newer than {}.{}, the newest that this driver reads; \
                 CUARRAY_SIM_DRIVER_VERSION sets the version of the simulated driver ({driver})",
                newest.0, newest.1
            );
            (header.lines[0], text, CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
        } else if !header.runs_on(device) && image.newer_target.is_none() {
            let text = format!(
                ".target sm_{target}{suffix} does not run on this device, sm_{device}; \
                 CUARRAY_SIM_COMPUTE_CAPABILITY sets the compute capability of the simulated devices"
            );
            (header.lines[1], text, CUresult::CUDA_ERROR_INVALID_PTX)
        } else {
            continue;
        };
        let name = if name.is_empty() { "application ptx input" } else { name };
        call.driver.explain(&format!("PTX was refused: {text}"));
        log.error.write(&format!("ptxas {name}, line {line}; fatal   : {text}\n"));
        return Err(code);
    }
    Ok(())
}

/// The message of the assembler for an error.
pub(super) fn assembler_message(error: &Error) -> String {
    let name = if error.module.is_empty() { "application ptx input" } else { &error.module };
    format!("ptxas {name}, line {}; error   : '{}': {}\n", error.line, error.token, error.message)
}

/// Compiles an image to a program. `describe` gives the message for an error of the PTX.
///
/// # Errors
/// Those of [`check_headers`]; `CUDA_ERROR_INVALID_PTX` for invalid PTX; `CUDA_ERROR_NOT_SUPPORTED` for PTX that this driver cannot execute. The
/// log names the error and its line.
pub(super) fn compile(
    call: &Call<'_>,
    image: &Image,
    log: &Log,
    describe: fn(&Error) -> String,
) -> Result<Arc<Program>, CUresult> {
    check_headers(call, image, log)?;
    let (info, error, result) = match cuarray_ptx::load(image) {
        Ok(program) => {
            let functions = program.functions().len();
            let info = format!("info    : {functions} functions, {} instructions\n", program.instructions());
            (info, String::new(), Ok(Arc::new(program)))
        }
        Err(error) => {
            call.driver.refused_ptx.fetch_add(1, Ordering::Relaxed);
            call.driver.explain(&format!("PTX was refused: {error}"));
            if error.unsupported {
                note_refusal(call, &error.to_string());
            }
            let code = match error.unsupported {
                true => CUresult::CUDA_ERROR_NOT_SUPPORTED,
                false => CUresult::CUDA_ERROR_INVALID_PTX,
            };
            (String::new(), describe(&error), Err(code))
        }
    };
    log.info.write(&info);
    log.error.write(&error);
    result
}

/// The program of an image in memory.
pub(super) fn program_at(call: &Call<'_>, image: In<'_, c_void>, options: &Options) -> Result<Arc<Program>, CUresult> {
    image.present()?;
    // A damaged image may state more bytes than the program has.
    let readable = |address: *const u8, length: usize| probe::is_each_page_readable(address as u64, length as u64);
    // SAFETY: the image is the program's, and the bytes that it may state too many are checked.
    let image = unsafe { Image::from_readable(image.pointer().cast(), capability(call), readable) };
    program_of(call, image.map_err(|error| refused(call, &options.log, error))?, options)
}

fn program_of(call: &Call<'_>, mut image: Image, options: &Options) -> Result<Arc<Program>, CUresult> {
    if image.modules.is_empty() {
        return Err(CUresult::CUDA_ERROR_INVALID_IMAGE);
    }
    if options.max_registers != 0 {
        image.max_registers = options.max_registers;
    }
    compile(call, &image, &options.log, assembler_message)
}

/// The program of an image in a file.
pub(super) fn program_in(call: &Call<'_>, path: Text<'_>, options: &Options) -> Result<Arc<Program>, CUresult> {
    let image = Image::read_for(&file(path)?, capability(call)).map_err(|error| refused(call, &options.log, error))?;
    program_of(call, image, options)
}

/// The bytes of a file.
pub(super) fn file(path: Text<'_>) -> Result<Vec<u8>, CUresult> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = std::ffi::OsStr::from_bytes(path.read()?.to_bytes());
    std::fs::read(path).map_err(|_| CUresult::CUDA_ERROR_FILE_NOT_FOUND)
}
