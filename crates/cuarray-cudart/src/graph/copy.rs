//! Nodes that copy and fill memory.

use super::{current, read};
use crate::call::{present, put};
use crate::channel;
use crate::driver::cu;
use crate::memory::pointer;
use crate::result::{Result, cudaError_t};
use crate::symbols;
use crate::transfer::{self, DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, HOST_TO_HOST};
use crate::types::*;
use cuarray_abi::{Api, CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CUDA_MEMCPY3D};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

/// A copy as the runtime describes it, from the driver's description. The position and extent of an array count its texels;
/// those of an array that is gone count bytes.
pub(super) fn from_driver(api: &Api, copy: &CUDA_MEMCPY3D) -> cudaMemcpy3DParms {
    let pitched = |kind, host: *const c_void, device, pitch, height| match kind {
        CU_MEMORYTYPE_HOST => cudaPitchedPtr { ptr: host.cast_mut(), pitch, xsize: pitch, ysize: height },
        CU_MEMORYTYPE_ARRAY => cudaPitchedPtr { ptr: ptr::null_mut(), pitch: 0, xsize: 0, ysize: 0 },
        _ => cudaPitchedPtr { ptr: pointer(device), pitch, xsize: pitch, ysize: height },
    };
    let texel = |kind, array| match kind {
        CU_MEMORYTYPE_ARRAY => channel::texel(api, array).unwrap_or(1),
        _ => 1,
    };
    let (src_texel, dst_texel) = (texel(copy.srcMemoryType, copy.srcArray), texel(copy.dstMemoryType, copy.dstArray));
    let side = |kind| if kind == CU_MEMORYTYPE_ARRAY { CU_MEMORYTYPE_DEVICE } else { kind };
    let kind = match (side(copy.srcMemoryType), side(copy.dstMemoryType)) {
        (CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST) => HOST_TO_HOST,
        (CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE) => HOST_TO_DEVICE,
        (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST) => DEVICE_TO_HOST,
        (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE) => DEVICE_TO_DEVICE,
        _ => DEFAULT,
    };
    cudaMemcpy3DParms {
        srcArray: copy.srcArray,
        srcPos: cudaPos { x: copy.srcXInBytes / src_texel, y: copy.srcY, z: copy.srcZ },
        srcPtr: pitched(copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcPitch, copy.srcHeight),
        dstArray: copy.dstArray,
        dstPos: cudaPos { x: copy.dstXInBytes / dst_texel, y: copy.dstY, z: copy.dstZ },
        dstPtr: pitched(copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstPitch, copy.dstHeight),
        extent: cudaExtent {
            width: copy.WidthInBytes / src_texel.max(dst_texel),
            height: copy.Height,
            depth: copy.Depth,
        },
        kind,
    }
}

/// The driver's parameters of a node. An empty copy is no node of the driver.
pub(super) fn to_driver(api: &Api, copy: &cudaMemcpy3DParms) -> Result<CUDA_MEMCPY3D> {
    transfer::to_driver(api, copy)?.ok_or(cudaError_t::cudaErrorInvalidValue)
}

/// Reads the parameters of a copy, and converts them.
unsafe fn read_copy(api: &Api, parameters: *const cudaMemcpy3DParms) -> Result<CUDA_MEMCPY3D> {
    // SAFETY: by the contract of this function.
    to_driver(api, &unsafe { read(parameters)? })
}

/// The parameters of a copy of consecutive bytes.
fn linear(
    api: &Api,
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Result<CUDA_MEMCPY3D> {
    let row = |ptr| cudaPitchedPtr { ptr, pitch: count, xsize: count, ysize: 1 };
    to_driver(
        api,
        &cudaMemcpy3DParms {
            srcArray: cudaArray_t::NULL,
            srcPos: cudaPos::default(),
            srcPtr: row(src.cast_mut()),
            dstArray: cudaArray_t::NULL,
            dstPos: cudaPos::default(),
            dstPtr: row(dst),
            extent: cudaExtent { width: count, height: 1, depth: 1 },
            kind,
        },
    )
}

/// Where a new node goes.
struct Place {
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
}

unsafe fn add(api: &Api, place: &Place, copy: &CUDA_MEMCPY3D) -> Result {
    present(place.node)?;
    cu!(api.cuGraphAddMemcpyNode(place.node, place.graph, place.dependencies, place.count, copy, current(api)?))
}

unsafe fn set(api: &Api, node: cudaGraphNode_t, copy: &CUDA_MEMCPY3D) -> Result {
    cu!(api.cuGraphMemcpyNodeSetParams(node, copy))
}

unsafe fn set_executable(api: &Api, exec: cudaGraphExec_t, node: cudaGraphNode_t, copy: &CUDA_MEMCPY3D) -> Result {
    cu!(api.cuGraphExecMemcpyNodeSetParams(exec, node, copy, current(api)?))
}

/// The functions that add a node, change a node, and change an executable node, for each form of a copy.
macro_rules! copies {
    ($($add:ident $set:ident $set_executable:ident ($($argument:ident: $ty:ty),*) = |$api:ident| $copy:expr;)*) => {$(
        pub(crate) unsafe fn $add(
            $api: &Api,
            p_graph_node: *mut cudaGraphNode_t,
            graph: cudaGraph_t,
            p_dependencies: *const cudaGraphNode_t,
            num_dependencies: usize,
            $($argument: $ty),*
        ) -> Result {
            let place = Place { node: p_graph_node, graph, dependencies: p_dependencies, count: num_dependencies };
            // SAFETY: by the contract of this function.
            unsafe { add($api, &place, &$copy?) }
        }

        pub(crate) unsafe fn $set($api: &Api, node: cudaGraphNode_t, $($argument: $ty),*) -> Result {
            // SAFETY: by the contract of this function.
            unsafe { set($api, node, &$copy?) }
        }

        pub(crate) unsafe fn $set_executable(
            $api: &Api,
            h_graph_exec: cudaGraphExec_t,
            node: cudaGraphNode_t,
            $($argument: $ty),*
        ) -> Result {
            // SAFETY: by the contract of this function.
            unsafe { set_executable($api, h_graph_exec, node, &$copy?) }
        }
    )*};
}

copies! {
    cudaGraphAddMemcpyNode cudaGraphMemcpyNodeSetParams cudaGraphExecMemcpyNodeSetParams
        (p_copy_params: *const cudaMemcpy3DParms) = |api| read_copy(api, p_copy_params);
    cudaGraphAddMemcpyNode1D cudaGraphMemcpyNodeSetParams1D cudaGraphExecMemcpyNodeSetParams1D
        (dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind) = |api| linear(api, dst, src, count, kind);
    cudaGraphAddMemcpyNodeToSymbol cudaGraphMemcpyNodeSetParamsToSymbol cudaGraphExecMemcpyNodeSetParamsToSymbol
        (symbol: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind)
        = |api| symbols::target(api, symbol, count, offset, kind).and_then(|dst| linear(api, dst, src, count, kind));
    cudaGraphAddMemcpyNodeFromSymbol cudaGraphMemcpyNodeSetParamsFromSymbol cudaGraphExecMemcpyNodeSetParamsFromSymbol
        (dst: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind)
        = |api| symbols::source(api, symbol, count, offset, kind).and_then(|src| linear(api, dst, src, count, kind));
}

pub(crate) unsafe fn cudaGraphMemcpyNodeGetParams(
    api: &Api,
    node: cudaGraphNode_t,
    p_node_params: *mut cudaMemcpy3DParms,
) -> Result {
    present(p_node_params)?;
    let mut copy = MaybeUninit::<CUDA_MEMCPY3D>::zeroed();
    cu!(api.cuGraphMemcpyNodeGetParams(node, copy.as_mut_ptr()))?;
    // SAFETY: zero is a valid value of each field, and the driver has written them.
    let copy = unsafe { copy.assume_init() };
    // SAFETY: by the contract of this function.
    unsafe { put(p_node_params, from_driver(api, &copy)) }
}

pub(crate) unsafe fn cudaGraphAddMemsetNode(
    api: &Api,
    p_graph_node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    p_dependencies: *const cudaGraphNode_t,
    num_dependencies: usize,
    p_memset_params: *const cudaMemsetParams,
) -> Result {
    present(p_graph_node)?;
    present(p_memset_params)?;
    let context = current(api)?;
    cu!(api.cuGraphAddMemsetNode(p_graph_node, graph, p_dependencies, num_dependencies, p_memset_params, context))
}

pub(crate) unsafe fn cudaGraphMemsetNodeGetParams(
    api: &Api,
    node: cudaGraphNode_t,
    p_node_params: *mut cudaMemsetParams,
) -> Result {
    present(p_node_params)?;
    cu!(api.cuGraphMemsetNodeGetParams(node, p_node_params))
}

pub(crate) unsafe fn cudaGraphMemsetNodeSetParams(
    api: &Api,
    node: cudaGraphNode_t,
    p_node_params: *const cudaMemsetParams,
) -> Result {
    present(p_node_params)?;
    cu!(api.cuGraphMemsetNodeSetParams(node, p_node_params))
}

pub(crate) unsafe fn cudaGraphExecMemsetNodeSetParams(
    api: &Api,
    h_graph_exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    p_node_params: *const cudaMemsetParams,
) -> Result {
    present(p_node_params)?;
    cu!(api.cuGraphExecMemsetNodeSetParams(h_graph_exec, node, p_node_params, current(api)?))
}
