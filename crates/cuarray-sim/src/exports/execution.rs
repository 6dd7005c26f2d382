//! Functions, launches and occupancy.
//!
//! Driver API: [execution control](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html),
//! [occupancy](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__OCCUPANCY.html). A launch is checked and enqueued here; its
//! arguments are read during the call. What a compiler would decide (registers, and so occupancy) is estimated from how
//! many values of a thread are alive at once.

use super::transfer::submit;
use super::*;
use crate::code::{Meant, Settings};
use crate::graph::Action;
use crate::launch::Launch;
use crate::schedule::Work;
use crate::state::State;
use std::sync::{Arc, OnceLock};

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

/// Shared memory of a block that needs no asking, and the most there is.
const SHARED: u32 = 48 << 10;
const MOST_SHARED: u32 = 232_448;

/// The value of an attribute of a function or kernel.
pub(super) fn attribute(call: &Call<'_>, meant: &Meant, attribute: CUfunction_attribute) -> Result<c_int, CUresult> {
    let (major, minor) = call.driver.settings().compute_capability;
    let value = match attribute {
        0 => meant.max_threads(),
        1 => meant.shared(),
        2 => u32::try_from(meant.constant_bytes()).unwrap_or(u32::MAX),
        3 => meant.local(),
        4 => meant.registers(),
        5 => meant.program.version,
        6 => major * 10 + minor,
        7 => 0,
        8 => meant.settings.max_dynamic_shared.unwrap_or(SHARED.saturating_sub(meant.shared())),
        9 => return Ok(meant.settings.carveout),
        10..=17 => 0,
        _ => return Err(INVALID_VALUE),
    };
    Ok(c_int::try_from(value).unwrap_or(c_int::MAX))
}

/// The settings with an attribute changed.
pub(super) fn set_attribute(
    meant: &Meant,
    attribute: CUfunction_attribute,
    value: c_int,
) -> Result<Settings, CUresult> {
    let mut settings = meant.settings;
    match attribute {
        8 => {
            let bytes = u32::try_from(value).map_err(|_| INVALID_VALUE)?;
            if bytes.checked_add(meant.shared()).is_none_or(|total| total > MOST_SHARED) {
                return Err(INVALID_VALUE);
            }
            settings.max_dynamic_shared = Some(bytes);
        }
        9 if (-1..=100).contains(&value) => settings.carveout = value,
        14 | 15 => {}
        _ => return Err(INVALID_VALUE),
    }
    Ok(settings)
}

pub(super) unsafe fn cuFuncGetAttribute(
    call: &Call<'_>,
    pi: *mut c_int,
    attrib: CUfunction_attribute,
    hfunc: CUfunction,
) -> Answer {
    present(pi)?;
    let value = attribute(call, &call.lock().code.meant(hfunc)?, attrib)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pi, value) }
}

pub(super) unsafe fn cuFuncSetAttribute(
    call: &Call<'_>,
    hfunc: CUfunction,
    attrib: CUfunction_attribute,
    value: c_int,
) -> Answer {
    let mut state = call.lock();
    let settings = set_attribute(&state.code.meant(hfunc)?, attrib, value)?;
    change(&mut state, hfunc, |known| *known = settings)
}

/// Changes the settings of a function, or of the kernel that the handle is one of.
fn change(state: &mut State, handle: CUfunction, change: impl FnOnce(&mut Settings)) -> Answer {
    if let Some(function) = state.code.functions.get_mut(&handle) {
        change(&mut function.settings);
        return Ok(());
    }
    change(&mut state.code.kernels.get_mut(&CUkernel(handle.0)).ok_or(INVALID_HANDLE)?.settings);
    Ok(())
}

pub(super) unsafe fn cuFuncSetCacheConfig(call: &Call<'_>, hfunc: CUfunction, config: CUfunc_cache) -> Answer {
    change(&mut call.lock(), hfunc, |settings| settings.cache_config = config)
}

pub(super) unsafe fn cuFuncGetModule(call: &Call<'_>, hmod: *mut CUmodule, hfunc: CUfunction) -> Answer {
    let module = call.lock().code.functions.get(&hfunc).ok_or(INVALID_HANDLE)?.module;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(hmod, module) }
}

pub(super) unsafe fn cuFuncGetName(call: &Call<'_>, name: *mut *const c_char, hfunc: CUfunction) -> Answer {
    let state = call.lock();
    let text = match state.code.functions.get(&hfunc) {
        Some(function) => function.name.as_ptr(),
        None => state.code.kernels.get(&CUkernel(hfunc.0)).ok_or(INVALID_HANDLE)?.name.as_ptr(),
    };
    // SAFETY: the caller's pointer, by the driver's contract. The name lives as long as the module.
    unsafe { put(name, text) }
}

pub(super) unsafe fn cuFuncGetParamInfo(
    call: &Call<'_>,
    func: CUfunction,
    param_index: usize,
    param_offset: *mut usize,
    param_size: *mut usize,
) -> Answer {
    let meant = call.lock().code.meant(func)?;
    let parameter = meant.program.functions[meant.number as usize].parameters.get(param_index).ok_or(INVALID_VALUE)?;
    // SAFETY: the caller's pointers, by the driver's contract; the size may be left out.
    unsafe {
        put(param_offset, parameter.offset as usize)?;
        if !param_size.is_null() {
            put(param_size, parameter.size as usize)?;
        }
    }
    Ok(())
}

pub(super) unsafe fn cuFuncGetParamCount(call: &Call<'_>, func: CUfunction, param_count: *mut usize) -> Answer {
    let meant = call.lock().code.meant(func)?;
    let count = meant.program.functions[meant.number as usize].parameters.len();
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(param_count, count) }
}

/// `CU_FUNCTION_LOADING_STATE_LOADED`: code is loaded when its module is.
const LOADED: c_uint = 1;

pub(super) unsafe fn cuFuncIsLoaded(call: &Call<'_>, state: *mut c_uint, function: CUfunction) -> Answer {
    call.lock().code.meant(function)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(state, LOADED) }
}

pub(super) unsafe fn cuFuncLoad(call: &Call<'_>, function: CUfunction) -> Answer {
    call.lock().code.meant(function).map(|_| ())
}

/// How a kernel is launched.
pub(super) struct Shape {
    pub grid: [c_uint; 3],
    pub threads: [c_uint; 3],
    pub shared: c_uint,
    pub cooperative: bool,
}

/// Ends of the lists of `extra`, and what stands in front of its parts.
pub(super) const PARAM_END: usize = 0;
pub(super) const PARAM_BUFFER_POINTER: usize = 1;
pub(super) const PARAM_BUFFER_SIZE: usize = 2;

/// The arguments of a kernel, as words.
///
/// # Safety
/// The lists are as the driver's manual has them: a pointer for each parameter, or a buffer of the size that is told.
unsafe fn arguments(meant: &Meant, params: *mut *mut c_void, extra: *mut *mut c_void) -> Result<Vec<u64>, CUresult> {
    let function = &meant.program.functions[meant.number as usize];
    let size = meant.program.parameter_bytes(meant.number) as usize;
    let mut words = vec![0_u64; size.div_ceil(8)];
    let target = words.as_mut_ptr().cast::<u8>();
    if !params.is_null() {
        for (index, parameter) in function.parameters.iter().enumerate() {
            // SAFETY: this function's contract; the words have room for every parameter.
            unsafe {
                let source = params.add(index).read_unaligned().cast::<u8>();
                present(source)?;
                std::ptr::copy_nonoverlapping(source, target.add(parameter.offset as usize), parameter.size as usize);
            }
        }
        return Ok(words);
    }
    if extra.is_null() {
        return if function.parameters.is_empty() { Ok(words) } else { Err(INVALID_VALUE) };
    }
    let (mut buffer, mut length, mut at) = (std::ptr::null::<u8>(), 0, 0);
    loop {
        // SAFETY: this function's contract: the list ends in an end.
        let (key, value) = unsafe {
            let key = extra.add(at).read_unaligned() as usize;
            if key == PARAM_END {
                break;
            }
            (key, extra.add(at + 1).read_unaligned())
        };
        match key {
            PARAM_BUFFER_POINTER => buffer = value.cast(),
            // SAFETY: the value is a pointer to a size, by this function's contract.
            PARAM_BUFFER_SIZE => length = unsafe { value.cast::<usize>().read_unaligned() },
            _ => return Err(INVALID_VALUE),
        }
        at += 2;
    }
    if buffer.is_null() || length < size {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the buffer has `length` bytes, by this function's contract.
    unsafe { std::ptr::copy_nonoverlapping(buffer, target, size) };
    Ok(words)
}

/// Checks a launch and makes it.
///
/// # Safety
/// As for [`arguments`].
pub(super) unsafe fn prepare(
    call: &Call<'_>,
    state: &mut State,
    context: CUcontext,
    handle: CUfunction,
    shape: &Shape,
    (params, extra): (*mut *mut c_void, *mut *mut c_void),
) -> Result<Arc<Launch>, CUresult> {
    // A kernel stands for its function in the context.
    let handle = match state.code.functions.contains_key(&handle) {
        true => handle,
        false => state.function_of(CUkernel(handle.0), context)?,
    };
    let meant = state.code.meant(handle)?;
    let module = state.code.functions.get(&handle).and_then(|function| state.code.modules.get(&function.module));
    let module = module.ok_or(INVALID_HANDLE)?;
    if module.context != context {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    let function = &meant.program.functions[meant.number as usize];
    let threads = shape.threads.iter().try_fold(1_u32, |product, extent| product.checked_mul(*extent));
    let threads = threads.filter(|threads| *threads > 0 && *threads <= 1024).ok_or(INVALID_VALUE)?;
    let grid_fits = shape.grid[0] as i32 > 0 && shape.grid[1..].iter().all(|extent| (1..=65535).contains(extent));
    if !grid_fits || shape.threads[2] > 64 {
        return Err(INVALID_VALUE);
    }
    if function.max_threads.is_some_and(|(most, exact)| threads > most || (exact && threads != most)) {
        return Err(INVALID_VALUE);
    }
    if threads > meant.max_threads() {
        return Err(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    }
    let allowed = meant.settings.max_dynamic_shared.unwrap_or(0).max(SHARED.saturating_sub(meant.shared()));
    if meant.shared() > MOST_SHARED || shape.shared > allowed {
        return Err(INVALID_VALUE);
    }
    let settings = call.driver.settings();
    if shape.cooperative {
        let resident =
            u64::from(meant.blocks(threads, shape.shared.into(), settings.compute_capability)) * MULTIPROCESSORS;
        if shape.grid.iter().map(|extent| u64::from(*extent)).product::<u64>() > resident {
            return Err(CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    let constants = module.constants.clone();
    // SAFETY: this function's contract.
    let parameters = unsafe { arguments(&meant, params, extra)? };
    Ok(Arc::new(Launch {
        context,
        function: handle,
        pointers: OnceLock::new(),
        constants,
        kernel: meant.number,
        grid: shape.grid,
        threads: shape.threads,
        dynamic_shared: shape.shared,
        parameters,
        cooperative: shape.cooperative,
        settings: crate::launch::Settings {
            budget: settings.launch_budget,
            cores: settings.cores,
            quiet: settings.quiet,
            races: settings.findings && settings.kernel_races,
        },
        program: meant.program,
    }))
}

/// How many multiprocessors a device has.
const MULTIPROCESSORS: u64 = 132;

/// Enqueues a launch, or makes it a node of a capture.
///
/// # Safety
/// As for [`arguments`].
pub(super) unsafe fn launch(
    call: &Call<'_>,
    function: CUfunction,
    shape: &Shape,
    stream: CUstream,
    lists: (*mut *mut c_void, *mut *mut c_void),
) -> Answer {
    let (mut state, current) = call.current()?;
    let handle = state.stream_of(call, current, stream)?;
    let context = state.streams.get(&handle).map_or(current, |stream| stream.context);
    // SAFETY: the caller's lists, by the driver's contract.
    let launch = unsafe { prepare(call, &mut state, context, function, shape, lists)? };
    if state.capture(handle, || Action::Launch(launch.clone()))? {
        return Ok(());
    }
    drop(submit(call, state, handle, Work::Launch(launch), Vec::new())?);
    Ok(())
}

pub(super) unsafe fn cuLaunchKernel(
    call: &Call<'_>,
    f: CUfunction,
    grid_dim_x: c_uint,
    grid_dim_y: c_uint,
    grid_dim_z: c_uint,
    block_dim_x: c_uint,
    block_dim_y: c_uint,
    block_dim_z: c_uint,
    shared_mem_bytes: c_uint,
    stream: CUstream,
    kernel_params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Answer {
    if !kernel_params.is_null() && !extra.is_null() {
        return Err(INVALID_VALUE);
    }
    let (grid, threads) = ([grid_dim_x, grid_dim_y, grid_dim_z], [block_dim_x, block_dim_y, block_dim_z]);
    let shape = Shape { grid, threads, shared: shared_mem_bytes, cooperative: false };
    // SAFETY: the same contract.
    unsafe { launch(call, f, &shape, stream, (kernel_params, extra)) }
}

const ATTRIBUTE_COOPERATIVE: c_uint = 2;
const ATTRIBUTE_CLUSTER_DIMENSION: c_uint = 4;

pub(super) unsafe fn cuLaunchKernelEx(
    call: &Call<'_>,
    config: *const CUlaunchConfig,
    f: CUfunction,
    kernel_params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Answer {
    present(config)?;
    // SAFETY: the caller's structure, by the driver's contract; nothing is said of its alignment.
    let config = unsafe { config.read_unaligned() };
    let mut cooperative = false;
    if config.numAttrs > 0 {
        present(config.attrs)?;
    }
    for index in 0..config.numAttrs as usize {
        // SAFETY: the caller's array of `numAttrs` elements, by the driver's contract.
        let attribute = unsafe { config.attrs.add(index).read_unaligned() };
        match attribute.id {
            ATTRIBUTE_COOPERATIVE => cooperative = attribute.value[0] as u32 != 0,
            // Clusters of one block are what every launch has.
            ATTRIBUTE_CLUSTER_DIMENSION => {
                let [low, high, ..] = attribute.value;
                if [low as u32, (low >> 32) as u32, high as u32].iter().any(|extent| *extent > 1) {
                    return unsupported();
                }
            }
            0..=18 => {}
            _ => return Err(INVALID_VALUE),
        }
    }
    let grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
    let threads = [config.blockDimX, config.blockDimY, config.blockDimZ];
    let shape = Shape { grid, threads, shared: config.sharedMemBytes, cooperative };
    // SAFETY: the same contract.
    unsafe { launch(call, f, &shape, config.hStream, (kernel_params, extra)) }
}

pub(super) unsafe fn cuLaunchCooperativeKernel(
    call: &Call<'_>,
    f: CUfunction,
    grid_dim_x: c_uint,
    grid_dim_y: c_uint,
    grid_dim_z: c_uint,
    block_dim_x: c_uint,
    block_dim_y: c_uint,
    block_dim_z: c_uint,
    shared_mem_bytes: c_uint,
    stream: CUstream,
    kernel_params: *mut *mut c_void,
) -> Answer {
    let (grid, threads) = ([grid_dim_x, grid_dim_y, grid_dim_z], [block_dim_x, block_dim_y, block_dim_z]);
    let shape = Shape { grid, threads, shared: shared_mem_bytes, cooperative: true };
    // SAFETY: the same contract.
    unsafe { launch(call, f, &shape, stream, (kernel_params, std::ptr::null_mut())) }
}

/// How many blocks of a function a multiprocessor holds.
fn active_blocks(call: &Call<'_>, func: CUfunction, block_size: c_int, dynamic: usize) -> Result<c_int, CUresult> {
    let meant = call.lock().code.meant(func)?;
    let threads = u32::try_from(block_size).ok().filter(|threads| *threads > 0).ok_or(INVALID_VALUE)?;
    let capability = call.driver.settings().compute_capability;
    Ok(meant.blocks(threads, dynamic as u64, capability) as c_int)
}

pub(super) unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    call: &Call<'_>,
    num_blocks: *mut c_int,
    func: CUfunction,
    block_size: c_int,
    dynamic_smem_size: usize,
) -> Answer {
    present(num_blocks)?;
    let blocks = active_blocks(call, func, block_size, dynamic_smem_size)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(num_blocks, blocks) }
}

pub(super) unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    call: &Call<'_>,
    num_blocks: *mut c_int,
    func: CUfunction,
    block_size: c_int,
    dynamic_smem_size: usize,
    flags: c_uint,
) -> Answer {
    if flags > 1 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the same contract.
    unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(call, num_blocks, func, block_size, dynamic_smem_size) }
}

pub(super) unsafe fn cuOccupancyMaxPotentialBlockSize(
    call: &Call<'_>,
    min_grid_size: *mut c_int,
    block_size: *mut c_int,
    func: CUfunction,
    block_size_to_dynamic_smem_size: CUoccupancyB2DSize,
    dynamic_smem_size: usize,
    block_size_limit: c_int,
) -> Answer {
    present(min_grid_size)?;
    present(block_size)?;
    let meant = call.lock().code.meant(func)?;
    let capability = call.driver.settings().compute_capability;
    let limit = u32::try_from(block_size_limit).map_err(|_| INVALID_VALUE)?;
    let most = if limit == 0 { meant.max_threads() } else { limit.min(meant.max_threads()) };
    let mut best = (0, 0, 0);
    for threads in (1..=most.div_ceil(32)).rev().map(|warps| (warps * 32).min(most)) {
        let dynamic = match block_size_to_dynamic_smem_size {
            // SAFETY: the caller's function, made to be called with block sizes. The driver's lock is not held.
            Some(function) => unsafe { function(threads as c_int) },
            None => dynamic_smem_size,
        };
        let blocks = meant.blocks(threads, dynamic as u64, capability);
        if blocks * threads > best.0 {
            best = (blocks * threads, threads, blocks);
        }
    }
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe {
        put(min_grid_size, (u64::from(best.2) * MULTIPROCESSORS) as c_int)?;
        put(block_size, best.1 as c_int)
    }
}

pub(super) unsafe fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    call: &Call<'_>,
    min_grid_size: *mut c_int,
    block_size: *mut c_int,
    func: CUfunction,
    block_size_to_dynamic_smem_size: CUoccupancyB2DSize,
    dynamic_smem_size: usize,
    block_size_limit: c_int,
    flags: c_uint,
) -> Answer {
    if flags > 1 {
        return Err(INVALID_VALUE);
    }
    let by_size = block_size_to_dynamic_smem_size;
    // SAFETY: the same contract.
    unsafe {
        cuOccupancyMaxPotentialBlockSize(
            call,
            min_grid_size,
            block_size,
            func,
            by_size,
            dynamic_smem_size,
            block_size_limit,
        )
    }
}

pub(super) unsafe fn cuOccupancyAvailableDynamicSMemPerBlock(
    call: &Call<'_>,
    dynamic_smem_size: *mut usize,
    func: CUfunction,
    num_blocks: c_int,
    block_size: c_int,
) -> Answer {
    present(dynamic_smem_size)?;
    let wanted = u32::try_from(num_blocks).ok().filter(|blocks| *blocks > 0).ok_or(INVALID_VALUE)?;
    let threads = u32::try_from(block_size).ok().filter(|threads| *threads > 0).ok_or(INVALID_VALUE)?;
    let meant = call.lock().code.meant(func)?;
    let capability = call.driver.settings().compute_capability;
    let most = u64::from(MOST_SHARED.saturating_sub(meant.shared()));
    // The most for which so many blocks still fit, found by halving.
    let (mut low, mut high) = (0, most);
    if meant.blocks(threads, 0, capability) < wanted {
        return Err(INVALID_VALUE);
    }
    while low < high {
        let middle = (low + high).div_ceil(2);
        if meant.blocks(threads, middle, capability) >= wanted { low = middle } else { high = middle - 1 }
    }
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(dynamic_smem_size, low as usize) }
}
