//! A small program with its own driver: the fixture of every test in this folder.
#![allow(dead_code, unused_imports, unused_macros)] // each test file uses its own part

pub mod dependent_kernels;

pub use cuarray_abi::*;
pub use cuarray_sim::{Config, Entered, Fault, Schedule, Sim};
pub use std::ffi::c_void;
use std::sync::Mutex;

/// Calls an entry point and returns its result.
macro_rules! call {
    ($program:expr, $symbol:ident($($arg:expr),* $(,)?)) => {{
        let function = $program.api.$symbol.unwrap();
        // SAFETY: the tests pass valid arguments, or arguments that the driver's manual defines as errors.
        unsafe { function($($arg),*) }
    }};
}

/// Calls an entry point that must succeed.
macro_rules! ok {
    ($program:expr, $symbol:ident($($arg:expr),* $(,)?)) => {
        assert_eq!(call!($program, $symbol($($arg),*)), CUresult::CUDA_SUCCESS, stringify!($symbol))
    };
}

/// Calls an entry point that must fail with a code, named without its prefix `CUDA_ERROR_`.
macro_rules! fails {
    ($program:expr, $code:ident, $symbol:ident($($arg:expr),* $(,)?)) => {
        assert_eq!(call!($program, $symbol($($arg),*)).name(), Some(concat!("CUDA_ERROR_", stringify!($code))))
    };
}

/// Whether a path is that of the executable of this test.
pub fn is_this_program(object: &str) -> bool {
    std::env::current_exe().unwrap() == std::path::Path::new(object)
}

/// An initialized driver, with the primary context of device 0 current in this thread.
pub struct Program {
    pub sim: Sim,
    pub api: Api,
    pub context: CUcontext,
    _entered: Entered,
}

impl Program {
    pub fn new() -> Program {
        Program::with(Config::default())
    }

    pub fn with(config: Config) -> Program {
        Program::over(&Sim::new(Config { quiet: true, ..config }))
    }

    /// Like `new`, but with an existing driver.
    pub fn over(sim: &Sim) -> Program {
        let sim = sim.clone();
        let mut program = Program { api: sim.api(), context: CUcontext::NULL, _entered: sim.enter(), sim };
        ok!(program, cuInit(0));
        program.context = program.primary(0);
        ok!(program, cuCtxSetCurrent(program.context));
        program
    }

    /// Retains a device's primary context.
    pub fn primary(&self, device: CUdevice) -> CUcontext {
        let mut context = CUcontext::NULL;
        ok!(self, cuDevicePrimaryCtxRetain(&mut context, device));
        context
    }

    /// Runs `f` in another thread, with the same driver and the same context current.
    pub fn in_thread<R: Send>(&self, f: impl FnOnce(&Program) -> R + Send) -> R {
        let (sim, context) = (self.sim.clone(), self.context);
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                let program = Program { api: sim.api(), context, _entered: sim.enter(), sim };
                ok!(program, cuCtxSetCurrent(context));
                f(&program)
            });
            thread.join().unwrap()
        })
    }

    pub fn alloc(&self, size: usize) -> CUdeviceptr {
        let mut address = 0;
        ok!(self, cuMemAlloc_v2(&mut address, size));
        address
    }

    pub fn pinned(&self, size: usize) -> *mut u8 {
        let mut address = std::ptr::null_mut();
        ok!(self, cuMemAllocHost_v2(&mut address, size));
        address.cast()
    }

    pub fn stream(&self, flags: u32) -> CUstream {
        let mut stream = CUstream::NULL;
        ok!(self, cuStreamCreate(&mut stream, flags));
        stream
    }

    pub fn event(&self) -> CUevent {
        let mut event = CUevent::NULL;
        ok!(self, cuEventCreate(&mut event, CU_EVENT_DEFAULT));
        event
    }

    /// Enqueues a fill of bytes.
    pub fn fill(&self, address: CUdeviceptr, value: u8, size: usize, stream: CUstream) {
        ok!(self, cuMemsetD8Async(address, value, size, stream));
    }

    /// Launches a block of `threads` threads with two addresses. A dependent launch has the attribute of programmatic stream
    /// serialization, so it may begin before the previous launch of its stream has completed.
    pub fn launch_after(
        &self,
        function: CUfunction,
        stream: CUstream,
        threads: u32,
        dependent: bool,
        [mut one, mut two]: [CUdeviceptr; 2],
    ) {
        const PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;
        let value = [u64::from(dependent), 0, 0, 0, 0, 0, 0, 0];
        let mut attribute = CUlaunchAttribute { id: PROGRAMMATIC_STREAM_SERIALIZATION, pad: [0; 4], value };
        let config = CUlaunchConfig {
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: stream,
            attrs: &raw mut attribute,
            numAttrs: 1,
        };
        let mut params = [(&raw mut one).cast::<c_void>(), (&raw mut two).cast()];
        ok!(self, cuLaunchKernelEx(&config, function, params.as_mut_ptr(), std::ptr::null_mut()));
    }

    /// Reads one byte of device memory through an unordered stream, so that no other pending work runs.
    pub fn peek(&self, address: CUdeviceptr) -> u8 {
        let (stream, mut byte) = (self.stream(CU_STREAM_NON_BLOCKING), 0_u8);
        let host = (&raw mut byte).cast();
        ok!(self, cuMemcpyDtoHAsync_v2(host, address, 1, stream));
        ok!(self, cuStreamDestroy_v2(stream));
        byte
    }

    /// The number under a name in the statistics.
    pub fn statistic(&self, name: &str) -> u64 {
        let text = self.sim.statistics();
        let key = format!("\"{name}\":");
        let Some(start) = text.find(&key) else { return 0 };
        let digits = text[start + key.len()..].chars().take_while(char::is_ascii_digit);
        digits.collect::<String>().parse().unwrap()
    }
}

/// Keeps memory until the process ends. Its address is stored, so that leak sanitizers find it.
pub fn keep<T>(memory: *mut T) -> *mut T {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap().push(memory.expose_provenance());
    memory
}

/// Reads a byte that the driver may write.
pub fn read(address: *const u8) -> u8 {
    // SAFETY: the tests pass live pinned or managed memory.
    unsafe { address.read_volatile() }
}

/// Writes a byte that the driver may read.
pub fn write(address: *mut u8, value: u8) {
    // SAFETY: the tests pass live pinned or managed memory.
    unsafe { address.write_volatile(value) }
}
