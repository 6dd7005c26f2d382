//! Device resources, and green contexts, which have a part of them.
//!
//! Driver API: [green contexts](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GREEN__CONTEXTS.html). Kernels here have no
//! speed, so a part of the multiprocessors changes nothing but the numbers that the program reads. The order of work is that of
//! the streams: a green context has streams of its own, and is recorded and waited for as a whole.

use super::events::{record, wait};
use super::primary_context;
use crate::config::identity;
use crate::context::lifetime;
use crate::context::resources::{Granularity, Split};
use crate::driver::Call;
use crate::happens_before::handles;
use crate::objects::green_context::{GreenContext, Resources, Scope};
use crate::objects::stream::{Kind, Stream};
use crate::parameters::{In, InOut, Out};
use crate::state::State;
use crate::stream::exports::stream;
use cuarray_abi::*;
use std::ffi::{c_int, c_uint};

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const INVALID_TYPE: CUresult = CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE;
const INVALID_CONFIGURATION: CUresult = CUresult::CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;

/// The attribute of a device that states the number of its multiprocessors.
const MULTIPROCESSOR_COUNT: CUdevice_attribute = 16;

/// The default of `CUDA_DEVICE_MAX_CONNECTIONS`.
const CONNECTIONS: c_uint = 8;

/// Marks the resources that this driver has written.
const MARK: c_uint = 0x7265_7363;

/// The source of multiprocessors, which a resource keeps in its internal part.
#[derive(Clone, Copy, PartialEq)]
struct Source {
    device: usize,
    /// The number of the split; 0 for a resource of a device or a context.
    split: u32,
    /// Whether the resource is a group of the split, and not its remainder.
    group: bool,
}

impl Source {
    fn of(resource: &CUdevResource) -> Result<Source, CUresult> {
        match resource.internal {
            [MARK, device, split, group, ..] => Ok(Source { device: device as usize, split, group: group != 0 }),
            _ => Err(INVALID_VALUE),
        }
    }

    fn resource(self, sm: CUdevSmResource) -> CUdevResource {
        let mut resource = CUdevResource { kind: CU_DEV_RESOURCE_TYPE_SM, ..CUdevResource::default() };
        resource.internal[..4].copy_from_slice(&[MARK, self.device as c_uint, self.split, c_uint::from(self.group)]);
        resource.member.sm = sm;
        resource
    }
}

fn granularity(call: &Call<'_>) -> Granularity {
    Granularity::of(call.driver.settings().compute_capability)
}

/// All resources of a device.
fn of_device(call: &Call<'_>, state: &State, device: CUdevice) -> Result<Resources, CUresult> {
    let physical = state.device(device)?.physical;
    let settings = call.driver.settings();
    let count = identity::attribute(&settings, physical, MULTIPROCESSOR_COUNT).unwrap_or_default();
    let config = CUdevWorkqueueConfigResource {
        device,
        wqConcurrencyLimit: CONNECTIONS,
        sharingScope: CU_WORKQUEUE_SCOPE_DEVICE_CTX,
    };
    Ok(Resources { device: device as usize, sm: granularity(call).whole(count as u32), config, workqueue: 0 })
}

/// The resources of a context or a green context.
fn of_scope(call: &Call<'_>, state: &State, scope: Scope) -> Result<Resources, CUresult> {
    match scope.green {
        Some(green) => Ok(state.green(green)?.resources),
        None => of_device(call, state, state.context(scope.context)?.device as CUdevice),
    }
}

/// The resource of a type.
fn of_type(of: Resources, kind: CUdevResourceType) -> Result<CUdevResource, CUresult> {
    let mut resource = CUdevResource { kind, ..CUdevResource::default() };
    match kind {
        CU_DEV_RESOURCE_TYPE_SM => {
            return Ok(Source { device: of.device, split: 0, group: false }.resource(of.sm));
        }
        CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG => resource.member.wqConfig = of.config,
        CU_DEV_RESOURCE_TYPE_WORKQUEUE => {
            let mut queues = CUdevWorkqueueResource::default();
            queues.reserved[..3].copy_from_slice(&[MARK, of.device as c_uint, of.workqueue]);
            resource.member.wq = queues;
        }
        _ => return Err(INVALID_TYPE),
    }
    Ok(resource)
}

pub(crate) fn cuDeviceGetDevResource(
    call: &Call<'_>,
    device: CUdevice,
    resource: Out<'_, CUdevResource>,
    kind: CUdevResourceType,
) -> Result<(), CUresult> {
    resource.present()?;
    let all = of_device(call, &call.lock(), device)?;
    resource.put(of_type(all, kind)?)
}

pub(crate) fn cuCtxGetDevResource(
    call: &Call<'_>,
    ctx: CUcontext,
    resource: Out<'_, CUdevResource>,
    kind: CUdevResourceType,
) -> Result<(), CUresult> {
    resource.present()?;
    let state = call.lock();
    let scope = state.scope(ctx)?;
    resource.put(of_type(of_scope(call, &state, scope)?, kind)?)
}

pub(crate) fn cuGreenCtxGetDevResource(
    call: &Call<'_>,
    ctx: CUgreenCtx,
    resource: Out<'_, CUdevResource>,
    kind: CUdevResourceType,
) -> Result<(), CUresult> {
    resource.present()?;
    let own = call.lock().green(ctx)?.resources;
    resource.put(of_type(own, kind)?)
}

pub(crate) fn cuStreamGetDevResource(
    call: &Call<'_>,
    stream: CUstream,
    resource: Out<'_, CUdevResource>,
    kind: CUdevResourceType,
) -> Result<(), CUresult> {
    resource.present()?;
    let (state, scope) = stream::scope(call, stream)?;
    if kind != CU_DEV_RESOURCE_TYPE_SM {
        return Err(INVALID_TYPE);
    }
    resource.put(of_type(of_scope(call, &state, scope)?, kind)?)
}

/// The multiprocessors that a program wants to split. A group cannot be split again, by the manual.
fn splittable(input: In<'_, CUdevResource>) -> Result<(u32, Source), CUresult> {
    let input = input.read()?;
    let count = input.sm()?.smCount;
    let source = Source::of(&input)?;
    if source.group { Err(INVALID_CONFIGURATION) } else { Ok((count, source)) }
}

/// Writes the groups of a split, if the program wants them, and what they leave.
fn put_split(
    call: &Call<'_>,
    source: Source,
    split: &Split,
    result: Out<'_, CUdevResource>,
    remainder: Out<'_, CUdevResource>,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    state.green_contexts.splits += 1;
    let source = Source { split: state.green_contexts.splits, group: false, ..source };
    drop(state);
    if !result.is_null() {
        let groups = split.groups.iter().map(|group| Source { group: true, ..source }.resource(*group));
        // SAFETY: by the manual, the list has room for the number of groups that the program states, and there are no more.
        unsafe { result.put_all(groups)? };
    }
    remainder.put_if_present(split.rest.map_or_else(CUdevResource::default, |rest| source.resource(rest)));
    Ok(())
}

pub(crate) fn cuDevSmResourceSplitByCount(
    call: &Call<'_>,
    result: Out<'_, CUdevResource>,
    nb_groups: InOut<'_, c_uint>,
    input: In<'_, CUdevResource>,
    remainder: Out<'_, CUdevResource>,
    flags: c_uint,
    min_count: c_uint,
) -> Result<(), CUresult> {
    let room = nb_groups.read()?;
    let (count, source) = splittable(input)?;
    let most = if result.is_null() { c_uint::MAX } else { room };
    if most == 0 {
        return Err(INVALID_VALUE);
    }
    let split = granularity(call).split_by_count(count, most, flags, min_count)?;
    put_split(call, source, &split, result, remainder)?;
    nb_groups.put(split.groups.len() as c_uint)
}

pub(crate) fn cuDevSmResourceSplit(
    call: &Call<'_>,
    result: Out<'_, CUdevResource>,
    nb_groups: c_uint,
    input: In<'_, CUdevResource>,
    remainder: Out<'_, CUdevResource>,
    flags: c_uint,
    group_params: InOut<'_, CU_DEV_SM_RESOURCE_GROUP_PARAMS>,
) -> Result<(), CUresult> {
    group_params.present()?;
    if nb_groups == 0 || flags != 0 {
        return Err(INVALID_VALUE);
    }
    let (count, source) = splittable(input)?;
    // SAFETY: the manual gives the list this length.
    let mut groups = unsafe { group_params.input.list(nb_groups as usize)? };
    let split = granularity(call).split(count, &mut groups, !result.is_null())?;
    put_split(call, source, &split, result, remainder)?;
    // SAFETY: as above.
    unsafe { group_params.output.put_all(groups) }
}

/// The resources that a list describes; what it leaves out is that of the device.
fn described(call: &Call<'_>, state: &mut State, list: &[CUdevResource]) -> Result<Resources, CUresult> {
    let mut parts: Vec<(Source, CUdevSmResource)> = Vec::new();
    let (mut devices, mut config, mut queues) = (Vec::new(), None, None);
    for resource in list {
        match resource.kind {
            CU_DEV_RESOURCE_TYPE_SM => {
                let source = Source::of(resource)?;
                devices.push(source.device as CUdevice);
                parts.push((source, resource.sm()?));
            }
            CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG => {
                let wanted = resource.workqueue_config()?;
                if wanted.wqConcurrencyLimit == 0 || wanted.sharingScope > CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED {
                    return Err(INVALID_VALUE);
                }
                devices.push(wanted.device);
                config = Some(wanted);
            }
            CU_DEV_RESOURCE_TYPE_WORKQUEUE => {
                let [MARK, device, number, ..] = resource.workqueue()?.reserved else { return Err(INVALID_VALUE) };
                devices.push(device as CUdevice);
                queues = Some(number);
            }
            _ => return Err(INVALID_TYPE),
        }
    }
    let device = *devices.first().ok_or(INVALID_VALUE)?;
    let fits = |(source, sm): &(Source, CUdevSmResource)| {
        let (first, of_first) = &parts[0];
        source.split == first.split && source.split != 0 && sm.smCoscheduledAlignment == of_first.smCoscheduledAlignment
    };
    if devices.iter().any(|other| *other != device) || (parts.len() > 1 && !parts.iter().all(fits)) {
        return Err(INVALID_CONFIGURATION);
    }
    let mut resources = of_device(call, state, device).map_err(|_| INVALID_VALUE)?;
    if let Some((_, first)) = parts.first() {
        resources.sm = CUdevSmResource { smCount: parts.iter().map(|(_, sm)| sm.smCount).sum(), ..*first };
    }
    if let Some(wanted) = config {
        resources.config = wanted;
        if wanted.sharingScope == CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED {
            state.green_contexts.workqueues += 1;
            resources.workqueue = state.green_contexts.workqueues;
        }
    }
    resources.workqueue = queues.unwrap_or(resources.workqueue);
    Ok(resources)
}

pub(crate) fn cuDevResourceGenerateDesc(
    call: &Call<'_>,
    ph_desc: Out<'_, CUdevResourceDesc>,
    resources: In<'_, CUdevResource>,
    nb_resources: c_uint,
) -> Result<(), CUresult> {
    ph_desc.present()?;
    // SAFETY: the manual gives the list this length.
    let list = unsafe { resources.list(nb_resources as usize)? };
    let mut state = call.lock();
    let resources = described(call, &mut state, &list)?;
    let handle = CUdevResourceDesc(crate::handle::fresh());
    state.green_contexts.descriptions.insert(handle, resources);
    ph_desc.put(handle)
}

pub(crate) fn cuGreenCtxCreate(
    call: &Call<'_>,
    ph_ctx: Out<'_, CUgreenCtx>,
    desc: CUdevResourceDesc,
    dev: CUdevice,
    flags: c_uint,
) -> Result<(), CUresult> {
    ph_ctx.present()?;
    let mut state = call.lock();
    state.device(dev)?;
    let resources = *state.green_contexts.descriptions.get(&desc).ok_or(INVALID_VALUE)?;
    if flags & !CU_GREEN_CTX_DEFAULT_STREAM != 0 || resources.device != dev as usize {
        return Err(INVALID_VALUE);
    }
    let primary = primary_context::retain(&mut state, dev)?;
    let [handle, context] = [(); 2].map(|()| crate::handle::fresh());
    let (handle, context) = (CUgreenCtx(handle), CUcontext(context));
    let default_stream = match flags {
        CU_GREEN_CTX_NONE => None,
        _ => {
            let scope = Scope { context: primary, green: Some(handle) };
            let stream = CUstream(crate::handle::fresh());
            state.add_stream(stream, scope, Stream::new(primary, Kind::OfGreen, CU_STREAM_NON_BLOCKING, 0))?;
            Some(stream)
        }
    };
    let id = lifetime::next_id();
    let green = GreenContext { primary, context, id, resources, default_stream, ended: None };
    state.green_contexts.table.insert(handle, green);
    handles::created(&mut state, "green context", handle.0 as u64);
    ph_ctx.put(handle)
}

/// Runs the work of the green context's streams. The calling thread does not follow this work, as the manual promises no wait.
pub(crate) fn cuGreenCtxDestroy(call: &Call<'_>, ctx: CUgreenCtx) -> Result<(), CUresult> {
    let state = call.lock();
    let device = state.green(ctx)?.resources.device as CUdevice;
    let state = lifetime::close_green(call.driver, state, ctx);
    primary_context::release(call, state, device)
}

pub(crate) fn cuCtxFromGreenCtx(
    call: &Call<'_>,
    p_context: Out<'_, CUcontext>,
    ctx: CUgreenCtx,
) -> Result<(), CUresult> {
    p_context.present()?;
    let context = call.lock().green(ctx)?.context;
    p_context.put(context)
}

pub(crate) fn cuGreenCtxGetId(
    call: &Call<'_>,
    green_ctx: CUgreenCtx,
    green_ctx_id: Out<'_, u64>,
) -> Result<(), CUresult> {
    green_ctx_id.present()?;
    let (state, green) = match green_ctx.is_null() {
        true => {
            let (state, scope) = call.current_scope()?;
            (state, scope.green.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?)
        }
        false => (call.lock(), green_ctx),
    };
    green_ctx_id.put(state.green(green)?.id)
}

pub(crate) fn cuGreenCtxStreamCreate(
    call: &Call<'_>,
    ph_stream: Out<'_, CUstream>,
    green_ctx: CUgreenCtx,
    flags: c_uint,
    priority: c_int,
) -> Result<(), CUresult> {
    ph_stream.present()?;
    let mut state = call.lock();
    let scope = state.green_scope(green_ctx)?;
    if flags != CU_STREAM_NON_BLOCKING {
        return Err(INVALID_VALUE);
    }
    ph_stream.put(stream::create(&mut state, scope, flags, priority)?)
}

pub(crate) fn cuStreamGetGreenCtx(
    call: &Call<'_>,
    stream: CUstream,
    ph_ctx: Out<'_, CUgreenCtx>,
) -> Result<(), CUresult> {
    ph_ctx.present()?;
    let (state, scope) = stream::scope(call, stream)?;
    drop(state);
    ph_ctx.put(scope.green.unwrap_or_default())
}

pub(crate) fn cuGreenCtxRecordEvent(call: &Call<'_>, ctx: CUgreenCtx, event: CUevent) -> Result<(), CUresult> {
    let state = call.lock();
    let scope = state.green_scope(ctx)?;
    record(call, state, scope, event)
}

pub(crate) fn cuGreenCtxWaitEvent(call: &Call<'_>, ctx: CUgreenCtx, event: CUevent) -> Result<(), CUresult> {
    let state = call.lock();
    let scope = state.green_scope(ctx)?;
    wait(call, state, scope, event)
}
