//! Loaded code: modules, libraries, and their functions.
//!
//! A library is a program without a context; a module is a program whose variables lie in the memory of a context. A
//! library becomes one module in each context that uses it. Functions belong to modules and kernels to libraries;
//! either handle can be launched, as the driver's manual allows.

use crate::launch::{Heap, Log};
use crate::memory::Kind;
use crate::state::State;
use cuarray_abi::*;
use cuarray_ptx::{Program, Space};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    /// Whether a kernel has failed in some context; shared with the driver, which reads it without its lock.
    pub failed: Arc<AtomicBool>,
}

/// A program in a context.
pub(crate) struct Module {
    pub context: CUcontext,
    pub program: Arc<Program>,
    /// The program's constants with the addresses of this module's variables.
    pub constants: Arc<Vec<u64>>,
    /// The address of each variable; 0 for variables in shared memory.
    pub addresses: Vec<u64>,
    /// The allocations that they lie in.
    memory: Vec<u64>,
    functions: HashMap<u32, CUfunction>,
    /// The library whose module this is.
    pub library: Option<CUlibrary>,
}

/// A function of a module.
pub(crate) struct Function {
    pub module: CUmodule,
    pub number: u32,
    pub name: CString,
    pub settings: Settings,
    pub next: NextLaunch,
}

/// The state that the launch calls before `cuLaunchKernel` set on a function.
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
    /// The maximum dynamic shared memory of a launch in bytes; `None` for the rest of 48 KiB.
    pub max_dynamic_shared: Option<u32>,
    pub carveout: i32,
    pub cache_config: u32,
}

/// A program outside of contexts.
pub(crate) struct Library {
    pub program: Arc<Program>,
    pub modules: HashMap<CUcontext, CUmodule>,
    kernels: HashMap<u32, CUkernel>,
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

/// The kernel behind a handle of a function or kernel.
#[derive(Clone)]
pub(crate) struct ResolvedKernel {
    pub program: Arc<Program>,
    pub number: u32,
    pub settings: Settings,
}

impl Code {
    /// Removes all code of a context that ends.
    pub(crate) fn close_context(&mut self, context: CUcontext) {
        self.modules.retain(|_, module| module.context != context);
        let modules = &self.modules;
        self.functions.retain(|_, function| modules.contains_key(&function.module));
        for library in self.libraries.values_mut() {
            library.modules.remove(&context);
        }
        self.heaps.remove(&context);
    }

    /// The variable of a module at an address, and the offset from its start.
    pub(crate) fn global_at(&self, address: u64) -> Option<(String, u64)> {
        let variables = |module: &'_ Module| {
            let places = module.program.variables().iter().zip(&module.addresses);
            let mut held = places.filter(|(variable, start)| {
                variable.space == Space::Global && (**start..*start + variable.size).contains(&address)
            });
            held.next().map(|(variable, start)| (variable.name.clone(), address - start))
        };
        self.modules.values().find_map(variables)
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

const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

impl State {
    /// Loads a program into a context.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` if its variables do not fit.
    pub(crate) fn load_module(
        &mut self,
        context: CUcontext,
        program: Arc<Program>,
        library: Option<CUlibrary>,
    ) -> Result<CUmodule, CUresult> {
        let mut addresses = vec![0; program.variables().len()];
        let mut memory = Vec::new();
        for constant in [false, true] {
            let wanted = if constant { Space::Const } else { Space::Global };
            let mut size = 0_u64;
            for (variable, address) in program.variables().iter().zip(&mut addresses) {
                if variable.space == wanted {
                    *address = size.next_multiple_of(variable.align.max(8));
                    size = *address + variable.size.max(1);
                }
            }
            if size == 0 {
                continue;
            }
            let base = self.take_for_code(context, size, constant).inspect_err(|_| {
                memory.iter().for_each(|address| self.release_allocation(*address));
            })?;
            memory.push(base);
            for (variable, address) in program.variables().iter().zip(&mut addresses) {
                if variable.space == wanted {
                    *address += base;
                }
            }
        }
        let address_of = |number: u32| addresses[number as usize];
        for (variable, address) in program.variables().iter().zip(&addresses) {
            if *address == 0 {
                continue;
            }
            let bytes = program.initial_bytes(variable, address_of);
            let host = self.host_address(*address);
            // SAFETY: the variable lies in an allocation that was just made for it, and at most its size is copied.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), host as *mut u8, bytes.len().min(variable.size as usize))
            };
        }
        let constants = Arc::new(program.constants(address_of));
        let handle = CUmodule(crate::handle::fresh());
        let module = Module { context, program, constants, addresses, memory, functions: HashMap::new(), library };
        self.code.modules.insert(handle, module);
        Ok(handle)
    }

    /// Allocates zeroed device memory that the program does not own.
    pub(crate) fn take_for_code(&mut self, context: CUcontext, size: u64, constant: bool) -> Result<u64, CUresult> {
        let device = self.context(context)?.device;
        let arena = &mut self.devices[device].arena;
        let (address, real) = arena.take(size).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let host = arena.shadow_of(address);
        // SAFETY: the range was just allocated, and is mapped at its shadow.
        unsafe { std::ptr::write_bytes(host as *mut u8, 0, size as usize) };
        self.add_allocation((address, size, real), Kind::Code { constant }, context, device);
        Ok(address)
    }

    /// Unloads a module that no pending work needs.
    pub(crate) fn unload_module(&mut self, handle: CUmodule) -> Result<(), CUresult> {
        let module = self.code.modules.remove(&handle).ok_or(INVALID_HANDLE)?;
        for function in module.functions.values() {
            self.code.functions.remove(function);
        }
        for address in module.memory {
            self.release_allocation(address);
        }
        Ok(())
    }

    /// The module of a library in a context, loaded at its first use.
    pub(crate) fn module_of(&mut self, library: CUlibrary, context: CUcontext) -> Result<CUmodule, CUresult> {
        let known = self.code.libraries.get(&library).ok_or(INVALID_HANDLE)?;
        if let Some(module) = known.modules.get(&context) {
            return Ok(*module);
        }
        let program = known.program.clone();
        let module = self.load_module(context, program, Some(library))?;
        if let Some(library) = self.code.libraries.get_mut(&library) {
            library.modules.insert(context, module);
        }
        Ok(module)
    }

    /// Adds a library.
    pub(crate) fn add_library(&mut self, program: Arc<Program>) -> CUlibrary {
        let handle = CUlibrary(crate::handle::fresh());
        let library = Library { program, modules: HashMap::new(), kernels: HashMap::new() };
        self.code.libraries.insert(handle, library);
        handle
    }

    /// Unloads a library with its modules, which no pending work needs.
    pub(crate) fn unload_library(&mut self, handle: CUlibrary) -> Result<(), CUresult> {
        let library = self.code.libraries.remove(&handle).ok_or(INVALID_HANDLE)?;
        for module in library.modules.into_values() {
            self.unload_module(module)?;
        }
        self.code.kernels.retain(|_, kernel| kernel.library != handle);
        Ok(())
    }

    /// The function of a kernel in a context.
    pub(crate) fn function_of(&mut self, kernel: CUkernel, context: CUcontext) -> Result<CUfunction, CUresult> {
        let kernel = self.code.kernels.get(&kernel).ok_or(INVALID_HANDLE)?;
        let (library, name, settings) = (kernel.library, kernel.name.clone(), kernel.settings);
        let module = self.module_of(library, context)?;
        let function = self.code.function(module, &name.to_string_lossy())?;
        if let Some(function) = self.code.functions.get_mut(&function) {
            function.settings = settings;
        }
        Ok(function)
    }

    /// The address and size of a module's variable, by its name.
    pub(crate) fn global(&self, module: CUmodule, name: &str) -> Result<(u64, u64), CUresult> {
        let module = self.code.modules.get(&module).ok_or(INVALID_HANDLE)?;
        let index = module
            .program
            .variables()
            .iter()
            .position(|variable| variable.name == name && matches!(variable.space, Space::Global | Space::Const));
        let index = index.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        Ok((module.addresses[index], module.program.variables()[index].size))
    }
}
