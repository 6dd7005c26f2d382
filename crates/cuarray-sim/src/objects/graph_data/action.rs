//! The actions of graph nodes, and their parameters.

use super::{AllocateNode, ConditionalNode, Given, INVALID_VALUE};
use crate::objects::allocation::Declared;
use crate::objects::array::Corner;
use crate::objects::copy::{End, Extent, Fill, Place, Transfer};
use crate::objects::host_function::HostFunction;
use crate::objects::launch::{Launch, divides};
use crate::objects::memory_operation::Batch;
use cuarray_abi::*;
use std::sync::Arc;

/// The action of a node.
#[derive(Clone)]
pub(crate) enum Action {
    Empty,
    Copy(Box<CopyNode>),
    Fill(FillNode),
    Host(HostFunction),
    Child(CUgraph),
    Wait(CUevent),
    Record(CUevent),
    Allocate(Box<AllocateNode>),
    Free(CUdeviceptr),
    Launch(Arc<Launch>),
    Conditional(Box<ConditionalNode>),
    Memory(Box<Batch>),
}

/// A memcpy node: its parameters, and the copy that they describe.
#[derive(Clone)]
pub(crate) struct CopyNode {
    pub params: Given<CUDA_MEMCPY3D>,
    pub transfer: Transfer,
    pub context: CUcontext,
}

/// A memset node.
#[derive(Clone)]
pub(crate) struct FillNode {
    pub params: CUDA_MEMSET_NODE_PARAMS,
    pub context: CUcontext,
}

impl Action {
    /// The type that `cuGraphNodeGetType` returns.
    pub(crate) fn kind(&self) -> CUgraphNodeType {
        match self {
            Action::Empty => CU_GRAPH_NODE_TYPE_EMPTY,
            Action::Copy(_) => CU_GRAPH_NODE_TYPE_MEMCPY,
            Action::Fill(_) => CU_GRAPH_NODE_TYPE_MEMSET,
            Action::Host(_) => CU_GRAPH_NODE_TYPE_HOST,
            Action::Child(_) => CU_GRAPH_NODE_TYPE_GRAPH,
            Action::Wait(_) => CU_GRAPH_NODE_TYPE_WAIT_EVENT,
            Action::Record(_) => CU_GRAPH_NODE_TYPE_EVENT_RECORD,
            Action::Allocate(_) => CU_GRAPH_NODE_TYPE_MEM_ALLOC,
            Action::Free(_) => CU_GRAPH_NODE_TYPE_MEM_FREE,
            Action::Launch(_) => CU_GRAPH_NODE_TYPE_KERNEL,
            Action::Conditional(_) => CU_GRAPH_NODE_TYPE_CONDITIONAL,
            Action::Memory(_) => CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
        }
    }

    /// The graphs that belong to the node: a child graph, or the bodies of a conditional node.
    pub(crate) fn own_graphs(&self) -> &[CUgraph] {
        match self {
            Action::Child(child) => std::slice::from_ref(child),
            Action::Conditional(node) => &node.bodies,
            _ => &[],
        }
    }

    /// The graphs that belong to the node, for replacement.
    pub(crate) fn own_graphs_mut(&mut self) -> &mut [CUgraph] {
        match self {
            Action::Child(child) => std::slice::from_mut(child),
            Action::Conditional(node) => &mut node.bodies,
            _ => &mut [],
        }
    }
}

impl Action {
    /// Copies from `old` the attributes, which a node's parameters do not contain: whether the launch is cooperative, its
    /// clusters, and others. So a change of the parameters preserves them.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CLUSTER_SIZE` if the new launch cannot have these clusters.
    pub(crate) fn keep_attributes(&mut self, old: &Action) -> Result<(), CUresult> {
        if let (Action::Launch(new), Action::Launch(old)) = (self, old)
            && let Some(new) = Arc::get_mut(new)
        {
            (new.cooperative, new.attributes) = (old.cooperative, old.attributes.clone());
            if let Some(extents) = old.cluster_attribute {
                if new.cluster.is_some_and(|own| own != extents) || !divides(extents, new.grid) {
                    return Err(CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE);
                }
                (new.cluster, new.cluster_attribute) = (Some(extents), Some(extents));
            }
        }
        Ok(())
    }
}

impl CopyNode {
    /// The node of a captured copy.
    pub(crate) fn captured(transfer: Transfer, context: CUcontext) -> CopyNode {
        CopyNode { params: Given(described(&transfer)), transfer, context }
    }
}

impl FillNode {
    /// The node of a captured fill.
    pub(crate) fn captured(fill: &Fill, context: CUcontext) -> FillNode {
        let size = u64::from(fill.value_size);
        let params = CUDA_MEMSET_NODE_PARAMS {
            dst: fill.target.address,
            pitch: fill.target.pitch as usize,
            value: fill.value,
            elementSize: size as u32,
            width: (fill.extent.width / size) as usize,
            height: fill.extent.height as usize,
        };
        FillNode { params, context }
    }

    /// The fill that the parameters describe.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an empty fill, an invalid element size, overlapping rows and misaligned rows.
    pub(crate) fn fill(&self) -> Result<Fill, CUresult> {
        let CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height } = self.params;
        let size = u64::from(elementSize);
        let bytes = (width as u64).checked_mul(size).filter(|bytes| *bytes > 0 && matches!(size, 1 | 2 | 4));
        let extent = Extent { width: bytes.ok_or(INVALID_VALUE)?, height: height as u64, depth: 1 };
        let target = Place { address: dst, pitch: pitch as u64, slice: 0 };
        let rows = height <= 1 || (target.pitch >= extent.width && target.pitch.is_multiple_of(size));
        if height == 0 || !rows || !dst.is_multiple_of(size) {
            return Err(INVALID_VALUE);
        }
        Ok(Fill { target, value, value_size: elementSize as u8, extent })
    }
}

/// The descriptor of a copy that was enqueued without one.
fn described(transfer: &Transfer) -> CUDA_MEMCPY3D {
    let kind = |end: &End| match end.declared {
        Declared::Host => CU_MEMORYTYPE_HOST,
        Declared::Device => CU_MEMORYTYPE_DEVICE,
        Declared::Unified => CU_MEMORYTYPE_UNIFIED,
        Declared::Array(_) => CU_MEMORYTYPE_ARRAY,
    };
    let host = |end: &End| if end.declared == Declared::Host { end.place.address } else { 0 };
    let device = |end: &End| match end.declared {
        Declared::Device | Declared::Unified => end.place.address,
        Declared::Host | Declared::Array(_) => 0,
    };
    let corner = |end: &End| match end.declared {
        Declared::Array(corner) => corner,
        _ => Corner { array: CUarray::NULL, origin: [0; 3] },
    };
    let place = |end: &End| match end.declared {
        // An array has its own pitch and height.
        Declared::Array(_) => Place::row(0),
        _ => end.place,
    };
    let height = |place: Place| place.slice.checked_div(place.pitch).unwrap_or(0) as usize;
    let Transfer { source, target, extent } = transfer;
    let (from, to) = (corner(source), corner(target));
    CUDA_MEMCPY3D {
        srcXInBytes: from.origin[0] as usize,
        srcY: from.origin[1] as usize,
        srcZ: from.origin[2] as usize,
        srcLOD: 0,
        srcMemoryType: kind(source),
        srcHost: host(source) as *const _,
        srcDevice: device(source),
        srcArray: from.array,
        reserved0: std::ptr::null_mut(),
        srcPitch: place(source).pitch as usize,
        srcHeight: height(place(source)),
        dstXInBytes: to.origin[0] as usize,
        dstY: to.origin[1] as usize,
        dstZ: to.origin[2] as usize,
        dstLOD: 0,
        dstMemoryType: kind(target),
        dstHost: host(target) as *mut _,
        dstDevice: device(target),
        dstArray: to.array,
        reserved1: std::ptr::null_mut(),
        dstPitch: place(target).pitch as usize,
        dstHeight: height(place(target)),
        WidthInBytes: extent.width as usize,
        Height: extent.height as usize,
        Depth: extent.depth as usize,
    }
}
