//! A small program over a driver of its own: what every test here starts from.
#![allow(dead_code, unused_imports, unused_macros)] // each test file uses its own part

pub use cuarray_abi::*;
pub use cuarray_sim::{Config, Entered, Fault, Schedule, Sim};
pub use std::ffi::c_void;

/// Calls an entry point and answers its result.
macro_rules! call {
    ($program:expr, $symbol:ident($($arg:expr),* $(,)?)) => {{
        let function = $program.api.$symbol.unwrap();
        // SAFETY: the tests pass what the driver's manual asks for, or what it says is an error.
        unsafe { function($($arg),*) }
    }};
}

/// Calls an entry point that must succeed.
macro_rules! ok {
    ($program:expr, $symbol:ident($($arg:expr),* $(,)?)) => {
        assert_eq!(call!($program, $symbol($($arg),*)), CUresult::CUDA_SUCCESS, stringify!($symbol))
    };
}

/// Calls an entry point that must fail with a code, given by its name without `CUDA_ERROR_`.
macro_rules! fails {
    ($program:expr, $code:ident, $symbol:ident($($arg:expr),* $(,)?)) => {
        assert_eq!(call!($program, $symbol($($arg),*)).name(), Some(concat!("CUDA_ERROR_", stringify!($code))))
    };
}

/// A driver, initialized, with the primary context of device 0 current in this thread.
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

    /// The same over a driver that is there already.
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

    /// The same driver in another thread, with the same context current.
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

    /// Reads one byte of device memory through a stream that nothing orders with any other, so that the reading forces
    /// nothing but itself.
    pub fn peek(&self, address: CUdeviceptr) -> u8 {
        let (stream, mut byte) = (self.stream(CU_STREAM_NON_BLOCKING), 0_u8);
        let host = (&raw mut byte).cast();
        ok!(self, cuMemcpyDtoHAsync_v2(host, address, 1, stream));
        ok!(self, cuStreamDestroy_v2(stream));
        byte
    }

    /// The number behind a name in the statistics.
    pub fn statistic(&self, name: &str) -> u64 {
        let text = self.sim.statistics();
        let key = format!("\"{name}\":");
        let Some(start) = text.find(&key) else { return 0 };
        let digits = text[start + key.len()..].chars().take_while(char::is_ascii_digit);
        digits.collect::<String>().parse().unwrap()
    }
}

/// Reads a byte that the driver writes.
pub fn read(address: *const u8) -> u8 {
    // SAFETY: the tests pass live pinned or managed memory.
    unsafe { address.read_volatile() }
}

/// Writes a byte that the driver reads.
pub fn write(address: *mut u8, value: u8) {
    // SAFETY: the tests pass live pinned or managed memory.
    unsafe { address.write_volatile(value) }
}
