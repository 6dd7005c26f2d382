//! Graph memory: allocations whose address belongs to a graph, and whose bytes exist from launch to release.
//!
//! An allocation node reserves its address when it is added; pointer queries do not find the address before a launch.
//! A launch makes the memory live from its node on. The memory ends with a free node of the same or another graph, or
//! with a stream-ordered release after the launch. Then the address stays reserved for the next launch, until the
//! graph and its executable graph are destroyed.
//!
//! Driver API: [`cuGraphAddMemAllocNode`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

use crate::objects::allocation::{Declared, Kind, Side};
use crate::objects::graph::GraphMemory;
use crate::objects::graph::{Action, Given, INVALID_VALUE};
use crate::state::State;
use cuarray_abi::*;

impl State {
    /// Reserves memory for an allocation node of `graph`; returns its address.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for zero bytes, `CUDA_ERROR_NOT_SUPPORTED` for memory that is not on a device, and
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn reserve_graph_memory(
        &mut self,
        graph: CUgraph,
        props: &CUmemPoolProps,
        size: u64,
    ) -> Result<u64, CUresult> {
        match (props.allocType, props.location.kind) {
            (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE) => {}
            (CU_MEM_ALLOCATION_TYPE_PINNED | CU_MEM_ALLOCATION_TYPE_MANAGED, 1..=4) => {
                return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
            }
            _ => return Err(INVALID_VALUE),
        }
        if size == 0 || props.handleTypes != CU_MEM_HANDLE_TYPE_NONE {
            return Err(INVALID_VALUE);
        }
        let device = self.device(props.location.id).map_err(|_| INVALID_VALUE)?.ordinal as usize;
        let taken = self.devices.get_mut(device).and_then(|device| device.arena.take(size));
        let (address, taken) = taken.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let kind = Kind::Graph { graph, freed_by: None, users: 1 };
        self.add_allocation((address, size, taken), kind, CUcontext::NULL, device);
        if let Some(allocation) = self.memory.get_mut(address) {
            allocation.freed = true;
        }
        Ok(address)
    }

    /// Checks that a free node for `address` may be added to `graph`, and records it.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an address that no allocation node returned, and for memory that already has a
    /// free node, in this graph or in the only other graph that may free it.
    pub(crate) fn claim_free(&mut self, graph: CUgraph, address: u64) -> Result<(), CUresult> {
        match self.memory.get_mut(address).map(|allocation| &mut allocation.kind) {
            Some(Kind::Graph { graph: owner, freed_by, .. }) => match *freed_by {
                Some(other) if other == graph || other == *owner || graph == *owner => Err(INVALID_VALUE),
                _ => {
                    *freed_by = Some(graph);
                    Ok(())
                }
            },
            _ => Err(INVALID_VALUE),
        }
    }

    /// Checks an access of a node and returns the memory's side. Graph memory is valid whether or not it is live.
    pub(crate) fn side_of_node(&self, address: u64, length: u64, declared: Declared) -> Result<Side, CUresult> {
        if let Some(allocation) = self.memory.holding(address)
            && matches!(allocation.kind, Kind::Graph { .. })
        {
            let fits = length <= allocation.size - (address - allocation.address) && declared != Declared::Host;
            return if fits { Ok(Side::Device) } else { Err(INVALID_VALUE) };
        }
        self.side(address, length, declared)
    }

    /// Captures an allocation from a pool as graph memory with the pool's properties. Zero bytes have no address and no
    /// node.
    pub(crate) fn capture_allocation(
        &mut self,
        stream: CUstream,
        pool: CUmemoryPool,
        size: u64,
    ) -> Result<u64, CUresult> {
        let device = self.pool(pool)?.device as CUdevice;
        if size == 0 {
            return Ok(0);
        }
        let props = CUmemPoolProps {
            allocType: CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CU_MEM_HANDLE_TYPE_NONE,
            location: CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: device },
            win32SecurityAttributes: std::ptr::null_mut(),
            maxSize: 0,
            usage: 0,
            reserved: [0; 54],
        };
        let id = self.capture_of(stream).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
        let graph = self.captures.get(&id).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?.graph;
        let dptr = self.reserve_graph_memory(graph, &props, size)?;
        let params = CUDA_MEM_ALLOC_NODE_PARAMS {
            poolProps: props,
            accessDescs: std::ptr::null(),
            accessDescCount: 0,
            bytesize: size as usize,
            dptr,
        };
        self.capture_node(stream, Action::Allocate(Box::new(Given(params))))?;
        Ok(dptr)
    }

    /// Captures a release, which must be of graph memory.
    pub(crate) fn capture_release(&mut self, stream: CUstream, address: u64) -> Result<(), CUresult> {
        let id = self.capture_of(stream).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
        let graph = self.captures.get(&id).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?.graph;
        self.claim_free(graph, address)?;
        self.capture_node(stream, Action::Free(address)).map(|_| ())
    }

    /// Adds a user of graph memory: an executable graph, or a launch that made it live.
    pub(super) fn retain_graph_memory(&mut self, address: u64) {
        if let Some(Kind::Graph { users, .. }) = self.memory.get_mut(address).map(|allocation| &mut allocation.kind) {
            *users += 1;
        }
    }

    /// Removes a user of graph memory; without users the address is freed.
    pub(crate) fn release_graph_memory(&mut self, address: u64) {
        let Some(allocation) = self.memory.get_mut(address) else { return };
        let Kind::Graph { users, .. } = &mut allocation.kind else { return };
        *users = users.saturating_sub(1);
        if *users == 0 {
            let (taken, device) = (allocation.taken, allocation.device);
            self.memory.remove(address);
            if let Some(device) = self.devices.get_mut(device) {
                device.arena.release(address, taken);
            }
        }
    }

    /// The addresses that the executable graph of a graph allocates.
    pub(super) fn graph_allocations(&self, graph: CUgraph) -> Vec<u64> {
        let nodes = self.graphs.get(&graph).map(|graph| graph.nodes.as_slice()).unwrap_or_default();
        let mut addresses = Vec::new();
        for node in nodes.iter().filter_map(|node| self.graph_nodes.get(node)) {
            match &node.action {
                Action::Allocate(params) => addresses.push(params.0.dptr),
                Action::Child(child) => addresses.extend(self.graph_allocations(*child)),
                _ => {}
            }
        }
        addresses
    }

    /// Whether a launch has allocated graph memory that was not released since.
    pub(super) fn is_live(&self, address: u64) -> bool {
        self.memory.starting_at(address).is_some_and(|allocation| !allocation.freed)
    }

    /// Adds a completed allocation to the device's graph memory in use.
    pub(crate) fn graph_memory_used(&mut self, address: u64) {
        if let Some((memory, size)) = self.account_of(address) {
            memory.hold(size);
        }
    }

    /// Subtracts a completed release from the device's graph memory in use.
    pub(crate) fn graph_memory_unused(&mut self, address: u64) {
        if let Some((memory, size)) = self.account_of(address) {
            memory.live = memory.live.saturating_sub(size);
        }
    }

    fn account_of(&mut self, address: u64) -> Option<(&mut GraphMemory, u64)> {
        let allocation = self.memory.starting_at(address)?;
        let (device, size) = (allocation.device, allocation.taken);
        if !matches!(allocation.kind, Kind::Graph { .. }) {
            return None;
        }
        Some((&mut self.devices.get_mut(device)?.graph_memory, size))
    }
}
