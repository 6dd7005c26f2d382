//! Loaded code: modules, libraries, and their functions.
//!
//! A library is a program without a context; a module is a program whose variables lie in the memory of a context. A
//! library becomes one module in each context that uses it. Functions belong to modules and kernels to libraries;
//! either handle can be launched, as the driver's manual allows.

use crate::config::identity::{Multiprocessor, multiprocessor};
use crate::objects::build_log::Log;
use crate::objects::heap::Heap;
use cuarray_abi::*;
use cuarray_ptx::{Program, Space, Variable};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// All loaded code.
#[derive(Default)]
pub(crate) struct Code {
    pub modules: HashMap<CUmodule, Module>,
    pub libraries: HashMap<CUlibrary, Library>,
    pub functions: HashMap<CUfunction, Function>,
    pub kernels: HashMap<CUkernel, Kernel>,
    /// The heap from which a context's kernels allocate with `malloc`.
    pub heaps: HashMap<CUcontext, Arc<Heap>>,
    /// The number of instructions that kernels have executed, counted per thread.
    pub executed_instructions: u64,
    /// The number of launches that have begun.
    pub executed_launches: u64,
    /// The executions of the kernels, by name.
    pub executions: HashMap<Box<str>, Executions>,
    /// The launches whose memory was searched for races only in part.
    pub partly_searched: Partly,
    /// Whether a kernel has failed in some context; shared with the driver, which reads it without its lock.
    pub failed: Arc<AtomicBool>,
}

/// The executions of a kernel.
#[derive(Clone, Copy)]
pub(crate) struct Executions {
    pub launches: u64,
    /// The executed instructions, counted per thread.
    pub instructions: u64,
    /// The time on the host, with that of the search for races between threads.
    pub time: Duration,
}

impl Code {
    /// Counts a launch of a kernel that has ended.
    pub(crate) fn has_executed(&mut self, name: &str, instructions: u64, time: Duration) {
        self.executed_instructions += instructions;
        match self.executions.get_mut(name) {
            Some(executions) => {
                executions.launches += 1;
                executions.instructions += instructions;
                executions.time += time;
            }
            None => {
                self.executions.insert(name.into(), Executions { launches: 1, instructions, time });
            }
        }
    }
}

/// Launches that were searched in part.
#[derive(Clone, Copy, Default)]
pub(crate) struct Partly {
    pub launches: u64,
    /// The bytes that these launches touched, and about how many of them were searched.
    pub touched: u64,
    pub searched: u64,
}

/// A program in a context.
pub(crate) struct Module {
    pub context: CUcontext,
    pub program: Arc<Program>,
    /// The program's constants with the addresses of this module's variables.
    pub constants: Arc<Vec<u64>>,
    /// The address of each variable; 0 for variables in shared memory.
    pub addresses: Vec<u64>,
    /// The allocations that contain the variables, without those that a library shares among its modules.
    pub memory: Vec<u64>,
    /// The addresses of the managed variables.
    pub managed: Arc<[u64]>,
    pub functions: HashMap<u32, CUfunction>,
    /// The library that was loaded as this module.
    pub library: Option<CUlibrary>,
}

impl Module {
    /// The variables in global and constant memory, with their addresses.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&Variable, u64)> {
        let places = self.program.variables().iter().zip(self.addresses.iter().copied());
        places.filter(|(variable, _)| matches!(variable.space, Space::Global | Space::Const))
    }
}

/// A function of a module.
pub(crate) struct Function {
    pub module: CUmodule,
    pub number: u32,
    pub name: CString,
    pub settings: Settings,
    pub next: NextLaunch,
}

/// The state of a function that the launch calls before `cuLaunchKernel` set.
#[derive(Clone, Default)]
pub(crate) struct NextLaunch {
    pub threads: [u32; 3],
    pub shared: u32,
    /// The bytes of the arguments, at the offsets of the kernel's parameters.
    pub arguments: Vec<u8>,
}

/// The settings that `cuFuncSetAttribute` and `cuFuncSetCacheConfig` change.
#[derive(Clone, Copy, Default)]
pub(crate) struct Settings {
    /// The maximum dynamic shared memory of a launch in bytes; `None` means the part of 48 KiB that static shared
    /// memory leaves.
    pub max_dynamic_shared: Option<u32>,
    pub carveout: i32,
    pub cache_config: u32,
    /// The blocks of a cluster along x, y and z that the program requires; 0 for no requirement.
    pub cluster: [u32; 3],
    /// Whether a cluster may have more than 8 blocks.
    pub non_portable_cluster: bool,
    pub cluster_policy: i32,
}

/// A program outside of contexts.
pub(crate) struct Library {
    pub program: Arc<Program>,
    /// The addresses of the managed variables, once the library was loaded into a context. All contexts share them.
    pub managed: Option<Arc<[u64]>>,
    pub modules: HashMap<CUcontext, CUmodule>,
    pub kernels: HashMap<u32, CUkernel>,
}

/// A kernel of a library.
pub(crate) struct Kernel {
    pub library: CUlibrary,
    pub number: u32,
    pub name: CString,
    pub settings: Settings,
}

/// A link in progress.
pub(crate) struct Link {
    pub context: CUcontext,
    /// The PTX inputs, with their names.
    pub inputs: Vec<(String, String)>,
    /// The resulting image.
    pub image: Vec<u8>,
    pub log: Log,
    /// `CU_JIT_MAX_REGISTERS`; 0 for none.
    pub max_registers: u32,
}

/// The kernel that a handle of a function or kernel names.
#[derive(Clone)]
pub(crate) struct ResolvedKernel {
    pub program: Arc<Program>,
    pub number: u32,
    pub settings: Settings,
}

/// The registers that a compiler uses beyond the live values: the stack pointer, addresses and temporary values.
const OWN_REGISTERS: u32 = 4;
/// The fewest registers that a compiler reports.
const LEAST_REGISTERS: u32 = 8;

impl Code {
    /// Removes all code of a context that is being destroyed.
    pub(crate) fn close_context(&mut self, context: CUcontext) {
        self.modules.retain(|_, module| module.context != context);
        let modules = &self.modules;
        self.functions.retain(|_, function| modules.contains_key(&function.module));
        for library in self.libraries.values_mut() {
            library.modules.remove(&context);
        }
        self.heaps.remove(&context);
    }

    /// The variables in device memory, each with its address.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&Variable, u64)> {
        self.modules.values().flat_map(Module::variables)
    }

    /// Resolves the handle of a function or kernel, without a context.
    pub(crate) fn resolve(&self, handle: CUfunction) -> Result<ResolvedKernel, CUresult> {
        if let Some(function) = self.functions.get(&handle) {
            let module = self.modules.get(&function.module).ok_or(INVALID_HANDLE)?;
            return Ok(ResolvedKernel {
                program: module.program.clone(),
                number: function.number,
                settings: function.settings,
            });
        }
        self.resolve_kernel(CUkernel(handle.0))
    }

    pub(crate) fn resolve_kernel(&self, handle: CUkernel) -> Result<ResolvedKernel, CUresult> {
        let kernel = self.kernels.get(&handle).ok_or(INVALID_HANDLE)?;
        let library = self.libraries.get(&kernel.library).ok_or(INVALID_HANDLE)?;
        Ok(ResolvedKernel { program: library.program.clone(), number: kernel.number, settings: kernel.settings })
    }

    /// The handle of a library's kernel; repeated calls return the same handle.
    pub(crate) fn kernel(&mut self, handle: CUlibrary, name: &str) -> Result<CUkernel, CUresult> {
        let library = self.libraries.get_mut(&handle).ok_or(INVALID_HANDLE)?;
        let number = *library.program.kernels().get(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let name = CString::new(name).map_err(|_| CUresult::CUDA_ERROR_NOT_FOUND)?;
        let kernels = &mut self.kernels;
        Ok(*library.kernels.entry(number).or_insert_with(|| {
            let kernel = CUkernel(crate::handle::fresh());
            kernels.insert(kernel, Kernel { library: handle, number, name, settings: Settings::default() });
            kernel
        }))
    }

    /// The handle of a module's function; repeated calls return the same handle.
    pub(crate) fn function(&mut self, handle: CUmodule, name: &str) -> Result<CUfunction, CUresult> {
        let module = self.modules.get_mut(&handle).ok_or(INVALID_HANDLE)?;
        let number = *module.program.kernels().get(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let name = CString::new(name).map_err(|_| CUresult::CUDA_ERROR_NOT_FOUND)?;
        let functions = &mut self.functions;
        Ok(*module.functions.entry(number).or_insert_with(|| {
            let function = CUfunction(crate::handle::fresh());
            let (settings, next) = (Settings::default(), NextLaunch::default());
            functions.insert(function, Function { module: handle, number, name, settings, next });
            function
        }))
    }
}

impl ResolvedKernel {
    /// The maximum number of threads of a block.
    pub(crate) fn max_threads(&self) -> u32 {
        self.function().max_threads.map_or(1024, |(threads, _)| threads.min(1024))
    }

    fn function(&self) -> &cuarray_ptx::Function {
        &self.program.functions()[self.number as usize]
    }

    /// The registers of a thread: an estimate of a compiler's allocation.
    ///
    /// A compiler spills rather than use more registers than the kernel's directives allow. The estimate allows blocks of
    /// `max_threads`, so that it never refuses a launch.
    pub(crate) fn registers(&self) -> u32 {
        let wanted = self.program.reachable(self.number);
        let most = wanted.iter().map(|number| self.program.functions()[*number as usize].registers).max().unwrap_or(0);
        let function = self.function();
        let threads = self.max_threads().max(1).next_multiple_of(32);
        let threads = threads.saturating_mul(function.min_blocks.max(1));
        // Registers are allocated to warps in units of 256, thus 8 for each thread.
        let fitting = 65536 / threads / 8 * 8;
        let limits = [fitting, function.max_registers, self.program.max_registers(), 255];
        let limit = limits.into_iter().filter(|limit| *limit > 0).min().unwrap_or(255);
        (most + OWN_REGISTERS).clamp(LEAST_REGISTERS, limit.max(LEAST_REGISTERS))
    }

    /// Bytes of static shared memory.
    pub(crate) fn shared(&self) -> u32 {
        self.program.shared_bytes(self.number).try_into().unwrap_or(u32::MAX)
    }

    /// Bytes of the program's constants.
    pub(crate) fn constant_bytes(&self) -> u64 {
        let constants = self.program.variables().iter().filter(|variable| variable.space == Space::Const);
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
        let registers = 65536 / ((self.registers() * 32).next_multiple_of(256) * warps);
        self.blocks_by_size(threads, dynamic, capability).min(registers)
    }

    /// As [`ResolvedKernel::blocks`], however few registers a compiler finds for the kernel.
    pub(crate) fn blocks_by_size(&self, threads: u32, dynamic: u64, capability: (u32, u32)) -> u32 {
        let Multiprocessor { warps, blocks, shared: most_shared, reserved, .. } = multiprocessor(capability);
        let shared = (u64::from(self.shared()) + dynamic + u64::from(reserved)).max(1);
        let by_shared = (u64::from(most_shared) / shared).try_into().unwrap_or(u32::MAX);
        (warps / threads.div_ceil(32).max(1)).min(blocks).min(by_shared)
    }
}

pub(crate) const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;
