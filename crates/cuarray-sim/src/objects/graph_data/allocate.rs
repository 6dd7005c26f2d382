//! Allocation nodes of graphs.

use super::Given;
use crate::objects::allocation::DeviceAccess;
use cuarray_abi::*;

/// An allocation node. The access descriptions that its parameters point to live as long as the node.
#[derive(Clone)]
pub(crate) struct AllocateNode {
    pub props: Given<CUmemPoolProps>,
    pub access: Box<[CUmemAccessDesc]>,
    pub size: u64,
    /// The address; 0 until the node is added.
    pub address: u64,
}

impl AllocateNode {
    /// A node without an address.
    pub(crate) fn new(props: CUmemPoolProps, access: &DeviceAccess, size: u64) -> AllocateNode {
        let described = |(device, flags): (&CUdevice, &CUmemAccess_flags)| CUmemAccessDesc {
            location: CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: *device },
            flags: *flags,
        };
        AllocateNode { props: Given(props), access: access.iter().map(described).collect(), size, address: 0 }
    }

    /// Whether another node allocates memory of the same size, in the same place and with the same access.
    pub(crate) fn allocates_like(&self, other: &AllocateNode) -> bool {
        let place = |node: &AllocateNode| {
            let CUmemPoolProps { allocType, location, .. } = node.props.0;
            (allocType, location.kind, location.id, node.size)
        };
        place(self) == place(other) && self.device_access() == other.device_access()
    }

    /// The access of devices by the node's descriptions.
    pub(crate) fn device_access(&self) -> DeviceAccess {
        self.access.iter().map(|of| (of.location.id, of.flags)).collect()
    }

    /// The parameters as a program gets them.
    pub(crate) fn params(&self) -> CUDA_MEM_ALLOC_NODE_PARAMS {
        let described = if self.access.is_empty() { std::ptr::null() } else { self.access.as_ptr() };
        CUDA_MEM_ALLOC_NODE_PARAMS {
            poolProps: self.props.0,
            accessDescs: described,
            accessDescCount: self.access.len(),
            bytesize: self.size as usize,
            dptr: self.address,
        }
    }
}
