//! Kernel launches.

use super::{INVALID_CLUSTER_SIZE, INVALID_HANDLE, INVALID_VALUE, dynamic_shared, most_shared};
use crate::capture;
use crate::config::{Config, identity};
use crate::driver::Call;
use crate::execution::{progress, submit};
use crate::launch::work as launches;
use crate::module::loading;
use crate::objects::code::ResolvedKernel;
use crate::objects::launch::{Launch, divides};
use crate::objects::launch_attributes::{self, Attributes, Holder};
use crate::objects::work::Work;
use crate::parameters::{In, Received, present};
use crate::state::State;
use crate::stream::lookup;
use cuarray_abi::*;
use std::ffi::{c_uint, c_void};
use std::sync::{Arc, OnceLock};

/// The grid, the block, the shared memory and the attributes of a launch.
#[derive(Clone, Default)]
pub(crate) struct Shape {
    pub grid: [c_uint; 3],
    pub threads: [c_uint; 3],
    pub shared: c_uint,
    pub cooperative: bool,
    /// Whether the launch may begin before the previous kernel of its stream has completed.
    pub dependent: bool,
    /// The blocks of a cluster along x, y and z, if the launch states them.
    pub cluster: Option<[c_uint; 3]>,
    /// The other attributes.
    pub attributes: Attributes,
}

impl Shape {
    /// The shape of a launch that was prepared before.
    pub(crate) fn of(launch: &Launch) -> Shape {
        Shape {
            grid: launch.grid,
            threads: launch.threads,
            shared: launch.dynamic_shared,
            cooperative: launch.cooperative,
            dependent: launch.dependent,
            cluster: launch.cluster_attribute,
            attributes: launch.attributes.clone(),
        }
    }
}

/// The terminator of `extra` lists, and the keys of their entries.
pub(super) const PARAM_END: usize = 0;
pub(super) const PARAM_BUFFER_POINTER: usize = 1;
pub(super) const PARAM_BUFFER_SIZE: usize = 2;

/// The arguments of a launch, as the program passed them: a pointer for each parameter, or a list with a buffer.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'call> {
    params: In<'call, *mut c_void>,
    extra: In<'call, *mut c_void>,
}

impl Arguments<'_> {
    /// # Safety
    /// The lists are the program's, and as the driver's manual defines for the kernel of the launch.
    pub(crate) unsafe fn of(params: *mut *mut c_void, extra: *mut *mut c_void) -> Self {
        // SAFETY: this function's contract.
        unsafe { Arguments { params: In::received(params), extra: In::received(extra) } }
    }

    /// The arguments as 64-bit words.
    fn words(self, resolved: &ResolvedKernel) -> Result<Vec<u64>, CUresult> {
        let function = &resolved.program.functions()[resolved.number as usize];
        let size = resolved.program.parameter_bytes(resolved.number) as usize;
        let mut words = vec![0_u64; size.div_ceil(8)];
        let target = words.as_mut_ptr().cast::<u8>();
        let (params, extra) = (self.params.pointer(), self.extra.pointer());
        if !params.is_null() {
            for (index, parameter) in function.parameters.iter().enumerate() {
                // SAFETY: the list has a pointer to a value for each parameter; the words have room for all of them.
                unsafe {
                    let source = params.add(index).read_unaligned().cast::<u8>();
                    present(source)?;
                    let place = target.add(parameter.offset as usize);
                    std::ptr::copy_nonoverlapping(source, place, parameter.size as usize);
                }
            }
            return Ok(words);
        }
        if extra.is_null() {
            return if function.parameters.is_empty() { Ok(words) } else { Err(INVALID_VALUE) };
        }
        let (mut buffer, mut length, mut at) = (std::ptr::null::<u8>(), 0, 0);
        loop {
            // SAFETY: the list is terminated.
            let (key, value) = unsafe {
                let key = extra.add(at).read_unaligned() as usize;
                if key == PARAM_END {
                    break;
                }
                (key, extra.add(at + 1).read_unaligned())
            };
            match key {
                PARAM_BUFFER_POINTER => buffer = value.cast(),
                // SAFETY: this value of the list is a pointer to a size.
                PARAM_BUFFER_SIZE => length = unsafe { value.cast::<usize>().read_unaligned() },
                _ => return Err(INVALID_VALUE),
            }
            at += 2;
        }
        if buffer.is_null() || length < size {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the buffer has `length` bytes.
        unsafe { std::ptr::copy_nonoverlapping(buffer, target, size) };
        Ok(words)
    }
}

/// Checks the clusters and the cooperation of blocks; returns the cluster.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CLUSTER_SIZE` and `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`.
pub(crate) fn check_groups(
    resolved: &ResolvedKernel,
    shape: &Shape,
    settings: &Config,
) -> Result<Option<[u32; 3]>, CUresult> {
    let capability = settings.compute_capability;
    let cluster = cluster(resolved, shape, capability)?;
    if cluster.is_some_and(|extents| !divides(extents, shape.grid)) {
        return Err(INVALID_CLUSTER_SIZE);
    }
    launch_attributes::check_preferred_cluster(&shape.attributes, cluster, shape.grid)?;
    if shape.cooperative {
        let threads = shape.threads.iter().product();
        let blocks = resolved.blocks(threads, shape.shared.into(), capability);
        let resident = u64::from(blocks) * u64::from(settings.multiprocessors);
        if shape.grid.iter().map(|extent| u64::from(*extent)).product::<u64>() > resident {
            return Err(CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    Ok(cluster)
}

/// Checks a launch and prepares it.
pub(crate) fn prepare(
    call: &Call<'_>,
    state: &mut State,
    context: CUcontext,
    handle: CUfunction,
    shape: &Shape,
    arguments: Arguments<'_>,
) -> Result<Arc<Launch>, CUresult> {
    // The handle of a library's kernel is replaced by the kernel's function in the context.
    let handle = match state.code.functions.contains_key(&handle) {
        true => handle,
        false => loading::function_of(state, CUkernel(handle.0), context)?,
    };
    let resolved = state.code.resolve(handle)?;
    let module = state.code.functions.get(&handle).and_then(|function| state.code.modules.get(&function.module));
    let module = module.ok_or(INVALID_HANDLE)?;
    if module.context != context {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    let function = &resolved.program.functions()[resolved.number as usize];
    let threads = shape.threads.iter().try_fold(1_u32, |product, extent| product.checked_mul(*extent));
    let threads = threads.filter(|threads| *threads > 0 && *threads <= 1024).ok_or(INVALID_VALUE)?;
    let grid_fits = shape.grid[0] as i32 > 0 && shape.grid[1..].iter().all(|extent| (1..=65535).contains(extent));
    if !grid_fits || shape.threads[2] > 64 {
        return Err(INVALID_VALUE);
    }
    if function.max_threads.is_some_and(|(most, exact)| threads > most || (exact && threads != most)) {
        return Err(INVALID_VALUE);
    }
    if resolved.shared() > most_shared(call) || shape.shared > dynamic_shared(&resolved) {
        return Err(INVALID_VALUE);
    }
    let settings = call.driver.settings();
    let cluster = check_groups(&resolved, shape, &settings)?;
    let overlaps = settings.compute_capability.0 >= 9;
    // The registers that a device's compiler needs are not known, so they limit no launch that is not cooperative.
    let blocks = resolved.blocks_by_size(threads, shape.shared.into(), settings.compute_capability);
    let (constants, managed) = (module.constants.clone(), module.managed.clone());
    let parameters = arguments.words(&resolved)?;
    Ok(Arc::new(Launch {
        context,
        function: handle,
        pointers: OnceLock::new(),
        constants,
        kernel: resolved.number,
        grid: shape.grid,
        cluster,
        cluster_attribute: shape.cluster,
        threads: shape.threads,
        dynamic_shared: shape.shared,
        parameters,
        managed,
        cooperative: shape.cooperative,
        // Older devices run dependent launches in order.
        dependent: shape.dependent && overlaps,
        attributes: shape.attributes.clone(),
        settings: crate::objects::launch::Settings {
            overlaps,
            budget: settings.launch_budget,
            longest: settings.launch_seconds,
            memory_wait: settings.memory_wait,
            interrupts: settings.interrupts,
            cores: settings.cores,
            code: settings.code,
            quiet: settings.quiet,
            races: settings.findings && settings.kernel_races,
            searched: settings.searched_memory(),
            clock_rate: identity::CLOCK_RATE,
            resident_warps: identity::multiprocessor(settings.compute_capability).warps,
            multiprocessors: settings.multiprocessors,
            resident_blocks: blocks.saturating_mul(settings.multiprocessors),
            guesses: settings.guessed_reads,
            strict: settings.strict_kernel_races,
            poisons: settings.poisons_stray_reads,
            order: settings.kernel_order,
            every_order: settings.every_kernel_order,
        },
        program: resolved.program,
    }))
}

/// Enqueues a launch, or adds it to a capture as a node.
pub(super) fn launch(
    call: &Call<'_>,
    function: CUfunction,
    shape: &Shape,
    stream: CUstream,
    arguments: Arguments<'_>,
) -> Result<(), CUresult> {
    let (mut state, current) = call.current_for(stream)?;
    let handle = lookup::stream_of(&mut state, call, current, stream)?;
    let context = state.streams.get(&handle).map_or(current, |stream| stream.context);
    let mut launch = prepare(call, &mut state, context, function, shape, arguments)?;
    if capture::capture_launch(&mut state, handle, &mut launch)? {
        return Ok(());
    }
    launches::fix_limits(&mut state, &launch);
    let (mut state, at) = submit(call, state, handle, Work::Launch(launch), Vec::new())?;
    if state.streams.get(&handle).is_some_and(|stream| stream.last_polled_launch == at.operation) {
        progress::watch(call.driver, &mut state);
    }
    Ok(())
}

pub(crate) fn cuLaunchKernel(
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
    kernel_params: In<'_, *mut c_void>,
    extra: In<'_, *mut c_void>,
) -> Result<(), CUresult> {
    if !kernel_params.is_null() && !extra.is_null() {
        return Err(INVALID_VALUE);
    }
    let (grid, threads) = ([grid_dim_x, grid_dim_y, grid_dim_z], [block_dim_x, block_dim_y, block_dim_z]);
    let shape = Shape { grid, threads, shared: shared_mem_bytes, ..Shape::default() };
    launch(call, f, &shape, stream, Arguments { params: kernel_params, extra })
}

/// The most blocks of a cluster that every device of compute capability 9.0 supports, and the most that some support.
pub(super) const PORTABLE_CLUSTER: u32 = 8;
pub(super) const MOST_CLUSTER: u32 = 16;

/// The most blocks of a cluster that a launch of a function may have.
pub(super) fn most_cluster(resolved: &ResolvedKernel, shape: &Shape) -> u32 {
    let mode = shape.attributes.get(&CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE).map_or(0, |mode| mode.words[0]);
    match mode as u32 {
        1 => PORTABLE_CLUSTER,
        2 => MOST_CLUSTER,
        _ if resolved.settings.non_portable_cluster => MOST_CLUSTER,
        _ => PORTABLE_CLUSTER,
    }
}

/// The blocks of a cluster along x, y and z: of the launch, of the function's attributes, or of its directives.
pub(super) fn cluster(
    resolved: &ResolvedKernel,
    shape: &Shape,
    capability: (u32, u32),
) -> Result<Option<[u32; 3]>, CUresult> {
    let directives = resolved.program.functions()[resolved.number as usize].cluster;
    let own = directives.size.or((resolved.settings.cluster != [0; 3]).then_some(resolved.settings.cluster));
    let Some(extents) = shape.cluster.or(own) else {
        return if directives.explicit { Err(INVALID_CLUSTER_SIZE) } else { Ok(None) };
    };
    let blocks = extents.iter().try_fold(1_u32, |product, extent| product.checked_mul(*extent)).unwrap_or(u32::MAX);
    let portable = most_cluster(resolved, shape);
    let most = directives.max_blocks.map_or(portable, |most| most.min(portable));
    let most = if capability.0 < 9 { 1 } else { most };
    if own.is_some_and(|own| own != extents) || blocks == 0 || blocks > most {
        return Err(INVALID_CLUSTER_SIZE);
    }
    Ok(Some(extents))
}

/// Checks an attribute that a program sets, and prints why the simulator refuses it.
///
/// # Errors
/// Those of [`launch_attributes::check`]; `CUDA_ERROR_NOT_SUPPORTED` for one that is refused.
pub(crate) fn check_attribute(
    call: &Call<'_>,
    holder: Holder,
    attr: CUlaunchAttributeID,
    value: &CUlaunchAttributeValue,
) -> Result<(), CUresult> {
    let Some(reason) = launch_attributes::check(holder, attr, value)? else { return Ok(()) };
    let name = match attr {
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT",
        CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => "CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT",
        _ => "CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE",
    };
    call.driver.explain_refusal(name, reason);
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

impl Shape {
    /// Sets an attribute, whose value is checked already.
    pub(crate) fn set(&mut self, attr: CUlaunchAttributeID, value: CUlaunchAttributeValue) {
        let is_set = value.words[0] as u32 != 0;
        match attr {
            CU_LAUNCH_ATTRIBUTE_COOPERATIVE => self.cooperative = is_set,
            CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                self.cluster = Some(launch_attributes::extents(&value)).filter(|extents| *extents != [0; 3]);
            }
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION => self.dependent = is_set,
            _ => {
                self.attributes.insert(attr, value);
            }
        }
    }
}

/// The shape and the stream of a launch.
pub(super) fn shape_of(call: &Call<'_>, config: In<'_, CUlaunchConfig>) -> Result<(Shape, CUstream), CUresult> {
    let config = config.read()?;
    let mut shape = Shape {
        grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
        threads: [config.blockDimX, config.blockDimY, config.blockDimZ],
        shared: config.sharedMemBytes,
        ..Shape::default()
    };
    // SAFETY: the list is a member of the program's structure, which states its length.
    for attribute in unsafe { In::received(config.attrs).list(config.numAttrs as usize)? } {
        if attribute.id == CU_LAUNCH_ATTRIBUTE_IGNORE {
            continue;
        }
        let value = CUlaunchAttributeValue { words: attribute.value };
        check_attribute(call, Holder::Launch, attribute.id, &value)?;
        shape.set(attribute.id, value);
    }
    Ok((shape, config.hStream))
}

pub(crate) fn cuLaunchKernelEx(
    call: &Call<'_>,
    config: In<'_, CUlaunchConfig>,
    f: CUfunction,
    kernel_params: In<'_, *mut c_void>,
    extra: In<'_, *mut c_void>,
) -> Result<(), CUresult> {
    let (shape, stream) = shape_of(call, config)?;
    launch(call, f, &shape, stream, Arguments { params: kernel_params, extra })
}

pub(crate) fn cuLaunchCooperativeKernel(
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
    kernel_params: In<'_, *mut c_void>,
) -> Result<(), CUresult> {
    let (grid, threads) = ([grid_dim_x, grid_dim_y, grid_dim_z], [block_dim_x, block_dim_y, block_dim_z]);
    let shape = Shape { grid, threads, shared: shared_mem_bytes, cooperative: true, ..Shape::default() };
    launch(call, f, &shape, stream, Arguments { params: kernel_params, extra: In::NULL })
}
