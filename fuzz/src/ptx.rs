//! PTX: load any text or container as a module, and launch its kernels.
//!
//! The check uses the driver API of a simulated driver that lives for one input. No text may crash or hang the driver. The
//! driver refuses the text with a log that names a line, or loads it. Then the kernels end normally, with an error, or at
//! the instruction limit of the launch.

use crate::assert_readable;
use cuarray_sim::{Config, Sim};
use std::ffi::{CStr, c_char, c_void};

use cuarray_abi::{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
use cuarray_abi::{CUcontext, CUdeviceptr, CUfunction, CUmodule, CUresult, CUstream};

/// Calls an entry point of the driver and returns its result.
macro_rules! call {
    ($api:expr, $symbol:ident($($arg:expr),* $(,)?)) => {{
        let function = $api.$symbol.expect("the driver has all entry points");
        // SAFETY: all pointers are to live variables of the types that the driver's manual asks for.
        unsafe { function($($arg),*) }
    }};
}

/// The results with which a launch may fail.
const FAILURES: [&str; 10] = [
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_ASSERT",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "CUDA_ERROR_INVALID_VALUE",
];
const BYTES: usize = 4096;
const PARAMETERS: usize = 64;

/// The first bytes of containers: fat binaries, and images that this driver links. Each has its length at offset 8.
const FAT: &[u8] = b"\x50\xed\x55\xba";
const LINKED: &[u8] = b"\x7fCUSIM\x01\n";
/// The first bytes of a record with the address of a fat binary.
const WRAPPER: &[u8] = b"\xb1\x43\x62\x46";

/// Whether the bytes are a container with a head, which states the length of the contents after `head` bytes.
fn head_of(data: &[u8]) -> Option<u64> {
    let is = |magic: &[u8]| data.starts_with(magic) && data.len() >= 16;
    if is(FAT) { Some(u64::from(u16::from_le_bytes([data[6], data[7]]))) } else { is(LINKED).then_some(0) }
}

/// The bytes as an image for the driver, if possible. The driver gets no length: a text ends with a nul, and a container states its
/// length, so this function corrects both. The contents may be arbitrary.
fn image(data: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = data.to_vec();
    if let Some(head) = head_of(data) {
        let length = (data.len() as u64).checked_sub(head)?;
        bytes[8..16].copy_from_slice(&length.to_le_bytes());
    } else {
        bytes.retain(|byte| *byte != 0);
        bytes.push(0);
        if [FAT, LINKED, WRAPPER].into_iter().any(|magic| bytes.starts_with(magic)) {
            return None;
        }
    }
    Some(bytes)
}

/// Bytes with inaccessible memory behind them.
struct Guarded {
    mapping: *mut c_void,
    length: usize,
    bytes: *const c_void,
}

impl Guarded {
    fn new(bytes: &[u8]) -> Guarded {
        const PAGE: usize = 1 << 16;
        let room = bytes.len().next_multiple_of(PAGE);
        let length = room + PAGE;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, whose last page is made inaccessible; the bytes end in front of it.
        unsafe {
            let mapping = libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0);
            assert_ne!(mapping, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(mapping.byte_add(room), PAGE, libc::PROT_NONE), 0);
            let place = mapping.byte_add(room - bytes.len());
            place.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            Guarded { mapping, length, bytes: place }
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, to which no reference is left.
        unsafe { libc::munmap(self.mapping, self.length) };
    }
}

/// Loads a container with the length that it states itself, which may be that of bytes that are not there.
fn check_stated_length(api: &cuarray_abi::Api, data: &[u8]) {
    let Some(head) = head_of(data) else { return };
    let stated = u64::from_le_bytes(data[8..16].try_into().expect("eight bytes"));
    let is_there = head.checked_add(stated).is_some_and(|length| length <= data.len() as u64);
    let guarded = Guarded::new(data);
    let mut module = CUmodule::NULL;
    let loaded = call!(api, cuModuleLoadData(&mut module, guarded.bytes));
    assert!(is_there || loaded == CUresult::CUDA_ERROR_INVALID_IMAGE, "{loaded:?} of {stated} bytes");
}

/// Loads the image, and launches its kernels until one fails, which ends the context.
pub fn check(data: &[u8]) {
    let Some(image) = image(data) else { return };
    let sim = Sim::new(Config {
        quiet: true,
        findings: false,
        memory: 64 << 20,
        launch_budget: 20_000,
        cores: 1,
        ..Config::default()
    });
    let (api, _entered) = (sim.api(), sim.enter());
    let mut context = CUcontext::NULL;
    assert_eq!(call!(api, cuInit(0)), CUresult::CUDA_SUCCESS);
    assert_eq!(call!(api, cuDevicePrimaryCtxRetain(&mut context, 0)), CUresult::CUDA_SUCCESS);
    assert_eq!(call!(api, cuCtxSetCurrent(context)), CUresult::CUDA_SUCCESS);
    check_stated_length(&api, data);
    let image = Guarded::new(&image);
    let mut module = CUmodule::NULL;
    let mut log = [0 as c_char; 2048];
    let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
    let loaded = call!(api, cuModuleLoadDataEx(&mut module, image.bytes, 2, options.as_mut_ptr(), values.as_mut_ptr()));
    if loaded == CUresult::CUDA_SUCCESS {
        launch_all(&api, module);
    } else {
        let name = loaded.name().unwrap_or_default();
        // SAFETY: the driver ends the log with a zero byte, inside of the buffer.
        let log = unsafe { CStr::from_ptr(log.as_ptr()) }.to_string_lossy();
        match name {
            "CUDA_ERROR_INVALID_PTX" | "CUDA_ERROR_NOT_SUPPORTED" => {
                log.lines().for_each(assert_readable);
                assert!(log.contains("line "), "{log}");
            }
            "CUDA_ERROR_INVALID_IMAGE" | "CUDA_ERROR_NO_BINARY_FOR_GPU" | "CUDA_ERROR_OUT_OF_MEMORY" => {}
            other => panic!("loading returned {other}: {log}"),
        }
    }
    assert_eq!(call!(api, cuDevicePrimaryCtxRelease_v2(0)), CUresult::CUDA_SUCCESS);
}

/// Launches each kernel over a buffer, to which some of its parameters point.
fn launch_all(api: &cuarray_abi::Api, module: CUmodule) {
    let mut address: CUdeviceptr = 0;
    if call!(api, cuMemAlloc_v2(&mut address, BYTES)) != CUresult::CUDA_SUCCESS {
        return;
    }
    let mut count = 0;
    assert_eq!(call!(api, cuModuleGetFunctionCount(&mut count, module)), CUresult::CUDA_SUCCESS);
    let mut functions = vec![CUfunction::NULL; count as usize];
    assert_eq!(call!(api, cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, module)), CUresult::CUDA_SUCCESS);
    for function in functions {
        let mut words = [8_u64; 1 << 13];
        words.iter_mut().step_by(3).for_each(|word| *word = address);
        let mut parameters = Vec::new();
        for index in 0.. {
            let (mut offset, mut size) = (0, 0);
            if call!(api, cuFuncGetParamInfo(function, index, &mut offset, &mut size)) != CUresult::CUDA_SUCCESS {
                break;
            }
            let word = if index < PARAMETERS && size <= 8 { index } else { 0 };
            parameters.push((&raw mut words[word]).cast::<c_void>());
        }
        let none = std::ptr::null_mut();
        let launched =
            call!(api, cuLaunchKernel(function, 2, 1, 1, 33, 2, 1, 64, CUstream::NULL, parameters.as_mut_ptr(), none));
        let result = if launched == CUresult::CUDA_SUCCESS { call!(api, cuCtxSynchronize()) } else { launched };
        if result != CUresult::CUDA_SUCCESS {
            assert!(FAILURES.contains(&result.name().unwrap_or_default()), "a kernel ended with {result:?}");
            return;
        }
    }
}
