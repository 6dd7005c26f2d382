//! Kernel launches: a kernel with its arguments and settings, and the heap that it allocates from.

use crate::memory::allocator::FreeRanges;
use crate::objects::code::ResolvedKernel;
use cuarray_abi::*;
use cuarray_ptx::Program;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock};

/// A kernel with its arguments.
pub(crate) struct Launch {
    pub context: CUcontext,
    pub function: CUfunction,
    pub program: Arc<Program>,
    pub constants: Arc<Vec<u64>>,
    pub kernel: u32,
    pub grid: [u32; 3],
    pub threads: [u32; 3],
    pub dynamic_shared: u32,
    pub parameters: Vec<u64>,
    pub cooperative: bool,
    pub settings: Settings,
    /// The address of each parameter, computed at the first query.
    pub pointers: OnceLock<Box<[usize]>>,
}

impl Launch {
    /// The kernel's name.
    pub(crate) fn name(&self) -> &str {
        &self.program.functions()[self.kernel as usize].name
    }

    /// The list of pointers to the arguments, for reading; valid as long as the launch.
    pub(crate) fn argument_pointers(&self) -> *mut *mut c_void {
        let pointers = self.pointers.get_or_init(|| {
            let start = self.parameters.as_ptr() as usize;
            let parameters = &self.program.functions()[self.kernel as usize].parameters;
            parameters.iter().map(|parameter| start + parameter.offset as usize).collect()
        });
        pointers.as_ptr().cast_mut().cast()
    }
}

/// The settings of launches in a driver's configuration.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub budget: u64,
    pub cores: usize,
    pub quiet: bool,
    /// Whether races between threads are checked.
    pub races: bool,
}

/// Memory for `malloc` in kernels.
pub(crate) struct Heap {
    pub base: u64,
    pub inner: Mutex<(FreeRanges, HashMap<u64, u64>)>,
}

impl Heap {
    pub(crate) fn new(base: u64, size: u64) -> Heap {
        Heap { base, inner: Mutex::new((FreeRanges::new(size), HashMap::new())) }
    }
}

/// The log buffers of a link or load.
#[derive(Clone, Copy, Default)]
pub(crate) struct Log {
    pub info: Buffer,
    pub error: Buffer,
}

/// A buffer of the program, and the place for its length.
#[derive(Clone, Copy, Default)]
pub(crate) struct Buffer {
    pub address: usize,
    pub size: usize,
    /// The address of the option's value, which receives the number of bytes written.
    pub written: usize,
}

impl Buffer {
    /// Writes a text and a nul, truncated to the size of the buffer.
    ///
    /// # Safety
    /// The buffer belongs to the program and is still valid.
    pub(crate) unsafe fn write(&self, text: &str) {
        let length = text.len().min(self.size.saturating_sub(1));
        if self.address != 0 && self.size > 0 {
            // SAFETY: by this function's contract; text and nul fit into its size.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), self.address as *mut u8, length);
                (self.address as *mut u8).add(length).write(0);
            }
        }
        if self.written != 0 {
            let written = if text.is_empty() { 0 } else { length + 1 };
            // SAFETY: by this function's contract; the address may be unaligned.
            unsafe { (self.written as *mut usize).write_unaligned(written) };
        }
    }
}

impl ResolvedKernel {
    /// The maximum number of threads of a block.
    pub(crate) fn max_threads(&self) -> u32 {
        let own = self.program.functions()[self.number as usize].max_threads.map_or(1024, |(threads, _)| threads);
        // A multiprocessor has 65536 registers, allocated to warps in units of 256.
        let warps = 65536 / (self.registers() * 32).next_multiple_of(256);
        own.min(warps * 32).min(1024)
    }

    /// The registers of a thread: an estimate of a compiler's allocation.
    pub(crate) fn registers(&self) -> u32 {
        let wanted = self.program.reachable(self.number);
        let most = wanted.iter().map(|number| self.program.functions()[*number as usize].registers).max().unwrap_or(0);
        let limit = if self.program.max_registers() == 0 { 255 } else { self.program.max_registers().clamp(16, 255) };
        (most + 8).clamp(10, limit.max(10))
    }

    /// Bytes of static shared memory.
    pub(crate) fn shared(&self) -> u32 {
        self.program.shared_bytes(self.number).try_into().unwrap_or(u32::MAX)
    }

    /// Bytes of the program's constants.
    pub(crate) fn constant_bytes(&self) -> u64 {
        let constants = self.program.variables().iter().filter(|variable| variable.space == cuarray_ptx::Space::Const);
        constants.map(|variable| variable.size).sum()
    }

    /// Bytes of a thread's local memory.
    pub(crate) fn local(&self) -> u32 {
        let reached = self.program.reachable(self.number);
        reached.iter().map(|number| self.program.functions()[*number as usize].local_variables).sum()
    }

    /// The number of blocks, with this many threads and this much dynamic shared memory, that fit on a
    /// multiprocessor.
    pub(crate) fn blocks(&self, threads: u32, dynamic: u64, capability: (u32, u32)) -> u32 {
        let warps = threads.div_ceil(32);
        if warps == 0 || threads > self.max_threads() {
            return 0;
        }
        let (most_warps, most_blocks, most_shared) = match capability {
            (7, _) => (32, 16, 65536),
            (8, 0) | (9, _) => (64, 32, 233_472),
            _ => (48, 16, 102_400),
        };
        let registers = 65536 / ((self.registers() * 32).next_multiple_of(256) * warps);
        let shared = u64::from(self.shared()) + dynamic + 1024;
        let by_shared = u32::try_from(most_shared / shared).unwrap_or(0);
        (most_warps / warps).min(most_blocks).min(registers).min(by_shared)
    }
}
