//! All memory that the driver knows, of every kind, in one table by address.
//!
//! Unified addressing gives the host and all devices one address space, so an address alone identifies its allocation.
//! `cuPointerGetAttribute` reads the table, and every access is checked against it.

use crate::objects::array::Corner;
use crate::pages::allocator::APART;
use crate::pages::host_pages::HostPages;
use crate::pages::ipc::Imported;
use cuarray_abi::*;
use cuarray_ptx::{Alias, Region};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// The access of devices to memory of another device, besides the access that peer contexts have.
pub(crate) type DeviceAccess = BTreeMap<CUdevice, CUmemAccess_flags>;

/// The kind of an allocation.
pub(crate) enum Kind {
    /// `cuMemAlloc`, `cuMemAllocPitch`.
    Device,
    /// An array or a mipmapped array, whose address programs do not see.
    Array,
    /// Device memory of a pool: `cuMemAllocAsync`, `cuMemAllocFromPoolAsync`.
    Pool(CUmemoryPool),
    /// Page-locked host memory of a pool: `cuMemAllocFromPoolAsync`.
    PinnedPool { pages: HostPages, pool: CUmemoryPool },
    /// Memory of an allocation node: reserved when the node is added, and live after a launch. `freed_by` is the
    /// graph with the free node; `users` counts the graphs, executable graphs and launches that need the address;
    /// `access` is the access of devices, other than the memory's own.
    Graph { graph: CUgraph, freed_by: Option<CUgraph>, users: usize, access: DeviceAccess, bytes: GraphBytes },
    /// Page-locked host memory of the driver: `cuMemHostAlloc`, `cuMemAllocHost`.
    Pinned { flags: u32, pages: HostPages },
    /// Page-locked host memory that a stand-in for a library allocates, which the program does not see.
    Library(HostPages),
    /// Page-locked host memory of the program: `cuMemHostRegister`.
    Registered { flags: u32 },
    /// `cuMemAllocManaged`, and `cuMemAllocFromPoolAsync` with a pool of managed memory.
    Managed { pages: HostPages, pool: Option<CUmemoryPool> },
    /// A managed variable of a module or a library, which the program does not free.
    ManagedVariable(HostPages),
    /// The variables of a loaded module, or the heap of a context's kernels, which the program neither frees nor sees.
    Code,
    /// `cuIpcOpenMemHandle`, `cuMemPoolImportPointer`: memory of another process.
    Imported(Box<Imported>),
    /// `cuMemMap`: physical memory at reserved addresses.
    Mapped(Mapping),
}

/// The memory behind the address of an allocation node.
pub(crate) enum GraphBytes {
    Device,
    /// Page-locked host memory.
    Pinned(HostPages),
    Managed(HostPages),
}

/// Physical memory at reserved addresses.
pub(crate) struct Mapping {
    /// The first address of the reservation.
    pub reservation: u64,
    pub handle: CUmemGenericAllocationHandle,
    /// Whether the physical memory belongs to the host.
    pub on_host: bool,
    /// The driver's address of the first byte.
    pub shadow: u64,
    /// The access of devices, and of the host.
    pub access: DeviceAccess,
    pub host_access: CUmemAccess_flags,
}

impl Mapping {
    /// The access of a device.
    pub(crate) fn access_of(&self, device: CUdevice) -> CUmemAccess_flags {
        self.access.get(&device).copied().unwrap_or(CU_MEM_ACCESS_FLAGS_PROT_NONE)
    }
}

impl Kind {
    /// The name in statistics.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Kind::Device => "device",
            Kind::Array => "array",
            Kind::Pool(_) => "pool",
            Kind::PinnedPool { .. } => "pinned pool",
            Kind::Graph { .. } => "graph",
            Kind::Pinned { .. } => "pinned",
            Kind::Library(_) => "library",
            Kind::Registered { .. } => "registered",
            Kind::Managed { .. } => "managed",
            Kind::Code | Kind::ManagedVariable(_) => "module",
            Kind::Imported(_) => "imported",
            Kind::Mapped(_) => "mapped",
        }
    }

    /// Whether the bytes lie in a device's memory.
    pub(crate) fn on_device(&self) -> bool {
        match self {
            Kind::Mapped(mapping) => !mapping.on_host,
            Kind::Graph { bytes, .. } => matches!(bytes, GraphBytes::Device),
            Kind::Device | Kind::Array | Kind::Pool(_) | Kind::Code => true,
            Kind::Imported(imported) => !imported.on_host(),
            Kind::Pinned { .. } | Kind::PinnedPool { .. } | Kind::Registered { .. } | Kind::Library(_) => false,
            Kind::Managed { .. } | Kind::ManagedVariable(_) => false,
        }
    }

    /// Whether the memory is managed.
    pub(crate) fn is_managed(&self) -> bool {
        match self {
            Kind::Managed { .. } | Kind::ManagedVariable(_) => true,
            Kind::Graph { bytes, .. } => matches!(bytes, GraphBytes::Managed(_)),
            _ => false,
        }
    }

    /// Whether the memory belongs to loaded code, and not to the program.
    pub(crate) fn is_of_code(&self) -> bool {
        matches!(self, Kind::Code | Kind::ManagedVariable(_))
    }

    /// The pool of this process that counts the memory.
    pub(crate) fn pool(&self) -> Option<CUmemoryPool> {
        match self {
            Kind::Pool(pool) | Kind::PinnedPool { pool, .. } => Some(*pool),
            Kind::Managed { pool, .. } => *pool,
            _ => None,
        }
    }

    /// The addresses of host memory that can be closed to the host, from first to end.
    pub(crate) fn guardable(&self) -> Option<(u64, u64)> {
        match self {
            Kind::Imported(imported) => imported.guardable(),
            kind => kind.pages()?.guardable(),
        }
    }

    /// The pages of host memory that the driver allocated.
    pub(crate) fn pages(&self) -> Option<&HostPages> {
        match self {
            Kind::Pinned { pages, .. } | Kind::PinnedPool { pages, .. } | Kind::Managed { pages, .. } => Some(pages),
            Kind::Graph { bytes: GraphBytes::Pinned(pages) | GraphBytes::Managed(pages), .. } => Some(pages),
            Kind::ManagedVariable(pages) | Kind::Library(pages) => Some(pages),
            _ => None,
        }
    }
}

/// One allocation.
pub(crate) struct Allocation {
    pub address: u64,
    /// The requested size in bytes.
    pub size: u64,
    /// The size in the arena, after rounding.
    pub taken: u64,
    pub kind: Kind,
    /// The context in which the memory was allocated; pool memory belongs to none.
    pub context: CUcontext,
    pub device: usize,
    /// `CU_POINTER_ATTRIBUTE_BUFFER_ID`: unique in the process.
    pub id: u64,
    /// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`.
    pub sync_memops: bool,
    /// Whether new work may not use the memory: its stream-ordered release is enqueued, or no launch has made it
    /// live.
    pub freed: bool,
    /// `cuMemAdvise`: read-mostly, preferred location, accessed-by.
    pub advice: Advice,
}

impl Allocation {
    /// Whether it is memory of another process.
    fn is_imported(&self) -> bool {
        matches!(self.kind, Kind::Imported(_))
    }

    /// The number of bytes behind the allocation that exist, and belong to no other one: the rest of its granule, or the bytes up to
    /// the next allocation.
    pub(crate) fn slack(&self) -> u64 {
        let in_arena = match self.kind {
            Kind::Graph { .. } => self.kind.on_device(),
            _ => matches!(self.kind, Kind::Device | Kind::Array | Kind::Pool(_) | Kind::Code),
        };
        match self.taken.saturating_sub(self.size) {
            0 if in_arena => APART,
            rest => rest,
        }
    }
}

/// The advice of `cuMemAdvise` and `cuMemPrefetchAsync` on managed memory.
#[derive(Default)]
pub(crate) struct Advice {
    pub read_mostly: bool,
    pub preferred: Option<CUmemLocation>,
    pub accessed_by: Vec<CUdevice>,
    pub prefetched: Option<CUmemLocation>,
}

/// The kind of memory on one side of a copy, which determines how the call waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Device,
    Managed,
    /// Page-locked memory, which the device accesses when the work runs.
    Pinned,
    /// The program's own memory, which the driver may access only during the call.
    Pageable,
}

/// The kind of memory that the caller declares for an address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declared {
    Host,
    Device,
    Unified,
    /// An array, and the place in it.
    Array(Corner),
}

/// The memory that kernels of a context can reach.
pub(crate) struct Reachable {
    /// In ascending order.
    pub regions: Vec<Region>,
    /// The mappings of physical memory that is mapped more than once.
    pub aliases: Vec<Alias>,
}

/// All allocations of a driver.
#[derive(Default)]
pub(crate) struct Memory {
    by_address: BTreeMap<u64, Allocation>,
    /// The number of allocations of other processes.
    imported: usize,
    /// Whether a library has allocated memory for itself.
    pub has_library: bool,
    /// The memory that kernels of a context can reach, until an allocation or the access to one changes.
    reachable: HashMap<CUcontext, Arc<Reachable>>,
}

impl Memory {
    /// The live allocation that holds `address`.
    pub(crate) fn find(&self, address: u64) -> Option<&Allocation> {
        let (_, allocation) = self.by_address.range(..=address).next_back()?;
        (address - allocation.address < allocation.size && !allocation.freed).then_some(allocation)
    }

    /// The live allocation that holds `address`, unless it is an array, whose address programs do not see.
    pub(crate) fn visible(&self, address: u64) -> Option<&Allocation> {
        self.find(address).filter(|allocation| !matches!(allocation.kind, Kind::Array))
    }

    pub(crate) fn find_mut(&mut self, address: u64) -> Option<&mut Allocation> {
        self.access_changes();
        let (_, allocation) = self.by_address.range_mut(..=address).next_back()?;
        (address - allocation.address < allocation.size && !allocation.freed).then_some(allocation)
    }

    /// The allocation that holds `address`, even if its release is already enqueued.
    pub(crate) fn holding(&self, address: u64) -> Option<&Allocation> {
        let (_, allocation) = self.by_address.range(..=address).next_back()?;
        (address - allocation.address < allocation.size).then_some(allocation)
    }

    /// The allocation that starts at `address`, even if its release is already enqueued.
    pub(crate) fn get_mut(&mut self, address: u64) -> Option<&mut Allocation> {
        self.access_changes();
        self.by_address.get_mut(&address)
    }

    /// The allocation that starts at `address`, even if its release is already enqueued.
    pub(crate) fn starting_at(&self, address: u64) -> Option<&Allocation> {
        self.by_address.get(&address)
    }

    pub(crate) fn insert(&mut self, allocation: Allocation) {
        self.access_changes();
        self.has_library |= matches!(allocation.kind, Kind::Library(_));
        self.imported += usize::from(allocation.is_imported());
        let replaced = self.by_address.insert(allocation.address, allocation);
        self.imported -= usize::from(replaced.is_some_and(|replaced| replaced.is_imported()));
    }

    pub(crate) fn remove(&mut self, address: u64) -> Option<Allocation> {
        self.access_changes();
        let removed = self.by_address.remove(&address);
        self.imported -= usize::from(removed.as_ref().is_some_and(Allocation::is_imported));
        removed
    }

    /// Whether there is memory of another process.
    pub(crate) fn has_imported(&self) -> bool {
        self.imported > 0
    }

    /// The allocations from an address on, in the order of their addresses.
    pub(crate) fn from(&self, address: u64) -> impl Iterator<Item = &Allocation> {
        self.by_address.range(address..).map(|(_, allocation)| allocation)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Allocation> {
        self.by_address.values()
    }

    /// Notes that an allocation, or the access of kernels to one, is about to change.
    pub(crate) fn access_changes(&mut self) {
        self.reachable.clear();
    }

    /// The memory that kernels of a context can reach, if that is known.
    pub(crate) fn known_reachable(&self, context: CUcontext) -> Option<Arc<Reachable>> {
        self.reachable.get(&context).cloned()
    }

    /// Keeps what kernels of a context can reach, unless another process can end a part of it.
    pub(crate) fn keep_reachable(&mut self, context: CUcontext, reachable: Reachable) -> Arc<Reachable> {
        let reachable = Arc::new(reachable);
        if !self.has_imported() {
            self.reachable.insert(context, reachable.clone());
        }
        reachable
    }

    /// The addresses from the first byte of all allocations to the last.
    pub(crate) fn range(&self) -> Range<u64> {
        let first = self.by_address.keys().next().copied().unwrap_or(0);
        first..self.iter().next_back().map_or(0, |last| last.address + last.size)
    }

    /// Whether any allocation has a byte in `address..address + size`.
    pub(crate) fn overlaps(&self, address: u64, size: u64) -> bool {
        let last = self.by_address.range(..address.saturating_add(size)).next_back();
        last.is_some_and(|(start, allocation)| start + allocation.size > address)
    }
}
