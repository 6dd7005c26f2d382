//! Green contexts: parts of a device's resources, their streams, and the order of their work.

mod lifetime;
mod order;
mod resources;
use crate::program::*;

const SM: CUdevResourceType = CU_DEV_RESOURCE_TYPE_SM;
const WORKQUEUE_CONFIG: CUdevResourceType = CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG;
const WORKQUEUE: CUdevResourceType = CU_DEV_RESOURCE_TYPE_WORKQUEUE;

fn of_device(p: &Program, device: CUdevice, kind: CUdevResourceType) -> CUdevResource {
    let mut resource = CUdevResource::default();
    ok!(p, cuDeviceGetDevResource(device, &mut resource, kind));
    resource
}

fn of_green(p: &Program, green: CUgreenCtx, kind: CUdevResourceType) -> CUdevResource {
    let mut resource = CUdevResource::default();
    ok!(p, cuGreenCtxGetDevResource(green, &mut resource, kind));
    resource
}

fn count(resource: &CUdevResource) -> u32 {
    resource.sm().unwrap().smCount
}

/// Splits into at most two groups of at least `least` multiprocessors.
fn split(p: &Program, input: &CUdevResource, least: u32) -> ([CUdevResource; 2], CUdevResource) {
    let (mut groups, mut rest, mut number) = ([CUdevResource::default(); 2], CUdevResource::default(), 2);
    ok!(p, cuDevSmResourceSplitByCount(groups.as_mut_ptr(), &mut number, input, &mut rest, 0, least));
    assert_eq!(number, 2);
    (groups, rest)
}

fn describe(p: &Program, resources: &[CUdevResource]) -> CUdevResourceDesc {
    let (mut list, mut description) = (resources.to_vec(), CUdevResourceDesc::NULL);
    ok!(p, cuDevResourceGenerateDesc(&mut description, list.as_mut_ptr(), list.len() as u32));
    description
}

fn create(p: &Program, resources: &[CUdevResource]) -> CUgreenCtx {
    let mut green = CUgreenCtx::NULL;
    ok!(p, cuGreenCtxCreate(&mut green, describe(p, resources), 0, CU_GREEN_CTX_DEFAULT_STREAM));
    green
}

/// Two green contexts with 64 multiprocessors each.
fn two(p: &Program) -> [CUgreenCtx; 2] {
    let (groups, _) = split(p, &of_device(p, 0, SM), 64);
    groups.map(|group| create(p, &[group]))
}

fn stream_of(p: &Program, green: CUgreenCtx) -> CUstream {
    let mut stream = CUstream::NULL;
    ok!(p, cuGreenCtxStreamCreate(&mut stream, green, CU_STREAM_NON_BLOCKING, 0));
    stream
}

fn context_of(p: &Program, green: CUgreenCtx) -> CUcontext {
    let mut context = CUcontext::NULL;
    ok!(p, cuCtxFromGreenCtx(&mut context, green));
    context
}
