//! Loading and unloading of modules and libraries, and look-up of functions.

use crate::memory::{allocations, new_allocation};
use crate::module::races;
use crate::objects::allocation::Kind;
use crate::objects::code::{INVALID_HANDLE, Library, Module};
use crate::pages::host_pages::HostPages;
use crate::state::State;
use cuarray_abi::*;
use cuarray_ptx::{Program, Space};
use std::collections::HashMap;
use std::sync::Arc;

/// Loads a program into a context. The modules of a library share its managed variables.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY` if its variables do not fit.
pub(crate) fn load_module(
    state: &mut State,
    context: CUcontext,
    program: Arc<Program>,
    library: Option<CUlibrary>,
) -> Result<CUmodule, CUresult> {
    let mut addresses = vec![0; program.variables().len()];
    let shared = library.and_then(|library| state.code.libraries.get(&library)?.managed.clone());
    // The managed variables of a library end with the library, and others with the module or its context.
    let owner = if library.is_some() { CUcontext::NULL } else { context };
    let managed = shared.clone().map_or_else(|| take_managed(state, owner, context, &program), Ok)?;
    // The allocations of this load, which a failure releases.
    let mut made = if shared.is_none() { managed.to_vec() } else { Vec::new() };
    let of_managed = program.variables().iter().zip(&mut addresses).filter(|(variable, _)| variable.managed);
    of_managed.zip(&*managed).for_each(|((_, address), managed)| *address = *managed);
    for constant in [false, true] {
        let wanted = if constant { Space::Const } else { Space::Global };
        let mut size = 0_u64;
        for (variable, address) in program.variables().iter().zip(&mut addresses) {
            if variable.space == wanted && !variable.managed {
                *address = size.next_multiple_of(variable.align.max(8));
                size = *address + variable.size.max(1) + gap(variable.size);
            }
        }
        if size == 0 {
            continue;
        }
        let base = take_for_code(state, context, size).inspect_err(|_| {
            made.iter().for_each(|address| allocations::release(state, *address));
        })?;
        made.push(base);
        for (variable, address) in program.variables().iter().zip(&mut addresses) {
            if variable.space == wanted && !variable.managed {
                *address += base;
            }
        }
    }
    let address_of = |number: u32| addresses[number as usize];
    for (variable, address) in program.variables().iter().zip(&addresses) {
        if *address == 0 || variable.managed && shared.is_some() {
            continue;
        }
        let bytes = program.initial_bytes(variable, address_of);
        let host = state.host_address(*address);
        // SAFETY: the variable lies in an allocation that was just made for it, and at most its size is copied.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), host as *mut u8, bytes.len().min(variable.size as usize))
        };
    }
    let constants = Arc::new(program.constants(address_of));
    races::loaded(state, context, &program, &addresses, shared.is_some());
    if let Some(library) = library.and_then(|library| state.code.libraries.get_mut(&library)) {
        library.managed = Some(managed.clone());
        made.retain(|address| !managed.contains(address));
    }
    let handle = CUmodule(crate::handle::fresh());
    let functions = HashMap::new();
    let module = Module { context, program, constants, addresses, memory: made, managed, functions, library };
    state.code.modules.insert(handle, module);
    Ok(handle)
}

/// The bytes between a variable and the next one. An index that is a little too large does not reach the next variable,
/// so it is found.
pub(crate) fn gap(size: u64) -> u64 {
    size.clamp(256, 64 << 10)
}

/// Allocates zeroed managed memory for the managed variables of a program, each apart; `owner` is the context with which
/// they end. Returns their addresses.
fn take_managed(
    state: &mut State,
    owner: CUcontext,
    context: CUcontext,
    program: &Program,
) -> Result<Arc<[u64]>, CUresult> {
    let device = state.context(context)?.device;
    let mut addresses = Vec::new();
    for variable in program.variables().iter().filter(|variable| variable.managed) {
        let size = variable.size.max(1);
        let Some(pages) = HostPages::new(size, state.host_access.on()) else {
            addresses.iter().for_each(|address| allocations::release(state, *address));
            return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        };
        let address = pages.address();
        new_allocation::add(state, (address, size, size), Kind::ManagedVariable(pages), owner, device);
        addresses.push(address);
    }
    Ok(addresses.into())
}

/// Allocates zeroed device memory for code, which the program does not own.
pub(crate) fn take_for_code(state: &mut State, context: CUcontext, size: u64) -> Result<u64, CUresult> {
    let device = state.context(context)?.device;
    let arena = &mut state.devices[device].arena;
    let (address, real) = arena.take(size).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let host = arena.shadow_of(address);
    // SAFETY: the range was just allocated, and is mapped at its shadow.
    unsafe { std::ptr::write_bytes(host as *mut u8, 0, size as usize) };
    new_allocation::add(state, (address, size, real), Kind::Code, context, device);
    Ok(address)
}

/// Unloads a module that no pending work needs.
pub(crate) fn unload_module(state: &mut State, handle: CUmodule) -> Result<(), CUresult> {
    let module = state.code.modules.remove(&handle).ok_or(INVALID_HANDLE)?;
    for function in module.functions.values() {
        state.code.functions.remove(function);
    }
    for address in module.memory {
        allocations::release(state, address);
    }
    let State { textures, code, .. } = state;
    textures.close_modules(|module| code.modules.contains_key(&module));
    Ok(())
}

/// The module of a library in a context, loaded on first use.
pub(crate) fn module_of(state: &mut State, library: CUlibrary, context: CUcontext) -> Result<CUmodule, CUresult> {
    let known = state.code.libraries.get(&library).ok_or(INVALID_HANDLE)?;
    if let Some(module) = known.modules.get(&context) {
        return Ok(*module);
    }
    let program = known.program.clone();
    let module = load_module(state, context, program, Some(library))?;
    if let Some(library) = state.code.libraries.get_mut(&library) {
        library.modules.insert(context, module);
    }
    Ok(module)
}

/// Adds a library.
pub(crate) fn add_library(state: &mut State, program: Arc<Program>) -> CUlibrary {
    let handle = CUlibrary(crate::handle::fresh());
    let library = Library { program, managed: None, modules: HashMap::new(), kernels: HashMap::new() };
    state.code.libraries.insert(handle, library);
    handle
}

/// Unloads a library with its modules, which no pending work needs.
pub(crate) fn unload_library(state: &mut State, handle: CUlibrary) -> Result<(), CUresult> {
    let library = state.code.libraries.remove(&handle).ok_or(INVALID_HANDLE)?;
    for module in library.modules.values() {
        unload_module(state, *module)?;
    }
    library.managed.iter().flat_map(|managed| &**managed).for_each(|address| allocations::release(state, *address));
    state.code.kernels.retain(|_, kernel| kernel.library != handle);
    Ok(())
}

/// The function of a kernel in a context.
pub(crate) fn function_of(state: &mut State, kernel: CUkernel, context: CUcontext) -> Result<CUfunction, CUresult> {
    let kernel = state.code.kernels.get(&kernel).ok_or(INVALID_HANDLE)?;
    let (library, name, settings) = (kernel.library, kernel.name.clone(), kernel.settings);
    let module = module_of(state, library, context)?;
    let function = state.code.function(module, &name.to_string_lossy())?;
    if let Some(function) = state.code.functions.get_mut(&function) {
        function.settings = settings;
    }
    Ok(function)
}

/// The address and size of a library's managed variable, by its name.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE`; `CUDA_ERROR_NOT_FOUND` for a name of no managed variable, and before the library is loaded into
/// a context.
pub(crate) fn managed(state: &State, library: CUlibrary, name: &str) -> Result<(u64, u64), CUresult> {
    let library = state.code.libraries.get(&library).ok_or(INVALID_HANDLE)?;
    let variables = library.program.variables().iter().filter(|variable| variable.managed);
    let mut placed = variables.zip(library.managed.iter().flat_map(|managed| &**managed));
    let found = placed.find(|(variable, _)| variable.name == name);
    found.map(|(variable, address)| (*address, variable.size)).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)
}

/// The address and size of a module's variable, by its name.
pub(crate) fn global(state: &State, module: CUmodule, name: &str) -> Result<(u64, u64), CUresult> {
    let module = state.code.modules.get(&module).ok_or(INVALID_HANDLE)?;
    let index = module
        .program
        .variables()
        .iter()
        .position(|variable| variable.name == name && matches!(variable.space, Space::Global | Space::Const));
    let index = index.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    Ok((module.addresses[index], module.program.variables()[index].size))
}
