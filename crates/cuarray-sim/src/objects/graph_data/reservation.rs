//! Accounting of memory that belongs to graphs.

/// A device's accounting of graph memory (`cuDeviceGetGraphMemAttribute`), in bytes.
///
/// Released memory counts as used until it is trimmed, as on real drivers.
#[derive(Clone, Copy, Default)]
pub(crate) struct GraphMemory {
    /// Allocated and not released.
    pub live: u64,
    /// The highest `live` since the last trim, as the driver reports memory in use.
    pub used: u64,
    pub used_high: u64,
    /// Kept by the driver for graphs, in use or not.
    pub reserved: u64,
    pub reserved_high: u64,
}

impl GraphMemory {
    /// Counts an allocation.
    pub(crate) fn hold(&mut self, size: u64) {
        self.live += size;
        self.used = self.used.max(self.live);
        self.used_high = self.used_high.max(self.used);
        self.reserved = self.reserved.max(self.used);
        self.reserved_high = self.reserved_high.max(self.reserved);
    }

    /// Releases memory that is not in use.
    pub(crate) fn trim(&mut self) {
        (self.used, self.reserved) = (self.live, self.live);
    }
}
