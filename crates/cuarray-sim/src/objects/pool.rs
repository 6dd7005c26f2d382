//! Memory pools, the source of stream-ordered allocations.
//!
//! A pool only counts bytes. Addresses of device memory come from the device's address range, and those of host and managed
//! memory from its own pages. The pages lie in a file of the pool if other processes may import it. Physical memory is freed at
//! once. *Used* is the size of live allocations. *Reserved* is the memory that a real pool would hold. It grows with use, and falls to the release threshold (never below *used*) when
//! a synchronization or a trim lets the pool release memory.

use crate::objects::allocation::DeviceAccess;
use crate::pages::host_pages::HostPages;
use crate::pages::shared_file::SharedFile;
use cuarray_abi::*;
use std::collections::HashMap;

/// The kind of memory that a pool allocates, and its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// Whether the memory is managed. Its location is then the preferred one.
    pub managed: bool,
    /// A device, the host, its node 0, or no location. The number is 0 where it has no meaning.
    pub location: CUmemLocation,
}

impl Place {
    /// The memory of a device.
    pub(crate) fn of_device(device: usize) -> Place {
        Place { managed: false, location: CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: device as CUdevice } }
    }

    /// The device whose own memory this is.
    pub(crate) fn device(&self) -> Option<usize> {
        let of_device = !self.managed && self.location.kind == CU_MEM_LOCATION_TYPE_DEVICE;
        usize::try_from(self.location.id).ok().filter(|_| of_device)
    }

    /// Whether a device's kernels have access that no program can take away.
    pub(crate) fn is_open_to(&self, device: CUdevice) -> bool {
        self.managed || *self == Place::of_device(device as usize)
    }

    /// The preferred location of memory at this place; only managed memory has one.
    pub(crate) fn preferred(&self) -> Option<CUmemLocation> {
        (self.managed && self.location.kind != CU_MEM_LOCATION_TYPE_NONE).then_some(self.location)
    }

    pub(crate) fn allocation_type(&self) -> CUmemAllocationType {
        if self.managed { CU_MEM_ALLOCATION_TYPE_MANAGED } else { CU_MEM_ALLOCATION_TYPE_PINNED }
    }
}

/// The pools that a place has without the program's choice, and by it.
#[derive(Clone, Copy)]
pub(crate) struct PlacePools {
    pub default: CUmemoryPool,
    /// The pool of `cuMemSetMemPool` and `cuDeviceSetMemPool`.
    pub current: CUmemoryPool,
}

/// One pool.
pub(crate) struct Pool {
    pub place: Place,
    /// Whether this is the place's default pool, which cannot be destroyed.
    pub is_default: bool,
    /// The maximum size passed to `cuMemPoolCreate`; 0 for none.
    pub max_size: u64,
    pub release_threshold: u64,
    pub used: u64,
    pub used_high: u64,
    pub reserved: u64,
    pub reserved_high: u64,
    /// The three reuse policies, by attribute; all initially on.
    pub reuse: [i32; 3],
    /// The access of devices, other than the pool's own.
    pub access: DeviceAccess,
    /// Whether `cuMemPoolDestroy` was called; the pool then ends with its last allocation.
    pub destroyed: bool,
    /// The handle types that the pool can be exported as.
    pub handle_types: CUmemAllocationHandleType,
    /// The memory of a pool of host memory that other processes may import.
    pub file: Option<SharedFile>,
    /// For a pool of another process: the process, its start time, and the pool's number there.
    pub imported: Option<(u64, u64, u64)>,
}

impl Pool {
    /// An empty pool, which is no default pool.
    pub(crate) fn new(place: Place) -> Pool {
        Pool {
            place,
            is_default: false,
            max_size: 0,
            release_threshold: 0,
            used: 0,
            used_high: 0,
            reserved: 0,
            reserved_high: 0,
            reuse: [1; 3],
            access: DeviceAccess::new(),
            destroyed: false,
            handle_types: CU_MEM_HANDLE_TYPE_NONE,
            file: None,
            imported: None,
        }
    }

    /// The access of a device's kernels. Managed memory is open to all devices, and host memory to none at first.
    pub(crate) fn access_of(&self, device: CUdevice) -> CUmemAccess_flags {
        match self.access.get(&device) {
            Some(access) => *access,
            None if self.place.is_open_to(device) => CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
            None => CU_MEM_ACCESS_FLAGS_PROT_NONE,
        }
    }

    /// Pages of host memory for an allocation.
    pub(crate) fn pages(&mut self, size: u64, twofold: bool) -> Option<HostPages> {
        match &mut self.file {
            Some(file) => HostPages::shared(file, size, twofold),
            None => HostPages::new(size, twofold),
        }
    }

    pub(crate) fn hold(&mut self, size: u64) {
        self.used += size;
        self.used_high = self.used_high.max(self.used);
        self.reserved = self.reserved.max(self.used);
        self.reserved_high = self.reserved_high.max(self.reserved);
    }

    /// Releases reserved memory above `keep`.
    pub(crate) fn release_down_to(&mut self, keep: u64) {
        self.reserved = self.used.max(self.reserved.min(keep));
    }
}

/// Subtracts a freed allocation from the pool's used memory.
pub(crate) fn return_memory(pools: &mut HashMap<CUmemoryPool, Pool>, handle: CUmemoryPool, size: u64) {
    let Some(pool) = pools.get_mut(&handle) else { return };
    pool.used = pool.used.saturating_sub(size);
    if pool.destroyed && pool.used == 0 {
        pools.remove(&handle);
    }
}

/// Releases reserved memory above the threshold, as after a synchronization with a device: of its pools, and of those of host
/// and managed memory.
pub(crate) fn settle(pools: &mut HashMap<CUmemoryPool, Pool>, device: usize) {
    let settled = |pool: &&mut Pool| pool.place.device().is_none_or(|own| own == device);
    for pool in pools.values_mut().filter(settled) {
        pool.release_down_to(pool.release_threshold);
    }
}

/// The reserved but unused memory of the pools of a device.
pub(crate) fn held(pools: &HashMap<CUmemoryPool, Pool>, device: usize) -> u64 {
    let own = pools.values().filter(|pool| pool.place.device() == Some(device));
    own.map(|pool| pool.reserved - pool.used).sum()
}
