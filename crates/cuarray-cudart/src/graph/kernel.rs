//! Kernel nodes.
//!
//! The runtime names a kernel by its host function, or by a handle that it gave out. The driver's nodes have a kernel of a
//! library, or a function of a module.

use super::read;
use crate::call::{present, put};
use crate::driver::cu;
use crate::registration;
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::{Api, CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v1, CUcontext, CUfunction, CUkernel};
use std::collections::HashSet;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The functions of modules that the parameters of nodes have shown to the program. It may pass them back.
static SHOWN: Mutex<Option<HashSet<CUfunction>>> = Mutex::new(None);

/// A kernel as the driver's parameters name it.
fn named(api: &Api, function: *const c_void) -> Result<(CUfunction, CUkernel)> {
    let shown = CUfunction(function.addr());
    if SHOWN.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|known| known.contains(&shown)) {
        return Ok((shown, CUkernel::NULL));
    }
    registration::kernel(api, function).map(|kernel| (CUfunction::NULL, kernel))
}

/// A kernel as the runtime's parameters name it, from the driver's names.
fn shown(api: &Api, function: CUfunction, kernel: CUkernel) -> (*mut c_void, cudaKernelFunctionType) {
    if let Some(host) = registration::host_of(api, function, kernel) {
        return (host.cast_mut(), DEVICE_ENTRY);
    }
    if function.is_null() {
        registration::kernel_handles::add(cudaLibrary_t::NULL, &[kernel]);
        return (ptr::without_provenance_mut(kernel.0), KERNEL);
    }
    let mut known = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().insert(function);
    (ptr::without_provenance_mut(function.0), FUNCTION)
}

/// The driver's parameters for those of the runtime.
pub(super) fn to_driver(api: &Api, node: &cudaKernelNodeParamsV2) -> Result<CUDA_KERNEL_NODE_PARAMS> {
    let (func, kern) = match node.functionType {
        UNSPECIFIED | DEVICE_ENTRY => named(api, node.func)?,
        KERNEL => (CUfunction::NULL, registration::kernel_of_handle(api, CUkernel(node.func.addr()))?),
        FUNCTION if !node.func.is_null() => (CUfunction(node.func.addr()), CUkernel::NULL),
        FUNCTION => return Err(cudaError_t::cudaErrorInvalidDeviceFunction),
        _ => return Err(cudaError_t::cudaErrorInvalidValue),
    };
    let v1 = CUDA_KERNEL_NODE_PARAMS_v1 {
        func,
        gridDimX: node.gridDim.x,
        gridDimY: node.gridDim.y,
        gridDimZ: node.gridDim.z,
        blockDimX: node.blockDim.x,
        blockDimY: node.blockDim.y,
        blockDimZ: node.blockDim.z,
        sharedMemBytes: node.sharedMemBytes,
        kernelParams: node.kernelParams,
        extra: node.extra,
    };
    Ok(CUDA_KERNEL_NODE_PARAMS { v1, kern, ctx: node.ctx })
}

/// The runtime's parameters for those of the driver.
pub(super) fn from_driver(api: &Api, node: &CUDA_KERNEL_NODE_PARAMS) -> cudaKernelNodeParamsV2 {
    let v1 = node.v1;
    let (func, functionType) = shown(api, v1.func, node.kern);
    cudaKernelNodeParamsV2 {
        func,
        gridDim: dim3 { x: v1.gridDimX, y: v1.gridDimY, z: v1.gridDimZ },
        blockDim: dim3 { x: v1.blockDimX, y: v1.blockDimY, z: v1.blockDimZ },
        sharedMemBytes: v1.sharedMemBytes,
        kernelParams: v1.kernelParams,
        extra: v1.extra,
        ctx: cudaExecutionContext_t::NULL,
        functionType,
    }
}

/// Reads the parameters of a kernel node, and converts them.
unsafe fn read_node(api: &Api, parameters: *const cudaKernelNodeParams) -> Result<CUDA_KERNEL_NODE_PARAMS> {
    // SAFETY: by the contract of this function.
    let node = unsafe { read(parameters)? };
    to_driver(
        api,
        &cudaKernelNodeParamsV2 {
            func: node.func,
            gridDim: node.gridDim,
            blockDim: node.blockDim,
            sharedMemBytes: node.sharedMemBytes,
            kernelParams: node.kernelParams,
            extra: node.extra,
            ctx: cudaExecutionContext_t::NULL,
            functionType: UNSPECIFIED,
        },
    )
}

pub(crate) unsafe fn cudaGraphAddKernelNode(
    api: &Api,
    p_graph_node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    p_dependencies: *const cudaGraphNode_t,
    num_dependencies: usize,
    p_node_params: *const cudaKernelNodeParams,
) -> Result {
    present(p_graph_node)?;
    // SAFETY: by the contract of this function.
    let node = unsafe { read_node(api, p_node_params)? };
    cu!(api.cuGraphAddKernelNode_v2(p_graph_node, graph, p_dependencies, num_dependencies, &raw const node))
}

pub(crate) unsafe fn cudaGraphKernelNodeGetParams(
    api: &Api,
    node: cudaGraphNode_t,
    p_node_params: *mut cudaKernelNodeParams,
) -> Result {
    present(p_node_params)?;
    let v1 = CUDA_KERNEL_NODE_PARAMS_v1 {
        func: CUfunction::NULL,
        gridDimX: 0,
        gridDimY: 0,
        gridDimZ: 0,
        blockDimX: 0,
        blockDimY: 0,
        blockDimZ: 0,
        sharedMemBytes: 0,
        kernelParams: ptr::null_mut(),
        extra: ptr::null_mut(),
    };
    let mut found = CUDA_KERNEL_NODE_PARAMS { v1, kern: CUkernel::NULL, ctx: CUcontext::NULL };
    cu!(api.cuGraphKernelNodeGetParams_v2(node, &raw mut found))?;
    let found = from_driver(api, &found);
    let params = cudaKernelNodeParams {
        func: found.func,
        gridDim: found.gridDim,
        blockDim: found.blockDim,
        sharedMemBytes: found.sharedMemBytes,
        kernelParams: found.kernelParams,
        extra: found.extra,
    };
    // SAFETY: by the contract of this function.
    unsafe { put(p_node_params, params) }
}

pub(crate) unsafe fn cudaGraphKernelNodeSetParams(
    api: &Api,
    node: cudaGraphNode_t,
    p_node_params: *const cudaKernelNodeParams,
) -> Result {
    // SAFETY: by the contract of this function.
    let params = unsafe { read_node(api, p_node_params)? };
    cu!(api.cuGraphKernelNodeSetParams_v2(node, &raw const params))
}

pub(crate) unsafe fn cudaGraphExecKernelNodeSetParams(
    api: &Api,
    h_graph_exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    p_node_params: *const cudaKernelNodeParams,
) -> Result {
    // SAFETY: by the contract of this function.
    let params = unsafe { read_node(api, p_node_params)? };
    cu!(api.cuGraphExecKernelNodeSetParams_v2(h_graph_exec, node, &raw const params))
}

pub(crate) unsafe fn cudaGraphKernelNodeCopyAttributes(
    api: &Api,
    h_dst: cudaGraphNode_t,
    h_src: cudaGraphNode_t,
) -> Result {
    cu!(api.cuGraphKernelNodeCopyAttributes(h_dst, h_src))
}

/// The function of CUDA 12, whose header names the source first. The driver takes the destination first.
pub(crate) unsafe fn cudaGraphKernelNodeCopyAttributes_v1(
    api: &Api,
    h_src: cudaGraphNode_t,
    h_dst: cudaGraphNode_t,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaGraphKernelNodeCopyAttributes(api, h_dst, h_src) }
}

pub(crate) unsafe fn cudaGraphKernelNodeGetAttribute(
    api: &Api,
    h_node: cudaGraphNode_t,
    attr: cudaLaunchAttributeID,
    value_out: *mut cudaLaunchAttributeValue,
) -> Result {
    present(value_out)?;
    cu!(api.cuGraphKernelNodeGetAttribute(h_node, attr as _, value_out.cast()))
}

pub(crate) unsafe fn cudaGraphKernelNodeSetAttribute(
    api: &Api,
    h_node: cudaGraphNode_t,
    attr: cudaLaunchAttributeID,
    value: *const cudaLaunchAttributeValue,
) -> Result {
    present(value)?;
    cu!(api.cuGraphKernelNodeSetAttribute(h_node, attr as _, value.cast()))
}
