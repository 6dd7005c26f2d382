//! Physical memory of `cuMemCreate` and its imports, which programs map to reserved addresses.

use crate::pages::backing::Backing;
use cuarray_abi::*;
use std::collections::BTreeSet;

/// Physical memory. It exists while a handle or a mapping exists.
pub(crate) struct Physical {
    pub backing: Backing,
    /// The location in this process: the ordinal of a device, or the host.
    pub location: CUmemLocation,
    /// The number of `cuMemCreate`, imports and retains without their `cuMemRelease`.
    pub references: usize,
    /// The addresses of its mappings.
    pub mappings: BTreeSet<u64>,
    /// Whether it counts as memory of the device in this process; imports do not.
    pub charged: bool,
    /// Whether it was mapped before, or another process may have written it.
    pub written: bool,
}

impl Physical {
    pub(crate) fn size(&self) -> u64 {
        self.backing.label.size
    }

    pub(crate) fn on_host(&self) -> bool {
        self.location.kind != CU_MEM_LOCATION_TYPE_DEVICE
    }

    /// The device whose memory it is; for host memory, the first device.
    pub(crate) fn device(&self) -> usize {
        if self.on_host() { 0 } else { self.location.id as usize }
    }
}
